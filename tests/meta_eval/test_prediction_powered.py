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
    assert found == powered_mean(preferences, [1, 1, 0, 0.5, 1, 1, 1, 1, 0, 1])
    assert found.classical.value == pytest.approx(3.5 / 6)


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
        (lambda: powered_mean([1, 2], [1, 2], confidence=95), "confidence must lie between 0 and 1, but is 95"),
        (lambda: powered_win_rate([1, 0.3], [1, 2]), "preferences must be 0, 0.5 or 1, .* but one is 0.3"),
    ],
)
def test_faults(call, message):
    with pytest.raises(ValueError, match=message):
        call()
