"""Intervals: scipy's bootstrap and the older module as oracles, what is drawn, undefined cases with reasons."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.agreement import agreement
from meta_eval.correlation import kendall, pearson, spearman
from meta_eval.grouping import lay_out
from meta_eval.intervals import (
    Resampling,
    bca_interval,
    bootstrap_p_value,
    grouped_bootstrap,
    grouped_estimate,
    restrict,
)

NAN = math.nan


def rated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, np.round(x + rng.normal(size=n))


def crossed(systems: int, inputs: int) -> dict[str, list[int]]:
    return {
        "systems": [s for s in range(systems) for _ in range(inputs)],
        "inputs": [i for _ in range(systems) for i in range(inputs)],
    }


def test_over_inputs_is_the_plain_bootstrap():
    x, y = rated(60, 0)
    found = grouped_estimate(spearman, x, y, lay_out(60)).estimate
    assert found == agreement(x, y).spearman


@pytest.mark.parametrize("statistic", [pearson, spearman])
def test_bca_equals_scipys(statistic):
    x, y = rated(40, 1)
    oracle = stats.pearsonr if statistic is pearson else stats.spearmanr
    expected = stats.bootstrap(
        (x, y),
        lambda a, b: oracle(a, b)[0],
        paired=True,
        vectorized=False,
        n_resamples=300,
        method="BCa",
        rng=np.random.default_rng(3),
    ).confidence_interval
    found = grouped_estimate(
        statistic, x, y, lay_out(40), resampling=Resampling(method="bca", resamples=300, seed=3)
    ).estimate
    assert (found.low, found.high) == (pytest.approx(expected.low, abs=1e-9), pytest.approx(expected.high, abs=1e-9))


def test_bca_by_hand():
    """Half of the resamples lie below and the jackknife is symmetric: z0 = a = 0 leaves the percentile interval."""
    values = np.arange(1.0, 101)
    low, high = bca_interval(50.5, values, np.array([1.0, 2, 3]), 0.9)
    assert (low, high) == (pytest.approx(np.quantile(values, 0.05)), pytest.approx(np.quantile(values, 0.95)))


def test_bca_on_the_edge():
    assert bca_interval(1.0, np.ones(10), np.ones(5), 0.95) == (1.0, 1.0)
    assert all(math.isnan(end) for end in bca_interval(1.0, np.arange(10.0) / 10, np.ones(5), 0.95))
    assert bca_interval(0.5, np.linspace(0, 1, 11), np.ones(5), 0.8) == pytest.approx((0.1, 0.9))  # no skewness


def test_over_systems_draws_systems():
    rng = np.random.default_rng(0)
    layout = lay_out(60, **crossed(6, 10))
    x, y = rng.normal(size=60), rng.normal(size=60)
    found = grouped_estimate(pearson, x, y, layout, resampling=Resampling(over="systems", resamples=100, seed=2))
    draws = np.random.default_rng(2).integers(0, 6, (100, 6))
    members = np.arange(60).reshape(6, 10)
    values = [stats.pearsonr(x[members[d].ravel()], y[members[d].ravel()])[0] for d in draws]
    assert (found.estimate.low, found.estimate.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


def test_over_both_is_wider_than_over_either():
    rng = np.random.default_rng(1)
    quality = rng.normal(size=12)[:, None] + rng.normal(size=15)
    x, y = (quality + 0.3 * rng.normal(size=(12, 15)) for _ in range(2))
    layout = lay_out(180, **crossed(12, 15))
    widths = {}
    for over in ("inputs", "systems", "both"):
        found = grouped_estimate(pearson, x.ravel(), y.ravel(), layout, resampling=Resampling(over=over)).estimate
        widths[over] = found.high - found.low
    assert widths["both"] > max(widths["inputs"], widths["systems"])


def test_batches_do_not_change_the_interval(monkeypatch):
    x, y = rated(30, 2)
    whole = grouped_estimate(kendall, x, y, lay_out(30), resampling=Resampling(method="bca"))
    monkeypatch.setattr("meta_eval.intervals.BATCH", 30 * 7)
    assert grouped_estimate(kendall, x, y, lay_out(30), resampling=Resampling(method="bca")) == whole


def test_scores_that_are_missing_are_left_out_with_their_systems():
    layout = lay_out(60, **crossed(6, 10))
    x, y = rated(60, 3)
    x[:10] = NAN  # the first system has no scores at all
    found = grouped_estimate(pearson, x, y, layout, grouping="system_means", resampling=Resampling(over="systems"))
    rest = grouped_estimate(
        pearson, x[10:], y[10:], lay_out(50, **crossed(5, 10)), grouping="system_means",
        resampling=Resampling(over="systems"),
    )  # fmt: skip
    assert (found.estimate, found.n) == (rest.estimate, 50)
    assert restrict(layout, ~np.isnan(x)).system_count == 5


@pytest.mark.parametrize(
    ("scores", "ratings", "settings", "reason"),
    [
        ([1, 2], [1, 2], {}, "at least 3 scored and rated examples, but there are 2"),
        ([1, 1, 1, 1], [1, 2, 3, 4], {}, "all 4 scores of examples are 1: a constant has no correlation"),
        ([1, 2, 3, NAN], [2, 2, 2, 5], {}, "all 3 ratings of examples are 2: a constant has no correlation"),
        ([1, 2, 3, 4], [1, 3, 2, 4], {"grouping": "system_means"}, "rated systems, but there are 1"),
        ([1, 2, 3, 4], [1, 3, 2, 4], {"grouping": "per_input"}, "do not both vary within any of the 4 inputs"),
    ],
)
def test_undefined_is_nan_with_a_reason(scores, ratings, settings, reason):
    found = grouped_estimate(spearman, scores, ratings, lay_out(4 if len(scores) == 4 else 2), **settings).estimate
    assert all(math.isnan(v) for v in (found.value, found.low, found.high))
    assert found.reason is not None
    assert reason in found.reason


def test_few_units_have_a_value_but_no_interval():
    found = grouped_estimate(spearman, [1, 2, 3, 4], [1, 3, 2, 4], lay_out(4)).estimate
    assert found.value == pytest.approx(0.8)
    assert math.isnan(found.low)
    assert found.reason == "an interval over inputs needs at least 5 of them, but there are 4"
    x, y = rated(20, 4)
    one_system = grouped_estimate(spearman, x, y, lay_out(20), resampling=Resampling(over="both")).estimate
    assert one_system.reason == "an interval over systems needs at least 5 of them, but there are 1"


def test_too_little_variation_for_an_interval():
    found = grouped_estimate(spearman, range(50), [1] + [0] * 49, lay_out(50)).estimate
    assert not math.isnan(found.value)
    assert found.reason is not None
    assert found.reason.endswith("of 1000 resamples: too little variation for an interval")


def test_p_value_of_a_bootstrap():
    """Of 9 resamples 1 lies at or below 0: 2 (1 + 1)/(9 + 1) = .4; all on one side: 2/(9 + 1); never above 1."""
    assert bootstrap_p_value(np.array([-1.0, 1, 2, 3, 4, 5, 6, 7, 8])) == pytest.approx(0.4)
    assert bootstrap_p_value(np.arange(1.0, 10)) == pytest.approx(0.2)
    assert bootstrap_p_value(np.zeros(9)) == 1.0
    assert bootstrap_p_value(np.zeros(9), units=20) == 1.0
    z = stats.norm.isf(0.1)  # of a share of .2, two-sided
    assert bootstrap_p_value(np.arange(1.0, 10), units=20) == pytest.approx(2 * stats.t.sf(z * math.sqrt(19 / 20), 19))


def test_the_values_on_resamples_are_returned():
    x = np.arange(10.0)
    estimate, values = grouped_bootstrap(lambda _, w: w @ x / w.sum(axis=-1), lay_out(10), Resampling(resamples=50))
    draws = np.random.default_rng(0).integers(0, 10, (50, 10))
    np.testing.assert_allclose(values, x[draws].mean(axis=1))
    assert estimate.value == 4.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": 95}, "confidence must lie between 0 and 1, but is 95"),
        ({"resamples": 0}, "resamples must be at least 1, but is 0"),
        ({"method": "bca", "over": "both"}, "BCa intervals need over=inputs or over=systems"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Resampling(**settings)


def test_bad_arrays():
    with pytest.raises(ValueError, match="the layout has 4 examples, but there are 3 scores"):
        grouped_estimate(spearman, [1, 2, 3], [1, 2, 3], lay_out(4))
    with pytest.raises(ValueError, match="scores must be finite"):
        grouped_estimate(spearman, [1, 2, math.inf], [1, 2, 3], lay_out(3))
