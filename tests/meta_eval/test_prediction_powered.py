"""Prediction-powered inference: values of ppi-python, limits that are known, undefined cases."""

import math

import numpy as np
import pytest
from scipy import stats

from meta_eval.grouping import lay_out
from meta_eval.prediction_powered import powered_difference, powered_mean, powered_rate, tune_weight

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
    half = stats.norm.ppf(0.975) * math.sqrt(RATINGS.var() / found.effective_n)
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
    y, rated, unrated = np.tile(RATINGS, 3), np.tile(RATED, 3) + np.linspace(0, 1, 30), UNRATED
    found = powered_mean(*both(y, rated, unrated))
    weight = tune_weight(y, rated, unrated)
    residuals = float((y - weight * rated).var()) * 30 / 28 / 30
    imputed = weight**2 * float(unrated.var()) / 12
    half = stats.t.ppf(0.975, 28) * math.sqrt(residuals + imputed)
    assert found.estimate.high - found.estimate.value == pytest.approx(half)


def test_a_constant_metric_is_the_classical_estimate():
    found = powered_mean(*both(rated=np.ones(10), unrated=np.ones(12)))
    assert found.saved == 0.0
    assert found.estimate.value == pytest.approx(RATINGS.mean())


def preferred(wins: int, losses: int, hits: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Preferences and verdicts that agree with a share of them; nine times as many verdicts without a preference."""
    rng, n = np.random.default_rng(seed), 10 * (wins + losses)
    y = np.where(rng.permutation(n) < 10 * wins, 1.0, 0.0)
    y[: wins + losses] = np.arange(wins + losses) < wins
    verdicts = np.where(rng.random(n) < hits, y, 1 - y)
    y[wins + losses :] = NAN
    return y, verdicts


def test_a_rate_has_wilsons_interval_for_the_labels_that_it_is_worth():
    found = powered_rate(*preferred(21, 9, 0.9), lay_out(300))
    plain = stats.binomtest(21, 30).proportion_ci(method="wilson")
    assert (found.classical.low, found.classical.high) == pytest.approx((plain.low, plain.high), abs=1e-9)
    share, n, z = found.estimate.value, found.effective_n * 29 / 30, 1.959964  # of the variance of 30 labels
    centre = (share + z**2 / 2 / n) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / 4 / n**2)
    assert 30 < n < 300
    assert (found.estimate.low, found.estimate.high) == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_an_example_that_is_rated_needs_no_help():
    every = powered_mean(RATINGS, RATED)
    assert every.estimate == every.classical == powered_mean(*both()).classical
    assert (every.saved, every.unrated) == (0.0, 0)
    wins = powered_rate([1.0, 1, 0, 0.5, 1], [1.0, 1, 0, 0.5, 1], lay_out(5))
    assert wins.estimate == wins.classical
    few = powered_mean(*both())
    assert (few.estimate.value, few.estimate.reason) == (
        pytest.approx(4.34183559),
        "an interval over ratings helped by scores needs at least 30 of them, but there are 10",
    )


def test_a_difference_by_hand():
    """People rate a on all seven inputs and b on five, both 1 on average; b's other scores are higher by 4 - 1."""
    a, b = [0.0, 2, 0, 2, 1, 1, 1], [1.0, 0, 0, 1, 3, NAN, NAN]
    found = powered_difference(a, b, range(7), [1, 0, 0, 1, 3, 0, 8])
    ratings = np.array([-1, 1, -1, 1, 0, 0, 0]) / 7 - np.array([0, -1, -1, 0, 2, 0, 0]) / 5
    shift = np.array([0, -1, -1, 0, 2, 5 * 2, -5 * 2]) / 5  # minus that of b
    weight = -(ratings @ shift) / (shift @ shift)
    assert found.estimate.value == pytest.approx(1 - 1 - weight * 3)
    helped = ((ratings + weight * shift) ** 2).sum()
    assert found.effective_n == pytest.approx(12 * (ratings**2).sum() / helped)
    assert (found.rated, found.unrated) == (12, 2)


def test_a_difference_without_unrated_outputs_is_the_paired_t_test():
    other = RATINGS[::-1] - 1
    low, high = stats.ttest_rel(RATINGS, other).confidence_interval(0.95)
    found = powered_difference(RATINGS, other, RATED, RATED)
    assert found.estimate == found.classical
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == pytest.approx((1.0, low, high))
    few = powered_difference(RATINGS, np.where(np.arange(10) < 4, other, NAN), RATED, RATED)
    assert few.estimate.reason == (
        "a difference needs at least 5 examples of each system with a rating and a score, but one has 4"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("rated", "inputs"), [(30, 200), (100, 300)])
@pytest.mark.parametrize("where", ["same", "apart", "half", "full"])
def test_differences_cover(rated, inputs, where):
    """Five-point ratings that share half their variance; people rated the same inputs, others, or all of one system."""

    def study(rng, n):
        quality = rng.normal(size=n)
        y = [np.clip(np.round(3 + 0.7 * quality + s + 0.9 * rng.normal(size=n)), 1, 5) for s in (0.3, 0.0)]
        return y, [each + 0.8 * rng.normal(size=n) for each in y]

    (many_a, many_b), _ = study(np.random.default_rng(1), 1_000_000)
    truth, rng, covered, widths = float((many_a - many_b).mean()), np.random.default_rng(0), 0, []
    for _ in range(1000):
        (a, b), scores = study(rng, inputs)
        kept = {"same": (0, rated), "apart": (inputs - rated, inputs), "half": (rated // 2, rated // 2 + rated)}
        start, end = kept.get(where, (0, rated))
        b[:start], b[end:] = NAN, NAN
        a[rated if where != "full" else inputs :] = NAN
        found = powered_difference(a, b, *scores)
        covered += found.estimate.low <= truth <= found.estimate.high
        widths.append((found.estimate.high - found.estimate.low) / (found.classical.high - found.classical.low))
    print(f"difference, {rated} of {inputs}, {where}: {covered / 1000}, width {np.mean(widths):.2f}")
    assert 0.93 <= covered / 1000 <= 0.975
    assert np.mean(widths) < 0.85


def test_undefined_cases():
    few = powered_mean([1, 2, 3, 4, NAN, NAN], range(6))
    assert math.isnan(few.estimate.value)
    assert few.estimate.reason is not None
    assert few.estimate.reason == "the estimate needs at least 5 examples with a rating and a score, but has 4"
    constant = powered_mean([2, 2, 2, 2, 2, NAN, NAN], range(7))
    assert constant.estimate.value == 2
    assert constant.estimate.reason == "all 5 ratings are 2: without variation there is no interval"
    apart = powered_difference([3] * 5, [2] * 5, range(5), range(5))
    assert (apart.estimate.value, math.isnan(apart.estimate.low)) == (1, True)
    assert apart.estimate.reason == "the ratings do not vary: without variation there is no interval"


def test_mean_ratings_of_inputs_that_repeat_cover():
    """40 inputs with 8 texts that correlate by .7 within an input; half of the inputs are rated."""
    rng = np.random.default_rng(1)
    covered = {"corrected": 0, "people": 0}
    rounds = 200
    inputs = np.repeat(np.arange(40), 8)
    for _ in range(rounds):
        truth = np.sqrt(0.7) * rng.normal(size=40)[inputs] + np.sqrt(0.3) * rng.normal(size=320)
        scores = 0.8 * truth + 0.6 * rng.normal(size=320)
        ratings = np.where(inputs < 20, truth, NAN)
        found = powered_mean(ratings, scores, lay_out(320, inputs=inputs.tolist()))
        alone = found.classical
        covered["people"] += alone.low <= 0 <= alone.high
        covered["corrected"] += not found.estimate.reason and found.estimate.low <= 0 <= found.estimate.high
    assert 0.91 <= covered["people"] / rounds <= 0.98
    assert covered["corrected"] == 0  # 20 rated inputs are fewer than intervals need


def test_one_text_an_input_is_the_plain_mean():
    layout = lay_out(len(both()[0]))
    assert powered_mean(*both(), layout) == powered_mean(*both())
    y = np.tile(RATINGS, 2)
    twice = powered_mean(y, y, lay_out(20, inputs=[*range(10), *range(10)]))
    assert twice.classical.low == pytest.approx(powered_mean(RATINGS, RATINGS).classical.low)


@pytest.mark.slow
def test_corrected_mean_ratings_of_inputs_that_repeat_cover():
    rng = np.random.default_rng(1)
    covered = 0
    inputs = np.repeat(np.arange(100), 5)
    for _ in range(400):
        truth = np.sqrt(0.7) * rng.normal(size=100)[inputs] + np.sqrt(0.3) * rng.normal(size=500)
        scores = 0.8 * truth + 0.6 * rng.normal(size=500)
        found = powered_mean(np.where(inputs < 40, truth, NAN), scores, lay_out(500, inputs=inputs.tolist())).estimate
        covered += found.low <= 0 <= found.high
    assert 0.925 <= covered / 400 <= 0.975


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "labels"), [(0.02, 50), (0.02, 100), (0.02, 200), (0.05, 50), (0.98, 50), (0.5, 100), (0.3, 200)]
)
def test_corrected_rates_of_rare_labels_cover(rate: float, labels: int) -> None:
    """A good judge on 1,000 texts; a rate of .02 with 50 labels was covered by .87 of the intervals."""
    rng = np.random.default_rng(0)
    layout = lay_out(1000)
    covered = []
    for _ in range(1000):
        truth = (rng.random(1000) < rate).astype(float)
        said_yes = np.where(truth == 1, rng.random(1000) < 0.9, rng.random(1000) > 0.99)
        known = np.where(np.arange(1000) < labels, truth, np.nan)
        found = powered_rate(known, said_yes.astype(float), layout).estimate
        covered.append(found.low - 1e-12 <= rate <= found.high + 1e-12)
    print(f"rate {rate:g}, {labels} labels: coverage {np.mean(covered):.3f}")
    assert 0.92 <= np.mean(covered) <= 0.985


def test_an_error_that_no_label_shows_is_allowed_for() -> None:
    """Ten yes among 50 labels, and a judge without a visible error: whose worth was 1,000 labels.

    The rest of the variance is that of the verdicts; alone it was worth 1,000 labels.
    """
    labels = np.full(1000, np.nan)
    labels[:50] = np.arange(50) < 10
    verdicts = (np.arange(1000) % 5 == 0).astype(float)
    verdicts[:50] = labels[:50]
    found = powered_rate(labels, verdicts, lay_out(1000))
    classical = 0.2 * 0.8 / 49
    hidden = 0.25 / 50**2
    seen = 0.2 * 0.8 / 1000 * 50 / 49
    assert found.effective_n == pytest.approx(50 * classical / (hidden + seen), rel=1e-9)
