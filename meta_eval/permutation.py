"""A permutation test of whether metric a agrees better with the ratings than metric b.

Deutsch, Dror & Roth (2021), "A Statistical Analysis of Summarization Evaluation Metrics using Resampling Methods". If
the metrics were equally good, it would not matter which of them gave which score. Both are standardised, the scores of
each unit are swapped with probability 1/2, and the difference of correlations is computed again.
p = (b + 1)/(m + 1), where b of m permutations differ at least as much as the metrics do.

A unit is an input with all its outputs, or a system with all its outputs. This departs from the paper's PERM-BOTH
(Algorithm 4), which swaps single outputs and so takes outputs for one input as independent. With a metric's error that
all outputs for an input share, PERM-BOTH called equally good metrics different in .19 of 500 simulated studies of 30
inputs and 8 systems. Where every output has a separate input, both are the same test. Correlations within systems or
inputs are standardised there and not over all outputs, so that a metric's bias for a system does not blur the swaps.

All permutations are computed together. With s = 1 (kept) or -1 (swapped) for each output:

- Pearson's sums are linear in s.
- Spearman's ranks: the 2n scores are sorted once; a running count of the scores in a permutation gives their ranks.
- Kendall's balance of pairs, and pairwise accuracy, are quadratic forms in s, one matrix product for all permutations.

Metrics whose ties are calibrated have different thresholds. Each score takes half of its metric's threshold along when
it is swapped: two scores tie if they differ by at most the sum of their halves. So pairs of one metric keep its
threshold, and nothing is calibrated again. mt-metrics-eval either calibrates every permutation anew or swaps the
results of single pairs (`PairwisePermutationSigDiff`), which takes pairs as independent.

Soft pairwise accuracy swaps whole inputs (or systems) too. In the way of its program, at most `PERMUTATIONS` swaps.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.correlation import (
    CORRELATIONS,
    PAIR_BLOCK,
    Floats,
    announce,
    average_ranks,
    keep_scored,
    limited_ratio,
    order_pairs,
    pairwise_accuracy,
)
from meta_eval.grouping import Grouping, Layout, system_means
from meta_eval.intervals import Drawn, explain_undefined_groups, restrict
from meta_eval.soft_accuracy import PERMUTATIONS, Ties, explain_undefined_soft, find_complete, permuted_soft_accuracy

Statistic = Literal["pearson", "spearman", "kendall", "accuracy", "soft_accuracy"]
Swaps = NDArray[np.bool_]  # (permutations, n): whether the two scores of an output are swapped
Permuted = Callable[[Floats, Floats, Floats, Swaps], tuple[Floats, Floats]]
Compared = Callable[[str, slice], NDArray[np.float32]]  # (pair of metrics, columns) -> (n, columns)

# Swaps held at once: few enough for the caches, but for Kendall many enough that the n x n matrices are seldom rebuilt.
BATCH: dict[Statistic, int] = {"pearson": 1_000_000, "spearman": 200_000, "kendall": 10_000_000}
BATCH |= {"accuracy": 10_000_000, "soft_accuracy": 1_000_000}
PER_PAIR = 4e-11  # seconds of a core for each ordered pair of examples and permutation
ROUNDING = 1e-9  # a denominator below this is zero
FEWEST_SWAPPED = 6  # units; all swaps of 5 give no p-value below 2/2**5 = .0625


@dataclass(frozen=True)
class PermutationTest:
    """Whether two metrics agree differently with the ratings.

    Attributes:
        n: number of examples that both metrics scored.
        difference: the correlation of metric a minus that of metric b; positive if a agrees better.
        p_value: two-sided; NaN if undefined.
        reason: why the numbers are NaN, else None.
    """

    n: int
    difference: float
    p_value: float
    permutations: int
    reason: str | None = None


@dataclass(frozen=True)
class Pair:
    """The scores of two metrics and the ratings, all of shape (n,), as a permutation test swaps them.

    Attributes:
        half_a, half_b: half of the threshold below which two scores of a metric tie, for each example.
        ties, seed: of soft accuracy.
    """

    a: Floats
    b: Floats
    y: Floats
    half_a: Floats
    half_b: Floats
    ties: Ties = "mid"
    seed: int = 0

    def take(self, members: NDArray[np.intp]) -> "Pair":
        """These examples."""
        a, b, y, half_a, half_b = (v[members] for v in (self.a, self.b, self.y, self.half_a, self.half_b))
        return replace(self, a=a, b=b, y=y, half_a=half_a, half_b=half_b)


def permutation_test(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    ratings: ArrayLike,
    layout: Layout,
    *,
    kind: Statistic = "spearman",
    grouping: Grouping = "global",
    over: Drawn = "inputs",
    permutations: int = 10_000,
    seed: int = 0,
    epsilons: tuple[float, float] = (0.0, 0.0),
    ties: Ties = "mid",
) -> PermutationTest:
    """The test of two metrics' correlations with `ratings`, all of shape (n,). Only examples that both scored count.

    `over` names the units to swap. As in `intervals` these are the units that the result generalises to. The p-value is
    NaN with a reason where `explain_untestable` has one, and for fewer than `FEWEST_SWAPPED` units.

    Kendall is tau-b. Accuracy ties scores within the metric's threshold in `epsilons`. Soft accuracy compares systems,
    on the inputs that all of them answer, whatever the grouping; `ties` is of `soft_pairwise_accuracy`. A permutation
    with an undefined correlation counts as one that differs as much as the metrics, so the p-value is conservative.
    Raises ValueError for infinities and arrays that do not have the layout's shape.
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, but is {permutations}")
    (a, b, y), kept = keep_scored(scores_a=scores_a, scores_b=scores_b, ratings=ratings)
    present = restrict(layout, kept)
    if kind == "soft_accuracy":
        complete = find_complete(present)
        a, b, y, present, grouping = a[complete], b[complete], y[complete], restrict(present, complete), "global"
        permutations = min(permutations, PERMUTATIONS)
    for scores in (a, b):
        reason = explain_undefined(scores, y, present, kind, grouping)
        if reason is not None:
            return PermutationTest(len(y), math.nan, math.nan, permutations, reason)
    (a, half_a), (b, half_b) = (
        _standardise(scores, epsilon, present, grouping) for scores, epsilon in zip((a, b), epsilons, strict=True)
    )
    pair = Pair(a, b, y, half_a, half_b, ties, seed)
    difference = _difference(pair, present, grouping, kind, np.zeros((1, len(y)), dtype=np.bool_))[0]
    if math.isnan(difference):
        reason = "the correlation of one metric is not defined in any group"
        return PermutationTest(len(y), math.nan, math.nan, permutations, reason)
    units, number = (
        (present.systems, present.system_count) if over == "systems" else (present.inputs, present.input_count)
    )
    reason = explain_untestable(kind, grouping, over)
    if reason is None and number < FEWEST_SWAPPED:
        reason = f"the permutation test needs at least {FEWEST_SWAPPED} {over} to swap, but there are {number}"
    if reason is not None:
        return PermutationTest(len(y), float(difference), math.nan, permutations, reason)
    if kind in ("kendall", "accuracy") and grouping != "system_means":
        groups = [np.arange(len(y))] if grouping == "global" else present.groups(grouping)
        pairs = sum(len(members) ** 2 for members in groups)
        announce(
            f"swaps of {pairs:,} ordered pairs of examples, {permutations:,} times,", PER_PAIR * permutations * pairs
        )
    rng, batch, beyond = np.random.default_rng(seed), max(1, BATCH[kind] // len(y)), 0
    for start in range(0, permutations, batch):
        swaps = _draw_swaps(rng, min(batch, permutations - start), number)[:, units]
        found = _difference(pair, present, grouping, kind, swaps)
        beyond += int((~(np.abs(found) < abs(difference) - 1e-10)).sum())  # tolerance for rounding
    return PermutationTest(len(y), float(difference), (beyond + 1) / (permutations + 1), permutations)


def explain_undefined(x: Floats, y: Floats, layout: Layout, kind: Statistic, grouping: Grouping) -> str | None:
    """The reason why no statistic of scores `x` with ratings `y` is defined in this grouping, or None."""
    if kind == "soft_accuracy":
        return explain_undefined_soft(x, y, layout)
    return explain_undefined_groups(x, y, layout, grouping)


def explain_untestable(kind: Statistic, grouping: Grouping, over: Drawn) -> str | None:
    """The reason why no test compares two metrics by this statistic over these units, or None.

    Two metrics with biases for systems agreed equally well with the mean ratings of these systems, in 300 simulated
    studies of 30 inputs and 8 systems. Swaps of inputs called them different in .53 of the studies, because they
    average the biases of the two. The paired bootstrap over inputs did so in .01 to .07, and never without biases.
    Soft accuracy is tested over inputs all the same, as mt-metrics-eval does, and for these systems only: between
    metrics with biases for systems, equally good over other systems, it found a difference in .70 of 150 such studies;
    in .05 of 200 without biases. over=systems tests whether the difference holds for other systems.
    Drawing both inputs and systems counts the variation of outputs twice, so that the bootstrap rejects .01 to .02.
    """
    if over == "both":
        return "no test of two metrics draws both inputs and systems: use over=inputs or over=systems"
    if kind != "soft_accuracy" and grouping == "system_means" and over == "inputs":
        return "a test of system means needs other systems: use over=systems"
    return None


def permuted_pearson(a: Floats, b: Floats, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Pearson's r of a and of b with y after each swap, both of shape (permutations,), as in the functions below."""
    n, centred = len(y), y - y.mean()
    moved = swaps.astype(np.float64) @ np.stack([(b - a) * centred, b - a, b**2 - a**2], axis=1)
    spread = np.sqrt(float((centred**2).sum()))

    def r(x: Floats, change: Floats) -> Floats:
        products, total, squares = x @ centred + change[:, 0], x.sum() + change[:, 1], x @ x + change[:, 2]
        return limited_ratio(products, np.sqrt(np.maximum(squares - total**2 / n, 0)) * spread, ROUNDING)

    return r(a, moved), r(b, -moved)


def permuted_spearman(a: Floats, b: Floats, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Spearman's rho after each swap."""
    n = len(y)
    union, ranks = np.concatenate([a, b]), average_ranks(y)
    order = np.argsort(union, kind="stable")
    output, is_b = order % n, order >= n
    first, last = _tie_bounds(union[order])
    centred = ranks - ranks.mean()
    taken = swaps[:, output] == is_b  # which sorted scores belong to the permuted a; the others belong to b
    count = np.cumsum(taken, axis=1, dtype=np.int32)
    # twice the average rank among a's scores: 1 + those below + those up to the last equal one
    if (first < last).any():
        below, up_to = count[:, first] - taken[:, first], count[:, last]
    else:  # without ties both counts are known
        below, up_to = count - taken, count
    doubled = below + up_to + 1
    of_a = np.where(taken, doubled, 0).astype(np.float64)
    of_b = np.where(taken, 0, first + last + 3 - doubled).astype(np.float64)  # both ranks add up to that among all 2n
    spread = np.sqrt(float((centred**2).sum()))

    def rho(doubled_ranks: Floats) -> Floats:
        squares = np.einsum("rp,rp->r", doubled_ranks, doubled_ranks) - n * (n + 1) ** 2
        return limited_ratio(doubled_ranks @ centred[output], np.sqrt(np.maximum(squares, 0)) * spread, ROUNDING)

    return rho(of_a), rho(of_b)


def permuted_kendall(a: Floats, b: Floats, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Kendall's tau-b after each swap."""
    scores = {"a": a, "b": b}

    def concord(metrics: str, block: slice) -> NDArray[np.float32]:
        return order_pairs(scores[metrics[0]], scores[metrics[1]][block]) * order_pairs(y, y[block])

    of_a, of_b = _sum_pairs(concord, len(y), swaps)
    untied_y = len(y) ** 2 - float((np.unique(y, return_counts=True)[1] ** 2).sum())
    untied_a, untied_b = _untied_pairs(a, b, swaps)
    scale_a, scale_b = np.sqrt(untied_a * untied_y), np.sqrt(untied_b * untied_y)
    return limited_ratio(of_a, scale_a, ROUNDING), limited_ratio(of_b, scale_b, ROUNDING)


def permuted_accuracy(pair: Pair, swaps: Swaps) -> tuple[Floats, Floats]:
    """Pairwise accuracy with ties after each swap."""
    scores, halves, n = {"a": pair.a, "b": pair.b}, {"a": pair.half_a, "b": pair.half_b}, len(pair.y)

    def is_right(metrics: str, block: slice) -> NDArray[np.float32]:
        (x, own), (z, other) = ((scores[metric], halves[metric]) for metric in metrics)
        gap = np.subtract.outer(x, z[block])
        gap[np.abs(gap) <= np.add.outer(own, other[block])] = 0
        right = (np.sign(gap) == order_pairs(pair.y, pair.y[block])).astype(np.float32)
        right[np.arange(n)[block], np.arange(right.shape[1])] = 0  # no example is compared with itself
        return right

    of_a, of_b = _sum_pairs(is_right, n, swaps)
    return of_a / (n * (n - 1)), of_b / (n * (n - 1))


def _sum_pairs(compare: Compared, n: int, swaps: Swaps) -> tuple[Floats, Floats]:
    """The sums over ordered pairs of examples of a comparison M of their scores, for a and for b after each swap.

    Let M_ab[i, j] compare a_i with b_j, and s = 1 (kept) or -1 (swapped). The sum is c + l's + s'Qs for the permuted a,
    and c - l's + s'Qs for the permuted b, where

        c = (1'M_aa 1 + 2 1'M_ab 1 + 1'M_bb 1)/4
        l = (M_aa 1 + M_ab 1 - M_ba 1 - M_bb 1)/2
        Q = (M_aa - M_ab - M_ba + M_bb)/4.

    Args:
        compare: M of two metrics, all rows and some columns, whole numbers of shape (n, columns); 0 on the diagonal.
    """
    signs = (1 - 2 * swaps.astype(np.int8)).astype(np.float32)
    sums = {"aa": np.zeros(n), "ab": np.zeros(n), "ba": np.zeros(n), "bb": np.zeros(n)}  # row sums of the four M
    quadratic, width = np.zeros(len(swaps)), max(1, PAIR_BLOCK // n)
    for start in range(0, n, width):
        block = slice(start, min(start + width, n))
        form = np.zeros((n, block.stop - start), dtype=np.float32)
        for metrics, sign in (("aa", 1), ("ab", -1), ("ba", -1), ("bb", 1)):
            compared = compare(metrics, block)
            sums[metrics] += compared.sum(axis=1, dtype=np.float64)
            form += sign * compared
        # the products are whole numbers below 2**24, so float32 is exact
        quadratic += np.einsum("rj,rj->r", signs @ form, signs[:, block], dtype=np.float64) / 4
    constant = (sums["aa"].sum() + 2 * sums["ab"].sum() + sums["bb"].sum()) / 4
    linear = signs.astype(np.float64) @ (sums["aa"] + sums["ab"] - sums["ba"] - sums["bb"]) / 2
    return constant + quadratic + linear, constant + quadratic - linear


PERMUTED: dict[Statistic, Permuted] = {
    "pearson": permuted_pearson,
    "spearman": permuted_spearman,
    "kendall": permuted_kendall,
}


def permute(pair: Pair, kind: Statistic, swaps: Swaps) -> tuple[Floats, Floats]:
    """The statistic of both metrics over all examples after each swap."""
    if kind == "accuracy":
        return permuted_accuracy(pair, swaps)
    return PERMUTED[kind](pair.a, pair.b, pair.y, swaps)


def _difference(pair: Pair, layout: Layout, grouping: Grouping, kind: Statistic, swaps: Swaps) -> Floats:
    """The difference of the grouped correlations after each swap, of shape (permutations,)."""
    if kind == "soft_accuracy":
        of_a, of_b = permuted_soft_accuracy(pair.a, pair.b, pair.y, layout, swaps, pair.ties, pair.seed)
        return of_a - of_b
    if grouping == "global":
        of_a, of_b = permute(pair, kind, swaps)
        return of_a - of_b
    if grouping == "system_means":
        return _difference_of_means(pair, layout, kind, swaps)
    total, count = np.zeros((2, len(swaps))), np.zeros((2, len(swaps)))
    for members in layout.groups(grouping):
        if len(members) < 2 or (kind != "accuracy" and np.ptp(pair.y[members]) == 0):
            continue
        for side, found in enumerate(permute(pair.take(members), kind, swaps[:, members])):
            total[side] += np.nan_to_num(found)
            count[side] += ~np.isnan(found)
    of_a, of_b = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return of_a - of_b


def _difference_of_means(pair: Pair, layout: Layout, kind: Statistic, swaps: Swaps) -> Floats:
    membership = np.equal.outer(layout.systems, np.arange(layout.system_count)) / np.bincount(layout.systems)
    change = swaps @ ((pair.b - pair.a)[:, None] * membership)
    means_a, y_means = system_means(pair.a, pair.y, layout)
    means_b, _ = system_means(pair.b, pair.y, layout)
    ones = np.ones((1, layout.system_count))
    of = pairwise_accuracy if kind == "accuracy" else CORRELATIONS[kind]
    return np.array([of(means_a + moved, y_means, ones)[0] - of(means_b - moved, y_means, ones)[0] for moved in change])


def _draw_swaps(rng: np.random.Generator, rows: int, n: int) -> Swaps:
    bits = np.frombuffer(rng.bytes(rows * ((n + 7) // 8)), dtype=np.uint8).reshape(rows, -1)
    return np.unpackbits(bits, axis=1, count=n).astype(np.bool_)


def _standardise(x: Floats, epsilon: float, layout: Layout, grouping: Grouping) -> tuple[Floats, Floats]:
    """Standardises x to mean 0 and standard deviation 1, without overflow, where its correlation is computed.

    Half of the threshold `epsilon` is divided by the same deviation, for each example.
    """
    groups = layout.groups(grouping) if grouping in ("per_system", "per_input") else [np.arange(len(x))]
    largest = np.abs(x).max()
    x, found, half = x / largest, np.zeros(len(x)), np.zeros(len(x))
    for members in groups:
        if np.ptp(x[members]) > 0:
            centred = x[members] - x[members].mean()
            size = np.abs(centred).max()  # squares of tiny numbers would vanish
            deviation = np.sqrt(((centred / size) ** 2).mean())
            found[members] = centred / size / deviation
            if epsilon > 0:  # a distance that equals epsilon must tie after rounding too
                half[members] = epsilon / largest / size / deviation * (0.5 + 1e-9)
    return found, half


def _tie_bounds(ordered: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first and the last position of the value at each position of a sorted array."""
    starts = np.flatnonzero(np.append(True, np.diff(ordered) > 0))
    counts = np.diff(np.append(starts, len(ordered)))
    return np.repeat(starts, counts), np.repeat(starts + counts - 1, counts)


def _untied_pairs(a: Floats, b: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """The numbers of ordered pairs with different scores in the permuted a and in the permuted b."""
    n = len(a)
    union = np.concatenate([a, b])
    order = np.argsort(union, kind="stable")
    first, last = _tie_bounds(union[order])
    tied = first != last
    sizes_a = sizes_b = np.zeros(len(swaps))
    if tied.any():
        taken = (swaps[:, order[tied] % n] == (order[tied] >= n)).astype(np.float64)
        starts = np.flatnonzero(np.append(True, np.diff(first[tied]) > 0))
        total = np.diff(np.append(starts, tied.sum())).astype(np.float64)
        held = np.add.reduceat(taken, starts, axis=1)
        sizes_a = (held**2 - held).sum(axis=1)
        sizes_b = ((total - held) ** 2 - (total - held)).sum(axis=1)
    return n**2 - n - sizes_a, n**2 - n - sizes_b
