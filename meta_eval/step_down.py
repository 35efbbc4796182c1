"""Adjusted p-values of many tests that share their resamples, tests of pairs by shared swaps, and clusters.

Westfall & Young (1993), "Resampling-Based Multiple Testing", Algorithm 2.8. The joint distribution of the statistics
takes the place of Holm's factor, so that the smallest p-value is 1/(1 + B) with any number of tests.
"""

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from meta_eval.bootstrap import BATCH, Floats

MOST_ENUMERATED = 15  # inputs (or groups) whose swaps are all counted: 2**14 that differ in size
ROUNDING = 1e-9  # relative: statistics of the same sums in another order are equal


def step_down(observed: ArrayLike, resampled: NDArray[np.float64] | Iterable[Floats]) -> Floats:
    """Adjusted p-values of shape (m,): at most `level` keeps the chance of any false positive at or below `level`.

    A test's p-value is the share of resamples in which the largest statistic among it and all weaker tests reaches its
    own, (1 + count) / (1 + B), and no smaller than that of a stronger test. Tests that differ in their spread under the
    null need statistics that are studentised alike in every resample.

    `observed` has the shape (m,); larger is more evidence. NaN is a test that cannot be made: its p-value is NaN.
    `resampled` holds the same statistics under the null, drawn together, of shape (B, m), or blocks of such rows. An
    undefined one counts against its own test only.
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


def randomisation_p(
    differences: Floats,
    permutations: int,
    seed: int,
    fitted: float = 0.0,
    rows: NDArray[np.intp] | None = None,
) -> Floats:
    """Two-sided p-values, adjusted for all pairs, of paired `differences`, of shape (n, pairs), by sign flips.

    All pairs share the flips. The statistic is the sum of differences over the root of the sum of their squares, which
    no flip changes, so that pairs of any spread count alike. Up to `MOST_ENUMERATED` differences every pattern of signs
    counts, and the p-value of a pair alone is exact; for more, `permutations` random ones do. A pair whose differences
    are all 0 has a p-value of 1. Differences that are residuals of a model are too small by the share `fitted` of its
    parameters among the observations.

    `rows` says that the differences are `differences[rows]`, so that equal ones are multiplied once.
    """
    kinds = len(differences)
    kind_of = np.arange(kinds) if rows is None else rows
    n = len(kind_of)
    times = np.bincount(kind_of, minlength=kinds).astype(np.float64)
    size = np.sqrt(times @ differences**2)
    unit = np.divide(differences, size, out=np.zeros(differences.shape), where=size > 0)
    # tolerance: rounding may make a sum that is 0 look like evidence against others that are
    total = times @ unit
    observed = (math.sqrt(1 - fitted) * np.abs(total)).clip(min=ROUNDING)
    swaps = list_swaps(n, permutations, seed, max(1, BATCH // max(n, *unit.shape)), n <= MOST_ENUMERATED)
    memberships = None
    if rows is not None:
        memberships = csr_array((np.ones(n), (np.arange(n), kind_of)), shape=(n, kinds))

    def flip(swapped: NDArray[np.bool_]) -> Floats:
        """The statistics where these differences have the other sign."""
        by_kind = swapped if memberships is None else swapped.astype(np.float64) @ memberships
        return np.abs(total - 2 * (by_kind @ unit)).clip(min=ROUNDING)

    return step_down(observed, map(flip, swaps))


def smallest_p(n: int, permutations: int, is_exact: bool | None = None) -> float:
    """The smallest p-value of swaps of n units, which are by default `is_exact` up to `MOST_ENUMERATED`.

    >>> smallest_p(5, 1000), smallest_p(30, 999)
    (0.0625, 0.001)
    """
    is_exact = n <= MOST_ENUMERATED if is_exact is None else is_exact
    return 2.0 ** (1 - n) if is_exact else 1 / (1 + permutations)


def list_swaps(n: int, permutations: int, seed: int, rows: int, is_exact: bool) -> Iterator[NDArray[np.bool_]]:
    """Which of n units are swapped, of shape (up to `rows`, n).

    If `is_exact`, each pattern but none or its reverse, which changes the statistics alike in size; else random ones.
    """
    if is_exact:
        every = np.arange(1, max(2, 2 ** (n - 1)))
        for start in range(0, len(every), rows):
            yield (every[start : start + rows, None] >> np.arange(n) & 1).astype(np.bool_)
        return
    rng = np.random.default_rng(seed)
    for start in range(0, permutations, rows):
        drawn = min(rows, permutations - start)
        bits = np.frombuffer(rng.bytes(drawn * ((n + 7) // 8)), dtype=np.uint8).reshape(drawn, -1)
        yield np.unpackbits(bits, axis=1, count=n).astype(np.bool_)


def clusters(
    values: Mapping[str, float], p_values: Mapping[tuple[str, str], float], level: float = 0.05
) -> dict[str, str]:
    """The cluster of each metric (or system), "1" for the best; "1-2" is in both, between what they tell apart.

    A cluster is a longest run of the order in which the tests separate no pair, so that no cluster ever holds a pair
    that they separate. This departs from the compact letter display of Piepho (2004), where two without a common letter
    are separated: here a pair that no test separates lies in two clusters where one between them is separated from
    either, because numbers of clusters follow the order.

    Higher values are better. `p_values` hold all pairs, each in one order; NaN separates nothing.
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
