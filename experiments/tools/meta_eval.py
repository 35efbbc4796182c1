"""Meta-evaluation: how well metrics agree with human ratings, and which metric is better (`+exp=meta_eval`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core.faults import InputFaults, SettingFault, fault
from core.scores import Metric
from core.settings import Count, Fraction, check, checked_dataclass
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run
from experiments.report.plots import intervals, scores_against_ratings
from experiments.tools.meta_eval_tables import (
    POWER,
    agreement_table,
    length_table,
    pair_table,
    ranking_table,
    rater_table,
    soft_accuracy_table,
)
from experiments.tools.metric_scores import check_scored, score_file, show_resampling, show_signatures
from meta_eval.agreement import Agreement, agree
from meta_eval.auditing import audit_length
from meta_eval.bootstrap import Estimate
from meta_eval.comparison import williams_test
from meta_eval.correlation import Floats, kendall, pearson, spearman
from meta_eval.grouping import Grouping, Layout, group
from meta_eval.intervals import (
    Drawn,
    Method,
    Resampling,
    bootstrap_p_value,
    explain_undefined_groups,
    grouped_bootstrap,
    grouped_estimate,
    restrict,
)
from meta_eval.pairs import calibrate_ties, kendall_c, pairwise_accuracy
from meta_eval.permutation import Correlation, explain_untestable, permutation_test
from meta_eval.planning import detectable_difference
from meta_eval.scored_set import ScoredSet
from meta_eval.significance import benjamini_hochberg, holm
from meta_eval.soft_accuracy import Ties, soft_pairwise_accuracy

COMPARED = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
LEAST_COMMON = 0.5  # share of the fullest metric's examples that a ranked metric must leave in common


@dataclass(frozen=True)
class MetricPair:
    """Whether two metrics agree differently with one rated aspect.

    Attributes:
        n: the examples that all ranked metrics scored; if one of the two is not ranked, those that both scored.
        difference: the correlation of metric a minus that of metric b, with the interval of the paired bootstrap.
        permutation_p, bootstrap_p, williams_p: two-sided p-values; NaN if a test is undefined. Williams' test assumes
            independent examples, so it is given for the global grouping only, where no examples share a drawn unit.
        holm, false_discovery: the permutation test's p-value, adjusted for all pairs of an aspect.
        detectable: the difference that Williams' test would detect with a power of .8 at this n; NaN where the test is
            undefined.
    """

    aspect: str
    metric_a: str
    metric_b: str
    n: int
    difference: Estimate
    permutation_p: float = math.nan
    bootstrap_p: float = math.nan
    williams_p: float = math.nan
    holm: float = math.nan
    false_discovery: float = math.nan
    detectable: float = math.nan
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


def make_resampling(over: Drawn, method: Method, resamples: int, seed: int) -> Resampling:
    """The settings of the intervals. Raises SettingFault for an unknown or wrong value."""
    check(Drawn, over=over)
    check(Method, interval=method)
    try:
        return Resampling(over=over, method=method, resamples=resamples, seed=seed)
    except ValueError as error:
        raise SettingFault(str(error)) from error


def meta_eval(
    run: Run,
    file: ScoredFile,
    metrics: Mapping[str, Metric],
    comparison: Comparison,
    resampling: Resampling,
) -> Outcome:
    """Correlates every metric with every rated aspect of the file, and tests every pair of metrics.

    `metrics` are run on the file; the others have their scores in it.
    """
    statistic, grouping = comparison.statistic, comparison.grouping
    scored = score_file(run, file, metrics)
    columns = scored.split_aspects()
    rated = {aspect: columns.rated(aspect) for aspect in columns.aspects}
    with run.timed("correlations"):
        found = [
            measure_agreement(each, name, aspect, kind, resampling)
            for aspect, each in rated.items()
            for kind in list_groupings(each.layout, grouping)
            for name in each.scores
        ]
        soft = {
            (name, aspect): soft_accuracy(each, name, aspect, comparison.soft_ties, resampling.seed)
            for aspect, each in rated.items()
            if "system_means" in list_groupings(each.layout, grouping)
            for name in each.scores
        }
    with run.timed("tests"):
        rankings = [rank_metrics(each, aspect, comparison, resampling) for aspect, each in rated.items()]
        pairs = [compare_metrics(rated[ranking.aspect], ranking, comparison, resampling) for ranking in rankings]
    with run.timed("length"):
        lengths = {
            (name, aspect): audit_length(
                each.values(name, aspect),
                each.word_counts,
                each.ratings(aspect),
                layout=each.layout,
                resampling=resampling,
            )
            for aspect, each in rated.items()
            for name in each.scores
        }
    chosen = {
        aspect: {
            each.metric: getattr(each, statistic)
            for each in found
            if (each.aspect, each.grouping) == (aspect, grouping)
        }
        for aspect in rated
    }
    return Outcome(
        signature=f"meta_eval|n={len(file.examples)}|statistic={statistic}|grouping={grouping}"
        f"|permutations={comparison.permutations}|level={comparison.level:g}|soft_ties={comparison.soft_ties}"
        f"|{show_resampling(resampling)}|{show_signatures(scored.scores)}",
        tables=[
            agreement_table(found, resampling),
            *([soft_accuracy_table(soft)] if soft else []),
            *([ranking_table(rankings, pairs, comparison)] if any(each.agreement for each in rankings) else []),
            pair_table([pair for each in pairs for pair in each], comparison, resampling),
            length_table(lengths, "metric"),
            *([rater_table(file, statistic, resampling)] if file.raters else []),
        ],
        plots={
            f"{statistic}_{aspect}": intervals(
                estimates, f"{statistic} with {aspect} ({grouping}), 95 % over {resampling.over}"
            )
            for aspect, estimates in chosen.items()
            if estimates
        }
        | {f"scores_{aspect}": scores_against_ratings(scored, aspect) for aspect in rated},
        scored=[scored],
        notes=note_gaps(file)
        + [
            f"{name} is not ranked by {ranking.aspect}: {reason}"
            for ranking in rankings
            for name, reason in ranking.left_out.items()
        ],
    )


def check_rated(file: ScoredFile, metric: str | None, metrics: Iterable[str]) -> ScoredFile:
    """Checks the file before a metric is loaded, and returns it; `metric` and `metrics` are the names of those to run.

    Raises InputFaults for a file without ratings, and as `check_scored`.
    """
    if not any(example.ratings for example in file.examples):
        rule = 'at least one example needs "ratings", such as {"coherence": 4}'
        raise InputFaults([fault(file.path, 0, f"{rule}, found none in {len(file.examples)} examples")])
    check_scored(file, metric, metrics)
    return file


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
    matrices = np.full((2, layout.system_count, layout.input_count), math.nan)
    matrices[:, layout.systems, layout.inputs] = scored.ratings(aspect), scored.values(metric, aspect)
    return soft_pairwise_accuracy(*matrices, ties=ties, seed=seed)


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
    statistic = COMPARED[comparison.statistic]
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
    p_values = [pair.permutation_p for pair in found]
    return [
        replace(pair, holm=float(h), false_discovery=float(d))
        for pair, h, d in zip(found, holm(p_values), benjamini_hochberg(p_values), strict=True)
    ]


def compare_pair(
    scored: ScoredSet,
    aspect: str,
    metrics: tuple[str, str],
    among: NDArray[np.bool_],
    comparison: Comparison,
    resampling: Resampling,
) -> MetricPair:
    """Compares two metrics on some of the examples; its p-values are not adjusted for other pairs."""
    of, grouping, over = COMPARED[comparison.statistic], comparison.grouping, resampling.over
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
        permutation_p=test.p_value,
        bootstrap_p=bootstrap_p_value(values, int(units.max()) + 1) if is_tested else math.nan,
        williams_p=williams,
        detectable=detectable,
        reason="; ".join(reason for reason in (test.reason, estimate.reason, undetermined) if reason) or None,
    )


def note_gaps(file: ScoredFile) -> list[str]:
    """Warnings for the reader of the tables."""
    notes = []
    for field, meaning in (
        ("system", "their systems are unknown, so they are not compared"),
        ("group", "each counts as an output for an input of its own"),
    ):
        named = sum(getattr(example, field) is not None for example in file.examples)
        if named < len(file.examples):
            notes.append(f"{len(file.examples) - named} of {len(file.examples)} examples have no {field}: {meaning}")
    return notes
