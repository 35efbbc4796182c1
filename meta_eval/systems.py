"""Comparison of systems on the same inputs: means and clusters, then pair by pair.

The paired bootstrap is that of Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation". The
randomisation test is that of Riezler & Maxwell (2005), "On Some Pitfalls in Automatic Evaluation and Significance
Testing for MT": the two outputs of an input are swapped, in all ways if inputs are few, else at random. All pairs share
the swaps, and their p-values are adjusted together (`step_down`). Systems are ranked and tested on the same inputs,
those for which all of them have a score, so that the order, the pairs and the clusters agree.

Below `FEWEST_UNITS` inputs the mean has Student's t interval. The win rate has Tango's score interval, which without
ties is Wilson's. Simulated coverage is in tests/meta_eval/test_small_studies.py.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from meta_eval.bootstrap import Estimate, Floats, Indices, estimate_from, refuse_large, resample
from meta_eval.cues import Cues, difference_beyond_cues
from meta_eval.grouping import find_common, lay_out
from meta_eval.intervals import (
    FEWEST_UNITS,
    USUAL_RESAMPLING,
    Resampling,
    is_within_margin,
    mean_interval,
    share_interval,
)
from meta_eval.scored_set import ScoredSet
from meta_eval.step_down import clusters, randomisation_p
from meta_eval.ties import subtract, to_outcomes

HUMAN = "human "  # before the name of an aspect that people rated
UNCOUNTED = Estimate.undefined("cheap cues are not counted")


@dataclass(frozen=True)
class SystemComparison:
    """Two systems on the same inputs, under one metric or by one kind of rating.

    Differences are positive if a is higher.
    """

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
    """Scores and ratings of every system on every input, each of shape (systems, inputs); NaN for a missing value."""

    systems: tuple[str, ...]
    inputs: tuple[str, ...]
    # by metric and by rated aspect
    scores: Mapping[str, Floats]
    ratings: Mapping[str, Floats]
    # the index of the example of each system and input; -1 where there is none
    places: Indices

    @property
    def columns(self) -> dict[str, Floats]:
        """Scores by metric, and ratings as `human ASPECT`."""
        by_people = {f"{HUMAN}{aspect}": values for aspect, values in self.ratings.items()}
        return {**self.scores, **by_people}


def lay_grid(scored: ScoredSet) -> Grid:
    """Arranges scores and ratings as matrices; every example names its system and its input.

    Inputs are sorted by name, so that the order of rows does not change which inputs are swapped at random.
    """
    inputs = list_inputs(scored)
    order = sorted(range(len(inputs)), key=lambda i: inputs[i])

    def lay(values: Floats) -> Floats:
        return scored.layout.to_grid(values)[:, order]

    numbers = lay(np.arange(len(scored), dtype=np.float64))
    return Grid(
        systems=(*dict.fromkeys(scored.systems or ()),),
        inputs=tuple(inputs[i] for i in order),
        scores={name: lay(scored.values(name, "")) for name in scored.scores},
        ratings={aspect: lay(scored.ratings(aspect)) for aspect in scored.aspects},
        places=np.nan_to_num(numbers, nan=-1).astype(np.intp),
    )


def list_inputs(scored: ScoredSet) -> list[str]:
    """Lists the names of the inputs in the order of their numbers."""
    name_of = dict(zip(scored.layout.inputs.tolist(), scored.groups or (), strict=True))
    return [name_of[number] for number in range(len(name_of))]


def compare_pairs(
    systems: Sequence[str],
    values: Floats,
    resampling: Resampling = USUAL_RESAMPLING,
    permutations: int = 10_000,
    margin: float | None = None,
    level: float = 0.05,
) -> Pairs:
    """Compares every pair of systems. `values` have the shape (systems, inputs), NaN for a missing value.

    All pairs are compared on the inputs that `find_common` keeps, and their p-values are adjusted together. With a
    `margin`, two systems count as equal if the interval of their difference lies inside the margin
    (`is_within_margin`), at `level` divided by the number of pairs. Raises ValueError for infinite or too large scores.
    """
    refuse_large("scores", values)
    kept, common_inputs = find_common(values, systems)
    names = [systems[row] for row in np.flatnonzero(kept).tolist()]
    scores = values[np.ix_(kept, common_inputs)]
    n = scores.shape[1]
    tested = [*combinations(names, 2)]
    nothing = _compare_nothing("a system has scores for too few inputs in common with the others")
    comparisons = dict.fromkeys(combinations(systems, 2), nothing)
    if n < 2:
        reason = f"a comparison needs at least 2 inputs that both systems have a score for, but there are {n}"
        return comparisons | dict.fromkeys(tested, _compare_nothing(reason, n))
    if not tested:
        return comparisons
    first, second = np.triu_indices(len(scores), 1)
    gaps = subtract(scores[first], scores[second])  # (pairs, inputs)
    p_values = randomisation_p(gaps.T, permutations, resampling.seed)
    differences = _estimate_means(gaps, resampling)
    for i, pair in enumerate(tested):
        is_equal = None
        if margin is not None:
            is_equal = is_within_margin(
                gaps[i],
                margin,
                level,
                tests=len(tested),
                largest=_bound_difference(scores[first[i]], scores[second[i]]),
            )
        comparisons[pair] = SystemComparison(
            n=n,
            difference=differences[i],
            win_rate=share_interval(to_outcomes(gaps[i]), lay_out(n)),
            wins=int((gaps[i] > 0).sum()),
            ties=int((gaps[i] == 0).sum()),
            losses=int((gaps[i] < 0).sum()),
            p_value=float(p_values[i]),
            is_equal=is_equal,
            reason=differences[i].reason,
        )
    return comparisons


def leave_out_incomplete(
    systems: Sequence[str],
    values: Floats,
    compare: Callable[[Floats], Pairs],
    level: float = 0.05,
) -> tuple[Floats, dict[str, tuple[str, str]]]:
    """Leaves out systems whose missing scores change the result for other systems; names a changed pair for each.

    A system with missing scores removes inputs from all comparisons. It stays only if the tests separate the same pairs
    of other systems on two sets of inputs: those that remain, and all inputs for which the other systems have scores.
    `compare` compares the pairs of such values. The values of a system that is left out become NaN.
    """
    left_out: dict[str, tuple[str, str]] = {}
    while True:
        misleading = _find_misleading(systems, values, compare, level)
        if misleading is None:
            return values, left_out
        row, changed_pair = misleading
        left_out[systems[row]] = changed_pair
        values = _leave_out(values, row)


def _find_misleading(
    systems: Sequence[str],
    values: Floats,
    compare: Callable[[Floats], Pairs],
    level: float,
) -> tuple[int, tuple[str, str]] | None:
    """The row of the first system by name whose missing scores change a verdict, and the pair; else None."""
    rows, common_inputs = find_common(values, systems)
    by_name = sorted(np.flatnonzero(rows).tolist(), key=lambda row: systems[row])
    for row in by_name:
        others = _leave_out(values, row)
        other_rows, their_inputs = find_common(others, systems)
        if other_rows.sum() < 2 or their_inputs.sum() == common_inputs.sum():
            continue
        on_theirs = compare(others)
        on_common = compare(np.where(common_inputs, others, np.nan))
        for pair, comparison in on_theirs.items():
            if _find_verdict(comparison, level) != _find_verdict(on_common[pair], level):
                return row, pair
    return None


def _leave_out(values: Floats, row: int) -> Floats:
    """The values without the scores of one system."""
    others = values.copy()
    others[row] = np.nan
    return others


def _find_verdict(comparison: SystemComparison, level: float) -> float:
    """1 or -1 where the tests separate a pair, else 0."""
    if not comparison.p_value < level:
        return 0.0
    return float(np.sign(comparison.difference.value))


def add_beyond_cues(
    pairs: Pairs,
    grid: Grid,
    scores: Floats,
    cues: Cues,
) -> Pairs:
    """Adds to comparisons by `scores`, laid out as the grid, the part of each difference that cues do not explain.

    `cues` are those of the examples that the grid was made from, as `add_normal_scores` returns them.
    """
    _, common_inputs = find_common(scores, grid.systems)
    row_of = {system: row for row, system in enumerate(grid.systems)}

    def take_cues(system: str) -> Cues:
        examples = grid.places[row_of[system], common_inputs]
        return Cues(cues.names, cues.values[examples])

    extended = dict(pairs)
    for (a, b), comparison in pairs.items():
        if not comparison.n:
            continue
        differences = scores[row_of[a]] - scores[row_of[b]]
        beyond_cues = difference_beyond_cues(
            differences[common_inputs],
            first=take_cues(a),
            second=take_cues(b),
        )
        extended[a, b] = replace(comparison, beyond_cues=beyond_cues)
    return extended


def rank_systems(
    systems: Sequence[str],
    values: Floats,
    pairs: Pairs,
    level: float = 0.05,
    resampling: Resampling = USUAL_RESAMPLING,
) -> list[SystemMean]:
    """Ranks systems by their means, with clusters by the p-values of `pairs`; systems that were left out come last.

    Means are over the inputs that `find_common` keeps, so that a system that could not be scored on hard inputs has no
    advantage.
    """
    kept, common_inputs = find_common(values, systems)
    names = [systems[row] for row in np.flatnonzero(kept).tolist()]
    means: dict[str, Estimate] = {}
    if names:
        common = values[np.ix_(kept, common_inputs)]
        means = dict(zip(names, _estimate_means(common, resampling), strict=True))
    mean_values = {name: mean.value for name, mean in means.items()}
    p_values = {pair: comparison.p_value for pair, comparison in pairs.items()}
    n = int(common_inputs.sum())
    ranked = []
    for name, cluster in clusters(mean_values, p_values, level).items():
        ranked.append(SystemMean(name, n, means[name], cluster))
    nothing = Estimate.undefined("too few inputs have a score of this system and of the others")
    unranked = [SystemMean(name, 0, nothing, "–") for name in systems if name not in means]
    return ranked + unranked


def _bound_difference(first: Floats, second: Floats) -> float:
    """The largest difference of scores that are only two numbers, such as 0 and 1; 0 for others.

    A constant may be one of two numbers, of which the other one is 0.
    """
    values = np.unique(np.stack([first, second]))
    if len(values) == 1:
        return abs(float(values[0]))
    if len(values) == 2:
        return float(np.ptp(values))
    return 0.0


def _compare_nothing(reason: str, n: int = 0) -> SystemComparison:
    none = Estimate.undefined(reason)
    return SystemComparison(
        n=n,
        difference=none,
        win_rate=none,
        wins=0,
        ties=0,
        losses=0,
        p_value=math.nan,
        reason=reason,
    )


def _estimate_means(values: Floats, resampling: Resampling) -> list[Estimate]:
    """The mean of each row of `values`, of shape (rows, inputs), with its interval; all rows share the resamples.

    Student's t interval for few inputs and without spread.
    """
    n = values.shape[1]
    varies = np.ptp(values, axis=1) > 0
    if n < FEWEST_UNITS or not varies.any():
        return [mean_interval(row) for row in values]

    def average(weights: Floats) -> Floats:
        return weights @ values.T / n

    drawn_means = resample(
        average,
        n,
        max(values.shape),
        resamples=resampling.resamples,
        seed=resampling.seed,
    )
    estimates = []
    for i, row in enumerate(values):
        if varies[i]:
            estimates.append(estimate_from(float(row.mean()), drawn_means[:, i], n))
        else:
            estimates.append(mean_interval(row))
    return estimates
