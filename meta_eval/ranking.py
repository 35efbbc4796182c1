"""Which metric agrees best with the ratings of an aspect: a ranking, and a test of every pair of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal, Self

import numpy as np

from core.settings import Count, Fraction, checked_dataclass
from meta_eval.agreement import CHEAP_CUES
from meta_eval.bootstrap import Estimate, Mask
from meta_eval.correlation import CORRELATIONS, Floats
from meta_eval.grouping import Grouping, Layout, explain_undefined, find_common, group, restrict
from meta_eval.intervals import Draws, Resampling, draw_grouped, estimate_grouped
from meta_eval.permutation import Statistic, permutation_tests
from meta_eval.scored_set import ScoredSet
from meta_eval.step_down import clusters


@dataclass(frozen=True)
class MetricPair:
    """Whether two ranked metrics agree differently with one rated aspect, on the examples of the ranking."""

    aspect: str
    metric_a: str
    metric_b: str
    n: int
    # the statistic of metric a minus that of metric b
    difference: Estimate
    # of the permutation test: two-sided, adjusted for all pairs of the ranking; NaN if there is no test
    p_value: float
    # the metric that agrees better; a dash where the test does not separate the two
    better: str
    # why a number is NaN, or why no difference can reach the level
    reason: str | None
    statistic: Statistic
    grouping: Grouping


@dataclass(frozen=True)
class Ranking:
    """The metrics that are ranked by agreement with one aspect, on the examples that all of them scored."""

    aspect: str
    # a mask of these examples, of shape (n,)
    kept: Mask
    # of each ranked metric on them, in the statistic that is compared: with its interval, and on resamples
    agreement: Mapping[str, Estimate]
    draws: Mapping[str, Draws]
    # why each other metric is not ranked
    left_out: Mapping[str, str]
    comparison: Comparison
    # the pairs of ranked metrics, and of each of them and `cheap_cues`
    pairs: tuple[MetricPair, ...] = ()
    against_cues: tuple[MetricPair, ...] = ()


@checked_dataclass
class Comparison:
    """How metrics are compared."""

    # the correlation with the ratings
    statistic: Statistic = "spearman"
    # over all examples, or within systems or inputs, or between systems; or all of them that there are
    grouping: Literal["global", "per_system", "per_input", "system_means", "all"] = "global"
    # of the permutation test
    permutations: Count = 10_000
    # of significance, for clusters and the better one of a pair
    level: Fraction = 0.05
    # metrics whose lower scores are better; their scores are negated
    lower_is_better: Sequence[str] = ()

    @property
    def one_grouping(self) -> Grouping:
        """The grouping. Raises ValueError for all."""
        if self.grouping == "all":
            raise ValueError("grouping=all is several comparisons: expand them first")
        return self.grouping

    def expand(self, layout: Layout) -> list[Self]:
        """A comparison for each grouping."""
        groupings: list[Grouping] = list_groupings(layout) if self.grouping == "all" else [self.one_grouping]
        return [replace(self, grouping=grouping) for grouping in groupings]


def list_groupings(layout: Layout, wanted: Grouping = "global") -> list[Grouping]:
    """The groupings that the systems and inputs of the layout allow, and the wanted one."""
    found: list[Grouping] = ["global"]
    if layout.system_count > 1:
        found.extend(("per_system", "system_means"))
    if layout.input_count < len(layout.inputs):
        found.append("per_input")
    if wanted not in found:
        found.append(wanted)
    return found


def measure(
    x: Floats, y: Floats, layout: Layout, comparison: Comparison, resampling: Resampling
) -> tuple[Estimate, Draws]:
    """The statistic of scores `x` with ratings `y`, both of shape (n,), without NaN."""
    grouping = comparison.one_grouping
    of = partial(group, CORRELATIONS[comparison.statistic], x, y, layout, grouping)
    draws = draw_grouped(of, layout, resampling)
    return estimate_grouped(of, layout, grouping, resampling, draws), draws


def rank_metrics(scored: ScoredSet, aspect: str, comparison: Comparison, resampling: Resampling) -> Ranking:
    """The agreement of each metric with the ratings of the examples that all ranked metrics scored.

    A metric is left out if its correlation is undefined, or by `find_common`.
    """
    grouping, layout = comparison.one_grouping, scored.layout
    ratings, columns = scored.ratings(aspect), {name: scored.values(name, aspect) for name in scored.scores}

    def take(name: str, kept: Mask) -> tuple[Floats, Floats, Layout]:
        return columns[name][kept], ratings[kept], restrict(layout, kept)

    left_out, usable, agreement, draws = {}, [], {}, {}
    for name, values in columns.items():
        if (reason := explain_undefined(*take(name, ~np.isnan(values)), grouping)) is not None:
            left_out[name] = reason
        else:
            usable.append(name)
    is_ranked, kept = find_common(np.reshape([columns[name] for name in usable], (-1, len(scored))), usable)
    for name, is_kept in zip(usable, is_ranked, strict=True):
        if not is_kept:
            left_out[name] = "with it, too few examples would have scores of all ranked metrics"
            continue
        parts = take(name, kept)
        if (reason := explain_undefined(*parts, grouping)) is None:
            agreement[name], draws[name] = measure(*parts, comparison, resampling)
        else:
            left_out[name] = f"{reason} (of those that all ranked metrics scored)"
    return Ranking(aspect, kept, agreement, draws, left_out, comparison)


def compare_metrics(scored: ScoredSet, ranking: Ranking, resampling: Resampling) -> tuple[MetricPair, ...]:
    """Compares every pair of ranked metrics on the examples of the ranking; p-values are adjusted for all pairs."""
    return _compare(scored, ranking, [*combinations(ranking.draws, 2)], resampling)


def compare_with_cues(scored: ScoredSet, ranking: Ranking, resampling: Resampling) -> tuple[MetricPair, ...]:
    """Compares every ranked metric with the scores `cheap_cues` of the set; p-values are adjusted for these pairs.

    No pairs where the set lacks these scores, or where they do not agree by any defined number.
    """
    comparison, kept = ranking.comparison, ranking.kept
    if CHEAP_CUES not in scored.scores:
        return ()
    values = scored.values(CHEAP_CUES, ranking.aspect)[kept], scored.ratings(ranking.aspect)[kept]
    present = restrict(scored.layout, kept)
    if explain_undefined(*values, present, comparison.one_grouping) is not None:
        return ()
    _, cues = measure(*values, present, comparison, resampling)
    extended = replace(ranking, draws={**ranking.draws, CHEAP_CUES: cues})
    return _compare(scored, extended, [(name, CHEAP_CUES) for name in ranking.draws], resampling)


def _compare(
    scored: ScoredSet, ranking: Ranking, pairs: Sequence[tuple[str, str]], resampling: Resampling
) -> tuple[MetricPair, ...]:
    if not pairs:
        return ()
    comparison, aspect, kept = ranking.comparison, ranking.aspect, ranking.kept
    tests = permutation_tests(
        {name: scored.values(name, aspect)[kept] for name in ranking.draws},
        scored.ratings(aspect)[kept],
        restrict(scored.layout, kept),
        pairs=pairs,
        kind=comparison.statistic,
        grouping=comparison.one_grouping,
        permutations=comparison.permutations,
        seed=resampling.seed,
    )
    unreachable = None
    if tests.smallest >= comparison.level:
        smallest = f"the smallest p-value of these swaps is {tests.smallest:.2g}"
        unreachable = f"{smallest}, so no test can reach the level {comparison.level:g}"
    statistic, grouping, found = comparison.statistic, comparison.one_grouping, []
    for a, b in pairs:
        difference, p_value = (ranking.draws[a] - ranking.draws[b]).estimate, tests.p_values[a, b]
        better = "–" if not p_value < comparison.level else a if difference.value > 0 else b
        reason = "; ".join(filter(None, (tests.reason, unreachable, difference.reason))) or None
        found.append(MetricPair(aspect, a, b, tests.n, difference, p_value, better, reason, statistic, grouping))
    return (*found,)


def number_clusters(ranking: Ranking) -> dict[str, str]:
    """The cluster of each ranked metric (`clusters`); 1 is the best."""
    values = {name: each.value for name, each in ranking.agreement.items()}
    p_values = {(pair.metric_a, pair.metric_b): pair.p_value for pair in ranking.pairs}
    return clusters(values, p_values, ranking.comparison.level)
