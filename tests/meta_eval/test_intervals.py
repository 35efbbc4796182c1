"""Intervals: scipy's bootstrap as the oracle, coverage, what is drawn, undefined cases with reasons."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from meta_eval.auditing import standardised_mean
from meta_eval.bootstrap import NO_SPREAD, Estimate, estimate_perplexity, estimate_ratio, expand_confidence
from meta_eval.correlation import kendall, pearson, spearman
from meta_eval.grouping import lay_out
from meta_eval.intervals import (
    Resampling,
    difference,
    grouped_estimate,
    is_within_margin,
    jackknife_interval,
    mean_interval,
    share_interval,
)
from tests.meta_eval.sets import ORACLES, rho

NAN = math.nan


def agree(scores, ratings, statistic=spearman, groups=None, **settings) -> Estimate:
    """The interval of a correlation over inputs."""
    layout = lay_out(len(scores), inputs=groups)
    return grouped_estimate(statistic, scores, ratings, layout, resampling=Resampling(**settings))


def rated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and ratings of three levels, many ties."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, np.clip(np.round(x + rng.normal(size=n)), -1, 1)


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall])
def test_equal_to_scipys_paired_bootstrap(statistic):
    (x, y), oracle = rated(60, 1), ORACLES[statistic.__name__]
    found = agree(x, y, statistic, resamples=200, seed=5)
    expected = stats.bootstrap(
        (x, y),
        oracle,
        paired=True,
        vectorized=False,
        n_resamples=200,
        confidence_level=expand_confidence(60),
        method="percentile",
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert found.value == pytest.approx(oracle(x, y), abs=1e-12)
    assert (found.low, found.high) == (pytest.approx(expected.low, abs=1e-12), pytest.approx(expected.high, abs=1e-12))


def test_groups_are_drawn_whole():
    """Ten examples per group share most of what they are."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30)).repeat(10, axis=1) + 0.1 * rng.normal(size=(2, 300))
    found = agree(x, y, groups=np.arange(30).repeat(10).tolist(), resamples=100, seed=3)
    draws = np.random.default_rng(3).integers(0, 30, (100, 30))  # as scipy's bootstrap draws
    members = np.arange(300).reshape(30, 10)
    rhos = [stats.spearmanr(x[members[draw].ravel()], y[members[draw].ravel()])[0] for draw in draws]
    outside = (1 - expand_confidence(30)) / 2
    low, high = np.quantile(rhos, [outside, 1 - outside])
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


@pytest.mark.parametrize(
    ("scores", "ratings", "groups", "reason"),
    [
        (range(29), range(29), None, "an interval over inputs needs at least 30 of them, but there are 29"),
        (range(30), range(30), ["a"] * 30, "an interval over inputs needs at least 30 of them, but there are 1"),
        ([1, NAN, 2], [1, 2, 3], None, "a correlation needs at least 3 scored and rated examples, but there are 2"),
        ([0.1] * 5, range(5), None, "all 5 scores of examples are 0.1: a constant has no correlation"),
        (range(4), [3] * 4, None, "all 4 ratings of examples are 3: a constant has no correlation"),
    ],
)
def test_undefined_is_nan_with_a_reason(scores, ratings, groups, reason):
    """Few units have values but no interval: four examples in order had the interval [1.00, 1.00]."""
    for statistic in (pearson, spearman, kendall):
        estimate = agree(scores, ratings, statistic, groups)
        assert estimate.value == pytest.approx(1.0) if "interval" in reason else math.isnan(estimate.value)
        assert (math.isnan(estimate.low), math.isnan(estimate.high), estimate.reason) == (True, True, reason)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"grouping": "between_systems"}, "the scored and rated texts name fewer than 2 systems"),
        ({"grouping": "within_inputs"}, "scores and ratings do not both vary within any of the 4 inputs"),
    ],
)
def test_undefined_groupings_have_a_reason(settings, reason):
    found = grouped_estimate(spearman, [1, 2, 3, 4], [1, 3, 2, 4], lay_out(4), **settings)
    assert (math.isnan(found.low), found.reason) == (True, reason)


@pytest.mark.parametrize("systems", [4, 7, 8])
def test_means_of_few_systems_have_no_interval(systems):
    """Systems are drawn: of 8 the interval is the jackknife's, which a loop leaves out one by one."""
    rng = np.random.default_rng(0)
    quality = np.tile(np.arange(systems), 40)
    layout = lay_out(40 * systems, quality.tolist(), np.repeat(np.arange(40), systems).tolist())
    scores, ratings = quality + rng.normal(size=(2, 40 * systems))
    estimate = grouped_estimate(spearman, scores, ratings, layout, grouping="between_systems")
    assert estimate.value > 0.9
    assert math.isnan(estimate.low) == (systems < 8)
    if systems < 8:
        assert estimate.reason == f"an interval over systems needs at least 8 of them, but there are {systems}"
        return
    means = np.array([(scores[quality == system].mean(), ratings[quality == system].mean()) for system in range(8)])
    assert estimate.value == pytest.approx(rho(*means.T))
    without_one = np.array([rho(*np.delete(means, system, axis=0).T) for system in range(8)])
    half = stats.t.ppf(0.975, 7) * np.sqrt(7 * without_one.var())
    assert (estimate.low, estimate.high) == pytest.approx((estimate.value - half, min(estimate.value + half, 1)))


def test_too_little_variation_for_an_interval():
    """One rating of 50 differs: about .98^50 = 36 % of the resamples are constant."""
    found = agree(range(50), [1] + [0] * 49)
    assert found.value == pytest.approx(rho(range(50), [1] + [0] * 49))
    assert math.isnan(found.low)
    assert str(found.reason).endswith("of 1000 resamples: too little variation for an interval")
    assert 310 < int(str(found.reason).split()[3]) < 420


def test_inputs_that_all_say_the_same_have_a_reason():
    """Every resample has the value itself; verdicts may rest on it, but it is shown without an interval."""
    assert agree(range(40), range(40)) == Estimate(1.0, 1.0, 1.0, NO_SPREAD)
    assert jackknife_interval(lambda w: np.full(len(w), 0.1 + 0.2), lay_out(40)).reason == NO_SPREAD
    assert share_interval(np.full(40, 0.7), lay_out(40)).reason == NO_SPREAD
    assert share_interval(np.ones(40), lay_out(40)).reason is None  # a score interval


def test_the_mean_has_students_interval():
    x = np.array([1.0, 2, 4, 4, 9])
    low, high = stats.ttest_1samp(x, 0).confidence_interval(0.9)
    found = mean_interval(x, 0.9)
    assert (found.value, found.low, found.high) == pytest.approx((4.0, low, high))
    assert mean_interval(x[:4]).reason == "an interval over inputs needs at least 5 of them, but there are 4"
    assert mean_interval(np.ones(6)).reason == "all 6 values are 1: there is no spread"


@pytest.mark.parametrize(("wins", "n"), [(5, 5), (0, 5), (3, 5), (7, 10), (30, 100), (100, 100)])
def test_a_share_without_ties_has_wilsons_interval(wins, n):
    expected = stats.binomtest(wins, n).proportion_ci(method="wilson")
    found = share_interval(np.arange(n) < wins, lay_out(n))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    inputs = np.repeat(range(n), 4).tolist()
    repeated = share_interval(np.repeat(np.arange(n) < wins, 4), lay_out(4 * n, inputs=inputs))
    assert 0 <= repeated.low <= found.low + 0.01
    assert found.high - 0.01 <= repeated.high <= 1  # outputs that are all alike add nothing


def likeliest(share: tuple[int, int, int], d: float) -> float:
    """The variance of wins minus losses under the likeliest shares whose difference is d, by trying many."""
    wins, ties, losses = share
    q = np.linspace(abs(d), 1, 200_001)[1:-1]  # wins and losses together
    with np.errstate(divide="ignore"):
        found = wins * np.log((q + d) / 2) + losses * np.log((q - d) / 2) + ties * np.log(1 - q)
    best = float(q[np.argmax(found)])
    return best - d * d


@pytest.mark.parametrize("counts", [(3, 4, 1), (8, 2, 0), (1, 9, 0), (2, 5, 9)])
def test_a_share_with_ties_has_tangos_interval(counts):
    """At its ends the difference lies 1.96 standard errors away, with the likeliest variance found by search."""
    wins, _, losses = counts
    n = sum(counts)
    values = np.repeat([1.0, 0.5, 0.0], counts)
    found = share_interval(values, lay_out(n))
    observed = (wins - losses) / n
    for end in (found.low, found.high):
        d = 2 * end - 1
        assert abs(observed - d) == pytest.approx(1.959964 * math.sqrt(likeliest(counts, d) / n), abs=1e-3)
    opposite = share_interval(1 - values, lay_out(n))
    assert (opposite.low, opposite.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_the_jackknife_of_a_mean_is_students_interval():
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=40)
    low, high = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    found = jackknife_interval(lambda w: w @ x / w.sum(axis=-1), lay_out(40))
    assert (found.value, found.low, found.high) == pytest.approx((x.mean(), low, high))
    few = jackknife_interval(lambda w: w @ x[:29] / w.sum(axis=-1), lay_out(29))
    assert few.reason == "an interval over inputs needs at least 30 of them, but there are 29"
    undefined = jackknife_interval(lambda w: np.full(len(w), NAN), lay_out(40))
    assert (math.isnan(undefined.value), undefined.reason) == (True, "not defined on these examples")
    fragile = jackknife_interval(lambda w: np.where(w[:, 0] > 0, 2.0, NAN), lay_out(40))
    assert (fragile.value, math.isnan(fragile.low)) == (2.0, True)
    assert fragile.reason == "not defined without some of the inputs: too little variation"


def test_standardised_means():
    x, of = np.array([1.0, 2, 6]), np.array([0.0, 3, 6])
    weights = np.array([[1.0, 1, 1], [2, 0, 1], [3, 0, 0]])
    repeated = [x.mean() / of.std(ddof=1), np.mean([1, 1, 6]) / np.std([0, 0, 6], ddof=1)]
    found = standardised_mean(x, of, weights)
    assert found[:2] == pytest.approx(repeated)
    assert math.isnan(found[2])


def test_a_mean_of_correlations_has_a_jackknife_interval():
    """Within inputs it is Student's t of their correlations; within systems, a loop leaves out each input."""
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(30, 8))
    scores = ratings + rng.normal(size=(30, 8))
    layout = lay_out(240, list(range(8)) * 30, np.repeat(range(30), 8).tolist())
    found = grouped_estimate(spearman, scores.ravel(), ratings.ravel(), layout, grouping="within_inputs")
    each = [rho(x, y) for x, y in zip(scores, ratings, strict=True)]
    low, high = stats.ttest_1samp(each, 0).confidence_interval(0.95)
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(each), low, high))

    def within_systems(inputs):
        return float(np.mean([rho(scores[inputs, s], ratings[inputs, s]) for s in range(8)]))

    found = grouped_estimate(spearman, scores.ravel(), ratings.ravel(), layout, grouping="within_systems")
    left_out = np.array([within_systems(np.delete(np.arange(30), i)) for i in range(30)])
    half = stats.t.ppf(0.975, 29) * np.sqrt(29 / 30 * ((left_out - left_out.mean()) ** 2).sum())
    value = within_systems(np.arange(30))
    assert (found.value, found.low, found.high) == pytest.approx((value, value - half, value + half))


@pytest.mark.slow
def test_the_interval_of_high_correlations_within_systems_covers_the_truth():
    """Percentiles of resamples cover about half of the truths here, because repeated outputs tie in rank."""
    rng, layout = np.random.default_rng(3), lay_out(240, list(range(8)) * 30, np.repeat(range(30), 8).tolist())

    def draw(inputs):
        ratings = rng.normal(size=(inputs, 1)) + rng.normal(size=(inputs, 8))
        return ratings + 0.25 * (rng.normal(size=(inputs, 1)) + rng.normal(size=(inputs, 8))), ratings

    many = draw(100_000)
    truth = float(np.mean([rho(many[0][:, s], many[1][:, s]) for s in range(8)]))
    covered = 0
    for _ in range(400):
        x, y = draw(30)
        found = grouped_estimate(spearman, x.ravel(), y.ravel(), layout, grouping="within_systems")
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_the_difference_of_two_metrics_equals_the_paired_bootstrap_of_scipy():
    (a, y), (b, _) = rated(50, 1), rated(50, 2)

    def gap(a, b, y):
        return rho(a, y) - rho(b, y)

    expected = stats.bootstrap(
        (a, b, y), gap, paired=True, vectorized=False, n_resamples=1000, method="percentile",
        confidence_level=expand_confidence(50), rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    found = difference(a, b, y)
    assert (found.value, found.low, found.high) == pytest.approx((gap(a, b, y), expected.low, expected.high), abs=1e-12)
    missing = np.append(a, NAN), np.append(b, 1.0), np.append(y, 2.0)
    assert difference(*missing) == found  # only examples that both metrics scored count
    assert difference(a, np.ones(50), y).reason == "all 50 scores of examples are 1: a constant has no correlation"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2, 3]], [[1, 2, 3]]), r"one shape \(n,\), but have \(1, 3\) and \(1, 3\)"),
        (([1, 2, 3, 4], [1, NAN, 2, 3]), "1 of 4 ratings are NaN"),
        (([1, -math.inf, 3], [1, 2, 3]), "scores and ratings must be finite"),
        (([1, 2, 3, 4], [1, 2, 3]), r"but have \(4,\) and \(3,\)"),
    ],
)
def test_bad_arrays(arguments, message):
    with pytest.raises(ValueError, match=message):
        agree(*arguments)
    with pytest.raises(ValueError, match="the layout has 4 examples, but there are 3 scores"):
        grouped_estimate(spearman, [1, 2, 3], [1, 2, 3], lay_out(4))


def test_a_ratio_of_sums_has_an_interval_over_units() -> None:
    alike, ones, units = np.tile([1.0, 0.0], 30), np.ones(60), np.repeat(np.arange(30), 2)
    found = estimate_ratio(alike, ones, units, seed=0)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)  # units are alike
    found = estimate_ratio(np.repeat([1.0, 0.0], 30), ones, units, seed=0)  # each unit is all or nothing
    assert (found.value, found.high - found.low) == (0.5, pytest.approx(2 * 2.05 * 0.5 / np.sqrt(29), rel=0.1))
    few = estimate_ratio(np.array([6.0, 2.0]), np.array([3.0, 1.0]), np.array([0, 1]), seed=0)
    assert few.value == 2.0  # sums, not a mean of ratios
    assert few.reason == "an interval over examples needs at least 30 of them, but there are 2"


def test_a_perplexity_is_exp_of_the_mean_loss_of_a_token() -> None:
    losses, tokens = np.tile([np.log(8), np.log(2)], 30), np.tile([3.0, 1.0], 30)
    found = estimate_perplexity(losses, tokens, np.repeat(np.arange(30), 2))
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))  # log(16) over four tokens


@pytest.mark.parametrize(("margin", "inputs"), [(0.1, 30), (0.1, 100), (0.05, 75), (0.05, 150), (0.02, 150)])
def test_rare_differences_are_seldom_equal_at_the_margin(margin: float, inputs: int) -> None:
    """A passes all, B fails at the rate of the margin: the exact chance of "equal" is about 5 % at most."""
    chance = 0.0
    for failures in range(inputs + 1):
        values = np.zeros(inputs)
        values[:failures] = 1
        if is_within_margin(values, margin, level=0.05, tests=1, largest=1.0):
            chance += float(binom.pmf(failures, inputs, margin))
    assert chance < 0.065


def test_equal_values_are_equal() -> None:
    assert is_within_margin(np.zeros(200), 0.1, level=0.05, tests=1, largest=1.0)
    assert not is_within_margin(
        np.zeros(10), 0.1, level=0.05, tests=1, largest=1.0
    )  # a difference of .1 is often unseen
    assert is_within_margin(np.zeros(10), 0.1, level=0.05, tests=1)


def test_intervals_of_shares_stay_within_0_and_1() -> None:
    values = np.r_[np.full(38, 0.0), 0.4, 0.9]
    found = share_interval(values, lay_out(40))
    assert (found.low, found.high < 1) == (0.0, True)
