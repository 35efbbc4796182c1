"""Comparison of systems on the same inputs: means and clusters, then pair by pair.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation", for the paired bootstrap; Riezler &
Maxwell (2005), "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT", for randomisation, which
swaps the two outputs of an input: all swaps of few inputs, random swaps of many. All pairs share the swaps, and their
p-values are adjusted together (`step_down`). Systems are ranked and tested on the same inputs, those that all of them
have a score for, so that the order, the pairs and the clusters agree.

Below `FEWEST_UNITS` inputs the mean has Student's t interval, and there is no interval for the effect. The win rate has
Tango's score interval, which is Wilson's where nothing ties. Simulated coverage is in
tests/meta_eval/test_null_simulations.py.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from itertools import permutations as list_orders

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.bootstrap import Estimate, Floats, estimate_from, explain_few, resample, to_columns
from meta_eval.cues import Cues, difference_beyond_cues
from meta_eval.grouping import Layout, lay_out
from meta_eval.intervals import (
    FEWEST_UNITS,
    Resampling,
    estimate_left_out,
    mean_interval,
    share_interval,
)
from meta_eval.scored_set import ScoredSet
from meta_eval.significance import clusters
from meta_eval.step_down import randomisation_p
from meta_eval.ties import settle_ties

LEAST_COMMON = 0.5  # share of the fullest system's inputs that a compared system must leave in common
MOST_ORDERED = 7  # systems whose orders are all counted: 7! = 5040
ORDERS = 10_000  # drawn of more systems
HUMAN = "human "  # before the name of an aspect that people rated
UNCOUNTED = Estimate.undefined("cheap cues are not counted")


@dataclass(frozen=True)
class SystemComparison:
    """Two systems on the same inputs, under one metric or by one kind of rating. Positive where a is higher."""

    # number of inputs that are compared
    n: int
    # number of inputs left out because a score is NaN
    missing: int
    # the mean of a - b
    difference: Estimate
    # the mean of a - b divided by its standard deviation (Cohen's d for pairs)
    effect: Estimate
    # the share of inputs on which a is higher; ties count half
    win_rate: Estimate
    # numbers of inputs on which a is higher, equal, lower
    wins: int
    ties: int
    losses: int
    # two-sided, of randomisation, adjusted for all pairs: exact up to `MOST_ENUMERATED` inputs
    p_value: float
    # whether two one-sided tests show that the difference is within the margin; None without a margin
    is_equal: bool | None = None
    # the part of `difference` that cheap cues do not explain
    beyond_cues: Estimate = UNCOUNTED
    # why the difference or its interval is NaN, else None
    reason: str | None = None


Pairs = Mapping[tuple[str, str], SystemComparison]


@dataclass(frozen=True)
class SystemMean:
    """The mean of a system under one metric or by one kind of rating."""

    system: str
    # the inputs that the mean is over; every compared system has a score for them
    n: int
    mean: Estimate
    # as `clusters` numbers them; a dash without a mean
    cluster: str


@dataclass(frozen=True)
class SystemAgreement:
    """How far a metric orders systems as people do, by means over inputs where all are scored and rated."""

    metric: str
    aspect: str
    # their numbers
    systems: int
    inputs: int
    # of the means. There is no interval: means of few inputs order systems worse than those of many, so resamples say
    # nothing about the order of the true means (15 systems with a true Kendall of 1, on 100 inputs: an interval from
    # .38 to .76 on average).
    kendall: float
    spearman: float
    accuracy: float
    # the share of all orders of the systems whose Kendall is at least as high
    by_chance: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Grid:
    """Scores and ratings of every system on every input, of shape (systems, inputs); a missing one is NaN."""

    systems: tuple[str, ...]
    inputs: tuple[str, ...]
    # by metric and by rated aspect
    scores: Mapping[str, Floats]
    ratings: Mapping[str, Floats]
    # the index of the example of each system and input; -1 where there is none
    places: NDArray[np.intp]

    @property
    def columns(self) -> dict[str, Floats]:
        """Scores, then ratings as one more kind of score: `human ASPECT`."""
        return {**self.scores, **{f"{HUMAN}{aspect}": values for aspect, values in self.ratings.items()}}


def lay_grid(scored: ScoredSet) -> Grid:
    """Scores and ratings as matrices; every example names its system and its input."""
    layout = scored.layout
    systems, inputs = (tuple(dict.fromkeys(names or ())) for names in (scored.systems, scored.groups))
    return Grid(
        systems,
        inputs,
        {name: layout.to_grid(scored.values(name, "")) for name in scored.scores},
        {aspect: layout.to_grid(scored.ratings(aspect)) for aspect in scored.aspects},
        np.nan_to_num(layout.to_grid(np.arange(len(scored), dtype=np.float64)), nan=-1).astype(np.intp),
    )


def compare_systems(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
    permutations: int = 10_000,
) -> SystemComparison:
    """Compares two systems' scores, both of shape (inputs,), pair by pair.

    With `groups` (one name per input, such as its document) whole groups are drawn and swapped. Raises ValueError for
    wrong shapes and for infinite or too large scores.
    """
    a, b = to_columns(scores_a=scores_a, scores_b=scores_b)
    gap = settle_ties(a - b, [a, b])
    kept = ~np.isnan(gap)
    named = None if groups is None else [name for name, keep in zip(groups, kept, strict=True) if keep]
    layout = lay_out(int(kept.sum()), inputs=named)
    (found,) = _compare_gaps(gap[kept, None], layout, resampling or Resampling(), permutations)
    return replace(found, missing=int((~kept).sum()))


def find_common(values: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which systems and which inputs of `values`, of shape (systems, inputs), are compared.

    A system is left out if the inputs in common would be fewer than `LEAST_COMMON` of those that the fullest system has
    values for. Systems with more values come first.
    """
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    systems, inputs = np.zeros(len(values), dtype=np.bool_), np.ones(values.shape[1], dtype=np.bool_)
    for i in np.argsort(-counts, kind="stable"):
        common = inputs & known[i]
        if common.sum() >= max(1, LEAST_COMMON * counts.max()):
            systems[i], inputs = True, common
    return systems, inputs


def compare_pairs(
    systems: Sequence[str],
    values: Floats,
    resampling: Resampling | None = None,
    permutations: int = 10_000,
    margin: float | None = None,
    level: float = 0.05,
) -> Pairs:
    """Compares every pair of systems; `values` have the shape (systems, inputs), NaN where one is missing.

    All pairs are compared on the inputs that `find_common` keeps, and their p-values are adjusted together. With a
    `margin`, two systems are equal within it at `level`, divided by the number of pairs, where Student's t interval
    lies inside (Schuirmann's two one-sided tests).
    """
    kept, at = find_common(values)
    places = [*combinations(np.flatnonzero(kept).tolist(), 2)]
    scores = values[np.ix_(kept, at)]
    first, second = np.triu_indices(len(scores), 1)
    gaps, layout = settle_ties(scores[first] - scores[second], scores).T, lay_out(int(at.sum()))
    compared = _compare_gaps(gaps, layout, resampling or Resampling(), permutations) if places else []
    if margin is not None and len(gaps) > 1:
        ends = [mean_interval(gap, layout, 1 - 2 * level / len(places)) for gap in gaps.T]
        inside = [bool(-margin < each.low and each.high < margin) for each in ends]
        compared = [replace(each, is_equal=equal) for each, equal in zip(compared, inside, strict=True)]
    found = dict(zip(places, compared, strict=True))
    reason = "a system has scores for too few inputs in common with the others"
    none = Estimate.undefined(reason)
    nothing = SystemComparison(0, 0, none, none, none, 0, 0, 0, math.nan, reason=reason)
    missing = int((~at).sum())
    return {
        (systems[i], systems[j]): replace(found[i, j], missing=missing) if (i, j) in found else nothing
        for i, j in combinations(range(len(systems)), 2)
    }


def add_beyond_cues(pairs: Pairs, grid: Grid, name: str, cues: Cues, confidence: float = 0.95) -> Pairs:
    """The comparisons by one column of the grid, with the part of each difference that cheap cues do not explain.

    `cues` are those of the examples that the grid was laid from, as `add_normal_scores` gives them.
    """
    values = dict(zip(grid.systems, grid.columns[name], strict=True))
    cells = dict(zip(grid.systems, cues.values[grid.places], strict=True))

    _, kept = find_common(grid.columns[name])

    def measure(a: str, b: str) -> Estimate:
        first, second = (Cues(cues.names, cells[system][kept]) for system in (a, b))
        return difference_beyond_cues((values[a] - values[b])[kept], first, second, confidence=confidence)

    return {(a, b): replace(each, beyond_cues=measure(a, b)) if each.n else each for (a, b), each in pairs.items()}


def rank_systems(
    systems: Sequence[str], values: Floats, pairs: Pairs, level: float = 0.05, resampling: Resampling | None = None
) -> list[SystemMean]:
    """The mean of each system with its cluster by the p-values of `pairs`, best first, then those left out.

    Means are over the inputs that `find_common` keeps, so that a system that could not be scored on hard inputs gains
    nothing.
    """
    kept, at = find_common(values)
    names = [name for name, is_kept in zip(systems, kept, strict=True) if is_kept]
    nothing = [
        SystemMean(name, 0, Estimate.undefined("too few inputs have a score of this system and of the others"), "–")
        for name in systems
        if name not in names
    ]
    if not names:
        return nothing
    n, scores = int(at.sum()), values[np.ix_(kept, at)]
    means = dict(zip(names, _estimate_means(scores.T, lay_out(n), resampling or Resampling()), strict=True))
    by_name = {name: mean.value for name, mean in means.items()}
    cluster = clusters(by_name, {pair: each.p_value for pair, each in pairs.items()}, level)
    return [*(SystemMean(name, n, means[name], number) for name, number in cluster.items()), *nothing]


def compare_orders(grid: Grid, metric: str, aspect: str, seed: int = 0) -> SystemAgreement:
    """How far a metric orders the systems as the ratings of an aspect do; `seed` draws orders by chance."""
    scores, ratings = grid.scores[metric], grid.ratings[aspect]
    complete = ~np.isnan(scores + ratings).any(axis=0)
    scores, ratings = scores[:, complete], ratings[:, complete]
    k, n = scores.shape
    none = (math.nan, math.nan, math.nan, math.nan)
    if k < 3 or n == 0:
        rule = "an order needs at least 3 systems and an input where all are scored and rated"
        return SystemAgreement(metric, aspect, k, n, *none, reason=f"{rule}, but there are {k} and {n}")
    means = scores.mean(axis=1), ratings.mean(axis=1)
    kendall, spearman, accuracy = compare_means(*(each[None] for each in means))[0].tolist()
    if math.isnan(kendall):
        return SystemAgreement(metric, aspect, k, n, *none, reason="all means are equal")
    return SystemAgreement(metric, aspect, k, n, kendall, spearman, accuracy, orders_by_chance(*means, seed))


def compare_means(x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b, Spearman's rho and pairwise accuracy of each row of x with that of y, of shape (rows, 3).

    Both have the shape (rows, systems). Accuracy counts a tie as right where both tie. NaN for equal values.
    """
    first, second = np.triu_indices(x.shape[1], 1)
    of_x, of_y = (np.sign(settle_ties(each[:, first] - each[:, second], each)) for each in (x, y))
    untied = np.sqrt((of_x != 0).sum(axis=1) * (of_y != 0).sum(axis=1))
    pairs = np.eye(x.shape[1])[first] - np.eye(x.shape[1])[second]
    ranks = [signs @ pairs / 2 for signs in (of_x, of_y)]  # average ranks, less their mean
    spread = np.sqrt((ranks[0] ** 2).sum(axis=1) * (ranks[1] ** 2).sum(axis=1))
    found = [
        np.divide(products.sum(axis=1), scale, out=np.full(len(x), np.nan), where=untied > 0)
        for products, scale in ((of_x * of_y, untied), (ranks[0] * ranks[1], spread))
    ]
    accuracy = np.where(untied > 0, (of_x == of_y).mean(axis=1), np.nan)
    return np.stack([*found, accuracy], axis=-1)


def orders_by_chance(x: Floats, y: Floats, seed: int = 0) -> float:
    """The share of orders of y, of shape (k,), whose Kendall with x is at least the observed one; NaN for equal values.

    Up to `MOST_ORDERED` systems all orders count; of more, (b + 1)/(m + 1) of `ORDERS` drawn ones.
    """
    k, is_exact = len(x), len(x) <= MOST_ORDERED
    every = [*list_orders(range(k))] if is_exact else np.tile(np.arange(k), (ORDERS, 1))
    orders = np.array(every) if is_exact else np.random.default_rng(seed).permuted(every, axis=1)
    observed = compare_means(x[None], y[None])[0, 0]
    if math.isnan(observed):
        return math.nan
    as_high = int((compare_means(np.broadcast_to(x, orders.shape), y[orders])[:, 0] >= observed - 1e-9).sum())
    return as_high / len(orders) if is_exact else (as_high + 1) / (ORDERS + 1)


def _compare_gaps(gaps: Floats, layout: Layout, resampling: Resampling, permutations: int) -> list[SystemComparison]:
    """The comparison of each pair from its differences, of shape (n, pairs)."""
    n = len(gaps)
    wins, ties, losses = ([int(count) for count in at.sum(axis=0)] for at in (gaps > 0, gaps == 0, gaps < 0))
    if n < 2:
        reason = f"a comparison needs at least 2 inputs that both systems have a score for, but there are {n}"
        none = Estimate.undefined(reason)
        nothing = SystemComparison(n, 0, none, none, none, 0, 0, 0, math.nan, reason=reason)
        return [replace(nothing, wins=w, ties=t, losses=x) for w, t, x in zip(wins, ties, losses, strict=True)]
    p_values = randomisation_p(_sum_by_input(gaps, layout), permutations, resampling.seed)
    differences = _estimate_means(gaps, layout, resampling)
    return [
        SystemComparison(
            n,
            0,
            difference,
            effect=_standardise_mean(gap, layout, resampling.confidence),
            win_rate=share_interval((np.sign(gap) + 1) / 2, layout, resampling.confidence),
            wins=wins[i],
            ties=ties[i],
            losses=losses[i],
            p_value=float(p),
            reason=difference.reason,
        )
        for i, (gap, p, difference) in enumerate(zip(gaps.T, p_values, differences, strict=True))
    ]


def _sum_by_input(values: Floats, layout: Layout) -> Floats:
    """Sums of `values`, of shape (n, columns), by input."""
    sums = np.zeros((layout.input_count, values.shape[1]))
    np.add.at(sums, layout.inputs, values)
    return sums


def _estimate_means(values: Floats, layout: Layout, resampling: Resampling) -> list[Estimate]:
    """The mean of each column of `values`, of shape (n, columns), with its interval; all columns share the resamples.

    Student's t interval for few inputs and without spread.
    """
    number, confidence = layout.input_count, resampling.confidence
    spread = np.ptp(values, axis=0) > 0
    if number < FEWEST_UNITS or not spread.any():
        return [mean_interval(column, layout, confidence) for column in values.T]
    sizes = np.bincount(layout.inputs).astype(np.float64)
    sums = _sum_by_input(values, layout)
    draws = resample(
        lambda weights: (weights @ sums) / (weights @ sizes)[:, None],
        [number], [True], max(sums.shape), resampling.resamples, resampling.seed,
    )  # fmt: skip
    means = np.concatenate([*draws])
    return [
        estimate_from(float(column.mean()), drawn, confidence, number)
        if varies
        else mean_interval(column, layout, confidence)
        for column, drawn, varies in zip(values.T, means.T, spread, strict=True)
    ]


def _standardise_mean(gap: Floats, layout: Layout, confidence: float) -> Estimate:
    """The mean of `gap`, of shape (n,), over its standard deviation, with a jackknife interval over inputs."""
    if np.ptp(gap) == 0:
        return Estimate.undefined(f"all differences are {gap[0]:g}: there is no spread")
    mean = float(gap.mean())
    value = mean / float(gap.std(ddof=1))
    if layout.input_count < FEWEST_UNITS:
        return Estimate(value, math.nan, math.nan, explain_few("inputs", layout.input_count))
    sizes, sums, squares = (np.bincount(layout.inputs, x) for x in (np.ones(len(gap)), gap - mean, (gap - mean) ** 2))
    left, total = len(gap) - sizes, -sums  # without each input; deviations add up to 0
    variance = (squares.sum() - squares - total**2 / left) / (left - 1)
    known = variance > 1e-24 * squares.max()
    spread = np.sqrt(np.where(known, variance, np.nan))
    return estimate_left_out(value, (mean + total / left) / spread, confidence)
