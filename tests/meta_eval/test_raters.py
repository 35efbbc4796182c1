"""Raters: Krippendorff's own example, values of the krippendorff package, a loop over pairs as the oracle."""

import math
from itertools import combinations

import numpy as np
import pytest

from meta_eval.design import lay_out
from meta_eval.grouping import FEW_TEXTS
from meta_eval.raters import (
    correlate_raters,
    find_ceiling,
    krippendorff_alpha,
)
from tests.meta_eval.sets import ORACLES

NAN = math.nan

# Krippendorff (2011), section C: four observers, twelve units; published .743, .815, .849
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
OTHER = [
    [1, 1, 2, -1, NAN, -1, NAN, 0, 1, 1, NAN, 0, NAN, 2, 0, NAN, 0, -2, -1, 0],
    [-1, 1, 0, -3, 1, 1, NAN, 0, 1, 1, NAN, 0, 0, -1, NAN, 0, 1, 0, -2, -1],
    [1, 2, 0, -3, 2, NAN, -1, 2, -1, 1, 1, 1, -2, 1, 0, 2, 0, -2, -1, NAN],
]


@pytest.mark.parametrize(
    ("ratings", "scale", "expected"),  # krippendorff 0.9.0
    [
        (PUBLISHED, "nominal", 0.743421052631579),
        (PUBLISHED, "ordinal", 0.8153875037548814),
        (PUBLISHED, "interval", 0.8491071428571428),
        (OTHER, "nominal", 0.13448660714285732),
        (OTHER, "ordinal", 0.32566823899371067),
        (OTHER, "interval", 0.3977510460251047),
    ],
)
def test_equal_to_the_published_values(ratings, scale, expected):
    assert krippendorff_alpha(ratings, scale).value == pytest.approx(expected, abs=1e-12)


def test_the_ceiling_by_hand():
    """Pairs of raters correlate by 1, .5 and .5, mean 2/3: three ratings have 3 (2/3)/(1 + 2 (2/3)) = 6/7. A fourth
    unit that one rater rated makes the harmonic mean of the numbers of ratings 4/(3/3 + 1) = 2."""
    table = [[1, 2, 3], [1, 2, 3], [1, 3, 2]]
    assert correlate_raters(table).value == pytest.approx(2 / 3)
    assert find_ceiling(table).value == pytest.approx(math.sqrt(6 / 7))
    assert find_ceiling(np.column_stack([table, [4, NAN, NAN]])).value == pytest.approx(math.sqrt(0.8))


def test_a_ceiling_rests_on_the_units_that_two_raters_rated():
    table = np.full((2, 100), NAN)
    table[0] = np.arange(100) % 7
    table[1, :3] = [0, 2, 1]
    assert "at least 10 inputs, but there are 3" in (find_ceiling(table).reason or "")
    table[1, :12] = [0, 6, 1, 5, 2, 4, 3, 0, 1, 6, 2, 5]
    assert find_ceiling(table).low >= 0


def test_a_ceiling_within_small_systems_says_that_they_are_small():
    table = np.tile(np.arange(18.0) % 5, (2, 1))
    layout = lay_out(18, systems=["a"] * 9 + ["b"] * 9)
    assert find_ceiling(table, layout=layout).value == pytest.approx(1)
    assert find_ceiling(table, layout=layout, grouping="within_systems").reason == FEW_TEXTS


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_correlations_of_raters_equal_a_loop(kind):
    expected = []
    for first, second in combinations(np.array(OTHER), 2):
        at = ~np.isnan(first + second)
        expected.append((ORACLES[kind](first[at], second[at]), at.sum()))
    values, sizes = zip(*expected, strict=True)
    found = correlate_raters(OTHER, kind)
    assert found.value == pytest.approx(np.average(values, weights=sizes))
    assert found.low < found.value < found.high  # 20 units


def test_raters_who_disagree_set_no_ceiling():
    table = [[1, 2, 3, 4], [4, 3, 1, 2]]
    found = find_ceiling(table)
    assert (math.isnan(found.value), "do not agree" in str(found.reason)) == (True, True)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, 2, 3]], "alpha needs at least 2 units with 2 ratings, but there are 0"),
        ([[1, NAN], [2, 3]], "alpha needs at least 2 units with 2 ratings, but there are 1"),
        ([[2, 2, 2], [2, 2, 2]], "all ratings are 2: without variation alpha is not defined"),
    ],
)
def test_undefined_alpha(ratings, reason):
    found = krippendorff_alpha(ratings, "interval")
    assert math.isnan(found.value)
    assert found.reason == reason


def test_undefined_correlations_of_raters():
    found = correlate_raters([[1, 1, 1], [1, 2, NAN]])
    assert math.isnan(found.value)
    assert found.reason == "no two raters have 3 or more units in common and ratings that vary"


def test_two_raters_who_guess_at_a_rare_label_may_agree() -> None:
    """No text has the rare label from both, which says little."""
    rng = np.random.default_rng(0)
    guesses = (rng.random((2, 200)) < 0.02).astype(float)
    found = krippendorff_alpha(guesses, "nominal")
    assert found.value < 0.05 < 0.2 < found.high
    seen = np.where(rng.random((2, 400)) < 0.97, (rng.random(400) < 0.1).astype(float), 0.0)
    assert krippendorff_alpha(seen, "nominal").low > 0.5
