"""Permutation tests of which of several metrics agree better with the ratings, adjusted for all pairs.

Deutsch, Dror & Roth (2021), "A Statistical Analysis of Summarization Evaluation Metrics using Resampling Methods". If
two metrics were equally good, it would not matter which of them gave which score. Both are standardised, the scores of
each unit are swapped with probability 1/2, and the difference of correlations is computed again. All pairs of metrics
share the swaps, so that `step_down` adjusts their p-values for one another.

A unit is an input with all its outputs. This departs from the paper's PERM-BOTH (Algorithm 4), which swaps single
outputs and so takes outputs for one input as independent. In 500 simulated studies of 30 inputs and 8 systems, in which
a metric had one error for all outputs of an input, PERM-BOTH called equally good metrics different in .19. If every
output has an input of its own, both are the same test. For correlations within systems or inputs, scores are
standardised within these and not over all outputs, so that a metric's bias for a system does not affect the swaps.

For rank correlations, ranks are swapped and not scores. In simulations with a log-normal and a symmetric metric and 100
inputs, swapped scores found a difference between equally good metrics in .01 of studies (ranks: .06), and between
unequal ones in .24 (ranks: .36). A swap that leaves a metric without variation counts as a correlation of 0.

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

from meta_eval.bootstrap import Indices, Mask
from meta_eval.correlation import Floats, average_ranks, keep_scored, limited_ratio, order_pairs
from meta_eval.grouping import Grouping, Layout, explain_undefined, restrict
from meta_eval.step_down import list_swaps, smallest_p, step_down

log = logging.getLogger(__name__)

Statistic = Literal["pearson", "spearman", "kendall"]
Swaps = Mask  # (permutations, n): whether the two scores of an output are swapped
Compare = Callable[[Floats, Floats, slice], NDArray[np.float32]]  # of columns -> (n, columns)

# Swaps held at once: few enough for the caches, but for pairs many enough that the n x n matrices are seldom rebuilt.
BATCH = 1_000_000
BATCH_OF_PAIRS = 10_000_000
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
    """Tests whether `pairs` of metrics agree equally well with ratings; scores and ratings have the shape (n,).

    Only examples that all metrics scored count. If no more than `permutations` swaps of inputs exist, each is made
    once. The statistic of a pair is its difference of correlations, divided by the standard deviation of the swapped
    differences, so that all pairs have one scale.

    Raises ValueError for infinities and arrays that do not have the layout's shape.
    """
    named_scores = {f"scores of {name}": values for name, values in scores.items()}
    (*columns, y), kept = keep_scored(**named_scores, ratings=ratings)
    present = restrict(layout, kept)
    reason = _explain_untestable(columns, y, present, grouping)
    if reason is not None:
        undefined = dict.fromkeys(pairs, math.nan)
        return PermutationTests(len(y), undefined, math.nan, reason)
    *columns, y = _transform(columns, y, kind, present, grouping)
    tests = _PairTests(
        metrics=dict(zip(scores, columns, strict=True)),
        ratings=y,
        groups=present.groups(grouping),
        pairs=pairs,
        kind=kind,
    )
    tests.announce(permutations)
    inputs = present.input_count
    is_exact = 2 ** (inputs - 1) <= permutations
    batch = BATCH_OF_PAIRS if kind == "kendall" else BATCH
    blocks = list_swaps(
        inputs,
        permutations,
        seed,
        rows=max(1, batch // len(y)),
        is_exact=is_exact,
    )
    no_swap = np.zeros((1, len(y)), dtype=np.bool_)
    observed = tests.subtract_pairs(no_swap)[0]
    null = np.concatenate([tests.subtract_pairs(swaps[:, present.inputs]) for swaps in blocks])
    spread = np.sqrt((null**2).mean(axis=0))
    scale = np.where(spread > ROUNDING, spread, math.inf)  # metrics that are alike do not differ
    adjusted = step_down(np.abs(observed) / scale, np.abs(null) / scale)
    p_values = dict(zip(pairs, adjusted.tolist(), strict=True))
    smallest = smallest_p(inputs, permutations, is_exact)
    return PermutationTests(len(y), p_values, smallest)


def _explain_untestable(
    columns: Sequence[Floats],
    y: Floats,
    layout: Layout,
    grouping: Grouping,
) -> str | None:
    """The reason why the metrics with these columns of scores cannot be tested, or None."""
    for x in columns:
        reason = explain_undefined(x, y, layout, grouping)
        if reason is not None:
            return reason
    # Two metrics with biases for systems agreed equally well with the mean ratings of these systems, in 300 simulated
    # studies of 30 inputs and 8 systems. Swaps of inputs called them different in .53 of the studies, because they
    # average the biases of the two.
    return UNTESTABLE if grouping == "between_systems" else None


def _transform(
    columns: Sequence[Floats],
    y: Floats,
    kind: Statistic,
    layout: Layout,
    grouping: Grouping,
) -> list[Floats]:
    """The columns of scores, then the ratings, as they are correlated and swapped: on one scale, or as ranks."""
    if kind in ("spearman", "kendall"):
        columns = [_within(average_ranks, x, layout, grouping) for x in columns]
        y = _within(average_ranks, y, layout, grouping)
    # ranks of Kendall stay as they are: equal ranks of two metrics tie, also after rounding
    if kind != "kendall":
        columns = [_within(_standardise, x, layout, grouping) for x in columns]
    return [*columns, y]


@dataclass(frozen=True, eq=False)
class _PairTests:
    """What the swaps of all pairs share."""

    # transformed scores by metric, and ratings, of shape (n,)
    metrics: Mapping[str, Floats]
    ratings: Floats
    # the examples within which the statistic is computed
    groups: Sequence[Indices]
    pairs: Sequence[tuple[str, str]]
    kind: Statistic

    def subtract_pairs(self, swaps: Swaps) -> Floats:
        """The differences of the statistic after each swap, of shape (permutations, pairs)."""
        differences = [self._subtract(self.metrics[a], self.metrics[b], swaps) for a, b in self.pairs]
        return np.stack(differences, axis=1)

    def _subtract(
        self,
        a: Floats,
        b: Floats,
        swaps: Swaps,
    ) -> Floats:
        """The statistic of a minus that of b after each swap, the mean over groups, of shape (permutations,)."""
        correlate = PERMUTED[self.kind]
        differences = []
        sizes = []
        for members in self.groups:
            y = self.ratings[members]
            if np.ptp(y) > 0:
                permuted = correlate(a[members], b[members], y, swaps[:, members])
                of_a, of_b = np.nan_to_num(permuted)
                differences.append(of_a - of_b)
                sizes.append(len(members))
        return np.average(differences, axis=0, weights=sizes)

    def announce(self, permutations: int) -> None:
        """Logs a warning if the tests will take long, which only tests of Kendall's tau do."""
        if self.kind != "kendall":
            return
        ordered_pairs = sum(len(members) ** 2 for members in self.groups)
        seconds = PER_PAIR * len(self.pairs) * permutations * ordered_pairs
        if seconds > LONG:
            what = "a pair" if len(self.pairs) == 1 else f"{len(self.pairs)} pairs"
            minutes = seconds / 60
            log.warning("tests of %s of metrics will take about %.0f minutes", what, minutes)


def permuted_pearson(
    a: Floats,
    b: Floats,
    y: Floats,
    swaps: Swaps,
) -> tuple[Floats, Floats]:
    """Computes Pearson's r of a and of b with y after each swap, both of shape (permutations,).

    A swap changes the sums of products with y, of scores, and of their squares; one metric gains what the other loses.
    """
    n = len(y)
    centred = y - y.mean()
    spread_y = np.sqrt(float((centred**2).sum()))
    gap = b - a
    gains = np.stack([gap * centred, gap, b**2 - a**2], axis=1)  # (n, sums) of a
    changes = swaps.astype(np.float64) @ gains  # (permutations, sums)

    def correlate(x: Floats, change: Floats) -> Floats:
        products = x @ centred + change[:, 0]
        total = x.sum() + change[:, 1]
        squares = x @ x + change[:, 2]
        spread_x = np.sqrt(np.maximum(squares - total**2 / n, 0))
        return limited_ratio(products, spread_x * spread_y, ROUNDING)

    return correlate(a, changes), correlate(b, -changes)


def permuted_kendall(
    a: Floats,
    b: Floats,
    y: Floats,
    swaps: Swaps,
) -> tuple[Floats, Floats]:
    """Computes Kendall's tau-b of a and of b with y after each swap, both of shape (permutations,)."""

    def concord(
        first: Floats,
        second: Floats,
        block: slice,
    ) -> NDArray[np.float32]:
        return order_pairs(first, second[block]) * order_pairs(y, y[block])

    balance_a, balance_b = _sum_pairs(concord, a, b, swaps)
    untied_a, untied_b = _count_untied(a, b, swaps)
    _, y_counts = np.unique(y, return_counts=True)
    untied_y = len(y) ** 2 - float((y_counts**2).sum())
    tau_a = limited_ratio(balance_a, np.sqrt(untied_a * untied_y), ROUNDING)
    tau_b = limited_ratio(balance_b, np.sqrt(untied_b * untied_y), ROUNDING)
    return tau_a, tau_b


def _count_untied(
    a: Floats,
    b: Floats,
    swaps: Swaps,
) -> tuple[Floats, Floats]:
    """How many ordered pairs of examples are untied in a and in b after each swap, both of shape (permutations,)."""
    n = len(a)
    values, numbers = np.unique([a, b], return_inverse=True)
    value_of_a, value_of_b = numbers.reshape(2, n)
    count_a = np.bincount(value_of_a, minlength=len(values)).astype(np.float64)
    count_b = np.bincount(value_of_b, minlength=len(values)).astype(np.float64)
    # a swap of an example takes its value from a and gives it that of b
    changes = np.repeat([-1.0, 1.0], n)
    examples = np.tile(np.arange(n), 2)
    cells = (examples, np.concatenate([value_of_a, value_of_b]))
    change_of_swap = csr_array((changes, cells), shape=(n, len(values)))
    moved = swaps @ change_of_swap  # (permutations, values)
    tied_a = ((count_a + moved) ** 2).sum(axis=1)
    tied_b = ((count_b - moved) ** 2).sum(axis=1)
    return n**2 - tied_a, n**2 - tied_b


PERMUTED = {"pearson": permuted_pearson, "spearman": permuted_pearson, "kendall": permuted_kendall}


def _sum_pairs(
    compare: Compare,
    a: Floats,
    b: Floats,
    swaps: Swaps,
) -> tuple[Floats, Floats]:
    """The sums over ordered pairs of examples of a comparison M of their scores, for a and for b after each swap.

    Let M_ab[i, j] compare a_i with b_j, and s = 1 (kept) or -1 (swapped). The sum is c + l's + s'Qs for the permuted a,
    and c - l's + s'Qs for the permuted b, where

        c = (1'M_aa 1 + 2 1'M_ab 1 + 1'M_bb 1)/4
        l = (M_aa 1 + M_ab 1 - M_ba 1 - M_bb 1)/2
        Q = (M_aa - M_ab - M_ba + M_bb)/4.

    `compare` gives all rows and some columns of M, whole numbers, 0 on the diagonal.
    """
    n = swaps.shape[1]
    signs = (1 - 2 * swaps.astype(np.int8)).astype(np.float32)  # s, of shape (permutations, n)
    constant = 0.0  # c
    linear = np.zeros(n)  # l
    quadratic = np.zeros(len(swaps))  # s'Qs
    width = max(1, PAIR_BLOCK // n)
    for start in range(0, n, width):
        block = slice(start, min(start + width, n))
        four_q = np.zeros((n, block.stop - start), dtype=np.float32)
        for first, second, row, column in ((a, a, 1, 1), (a, b, 1, -1), (b, a, -1, 1), (b, b, -1, -1)):
            matrix = compare(first, second, block)
            sums = matrix.sum(axis=1, dtype=np.float64) / 4
            constant += sums.sum()
            linear += 2 * row * sums
            four_q += row * column * matrix
        # the products are whole numbers below 2**24, so float32 is exact
        products = signs @ four_q
        quadratic += (
            np.einsum(
                "rj,rj->r",
                products,
                signs[:, block],
                dtype=np.float64,
            )
            / 4
        )
    moved = signs.astype(np.float64) @ linear
    return constant + quadratic + moved, constant + quadratic - moved


def _within(
    transform: Callable[[Floats], Floats],
    x: Floats,
    layout: Layout,
    grouping: Grouping,
) -> Floats:
    """Transforms x within each group of examples whose correlation is computed."""
    transformed = np.zeros(len(x))
    for members in layout.groups(grouping):
        transformed[members] = transform(x[members])
    return transformed


def _standardise(x: Floats) -> Floats:
    """x with mean 0 and standard deviation 1, without overflow."""
    if np.ptp(x) == 0:
        return np.zeros(len(x))
    x = x / np.abs(x).max()
    x = x - x.mean()
    x /= np.abs(x).max()  # squares of tiny numbers would vanish
    return x / np.sqrt((x**2).mean())
