"""Which of two metrics agrees better with the same ratings, and how surely."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from meta_eval.agreement import scored_by_all, undefined_because
from meta_eval.bootstrap import Estimate, bootstrap, number_groups
from meta_eval.correlation import spearman


@dataclass(frozen=True)
class WilliamsTest:
    """Whether two metrics correlate differently with the same ratings.

    Attributes:
        n: the examples that both metrics scored.
        spearman_a, spearman_b: of each metric with the ratings.
        spearman_ab: of the two metrics with one another.
        t: Williams' statistic, positive where metric a agrees better; NaN where it is not defined.
        p_value: two-sided: how often metrics of equal agreement differ this much by chance.
        reason: why t and p_value are NaN, else None.
    """

    n: int
    spearman_a: float
    spearman_b: float
    spearman_ab: float
    t: float
    p_value: float
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
) -> Estimate:
    """Spearman of metric a minus Spearman of metric b with the same `ratings`, all of shape (n,), with its interval.

    Positive where metric a agrees better. Both correlations are computed on the same resamples, so that what makes
    examples easy for both cancels; an interval without 0 is a difference beyond chance. Only examples that both metrics
    scored count. Intervals, groups and errors as in `agreement`.
    """
    (a, b, y), kept = scored_by_all(scores_a=scores_a, scores_b=scores_b, ratings=ratings)
    units = number_groups(len(kept), groups)[kept]
    reason = undefined_because(scores_a=a, scores_b=b, ratings=y)
    if reason is not None:
        return Estimate.undefined(reason)
    estimates = bootstrap(
        lambda weights: {"difference": spearman(a, y, weights) - spearman(b, y, weights)},
        units,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    return estimates["difference"]


def williams_test(scores_a: ArrayLike, scores_b: ArrayLike, ratings: ArrayLike) -> WilliamsTest:
    """Williams' test on Spearman correlations of two metrics with the same `ratings`, all of shape (n,).

    Only examples that both metrics scored count. The test is exact for Pearson's r of normal data; on ranks it is the
    usual approximation. It takes the examples as independent: with groups prefer the interval of `difference`.

    Raises ValueError as `agreement` does.
    """
    (a, b, y), _ = scored_by_all(scores_a=scores_a, scores_b=scores_b, ratings=ratings)
    n = len(y)
    reason = undefined_because(scores_a=a, scores_b=b, ratings=y)
    if reason is None and n < 4:
        reason = f"Williams' test needs at least 4 examples that both metrics scored, but there are {n}"
    if reason is not None:
        return WilliamsTest(n, math.nan, math.nan, math.nan, math.nan, math.nan, reason)
    ones = np.ones((1, n))
    r_a, r_b, r_ab = (float(spearman(u, v, ones)[0]) for u, v in ((a, y), (b, y), (a, b)))
    if abs(r_ab) == 1.0:
        direction = "alike" if r_ab > 0 else "in reverse"
        return WilliamsTest(n, r_a, r_b, r_ab, math.nan, math.nan, f"the two metrics rank all examples {direction}")
    t, p_value = williams(r_a, r_b, r_ab, n)
    return WilliamsTest(n, r_a, r_b, r_ab, t, p_value)


def williams(r_a: float, r_b: float, r_ab: float, n: int) -> tuple[float, float]:
    """t and two-sided p of r_a - r_b, correlations with one variable on the same n examples (Williams 1959).

    t = (r_a - r_b) sqrt((n - 1)(1 + r_ab) / (2 K (n - 1)/(n - 3) + (r_a + r_b)²/4 (1 - r_ab)³)), with n - 3 degrees of
    freedom, where K = 1 - r_a² - r_b² - r_ab² + 2 r_a r_b r_ab is the determinant of the three variables' correlations.

    Raises ValueError for n < 4 and for |r_ab| = 1.

    >>> t, p = williams(0.4, 0.5, 0.1, n=103)
    >>> round(t, 2), round(p, 2)
    (-0.89, 0.37)
    """
    if n < 4 or not abs(r_ab) < 1:
        raise ValueError(f"Williams' test needs n >= 4 and |r_ab| < 1, but n is {n} and r_ab is {r_ab}")
    determinant = max(0.0, 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab)  # rounding may leave it below zero
    variance = 2 * determinant * (n - 1) / (n - 3) + (r_a + r_b) ** 2 / 4 * (1 - r_ab) ** 3
    if variance == 0:  # r_a = -r_b and the ratings are a weighted sum of the two metrics: any difference is certain
        return math.copysign(math.inf, r_a - r_b), 0.0
    t = (r_a - r_b) * math.sqrt((n - 1) * (1 + r_ab) / variance)
    return t, float(2 * stats.t.sf(abs(t), n - 3))
