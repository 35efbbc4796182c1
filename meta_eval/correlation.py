"""Pearson, Spearman and Kendall's tau-b of weighted pairs, for many weightings at once.

Weights say how often each pair counts; weights of one give the plain correlation. A correlation is NaN if the pairs
that count have only one value of `x` or of `y`, or if no pair counts.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.design import Floats, Indices, Mask, to_columns

Column = Floats  # of shape (n,)
Weights = Floats  # of shape (resamples, n)
Correlations = Floats  # of shape (resamples,)

TINY = np.finfo(np.float64).tiny
BATCH = 1_000_000  # pairs of examples that are compared at once


def keep_scored(**columns: ArrayLike) -> tuple[list[Floats], Mask]:
    """Removes the examples that lack a score; returns the columns, and a mask of shape (n,) of the kept examples.

    The last column holds the ratings. Raises ValueError as `to_columns` does, and for ratings that are NaN.
    """
    *scores, ratings = to_columns(**columns)
    is_missing = np.isnan(ratings)
    if is_missing.any():
        raise ValueError(f"{is_missing.sum()} of {len(ratings)} ratings are NaN: leave these examples out")
    lacks_score = np.isnan(scores).any(axis=0)
    kept = np.asarray(~lacks_score)
    return [values[kept] for values in (*scores, ratings)], kept


def pearson(x: Column, y: Column, weights: Weights) -> Correlations:
    """Computes Pearson's r of x and y, of shape (n,), for each row of weights."""
    r = _weighted_pearson(_scale(x), _scale(y), weights)
    # rounding errors of equal values must not count as variation
    both_vary = varies(x, weights) & varies(y, weights)
    return np.where(both_vary, r, np.nan)


def spearman(x: Column, y: Column, weights: Weights) -> Correlations:
    """Computes Spearman's rho: Pearson's r of the average ranks within each resample; a pair drawn twice is a tie."""
    # large arrays that nothing else holds are freed as soon as they are centred
    return _weighted_pearson(average_ranks(x, weights), average_ranks(y, weights), weights)


def kendall(x: Column, y: Column, weights: Weights) -> Correlations:
    """Computes Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y).

    The sums over the pairs of a row are those over all pairs, less those that touch what the row leaves out.
    """
    places = np.arange(len(x))
    blocks = np.array_split(places, 1 + len(x) ** 2 // BATCH)
    by_example = np.concatenate([_compare_pairs(x, y, block, places).sum(axis=2) for block in blocks], axis=1)
    left_out = 1.0 - weights.astype(np.intp)
    sums = by_example.sum(axis=1) - 2 * left_out @ by_example.T
    for row, out in enumerate(left_out):
        members = np.flatnonzero(out)
        sums[row] += out[members] @ _compare_pairs(x, y, members, members) @ out[members]
    leads, untied_x, untied_y = sums.T / 2
    both_vary = (untied_x > 0) & (untied_y > 0)
    roots = np.sqrt(np.where(both_vary, [untied_x, untied_y], np.nan))
    return np.clip(leads / roots[0] / roots[1], -1.0, 1.0)


def _compare_pairs(x: Column, y: Column, first: Indices, second: Indices) -> Floats:
    """Whether examples agree in order (1, 0 for a tie, -1), and are untied in x and in y, (3, firsts, seconds)."""
    of_x, of_y = (np.sign(np.subtract.outer(column[first], column[second])) for column in (x, y))
    return np.stack([of_x * of_y, of_x**2, of_y**2])


def correlation_ratio(y: Column, groups: Indices, weights: Weights) -> Correlations:
    """Computes how much of the variance of the ranks of y the groups explain, adjusted for their number.

    This is 1 - (1 - eta²)(n - 1)/(n - k), where eta² is the variance between k groups over that of all n draws. Without
    the adjustment many groups explain much by chance. It is below 0 where groups explain less than chance would, and
    NaN where all values are equal, or where each group has one draw. `groups` has the group of each value, (n,).
    """
    membership = np.equal.outer(groups, np.unique(groups)).astype(np.float64)  # (n, k)
    sizes = weights @ membership
    number = weights.sum(axis=-1)
    ranks = average_ranks(y, weights)
    deviations = ranks - (weights * ranks).sum(axis=-1, keepdims=True) / number[:, None]
    sums = (weights * deviations) @ membership
    is_drawn = sizes > 0
    between = (sums**2 / np.where(is_drawn, sizes, 1.0)).sum(axis=-1)
    whole = (weights * deviations**2).sum(axis=-1)
    freedom = number - is_drawn.sum(axis=-1)
    undefined = np.full(len(weights), np.nan)
    unexplained = np.divide(
        (whole - between) * (number - 1),
        whole * freedom,
        out=undefined,
        where=whole * freedom > 0,
    )
    return 1 - unexplained


def plain_pearson(x: Column, y: Column) -> float:
    """Computes Pearson's r without weights; NaN for fewer than two pairs, or if all values of one column are equal."""
    if len(x) < 2:
        return math.nan
    once = np.ones((1, len(x)))
    return float(pearson(x, y, once)[0])


def varies(x: Column, weights: Weights) -> Mask:
    """Whether x has more than one value among the drawn examples of each resample, of shape (resamples,)."""
    counts, _ = _count_values(x, weights)
    return (counts > 0).sum(axis=-1) > 1


def _count_values(x: Column, weights: Weights) -> tuple[Floats, Indices]:
    """How often each distinct value of x was drawn, of shape (resamples, values), and the value's index of each pair.

    Values are in ascending order.
    """
    _, value_of_pair, sizes = np.unique(x, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    order = np.argsort(value_of_pair, kind="stable")
    counts = np.add.reduceat(weights[:, order], starts, axis=-1)
    return counts, value_of_pair


def average_ranks(x: Column, weights: Weights | None = None) -> Floats:
    """Computes the ranks within each resample, from 1 to its number of draws; equal values get their mean rank.

    The result has the shape (resamples, n). Without weights it has the shape (n,) and equals `scipy.stats.rankdata`.

    >>> average_ranks(np.array([0.5, 2.0, 0.5, 1.0])).tolist()
    [1.5, 4.0, 1.5, 3.0]
    """
    if weights is None:
        return average_ranks(x, np.ones((1, len(x))))[0]
    counts, value_of_pair = _count_values(x, weights)
    ranks_of_values = np.cumsum(counts, axis=-1) - (counts - 1) / 2
    return ranks_of_values[:, value_of_pair]


def _scale(x: Column) -> Column:
    """Shifts and scales x into [-1, 1], so that squares neither overflow nor vanish; correlations stay the same."""
    x = x / max(np.abs(x).max(), TINY)
    x = x - x.mean()
    return x / max(np.abs(x).max(), TINY)


def _weighted_pearson(x: Floats, y: Floats, weights: Weights) -> Correlations:
    """Pearson's r of columns of shape (n,), or (resamples, n) where they differ between resamples."""
    total = weights.sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, 1.0)  # without drawn pairs the squares below are 0 and r is NaN
    x = x - (weights * x).sum(axis=-1, keepdims=True) / total
    y = y - (weights * y).sum(axis=-1, keepdims=True) / total
    weighted_x = weights * x
    weighted_y = weights * y
    covariance = (weighted_x * y).sum(axis=-1)
    x_squares = (weighted_x * x).sum(axis=-1)
    y_squares = (weighted_y * y).sum(axis=-1)
    deviations = np.sqrt(x_squares * y_squares)
    undefined = np.full(len(covariance), np.nan)
    ratio = np.divide(covariance, deviations, out=undefined, where=deviations > 0)
    return np.clip(ratio, -1.0, 1.0)


CORRELATIONS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
