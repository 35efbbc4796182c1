"""Prediction-powered inference: a mean human rating from few ratings and many metric scores.

PPI++ of Angelopoulos, Duchi & Zrnic (2023). The mean rating of the rated part is corrected by the difference of the
metric's means on the unrated and on the rated part:

    theta = mean(Y) + lambda (mean(f_unrated) - mean(f_rated)),

where lambda minimises the variance. The interval is valid for any metric; a better metric makes it narrower. The rated
part must be a random sample of all examples.

Departures from the paper's program (ppi-python): lambda is not clipped to [0, 1], because a metric may have another
scale or direction than the ratings. The interval needs `FEWEST_UNITS` ratings (in simulations with skewed ratings, 10
to 20 ratings cover .81 to .91). It uses Student's t with n - 2 degrees of freedom, and residuals with n - 2 in the
denominator, because lambda is fitted; the program uses the normal distribution. A rate lies in [0, 1] and has Tango's
score interval (without ties: Wilson's) for the number of labels that the estimate is worth: t intervals of high rates
cover too rarely and leave [0, 1].

The difference of two systems is that of their mean ratings, each corrected by its own lambda; both lambdas together
minimise its variance. An input that both systems answered counts once, with all that is known of it. So the difference
is paired on inputs that both answered.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, Indices, explain_few, t_interval, to_columns
from meta_eval.games import Games
from meta_eval.grouping import Layout, lay_out, restrict
from meta_eval.intervals import mean_over_inputs, score_interval, share_interval
from meta_eval.preferences import Preferences
from meta_eval.strengths import find_information, fit_strengths

FEWEST_ERRORS = 5  # of a judge on labelled examples, below which others may be of a kind that no label shows
UNSEEN = 0.25  # of an error that is added then: intervals of a rate of .02 with 50 labels covered .87, and .98 with it
FEWEST_RATED = 5


@dataclass(frozen=True)
class PoweredEstimate:
    """A mean rating estimated with the help of a metric."""

    # the numbers of examples with and without a rating, of two systems together
    rated: int
    unrated: int
    # the prediction-powered mean (or difference of means) and its interval
    estimate: Estimate
    # the mean of the ratings alone and its t interval (of a rate: its score interval)
    classical: Estimate
    # the number of ratings that would give the same variance alone; infinite for a metric without error
    effective_n: float

    @property
    def cells(self) -> dict[str, Estimate | float]:
        """The estimates from labels alone and with a judge, as cells of a table, by column."""
        worth = self.effective_n
        if math.isfinite(worth):
            worth = round(worth)
        return {
            "labels": self.rated,
            "by_people": self.classical,
            "corrected": self.estimate,
            "worth": worth,
        }

    @property
    def saved(self) -> float:
        """How many ratings the metric saved, compared with ratings alone at equal precision; never below 0."""
        return self.effective_n - self.rated


def powered_mean(
    ratings: ArrayLike,
    scores: ArrayLike,
    layout: Layout | None = None,
) -> PoweredEstimate:
    """Estimates the mean rating of all examples from `ratings` (NaN if not rated) and `scores`, both of shape (n,).

    An example without a score is left out. Examples of one input of the `layout` may depend on each other, so an input
    counts once, with all that is known of it. Raises ValueError for wrong shapes and infinities.
    """
    y, f = to_columns(ratings=ratings, scores=scores)
    is_scored = ~np.isnan(f)
    units = layout or lay_out(len(y))
    if units.input_count == len(y):
        return _power_examples(y[is_scored], f[is_scored])
    return _power_inputs(y[is_scored], f[is_scored], restrict(units, is_scored))


def _power_examples(y: Floats, f: Floats) -> PoweredEstimate:
    """`powered_mean` of scored examples that each answer an input of their own; y is NaN where there is no rating.

    The variance is var(Y - lambda f)/n + lambda² var(f)/N, with n rated and N unrated examples.
    """
    is_rated = ~np.isnan(y)
    f_rated = f[is_rated]
    f_unrated = f[~is_rated]
    y = y[is_rated]
    n = len(y)
    unrated = len(f_unrated)
    if n < FEWEST_RATED:
        few = f"the estimate needs at least {FEWEST_RATED} examples with a rating and a score, but has {n}"
        return no_estimate(n, unrated, few)
    if np.ptp(y) == 0:
        return no_estimate(n, unrated, _explain_constant(y), float(y[0]))
    variance_of_mean = float(y.var(ddof=1)) / n
    classical = t_interval(float(y.mean()), variance_of_mean, n - 1)
    if unrated < 2:
        return _without_help(classical, n, unrated)
    weight = tune_weight(y, f_rated, f_unrated)
    value = float(y.mean() + weight * (f_unrated.mean() - f_rated.mean()))
    rectified = float((y - weight * f_rated).var()) / n
    imputed = weight**2 * float(f_unrated.var()) / unrated
    variance = rectified + imputed
    effective_n = math.inf
    if variance > 0:
        effective_n = max(float(n), float(y.var()) / variance)
    fitted_variance = rectified * n / (n - 2) + imputed
    estimate = t_interval(value, fitted_variance, n - 2)
    return PoweredEstimate(
        rated=n,
        unrated=unrated,
        estimate=_require_units(estimate, n),
        classical=classical,
        effective_n=effective_n,
    )


def _power_inputs(
    y: Floats,
    f: Floats,
    layout: Layout,
) -> PoweredEstimate:
    """`powered_mean` of scored examples of which several answer one input: both variances are sums over inputs."""
    is_rated = ~np.isnan(y)
    n = int(is_rated.sum())
    unrated = len(y) - n
    rated_layout = restrict(layout, is_rated)
    inputs = rated_layout.input_count
    if inputs < FEWEST_RATED:
        few = f"the estimate needs at least {FEWEST_RATED} inputs with a rating and a score, but has {inputs}"
        return no_estimate(n, unrated, few)
    ratings = y[is_rated]
    if np.ptp(ratings) == 0:
        return no_estimate(n, unrated, _explain_constant(ratings), float(ratings[0]))
    mean = float(ratings.mean())
    classical = mean_over_inputs(ratings, rated_layout)
    if unrated < 2:
        return _without_help(classical, n, unrated)
    f_rated = f[is_rated]
    f_unrated = f[~is_rated]
    weight = tune_weight(ratings, f_rated, f_unrated)
    shift = float(f_unrated.mean() - f_rated.mean())
    parts = np.zeros(len(y))
    parts[is_rated] = (ratings - mean - weight * (f_rated - f_rated.mean())) / n
    parts[~is_rated] = weight * (f_unrated - f_unrated.mean()) / unrated
    variance = _sum_variance(parts, layout.inputs) * inputs / (inputs - 2)
    effective_n = math.inf
    if variance > 0:
        variance_of_ratings = _sum_variance((ratings - mean) / n, rated_layout.inputs)
        effective_n = n * variance_of_ratings / variance
    estimate = t_interval(mean + weight * shift, variance, inputs - 2)
    return PoweredEstimate(
        rated=n,
        unrated=unrated,
        estimate=_require_units(estimate, inputs),
        classical=classical,
        effective_n=effective_n,
    )


def _sum_variance(parts: Floats, inputs: Indices) -> float:
    """The variance of a sum of parts, of shape (n,), whose sums over inputs are independent and have the mean 0."""
    sums = np.bincount(inputs, parts)
    count = len(np.unique(inputs))
    return float((sums**2).sum()) * count / (count - 1)


def powered_difference(
    ratings_a: ArrayLike,
    ratings_b: ArrayLike,
    scores_a: ArrayLike,
    scores_b: ArrayLike,
) -> PoweredEstimate:
    """Estimates the mean rating of system a minus that of b on the same inputs; all arrays have the shape (inputs,).

    A missing rating is NaN; an output without a score is left out. The rated inputs of a and of b may differ. The
    difference is a sum over inputs, of the contributions to the means of ratings (u) and to the means of unrated minus
    rated scores (d); the lambdas minimise the sum of squares of u + lambda_a d_a - lambda_b d_b.
    """
    y_a, y_b, f_a, f_b = to_columns(
        ratings_a=ratings_a,
        ratings_b=ratings_b,
        scores_a=scores_a,
        scores_b=scores_b,
    )
    a = _share_out(y_a, f_a)
    b = _share_out(y_b, f_b)
    n = a.rated + b.rated
    unrated = a.unrated + b.unrated
    fewest = min(a.rated, b.rated)
    if fewest < FEWEST_RATED:
        rule = f"a difference needs at least {FEWEST_RATED} examples of each system with a rating and a score"
        return no_estimate(n, unrated, f"{rule}, but one has {fewest}")
    gap = a.mean - b.mean
    u = a.ratings - b.ratings
    of_ratings = float((u**2).sum())
    if of_ratings == 0:
        return no_estimate(n, unrated, "the ratings do not vary: without variation there is no interval", gap)
    d = np.column_stack([a.shifts, -b.shifts])  # (inputs, systems)
    lambdas = np.linalg.lstsq(d, -u, rcond=None)[0]
    residual = float(((u + d @ lambdas) ** 2).sum())
    classical = t_interval(gap, of_ratings * fewest / (fewest - 1), fewest - 1)
    estimate = classical
    used = int((d != 0).any(axis=0).sum())
    if used:
        helped = lambdas @ [a.shift, -b.shift]
        freedom = fewest - 1 - used
        powered = t_interval(gap + float(helped), residual * fewest / freedom, freedom)
        estimate = _require_units(powered, fewest)
    return PoweredEstimate(
        rated=n,
        unrated=unrated,
        estimate=estimate,
        classical=classical,
        effective_n=n * of_ratings / residual if residual > 0 else math.inf,
    )


@dataclass(frozen=True)
class _SystemPart:
    """What one system gives to a difference."""

    # the numbers of inputs with and without a rating
    rated: int
    unrated: int
    # the mean rating
    mean: float
    # the mean of the unrated scores minus that of the rated ones
    shift: float
    # what each input adds to both beyond their values, of shape (inputs,)
    ratings: Floats
    shifts: Floats


def _share_out(y: Floats, f: Floats) -> _SystemPart:
    """The mean rating and the shift of scores of one system, shared out among the inputs; all of shape (inputs,)."""
    is_scored = ~np.isnan(f)
    is_rated = ~np.isnan(y) & is_scored
    is_unrated = np.isnan(y) & is_scored
    n = int(is_rated.sum())
    unrated = int(is_unrated.sum())
    mean = math.nan
    shift = 0.0
    ratings = np.zeros(len(y))
    shifts = np.zeros(len(y))
    if n >= FEWEST_RATED:
        mean = float(y[is_rated].mean())
        ratings[is_rated] = (y[is_rated] - mean) / n
    if n >= FEWEST_RATED and unrated >= 2:
        f_rated = f[is_rated]
        f_unrated = f[is_unrated]
        shift = float(f_unrated.mean() - f_rated.mean())
        shifts[is_rated] = (f_rated.mean() - f_rated) / n
        shifts[is_unrated] = (f_unrated - f_unrated.mean()) / unrated
    return _SystemPart(
        rated=n,
        unrated=unrated,
        mean=mean,
        shift=shift,
        ratings=ratings,
        shifts=shifts,
    )


def powered_rate(
    labels: ArrayLike,
    verdicts: ArrayLike,
    layout: Layout,
) -> PoweredEstimate:
    """Estimates the mean of all labels, of which some are known, with the verdicts of a judge on all examples.

    Labels are 1, 0, or 0.5 for a tie, and NaN if there is none. Verdicts lie between 0 and 1, and are NaN if there is
    none. Both have the shape (n,). Examples of one input may depend on each other, so an input counts once, with all
    that is known of it. The estimate lies in [0, 1]. Its score interval is that of the number of labels which the
    estimate is worth, and needs `FEWEST_UNITS` labelled inputs. If the judge has few errors on the labels, a part of
    one more error is added, because few labels may not show the errors it has.
    """
    y, f = to_columns(labels=labels, verdicts=verdicts)
    f = _fill_verdicts(f)
    is_labelled = ~np.isnan(y)
    total = len(y)
    n = int(is_labelled.sum())
    if n < FEWEST_RATED:
        return no_estimate(n, total - n, f"the estimate needs at least {FEWEST_RATED} labels, but has {n}")
    labelled = restrict(layout, is_labelled)
    inputs = labelled.input_count
    f_labelled = f[is_labelled]
    y = y[is_labelled]
    mean = float(y.mean())
    classical = share_interval(y, labelled)
    weight = _fit_slope(y, f_labelled) if n < total else 0.0
    parts = weight * (f - f.mean()) / total
    residuals = y - mean - weight * (f_labelled - f_labelled.mean())
    parts[is_labelled] += residuals / n * math.sqrt(n / (n - 2))  # two figures are fitted
    variance = _square_sums(np.bincount(layout.inputs, parts), inputs)
    if _has_few_errors(y, f_labelled):
        variance += UNSEEN / n**2
    worth = float(y.var()) / variance if variance > 0 else math.inf
    if weight == 0 or not 0 < worth < math.inf:  # the judge adds nothing, or all labels are equal
        return _without_help(classical, n, total - n)
    value = mean + weight * float(f.mean() - f_labelled.mean())
    share = min(max(value, 0.0), 1.0)
    low, high = score_interval(
        share,
        untied=float((y != 0.5).mean()),
        n=min(worth, total),
        freedom=inputs - 1 if inputs < n else math.inf,
    )
    of_labels = _square_sums(np.bincount(labelled.inputs, y - mean) / n, inputs)
    return PoweredEstimate(
        rated=n,
        unrated=total - n,
        estimate=_require_units(Estimate(share, low, high), inputs),
        classical=classical,
        effective_n=n * of_labels / variance,
    )


def _fit_slope(y: Floats, f: Floats) -> float:
    """The slope of y on f, cov(y, f) / var(f), of shape (n,); 0 for verdicts that do not vary."""
    centred = f - f.mean()
    spread = float(f.var())
    if not spread > 0:
        return 0.0
    return float((y * centred).mean()) / spread


def _fill_verdicts(f: Floats) -> Floats:
    """Puts the mean verdict, which says nothing about an example, in place of a missing one."""
    is_missing = np.isnan(f)
    neutral = 0.5 if is_missing.all() else np.nanmean(f)
    return np.where(is_missing, neutral, f)


def _square_sums(sums: np.ndarray, inputs: int) -> float:
    """The variance of a sum of independent sums over so many labelled inputs."""
    return float((sums**2).sum()) * inputs / (inputs - 1)


def _has_few_errors(labels: Floats, verdicts: Floats) -> bool:
    """Whether the judge has few errors on labels, or gets few right, so that others may be of a kind not seen."""
    errors = float(np.abs(labels - verdicts).sum())
    return min(errors, len(labels) - errors) < FEWEST_ERRORS


def powered_strengths(given: Preferences, verdicts: ArrayLike) -> dict[str, Estimate]:
    """Fits Bradley-Terry strengths to all pairs, of which some have outcomes and the others only verdicts of a judge.

    The gradient of the likelihood sums two things: over all pairs, the outcomes that verdicts predict (.5 + lambda (f -
    .5)), and over pairs with outcomes, N/n times the errors of this prediction. Lambda minimises the squares of the
    errors. Intervals are Student's t with a sandwich variance over inputs, and need `FEWEST_UNITS` inputs with
    outcomes. Pairs without a verdict count as ties of the judge. The pairs with outcomes must be a random sample.
    """
    is_labelled = ~np.isnan(given.outcomes)
    n = int(is_labelled.sum())
    if n < FEWEST_RATED:
        few = Estimate.undefined(f"strengths need at least {FEWEST_RATED} labels, but there are {n}")
        return dict.fromkeys(given.systems, few)
    corrected = _correct_outcomes(given.outcomes, np.asarray(verdicts, dtype=np.float64))
    games = Games.of(replace(given, outcomes=corrected))
    wins = games.wins + games.added
    if min(wins.sum(axis=0).min(), wins.sum(axis=1).min()) <= 0:
        no_chain = Estimate.undefined("too few labels: a system has no wins or no losses")
        return dict.fromkeys(given.systems, no_chain)
    strengths = fit_strengths(wins[None])[0]
    if np.isnan(strengths).any():
        no_fit = Estimate.undefined("too few labels: no strengths fit the corrected wins")
        return dict.fromkeys(given.systems, no_fit)
    by_name = dict(zip(given.systems, strengths.tolist(), strict=True))
    inputs = restrict(given.layout, is_labelled).input_count
    if inputs < FEWEST_UNITS:
        few_inputs = explain_few("inputs with labels", inputs)
        return {name: Estimate.undefined(few_inputs, strength) for name, strength in by_name.items()}
    parts = _linearise_strengths(replace(given, outcomes=corrected), wins, strengths)
    variances = (parts**2).sum(axis=0) * inputs / (inputs - 1)
    estimates = {}
    for (name, strength), variance in zip(by_name.items(), variances.tolist(), strict=True):
        estimates[name] = t_interval(strength, variance, inputs - 1)
    return estimates


def _correct_outcomes(outcomes: Floats, verdicts: Floats) -> Floats:
    """Predicted outcomes of all pairs, .5 + lambda (f - .5), and N/n times their errors where outcomes are known."""
    f = np.nan_to_num(verdicts, nan=0.5) - 0.5
    is_labelled = ~np.isnan(outcomes)
    n = int(is_labelled.sum())
    total = len(outcomes)
    f_labelled = f[is_labelled]
    squares = float((f_labelled**2).sum())
    weight = 0.0
    if squares > 0 and n < total:
        products = (outcomes[is_labelled] - 0.5) * f_labelled
        weight = float(products.sum()) / squares
    predicted = 0.5 + f * weight
    errors = np.where(is_labelled, np.nan_to_num(outcomes) - predicted, 0.0)
    return predicted + errors * total / n


def _linearise_strengths(
    corrected: Preferences,
    wins: Floats,
    strengths: Floats,
) -> Floats:
    """What each input adds to the errors of strengths, of shape (inputs, systems).

    It is the input's part of the score times the inverse of Fisher's information.
    """
    k = len(strengths)
    expected = expit(strengths[:, None] - strengths[None, :])[None]  # (1, systems, systems)
    information = find_information(wins + wins.T, expected)
    inverse = np.linalg.inv(information + 1 / k)[0]  # 1/k: the mean strength is 0
    a, b = corrected.numbers
    errors = corrected.outcomes - expected[0, a, b]
    inputs = corrected.layout.inputs
    score = np.zeros((corrected.layout.input_count, k))
    np.add.at(score, (inputs, a), errors)
    np.add.at(score, (inputs, b), -errors)
    return score @ inverse


def tune_weight(
    y: Floats,
    f_rated: Floats,
    f_unrated: Floats,
) -> float:
    """Computes the lambda that minimises the variance (Eq. 8 of the paper): cov(Y, f) / ((1 + n/N) var(f)).

    It is 0 for a metric that gives every example the same score.
    """
    all_scores = np.concatenate([f_rated, f_unrated])
    variance = float(all_scores.var(ddof=1))
    if variance == 0:
        return 0.0
    products = (y - y.mean()) * (f_rated - f_rated.mean())
    covariance = float(products.mean())
    ratio = len(y) / len(f_unrated)  # n/N
    return covariance / ((1 + ratio) * variance)


def _explain_constant(ratings: Floats) -> str:
    return f"all {len(ratings)} ratings are {ratings[0]:g}: without variation there is no interval"


def no_estimate(
    rated: int,
    unrated: int,
    reason: str,
    value: float = math.nan,
) -> PoweredEstimate:
    """Makes an estimate without an interval, and by default without a value; `reason` says why."""
    none = Estimate.undefined(reason, value)
    return PoweredEstimate(
        rated=rated,
        unrated=unrated,
        estimate=none,
        classical=none,
        effective_n=math.nan,
    )


def _without_help(
    classical: Estimate,
    rated: int,
    unrated: int,
) -> PoweredEstimate:
    """What ratings say alone, where scores add nothing."""
    return PoweredEstimate(
        rated=rated,
        unrated=unrated,
        estimate=classical,
        classical=classical,
        effective_n=float(rated),
    )


def _require_units(estimate: Estimate, rated: int) -> Estimate:
    """The estimate; without its interval if too few examples, or inputs, are rated."""
    if rated >= FEWEST_UNITS:
        return estimate
    few = explain_few("ratings helped by scores", rated)
    return Estimate.undefined(few, estimate.value)
