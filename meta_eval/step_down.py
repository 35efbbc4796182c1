"""Adjusts the p-values of many tests that share their resamples; tests pairs by shared swaps; finds clusters.

Westfall & Young (1993), "Resampling-Based Multiple Testing", Algorithm 2.8. The joint distribution of the statistics
replaces Holm's factor, so that the smallest p-value from B resamples is 1/(1 + B) with any number of tests.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meta_eval.design import Floats, Mask
from meta_eval.estimates import BATCH

MOST_ENUMERATED = 15  # inputs (or groups) whose swaps are all counted: 2**14 that differ in size
ROUNDING = 1e-9  # relative: statistics of the same sums in another order are equal
OF_UNIT_SIZE = 1e-12  # of sums of differences whose squares add up to 1: what the order of a sum changes

Swaps = Mask  # (rows, n): whether each of n units is swapped


def randomisation_p(
    differences: Floats,
    permutations: int,
    seed: int,
    fitted: float = 0.0,
    rows: NDArray[np.intp] | None = None,
) -> Floats:
    """Computes two-sided p-values of paired `differences` (n, pairs) by sign flips, adjusted for all pairs.

    All pairs share the flips. The statistic is the sum of differences over the root of the sum of their squares, which
    no flip changes, so that pairs of any spread count alike. With up to `MOST_ENUMERATED` differences every pattern of
    signs is used, and the p-value of a single pair is exact; with more, `permutations` random patterns are used. A pair
    whose differences are all 0 has a p-value of 1.

    Args:
        fitted: if the differences are residuals of a model, its parameters over the observations: residuals are too
            small by this share.
        rows: if given, `differences` has distinct rows only, and `rows[i]` is the row of unit i; this saves time.
    """
    kinds = len(differences)
    kind_of = np.arange(kinds) if rows is None else rows
    n = len(kind_of)
    times = np.bincount(kind_of, minlength=kinds).astype(np.float64)
    size = np.sqrt(times @ differences**2)
    unit = np.divide(
        differences,
        size,
        out=np.zeros(differences.shape),
        where=size > 0,
    )
    total = times @ unit
    memberships = None if rows is None else _find_memberships(kind_of, kinds)

    def to_evidence(sums: Floats) -> Floats:
        """Returns the sizes of sums, at least ROUNDING, so that the rounding error of a sum of 0 is not evidence."""
        return np.abs(sums).clip(min=ROUNDING)

    def flip(swapped: Mask) -> Floats:
        """Computes the evidence with the signs of these differences flipped."""
        by_kind = swapped if memberships is None else swapped.astype(np.float64) @ memberships
        return to_evidence(total - 2 * (by_kind @ unit))

    blocks = list_swaps(
        n,
        permutations,
        seed,
        rows=max(1, BATCH // max(n, *unit.shape)),
        is_exact=n <= MOST_ENUMERATED,
    )
    observed = to_evidence(math.sqrt(1 - fitted) * total) - OF_UNIT_SIZE
    return step_down(observed, map(flip, blocks))


def _find_memberships(kind_of: NDArray[np.intp], kinds: int) -> Any:
    """The sparse matrix of shape (n, kinds) with a 1 where a row is of a kind."""
    from scipy.sparse import csr_array  # takes as long to import as all else that a small table needs

    n = len(kind_of)
    return csr_array((np.ones(n), (np.arange(n), kind_of)), shape=(n, kinds))


def smallest_p(
    n: int,
    permutations: int,
    is_exact: bool | None = None,
) -> float:
    """Computes the smallest possible p-value of swaps of n units.

    `is_exact` says whether all swaps are made; by default they are up to `MOST_ENUMERATED` units.

    >>> smallest_p(5, 1000), smallest_p(30, 999)
    (0.0625, 0.001)
    """
    if is_exact is None:
        is_exact = n <= MOST_ENUMERATED
    if is_exact:
        return 2.0 ** (1 - n)
    return 1 / (1 + permutations)


def list_swaps(
    n: int,
    permutations: int,
    seed: int,
    rows: int,
    is_exact: bool,
) -> Iterator[Swaps]:
    """Yields patterns of swaps of n units, of shape (up to `rows`, n).

    If `is_exact`, these are all patterns, except the one without a swap and the reverse of another, which gives a
    statistic of equal size. Else they are random.
    """
    if is_exact:
        return _enumerate_swaps(n, rows)
    return _draw_swaps(n, permutations, seed, rows)


def _enumerate_swaps(n: int, rows: int) -> Iterator[Swaps]:
    """The patterns as the binary digits of 1 to 2**(n - 1) - 1, which leave the last unit as it is."""
    numbers = np.arange(1, max(2, 2 ** (n - 1)))
    for start in range(0, len(numbers), rows):
        block = numbers[start : start + rows, None]
        digits = block >> np.arange(n) & 1
        yield digits.astype(np.bool_)


def _draw_swaps(
    n: int,
    permutations: int,
    seed: int,
    rows: int,
) -> Iterator[Swaps]:
    """Random patterns, of which each takes whole bytes."""
    rng = np.random.default_rng(seed)
    row_bytes = (n + 7) // 8
    for start in range(0, permutations, rows):
        drawn = min(rows, permutations - start)
        random_bytes = np.frombuffer(rng.bytes(drawn * row_bytes), dtype=np.uint8)
        by_row = random_bytes.reshape(drawn, -1)
        bits = np.unpackbits(by_row, axis=1, count=n)
        yield bits.astype(np.bool_)
