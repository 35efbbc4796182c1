"""Ranks metrics by their agreement with the ratings of an aspect, and tests every pair of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, Self

import numpy as np

from core.settings import Fraction, checked_dataclass
from meta_eval.agreement import CHEAP_CUES
from meta_eval.correlation import CORRELATIONS
from meta_eval.design import Floats, Grouping, Layout, Mask, find_common, restrict
from meta_eval.estimates import Estimate, clusters, smallest_p
from meta_eval.grouping import estimate_correlations, explain_undefined
from meta_eval.permuted import FEWEST_FOR_FLIPS, UNTESTABLE, Kind, swap_metrics
from meta_eval.scored_set import ScoredSet


@dataclass(frozen=True)
class MetricPair:
    """Whether two ranked metrics agree differently with one rated aspect, on the examples of the ranking."""

    aspect: str
    metric_a: str
    metric_b: str
    n: int
    # the statistic of metric a minus that of metric b
    difference: Estimate
    # of flips or swaps of inputs: two-sided, adjusted for all pairs of the ranking; NaN if there is no test
    p_value: float
    # the metric that agrees better; a dash where the test does not separate the two
    better: str
    # why a number is NaN, or why no difference can reach the level
    reason: str | None
    statistic: Kind
    grouping: Grouping


@dataclass(frozen=True)
class Ranking:
    """The metrics that are ranked by agreement with one aspect, on the examples that all of them scored."""

    aspect: str
    # a mask of these examples, of shape (n,)
    kept: Mask
    # of each ranked metric on them, in the statistic that is compared
    agreement: Mapping[str, Estimate]
    # why each other metric is not ranked
    left_out: Mapping[str, str]
    comparison: RankingSettings
    # the pairs of ranked metrics, and of each of them and `cheap_cues`
    pairs: tuple[MetricPair, ...] = ()
    against_cues: tuple[MetricPair, ...] = ()


@checked_dataclass
class RankingSettings:
    """The settings by which metrics are compared."""

    # the correlation with the ratings
    statistic: Kind = "spearman"
    # over all examples, or within systems or inputs, or between systems; or all of them that there are
    grouping: Literal["global", "within_systems", "within_inputs", "between_systems", "all"] = "global"
    # of significance, for clusters and the better one of a pair
    level: Fraction = 0.05
    # metrics whose lower scores are better; their scores are negated
    lower_is_better: Sequence[str] = ()

    @property
    def one_grouping(self) -> Grouping:
        """The grouping; raises ValueError if it is `all`."""
        if self.grouping == "all":
            raise ValueError("grouping=all is several comparisons: expand them first")
        return self.grouping

    def expand(self, layout: Layout) -> list[Self]:
        """Returns these settings once for each grouping, where `all` stands for all that the layout allows."""
        if self.grouping != "all":
            return [self]
        return [replace(self, grouping=grouping) for grouping in list_groupings(layout)]


def list_groupings(layout: Layout) -> list[Grouping]:
    """Lists the groupings that the systems and inputs of the layout allow."""
    groupings: list[Grouping] = ["global"]
    if layout.system_count > 1:
        groupings.extend(("within_systems", "between_systems"))
    if layout.input_count < len(layout.inputs):
        groupings.append("within_inputs")
    return groupings


def rank_metrics(scored: ScoredSet, aspect: str, comparison: RankingSettings) -> Ranking:
    """Measures how each metric agrees with the ratings of the examples that all ranked metrics scored.

    A metric is left out if its correlation is undefined, or by `find_common`.
    """
    grouping = comparison.one_grouping
    ratings = scored.ratings(aspect)
    left_out: dict[str, str] = {}
    columns: dict[str, Floats] = {}
    for name in scored.scores:
        values = scored.values(name, aspect)
        reason = _explain_undefined_where_scored(values, ratings, scored.layout, grouping)
        if reason is None:
            columns[name] = values
        else:
            left_out[name] = reason
    table = np.reshape([*columns.values()], (-1, len(scored)))
    is_ranked, kept = find_common(table, [*columns])
    common_ratings = ratings[kept]
    common_layout = restrict(scored.layout, kept)
    ranked: dict[str, Floats] = {}
    for (name, values), is_kept in zip(columns.items(), is_ranked, strict=True):
        x = values[kept]
        if not is_kept:
            left_out[name] = "with it, too few examples would have scores of all ranked metrics"
        elif reason := explain_undefined(x, common_ratings, common_layout, grouping):
            left_out[name] = f"{reason} (of those that all ranked metrics scored)"
        else:
            ranked[name] = x
    agreement: dict[str, Estimate] = {}
    if ranked:
        statistic = CORRELATIONS[comparison.statistic]
        found = estimate_correlations(statistic, [*ranked.values()], common_ratings, common_layout, grouping)
        agreement = dict(zip(ranked, found.show(), strict=True))
    return Ranking(
        aspect=aspect,
        kept=kept,
        agreement=agreement,
        left_out=left_out,
        comparison=comparison,
    )


def _explain_undefined_where_scored(
    x: Floats,
    y: Floats,
    layout: Layout,
    grouping: Grouping,
) -> str | None:
    """The reason why the scores x, with NaN for a missing one, have no correlation with ratings y, or None."""
    is_scored = ~np.isnan(x)
    present = restrict(layout, is_scored)
    return explain_undefined(x[is_scored], y[is_scored], present, grouping)


def compare_metrics(scored: ScoredSet, ranking: Ranking, seed: int = 0) -> tuple[MetricPair, ...]:
    """Compares every pair of ranked metrics on the examples of the ranking; p-values are adjusted for all pairs."""
    pairs = [*combinations(ranking.agreement, 2)]
    return _compare(scored, ranking, [*ranking.agreement], pairs, seed)


def compare_with_cues(scored: ScoredSet, ranking: Ranking, seed: int = 0) -> tuple[MetricPair, ...]:
    """Compares every ranked metric with the scores `cheap_cues` of the set; p-values are adjusted for these pairs.

    There are no pairs if the set lacks `cheap_cues`, or if their agreement with the ratings is undefined.
    """
    if CHEAP_CUES not in scored.scores:
        return ()
    kept = ranking.kept
    x = scored.values(CHEAP_CUES, ranking.aspect)[kept]
    y = scored.ratings(ranking.aspect)[kept]
    if explain_undefined(x, y, restrict(scored.layout, kept), ranking.comparison.one_grouping) is not None:
        return ()
    pairs = [(name, CHEAP_CUES) for name in ranking.agreement]
    return _compare(scored, ranking, [*ranking.agreement, CHEAP_CUES], pairs, seed)


def _compare(
    scored: ScoredSet,
    ranking: Ranking,
    names: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    seed: int,
) -> tuple[MetricPair, ...]:
    """Flips of inputs test the differences; swaps of both metrics' scores where inputs are few."""
    if not pairs:
        return ()
    comparison = ranking.comparison
    grouping = comparison.one_grouping
    columns = [scored.values(name, ranking.aspect)[ranking.kept] for name in names]
    ratings = scored.ratings(ranking.aspect)[ranking.kept]
    layout = restrict(scored.layout, ranking.kept)
    found = estimate_correlations(CORRELATIONS[comparison.statistic], columns, ratings, layout, grouping)
    first = [names.index(a) for a, _ in pairs]
    second = [names.index(b) for _, b in pairs]
    differences = found.subtract(first, second)
    no_test: str | None = None
    least = smallest_p(layout.unit_count)
    if grouping == "between_systems":
        no_test = UNTESTABLE
        p_values = np.full(len(pairs), np.nan)
    elif layout.input_count < FEWEST_FOR_FLIPS:
        p_values = swap_metrics(columns, ratings, layout, (first, second), comparison.statistic, grouping, seed=seed)
    else:
        p_values = differences.test(seed)
    if no_test is None and least >= comparison.level:
        smallest = f"the smallest p-value of these swaps is {least:.2g}"
        no_test = f"{smallest}, so no test can reach the level {comparison.level:g}"
    compared = []
    for (a, b), difference, p_value in zip(pairs, differences.show(), p_values.tolist(), strict=True):
        better = "–"
        if p_value < comparison.level:
            better = a if difference.value > 0 else b
        reasons = dict.fromkeys([no_test, difference.reason])
        compared.append(
            MetricPair(
                aspect=ranking.aspect,
                metric_a=a,
                metric_b=b,
                n=len(ratings),
                difference=difference,
                p_value=p_value,
                better=better,
                reason="; ".join(filter(None, reasons)) or None,
                statistic=comparison.statistic,
                grouping=grouping,
            )
        )
    return tuple(compared)


def number_clusters(ranking: Ranking) -> dict[str, str]:
    """Finds the cluster of each ranked metric (`estimates.clusters`); 1 is the best."""
    values = {name: estimate.value for name, estimate in ranking.agreement.items()}
    p_values = {}
    for pair in ranking.pairs:
        p_values[pair.metric_a, pair.metric_b] = pair.p_value
    return clusters(values, p_values, ranking.comparison.level)
