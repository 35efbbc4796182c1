"""Prediction-powered inference: a mean human rating from few ratings and many metric scores.

PPI++ of Angelopoulos, Duchi & Zrnic (2023). The mean rating of the rated part is corrected by the difference of the
metric's means on the unrated and on the rated part:

    theta = mean(Y) + lambda (mean(f_unrated) - mean(f_rated)),

where lambda minimises the variance. The interval is valid for any metric; a better metric makes it narrower. The rated
part must be a random sample of all examples.

Departures from the paper's program (ppi-python): lambda is not clipped to [0, 1], because a metric may have another
scale or direction than the ratings. The interval uses Student's t with n - 2 degrees of freedom, and residuals with
n - 2 in the denominator, because lambda is fitted; the program uses the normal distribution. A win rate lies in [0, 1]
and has Tango's score interval (Wilson's where nothing ties) for the number of preferences that the estimate is worth:
t intervals of high win rates cover too rarely and leave [0, 1].
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from meta_eval.bootstrap import Estimate, Floats, to_columns
from meta_eval.intervals import score_interval

FEWEST_RATED = 5
FEWEST_PREFERENCES = 20  # for the interval of a prediction-powered win rate


@dataclass(frozen=True)
class PoweredEstimate:
    """A mean rating estimated with the help of a metric.

    Attributes:
        rated, unrated: the numbers of examples with and without a rating.
        estimate: the prediction-powered mean and its interval.
        classical: the mean of the ratings alone and its t interval (of a win rate: its score interval).
        weight: lambda, in ratings per unit of score; 0 ignores the metric.
        standard_error: of the prediction-powered mean, as in the paper (normal, without the correction for small n).
        effective_n: the number of ratings that would give the same variance alone; infinite for a metric without error.
        saved: effective_n - rated, the number of ratings that the metric saved; never below 0.
    """

    rated: int
    unrated: int
    estimate: Estimate
    classical: Estimate
    weight: float
    standard_error: float
    effective_n: float
    saved: float


def powered_mean(ratings: ArrayLike, scores: ArrayLike, confidence: float = 0.95) -> PoweredEstimate:
    """The mean rating of all examples from `ratings` (NaN if not rated) and `scores`, both of shape (n,).

    An example without a score is left out. Raises ValueError for wrong shapes and infinities.
    """
    y, f = to_columns(ratings=ratings, scores=scores)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, but is {confidence}")
    is_rated = ~np.isnan(y) & ~np.isnan(f)
    y, f_rated, f_unrated = y[is_rated], f[is_rated], f[np.isnan(y) & ~np.isnan(f)]
    n, rest = len(y), len(f_unrated)
    if n < FEWEST_RATED or rest < 2:
        reason = f"this needs at least {FEWEST_RATED} examples with a rating and a score and 2 with a score alone"
        none = Estimate.undefined(f"{reason}, but there are {n} and {rest}")
        return PoweredEstimate(n, rest, none, none, math.nan, math.nan, math.nan, math.nan)
    weight = tune_weight(y, f_rated, f_unrated)
    value = float(y.mean() + weight * (f_unrated.mean() - f_rated.mean()))
    rectified, imputed = float((y - weight * f_rated).var()) / n, weight**2 * float(f_unrated.var()) / rest
    if np.ptp(y) == 0:
        reason = f"all {n} ratings are {y[0]:g}: without variation there is no interval"
        constant = Estimate(float(y[0]), math.nan, math.nan, reason)
        return PoweredEstimate(n, rest, constant, constant, weight, math.nan, math.nan, math.nan)
    variance = rectified + imputed
    effective = max(float(n), float(y.var()) / variance) if variance > 0 else math.inf
    return PoweredEstimate(
        rated=n,
        unrated=rest,
        estimate=_interval(value, rectified * n / (n - 2) + imputed, n - 2, confidence),
        classical=_interval(float(y.mean()), float(y.var(ddof=1)) / n, n - 1, confidence),
        weight=weight,
        standard_error=math.sqrt(variance),
        effective_n=effective,
        saved=effective - n,
    )


def powered_win_rate(preferences: ArrayLike, gaps: ArrayLike, confidence: float = 0.95) -> PoweredEstimate:
    """How often people prefer system a to system b, from few preferences and from score differences a - b.

    Args:
        preferences: 1 if people prefer a, 0.5 for a tie, 0 if they prefer b, NaN if unknown; of shape (inputs,).
        gaps: score differences, of shape (inputs,). The metric predicts a win by the sign of its gap.

    The estimate lies in [0, 1]. Its score interval needs `FEWEST_PREFERENCES` preferences and takes `effective_n` of
    them, but no more than there are gaps. That of the preferences alone needs `FEWEST_RATED`.
    """
    y, f = np.asarray(preferences, dtype=np.float64), (np.sign(np.asarray(gaps, dtype=np.float64)) + 1) / 2
    bad = y[~np.isnan(y) & ~np.isin(y, (0.0, 0.5, 1.0))]
    if bad.size:
        raise ValueError(f"preferences must be 0, 0.5 or 1, or NaN where there is none, but one is {bad[0]:g}")
    found = powered_mean(y, f, confidence)
    if math.isnan(found.estimate.value):
        return found
    untied = float((y[~np.isnan(y) & ~np.isnan(f)] != 0.5).mean())
    quantile = float(ndtri((1 + confidence) / 2))

    def estimate(share: float, n: float) -> Estimate:
        return Estimate(share, *score_interval(share, untied, n, quantile))

    classical = estimate(found.classical.value, found.rated)
    share = min(max(found.estimate.value, 0.0), 1.0)
    if found.rated < FEWEST_PREFERENCES:
        reason = f"a prediction-powered win rate needs at least {FEWEST_PREFERENCES} preferences for an interval"
        powered = Estimate(share, math.nan, math.nan, f"{reason}, but there are {found.rated}")
    elif math.isnan(found.effective_n):  # equal preferences: the metric adds nothing
        powered = classical
    else:
        powered = estimate(share, min(found.effective_n, found.rated + found.unrated))
    return replace(found, estimate=powered, classical=classical)


def tune_weight(y: Floats, f_rated: Floats, f_unrated: Floats) -> float:
    """The lambda that minimises the variance (Eq. 8 of the paper): cov(Y, f) / ((1 + n/N) var(f)).

    0 for a metric that gives every example the same score.
    """
    variance = float(np.concatenate([f_rated, f_unrated]).var(ddof=1))
    if variance == 0:
        return 0.0
    covariance = float(((y - y.mean()) * (f_rated - f_rated.mean())).mean())
    return covariance / ((1 + len(y) / len(f_unrated)) * variance)


def _interval(value: float, variance: float, freedom: int, confidence: float) -> Estimate:
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half)
