"""Exact values, scipy as the oracle, and weighted correlations, also by groups."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from meta_eval.correlation import correlation_ratio, kendall, pearson, spearman
from meta_eval.design import lay_out
from meta_eval.grouping import NO_SYSTEMS, average_by_system, explain_undefined, group
from tests.meta_eval.sets import ORACLES

ALL = [pearson, spearman, kendall]


def plain(correlation: Callable, x, y) -> float:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return float(correlation(x, y, np.ones((1, len(x))))[0])


# By hand. (1, 2, 3, 4) with (1, 3, 2, 4): deviations -1.5 -.5 .5 1.5 and -1.5 .5 -.5 1.5, products 2.25 -.25 -.25 2.25
# = 4, squares 5: 4/5; five of six pairs agree: (5 - 1)/6.
# With the tie (1, 2, 2, 3) against (1, 2, 3, 4): ranks 1 2.5 2.5 4, deviations -1.5 0 0 1.5 and -1.5 -.5 .5 1.5,
# products 4.5, squares 4.5 and 5: 4.5/sqrt(22.5); five pairs agree, one is tied in x: 5/sqrt(5 * 6).
# Squares (1, 4, 9) against (1, 2, 3): deviations -11/3 -2/3 13/3 and -1 0 1, products 8, squares 98/3 and 2.
# Ties on both sides, (1, 1, 2, 2) against (1, 2, 1, 2): nothing agrees.
# (1, 1, 2) against (1, 2, 2): deviations -1 -1 2 and -2 1 1 (thirds), products 3, squares 6 and 6: 1/2; one pair of
# three agrees, one is tied in x and one in y: 1/sqrt(2 * 2).
# (3, 2, 1) against (10, 20, 70): deviations 1 0 -1 and -70 -40 110 (thirds), products -60, squares 2 and 6200/3.
HAND = [
    ([1, 2, 3, 4], [1, 3, 2, 4], 4 / 5, 4 / 5, 4 / 6),
    ([1, 2, 2, 3], [1, 2, 3, 4], 3 / np.sqrt(2 * 5), 4.5 / np.sqrt(22.5), 5 / np.sqrt(30)),
    ([1, 4, 9], [1, 2, 3], 8 / np.sqrt(98 / 3 * 2), 1.0, 1.0),
    ([1, 1, 2, 2], [1, 2, 1, 2], 0.0, 0.0, 0.0),
    ([1, 1, 2], [1, 2, 2], 0.5, 0.5, 0.5),
    ([3, 2, 1], [10, 20, 70], -60 / np.sqrt(6200 / 3 * 2), -1.0, -1.0),
]


@pytest.mark.parametrize(("x", "y", "r", "rho", "tau"), HAND)
def test_hand_worked_values(x, y, r, rho, tau):
    found = [plain(f, x, y) for f in ALL]
    np.testing.assert_allclose(found, [r, rho, tau], atol=1e-15)


@pytest.mark.parametrize("correlation", ALL)
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_equal_to_scipy_on_every_resample(correlation, levels):
    rng = np.random.default_rng(levels)
    n = 37
    x = np.round(rng.normal(size=n), 1)
    y = rng.integers(0, levels, n).astype(float)
    draws = rng.integers(0, n, (20, n))
    weights = np.stack([np.bincount(draw, minlength=n) for draw in draws]).astype(float)
    expected = [ORACLES[correlation.__name__](x[draw], y[draw]) for draw in draws]
    np.testing.assert_allclose(correlation(x, y, weights), expected, atol=1e-12)


@pytest.mark.parametrize("correlation", ALL)
def test_a_resample_without_two_values_is_nan_and_leaves_the_others(correlation):
    x, y = np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, 2.0])
    weights = np.array([[0, 0, 0], [3, 0, 0], [2, 1, 0], [1, 0, 2]], dtype=float)  # no pair; one; y constant; both vary
    found = correlation(x, y, weights)
    assert np.isnan(found).tolist() == [True, True, True, False]
    assert found[3] == pytest.approx(1.0)


def test_equal_values_with_rounding_errors_in_the_mean_are_constant():
    x = np.array([0.1, 0.1, 0.1, 0.7])
    assert np.isnan(pearson(x, np.array([1.0, 2.0, 3.0, 4.0]), np.array([[1.0, 1.0, 1.0, 0.0]]))[0])


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_pearson_at_any_scale(scale):
    x = np.array([1.0, 2.0, 3.0, 4.0]) * scale
    assert plain(pearson, x, [1, 3, 2, 4]) == pytest.approx(0.8)


def test_pearson_keeps_its_precision_without_the_outlier():
    rng = np.random.default_rng(3)
    x, y = np.append(rng.normal(size=20), 1e9), rng.normal(size=21)
    weights = np.ones((1, 21))
    weights[0, -1] = 0
    assert pearson(x, y, weights)[0] == pytest.approx(stats.pearsonr(x[:-1], y[:-1])[0], abs=1e-6)


# systems a, b, c on inputs 1, 2; a third input has equal ratings
SYSTEMS = list("abcabcabc")
INPUTS = [1, 1, 1, 2, 2, 2, 3, 3, 3]
X = np.array([1.0, 2, 3, 3, 2, 1, 1, 2, 3])
Y = np.array([1.0, 2, 3, 1, 2, 3, 2, 2, 2])
LAYOUT = lay_out(9, SYSTEMS, INPUTS)


def once(statistic, grouping, layout=LAYOUT, x=X, y=Y) -> float:
    return float(group(statistic, x, y, layout, grouping, np.ones((1, layout.input_count)))[0])


def test_groups_by_hand():
    assert average_by_system(X, LAYOUT) == pytest.approx([5 / 3, 2, 7 / 3])
    assert average_by_system(Y, LAYOUT) == pytest.approx([4 / 3, 2, 8 / 3])
    assert once(pearson, "global") == pytest.approx(stats.pearsonr(X, Y)[0])
    alike = np.array([0.1, 0.3, 0.2, 0.2, 0.2, 0.3, 0.3, 0.1, 0.1])  # means that only rounding tells apart
    assert len(set(average_by_system(alike, LAYOUT).tolist())) == 1
    assert explain_undefined(alike, Y, LAYOUT, "between_systems") == (
        "all 3 scores of systems are 0.2: a constant has no correlation"
    )


def test_within_systems_is_the_mean_by_size_over_systems_of_ten_texts():
    """a has 10 texts in order, b 15 in reverse, c 20 scores that do not vary (0), d 12 equal ratings and e 9 texts."""
    sizes = {"a": 10, "b": 15, "c": 20, "d": 12, "e": 9}
    layout = lay_out(66, [name for name, size in sizes.items() for _ in range(size)])
    y = np.concatenate([np.arange(10.0), np.arange(15.0), np.arange(20.0), np.ones(12), np.arange(9.0)])
    x = np.concatenate([np.arange(10.0), -np.arange(15.0), np.zeros(20), np.arange(12.0), np.arange(9.0)])
    for statistic in ALL:
        assert once(statistic, "within_systems", layout, x, y) == pytest.approx((10 - 15) / (10 + 15 + 20))
    few = lay_out(9, SYSTEMS)
    assert explain_undefined(X, Y, few, "within_systems") == "no system has 10 scored and rated examples"
    alone = lay_out(9, ["a"] * 9)
    assert {explain_undefined(X, Y, alone, name) for name in ("within_systems", "between_systems")} == {NO_SYSTEMS}


def test_the_correlation_ratio_by_hand():
    """Ratings 1 1 2 3 of a, 3 4 4 4 of b: ranks 1.5 1.5 3 4.5 and 4.5 7 7 7 with means 2.625, 6.375 around 4.5.

    Between: 8 (15/8)² = 28.125; in all: 2 9 + 2.25 + 3 6.25 = 39; eta² is .7212 and adjusted 1 - .2788 7/6 = .6747.
    """
    y = np.array([1.0, 1, 2, 3, 3, 4, 4, 4])
    groups = np.repeat([0, 1], 4)
    (found,) = correlation_ratio(y, groups, np.ones((1, 8)))
    assert found == pytest.approx(1 - (1 - 28.125 / 39) * 7 / 6)
    drawn = np.array([[2.0, 0, 1, 1, 3, 1, 0, 0]])
    copied = np.repeat(np.arange(8), drawn[0].astype(int))
    (expected,) = correlation_ratio(y[copied], groups[copied], np.ones((1, 8)))
    assert correlation_ratio(y, groups, drawn) == pytest.approx(expected)
    (nothing,) = correlation_ratio(np.tile([1.0, 2.0], 4), groups, np.ones((1, 8)))
    assert nothing == pytest.approx(1 - 7 / 6)
    once = np.ones((1, 8))
    assert np.isnan([correlation_ratio(np.ones(8), groups, once), correlation_ratio(y, np.arange(8), once)]).all()


def test_kendall_of_many_examples_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, (2, 40)).astype(float)
    weights = np.concatenate([np.ones((1, 40)), 1 - np.eye(40)])
    compared = kendall(x, y, weights)
    monkeypatch.setattr("meta_eval.correlation.BATCH", 300)
    np.testing.assert_array_equal(compared, kendall(x, y, weights))
