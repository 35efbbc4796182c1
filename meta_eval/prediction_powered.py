"""Prediction-powered inference: a mean human rating from few ratings and many metric scores.

PPI++ of Angelopoulos, Duchi & Zrnic (2023). The mean rating of the rated part is corrected by the difference of the
metric's means on the unrated and on the rated part:

    theta = mean(Y) + lambda (mean(f_unrated) - mean(f_rated)),

where lambda minimises the variance. The interval is valid for any metric; a better metric makes it narrower. The rated
part must be a random sample of all examples.

Departures from the paper's program (ppi-python): lambda is not clipped to [0, 1], because a metric may have another
scale or direction than the ratings. The interval needs `FEWEST_UNITS` ratings (simulated for skewed ratings, 10 to 20
cover .81 to .91). It uses Student's t with n - 2 degrees of freedom, and residuals with
n - 2 in the denominator, because lambda is fitted; the program uses the normal distribution. A rate lies in [0, 1]
and has Tango's score interval (Wilson's where nothing ties) for the number of labels that the estimate is worth:
t intervals of high rates cover too rarely and leave [0, 1].

The difference of two systems is that of their mean ratings, each corrected by its own lambda; both lambdas minimise its
variance together. An input that both answered counts once, with all that is known of it, so the difference is paired
where inputs are shared.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, explain_few, t_interval, to_columns
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
        """What labels say alone, and with the help of a judge, as cells of a table."""
        worth = round(self.effective_n) if math.isfinite(self.effective_n) else self.effective_n
        return {"labels": self.rated, "by_people": self.classical, "corrected": self.estimate, "worth": worth}

    @property
    def saved(self) -> float:
        """The number of ratings that the metric saved, never below 0."""
        return self.effective_n - self.rated


def powered_mean(ratings: ArrayLike, scores: ArrayLike, layout: Layout | None = None) -> PoweredEstimate:
    """The mean rating of all examples from `ratings` (NaN if not rated) and `scores`, both of shape (n,).

    An example without a score is left out. Examples of one input of the `layout` may depend on each other: an input
    counts once, with all that is known of it. Raises ValueError for wrong shapes and infinities.
    """
    y, f = to_columns(ratings=ratings, scores=scores)
    is_scored = ~np.isnan(f)
    is_rated = ~np.isnan(y) & is_scored
    units = layout or lay_out(len(y))
    if units.input_count < len(y):
        return _power_inputs(y[is_scored], f[is_scored], restrict(units, is_scored))
    y, f_rated, f_unrated = y[is_rated], f[is_rated], f[np.isnan(y) & is_scored]
    n, rest = len(y), len(f_unrated)
    if n < FEWEST_RATED:
        return _undefined(
            n, rest, f"this needs at least {FEWEST_RATED} examples with a rating and a score, but has {n}"
        )
    if np.ptp(y) == 0:
        reason = f"all {n} ratings are {y[0]:g}: without variation there is no interval"
        return _undefined(n, rest, reason, float(y[0]))
    classical = t_interval(float(y.mean()), float(y.var(ddof=1)) / n, n - 1)
    if rest < 2:
        return PoweredEstimate(n, rest, classical, classical, float(n))
    weight = tune_weight(y, f_rated, f_unrated)
    value = float(y.mean() + weight * (f_unrated.mean() - f_rated.mean()))
    rectified, imputed = float((y - weight * f_rated).var()) / n, weight**2 * float(f_unrated.var()) / rest
    variance = rectified + imputed
    effective = max(float(n), float(y.var()) / variance) if variance > 0 else math.inf
    estimate = _floor(t_interval(value, rectified * n / (n - 2) + imputed, n - 2), n)
    return PoweredEstimate(n, rest, estimate, classical, effective)


def _power_inputs(y: Floats, f: Floats, layout: Layout) -> PoweredEstimate:
    """`powered_mean` of scored examples of which several answer one input: both variances are sums over inputs."""
    known = ~np.isnan(y)
    n = int(known.sum())
    rest = len(y) - n
    own = restrict(layout, known)
    rated_inputs = own.input_count
    if rated_inputs < FEWEST_RATED:
        few = f"this needs at least {FEWEST_RATED} inputs with a rating and a score, but has {rated_inputs}"
        return _undefined(n, rest, few)
    ratings = y[known]
    if np.ptp(ratings) == 0:
        reason = f"all {n} ratings are {ratings[0]:g}: without variation there is no interval"
        return _undefined(n, rest, reason, float(ratings[0]))
    mean = float(ratings.mean())
    classical = mean_over_inputs(ratings, own)
    alone = _vary_over_inputs((ratings - mean) / n, own.inputs)
    if rest < 2:
        return PoweredEstimate(n, rest, classical, classical, float(n))
    f_rated = f[known]
    f_unrated = f[~known]
    weight = tune_weight(ratings, f_rated, f_unrated)
    shift = float(f_unrated.mean() - f_rated.mean())
    parts = np.zeros(len(y))
    parts[known] = (ratings - mean - weight * (f_rated - f_rated.mean())) / n
    parts[~known] = weight * (f_unrated - f_unrated.mean()) / rest
    variance = _vary_over_inputs(parts, layout.inputs) * rated_inputs / (rated_inputs - 2)
    effective = n * alone / variance if variance > 0 else math.inf
    estimate = _floor(t_interval(mean + weight * shift, variance, rated_inputs - 2), rated_inputs)
    return PoweredEstimate(n, rest, estimate, classical, effective)


def _vary_over_inputs(parts: Floats, inputs: NDArray[np.intp]) -> float:
    """The variance of a sum of parts, of shape (n,), whose sums over inputs are independent and have the mean 0."""
    sums = np.bincount(inputs, parts)
    count = len(np.unique(inputs))
    return float((sums**2).sum()) * count / (count - 1)


def powered_difference(
    ratings_a: ArrayLike, ratings_b: ArrayLike, scores_a: ArrayLike, scores_b: ArrayLike
) -> PoweredEstimate:
    """The mean rating of system a minus that of b on the same inputs; all arrays have the shape (inputs,).

    A rating is NaN where there is none; an output without a score is left out. Other inputs may be rated for a than for
    b. The difference is a sum over inputs, of what each adds to the means of ratings (u) and to the means of unrated
    minus rated scores (d); the lambdas minimise the sum of squares of u + lambda_a d_a - lambda_b d_b.
    """
    columns = to_columns(ratings_a=ratings_a, ratings_b=ratings_b, scores_a=scores_a, scores_b=scores_b)
    parts = [_spread_ratings(y, f) for y, f in (columns[::2], columns[1::2])]
    n, rest = (sum(counts) for counts in zip(*(part.counts for part in parts), strict=True))
    fewest = min(part.counts[0] for part in parts)
    if fewest < FEWEST_RATED:
        rule = f"a difference needs at least {FEWEST_RATED} examples of each system with a rating and a score"
        return _undefined(n, rest, f"{rule}, but one has {fewest}")
    (a, b), u = parts, parts[0].ratings - parts[1].ratings
    shifts = np.column_stack([a.shift, -b.shift])
    weights = np.linalg.lstsq(shifts, -u, rcond=None)[0]
    alone, left = float((u**2).sum()), float(((u + shifts @ weights) ** 2).sum())
    gap, helped = a.mean - b.mean, weights @ [a.gap, -b.gap]
    if alone == 0:
        return _undefined(n, rest, "the ratings do not vary: without variation there is no interval", gap)
    used = int((shifts != 0).any(axis=0).sum())
    freedom = fewest - 1 - used
    estimate = _floor(t_interval(gap + float(helped), left * fewest / freedom, freedom), fewest)
    classical = t_interval(gap, alone * fewest / (fewest - 1), fewest - 1)
    effective = n * alone / left if left > 0 else math.inf
    return PoweredEstimate(n, rest, estimate if used else classical, classical, effective)


@dataclass(frozen=True)
class _Part:
    """What one system gives to a difference: by input, the deviations of its mean rating and of its mean scores."""

    counts: tuple[int, int]
    mean: float
    gap: float  # the mean of the unrated scores minus that of the rated ones
    ratings: Floats
    shift: Floats


def _spread_ratings(y: Floats, f: Floats) -> _Part:
    rated, unrated = ~np.isnan(y) & ~np.isnan(f), np.isnan(y) & ~np.isnan(f)
    n, rest = int(rated.sum()), int(unrated.sum())
    ratings, shift = np.zeros((2, len(y)))
    if n < FEWEST_RATED:
        return _Part((n, rest), math.nan, 0.0, ratings, shift)
    mean, gap = float(y[rated].mean()), 0.0
    ratings[rated] = (y[rated] - mean) / n
    if rest >= 2:
        gap = float(f[unrated].mean() - f[rated].mean())
        shift[rated], shift[unrated] = (f[rated].mean() - f[rated]) / n, (f[unrated] - f[unrated].mean()) / rest
    return _Part((n, rest), mean, gap, ratings, shift)


def powered_rate(labels: ArrayLike, verdicts: ArrayLike, layout: Layout) -> PoweredEstimate:
    """The mean of all labels, of which some are known, with the verdicts of a judge on all examples.

    Labels are 1, 0, or 0.5 for a tie, and NaN where there is none; verdicts lie between 0 and 1, and one that is NaN
    says nothing. Both have the shape (n,). Examples of one input may depend on each other: an input counts once, with
    all that is known of it. The estimate lies in [0, 1]; its score interval takes as many labels as it is worth, and
    needs `FEWEST_UNITS` labelled inputs. Where the judge has few errors on labels, a part
    of one that no label shows is added.
    """
    y, f = to_columns(labels=labels, verdicts=verdicts)
    known, total = ~np.isnan(y), len(y)
    n, f = int(known.sum()), np.where(np.isnan(f), np.nanmean(f) if not np.isnan(f).all() else 0.5, f)
    if n < FEWEST_RATED:
        return _undefined(n, total - n, f"this needs at least {FEWEST_RATED} labels, but has {n}")
    own = restrict(layout, known)
    classical, mean = share_interval(y[known], own), float(y[known].mean())
    spread, above = float(f[known].var()), f[known] - f[known].mean()
    weight = float((y[known] * above).mean()) / spread if spread > 0 and n < total else 0.0
    value = mean + weight * float(f.mean() - f[known].mean())
    parts = weight * (f - f.mean()) / total
    parts[known] += (y[known] - mean - weight * above) / n * math.sqrt(n / (n - 2))
    alone = np.bincount(own.inputs, y[known] - mean) / n
    plain, variance = (
        float((each**2).sum()) * own.input_count / (own.input_count - 1)
        for each in (alone, np.bincount(layout.inputs, parts))
    )
    errors = float(np.abs(y[known] - f[known]).sum())
    variance += UNSEEN / n**2 if min(errors, n - errors) < FEWEST_ERRORS else 0.0
    drawn = float(y[known].var())
    effective = drawn / variance if drawn > 0 and variance > 0 else math.inf
    share, untied = min(max(value, 0.0), 1.0), float((y[known] != 0.5).mean())
    freedom = own.input_count - 1 if own.input_count < n else math.inf
    powered = Estimate(share, *score_interval(share, untied, min(effective, total), freedom))
    if weight == 0 or not 0 < effective < math.inf:  # the judge adds nothing, or all labels are equal
        return PoweredEstimate(n, total - n, classical, classical, float(n))
    return PoweredEstimate(n, total - n, _floor(powered, own.input_count), classical, n * plain / variance)


def powered_strengths(given: Preferences, verdicts: ArrayLike) -> dict[str, Estimate]:
    """Bradley-Terry strengths from all pairs, of which some have outcomes and the others only verdicts of a judge.

    The gradient of the likelihood sums, over all pairs, what verdicts predict of outcomes (.5 + lambda (f - .5)), and
    over those with outcomes N/n times the errors of this prediction; lambda minimises their squares. Intervals are
    Student's t by a sandwich variance over inputs, and need `FEWEST_UNITS` inputs with outcomes. Pairs without a
    verdict count as ties of the judge. The pairs with outcomes must be a random sample.
    """
    y, known = given.outcomes, ~np.isnan(given.outcomes)
    f = np.nan_to_num(np.asarray(verdicts, dtype=np.float64), nan=0.5) - 0.5
    n, total, k = int(known.sum()), len(given), len(given.systems)
    units = restrict(given.layout, known).input_count
    if n < FEWEST_RATED:
        return dict.fromkeys(given.systems, Estimate.undefined(f"needs at least {FEWEST_RATED} labels, but has {n}"))
    spread = float((f[known] ** 2).sum())
    predicted = 0.5 + f * (float(((y[known] - 0.5) * f[known]).sum()) / spread if spread > 0 and n < total else 0.0)
    corrected = predicted + np.where(known, np.nan_to_num(y) - predicted, 0.0) * total / n
    games = Games.of(replace(given, outcomes=corrected))
    wins = games.wins + games.added
    if min(wins.sum(axis=0).min(), wins.sum(axis=1).min()) <= 0:
        return dict.fromkeys(given.systems, Estimate.undefined("too few labels: a system has no wins or no losses"))
    strengths = fit_strengths(wins[None])
    if np.isnan(strengths).any():
        return dict.fromkeys(given.systems, Estimate.undefined("too few labels: no strengths fit the corrected wins"))
    expected = expit(strengths[:, :, None] - strengths[:, None, :])
    bread = np.linalg.inv(find_information(wins + wins.T, expected) + 1 / k)[0]
    a, b = given.numbers
    errors = corrected - expected[0, a, b]
    sums = np.zeros((given.layout.input_count, k))
    np.add.at(sums, (given.layout.inputs, a), errors)
    np.add.at(sums, (given.layout.inputs, b), -errors)
    parts = sums @ bread
    if units < FEWEST_UNITS:
        few = explain_few("inputs with labels", units)
        return {name: Estimate.undefined(few, float(strengths[0, i])) for i, name in enumerate(given.systems)}
    variances = (parts**2).sum(axis=0) * units / (units - 1)
    return {
        name: t_interval(float(strengths[0, i]), float(variances[i]), units - 1) for i, name in enumerate(given.systems)
    }


def tune_weight(y: Floats, f_rated: Floats, f_unrated: Floats) -> float:
    """The lambda that minimises the variance (Eq. 8 of the paper): cov(Y, f) / ((1 + n/N) var(f)).

    0 for a metric that gives every example the same score.
    """
    variance = float(np.concatenate([f_rated, f_unrated]).var(ddof=1))
    if variance == 0:
        return 0.0
    covariance = float(((y - y.mean()) * (f_rated - f_rated.mean())).mean())
    return covariance / ((1 + len(y) / len(f_unrated)) * variance)


def _undefined(rated: int, unrated: int, reason: str, value: float = math.nan) -> PoweredEstimate:
    none = Estimate.undefined(reason, value)
    return PoweredEstimate(rated, unrated, none, none, math.nan)


def _floor(estimate: Estimate, rated: int) -> Estimate:
    """The estimate; without its interval if too few examples are rated."""
    if rated >= FEWEST_UNITS:
        return estimate
    return Estimate.undefined(explain_few("ratings helped by scores", rated), estimate.value)
