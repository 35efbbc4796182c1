"""Wins and ties from differences of scores; a difference that is only a rounding error is a tie everywhere."""

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.design import Floats

OF_SPREAD = 1e-9  # a smaller share of the larger differences is no difference
OF_SIZE = 1e-13  # of the scores that are compared: what the order of a sum changes
LARGER = 0.75  # the quantile from which sizes count as large


def subtract(first: ArrayLike, second: ArrayLike) -> Floats:
    """Computes differences of scores, both of shape (..., n); differences that are only rounding errors become 0.

    A difference is a rounding error if it is tiny relative to its two scores, or to the larger scores (upper quartile)
    of its row. Scores that are not compared, and a single huge score, do not affect other differences.

    >>> subtract([0.7999999999999999, 0.9, np.nan], [0.8, 0.8, 0.8]).round(3).tolist()
    [0.0, 0.1, nan]
    >>> subtract([2.0, 3.0, 1e12], [1.0, 1.0, 1e12]).tolist()
    [1.0, 2.0, 0.0]
    """
    one = _to_floats(first)
    other = _to_floats(second)
    gaps = one - other
    sizes = np.abs(gaps)
    larger_scores = np.fmax(np.abs(one), np.abs(other))
    noise_of_scores = OF_SIZE * larger_scores
    is_counted = sizes > noise_of_scores
    counted = np.where(is_counted, sizes, np.nan)
    large_gaps = _find_quantile(counted, LARGER)
    noise_of_row = OF_SPREAD * large_gaps
    noise = np.maximum(noise_of_scores, noise_of_row)
    return np.where(sizes <= noise, 0.0, gaps)


def merge_ties(means: Floats, scores: Floats) -> Floats:
    """Makes means of `scores`, both of one axis and without NaN, equal if they differ only by rounding errors.

    >>> merge_ties(np.array([(0.1 + 0.2 + 0.3) / 3, 0.5, (0.3 + 0.2 + 0.1) / 3]), np.array([0.1, 0.6])).tolist()
    [0.19999999999999998, 0.5, 0.19999999999999998]
    """
    ascending = np.sort(means)
    sizes = np.abs(scores)
    large = _find_quantile(np.where(sizes == 0, np.nan, sizes), LARGER)
    steps = np.diff(ascending, prepend=-np.inf)
    # the first value of each run stands for the whole run
    firsts = ascending[steps > OF_SIZE * np.fmax(np.abs(ascending), large)]
    return firsts[np.searchsorted(firsts, means, side="right") - 1]


def _find_quantile(values: Floats, share: float) -> Floats:
    """The lower quantile of the last axis, of shape (..., 1), without NaN; 0 where nothing else is there."""
    if not values.shape[-1]:
        rows = values.shape[:-1]
        return np.zeros((*rows, 1))
    is_known = ~np.isnan(values)
    filled = np.where(is_known, values, np.inf)
    ascending = np.sort(filled, axis=-1)
    count = is_known.sum(axis=-1, keepdims=True)
    last = np.maximum(count, 1) - 1
    position = (share * last).astype(np.intp)
    quantile = np.take_along_axis(ascending, position, axis=-1)
    is_finite = np.isfinite(quantile)
    return np.where(is_finite, quantile, 0.0)


def to_outcomes(gaps: ArrayLike) -> Floats:
    """Converts differences of any shape to outcomes: 1 above 0, .5 for a tie, 0 below; NaN stays.

    >>> to_outcomes([0.2, 0.0, -3.0, np.nan]).tolist()
    [1.0, 0.5, 0.0, nan]
    """
    signs = np.sign(_to_floats(gaps))
    return (signs + 1) / 2


def _to_floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
