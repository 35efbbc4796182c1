"""Prediction-powered inference: values of ppi-python, limits that are known, undefined cases."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.prediction_powered import powered_mean, powered_win_rate, tune_weight

NAN = math.nan
RATINGS = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3])
RATED = np.array([2.5, 1.5, 3.5, 2, 4, 8, 1, 7, 4.5, 2])
UNRATED = np.array([1, 2, 3, 4, 5, 6, 7, 8, 2.5, 3.5, 4.5, 6.5])


def both(ratings=RATINGS, rated=RATED, unrated=UNRATED) -> tuple[np.ndarray, np.ndarray]:
    return np.append(ratings, np.full(len(unrated), NAN)), np.append(rated, unrated)


def test_equal_to_ppi_python():
    """ppi-python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci(alpha=.05), a normal interval."""
    found = powered_mean(*both())
    assert found.estimate.value == pytest.approx(4.34183559, abs=1e-8)
    half = stats.norm.ppf(0.975) * found.standard_error
    assert (found.estimate.value - half, found.estimate.value + half) == pytest.approx(
        (3.33134273, 5.35232845), abs=1e-8
    )
    assert (found.rated, found.unrated) == (10, 12)


def test_by_hand():
    """Ratings 0 2 0 2 1, scores the same, unrated scores 1 3: cov = 4/5; pooled scores 0 2 0 2 1 1 3 have mean 9/7 and
    squares 19 - 81/7 = 52/7 over 6; lambda = .8 / ((1 + 5/2) 52/42) = 24/130; theta = 1 + lambda (2 - 1)."""
    y = np.array([0.0, 2, 0, 2, 1])
    assert tune_weight(y, y, np.array([1.0, 3])) == pytest.approx(24 / 130)
    assert powered_mean(*both(y, y, np.array([1.0, 3]))).estimate.value == pytest.approx(1 + 24 / 130)


def test_the_interval_is_wider_than_the_normal_one_by_students_t_and_two_parameters():
    found = powered_mean(*both(), confidence=0.9)
    weight = found.weight
    residuals = float((RATINGS - weight * RATED).var()) * 10 / 8 / 10
    imputed = weight**2 * float(UNRATED.var()) / 12
    half = stats.t.ppf(0.95, 8) * math.sqrt(residuals + imputed)
    assert found.estimate.high - found.estimate.value == pytest.approx(half)


def test_the_classical_interval_is_that_of_the_t_test():
    low, high = stats.ttest_1samp(RATINGS, 0).confidence_interval(0.95)
    found = powered_mean(*both()).classical
    assert (found.value, found.low, found.high) == pytest.approx((RATINGS.mean(), low, high))


@pytest.mark.parametrize(("scale", "shift"), [(2.0, 0.0), (0.01, 5.0), (-3.0, 1.0)])
def test_the_scale_and_direction_of_the_metric_do_not_matter(scale, shift):
    y, f = both()
    plain, moved = powered_mean(y, f), powered_mean(y, scale * f + shift)
    assert moved.estimate.value == pytest.approx(plain.estimate.value)
    assert moved.effective_n == pytest.approx(plain.effective_n)


def sampled(correlation: float, rated: int, unrated: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, noise = rng.normal(size=(2, rated + unrated))
    f = correlation * y + math.sqrt(1 - correlation**2) * noise
    y[rated:] = NAN
    return y, f


def test_a_better_metric_saves_more_ratings_and_an_empty_one_none():
    saved = [powered_mean(*sampled(r, 200, 20_000, 0)).saved for r in (0.0, 0.5, 0.8, 0.95)]
    assert saved == sorted(saved)
    assert saved[0] == pytest.approx(0, abs=10)
    for r, found in zip((0.5, 0.8, 0.95), saved[1:], strict=True):
        assert found + 200 == pytest.approx(200 / (1 - r**2 * 200 / 202), rel=0.35)


def test_the_width_follows_the_correlation():
    """With many scores the variance is (1 - r²) of the classical one."""
    for r in (0.3, 0.6, 0.9):
        ratios = []
        for seed in range(20):
            found = powered_mean(*sampled(r, 400, 40_000, seed))
            widths = [e.high - e.low for e in (found.estimate, found.classical)]
            ratios.append(widths[0] / widths[1])
        assert np.mean(ratios) == pytest.approx(math.sqrt(1 - r**2), abs=0.02)


def test_a_constant_metric_is_the_classical_estimate():
    found = powered_mean(*both(rated=np.ones(10), unrated=np.ones(12)))
    assert (found.weight, found.saved) == (0.0, 0.0)
    assert found.estimate.value == pytest.approx(RATINGS.mean())


def test_win_rate():
    """The metric's gap counts by its sign only."""
    preferences = np.array([1.0, 1, 0, 0.5, 1, 0, NAN, NAN, NAN, NAN])
    gaps = np.array([0.2, 3, -1, 0, 0.1, 0.4, 1, 2, -1, 5])
    found = powered_win_rate(preferences, gaps)
    mean = powered_mean(preferences, [1, 1, 0, 0.5, 1, 1, 1, 1, 0, 1])
    assert (found.estimate.value, found.weight, found.saved) == (mean.estimate.value, mean.weight, mean.saved)
    assert found.classical.value == pytest.approx(3.5 / 6)
    assert found.estimate.reason == (
        "a prediction-powered win rate needs at least 20 preferences for an interval, but there are 6"
    )


def preferred(wins: int, losses: int, hits: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Preferences and gaps that agree with a share of them; nine times as many gaps without a preference."""
    rng, n = np.random.default_rng(seed), 10 * (wins + losses)
    y = np.where(rng.permutation(n) < 10 * wins, 1.0, 0.0)
    y[: wins + losses] = np.arange(wins + losses) < wins
    gaps = np.where(rng.random(n) < hits, 1, -1) * (2 * y - 1)
    y[wins + losses :] = NAN
    return y, gaps


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("wins", [17, 19, 20])
def test_a_win_rate_and_its_intervals_lie_in_the_unit_interval(wins, seed):
    found = powered_win_rate(*preferred(wins, 20 - wins, 0.8, seed))
    for estimate in (found.estimate, found.classical):
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        assert estimate.low < estimate.high
        assert estimate.reason is None


def test_a_win_rate_has_wilsons_interval_for_the_preferences_that_it_is_worth():
    found = powered_win_rate(*preferred(14, 6, 0.9))
    plain = stats.binomtest(14, 20).proportion_ci(method="wilson")
    assert (found.classical.low, found.classical.high) == pytest.approx((plain.low, plain.high), abs=1e-9)
    share, n, z = found.estimate.value, found.effective_n, 1.959964
    centre = (share + z**2 / 2 / n) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / 4 / n**2)
    assert 20 < n < 200
    assert (found.estimate.low, found.estimate.high) == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_equal_preferences_have_the_interval_of_the_preferences_alone():
    found = powered_win_rate(*preferred(20, 0, 0.9))
    plain = stats.binomtest(20, 20).proportion_ci(method="wilson")
    assert found.estimate == found.classical
    assert (found.estimate.low, found.estimate.high) == pytest.approx((plain.low, plain.high), abs=1e-9)


def test_examples_without_a_score_are_left_out():
    y, f = both()
    found = powered_mean(np.append(y, [4.0, NAN]), np.append(f, [NAN, NAN]))
    assert found == powered_mean(y, f)


def test_undefined_cases():
    few = powered_mean([1, 2, 3, 4, NAN, NAN], range(6))
    assert math.isnan(few.estimate.value)
    assert few.estimate.reason is not None
    assert few.estimate.reason.endswith("with a score alone, but there are 4 and 2")
    constant = powered_mean([2, 2, 2, 2, 2, NAN, NAN], range(7))
    assert constant.estimate.value == 2
    assert constant.estimate.reason == "all 5 ratings are 2: without variation there is no interval"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: powered_mean([1, 2], [1]), r"one shape \(n,\), but have \(2,\) and \(1,\)"),
        (lambda: powered_mean([1, math.inf], [1, 2]), "must be finite"),
        (lambda: powered_mean([1, 2], [1e308, 2]), r"at most 1e\+150 in size"),
        (lambda: powered_mean([1, 2], [1, 2], confidence=95), "confidence must lie between 0 and 1, but is 95"),
        (lambda: powered_win_rate([1, 0.3], [1, 2]), "preferences must be 0, 0.5 or 1, .* but one is 0.3"),
    ],
)
def test_faults(call, message):
    with pytest.raises(ValueError, match=message):
        call()
