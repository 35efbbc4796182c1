"""Estimates: scipy's intervals as oracles, values by hand, and arithmetic on parts."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.design import MOST_UNITS, lay_out
from meta_eval.estimates import (
    Estimates,
    estimate_difference,
    estimate_mean,
    estimate_ratio,
    estimate_share,
    linearise,
)

NAN = math.nan


def test_a_mean_has_students_interval_and_exact_flips() -> None:
    x = np.array([1.0, 2, 4, 4, 9, -1, 3, 5, 2, -2])
    found = estimate_mean(x, lay_out(10), scale="plain")
    error = stats.sem(x)
    low, high = stats.t.interval(0.95, 9, 2.7, error)
    assert (found.only.value, found.only.low, found.only.high) == pytest.approx((2.7, low, high))
    sums = [abs(np.where([i >> j & 1 for j in range(10)], -x, x).sum()) for i in range(1024)]
    assert found.test()[0] == pytest.approx(np.mean(np.array(sums) >= x.sum() - 1e-9))


def test_a_skewed_mean_has_an_interval_with_a_longer_upper_side() -> None:
    x = np.random.default_rng(0).lognormal(size=50)
    found = estimate_mean(x, lay_out(50)).only
    assert found.high - found.value > 1.2 * (found.value - found.low)


@pytest.mark.parametrize(("wins", "n"), [(0, 20), (7, 10), (30, 100), (100, 100)])
def test_a_share_has_two_wins_and_losses_more(wins: int, n: int) -> None:
    """Agresti and Coull's interval, whose variance counts the four outcomes too."""
    found = estimate_share((np.arange(n) < wins).astype(float), lay_out(n)).only
    middle = (wins + 2) / (n + 4)
    half = 1.96 * math.sqrt(middle * (1 - middle) / (n + 4))
    assert found.value == wins / n
    assert found.low == pytest.approx(min(max(middle - half, 0), wins / n), abs=0.006)
    assert found.high == pytest.approx(max(min(middle + half, 1), wins / n), abs=0.006)


def test_rows_of_one_input_count_together() -> None:
    wins = np.array([1.0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0] * 3)
    alone = estimate_share(wins, lay_out(36)).only
    copies = estimate_share(np.repeat(wins, 4), lay_out(144, inputs=np.repeat(np.arange(36), 4).tolist())).only
    assert copies.value == alone.value
    assert copies.high - copies.low == pytest.approx(alone.high - alone.low, rel=0.05)  # Student's quantile


def test_differences_of_the_same_units_are_paired() -> None:
    rng = np.random.default_rng(0)
    both = rng.normal(size=40)[:, None] + 0.1 * rng.normal(size=(40, 2))
    means = estimate_mean(both, lay_out(40))
    gap = estimate_mean(both[:, 0] - both[:, 1], lay_out(40))
    for found in (means.subtract([0], [1]), means.contrast(np.array([[1.0], [-1.0]]))):
        assert found.only.low == pytest.approx(gap.only.low)
    one, other = (estimate_mean(column, lay_out(40)) for column in both.T)
    assert (one - other).only.high == pytest.approx(means.subtract([0], [1]).only.high)


def test_what_cannot_be_shown_has_a_reason() -> None:
    assert "at least 10" in (estimate_mean(np.arange(9.0), lay_out(9), scale="plain").only.reason or "")
    assert "no spread" in (estimate_mean(np.ones(20), lay_out(20)).only.reason or "")
    fragile = linearise(lambda w: np.where(w[:, :1] > 0, 2.0, NAN), np.ones(20, dtype=bool)).only
    assert (fragile.value, "some of the inputs" in (fragile.reason or "")) == (2.0, True)
    assert estimate_mean(np.full(20, NAN), lay_out(20)).only.reason == "not defined on these examples"


def test_many_inputs_are_few_units_of_the_same_precision() -> None:
    x = np.random.default_rng(0).normal(size=5000)
    found = estimate_mean(x, lay_out(5000))
    assert found.units == MOST_UNITS
    assert found.errors[0] == pytest.approx(x.std(ddof=1) / math.sqrt(5000), rel=0.15)


def test_the_order_of_rows_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    x, names = rng.normal(size=600) + 0.05, [f"q{i // 2}" for i in range(600)]
    order = rng.permutation(600)
    one = estimate_mean(x, lay_out(600, inputs=names))
    other = estimate_mean(x[order], lay_out(600, inputs=[names[i] for i in order]))
    assert one.test()[0] == other.test()[0]
    assert (one.only.low, one.only.high) == pytest.approx((other.only.low, other.only.high))


def test_ratios_and_bounded_differences_by_hand() -> None:
    ratio = estimate_ratio(np.arange(20.0), np.full(20, 2.0), lay_out(20))
    assert ratio.only.value == pytest.approx(4.75)
    worse = np.array([-1.0] * 3 + [0.0] * 20 + [1.0] * 7)
    assert estimate_difference(2 * worse, lay_out(30), unit=2.0).only.value == pytest.approx(2 * 4 / 30)


def test_joined_pseudo_units_are_independent() -> None:
    wins = np.tile([1.0, 0.0, 1.0], 10)
    one: Estimates = estimate_share(wins, lay_out(30))
    gap = one - one
    assert (gap.values[0], gap.parts.any()) == (0, False)
    assert gap.errors[0] == pytest.approx(math.sqrt(2 * (one.unseen**2).sum()))
