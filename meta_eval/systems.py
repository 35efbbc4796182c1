"""Comparison of systems on the same inputs: means and clusters, then pair by pair.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation", for the paired bootstrap; Riezler &
Maxwell (2005), "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT", for randomisation, which
swaps the two outputs of an input: all swaps of few inputs, random swaps of many. All pairs share the swaps, and their
p-values are adjusted together (`step_down`). Systems are ranked and tested on the same inputs, those that all of them
have a score for, so that the order, the pairs and the clusters agree.

Below `FEWEST_UNITS` inputs the mean has Student's t interval. The win rate has Tango's score interval, which is
Wilson's where nothing ties. Simulated coverage is in tests/meta_eval/test_small_studies.py.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from meta_eval.bootstrap import Estimate, Floats, Indices, estimate_from, refuse_large, resample
from meta_eval.cues import Cues, difference_beyond_cues
from meta_eval.grouping import find_common, lay_out
from meta_eval.intervals import FEWEST_UNITS, USUAL, Resampling, is_within_margin, mean_interval, share_interval
from meta_eval.scored_set import ScoredSet
from meta_eval.step_down import clusters, randomisation_p
from meta_eval.ties import subtract, to_outcomes

HUMAN = "human "  # before the name of an aspect that people rated
UNCOUNTED = Estimate.undefined("cheap cues are not counted")


@dataclass(frozen=True)
class SystemComparison:
    """Two systems on the same inputs, under one metric or by one kind of rating. Positive where a is higher."""

    # inputs that are compared
    n: int
    difference: Estimate
    # the share of inputs on which a is higher; ties count half
    win_rate: Estimate
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


@dataclass(frozen=True, eq=False)
class Grid:
    """Scores and ratings of every system on every input, of shape (systems, inputs); a missing one is NaN."""

    systems: tuple[str, ...]
    inputs: tuple[str, ...]
    # by metric and by rated aspect
    scores: Mapping[str, Floats]
    ratings: Mapping[str, Floats]
    # the index of the example of each system and input; -1 where there is none
    places: Indices

    @property
    def columns(self) -> dict[str, Floats]:
        """Scores, then ratings as one more kind of score: `human ASPECT`."""
        return {**self.scores, **{f"{HUMAN}{aspect}": values for aspect, values in self.ratings.items()}}


def lay_grid(scored: ScoredSet) -> Grid:
    """Scores and ratings as matrices; every example names its system and its input.

    Inputs are in the order of their names: the same random swaps meet the same inputs in any order of rows.
    """
    layout = scored.layout
    systems, given = (tuple(dict.fromkeys(names or ())) for names in (scored.systems, scored.groups))
    order = sorted(range(len(given)), key=lambda i: given[i])
    inputs = tuple(given[i] for i in order)
    scores = {name: layout.to_grid(scored.values(name, ""))[:, order] for name in scored.scores}
    ratings = {aspect: layout.to_grid(scored.ratings(aspect))[:, order] for aspect in scored.aspects}
    numbers = layout.to_grid(np.arange(len(scored), dtype=np.float64))[:, order]
    places = np.nan_to_num(numbers, nan=-1).astype(np.intp)
    return Grid(systems, inputs, scores, ratings, places)


def compare_pairs(
    systems: Sequence[str],
    values: Floats,
    resampling: Resampling = USUAL,
    permutations: int = 10_000,
    margin: float | None = None,
    level: float = 0.05,
) -> Pairs:
    """Compares every pair of systems; `values` have the shape (systems, inputs), NaN where one is missing.

    All pairs are compared on the inputs that `find_common` keeps, and their p-values are adjusted together. With a
    `margin`, two systems are equal within it at `level`, divided by the number of pairs, where the interval of their
    difference lies inside (`is_within_margin`). Raises ValueError for infinite or too large scores.
    """
    refuse_large("scores", values)
    kept, at = find_common(values, systems)
    scores, n = values[np.ix_(kept, at)], int(at.sum())
    places = [*combinations(np.flatnonzero(kept).tolist(), 2)]
    nothing = _compare_nothing("a system has scores for too few inputs in common with the others")
    found = dict.fromkeys(combinations(range(len(systems)), 2), nothing)
    if n < 2:
        reason = f"a comparison needs at least 2 inputs that both systems have a score for, but there are {n}"
        found |= dict.fromkeys(places, _compare_nothing(reason, n))
    elif places:
        first, second = np.triu_indices(len(scores), 1)
        gaps = subtract(scores[first], scores[second])
        p_values = randomisation_p(gaps.T, permutations, resampling.seed)
        largest = [_bound_difference(pair) for pair in zip(scores[first], scores[second], strict=True)]
        gains = _estimate_means(gaps, resampling)
        for place, gap, p, gain, most in zip(places, gaps, p_values, gains, largest, strict=True):
            found[place] = SystemComparison(
                n,
                difference=gain,
                win_rate=share_interval(to_outcomes(gap), lay_out(n)),
                wins=int((gap > 0).sum()),
                ties=int((gap == 0).sum()),
                losses=int((gap < 0).sum()),
                p_value=float(p),
                is_equal=None if margin is None else is_within_margin(gap, margin, level, len(places), most),
                reason=gain.reason,
            )
    return {(systems[i], systems[j]): each for (i, j), each in found.items()}


def leave_out_incomplete(
    systems: Sequence[str], values: Floats, compare: Callable[[Floats], Pairs], level: float = 0.05
) -> tuple[Floats, dict[str, tuple[str, str]]]:
    """The values without systems whose missing scores change the verdict on others, and a pair on which it changes.

    A system that lacks scores takes inputs from all comparisons. It stays only if the others have the same verdicts on
    the inputs that remain as on all inputs that they have scores for. `compare` gives the pairs of such values; those
    of a system that is left out are NaN.
    """
    left_out: dict[str, tuple[str, str]] = {}
    while True:
        rows, columns = find_common(values, systems)
        changed = None
        for row in sorted(np.flatnonzero(rows).tolist(), key=lambda row: systems[row]):
            without = values.copy()
            without[row] = np.nan
            rest, wider = find_common(without, systems)
            if rest.sum() < 2 or wider.sum() == columns.sum():
                continue
            on_all = compare(without)
            on_common = compare(np.where(columns, without, np.nan))
            changed = next(
                (pair for pair in on_all if _verdict(on_all, pair, level) != _verdict(on_common, pair, level)), None
            )
            if changed is not None:
                left_out[systems[row]] = changed
                values = without
                break
        if changed is None:
            return values, left_out


def _verdict(pairs: Pairs, pair: tuple[str, str], level: float) -> float:
    """1 or -1 where the tests separate a pair, else 0."""
    found = pairs[pair]
    return float(np.sign(found.difference.value)) if found.p_value < level else 0.0


def add_beyond_cues(pairs: Pairs, grid: Grid, scores: Floats, cues: Cues) -> Pairs:
    """The comparisons by scores in the form of the grid, with the part of each difference that cues do not explain.

    `cues` are those of the examples that the grid was laid from, as `add_normal_scores` gives them.
    """
    values = dict(zip(grid.systems, scores, strict=True))
    cells = dict(zip(grid.systems, cues.values[grid.places], strict=True))
    _, kept = find_common(scores, grid.systems)

    def measure(a: str, b: str) -> Estimate:
        first, second = (Cues(cues.names, cells[system][kept]) for system in (a, b))
        return difference_beyond_cues((values[a] - values[b])[kept], first, second)

    return {(a, b): replace(each, beyond_cues=measure(a, b)) if each.n else each for (a, b), each in pairs.items()}


def rank_systems(
    systems: Sequence[str], values: Floats, pairs: Pairs, level: float = 0.05, resampling: Resampling = USUAL
) -> list[SystemMean]:
    """The mean of each system with its cluster by the p-values of `pairs`, best first, then those left out.

    Means are over the inputs that `find_common` keeps, so that a system that could not be scored on hard inputs gains
    nothing.
    """
    kept, at = find_common(values, systems)
    names = [name for name, is_kept in zip(systems, kept, strict=True) if is_kept]
    means = dict(zip(names, _estimate_means(values[np.ix_(kept, at)], resampling) if names else (), strict=True))
    by_name = {name: mean.value for name, mean in means.items()}
    cluster = clusters(by_name, {pair: each.p_value for pair, each in pairs.items()}, level)
    found = [SystemMean(name, int(at.sum()), means[name], number) for name, number in cluster.items()]
    nothing = Estimate.undefined("too few inputs have a score of this system and of the others")
    return found + [SystemMean(name, 0, nothing, "–") for name in systems if name not in means]


def _bound_difference(pair: tuple[Floats, Floats]) -> float:
    """The largest difference of scores that are only two numbers, such as 0 and 1; 0 for others.

    A constant may be one of two numbers, of which the other one is 0.
    """
    values = np.unique(np.stack(pair))
    if len(values) == 1:
        return abs(float(values[0]))
    return float(np.ptp(values)) if len(values) == 2 else 0.0


def _compare_nothing(reason: str, n: int = 0) -> SystemComparison:
    none = Estimate.undefined(reason)
    return SystemComparison(n, none, none, 0, 0, 0, math.nan, reason=reason)


def _estimate_means(values: Floats, resampling: Resampling) -> list[Estimate]:
    """The mean of each row of `values`, of shape (rows, inputs), with its interval; all rows share the resamples.

    Student's t interval for few inputs and without spread.
    """
    n, spread = values.shape[1], np.ptp(values, axis=1) > 0
    if n < FEWEST_UNITS or not spread.any():
        return [mean_interval(row) for row in values]
    means = resample(
        lambda weights: weights @ values.T / n, n, max(values.shape), resampling.resamples, resampling.seed
    )
    return [
        estimate_from(float(row.mean()), drawn, n) if varies else mean_interval(row)
        for row, drawn, varies in zip(values, means.T, spread, strict=True)
    ]
