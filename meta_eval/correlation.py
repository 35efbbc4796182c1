"""Pearson, Spearman and Kendall tau-b of weighted pairs, for many weightings at once.

The weights of a bootstrap resample say how often each pair was drawn. All resamples together form a matrix of such
counts, and a few matrix operations give the correlation of each. Weights of one give the plain correlation.

The weights are whole numbers. A correlation lies in [-1, 1], and is NaN if the drawn pairs have only one value of `x`
or of `y`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.bootstrap import Floats

Column = Floats  # of shape (n,)
Weights = Floats  # of shape (resamples, n)
Correlations = Floats  # of shape (resamples,)

SIGN_BLOCK = 8_000_000  # signs of pairs held at once by `kendall`: 32 MB


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


def pearson(x: Column, y: Column, weights: Weights) -> Correlations:
    """Pearson's r."""
    varied = (_counts(x, weights)[0] > 0).sum(axis=-1) > 1
    varied &= (_counts(y, weights)[0] > 0).sum(axis=-1) > 1
    return _weighted_pearson(_scaled(x), _scaled(y), weights, varied)


def spearman(x: Column, y: Column, weights: Weights) -> Correlations:
    """Spearman's rho: Pearson's r of the average ranks.

    Ranks are computed within each resample: a pair that is drawn twice is a tie.
    """
    x_ranks, x_varied = _average_ranks(x, weights)
    y_ranks, y_varied = _average_ranks(y, weights)
    return _weighted_pearson(x_ranks, y_ranks, weights, x_varied & y_varied)


def partial_spearman(x: Column, y: Column, z: Column, weights: Weights) -> Correlations:
    """Spearman's partial correlation of x and y given z: (r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)).

    NaN if x or y is a monotone function of z.
    """
    xy, xz, yz = spearman(x, y, weights), spearman(x, z, weights), spearman(y, z, weights)
    left = (1 - xz**2) * (1 - yz**2)
    found = np.full(len(weights), np.nan)
    return np.clip(np.divide(xy - xz * yz, np.sqrt(np.maximum(left, 0)), out=found, where=left > 1e-12), -1.0, 1.0)


def kendall(x: Column, y: Column, weights: Weights) -> Correlations:
    """Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y)."""
    n = len(x)
    # float32 multiplies twice as fast, and whole numbers below 2**24 are exact in it
    weights32 = weights.astype(np.float32)
    width = max(1, SIGN_BLOCK // n)
    balance = np.zeros(len(weights))  # twice (concordant - discordant)
    for start in range(0, n, width):
        block = slice(start, start + width)
        signs = _signs(x, x[block]) * _signs(y, y[block])
        balance += np.einsum("rj,rj->r", weights32 @ signs, weights[:, block])
    total = weights.sum(axis=-1) ** 2
    x_untied = total - (_counts(x, weights)[0] ** 2).sum(axis=-1)
    y_untied = total - (_counts(y, weights)[0] ** 2).sum(axis=-1)
    return _ratio(balance, np.sqrt(x_untied * y_untied))


def plain_pearson(x: Column, y: Column) -> float:
    """Pearson's r without weights; NaN for fewer than two pairs, or if one side does not vary."""
    return float(pearson(x, y, np.ones((1, len(x))))[0]) if len(x) > 1 else math.nan


def _signs(rows: Floats, columns: Floats) -> NDArray[np.float32]:
    """1, 0 or -1 if a row's value is above, equal to or below a column's value."""
    above = np.greater.outer(rows, columns).astype(np.float32)
    above -= np.less.outer(rows, columns)
    return above


def _counts(x: Column, weights: Weights) -> tuple[Floats, NDArray[np.intp]]:
    """How often each distinct value of x was drawn, in ascending order, and the index of each pair's value."""
    _, value, first = np.unique(x, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(first)[:-1]])
    return np.add.reduceat(weights[:, np.argsort(value, kind="stable")], starts, axis=-1), value


def average_ranks(x: Column) -> Column:
    """The ranks of x from 1 to n, equal values with the mean of theirs: `scipy.stats.rankdata` of finite values.

    Importing scipy.stats takes longer than the tools that rank.

    >>> average_ranks(np.array([0.5, 2.0, 0.5, 1.0])).tolist()
    [1.5, 4.0, 1.5, 3.0]
    """
    return _average_ranks(x, np.ones((1, len(x))))[0][0]


def weigh_ranks(x: Column, weights: Weights) -> Floats:
    """The average ranks within each resample, of shape (resamples, n), from 1 to its number of draws."""
    return _average_ranks(x, weights)[0]


def _average_ranks(x: Column, weights: Weights) -> tuple[Floats, NDArray[np.bool_]]:
    """The average ranks within each resample, and whether the resample has at least two values."""
    counts, value = _counts(x, weights)
    ranks = np.cumsum(counts, axis=-1) - (counts - 1) / 2
    return ranks[:, value], (counts > 0).sum(axis=-1) > 1


def _scaled(x: Column) -> Column:
    """Shifts and scales x into [-1, 1], so that squares neither overflow nor vanish; correlations stay the same."""
    x = x / max(np.abs(x).max(), np.finfo(np.float64).tiny)
    x = x - x.mean()
    return x / max(np.abs(x).max(), np.finfo(np.float64).tiny)


def _weighted_pearson(
    x: Floats,
    y: Floats,
    weights: Weights,
    varied: NDArray[np.bool_],
) -> Correlations:
    total = weights.sum(axis=-1, keepdims=True)
    x = x - (weights * x).sum(axis=-1, keepdims=True) / total
    y = y - (weights * y).sum(axis=-1, keepdims=True) / total
    wx, wy = weights * x, weights * y
    spread = np.sqrt((wx * x).sum(axis=-1) * (wy * y).sum(axis=-1))
    # Rounding errors of equal values must not count as variation.
    return _ratio((wx * y).sum(axis=-1), np.where(varied, spread, 0.0))


def _ratio(numerator: Correlations, denominator: Correlations) -> Correlations:
    """numerator / denominator, limited to [-1, 1]; NaN if the denominator is zero."""
    undefined = np.full(len(numerator), np.nan)
    return np.clip(np.divide(numerator, denominator, out=undefined, where=denominator > 0), -1.0, 1.0)
