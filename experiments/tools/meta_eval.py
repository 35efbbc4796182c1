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
from data.corpus import RatedSet
from data.scored import ScoredFile
from data.words import count_words
from experiments.contracts import Outcome, Run, ScoredSet
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
from experiments.tools.metric_scores import check_scored, flatten, score_file, show_resampling, show_signatures
from meta_eval.agreement import Estimate
from meta_eval.auditing import audit_length
from meta_eval.comparison import williams_test
from meta_eval.correlation import Floats, kendall, pearson, spearman
from meta_eval.grouping import Grouping, Layout, group, lay_out
from meta_eval.intervals import (
    Drawn,
    Grouped,
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
from meta_eval.significance import benjamini_hochberg, holm
from meta_eval.soft_accuracy import Ties, soft_pairwise_accuracy

STATISTICS = {"pearson": pearson, "spearman": spearman, "kendall": kendall, "kendall_c": kendall_c}
COMPARED = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
LEAST_COMMON = 0.5  # share of the fullest metric's examples that a ranked metric must leave in common


@dataclass(frozen=True)
class MetricAgreement:
    """The agreement of one metric with one rated aspect in one grouping.

    Attributes:
        statistics: correlations and pairwise accuracy by name.
        calibrated: pairwise accuracy with the best epsilon, which was chosen on these same ratings.
        epsilon: the threshold for a tie, in units of the scores.
        soft_accuracy: soft pairwise accuracy, for `system_means` only.
        unscored: rated examples without a score.
    """

    metric: str
    aspect: str
    grouping: Grouping
    statistics: Mapping[str, Grouped]
    calibrated: Grouped
    epsilon: float
    soft_accuracy: Estimate | None
    unscored: int


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
class Sample:
    """The rated examples of one aspect: their scores by metric, ratings, lengths and layout."""

    aspect: str
    scores: Mapping[str, NDArray[np.float64]]
    ratings: Floats
    word_counts: Floats
    layout: Layout

    def keep(self, kept: NDArray[np.bool_]) -> Sample:
        """The examples in a mask of shape (n,)."""
        scores = {name: values[kept] for name, values in self.scores.items()}
        layout = restrict(self.layout, kept)
        return Sample(self.aspect, scores, self.ratings[kept], self.word_counts[kept], layout)


@dataclass(frozen=True)
class Ranking:
    """The metrics that are ranked by agreement with one aspect, on the examples that all of them scored.

    Attributes:
        kept: a mask of these examples, of shape (n,).
        agreement: of each ranked metric on them.
        left_out: why each other metric is not ranked.
    """

    aspect: str
    kept: NDArray[np.bool_]
    agreement: Mapping[str, Grouped]
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
    scores = flatten(scored)
    rated = ScoredSet(RatedSet(file.path.name, file.examples, synthetic=False), scored)
    samples = aspect_samples(file, scores)
    with run.timed("correlations"):
        found = [
            agree(sample, name, each, resampling, comparison.soft_ties)
            for sample in samples
            for each in list_groupings(sample.layout, grouping)
            for name in sample.scores
        ]
    with run.timed("tests"):
        rankings = [rank_metrics(sample, comparison, resampling) for sample in samples]
        pairs = [
            compare_metrics(sample, ranking, comparison, resampling)
            for sample, ranking in zip(samples, rankings, strict=True)
        ]
    with run.timed("length"):
        lengths = {
            (name, sample.aspect): audit_length(
                values, sample.word_counts, sample.ratings, layout=sample.layout, resampling=resampling
            )
            for sample in samples
            for name, values in sample.scores.items()
        }
    chosen = [each for each in found if each.grouping == grouping]
    return Outcome(
        signature=f"meta_eval|n={len(file.examples)}|statistic={statistic}|grouping={grouping}"
        f"|permutations={comparison.permutations}|level={comparison.level:g}|soft_ties={comparison.soft_ties}"
        f"|{show_resampling(resampling)}|{show_signatures(scored)}",
        tables=[
            agreement_table(found, file.path.name, resampling),
            *([soft_accuracy_table(found)] if any(each.soft_accuracy for each in found) else []),
            *([ranking_table(rankings, pairs, comparison)] if any(each.agreement for each in rankings) else []),
            pair_table([pair for each in pairs for pair in each], comparison, resampling),
            length_table(lengths, "metric"),
            *([rater_table(file, statistic, resampling)] if file.raters else []),
        ],
        plots={
            f"{statistic}_{sample.aspect}": intervals(
                {each.metric: each.statistics[statistic].estimate for each in chosen if each.aspect == sample.aspect},
                f"{statistic} with {sample.aspect} ({grouping}), 95 % over {resampling.over}",
            )
            for sample in samples
            if any(each.aspect == sample.aspect for each in chosen)
        }
        | {f"scores_{sample.aspect}": scores_against_ratings(rated, sample.aspect) for sample in samples},
        scored=[rated],
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


def aspect_samples(file: ScoredFile, scores: Mapping[str, NDArray[np.float64]]) -> list[Sample]:
    """The rated examples by aspect."""
    aspects = list(dict.fromkeys(aspect for example in file.examples for aspect in example.ratings))
    samples = []
    for aspect in aspects:
        at = [i for i, example in enumerate(file.examples) if aspect in example.ratings]
        rated = [file.examples[i] for i in at]
        systems, inputs = ([getattr(example, name) for example in rated] for name in ("system", "group"))
        layout = lay_out(len(at), None if None in systems else systems, None if None in inputs else inputs)
        ratings = np.array([example.ratings[aspect] for example in rated])
        lengths = np.array([count_words(example.full_text) for example in rated], dtype=np.float64)
        samples.append(Sample(aspect, {name: values[at] for name, values in scores.items()}, ratings, lengths, layout))
    return samples


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


def agree(
    sample: Sample, metric: str, grouping: Grouping, resampling: Resampling, soft_ties: Ties = "mid"
) -> MetricAgreement:
    """The agreement of one metric with the ratings of a sample."""
    scores, ratings, layout = sample.scores[metric], sample.ratings, sample.layout
    kept = ~np.isnan(scores)
    groups = restrict(layout, kept).groups(grouping) if grouping in ("per_system", "per_input") else None
    # system means are too few to calibrate epsilon on
    calibrates = kept.any() and grouping != "system_means"
    epsilon = calibrate_ties(scores[kept], ratings[kept], groups) if calibrates else 0.0
    estimates = {
        name: grouped_estimate(statistic, scores, ratings, layout, grouping=grouping, resampling=resampling)
        for name, statistic in (STATISTICS | {"accuracy": pairwise_accuracy}).items()
    }
    calibrated = grouped_estimate(
        partial(pairwise_accuracy, epsilon=epsilon), scores, ratings, layout, grouping=grouping, resampling=resampling
    )
    soft = None
    if grouping == "system_means":
        soft = soft_accuracy(scores, ratings, layout, soft_ties, resampling.seed)
    return MetricAgreement(metric, sample.aspect, grouping, estimates, calibrated, epsilon, soft, int((~kept).sum()))


def soft_accuracy(scores: Floats, ratings: Floats, layout: Layout, ties: Ties, seed: int) -> Estimate:
    """Soft pairwise accuracy; undefined if a system has several outputs for one input."""
    cells = np.stack([layout.systems, layout.inputs], axis=1)
    if len(np.unique(cells, axis=0)) < len(cells):
        return Estimate.undefined("soft pairwise accuracy needs one output of each system per input")
    matrices = np.full((2, layout.system_count, layout.input_count), math.nan)
    matrices[:, layout.systems, layout.inputs] = ratings, scores
    return soft_pairwise_accuracy(*matrices, ties=ties, seed=seed)


def rank_metrics(sample: Sample, comparison: Comparison, resampling: Resampling) -> Ranking:
    """The agreement of each metric with the ratings of the examples that all ranked metrics scored.

    A metric is left out if its correlation is undefined, or if the examples in common would be fewer than
    `LEAST_COMMON` of those that the fullest metric scored. Metrics with more scores come first.
    """
    scored = {name: ~np.isnan(values) for name, values in sample.scores.items()}
    fullest = max((int(at.sum()) for at in scored.values()), default=0)
    kept, ranked, left_out = np.ones(len(sample.ratings), dtype=np.bool_), [], {}
    for name in sorted(scored, key=lambda name: -int(scored[name].sum())):
        own = sample.keep(scored[name])
        common = kept & scored[name]
        reason = explain_undefined_groups(own.scores[name], own.ratings, own.layout, comparison.grouping)
        if reason is None and common.sum() < LEAST_COMMON * fullest:
            reason = (
                f"with it, the ranked metrics would have scores of {common.sum()} examples in common, not {kept.sum()}"
            )
        if reason is None:
            kept = common
            ranked.append(name)
        else:
            left_out[name] = reason
    common = sample.keep(kept)
    agreement = {
        name: grouped_estimate(
            COMPARED[comparison.statistic],
            common.scores[name],
            common.ratings,
            common.layout,
            grouping=comparison.grouping,
            resampling=resampling,
        )
        for name in sample.scores
        if name in ranked
    }
    for name in [name for name, each in agreement.items() if math.isnan(each.estimate.value)]:
        left_out[name] = f"{agreement.pop(name).estimate.reason} (of those that all ranked metrics scored)"
    return Ranking(sample.aspect, kept, agreement, left_out)


def compare_metrics(
    sample: Sample, ranking: Ranking, comparison: Comparison, resampling: Resampling
) -> list[MetricPair]:
    """Compares every pair of metrics; p-values are adjusted for all pairs.

    Ranked metrics are compared on the examples of the ranking, others on those that both metrics scored.
    """
    common = sample.keep(ranking.kept)
    found = [
        compare_pair(common if {a, b} <= set(ranking.agreement) else sample, a, b, comparison, resampling)
        for a, b in combinations(sample.scores, 2)
    ]
    p_values = [pair.permutation_p for pair in found]
    return [
        replace(pair, holm=float(h), false_discovery=float(d))
        for pair, h, d in zip(found, holm(p_values), benjamini_hochberg(p_values), strict=True)
    ]


def compare_pair(sample: Sample, a: str, b: str, comparison: Comparison, resampling: Resampling) -> MetricPair:
    """Compares one pair of metrics; its p-values are not adjusted for other pairs."""
    of, grouping, over = COMPARED[comparison.statistic], comparison.grouping, resampling.over
    test = permutation_test(
        sample.scores[a],
        sample.scores[b],
        sample.ratings,
        sample.layout,
        kind=comparison.statistic,
        grouping=grouping,
        over=over,
        permutations=comparison.permutations,
        seed=resampling.seed,
    )
    if math.isnan(test.difference):
        none = Estimate(math.nan, math.nan, math.nan, test.reason)
        return MetricPair(sample.aspect, a, b, test.n, none, reason=test.reason)
    sample = sample.keep(~np.isnan(sample.scores[a]) & ~np.isnan(sample.scores[b]))
    layout, y = sample.layout, sample.ratings
    numbers = {"inputs": layout.inputs, "systems": layout.systems}
    units = min(numbers.values(), key=np.max) if over == "both" else numbers[over]  # of both, those that repeat more

    def difference(systems: Floats, inputs: Floats) -> Floats:
        return group(of, sample.scores[a], y, layout, grouping, systems, inputs) - group(
            of, sample.scores[b], y, layout, grouping, systems, inputs
        )

    estimate, values = grouped_bootstrap(difference, layout, resampling)
    is_tested = len(values) > 0 and explain_untestable(grouping, over) is None
    williams, detectable = math.nan, math.nan
    undetermined: str | None = "Williams' test needs independent outputs, so it needs grouping=global"
    if grouping == "global":
        tested = williams_test(sample.scores[a], sample.scores[b], y, of, groups=units.tolist())
        williams, undetermined = tested.p_value, tested.reason
        if tested.reason is None:
            best = max(tested.r_a, tested.r_b)
            detectable = detectable_difference(best, tested.r_ab, tested.n, power=POWER, level=comparison.level)
            if math.isnan(detectable):
                undetermined = f"{tested.n} examples would detect no difference with a power of {POWER:g}"
    return MetricPair(
        sample.aspect,
        a,
        b,
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
