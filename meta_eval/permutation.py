"""Permutation tests of which of several metrics agree better with the ratings, adjusted for all pairs.

Deutsch, Dror & Roth (2021), "A Statistical Analysis of Summarization Evaluation Metrics using Resampling Methods". If
two metrics were equally good, it would not matter which of them gave which score. Both are standardised, the scores of
each unit are swapped with probability 1/2, and the difference of correlations is computed again. All pairs of metrics
share the swaps, so that `step_down` adjusts their p-values for one another.

A unit is an input with all its outputs, or a system with all its outputs. This departs from the paper's PERM-BOTH
(Algorithm 4), which swaps single outputs and so takes outputs for one input as independent. With a metric's error that
all outputs for an input share, PERM-BOTH called equally good metrics different in .19 of 500 simulated studies of 30
inputs and 8 systems. Where every output has a separate input, both are the same test. Correlations within systems or
inputs are standardised there and not over all outputs, so that a metric's bias for a system does not blur the swaps.

Rank correlations swap ranks and not scores. Swaps of the scores of a skewed and a symmetric metric found a difference
of equally good ones in .01 of studies in place of .06, and of unequal ones in .24 in place of .36 (a log-normal metric,
100 inputs). A swap that leaves a metric without variation counts as a correlation of 0.

All permutations are computed together. With s = 1 (kept) or -1 (swapped) for each output:

- the sums of Pearson's r, and of Spearman's rho on ranks, are linear in s;
- Kendall's balance of pairs, and pairwise accuracy, are quadratic forms in s, one matrix product for all permutations.

Metrics whose ties are calibrated have different thresholds. Each score takes half of its metric's threshold along when
it is swapped: two scores tie if they differ by at most the sum of their halves. So pairs of one metric keep its
threshold, and nothing is calibrated again. mt-metrics-eval either calibrates every permutation anew or swaps the
results of single pairs (`PairwisePermutationSigDiff`), which takes pairs as independent.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.correlation import (
    PAIR_BLOCK,
    Floats,
    announce,
    average_ranks,
    keep_scored,
    limited_ratio,
    order_pairs,
)
from meta_eval.grouping import Grouping, Layout, system_means
from meta_eval.intervals import Drawn, explain_undefined_groups, restrict
from meta_eval.soft_accuracy import PERMUTATIONS, Ties, explain_undefined_soft, find_complete, permuted_soft_accuracy
from meta_eval.step_down import step_down

Statistic = Literal["pearson", "spearman", "kendall", "accuracy", "soft_accuracy"]
Swaps = NDArray[np.bool_]  # (permutations, n): whether the two scores of an output are swapped
Compared = Callable[[str, slice], NDArray[np.float32]]  # (pair of metrics, columns) -> (n, columns)

# Swaps held at once: few enough for the caches, but for Kendall many enough that the n x n matrices are seldom rebuilt.
BATCH: dict[Statistic, int] = {"pearson": 1_000_000, "spearman": 1_000_000, "kendall": 10_000_000}
BATCH |= {"accuracy": 10_000_000, "soft_accuracy": 1_000_000}
PER_PAIR = 4e-11  # seconds of a core for each ordered pair of examples and permutation
ROUNDING = 1e-9  # a denominator below this is zero


@dataclass(frozen=True)
class PermutationTests:
    """Whether metrics agree differently with the ratings, pair by pair."""

    # the number of examples that all metrics scored
    n: int
    # by pair of metrics: the correlation of the first minus that of the second
    differences: Mapping[tuple[str, str], float]
    # two-sided, adjusted for all pairs; NaN if there is no test
    p_values: Mapping[tuple[str, str], float]
    # the smallest p-value that the swaps can give
    smallest: float
    # why there is no test, else None
    reason: str | None = None


@dataclass(frozen=True)
class Standardised:
    """A metric's scores or their ranks, and half of the threshold below which two of them tie; of shape (n,)."""

    values: Floats
    halves: Floats

    def take(self, members: NDArray[np.intp]) -> "Standardised":
        """These examples."""
        return Standardised(self.values[members], self.halves[members])


def permutation_tests(
    scores: Mapping[str, ArrayLike],
    ratings: ArrayLike,
    layout: Layout,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    kind: Statistic = "spearman",
    grouping: Grouping = "global",
    over: Drawn = "inputs",
    permutations: int = 10_000,
    seed: int = 0,
    epsilons: Mapping[str, float] | None = None,
    ties: Ties = "mid",
) -> PermutationTests:
    """The tests of `pairs` of metrics, by default all of them. Scores, by metric, and ratings have the shape (n,).

    Only examples that all metrics scored count. `over` names the units to swap: as in `intervals` these are the units
    that the result generalises to. Where no more than `permutations` swaps exist, each is made once.

    The statistic of a pair is its difference in standard deviations of its swapped differences, so that all pairs are
    on one scale. Kendall is tau-b. Accuracy ties scores within the metric's threshold in `epsilons`. Soft accuracy
    compares systems, on the inputs that all of them answer, whatever the grouping, by at most `PERMUTATIONS` swaps;
    `ties` is of `weigh_soft_accuracy`.

    Raises ValueError for infinities, arrays that do not have the layout's shape, and fewer than one permutation.
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, but is {permutations}")
    (*columns, y), kept = keep_scored(**{f"scores of {name}": each for name, each in scores.items()}, ratings=ratings)
    present, pairs = restrict(layout, kept), pairs or [*combinations(scores, 2)]
    if kind == "soft_accuracy":
        complete = find_complete(present)
        columns, y, present = [each[complete] for each in columns], y[complete], restrict(present, complete)
        permutations, grouping = min(permutations, PERMUTATIONS), "system_means"
    undefined = (explain_undefined(each, y, present, kind, grouping) for each in columns)
    reason = next(filter(None, undefined), explain_untestable(grouping, over))
    if reason is not None:
        nothing = dict.fromkeys(pairs, math.nan)
        return PermutationTests(len(y), nothing, nothing, math.nan, reason)
    number = len(y)
    if grouping == "system_means" and kind != "soft_accuracy":
        means = [system_means(each, y, present) for each in columns]
        columns, y, grouping = [x for x, _ in means], means[0][1], "global"
        present = Layout(np.arange(len(y)), np.arange(len(y)))
    units, count = (
        (present.systems, present.system_count) if over == "systems" else (present.inputs, present.input_count)
    )
    if kind in ("kendall", "accuracy"):
        ordered = len(pairs) * sum(len(members) ** 2 for members in _list_groups(present, grouping))
        what = f"swaps of {ordered:,} ordered pairs of examples, {permutations:,} times,"
        announce(what, PER_PAIR * permutations * ordered)
    if kind in ("spearman", "kendall"):
        *columns, y = (_rank(each, present, grouping) for each in (*columns, y))
    thresholds = [(epsilons or {}).get(name, 0.0) for name in scores]
    metrics = {
        name: Standardised(each, np.zeros(len(each)))  # equal ranks of two metrics tie, also after rounding
        if kind == "kendall"
        else _standardise(each, epsilon, present, grouping)
        for name, each, epsilon in zip(scores, columns, thresholds, strict=True)
    }

    def differ(swaps: Swaps) -> Floats:
        """The differences of all pairs after each swap, of shape (swaps, pairs)."""
        compared = ((metrics[a], metrics[b]) for a, b in pairs)
        return np.stack([_difference(*two, y, present, grouping, kind, swaps, ties, seed) for two in compared], axis=1)

    nothing = np.zeros((1, len(y)), dtype=np.bool_)
    observed, batch = differ(nothing)[0], max(1, BATCH[kind] // len(y))
    null = np.concatenate([differ(swaps[:, units]) for swaps in _list_swaps(count, permutations, batch, seed)])
    spread = np.sqrt((null**2).mean(axis=0))
    scale = np.where(spread > ROUNDING, spread, math.inf)  # metrics that are alike do not differ
    adjusted = step_down(np.abs(observed) / scale, np.abs(null) / scale)
    return PermutationTests(
        number,
        dict(zip(pairs, observed.tolist(), strict=True)),
        dict(zip(pairs, adjusted.tolist(), strict=True)),
        find_smallest(count, permutations),
    )


def explain_undefined(x: Floats, y: Floats, layout: Layout, kind: Statistic, grouping: Grouping) -> str | None:
    """The reason why no statistic of scores `x` with ratings `y` is defined in this grouping, or None."""
    if kind == "soft_accuracy":
        return explain_undefined_soft(x, y, layout)
    return explain_undefined_groups(x, y, layout, grouping)


def explain_untestable(grouping: Grouping, over: Drawn) -> str | None:
    """The reason why no test compares two metrics in this grouping over these units, or None.

    Two metrics with biases for systems agreed equally well with the mean ratings of these systems, in 300 simulated
    studies of 30 inputs and 8 systems. Swaps of inputs called them different in .53 of the studies, because they
    average the biases of the two. In soft accuracy they did so in .12 to .17, and in .06 without such biases.
    """
    if grouping == "system_means" and over == "inputs":
        return "no test compares metrics by system means (or soft accuracy) over inputs: use over=systems"
    return None


def find_smallest(units: int, permutations: int) -> float:
    """The smallest p-value of swaps of so many units; the swap of all gives the same size of difference as none.

    >>> find_smallest(5, 1000), find_smallest(30, 999)
    (0.0625, 0.001)
    """
    return 2 / 2**units if 2**units <= permutations else 1 / (permutations + 1)


def permuted_pearson(a: Standardised, b: Standardised, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Pearson's r of a and of b with y after each swap, both of shape (permutations,), as in the functions below."""
    x, z, n, centred = a.values, b.values, len(y), y - y.mean()
    moved = swaps.astype(np.float64) @ np.stack([(z - x) * centred, z - x, z**2 - x**2], axis=1)
    spread = np.sqrt(float((centred**2).sum()))

    def r(x: Floats, change: Floats) -> Floats:
        products, total, squares = x @ centred + change[:, 0], x.sum() + change[:, 1], x @ x + change[:, 2]
        return limited_ratio(products, np.sqrt(np.maximum(squares - total**2 / n, 0)) * spread, ROUNDING)

    return r(x, moved), r(z, -moved)


def permuted_kendall(a: Standardised, b: Standardised, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Kendall's tau-b after each swap."""
    scores = {"a": a.values, "b": b.values}

    def concord(metrics: str, block: slice) -> NDArray[np.float32]:
        return order_pairs(scores[metrics[0]], scores[metrics[1]][block]) * order_pairs(y, y[block])

    of_a, of_b = _sum_pairs(concord, len(y), swaps)
    untied_y = len(y) ** 2 - float((np.unique(y, return_counts=True)[1] ** 2).sum())
    untied_a, untied_b = _untied_pairs(a.values, b.values, swaps)
    scale_a, scale_b = np.sqrt(untied_a * untied_y), np.sqrt(untied_b * untied_y)
    return limited_ratio(of_a, scale_a, ROUNDING), limited_ratio(of_b, scale_b, ROUNDING)


def permuted_accuracy(a: Standardised, b: Standardised, y: Floats, swaps: Swaps) -> tuple[Floats, Floats]:
    """Pairwise accuracy with ties after each swap."""
    metrics, n = {"a": a, "b": b}, len(y)

    def is_right(pair: str, block: slice) -> NDArray[np.float32]:
        first, second = (metrics[metric] for metric in pair)
        gap = np.subtract.outer(first.values, second.values[block])
        gap[np.abs(gap) <= np.add.outer(first.halves, second.halves[block])] = 0
        right = (np.sign(gap) == order_pairs(y, y[block])).astype(np.float32)
        right[np.arange(n)[block], np.arange(right.shape[1])] = 0  # no example is compared with itself
        return right

    of_a, of_b = _sum_pairs(is_right, n, swaps)
    return of_a / (n * (n - 1)), of_b / (n * (n - 1))


PERMUTED = {
    "pearson": permuted_pearson,
    "spearman": permuted_pearson,
    "kendall": permuted_kendall,
    "accuracy": permuted_accuracy,
}


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


def _difference(
    a: Standardised,
    b: Standardised,
    y: Floats,
    layout: Layout,
    grouping: Grouping,
    kind: Statistic,
    swaps: Swaps,
    ties: Ties,
    seed: int,
) -> Floats:
    """The difference of the grouped statistics of a and b after each swap, of shape (permutations,)."""
    if kind == "soft_accuracy":
        of_a, of_b = permuted_soft_accuracy(a.values, b.values, y, layout, swaps, ties, seed)
        return of_a - of_b
    found = []
    for members in _list_groups(layout, grouping):
        if len(members) > 1 and (kind == "accuracy" or np.ptp(y[members]) > 0):
            of_a, of_b = PERMUTED[kind](a.take(members), b.take(members), y[members], swaps[:, members])
            found.append(np.nan_to_num(of_a) - np.nan_to_num(of_b))
    return np.mean(found, axis=0)


def _list_groups(layout: Layout, grouping: Grouping) -> list[NDArray[np.intp]]:
    return layout.groups(grouping) if grouping in ("per_system", "per_input") else [np.arange(len(layout.inputs))]


def _list_swaps(units: int, permutations: int, batch: int, seed: int) -> Iterator[Swaps]:
    """Which units are swapped, of shape (rows, units): every swap but none where there are few, else drawn ones."""
    if 2**units <= permutations:
        numbers = np.arange(1, 2**units)[:, None] >> np.arange(units) & 1
        yield from np.array_split(numbers.astype(np.bool_), range(batch, len(numbers), batch))
        return
    rng = np.random.default_rng(seed)
    for start in range(0, permutations, batch):
        yield _draw_swaps(rng, min(batch, permutations - start), units)


def _draw_swaps(rng: np.random.Generator, rows: int, n: int) -> Swaps:
    bits = np.frombuffer(rng.bytes(rows * ((n + 7) // 8)), dtype=np.uint8).reshape(rows, -1)
    return np.unpackbits(bits, axis=1, count=n).astype(np.bool_)


def _rank(x: Floats, layout: Layout, grouping: Grouping) -> Floats:
    """The ranks of x where its correlation is computed."""
    found = np.empty(len(x))
    for members in _list_groups(layout, grouping):
        found[members] = average_ranks(x[members])
    return found


def _standardise(x: Floats, epsilon: float, layout: Layout, grouping: Grouping) -> Standardised:
    """Standardises x to mean 0 and standard deviation 1, without overflow, where its correlation is computed.

    Half of the threshold `epsilon` is divided by the same deviation, for each example.
    """
    largest = np.abs(x).max()
    x, found, half = x / largest, np.zeros(len(x)), np.zeros(len(x))
    for members in _list_groups(layout, grouping):
        if np.ptp(x[members]) > 0:
            centred = x[members] - x[members].mean()
            size = np.abs(centred).max()  # squares of tiny numbers would vanish
            deviation = np.sqrt(((centred / size) ** 2).mean())
            found[members] = centred / size / deviation
            if epsilon > 0:  # a distance that equals epsilon must tie after rounding too
                half[members] = epsilon / largest / size / deviation * (0.5 + 1e-9)
    return Standardised(found, half)


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
