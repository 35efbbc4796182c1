"""Wins and ties by differences: one that rounding makes is a tie wherever wins are counted."""

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import Floats

OF_SPREAD = 1e-9  # a smaller share of the scores' range is no difference
OF_SIZE = 1e-13  # of the largest score: what the order of a sum changes, where all scores are nearly equal


def settle_ties(differences: ArrayLike, scores: ArrayLike) -> Floats:
    """The differences, of any shape, with 0 for those that are rounding of the `scores` that they come from.

    >>> settle_ties([0.7999999999999999 - 0.8, 0.1, np.nan], [0.8, 0.7999999999999999, 0.9]).tolist()
    [0.0, 0.1, nan]
    >>> settle_ties([np.nan], [np.nan, np.nan]).tolist()
    [nan]
    """
    gaps, of = (np.asarray(values, dtype=np.float64) for values in (differences, scores))
    return np.where(np.abs(gaps) <= _rounding(of), 0.0, gaps)


def merge_ties(means: Floats, scores: Floats) -> Floats:
    """Means of `scores`, of shape (..., n), with one value for those in a row that only rounding tells apart.

    >>> merge_ties(np.array([[(0.1 + 0.2 + 0.3) / 3, 0.5, (0.3 + 0.2 + 0.1) / 3]]), np.array([0.1, 0.6])).tolist()
    [[0.19999999999999998, 0.5, 0.19999999999999998]]
    """
    order = means.argsort(axis=-1)
    ascending = np.take_along_axis(means, order, axis=-1)
    is_new = np.diff(ascending, axis=-1, prepend=-np.inf) > _rounding(scores)
    first = np.maximum.accumulate(np.where(is_new, np.arange(means.shape[-1]), 0), axis=-1)
    merged = np.empty_like(means)
    np.put_along_axis(merged, order, np.take_along_axis(ascending, first, axis=-1), axis=-1)
    return merged


def _rounding(scores: Floats) -> float:
    """The largest difference of `scores`, or of their means, that rounding may make."""
    known = scores[~np.isnan(scores)]
    return max(OF_SPREAD * float(np.ptp(known)), OF_SIZE * float(np.abs(known).max())) if known.size else 0.0


def to_outcomes(gaps: ArrayLike) -> Floats:
    """What differences of any shape say: 1 for one above 0, .5 for a tie, 0 for one below; NaN stays.

    >>> to_outcomes([0.2, 0.0, -3.0, np.nan]).tolist()
    [1.0, 0.5, 0.0, nan]
    """
    return (np.sign(np.asarray(gaps, dtype=np.float64)) + 1) / 2
