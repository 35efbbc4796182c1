"""Which metric agrees best with the ratings of an aspect: a ranking, and a test of every pair of metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core.settings import Count, Fraction, checked_dataclass
from meta_eval.agreement import Agreement, agree
from meta_eval.bootstrap import Estimate
from meta_eval.comparison import williams_test
from meta_eval.correlation import (
    CORRELATIONS,
    Correlation,
    Floats,
    calibrate_ties,
    kendall_c,
    pairwise_accuracy,
)
from meta_eval.grouping import Grouping, Layout, group
from meta_eval.intervals import (
    Resampling,
    bootstrap_p_value,
    explain_undefined_groups,
    grouped_bootstrap,
    grouped_estimate,
    restrict,
)
from meta_eval.permutation import explain_untestable, permutation_test
from meta_eval.planning import detectable_difference
from meta_eval.scored_set import ScoredSet
from meta_eval.significance import benjamini_hochberg, clusters, holm
from meta_eval.soft_accuracy import Ties, soft_pairwise_accuracy

POWER = 0.8  # for `MetricPair.detectable`
LEAST_COMMON = 0.5  # share of the fullest metric's examples that a ranked metric must leave in common


@dataclass(frozen=True)
class MetricPair:
    """Whether two metrics agree differently with one rated aspect.

    Attributes:
        n: the examples that all ranked metrics scored; if one of the two is not ranked, those that both scored.
        difference: the correlation of metric a minus that of metric b, with the interval of the paired bootstrap.
        p_value, bootstrap_p, williams_p: two-sided; of the permutation test, the paired bootstrap and Williams' test.
            NaN if a test is undefined. Williams' test assumes independent examples, so it is given for the global
            grouping only, where no examples share a drawn unit.
        holm, false_discovery: `p_value`, adjusted for all pairs of an aspect.
        better: the metric that agrees better (see `name_better`).
        detectable: the difference that Williams' test would detect with a power of .8 at this n; NaN where the test is
            undefined.
    """

    aspect: str
    metric_a: str
    metric_b: str
    n: int
    difference: Estimate
    p_value: float = math.nan
    bootstrap_p: float = math.nan
    williams_p: float = math.nan
    holm: float = math.nan
    false_discovery: float = math.nan
    detectable: float = math.nan
    better: str = "–"
    reason: str | None = None


@dataclass(frozen=True)
class Ranking:
    """The metrics that are ranked by agreement with one aspect, on the examples that all of them scored.

    Attributes:
        kept: a mask of these examples, of shape (n,).
        agreement: of each ranked metric on them, in the statistic that is compared.
        left_out: why each other metric is not ranked.
    """

    aspect: str
    kept: NDArray[np.bool_]
    agreement: Mapping[str, Estimate]
    left_out: Mapping[str, str]


@checked_dataclass
class Comparison:
    """How metrics are compared.

    Attributes:
        statistic: the correlation with the ratings.
        grouping: over all examples, or within systems or inputs, or between systems.
        permutations: of the permutation test.
        level: of significance, for clusters, the better one of a pair, and power.
        soft_ties: of soft pairwise accuracy.
    """

    statistic: Correlation
    grouping: Grouping
    permutations: Count
    level: Fraction
    soft_ties: Ties = "mid"


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


def measure_agreement(
    scored: ScoredSet, metric: str, aspect: str, grouping: Grouping, resampling: Resampling
) -> Agreement:
    """The agreement of one metric with the ratings of an aspect, with pairwise accuracies as further statistics.

    `epsilon` is the threshold for a tie that `calibrated_accuracy` uses, in units of the scores; it was chosen on these
    same ratings.
    """
    rated = scored.rated(aspect)
    scores, ratings, layout = rated.values(metric, aspect), rated.ratings(aspect), rated.layout
    kept = rated.scored(metric, aspect=aspect)
    groups = restrict(layout, kept).groups(grouping) if grouping in ("per_system", "per_input") else None
    # system means are too few to calibrate epsilon on
    calibrates = kept.any() and grouping != "system_means"
    epsilon = calibrate_ties(scores[kept], ratings[kept], groups) if calibrates else 0.0
    statistics = {
        "kendall_c": kendall_c,
        "accuracy": pairwise_accuracy,
        "calibrated_accuracy": partial(pairwise_accuracy, epsilon=epsilon),
    }
    further = {
        name: grouped_estimate(statistic, scores, ratings, layout, grouping=grouping, resampling=resampling)
        for name, statistic in statistics.items()
    }
    found = agree(rated, metric, aspect, grouping=grouping, resampling=resampling)
    return replace(found, further={**further, "epsilon": epsilon})


def soft_accuracy(scored: ScoredSet, metric: str, aspect: str, ties: Ties, seed: int) -> Estimate:
    """Soft pairwise accuracy; undefined if a system has several outputs for one input."""
    layout = scored.layout
    cells = np.stack([layout.systems, layout.inputs], axis=1)
    if len(np.unique(cells, axis=0)) < len(cells):
        return Estimate.undefined("soft pairwise accuracy needs one output of each system per input")
    ratings, scores = (layout.to_grid(each) for each in (scored.ratings(aspect), scored.values(metric, aspect)))
    return soft_pairwise_accuracy(ratings, scores, ties=ties, seed=seed)


def rank_metrics(scored: ScoredSet, aspect: str, comparison: Comparison, resampling: Resampling) -> Ranking:
    """The agreement of each metric with the ratings of the examples that all ranked metrics scored.

    A metric is left out if its correlation is undefined, or if the examples in common would be fewer than
    `LEAST_COMMON` of those that the fullest metric scored. Metrics with more scores come first.
    """
    columns = {name: scored.values(name, aspect) for name in scored.scores}
    ratings, layout, grouping = scored.ratings(aspect), scored.layout, comparison.grouping
    known = {name: ~np.isnan(values) for name, values in columns.items()}
    fullest = max((int(at.sum()) for at in known.values()), default=0)
    kept, ranked, left_out = np.ones(len(scored), dtype=np.bool_), [], {}
    for name in sorted(known, key=lambda name: -int(known[name].sum())):
        own, common = known[name], kept & known[name]
        reason = explain_undefined_groups(columns[name][own], ratings[own], restrict(layout, own), grouping)
        if reason is None and common.sum() < LEAST_COMMON * fullest:
            reason = (
                f"with it, the ranked metrics would have scores of {common.sum()} examples in common, not {kept.sum()}"
            )
        if reason is None:
            kept = common
            ranked.append(name)
        else:
            left_out[name] = reason
    statistic = CORRELATIONS[comparison.statistic]
    agreement = {
        name: grouped_estimate(
            statistic, np.where(kept, values, np.nan), ratings, layout, grouping=grouping, resampling=resampling
        )
        for name, values in columns.items()
        if name in ranked
    }
    for name in [name for name, each in agreement.items() if math.isnan(each.value)]:
        left_out[name] = f"{agreement.pop(name).reason} (of those that all ranked metrics scored)"
    return Ranking(aspect, kept, agreement, left_out)


def compare_metrics(
    scored: ScoredSet, ranking: Ranking, comparison: Comparison, resampling: Resampling
) -> list[MetricPair]:
    """Compares every pair of metrics; p-values are adjusted for all pairs.

    Ranked metrics are compared on the examples of the ranking, others on those that both metrics scored.
    """
    everything = np.ones(len(scored), dtype=np.bool_)
    found = [
        compare_pair(
            scored,
            ranking.aspect,
            (a, b),
            ranking.kept if {a, b} <= set(ranking.agreement) else everything,
            comparison,
            resampling,
        )
        for a, b in combinations(scored.scores, 2)
    ]
    p_values = [pair.p_value for pair in found]
    adjusted = [
        replace(pair, holm=float(h), false_discovery=float(d))
        for pair, h, d in zip(found, holm(p_values), benjamini_hochberg(p_values), strict=True)
    ]
    return [replace(pair, better=name_better(pair, comparison.level)) for pair in adjusted]


def compare_pair(
    scored: ScoredSet,
    aspect: str,
    metrics: tuple[str, str],
    among: NDArray[np.bool_],
    comparison: Comparison,
    resampling: Resampling,
) -> MetricPair:
    """Compares two metrics on some of the examples; its p-values are not adjusted for other pairs."""
    of, grouping, over = CORRELATIONS[comparison.statistic], comparison.grouping, resampling.over
    kept = among & scored.scored(*metrics, aspect=aspect)
    a, b = (scored.values(metric, aspect)[kept] for metric in metrics)
    y, layout = scored.ratings(aspect)[kept], restrict(scored.layout, kept)
    test = permutation_test(
        a,
        b,
        y,
        layout,
        kind=comparison.statistic,
        grouping=grouping,
        over=over,
        permutations=comparison.permutations,
        seed=resampling.seed,
    )
    if math.isnan(test.difference):
        none = Estimate(math.nan, math.nan, math.nan, test.reason)
        return MetricPair(aspect, *metrics, test.n, none, reason=test.reason)
    numbers = {"inputs": layout.inputs, "systems": layout.systems}
    units = min(numbers.values(), key=np.max) if over == "both" else numbers[over]  # of both, those that repeat more

    def difference(systems: Floats, inputs: Floats) -> Floats:
        return group(of, a, y, layout, grouping, systems, inputs) - group(of, b, y, layout, grouping, systems, inputs)

    estimate, values = grouped_bootstrap(difference, layout, resampling)
    is_tested = len(values) > 0 and explain_untestable(grouping, over) is None
    williams, detectable = math.nan, math.nan
    undetermined: str | None = "Williams' test needs independent outputs, so it needs grouping=global"
    if grouping == "global":
        tested = williams_test(a, b, y, of, groups=units.tolist())
        williams, undetermined = tested.p_value, tested.reason
        if tested.reason is None:
            best = max(tested.r_a, tested.r_b)
            detectable = detectable_difference(best, tested.r_ab, tested.n, power=POWER, level=comparison.level)
            if math.isnan(detectable):
                undetermined = f"{tested.n} examples would detect no difference with a power of {POWER:g}"
    return MetricPair(
        aspect,
        *metrics,
        test.n,
        estimate,
        p_value=test.p_value,
        bootstrap_p=bootstrap_p_value(values, int(units.max()) + 1) if is_tested else math.nan,
        williams_p=williams,
        detectable=detectable,
        reason="; ".join(reason for reason in (test.reason, estimate.reason, undetermined) if reason) or None,
    )


def number_clusters(ranking: Ranking, pairs: Sequence[MetricPair], level: float) -> dict[str, int]:
    """The cluster of each ranked metric by Holm's p-values; 1 is the best."""
    names = list(ranking.agreement)
    p_values = np.full((len(names), len(names)), math.nan)
    for pair in pairs:
        if pair.metric_a in names and pair.metric_b in names:
            i, j = names.index(pair.metric_a), names.index(pair.metric_b)
            p_values[i, j] = p_values[j, i] = pair.holm
    values = [each.value for each in ranking.agreement.values()]
    return dict(zip(names, clusters(values, p_values, level), strict=True))


def name_better(pair: MetricPair, level: float) -> str:
    """The metric that agrees better; a dash where the test does not separate the two, or is undefined."""
    if not pair.holm < level:
        return "–"
    return pair.metric_a if pair.difference.value > 0 else pair.metric_b
