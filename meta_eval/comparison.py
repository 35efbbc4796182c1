"""Comparison of two metrics: which one agrees better with the same ratings, with intervals and tests."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from meta_eval.bootstrap import Estimate, Floats, bootstrap, number_groups
from meta_eval.correlation import explain_undefined, keep_scored, pearson, spearman
from meta_eval.grouping import Statistic


@dataclass(frozen=True)
class WilliamsTest:
    """Whether two metrics correlate differently with the same ratings."""

    # number of examples that both metrics scored
    n: int
    # the correlation of each metric with the ratings
    r_a: float
    r_b: float
    # the correlation of the two metrics with each other
    r_ab: float
    # Williams' statistic; positive if metric a agrees better, NaN if undefined
    t: float
    # two-sided: how often metrics of equal agreement differ this much by chance
    p_value: float
    # why t and p_value are NaN, else None
    reason: str | None = None


def difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    ratings: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    groups: Sequence[Hashable] | None = None,
    statistic: Statistic = spearman,
) -> Estimate:
    """Spearman of metric a minus Spearman of metric b with the same `ratings`, all of shape (n,), with its interval.

    Positive where metric a agrees better. Both correlations are computed on the same resamples, so that what makes
    examples easy for both cancels; an interval without 0 is a difference beyond chance. Only examples that both metrics
    scored count. Intervals draw whole groups, and need 30. `statistic` may be another correlation.
    """
    (a, b, y), kept = keep_scored(scores_a=scores_a, scores_b=scores_b, ratings=ratings)
    units = number_groups(len(kept), groups)[kept]
    reason = explain_undefined(scores_a=a, scores_b=b, ratings=y)
    if reason is not None:
        return Estimate.undefined(reason)
    estimates = bootstrap(
        lambda weights: {"difference": statistic(a, y, weights) - statistic(b, y, weights)},
        units,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    return estimates["difference"]


def williams_test(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    ratings: ArrayLike,
    correlation: Statistic = spearman,
    *,
    groups: Sequence[Hashable] | None = None,
) -> WilliamsTest:
    """Williams' test on correlations of two metrics with the same `ratings`, all of shape (n,).

    Only examples that both metrics scored count. The test is exact for Pearson's r of normal data; on Spearman's rho it
    is the usual approximation. Other correlations have another sampling variance (on Kendall's tau it found .15 of the
    differences where it found .59 on Pearson's r), so for them it is undefined. It takes the examples as independent,
    so it is also undefined if several share a group: use `difference` or `permutation_tests` then.

    Raises ValueError as `keep_scored` does.
    """
    (a, b, y), kept = keep_scored(scores_a=scores_a, scores_b=scores_b, ratings=ratings)
    n, independent = len(y), len(np.unique(number_groups(len(kept), groups)[kept]))
    reason = explain_undefined(scores_a=a, scores_b=b, ratings=y)
    if reason is None and correlation not in (pearson, spearman):
        reason = "Williams' test holds for Pearson's and Spearman's correlations only"
    if reason is None and independent < n:
        reason = f"Williams' test needs independent examples, but {n} examples form {independent} groups"
    if reason is None and n < 4:
        reason = f"Williams' test needs at least 4 examples that both metrics scored, but there are {n}"
    if reason is not None:
        return WilliamsTest(n, math.nan, math.nan, math.nan, math.nan, math.nan, reason)
    ones = np.ones((1, n))
    r_a, r_b, r_ab = (float(correlation(u, v, ones)[0]) for u, v in ((a, y), (b, y), (a, b)))
    if abs(r_ab) == 1.0:
        direction = "alike" if r_ab > 0 else "in reverse"
        return WilliamsTest(n, r_a, r_b, r_ab, math.nan, math.nan, f"the two metrics rank all examples {direction}")
    t, p_value = williams(r_a, r_b, r_ab, n)
    return WilliamsTest(n, r_a, r_b, r_ab, float(t), float(p_value))


def williams(r_a: ArrayLike, r_b: ArrayLike, r_ab: ArrayLike, n: int) -> tuple[Floats, Floats]:
    """The t and two-sided p of r_a - r_b, correlations with one variable on the same n examples (Williams 1959).

    t = (r_a - r_b) sqrt((n - 1)(1 + r_ab) / (2 K (n - 1)/(n - 3) + (r_a + r_b)²/4 (1 - r_ab)³)), with n - 3 degrees of
    freedom, where K = 1 - r_a² - r_b² - r_ab² + 2 r_a r_b r_ab is the determinant of the three variables' correlations.
    The correlations may have any common shape, which t and p get too.

    Raises ValueError for n < 4 and for |r_ab| = 1.

    >>> [round(float(value), 2) for value in williams(0.4, 0.5, 0.1, n=103)]
    [-0.89, 0.37]
    """
    t = williams_t(r_a, r_b, r_ab, n)
    return t, 2 * stdtr(n - 3, -np.abs(t))


def williams_t(r_a: ArrayLike, r_b: ArrayLike, r_ab: ArrayLike, n: int) -> Floats:
    """The t of `williams`, at a fifth of its cost. Raises ValueError as there."""
    a, b, ab = (np.asarray(r, dtype=np.float64) for r in (r_a, r_b, r_ab))
    if n < 4 or not (np.abs(ab) < 1).all():
        raise ValueError(f"Williams' test needs n >= 4 and |r_ab| < 1, but n is {n} and r_ab is {r_ab}")
    determinant = np.maximum(1 - a**2 - b**2 - ab**2 + 2 * a * b * ab, 0.0)  # rounding may make it negative
    variance = 2 * determinant * (n - 1) / (n - 3) + (a + b) ** 2 / 4 * (1 - ab) ** 3
    # no variance is left where r_a = -r_b and the ratings are a weighted sum of both metrics: t is then infinite
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(a == b, 0.0, (a - b) * np.sqrt((n - 1) * (1 + ab) / variance))
