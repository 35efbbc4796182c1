"""Comparison of systems on the same inputs: means and clusters, then pair by pair.

The randomisation test is that of Riezler & Maxwell (2005), "On Some Pitfalls in Automatic Evaluation and Significance
Testing for MT": the two outputs of an input are swapped, in all ways if inputs are few, else at random. All pairs share
the swaps, and their p-values are adjusted together (`Estimates.test`). Systems are ranked and tested on the same
inputs, those for which all of them have a score, so that the order, the pairs and the clusters agree.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from meta_eval.design import Floats, Indices, find_common, lay_out, refuse_large
from meta_eval.estimates import Estimate, clusters, estimate_mean, estimate_share
from meta_eval.scored_set import ScoredSet
from meta_eval.ties import subtract, to_outcomes

HUMAN = "human "  # before the name of an aspect that people rated


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
    # two-sided, of randomisation, adjusted for all pairs: exact up to `ENUMERATED` inputs
    p_value: float
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
    seed: int = 0,
) -> Pairs:
    """Compares every pair of systems. `values` have the shape (systems, inputs), NaN for a missing value.

    All pairs are compared on the inputs that `find_common` keeps, and their p-values are adjusted together. Raises
    ValueError for infinite or too large scores.
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
    layout = lay_out(n)
    differences = estimate_mean(gaps.T, layout)
    p_values = differences.test(seed).tolist()
    win_rates = estimate_share(to_outcomes(gaps.T), layout).show()
    wins = (gaps > 0).sum(axis=1).tolist()
    losses = (gaps < 0).sum(axis=1).tolist()
    for i, (pair, difference) in enumerate(zip(tested, differences.show(), strict=True)):
        comparisons[pair] = SystemComparison(
            n=n,
            difference=difference,
            win_rate=win_rates[i],
            wins=wins[i],
            ties=n - wins[i] - losses[i],
            losses=losses[i],
            p_value=p_values[i],
            reason=difference.reason,
        )
    return comparisons


def rank_systems(
    systems: Sequence[str],
    values: Floats,
    pairs: Pairs,
    level: float = 0.05,
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
        means = dict(zip(names, estimate_mean(common.T, lay_out(common.shape[1])).show(), strict=True))
    mean_values = {name: mean.value for name, mean in means.items()}
    p_values = {pair: comparison.p_value for pair, comparison in pairs.items()}
    n = int(common_inputs.sum())
    ranked = []
    for name, cluster in clusters(mean_values, p_values, level).items():
        ranked.append(SystemMean(name, n, means[name], cluster))
    nothing = Estimate.undefined("too few inputs have a score of this system and of the others")
    unranked = [SystemMean(name, 0, nothing, "–") for name in systems if name not in means]
    return ranked + unranked


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
