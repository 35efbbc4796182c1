"""Comparison of systems on the same inputs: means and clusters, then pair by pair.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation", for the paired bootstrap; Riezler &
Maxwell (2005), "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT", for randomisation, which
swaps the two outputs of an input: all swaps of few inputs, random swaps of many.

Below `FEWEST_UNITS` inputs the mean has Student's t interval, and there is no bootstrap p-value and no interval for the
effect. The win rate has Tango's score interval, which is Wilson's where nothing ties. Simulated coverage is in
tests/meta_eval/test_null_simulations.py.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from itertools import permutations as list_orders

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meta_eval.bootstrap import BATCH, Estimate, Floats, estimate_from, explain_few, resample, to_columns
from meta_eval.cues import Cues, difference_beyond_cues
from meta_eval.grouping import Layout, lay_out
from meta_eval.intervals import (
    FEWEST_UNITS,
    Draws,
    Resampling,
    bootstrap_p_value,
    estimate_left_out,
    mean_interval,
    share_interval,
)
from meta_eval.scored_set import ScoredSet
from meta_eval.significance import clusters, holm

MOST_ENUMERATED = 15  # inputs (or groups) whose swaps are all counted: 2**15
MOST_ORDERED = 7  # systems whose orders are all counted: 7! = 5040
ORDERS = 10_000  # drawn of more systems
HUMAN = "human "  # before the name of an aspect that people rated
UNCOUNTED = Estimate.undefined("cheap cues are not counted")


@dataclass(frozen=True)
class SystemComparison:
    """Two systems on the same inputs, under one metric or by one kind of rating. Positive where a is higher.

    Attributes:
        n: number of inputs for which both systems have a score.
        missing: number of inputs left out because a score is NaN.
        difference: the mean of a - b.
        effect: the mean of a - b divided by its standard deviation (Cohen's d for pairs).
        win_rate: the share of inputs on which a is higher; ties count half.
        wins, ties, losses: numbers of inputs on which a is higher, equal, lower.
        randomisation_p: two-sided p of randomisation: exact up to `MOST_ENUMERATED` inputs, then (b + 1)/(m + 1).
        bootstrap_p: two-sided p of the paired bootstrap; NaN below `FEWEST_UNITS` inputs, or if all differences are
            equal.
        holm: `randomisation_p`, adjusted for all pairs; NaN for a pair alone.
        beyond_cues: the part of `difference` that cheap cues do not explain.
        reason: why the difference or its interval is NaN, else None.
    """

    n: int
    missing: int
    difference: Estimate
    effect: Estimate
    win_rate: Estimate
    wins: int
    ties: int
    losses: int
    randomisation_p: float
    bootstrap_p: float
    holm: float = math.nan
    beyond_cues: Estimate = UNCOUNTED
    reason: str | None = None


Pairs = Mapping[tuple[str, str], SystemComparison]


@dataclass(frozen=True)
class SystemMean:
    """The mean of a system under one metric or by one kind of rating.

    Attributes:
        n: the inputs for which every system has a score; the mean is over them.
        cluster: as `clusters` numbers them; a dash without a mean.
    """

    system: str
    n: int
    mean: Estimate
    cluster: str


@dataclass(frozen=True)
class SystemAgreement:
    """How far a metric orders systems as people do, by their means over the inputs that all are scored and rated for.

    Attributes:
        systems, inputs: their numbers.
        kendall, spearman, accuracy: of the means; intervals over inputs hold for these systems.
        by_chance: the share of all orders of the systems whose Kendall is at least as high.
    """

    metric: str
    aspect: str
    systems: int
    inputs: int
    kendall: Estimate
    spearman: Estimate
    accuracy: Estimate
    by_chance: float


@dataclass(frozen=True, eq=False)
class Grid:
    """Scores and ratings of every system on every input, of shape (systems, inputs); a missing one is NaN.

    Attributes:
        scores, ratings: by metric and by rated aspect.
        places: the index of the example of each system and input; -1 where there is none.
    """

    systems: tuple[str, ...]
    inputs: tuple[str, ...]
    scores: Mapping[str, Floats]
    ratings: Mapping[str, Floats]
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
    gap = a - b
    kept = ~np.isnan(gap)
    named = None if groups is None else [name for name, keep in zip(groups, kept, strict=True) if keep]
    layout = lay_out(int(kept.sum()), inputs=named)
    (found,) = _compare_gaps(gap[kept, None], layout, resampling or Resampling(), permutations)
    return replace(found, missing=int((~kept).sum()))


def compare_pairs(
    systems: Sequence[str], values: Floats, resampling: Resampling | None = None, permutations: int = 10_000
) -> Pairs:
    """Compares every pair of systems; `values` have the shape (systems, inputs), NaN where one is missing.

    Each pair is compared on the inputs for which both have a score. p-values are adjusted for all pairs (Holm).
    """
    first, second = np.triu_indices(len(systems), 1)
    gaps = values[first] - values[second]
    found: dict[int, SystemComparison] = {}
    for kept, together in _share_inputs(gaps).items():
        at = np.frombuffer(kept, dtype=np.bool_)
        compared = _compare_gaps(
            gaps[together][:, at].T, lay_out(int(at.sum())), resampling or Resampling(), permutations
        )
        found |= {i: replace(each, missing=int((~at).sum())) for i, each in zip(together, compared, strict=True)}
    adjusted = holm([found[i].randomisation_p for i in range(len(gaps))])
    return {pair: replace(found[i], holm=float(adjusted[i])) for i, pair in enumerate(combinations(systems, 2))}


def add_beyond_cues(pairs: Pairs, grid: Grid, name: str, cues: Cues, confidence: float = 0.95) -> Pairs:
    """The comparisons by one column of the grid, with the part of each difference that cheap cues do not explain.

    `cues` are those of the examples that the grid was laid from, as `add_normal_scores` gives them.
    """
    values = dict(zip(grid.systems, grid.columns[name], strict=True))
    cells = dict(zip(grid.systems, cues.values[grid.places], strict=True))

    def measure(a: str, b: str) -> Estimate:
        gap = values[a] - values[b]
        kept = ~np.isnan(gap)
        first, second = (Cues(cues.names, cells[system][kept]) for system in (a, b))
        return difference_beyond_cues(gap[kept], first, second, confidence=confidence)

    return {(a, b): replace(each, beyond_cues=measure(a, b)) for (a, b), each in pairs.items()}


def rank_systems(
    systems: Sequence[str], values: Floats, pairs: Pairs, level: float = 0.05, resampling: Resampling | None = None
) -> list[SystemMean]:
    """The mean of each system with its cluster by Holm's p-values of `pairs`, best first.

    Means are over the inputs for which every system has a value, so that a system that could not be scored on hard
    inputs gains nothing. Without such inputs the means are undefined, and the systems stay in their order.
    """
    complete = ~np.isnan(values).any(axis=0)
    n = int(complete.sum())
    if n == 0:
        none = Estimate.undefined("no input has a score of every system")
        return [SystemMean(name, 0, none, "–") for name in systems]
    means = [mean for mean, _ in _estimate_means(values[:, complete].T, lay_out(n), resampling or Resampling())]
    by_system = dict(zip(systems, means, strict=True))
    p_values = {pair: each.holm for pair, each in pairs.items()}
    cluster = clusters({name: mean.value for name, mean in by_system.items()}, p_values, level)
    return [SystemMean(name, n, by_system[name], number) for name, number in cluster.items()]


def compare_orders(grid: Grid, metric: str, aspect: str, resampling: Resampling | None = None) -> SystemAgreement:
    """How far a metric orders the systems as the ratings of an aspect do."""
    settings = resampling or Resampling()
    scores, ratings = grid.scores[metric], grid.ratings[aspect]
    complete = ~np.isnan(scores + ratings).any(axis=0)
    scores, ratings = scores[:, complete], ratings[:, complete]
    k, n = scores.shape
    if k < 3 or n == 0:
        rule = "an order needs at least 3 systems and an input where all are scored and rated"
        none = Estimate.undefined(f"{rule}, but there are {k} and {n}")
        return SystemAgreement(metric, aspect, k, n, none, none, none, math.nan)

    def agree(weights: Floats) -> Floats:
        return compare_means(weights @ scores.T, weights @ ratings.T)

    values, found = agree(np.ones((1, n)))[0], []
    draws = (
        [*resample(agree, [n], [True], max(k * k, n), settings.resamples, settings.seed)] if n >= FEWEST_UNITS else []
    )
    for i, value in enumerate(values):
        if math.isnan(value):
            found.append(Estimate.undefined("all means are equal"))
        elif not draws:
            found.append(Estimate(float(value), math.nan, math.nan, explain_few("inputs", n)))
        else:
            found.append(estimate_from(float(value), np.concatenate(draws)[:, i], settings.confidence, n))
    chance = orders_by_chance(scores.sum(axis=1), ratings.sum(axis=1), settings.seed)
    return SystemAgreement(metric, aspect, k, n, *found, by_chance=chance)


def compare_means(x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b, Spearman's rho and pairwise accuracy of each row of x with that of y, of shape (rows, 3).

    Both have the shape (rows, systems). Accuracy counts a tie as right where both tie. NaN for equal values.
    """
    first, second = np.triu_indices(x.shape[1], 1)
    of_x, of_y = (np.sign(each[:, first] - each[:, second]) for each in (x, y))
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


def randomisation_p(differences: Floats, permutations: int, seed: int) -> Floats:
    """Two-sided p-values of paired `differences`, of shape (n,) or (n, pairs), by sign flips; of shape () or (pairs,).

    Up to `MOST_ENUMERATED` differences they are exact: the share of all sign patterns whose sum is at least as large.
    For more they are (b + 1)/(m + 1) of m = `permutations` random patterns, which all pairs share.
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, but is {permutations}")
    n, total = len(differences), differences.sum(axis=0)
    # tolerance: the order of a sum changes its rounding
    observed = abs(total) - 1e-10 * np.abs(differences).sum(axis=0)
    if n <= MOST_ENUMERATED:
        sums = np.zeros((1, *total.shape))  # of every subset
        for each in differences:
            sums = np.concatenate([sums, sums + each])
        return (np.abs(2 * sums - total) >= observed).mean(axis=0)
    rng, batch = np.random.default_rng(seed), max(1, BATCH // (n + total.size))
    beyond = np.zeros(total.shape, dtype=np.intp)
    for start in range(0, permutations, batch):
        kept = rng.integers(0, 2, (min(batch, permutations - start), n), dtype=np.int8)
        beyond += (np.abs(2 * (kept @ differences) - total) >= observed).sum(axis=0)
    return (beyond + 1) / (permutations + 1)


def _share_inputs(gaps: Floats) -> dict[bytes, list[int]]:
    """The rows of `gaps` by the mask of their known values."""
    found: dict[bytes, list[int]] = {}
    for i, known in enumerate(~np.isnan(gaps)):
        found.setdefault(known.tobytes(), []).append(i)
    return found


def _compare_gaps(gaps: Floats, layout: Layout, resampling: Resampling, permutations: int) -> list[SystemComparison]:
    """The comparison of each pair from its differences, of shape (n, pairs)."""
    n = len(gaps)
    wins, ties, losses = ([int(count) for count in at.sum(axis=0)] for at in (gaps > 0, gaps == 0, gaps < 0))
    if n < 2:
        reason = f"a comparison needs at least 2 inputs that both systems have a score for, but there are {n}"
        none = Estimate.undefined(reason)
        nothing = SystemComparison(n, 0, none, none, none, 0, 0, 0, math.nan, math.nan, reason=reason)
        return [replace(nothing, wins=w, ties=t, losses=x) for w, t, x in zip(wins, ties, losses, strict=True)]
    sums = _sum_by_input(gaps, layout)
    p_values = randomisation_p(sums, permutations, resampling.seed)
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
            randomisation_p=float(p),
            bootstrap_p=bootstrap_p,
            reason=difference.reason,
        )
        for i, (gap, p, (difference, bootstrap_p)) in enumerate(zip(gaps.T, p_values, differences, strict=True))
    ]


def _sum_by_input(values: Floats, layout: Layout) -> Floats:
    """Sums of `values`, of shape (n, columns), by input."""
    sums = np.zeros((layout.input_count, values.shape[1]))
    np.add.at(sums, layout.inputs, values)
    return sums


def _estimate_means(values: Floats, layout: Layout, resampling: Resampling) -> list[tuple[Estimate, float]]:
    """The mean of each column of `values`, of shape (n, columns), with its interval and bootstrap p-value.

    All columns share the resamples. Student's t interval and no p-value for few inputs and without spread.
    """
    number, confidence = layout.input_count, resampling.confidence
    spread = np.ptp(values, axis=0) > 0
    if number < FEWEST_UNITS or not spread.any():
        return [(mean_interval(column, layout, confidence), math.nan) for column in values.T]
    sizes = np.bincount(layout.inputs).astype(np.float64)
    sums = _sum_by_input(values, layout)
    draws = resample(
        lambda weights: (weights @ sums) / (weights @ sizes)[:, None],
        [number], [True], max(sums.shape), resampling.resamples, resampling.seed,
    )  # fmt: skip
    means, left_out = np.concatenate([*draws]), (sums.sum(axis=0) - sums) / (sizes.sum() - sizes)[:, None]
    found = []
    for j, column in enumerate(values.T):
        if not spread[j]:
            found.append((mean_interval(column, layout, confidence), math.nan))
            continue
        drawn = Draws(float(column.mean()), means[:, j], left_out[:, j], number, resampling)
        found.append((drawn.estimate, bootstrap_p_value(drawn.values, number)))
    return found


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
