"""Agreement: exact values, scipy's own bootstrap as the oracle, coverage, groups, undefined cases, faults."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from meta_eval.agreement import length_correlation
from meta_eval.bootstrap import Estimate, expand
from meta_eval.correlation import explain_undefined, kendall, pearson, spearman
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling, grouped_estimate

NAN = math.nan


@dataclass(frozen=True)
class Correlations:
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate


def agreement(scores, ratings, groups=None, **settings) -> Correlations:
    """All three correlations, over inputs."""
    layout, drawing = lay_out(len(scores), inputs=groups), Resampling(**settings)
    return Correlations(
        *(grouped_estimate(each, scores, ratings, layout, resampling=drawing) for each in (pearson, spearman, kendall))
    )


def rated(n: int, seed: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and ratings of three levels, many ties."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, np.clip(np.round(x + noise * rng.normal(size=n)), -1, 1)


def test_hand_worked_values():
    found = agreement([1, 2, 2, 3], [1, 2, 3, 4], resamples=50)
    assert found.pearson.value == pytest.approx(3 / math.sqrt(2 * 5))
    assert found.spearman.value == pytest.approx(4.5 / math.sqrt(22.5))
    assert found.kendall.value == pytest.approx(5 / math.sqrt(30))


def test_examples_without_a_score_are_counted_and_left_out():
    x, y = rated(30, 0)
    with_gaps, ratings = np.insert(x, [0, 7, 30], NAN), np.insert(y, [0, 7, 30], [9, -9, 9])
    found = agreement(with_gaps, ratings)
    plain = agreement(x, y)
    assert (found.pearson, found.spearman, found.kendall) == (plain.pearson, plain.spearman, plain.kendall)


@pytest.mark.parametrize(
    ("name", "oracle"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)]
)
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_equal_to_scipys_paired_bootstrap(name, oracle, confidence):
    x, y = rated(60, 1)
    found = getattr(agreement(x, y, resamples=200, seed=5, confidence=confidence), name)
    expected = stats.bootstrap(
        (x, y),
        lambda a, b: oracle(a, b)[0],
        paired=True,
        vectorized=False,
        n_resamples=200,
        confidence_level=expand(confidence, 60),
        method="percentile",
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert found.value == pytest.approx(oracle(x, y)[0], abs=1e-12)
    assert (found.low, found.high) == (pytest.approx(expected.low, abs=1e-12), pytest.approx(expected.high, abs=1e-12))


def test_batches_do_not_change_the_interval(monkeypatch):
    x, y = rated(50, 2)
    whole = agreement(x, y)
    monkeypatch.setattr("meta_eval.bootstrap.BATCH", 50 * 7)
    assert agreement(x, y) == whole


def test_the_seed_decides():
    x, y = rated(50, 3)
    assert agreement(x, y, seed=1) == agreement(x, y, seed=1)
    assert agreement(x, y, seed=1).spearman.low != agreement(x, y, seed=2).spearman.low


def test_more_confidence_is_a_wider_interval():
    x, y = rated(80, 4)
    narrow, wide = (agreement(x, y, confidence=c).kendall for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


@pytest.mark.parametrize(("name", "truth"), [("pearson", 1), ("spearman", 1), ("kendall", 1)])
def test_perfect_agreement_has_an_interval(name, truth):
    found = getattr(agreement(range(30), range(30)), name)
    assert (found.value, found.low, found.high) == pytest.approx((truth, truth, truth))
    assert found.reason is None


def test_rank_correlations_ignore_rising_maps_and_flip_with_the_sign():
    x, y = rated(40, 5)
    plain, mapped, flipped = agreement(x, y), agreement(np.exp(x), y * 3 + 1), agreement(-x, y)
    for name in ("spearman", "kendall"):
        before, after, turned = (getattr(found, name) for found in (plain, mapped, flipped))
        assert after == before
        assert turned.value == pytest.approx(-before.value)
        assert (turned.low, turned.high) == (pytest.approx(-before.high), pytest.approx(-before.low))


def test_the_order_of_examples_does_not_matter_to_the_values():
    x, y = rated(40, 6)
    order = np.random.default_rng(0).permutation(40)
    plain, shuffled = agreement(x, y, resamples=10), agreement(x[order], y[order], resamples=10)
    for name in ("pearson", "spearman", "kendall"):
        assert getattr(shuffled, name).value == pytest.approx(getattr(plain, name).value, abs=1e-12)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """200 samples of 40 from a bivariate normal with r = .6: rho = 6/pi asin(r/2), tau = 2/pi asin(r)."""
    r = 0.6
    truth = {"pearson": r, "spearman": 6 / math.pi * math.asin(r / 2), "kendall": 2 / math.pi * math.asin(r)}
    rng = np.random.default_rng(0)
    covered = dict.fromkeys(truth, 0)
    for _ in range(200):
        x, noise = rng.normal(size=(2, 40))
        found = agreement(x, r * x + math.sqrt(1 - r * r) * noise, resamples=200, confidence=0.9)
        for name, value in truth.items():
            estimate = getattr(found, name)
            covered[name] += estimate.low <= value <= estimate.high
    for name, times in covered.items():
        assert 0.82 <= times / 200 <= 0.96, f"{name}: {times} of 200"


def clustered(groups: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Ten examples per group that share most of what they are."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(2, groups)).repeat(10, axis=1)
    x, y = shared + 0.1 * rng.normal(size=(2, 10 * groups))
    return x, y, [f"input {i}" for i in range(groups) for _ in range(10)]


def test_groups_are_drawn_whole():
    x, y, groups = clustered(30, 0)
    found = agreement(x, y, groups=groups, resamples=100, seed=3).spearman
    draws = np.random.default_rng(3).integers(0, 30, (100, 30))  # as scipy's bootstrap draws
    members = np.arange(300).reshape(30, 10)
    rhos = [stats.spearmanr(x[members[draw].ravel()], y[members[draw].ravel()])[0] for draw in draws]
    outside = (1 - expand(0.95, 30)) / 2
    low, high = np.quantile(rhos, [outside, 1 - outside])
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


def test_groups_widen_the_interval_of_dependent_examples():
    x, y, groups = clustered(30, 1)
    alone, grouped = agreement(x, y), agreement(x, y, groups=groups)
    assert grouped.spearman.value == alone.spearman.value
    assert grouped.spearman.high - grouped.spearman.low > 2 * (alone.spearman.high - alone.spearman.low)


def test_groups_of_one_are_the_examples():
    x, y = rated(30, 7)
    assert agreement(x, y, groups=[str(i) for i in range(30)]) == agreement(x, y)


@pytest.mark.parametrize(
    ("n", "groups", "reason"),
    [
        (4, None, "an interval over inputs needs at least 30 of them, but there are 4"),
        (29, None, "an interval over inputs needs at least 30 of them, but there are 29"),
        (60, list(range(29)) + [0] * 31, "an interval over inputs needs at least 30 of them, but there are 29"),
        (30, ["a"] * 30, "an interval over inputs needs at least 30 of them, but there are 1"),
    ],
)
def test_few_units_have_values_but_no_interval(n, groups, reason):
    """Four examples in order had the interval [1.00, 1.00]."""
    found = agreement(range(n), range(n), groups=groups)
    for estimate in (found.pearson, found.spearman, found.kendall):
        assert estimate.value == pytest.approx(1.0)
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)
        assert estimate.reason == reason
    assert not math.isnan(agreement(range(30), range(30)).spearman.low)


@pytest.mark.parametrize(
    ("scores", "ratings", "reason"),
    [
        ([], [], "a correlation needs at least 3 scored and rated examples, but there are 0"),
        ([1, 2], [1, 2], "a correlation needs at least 3 scored and rated examples, but there are 2"),
        ([1, NAN, 2], [1, 2, 3], "a correlation needs at least 3 scored and rated examples, but there are 2"),
        ([0.1] * 5, range(5), "all 5 scores of examples are 0.1: a constant has no correlation"),
        (range(4), [3] * 4, "all 4 ratings of examples are 3: a constant has no correlation"),
    ],
)
def test_undefined_is_nan_with_a_reason(scores, ratings, reason):
    found = agreement(scores, ratings)
    for estimate in (found.pearson, found.spearman, found.kendall):
        assert all(math.isnan(v) for v in (estimate.value, estimate.low, estimate.high))
        assert estimate.reason == reason


def test_too_little_variation_for_an_interval():
    """One rating of 50 differs: about .98^50 = 36 % of the resamples are constant."""
    found = agreement(range(50), [1] + [0] * 49)
    assert found.spearman.value == pytest.approx(stats.spearmanr(range(50), [1] + [0] * 49)[0])
    assert math.isnan(found.spearman.low)
    assert found.spearman.reason is not None
    assert found.spearman.reason.endswith("of 1000 resamples: too little variation for an interval")
    assert 310 < int(found.spearman.reason.split()[3]) < 420


def test_a_few_constant_resamples_are_left_out():
    """Two of thirty values differ: (28/30)^30 = 13 % constant, less than 1 - 0.8."""
    found = agreement(range(30), [1, 1] + [0] * 28, confidence=0.8).kendall
    assert found.reason is None
    assert -1 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2, 3], [1, 2]), r"one shape \(n,\), but have shapes \(3,\) and \(2,\)"),
        (([[1, 2, 3]], [[1, 2, 3]]), r"one shape \(n,\), but have shapes \(1, 3\) and \(1, 3\)"),
        (([1, 2, 3, 4], [1, NAN, 2, math.inf]), r"ratings must be finite, but ratings\[1\] is nan \(2 of 4"),
        (([1, -math.inf, 3], [1, 2, 3]), r"scores must be finite, or NaN .* scores\[1\] is -inf"),
    ],
)
def test_bad_arrays(arguments, message):
    with pytest.raises(ValueError, match=message):
        agreement(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": ["a", "b"]}, r"one name per example \(3\), but has 2"),
        ({"groups": ["a", None, "b"]}, r"each example needs a name in inputs, but inputs\[1\] is None"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        agreement([1, 2, 3], [1, 3, 2], **settings)


def test_length_correlation():
    assert length_correlation([1, 2, NAN, 2, 3], [1, 2, 9, 3, 4]) == pytest.approx(4.5 / math.sqrt(22.5))
    assert math.isnan(length_correlation([1, 2, 3], [5, 5, 5]))
    assert math.isnan(length_correlation([1, 2], [5, 6]))
    with pytest.raises(ValueError, match="scores and word_counts must be"):
        length_correlation([1, 2], [1])


def test_the_explanation_names_the_side():
    assert explain_undefined(scores=np.arange(3.0), word_counts=np.zeros(3)) == (
        "all 3 word_counts are 0: a constant has no correlation"
    )
    assert explain_undefined(scores=np.arange(3.0), ratings=np.arange(3.0)) is None
