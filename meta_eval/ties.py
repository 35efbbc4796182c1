"""Wins and ties by differences: one that rounding makes is a tie wherever wins are counted."""

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import Floats

OF_SPREAD = 1e-9  # a smaller share of the larger differences is no difference
OF_SIZE = 1e-13  # of the scores that are compared: what the order of a sum changes


def subtract(first: ArrayLike, second: ArrayLike) -> Floats:
    """The differences of scores, both of shape (..., n), with 0 for those that are rounding.

    A difference is rounding beside the two scores that it comes from, or beside the larger ones (upper quartile) of its
    row. Scores that are not compared, and one huge score, change no other difference.

    >>> subtract([0.7999999999999999, 0.9, np.nan], [0.8, 0.8, 0.8]).round(3).tolist()
    [0.0, 0.1, nan]
    >>> subtract([2.0, 3.0, 1e12], [1.0, 1.0, 1e12]).tolist()
    [1.0, 2.0, 0.0]
    """
    one = np.asarray(first, dtype=np.float64)
    other = np.asarray(second, dtype=np.float64)
    gaps = one - other
    sizes = np.abs(gaps)
    of_scores = OF_SIZE * np.fmax(np.abs(one), np.abs(other))
    counted = np.where(sizes > of_scores, sizes, np.nan)
    of_spread = OF_SPREAD * _find_quantile(counted, 0.75)
    return np.where(sizes <= np.maximum(of_scores, of_spread), 0.0, gaps)


def merge_ties(means: Floats, scores: Floats) -> Floats:
    """Means of `scores`, of shape (..., n), with one value for those in a row that only rounding tells apart.

    >>> merge_ties(np.array([[(0.1 + 0.2 + 0.3) / 3, 0.5, (0.3 + 0.2 + 0.1) / 3]]), np.array([0.1, 0.6])).tolist()
    [[0.19999999999999998, 0.5, 0.19999999999999998]]
    """
    order = means.argsort(axis=-1)
    ascending = np.take_along_axis(means, order, axis=-1)
    large = float(_find_quantile(np.abs(np.where(scores == 0, np.nan, scores)).ravel(), 0.75)[0])
    rounding = OF_SIZE * np.fmax(np.abs(ascending), large)
    is_new = np.diff(ascending, axis=-1, prepend=-np.inf) > rounding
    first = np.maximum.accumulate(np.where(is_new, np.arange(means.shape[-1]), 0), axis=-1)
    merged = np.empty_like(means)
    np.put_along_axis(merged, order, np.take_along_axis(ascending, first, axis=-1), axis=-1)
    return merged


def _find_quantile(values: Floats, share: float) -> Floats:
    """The lower quantile of the last axis, of shape (..., 1), without NaN; 0 where nothing else is there."""
    if not values.shape[-1]:
        return np.zeros((*values.shape[:-1], 1))
    known = ~np.isnan(values)
    ascending = np.sort(np.where(known, values, np.inf), axis=-1)
    last = np.maximum(known.sum(axis=-1, keepdims=True), 1) - 1
    found = np.take_along_axis(ascending, (share * last).astype(np.intp), axis=-1)
    return np.where(np.isfinite(found), found, 0.0)


def to_outcomes(gaps: ArrayLike) -> Floats:
    """What differences of any shape say: 1 for one above 0, .5 for a tie, 0 for one below; NaN stays.

    >>> to_outcomes([0.2, 0.0, -3.0, np.nan]).tolist()
    [1.0, 0.5, 0.0, nan]
    """
    return (np.sign(np.asarray(gaps, dtype=np.float64)) + 1) / 2
