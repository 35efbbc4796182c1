"""Planning: deviations and power against simulated data, Cohen's tables, inverses, hand-worked reliability."""

import math

import numpy as np
import pytest

from meta_eval.correlation import spearman
from meta_eval.design import lay_out
from meta_eval.grouping import estimate_correlations
from meta_eval.planning import (
    COST,
    LARGEST,
    Spread,
    correlation_with_raters,
    estimate_spread,
    find_deviation,
    n_to_tell_metrics,
    n_to_tell_systems,
    paired_power,
    rank_correlation,
    reliability,
)


@pytest.mark.parametrize(("r_a", "r_b", "r_ab", "n"), [(0.6, 0.4, 0.5, 80), (0.3, 0.3, 0.7, 50), (0.7, 0.5, 0.6, 150)])
def test_the_deviation_is_that_of_simulated_data(r_a, r_b, r_ab, n):
    factor = np.linalg.cholesky([[1, r_a, r_b], [r_a, 1, r_ab], [r_b, r_ab, 1]])
    samples = factor @ np.random.default_rng(0).normal(size=(2000, 3, n))
    r = np.array([np.corrcoef(each) for each in samples])
    assert find_deviation(r_a, r_b, r_ab) == pytest.approx(math.sqrt(n) * (r[:, 0, 1] - r[:, 0, 2]).std(), rel=0.06)


def test_n_to_tell_metrics_is_the_least():
    found = n_to_tell_metrics(0.5, 0.4, 0.6)
    assert found.power >= 0.8
    least = int(found.n / COST)  # of normal variables
    a, b, both = (rank_correlation(r) for r in (0.5, 0.4, 0.6))
    assert paired_power(a - b, find_deviation(a, b, both), least - 1) < 0.8
    assert paired_power(a - b, find_deviation(a, b, both), least) >= 0.8
    assert n_to_tell_metrics(0.5, 0.3, 0.6).n < found.n
    assert n_to_tell_metrics(0.5, 0.4, 0.9).n < found.n  # similar metrics are easier to distinguish


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: n_to_tell_metrics(0.5, 0.5, 0.6), "the two correlations are equal"),
        (lambda: n_to_tell_metrics(0.9, -0.9, 0.9), "no variables have the correlations 0.9, -0.9"),
        (lambda: n_to_tell_systems(1.0, 1e6), f"more than {LARGEST} are needed"),
        (lambda: n_to_tell_systems(0, 1), "the difference is 0"),
    ],
)
def test_no_plan_has_a_reason(call, reason):
    found = call()
    assert math.isnan(found.n)
    assert found.reason is not None
    assert reason in found.reason


def test_n_to_tell_systems_is_that_of_the_tables():
    """Cohen (1988): an effect of .5 needs 34 pairs for a power of .8 at .05, an effect of .2 needs 199."""
    assert n_to_tell_systems(0.5, 1.0).n == 34
    assert n_to_tell_systems(0.4, 2.0).n == 199
    assert paired_power(0.2, 1.0, 198) < 0.8 <= paired_power(0.2, 1.0, 199)
    assert n_to_tell_systems(100.0, 1.0).n == 2


def test_spread_by_hand():
    """Two raters, inputs (1, 3) and (5, 7): within 2, means 2 and 6, between 2 * 8 = 16, so inputs (16 - 2)/2 = 7."""
    found = estimate_spread([[1, 5], [3, 7]])
    assert (found.inputs, found.raters) == pytest.approx((math.sqrt(7), math.sqrt(2)))
    assert found.of_mean(2) == pytest.approx(math.sqrt(8))


def test_one_rater_says_nothing_about_others():
    """With the spread of raters taken as 0, one, three and five raters needed the same number of inputs."""
    for table in ([[1.0, 3, 5]], [[1.0, math.nan, 5], [math.nan, 3.0, math.nan]]):
        found = estimate_spread(table)
        assert found == Spread(inputs=2.0, raters=None, pilot=3)
        assert found.of_mean(1) == 2.0


def test_reliability_and_attenuation():
    assert reliability(1, 0.4) == pytest.approx(0.4)
    assert correlation_with_raters(0.3, 1, 0.4) == pytest.approx(0.3)
    assert correlation_with_raters(0.3, 5, 0.4) == pytest.approx(0.3 * math.sqrt(5 / (1 + 4 * 0.4)))


def test_several_metrics_need_more():
    """The test of Spearman's rho had power .69 with the 139 texts that Pearson's r needs."""
    two = n_to_tell_metrics(0.4, 0.2, 0.6)
    assert 165 <= two.n <= 185
    assert n_to_tell_metrics(0.4, 0.2, 0.6, metrics=5).n > 1.5 * two.n


def simulate_power(n: int, rounds: int) -> float:
    """How often the flips of `judge agree` tells metrics of .4 and .2 apart, by Spearman's rho."""
    factor = np.linalg.cholesky([[1, 0.4, 0.2], [0.4, 1, 0.6], [0.2, 0.6, 1]])
    rng = np.random.default_rng(0)
    shown = 0
    for _ in range(rounds):
        ratings, better, worse = factor @ rng.normal(size=(3, n))
        both = estimate_correlations(spearman, [better, worse], ratings, lay_out(n))
        shown += both.subtract([0], [1]).test()[0] < 0.05
    return shown / rounds


@pytest.mark.slow
def test_the_planned_power_is_that_of_the_test():
    """The 140 texts that Pearson's r needs, the control, have less power than was asked for."""
    assert 0.79 <= simulate_power(int(n_to_tell_metrics(0.4, 0.2, 0.6).n), 2000) <= 0.86
    assert simulate_power(140, 2000) < 0.76
