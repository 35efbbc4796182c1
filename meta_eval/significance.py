"""Multiple tests: adjusted p-values, and clusters of metrics or systems that no test separates."""

from collections.abc import Mapping

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


def clusters(
    values: Mapping[str, float], p_values: Mapping[tuple[str, str], float], level: float = 0.05
) -> dict[str, str]:
    """The cluster of each metric (or system), "1" for the best; "1-2" is in both, between what they tell apart.

    A cluster is a longest run of the order in which the tests separate no pair, so that no cluster ever holds a pair
    that they separate (the compact letter display of Piepho 2004, with numbers).

    Args:
        values: the values to rank by; higher is better.
        p_values: of the differences of all pairs, each in one order; NaN separates nothing. Other pairs do not count.
        level: of significance.

    >>> clusters({"a": 0.9, "b": 0.2, "c": 0.8}, {("a", "b"): 0.01, ("a", "c"): 0.3, ("b", "c"): 0.2})
    {'a': '1', 'c': '1-2', 'b': '2'}
    """
    order = sorted(values, key=lambda name: -values[name])
    separated = {frozenset(pair) for pair, p in p_values.items() if p < level}
    ends: list[int] = []  # of the longest run from each place on
    for start in reversed(range(len(order))):
        limit = ends[0] if ends else start + 1
        below = range(start + 1, limit)
        ends.insert(0, next((i for i in below if frozenset((order[start], order[i])) in separated), limit))
    runs = [(i, end) for i, end in enumerate(ends) if i == 0 or end > ends[i - 1]]
    found = {}
    for place, name in enumerate(order):
        among = [number for number, (start, end) in enumerate(runs, 1) if start <= place < end]
        found[name] = str(among[0]) if len(among) == 1 else f"{among[0]}-{among[-1]}"
    return found


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
