"""Agreement of a metric with people: correlations with bootstrap intervals, and the part that text length explains."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, bootstrap, number_groups
from meta_eval.correlation import correlations, partial_spearman, spearman


@dataclass(frozen=True)
class Agreement:
    """How well scores agree with ratings. Correlations lie in [-1, 1], higher is better.

    Attributes:
        n: number of scored examples; the correlations use these.
        pearson, spearman, kendall: Pearson's r, Spearman's rho, Kendall's tau-b.
        unscored: number of examples that were left out because their score is NaN.
    """

    n: int
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    unscored: int


def agreement(
    scores: ArrayLike,
    ratings: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    groups: Sequence[Hashable] | None = None,
) -> Agreement:
    """Correlations of `scores` with human `ratings`, both of shape (n,), with percentile bootstrap intervals.

    Examples with a NaN score are left out and counted. The bootstrap draws examples with replacement. With `groups`
    (one name per example, such as the input that it answers) it draws whole groups, because examples of one group are
    not independent. The same seed gives the same intervals.

    Intervals are percentile and not BCa intervals: they exist for a perfect correlation and need no jackknife, which
    would cost n further resamples. They are expanded for the number of examples or groups (`meta_eval.bootstrap`) and
    need 30 of them. Simulated at 30, nominally 95 %, they cover 93 to 94 % for Pearson and 97 % for the others.

    A correlation is undefined on a resample with only one value. Such resamples are left out. If their share exceeds
    1 - confidence, the interval is NaN with that reason.

    Raises ValueError for arrays of wrong shapes or different lengths, infinite scores, ratings that are not finite, and
    a confidence outside (0, 1).
    """
    (x, y), kept = keep_scored(scores=scores, ratings=ratings)
    units = number_groups(len(kept), groups)[kept]
    unscored = int((~kept).sum())
    reason = explain_undefined(scores=x, ratings=y)
    if reason is not None:
        none = Estimate.undefined(reason)
        return Agreement(len(x), none, none, none, unscored)
    estimates = bootstrap(
        lambda weights: correlations(x, y, weights),
        units,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        fewest=FEWEST_UNITS,
    )
    return Agreement(n=len(x), unscored=unscored, **estimates)


def length_correlation(scores: ArrayLike, word_counts: ArrayLike) -> float:
    """Spearman's rho of `scores` with the numbers of words, both of shape (n,): what length alone explains.

    Examples with a NaN score are left out. NaN for fewer than three examples or if one side is constant.

    >>> length_correlation([0.3, 0.1, 0.2], [30, 10, 20])
    1.0
    """
    (x, y), _ = keep_scored(scores=scores, word_counts=word_counts)
    if explain_undefined(scores=x, word_counts=y) is not None:
        return math.nan
    return float(spearman(x, y, np.ones((1, len(x))))[0])


def correlation_given_length(scores: ArrayLike, ratings: ArrayLike, word_counts: ArrayLike) -> float:
    """Spearman's partial correlation of `scores` and `ratings` with the numbers of words held fixed, all of shape (n,).

    Examples with a NaN score are left out. NaN for fewer than five examples, if scores or ratings are constant, or if
    one of them depends on length alone. If all lengths are equal, it is the plain correlation.

    >>> correlation_given_length([1, 2, 4, 3, 5], [2, 1, 3, 4, 5], [7, 7, 7, 7, 7])
    0.8
    """
    (x, z, y), _ = keep_scored(scores=scores, word_counts=word_counts, ratings=ratings)
    if len(x) < 5 or explain_undefined(scores=x, ratings=y) is not None:
        return math.nan
    weights = np.ones((1, len(x)))
    found = spearman(x, y, weights) if z.min() == z.max() else partial_spearman(x, y, z, weights)
    return float(found[0])


def keep_scored(**columns: ArrayLike) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Removes the examples that lack a score; returns the columns, and a mask of the examples that are kept.

    The last column holds the ratings, each other column the scores of one metric; all have the shape (n,).

    Raises ValueError for different shapes, infinite scores, and ratings that are not finite.
    """
    *metrics, ratings = columns
    *scores, y = (np.asarray(values, dtype=np.float64) for values in columns.values())
    for name, x in zip(metrics, scores, strict=True):
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(
                f"{name} and {ratings} must be two arrays of one shape (n,), but have shapes {x.shape} and {y.shape}"
            )
        if (infinite := np.flatnonzero(np.isinf(x))).size:
            raise ValueError(
                f"{name} must be finite, or NaN where there is none, but {name}[{infinite[0]}] is {x[infinite[0]]}"
            )
    if (bad := np.flatnonzero(~np.isfinite(y))).size:
        raise ValueError(
            f"{ratings} must be finite, but {ratings}[{bad[0]}] is {y[bad[0]]} ({bad.size} of {len(y)} are not "
            "finite): leave these examples out"
        )
    kept = np.asarray(~np.isnan(scores).any(axis=0))
    return [values[kept] for values in (*scores, y)], kept


def explain_undefined(**columns: Floats) -> str | None:
    """The reason why no correlation of these columns is defined, or None."""
    n = min(map(len, columns.values()))
    if n < 3:
        return f"a correlation needs at least 3 scored examples, but there are {n}"
    for name, values in columns.items():
        if values.min() == values.max():
            return f"all {n} {name} are {values[0]:g}: a constant has no correlation"
    return None
