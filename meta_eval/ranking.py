"""Ranks metrics by their agreement with the ratings of an aspect, and tests every pair of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.settings import Fraction, checked_dataclass
from meta_eval.correlation import CORRELATIONS
from meta_eval.design import Floats, Layout, Mask, find_common, restrict
from meta_eval.estimates import Estimate, clusters, smallest_p
from meta_eval.grouping import estimate_correlations, explain_undefined
from meta_eval.permuted import FEWEST_FOR_FLIPS, Kind, swap_metrics
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
    pairs: tuple[MetricPair, ...] = ()


@checked_dataclass
class RankingSettings:
    """The settings by which metrics are compared."""

    # the correlation with the ratings
    statistic: Kind = "spearman"
    # of significance, for clusters and the better one of a pair
    level: Fraction = 0.05
    # metrics whose lower scores are better; their scores are negated
    lower_is_better: Sequence[str] = ()


def rank_metrics(scored: ScoredSet, aspect: str, comparison: RankingSettings) -> Ranking:
    """Measures how each metric agrees with the ratings of the examples that all ranked metrics scored.

    A metric is left out if its correlation is undefined, or by `find_common`.
    """
    ratings = scored.ratings(aspect)
    left_out: dict[str, str] = {}
    columns: dict[str, Floats] = {}
    for name in scored.scores:
        values = scored.values(name, aspect)
        reason = _explain_undefined_where_scored(values, ratings, scored.layout)
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
        elif reason := explain_undefined(x, common_ratings, common_layout):
            left_out[name] = f"{reason} (of those that all ranked metrics scored)"
        else:
            ranked[name] = x
    agreement: dict[str, Estimate] = {}
    if ranked:
        statistic = CORRELATIONS[comparison.statistic]
        found = estimate_correlations(statistic, [*ranked.values()], common_ratings, common_layout)
        agreement = dict(zip(ranked, found.show(), strict=True))
    return Ranking(
        aspect=aspect,
        kept=kept,
        agreement=agreement,
        left_out=left_out,
        comparison=comparison,
    )


def _explain_undefined_where_scored(x: Floats, y: Floats, layout: Layout) -> str | None:
    """The reason why the scores x, with NaN for a missing one, have no correlation with ratings y, or None."""
    is_scored = ~np.isnan(x)
    present = restrict(layout, is_scored)
    return explain_undefined(x[is_scored], y[is_scored], present)


def compare_metrics(scored: ScoredSet, ranking: Ranking, seed: int = 0) -> tuple[MetricPair, ...]:
    """Compares every pair of ranked metrics on the examples of the ranking; p-values are adjusted for all pairs.

    Flips of inputs test the differences; swaps of both metrics' scores where inputs are few.
    """
    names = [*ranking.agreement]
    if len(names) < 2:
        return ()
    comparison = ranking.comparison
    columns = [scored.values(name, ranking.aspect)[ranking.kept] for name in names]
    ratings = scored.ratings(ranking.aspect)[ranking.kept]
    layout = restrict(scored.layout, ranking.kept)
    found = estimate_correlations(CORRELATIONS[comparison.statistic], columns, ratings, layout)
    first, second = np.triu_indices(len(names), 1)
    differences = found.subtract(first, second)
    if layout.input_count < FEWEST_FOR_FLIPS:
        p_values = swap_metrics(columns, ratings, layout, comparison.statistic, seed)
    else:
        p_values = differences.test(seed)
    no_test: str | None = None
    least = smallest_p(layout.unit_count)
    if least >= comparison.level:
        smallest = f"the smallest p-value of these swaps is {least:.2g}"
        no_test = f"{smallest}, so no test can reach the level {comparison.level:g}"
    compared = []
    for (a, b), difference, p_value in zip(combinations(names, 2), differences.show(), p_values.tolist(), strict=True):
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
