"""Which metric agrees best with the ratings of an aspect: a ranking, and a test of every pair of metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.settings import Count, Fraction, checked_dataclass
from meta_eval.agreement import Agreement, agree
from meta_eval.bootstrap import Estimate
from meta_eval.comparison import williams_test
from meta_eval.correlation import CORRELATIONS, Floats, calibrate_ties, kendall_c, pairwise_accuracy
from meta_eval.grouping import Grouping, Layout, group
from meta_eval.intervals import (
    Draws,
    Resampling,
    bootstrap_p_value,
    draw_grouped,
    estimate_grouped,
    grouped_estimate,
    restrict,
)
from meta_eval.permutation import Statistic, explain_undefined, explain_untestable, permutation_test
from meta_eval.planning import detectable_difference
from meta_eval.scored_set import ScoredSet
from meta_eval.significance import benjamini_hochberg, clusters, holm
from meta_eval.soft_accuracy import RESAMPLES, Ties, explain_undefined_soft, find_complete, weigh_soft_accuracy

POWER = 0.8  # for `MetricPair.detectable`
LEAST_COMMON = 0.5  # share of the fullest metric's examples that a ranked metric must leave in common


@dataclass(frozen=True)
class MetricPair:
    """Whether two metrics agree differently with one rated aspect.

    Attributes:
        aspect, statistic, grouping: what was compared.
        n: the examples that all ranked metrics scored; if one of the two is not ranked, those that both scored.
        difference: the statistic of metric a minus that of metric b, with the interval of the paired bootstrap.
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
    statistic: Statistic = "spearman"
    grouping: Grouping = "global"


@dataclass(frozen=True)
class Measured:
    """The agreement of one metric on some examples.

    Attributes:
        draws: on all of them, and on resamples.
        estimate: with its interval.
        epsilon: the threshold for a tie, where the statistic is accuracy.
    """

    draws: Draws
    estimate: Estimate
    epsilon: float


@dataclass(frozen=True)
class Ranking:
    """The metrics that are ranked by agreement with one aspect, on the examples that all of them scored.

    Attributes:
        kept: a mask of these examples, of shape (n,).
        measured: each ranked metric on them, in the statistic that is compared.
        left_out: why each other metric is not ranked.
        comparison: the statistic and its grouping.
    """

    aspect: str
    kept: NDArray[np.bool_]
    measured: Mapping[str, Measured]
    left_out: Mapping[str, str]
    comparison: Comparison

    @property
    def agreement(self) -> dict[str, Estimate]:
        """Of each ranked metric."""
        return {name: each.estimate for name, each in self.measured.items()}


@checked_dataclass
class Comparison:
    """How metrics are compared.

    Attributes:
        statistic: the correlation with the ratings; accuracy of pairs, with ties calibrated for each metric; or soft
            accuracy, which compares systems whatever the grouping.
        grouping: over all examples, or within systems or inputs, or between systems; or all of them that there are.
        permutations: of the permutation test.
        level: of significance, for clusters, the better one of a pair, and power.
        soft_ties: of soft pairwise accuracy.
    """

    statistic: Statistic = "spearman"
    grouping: Literal["global", "per_system", "per_input", "system_means", "all"] = "global"
    permutations: Count = 10_000
    level: Fraction = 0.05
    soft_ties: Ties = "mid"

    @property
    def signature(self) -> str:
        """The settings, as a part of the signature of a run."""
        return "|".join(f"{name}={value}" for name, value in asdict(self).items())

    @property
    def one_grouping(self) -> Grouping:
        """The grouping. Raises ValueError for all: `expand` lists them."""
        if self.grouping == "all":
            raise ValueError("grouping=all is several comparisons: expand them first")
        return "system_means" if self.statistic == "soft_accuracy" else self.grouping

    def expand(self, layout: Layout) -> list[Comparison]:
        """A comparison for each grouping. Of all groupings, accuracy between systems is soft accuracy, as at WMT."""
        if self.grouping != "all" or self.statistic == "soft_accuracy":
            return [replace(self, grouping="global" if self.grouping == "all" else self.grouping)]
        by_grouping = [replace(self, grouping=grouping) for grouping in list_groupings(layout)]
        return [
            replace(each, statistic="soft_accuracy")
            if (each.statistic, each.grouping) == ("accuracy", "system_means")
            else each
            for each in by_grouping
        ]


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
    scored: ScoredSet, metric: str, aspect: str, grouping: Grouping, resampling: Resampling, soft_ties: Ties = "mid"
) -> Agreement:
    """The agreement of one metric with the ratings of an aspect, with pairwise accuracies as further statistics.

    `epsilon` is the threshold for a tie that `calibrated_accuracy` uses, in units of the scores; it was chosen on these
    same ratings. Soft accuracy is measured between systems, where there are several.
    """
    rated = scored.rated(aspect)
    scores, ratings, layout = rated.values(metric, aspect), rated.ratings(aspect), rated.layout
    kept = rated.scored(metric, aspect=aspect)
    epsilon = find_epsilon(scores[kept], ratings[kept], restrict(layout, kept), grouping)
    statistics = {
        "kendall_c": kendall_c,
        "accuracy": pairwise_accuracy,
        "calibrated_accuracy": partial(pairwise_accuracy, epsilon=epsilon),
    }
    further: dict[str, Estimate | float] = {
        name: grouped_estimate(statistic, scores, ratings, layout, grouping=grouping, resampling=resampling)
        for name, statistic in statistics.items()
    }
    if layout.system_count > 1:
        further["soft_accuracy"] = Estimate.undefined("soft accuracy compares systems")
        if grouping == "system_means":
            further["soft_accuracy"] = soft_accuracy(rated, metric, aspect, resampling, soft_ties)
    found = agree(rated, metric, aspect, grouping=grouping, resampling=resampling)
    return replace(found, further={**further, "epsilon": epsilon})


def find_epsilon(x: Floats, y: Floats, layout: Layout, grouping: Grouping) -> float:
    """The calibrated threshold of scores `x` with ratings `y`; 0 for system means, which are too few to choose it."""
    if not len(x) or grouping == "system_means":
        return 0.0
    return calibrate_ties(x, y, layout.groups(grouping) if grouping in ("per_system", "per_input") else None)


def soft_accuracy(
    scored: ScoredSet, metric: str, aspect: str, resampling: Resampling | None = None, ties: Ties = "mid"
) -> Estimate:
    """Soft pairwise accuracy; undefined if a system has several outputs for one input."""
    kept = _find_usable(scored.layout, scored.scored(metric, aspect=aspect), "soft_accuracy")
    x, y, layout = scored.values(metric, aspect)[kept], scored.ratings(aspect)[kept], restrict(scored.layout, kept)
    if (reason := explain_undefined_soft(x, y, layout)) is not None:
        return Estimate.undefined(reason)
    return measure(x, y, layout, Comparison("soft_accuracy", soft_ties=ties), resampling or Resampling()).estimate


def measure(x: Floats, y: Floats, layout: Layout, comparison: Comparison, resampling: Resampling) -> Measured:
    """The statistic of scores `x` with ratings `y`, both of shape (n,), without NaN."""
    kind, grouping, epsilon = comparison.statistic, comparison.one_grouping, 0.0
    if kind == "soft_accuracy":
        of = weigh_soft_accuracy(x, y, layout, comparison.soft_ties, seed=resampling.seed)
        resampling = replace(resampling, resamples=min(resampling.resamples, RESAMPLES))
    else:
        epsilon = find_epsilon(x, y, layout, grouping) if kind == "accuracy" else 0.0
        statistic = partial(pairwise_accuracy, epsilon=epsilon) if kind == "accuracy" else CORRELATIONS[kind]
        of = partial(group, statistic, x, y, layout, grouping)
    draws = draw_grouped(of, layout, resampling)
    return Measured(draws, estimate_grouped(of, layout, grouping, resampling, draws), epsilon)


def _find_usable(layout: Layout, mask: NDArray[np.bool_], kind: Statistic) -> NDArray[np.bool_]:
    """Which examples of a mask the statistic uses: for soft accuracy, those of inputs that all systems answer."""
    if kind != "soft_accuracy":
        return mask
    used = np.zeros(len(mask), dtype=np.bool_)
    used[mask] = find_complete(restrict(layout, mask))
    return used


def rank_metrics(scored: ScoredSet, aspect: str, comparison: Comparison, resampling: Resampling) -> Ranking:
    """The agreement of each metric with the ratings of the examples that all ranked metrics scored.

    A metric is left out if its correlation is undefined, or if the examples in common would be fewer than
    `LEAST_COMMON` of those that the fullest metric scored. Metrics with more scores come first.
    """
    columns = {name: scored.values(name, aspect) for name in scored.scores}
    ratings, layout, kind = scored.ratings(aspect), scored.layout, comparison.statistic
    known = {name: ~np.isnan(values) for name, values in columns.items()}
    fullest = max((int(at.sum()) for at in known.values()), default=0)
    kept, ranked, left_out = np.ones(len(scored), dtype=np.bool_), [], {}
    for name in sorted(known, key=lambda name: -int(known[name].sum())):
        own, common = _find_usable(layout, known[name], kind), kept & known[name]
        parts = columns[name][own], ratings[own], restrict(layout, own)
        reason = explain_undefined(*parts, kind, comparison.one_grouping)
        if reason is None and common.sum() < LEAST_COMMON * fullest:
            reason = (
                f"with it, the ranked metrics would have scores of {common.sum()} examples in common, not {kept.sum()}"
            )
        if reason is None:
            kept = common
            ranked.append(name)
        else:
            left_out[name] = reason
    kept, measured = _find_usable(layout, kept, kind), {}
    present = restrict(layout, kept)
    for name in [name for name in columns if name in ranked]:
        parts = columns[name][kept], ratings[kept], present
        reason = explain_undefined(*parts, kind, comparison.one_grouping)
        found = measure(*parts, comparison, resampling) if reason is None else None
        if found is None or math.isnan(found.draws.value):
            undefined = reason or (found.estimate.reason if found else None)
            left_out[name] = f"{undefined} (of those that all ranked metrics scored)"
        else:
            measured[name] = found
    return Ranking(aspect, kept, measured, left_out, comparison)


def compare_metrics(scored: ScoredSet, ranking: Ranking, resampling: Resampling) -> list[MetricPair]:
    """Compares every pair of metrics; p-values are adjusted for all pairs.

    Ranked metrics are compared on the examples of the ranking, others on those that both metrics scored.
    """
    everything, comparison = np.ones(len(scored), dtype=np.bool_), ranking.comparison
    found = []
    for a, b in combinations(scored.scores, 2):
        both = [ranking.measured[name] for name in (a, b) if name in ranking.measured]
        among, known = (ranking.kept, both) if len(both) == 2 else (everything, None)
        found.append(compare_pair(scored, ranking.aspect, (a, b), among, comparison, resampling, known))
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
    measured: Sequence[Measured] | None = None,
) -> MetricPair:
    """Compares two metrics on some of the examples; its p-values are not adjusted for other pairs.

    `measured` holds both metrics on these examples, where they are known.
    """
    kind, grouping, over = comparison.statistic, comparison.one_grouping, resampling.over
    kept = _find_usable(scored.layout, among & scored.scored(*metrics, aspect=aspect), kind)
    a, b = (scored.values(metric, aspect)[kept] for metric in metrics)
    y, layout = scored.ratings(aspect)[kept], restrict(scored.layout, kept)
    named = partial(MetricPair, aspect, *metrics, statistic=kind, grouping=grouping)
    for scores in (a, b):
        if (reason := explain_undefined(scores, y, layout, kind, grouping)) is not None:
            return named(len(y), Estimate.undefined(reason), reason=reason)
    of_a, of_b = measured or [measure(scores, y, layout, comparison, resampling) for scores in (a, b)]
    test = permutation_test(
        a,
        b,
        y,
        layout,
        kind=kind,
        grouping=grouping,
        over=over,
        permutations=comparison.permutations,
        seed=resampling.seed,
        epsilons=(of_a.epsilon, of_b.epsilon),
        ties=comparison.soft_ties,
    )
    if math.isnan(test.difference):
        return named(test.n, Estimate.undefined(test.reason or ""), reason=test.reason)
    draws = of_a.draws - of_b.draws
    is_tested = len(draws.defined) > 0 and explain_untestable(kind, grouping, over) is None
    williams, detectable, undetermined = _test_williams(a, b, y, layout, comparison, over)
    reasons = (test.reason, draws.estimate.reason, undetermined)
    return named(
        test.n,
        draws.estimate,
        p_value=test.p_value,
        bootstrap_p=bootstrap_p_value(draws.defined, draws.units) if is_tested else math.nan,
        williams_p=williams,
        detectable=detectable,
        reason="; ".join(reason for reason in reasons if reason) or None,
    )


def _test_williams(
    a: Floats, b: Floats, y: Floats, layout: Layout, comparison: Comparison, over: str
) -> tuple[float, float, str | None]:
    """The p-value of Williams' test, the difference that it would detect, and why one of them is NaN."""
    kind = comparison.statistic
    if kind in CORRELATIONS and comparison.one_grouping != "global":
        return math.nan, math.nan, "Williams' test needs independent outputs, so it needs grouping=global"
    numbers = {"inputs": layout.inputs, "systems": layout.systems}
    units = min(numbers.values(), key=np.max) if over == "both" else numbers[over]  # of both, those that repeat more
    of: Callable[..., Floats] = CORRELATIONS.get(kind, pairwise_accuracy)
    tested = williams_test(a, b, y, of, groups=units.tolist())
    if tested.reason is not None:
        return tested.p_value, math.nan, tested.reason
    best = max(tested.r_a, tested.r_b)
    detectable = detectable_difference(best, tested.r_ab, tested.n, power=POWER, level=comparison.level)
    reason = f"{tested.n} examples would detect no difference with a power of {POWER:g}"
    return tested.p_value, detectable, reason if math.isnan(detectable) else None


def number_clusters(ranking: Ranking, pairs: Sequence[MetricPair]) -> dict[str, str]:
    """The cluster of each ranked metric by Holm's p-values; 1 is the best."""
    values = {name: each.value for name, each in ranking.agreement.items()}
    p_values = {(pair.metric_a, pair.metric_b): pair.holm for pair in pairs}
    return clusters(values, p_values, ranking.comparison.level)


def name_better(pair: MetricPair, level: float) -> str:
    """The metric that agrees better; a dash where the test does not separate the two, or is undefined."""
    if not pair.holm < level:
        return "–"
    return pair.metric_a if pair.difference.value > 0 else pair.metric_b
