"""Adjusted p-values of many tests that share their resamples: the step-down of the largest statistic.

Westfall & Young (1993), "Resampling-Based Multiple Testing", Algorithm 2.8. The joint distribution of the statistics
takes the place of Holm's factor, so that the smallest p-value is 1/(1 + B) with any number of tests.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.bootstrap import Floats

ROUNDING = 1e-9  # relative: statistics of the same sums in another order are equal


def step_down(observed: ArrayLike, resampled: NDArray[np.float64] | Iterable[Floats]) -> Floats:
    """Adjusted p-values of shape (m,): at most `level` keeps the chance of any false positive at or below `level`.

    A test's p-value is the share of resamples in which the largest statistic among it and all weaker tests reaches its
    own, (1 + count) / (1 + B), and no smaller than that of a stronger test. Tests that differ in their spread under the
    null need statistics that are studentised alike in every resample.

    Args:
        observed: the statistics, of shape (m,); larger is more evidence (absolute values for two sides). NaN is a test
            that cannot be made: its p-value is NaN, and it takes no part in the others.
        resampled: the same statistics under the null, drawn together, of shape (B, m), or blocks of such rows. An
            undefined one counts against its own test only.

    >>> step_down([2.0, 1.0], np.array([[0.5, 1.5], [1.0, 0.0], [2.5, 0.5]])).tolist()
    [0.5, 0.75]
    """
    statistics = np.asarray(observed, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(statistics))
    weakest_first = tested[np.argsort(statistics[tested], kind="stable")]
    limits = statistics[weakest_first] - ROUNDING * np.abs(statistics[weakest_first])
    count, total = np.zeros(len(tested)), 0
    for block in [resampled] if isinstance(resampled, np.ndarray) else resampled:
        values = block[:, weakest_first]
        undefined = np.isnan(values)
        largest = np.maximum.accumulate(np.where(undefined, -np.inf, values), axis=1)
        count += ((largest >= limits) | undefined).sum(axis=0)
        total += len(block)
    adjusted = np.full(len(statistics), np.nan)
    adjusted[weakest_first] = np.maximum.accumulate((1 + count[::-1]) / (1 + total))[::-1]
    return adjusted
