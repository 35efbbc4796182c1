"""Multiple tests: adjusted p-values, and clusters of metrics or systems that no test separates."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.correlation import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values (1979), of the same shape (k,): at most `level` keeps any false positive below `level`.

    NaN stays NaN: an undefined test does not count as a test.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjusted(p_values, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)))


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini & Hochberg's adjusted p-values (1995): at most `level` keeps the share of false positives below it.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    return _adjusted(p_values, lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1])


def clusters(values: Sequence[float], p_values: ArrayLike, level: float = 0.05) -> list[int]:
    """The cluster of each metric (or system), 1 for the best; the tests do not separate metrics of one cluster.

    A new cluster begins where every metric above differs significantly from every metric below, as in WMT's rankings.

    Args:
        values: the values to rank by, higher is better, of shape (k,).
        p_values: p-values of the differences of pairs, symmetric, of shape (k, k); NaN separates nothing.

    >>> clusters([0.9, 0.2, 0.8], [[1, 0.01, 0.3], [0.01, 1, 0.02], [0.3, 0.02, 1]])
    [1, 2, 1]
    """
    p = np.asarray(p_values, dtype=np.float64)
    k = len(values)
    if p.shape != (k, k):
        raise ValueError(f"p_values must have shape ({k}, {k}), one per pair of values, but has {p.shape}")
    order = np.argsort(-np.asarray(values, dtype=np.float64), kind="stable")
    separated = p[np.ix_(order, order)] < level
    numbers, number = [0] * k, 1
    for at, member in enumerate(order):
        if at and separated[:at, at:].all():
            number += 1
        numbers[member] = number
    return numbers


def _adjusted(p_values: ArrayLike, adjust) -> Floats:
    p = np.asarray(p_values, dtype=np.float64)
    bad = p[(p < 0) | (p > 1)]
    if p.ndim != 1 or bad.size:
        raise ValueError(
            f"p_values must be one list of numbers from 0 to 1, but {bad[0] if bad.size else p.shape} is not"
        )
    adjusted = np.full(len(p), np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[np.argsort(p[tests], kind="stable")]
    if len(order):
        adjusted[order] = np.minimum(adjust(p[order]), 1.0)
    return adjusted
