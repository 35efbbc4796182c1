"""Pearson, Spearman and Kendall's tau-b of weighted pairs, for many weightings at once.

The weights of a bootstrap resample say how often each pair was drawn; weights of one give the plain correlation. A
correlation is NaN if the drawn pairs have only one value of `x` or of `y`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.bootstrap import Floats, to_columns

Column = Floats  # of shape (n,)
Weights = Floats  # of shape (resamples, n)
Correlations = Floats  # of shape (resamples,)

MOST_IN_PAIRS = 2_000  # examples up to which all pairs are compared; sorting is faster beyond


def keep_scored(**columns: ArrayLike) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Removes the examples that lack a score; returns the columns, and a mask of the examples that are kept.

    The last column holds the ratings. Raises ValueError as `to_columns` does, and for ratings that are NaN.
    """
    *scores, y = to_columns(**columns)
    if np.isnan(y).any():
        raise ValueError(f"{np.isnan(y).sum()} of {len(y)} ratings are NaN: leave these examples out")
    kept = np.asarray(~np.isnan(scores).any(axis=0))
    return [values[kept] for values in (*scores, y)], kept


def pearson(x: Column, y: Column, weights: Weights) -> Correlations:
    """Pearson's r."""
    found = _weighted_pearson(_scaled(x), _scaled(y), weights)
    # rounding errors of equal values must not count as variation
    return np.where(varies(x, weights) & varies(y, weights), found, np.nan)


def spearman(x: Column, y: Column, weights: Weights) -> Correlations:
    """Spearman's rho: Pearson's r of the average ranks within each resample, where a pair that is drawn twice ties."""
    return _weighted_pearson(average_ranks(x, weights), average_ranks(y, weights), weights)


def kendall(x: Column, y: Column, weights: Weights) -> Correlations:
    """Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y)."""
    if len(x) > MOST_IN_PAIRS:
        return _kendall_of_draws(x, y, weights)
    both = np.unique(np.stack([x, y]), axis=1, return_inverse=True)[1].astype(np.float64)
    total = weights.sum(axis=-1) ** 2
    x_tied, y_tied, tied = ((_counts(v, weights)[0] ** 2).sum(axis=-1) for v in (x, y, both))
    # float32 multiplies twice as fast, and whole numbers below 2**24 are exact in it
    alike = (order_pairs(x, x) == order_pairs(y, y)).astype(np.float32)
    alike = np.einsum("rj,rj->r", weights.astype(np.float32) @ alike, weights, dtype=np.float64)
    balance = 2 * alike - 3 * tied - (total - x_tied - y_tied)
    return limited_ratio(balance, np.sqrt((total - x_tied) * (total - y_tied)))


def _kendall_of_draws(x: Column, y: Column, weights: Weights) -> Correlations:
    """The same by sorting the drawn pairs of each resample."""
    from scipy.stats import kendalltau  # takes longer to import than most tools run

    drawn = (np.repeat(np.arange(len(x)), row.astype(np.intp)) for row in weights)
    return np.array([float(np.asarray(kendalltau(x[at], y[at]))[0]) for at in drawn])


def plain_pearson(x: Column, y: Column) -> float:
    """Pearson's r without weights; NaN for fewer than two pairs, or if one side does not vary."""
    return float(pearson(x, y, np.ones((1, len(x))))[0]) if len(x) > 1 else math.nan


def order_pairs(rows: Floats, columns: Floats) -> NDArray[np.float32]:
    """1, 0 or -1 if a row's value is above, equal to, or below a column's value."""
    above = np.greater.outer(rows, columns).astype(np.float32)
    above -= np.less.outer(rows, columns)
    return above


def varies(x: Column, weights: Weights) -> NDArray[np.bool_]:
    """Whether x has more than one value among the drawn examples of each resample, of shape (resamples,)."""
    return (_counts(x, weights)[0] > 0).sum(axis=-1) > 1


def _counts(x: Column, weights: Weights) -> tuple[Floats, NDArray[np.intp]]:
    """How often each distinct value of x was drawn, in ascending order, and the index of each pair's value."""
    _, value, first = np.unique(x, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(first)[:-1]])
    return np.add.reduceat(weights[:, np.argsort(value, kind="stable")], starts, axis=-1), value


def average_ranks(x: Column, weights: Weights | None = None) -> Floats:
    """The ranks within each resample, from 1 to its number of draws, equal values with the mean of theirs.

    Of shape (resamples, n); without weights of shape (n,), `scipy.stats.rankdata` of finite values.

    >>> average_ranks(np.array([0.5, 2.0, 0.5, 1.0])).tolist()
    [1.5, 4.0, 1.5, 3.0]
    """
    counts, value = _counts(x, np.ones((1, len(x))) if weights is None else weights)
    ranks = (np.cumsum(counts, axis=-1) - (counts - 1) / 2)[:, value]
    return ranks[0] if weights is None else ranks


def _scaled(x: Column) -> Column:
    """Shifts and scales x into [-1, 1], so that squares neither overflow nor vanish; correlations stay the same."""
    x = x / max(np.abs(x).max(), np.finfo(np.float64).tiny)
    x = x - x.mean()
    return x / max(np.abs(x).max(), np.finfo(np.float64).tiny)


def _weighted_pearson(x: Floats, y: Floats, weights: Weights) -> Correlations:
    total = weights.sum(axis=-1, keepdims=True)
    x = x - (weights * x).sum(axis=-1, keepdims=True) / total
    y = y - (weights * y).sum(axis=-1, keepdims=True) / total
    wx, wy = weights * x, weights * y
    return limited_ratio((wx * y).sum(axis=-1), np.sqrt((wx * x).sum(axis=-1) * (wy * y).sum(axis=-1)))


def limited_ratio(numerator: Correlations, denominator: Correlations, least: float = 0.0) -> Correlations:
    """numerator / denominator, limited to [-1, 1]; NaN unless the denominator is above `least`."""
    undefined = np.full(len(numerator), np.nan)
    return np.clip(np.divide(numerator, denominator, out=undefined, where=denominator > least), -1.0, 1.0)


CORRELATIONS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
