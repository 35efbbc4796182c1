"""Permutation tests of which of several metrics agree better with the ratings, adjusted for all pairs.

Deutsch, Dror & Roth (2021), "A Statistical Analysis of Summarization Evaluation Metrics using Resampling Methods". If
two metrics were equally good, it would not matter which of them gave which score. Both are standardised, the scores of
each unit are swapped with probability 1/2, and the difference of correlations is computed again. All pairs of metrics
share the swaps, so that `step_down` adjusts their p-values for one another.

A unit is an input with all its outputs. This departs from the paper's PERM-BOTH
(Algorithm 4), which swaps single outputs and so takes outputs for one input as independent. With a metric's error that
all outputs for an input share, PERM-BOTH called equally good metrics different in .19 of 500 simulated studies of 30
inputs and 8 systems. Where every output has a separate input, both are the same test. Correlations within systems or
inputs are standardised there and not over all outputs, so that a metric's bias for a system does not blur the swaps.

Rank correlations swap ranks and not scores. Swaps of the scores of a skewed and a symmetric metric found a difference
of equally good ones in .01 of studies in place of .06, and of unequal ones in .24 in place of .36 (a log-normal metric,
100 inputs). A swap that leaves a metric without variation counts as a correlation of 0.

All permutations are computed together. With s = 1 (kept) or -1 (swapped) for each output:

- the sums of Pearson's r, and of Spearman's rho on ranks, are linear in s;
- Kendall's balance of pairs is a quadratic form in s, one matrix product for all permutations.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from meta_eval.bootstrap import Mask
from meta_eval.correlation import Floats, average_ranks, keep_scored, limited_ratio, order_pairs
from meta_eval.grouping import Grouping, Layout, explain_undefined, restrict
from meta_eval.step_down import list_swaps, smallest_p, step_down

log = logging.getLogger(__name__)

Statistic = Literal["pearson", "spearman", "kendall"]
Swaps = Mask  # (permutations, n): whether the two scores of an output are swapped
Compared = Callable[[Floats, Floats, slice], NDArray[np.float32]]  # of columns -> (n, columns)

# Swaps held at once: few enough for the caches, but for pairs many enough that the n x n matrices are seldom rebuilt.
BATCH, BATCH_OF_PAIRS = 1_000_000, 10_000_000
PAIR_BLOCK = 8_000_000  # pairs held at once: 32 MB
PER_PAIR = 4e-11  # seconds of a core for each ordered pair of examples and swap
LONG = 60.0  # seconds of tests that are announced
ROUNDING = 1e-9  # a denominator below this is zero
UNTESTABLE = "no test compares metrics by the means of systems"


@dataclass(frozen=True)
class PermutationTests:
    """Whether metrics agree differently with the ratings, pair by pair."""

    n: int
    # by pair of metrics: two-sided, adjusted for all pairs; NaN if there is no test
    p_values: Mapping[tuple[str, str], float]
    # the smallest p-value that the swaps can give
    smallest: float
    # why there is no test, else None
    reason: str | None = None


def permutation_tests(
    scores: Mapping[str, ArrayLike],
    ratings: ArrayLike,
    layout: Layout,
    *,
    pairs: Sequence[tuple[str, str]],
    kind: Statistic = "spearman",
    grouping: Grouping = "global",
    permutations: int = 10_000,
    seed: int = 0,
) -> PermutationTests:
    """The tests of `pairs` of metrics. Scores, by metric, and ratings have the shape (n,).

    Only examples that all metrics scored count. Where no more than `permutations` swaps of inputs exist, each is made
    once. The statistic of a pair is its difference in standard deviations of its swapped differences, so that all pairs
    are on one scale.

    Raises ValueError for infinities and arrays that do not have the layout's shape.
    """
    (*columns, y), kept = keep_scored(**{f"scores of {name}": each for name, each in scores.items()}, ratings=ratings)
    present = restrict(layout, kept)
    undefined = (explain_undefined(each, y, present, grouping) for each in columns)
    # Two metrics with biases for systems agreed equally well with the mean ratings of these systems, in 300 simulated
    # studies of 30 inputs and 8 systems. Swaps of inputs called them different in .53 of the studies, because they
    # average the biases of the two.
    if (reason := next(filter(None, undefined), UNTESTABLE if grouping == "system_means" else None)) is not None:
        return PermutationTests(len(y), dict.fromkeys(pairs, math.nan), math.nan, reason)
    if kind in ("spearman", "kendall"):
        *columns, y = (_within(average_ranks, each, present, grouping) for each in (*columns, y))
    # ranks of Kendall stay as they are: equal ranks of two metrics tie, also after rounding
    metrics = {
        name: each if kind == "kendall" else _within(_standardise, each, present, grouping)
        for name, each in zip(scores, columns, strict=True)
    }
    of_pairs, groups = kind == "kendall", present.groups(grouping)
    if of_pairs:
        seconds = PER_PAIR * len(pairs) * permutations * sum(len(members) ** 2 for members in groups)
        if seconds > LONG:
            what = "a pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
            log.warning("tests of %s of metrics will take about %.0f minutes", what, seconds / 60)

    def compare(a: Floats, b: Floats, swaps: Swaps) -> Floats:
        """The difference of the statistics of a and b after each swap, of shape (swaps,)."""
        found = []
        for members in groups:
            if np.ptp(y[members]) > 0:
                permuted = PERMUTED[kind](a[members], b[members], y[members], swaps[:, members])
                found.append(np.subtract(*np.nan_to_num(permuted)))
        return np.mean(found, axis=0)

    def compare_pairs(swaps: Swaps) -> Floats:
        return np.stack([compare(metrics[a], metrics[b], swaps) for a, b in pairs], axis=1)

    count, rows = present.input_count, max(1, (BATCH_OF_PAIRS if of_pairs else BATCH) // len(y))
    is_exact = 2 ** (count - 1) <= permutations
    observed = compare_pairs(np.zeros((1, len(y)), dtype=np.bool_))[0]
    every = list_swaps(count, permutations, seed, rows, is_exact)
    null = np.concatenate([compare_pairs(swaps[:, present.inputs]) for swaps in every])
    spread = np.sqrt((null**2).mean(axis=0))
    scale = np.where(spread > ROUNDING, spread, math.inf)  # metrics that are alike do not differ
    adjusted = step_down(np.abs(observed) / scale, np.abs(null) / scale)
    p_values = dict(zip(pairs, adjusted.tolist(), strict=True))
    return PermutationTests(len(y), p_values, smallest_p(count, permutations, is_exact))


def permuted_pearson(a: Floats, b: Floats, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Pearson's r of a and of b with y after each swap, both of shape (permutations,), as in the functions below."""
    x, z, n, centred = a, b, len(y), y - y.mean()
    moved = swaps.astype(np.float64) @ np.stack([(z - x) * centred, z - x, z**2 - x**2], axis=1)
    spread = np.sqrt(float((centred**2).sum()))

    def r(x: Floats, change: Floats) -> Floats:
        products, total, squares = x @ centred + change[:, 0], x.sum() + change[:, 1], x @ x + change[:, 2]
        return limited_ratio(products, np.sqrt(np.maximum(squares - total**2 / n, 0)) * spread, ROUNDING)

    return r(x, moved), r(z, -moved)


def permuted_kendall(a: Floats, b: Floats, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Kendall's tau-b after each swap."""

    def concord(first: Floats, second: Floats, block: slice) -> NDArray[np.float32]:
        return order_pairs(first, second[block]) * order_pairs(y, y[block])

    balances, n = _sum_pairs(concord, a, b, swaps), len(y)
    untied_y = n**2 - float((np.unique(y, return_counts=True)[1] ** 2).sum())
    values, place = np.unique([a, b], return_inverse=True)
    held, own = np.zeros((2, len(values))), place.reshape(2, n)  # how often each value is held by a and by b
    for counts, at in zip(held, own, strict=True):
        np.add.at(counts, at, 1)
    rows = np.tile(np.arange(n), 2)
    moved = swaps @ csr_array((np.repeat([-1.0, 1.0], n), (rows, own.ravel())), shape=(n, len(values)))
    untied = (n**2 - (counts**2).sum(axis=1) for counts in (held[0] + moved, held[1] - moved))
    of_a, of_b = (
        limited_ratio(balance, np.sqrt(each * untied_y), ROUNDING)
        for balance, each in zip(balances, untied, strict=True)
    )
    return of_a, of_b


PERMUTED = {"pearson": permuted_pearson, "spearman": permuted_pearson, "kendall": permuted_kendall}


def _sum_pairs(compare: Compared, a: Floats, b: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """The sums over ordered pairs of examples of a comparison M of their scores, for a and for b after each swap.

    Let M_ab[i, j] compare a_i with b_j, and s = 1 (kept) or -1 (swapped). The sum is c + l's + s'Qs for the permuted a,
    and c - l's + s'Qs for the permuted b, where

        c = (1'M_aa 1 + 2 1'M_ab 1 + 1'M_bb 1)/4
        l = (M_aa 1 + M_ab 1 - M_ba 1 - M_bb 1)/2
        Q = (M_aa - M_ab - M_ba + M_bb)/4.

    `compare` gives all rows and some columns of M, whole numbers, 0 on the diagonal.
    """
    n, signs = swaps.shape[1], (1 - 2 * swaps.astype(np.int8)).astype(np.float32)
    constant, linear = 0.0, np.zeros(n)
    quadratic, width = np.zeros(len(swaps)), max(1, PAIR_BLOCK // n)
    for start in range(0, n, width):
        block = slice(start, min(start + width, n))
        form = np.zeros((n, block.stop - start), dtype=np.float32)
        for first, second, row, column in ((a, a, 1, 1), (a, b, 1, -1), (b, a, -1, 1), (b, b, -1, -1)):
            compared = compare(first, second, block)
            sums = compared.sum(axis=1, dtype=np.float64) / 4
            constant, linear = constant + sums.sum(), linear + 2 * row * sums
            form += row * column * compared
        # the products are whole numbers below 2**24, so float32 is exact
        quadratic += np.einsum("rj,rj->r", signs @ form, signs[:, block], dtype=np.float64) / 4
    moved = signs.astype(np.float64) @ linear
    return constant + quadratic + moved, constant + quadratic - moved


def _within(transform: Callable[[Floats], Floats], x: Floats, layout: Layout, grouping: Grouping) -> Floats:
    """x, transformed where its correlation is computed."""
    found = np.empty(len(x))
    for members in layout.groups(grouping):
        found[members] = transform(x[members])
    return found


def _standardise(x: Floats) -> Floats:
    """x with mean 0 and standard deviation 1, without overflow."""
    if np.ptp(x) == 0:
        return np.zeros(len(x))
    x = x / np.abs(x).max()
    x = x - x.mean()
    x /= np.abs(x).max()  # squares of tiny numbers would vanish
    return x / np.sqrt((x**2).mean())
