"""Raters: Krippendorff's own example, values of the krippendorff package, a loop over pairs as the oracle."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from meta_eval.intervals import Resampling
from meta_eval.raters import krippendorff_alpha, leave_one_out

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


def test_by_hand():
    """Two raters, units (1, 1), (1, 2), (2, 2): of 6 ordered pairs 2 differ, observed 2; totals 3 and 3, expected
    (3 * 3 * 2)/5 = 3.6: alpha = 1 - 2/3.6."""
    assert krippendorff_alpha([[1, 1, 2], [1, 2, 2]], "nominal").value == pytest.approx(1 - 2 / 3.6)


def alpha_by_loop(table: np.ndarray) -> float:
    """Nominal alpha from all ordered pairs of ratings within units and of all ratings."""
    units = [unit[~np.isnan(unit)] for unit in table.T]
    units = [unit for unit in units if len(unit) > 1]
    everything = np.concatenate(units)
    observed = sum(sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum(a != b for a, b in permutations(everything, 2)) / (len(everything) - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("seed", range(20))
def test_equal_to_a_loop_also_when_resampled(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (3, 10)).astype(float)
    table[rng.random((3, 10)) < 0.2] = NAN
    usable = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    found = krippendorff_alpha(table, "nominal", Resampling(resamples=20, seed=seed))
    assert found.value == pytest.approx(alpha_by_loop(table))
    draws = np.random.default_rng(seed).integers(0, usable.shape[1], (20, usable.shape[1]))
    values = [alpha_by_loop(usable[:, draw]) for draw in draws]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_full_agreement_is_one_and_chance_about_zero(scale):
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, 300).astype(float)
    assert krippendorff_alpha([ratings, ratings], scale).value == 1.0
    alone = krippendorff_alpha(rng.integers(1, 6, (3, 300)).astype(float), scale)
    assert alone.low < 0 < alone.high


def test_interval_scale_takes_any_scale_and_ordinal_any_rising_map():
    table = np.array(OTHER)
    assert krippendorff_alpha(3 * table + 2, "interval").value == pytest.approx(
        krippendorff_alpha(table, "interval").value
    )
    assert krippendorff_alpha(np.exp(table), "ordinal").value == pytest.approx(
        krippendorff_alpha(table, "ordinal").value
    )


def test_leave_one_out_by_hand():
    """Three raters who agree but for the third: its correlation with the mean of the others is 1/2 on ranks."""
    found = leave_one_out([[1, 2, 3], [1, 2, 3], [1, 3, 2]])
    assert found.raters.tolist() == pytest.approx([stats.spearmanr([1, 2, 3], [1, 2.5, 2.5])[0]] * 2 + [0.5])
    assert found.estimate.value == pytest.approx(found.raters.mean())
    assert found.estimate.reason == "an interval over inputs needs at least 5 of them, but there are 3"


def test_leave_one_out_equals_a_loop():
    table = np.array(OTHER)
    for found, oracle in ((leave_one_out(table), stats.spearmanr), (leave_one_out(table, "pearson"), stats.pearsonr)):
        expected = []
        for rater in range(3):
            others = np.delete(table, rater, axis=0)
            at = ~np.isnan(table[rater]) & ~np.isnan(others).all(axis=0)
            expected.append(oracle(table[rater, at], np.nanmean(others[:, at], axis=0))[0])
        assert found.raters.tolist() == pytest.approx(expected)
        assert found.estimate.value == pytest.approx(np.mean(expected))
        assert found.estimate.low < found.estimate.value < found.estimate.high


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


def test_undefined_ceiling_and_faults():
    found = leave_one_out([[1, 1, 1], [1, 2, NAN]])
    assert math.isnan(found.estimate.value)
    assert found.estimate.reason == "no rater has 3 or more units in common with others and ratings that vary"
    with pytest.raises(ValueError, match=r"shape \(raters, units\), but have shape \(3,\)"):
        krippendorff_alpha([1, 2, 3], "nominal")
    with pytest.raises(ValueError, match="ratings must be finite"):
        leave_one_out([[1, math.inf], [1, 2]])
