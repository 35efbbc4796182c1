"""Meta-evaluation: how well metrics agree with human ratings, and which metric is better (`+exp=meta_eval`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from baselines.word_count import count_words
from core.faults import InputFaults, SettingFault, fault
from core.scores import Metric
from core.settings import Count, Fraction, check, checked_dataclass
from data.rated import RatedSet
from data.scored import ScoredFile
from experiments.report.plots import intervals, scores_against_ratings
from experiments.runner.contracts import Outcome, Run, ScoredSet
from experiments.tools.meta_eval_tables import (
    POWER,
    agreement_table,
    length_table,
    pair_table,
    ranking_table,
    rater_table,
    soft_accuracy_table,
)
from experiments.tools.metric_scores import check_scored, flatten, score_file, show_signatures
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
    count_drawn,
    grouped_bootstrap,
    grouped_estimate,
    restrict,
)
from meta_eval.pairs import calibrate_ties, kendall_c, pairwise_accuracy
from meta_eval.permutation import Correlation, permutation_test
from meta_eval.planning import detectable_difference
from meta_eval.significance import benjamini_hochberg, holm
from meta_eval.soft_accuracy import soft_pairwise_accuracy

STATISTICS = {"pearson": pearson, "spearman": spearman, "kendall": kendall, "kendall_c": kendall_c}
COMPARED = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


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
    """Which of two metrics agrees better with one rated aspect; `better` has the higher correlation.

    Attributes:
        difference: of their correlations, with the interval of the paired bootstrap.
        permutation_p, bootstrap_p, williams_p: two-sided p-values; NaN if a test is undefined. Williams' test assumes
            independent examples, so it is given for the global grouping only.
        holm, false_discovery: the permutation test's p-value, adjusted for all pairs of an aspect.
        detectable: the difference that Williams' test would detect with a power of .8 at this n.
    """

    aspect: str
    better: str
    worse: str
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


@checked_dataclass
class Comparison:
    """How metrics are compared.

    Attributes:
        statistic: the correlation with the ratings.
        grouping: over all examples, or within systems or inputs, or between systems.
        permutations: of the permutation test.
        level: of significance, for clusters and power.
    """

    statistic: Correlation
    grouping: Grouping
    permutations: Count
    level: Fraction


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
            agree(sample, name, each, resampling)
            for sample in samples
            for each in list_groupings(sample.layout, grouping)
            for name in sample.scores
        ]
    with run.timed("tests"):
        pairs = {sample.aspect: compare_metrics(sample, comparison, resampling) for sample in samples}
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
        signature=f"meta_eval|n={len(file.examples)}|{show_signatures(scored)}",
        tables=[
            agreement_table(found, file.path.name, resampling),
            *([soft_accuracy_table(found)] if any(each.soft_accuracy for each in found) else []),
            ranking_table(chosen, pairs, statistic, comparison.level),
            pair_table([pair for each in pairs.values() for pair in each], statistic, grouping),
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
        notes=note_gaps(file),
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


def agree(sample: Sample, metric: str, grouping: Grouping, resampling: Resampling) -> MetricAgreement:
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
        soft = soft_accuracy(scores, ratings, layout, resampling.seed)
    return MetricAgreement(metric, sample.aspect, grouping, estimates, calibrated, epsilon, soft, int((~kept).sum()))


def soft_accuracy(scores: Floats, ratings: Floats, layout: Layout, seed: int) -> Estimate:
    """Soft pairwise accuracy; undefined if a system has several outputs for one input."""
    cells = np.stack([layout.systems, layout.inputs], axis=1)
    if len(np.unique(cells, axis=0)) < len(cells):
        return Estimate.undefined("soft pairwise accuracy needs one output of each system per input")
    matrices = np.full((2, layout.system_count, layout.input_count), math.nan)
    matrices[:, layout.systems, layout.inputs] = ratings, scores
    return soft_pairwise_accuracy(*matrices, seed=seed)


def compare_metrics(sample: Sample, comparison: Comparison, resampling: Resampling) -> list[MetricPair]:
    """Compares every pair of metrics, the better one first; p-values are adjusted for all pairs."""
    found = [compare_pair(sample, a, b, comparison, resampling) for a, b in combinations(sample.scores, 2)]
    p_values = [pair.permutation_p for pair in found]
    return [
        replace(pair, holm=float(h), false_discovery=float(d))
        for pair, h, d in zip(found, holm(p_values), benjamini_hochberg(p_values), strict=True)
    ]


def compare_pair(sample: Sample, a: str, b: str, comparison: Comparison, resampling: Resampling) -> MetricPair:
    """Compares one pair of metrics; its p-values are not adjusted for other pairs."""
    of, grouping = COMPARED[comparison.statistic], comparison.grouping
    test = permutation_test(
        sample.scores[a],
        sample.scores[b],
        sample.ratings,
        sample.layout,
        kind=comparison.statistic,
        grouping=grouping,
        permutations=comparison.permutations,
        seed=resampling.seed,
    )
    if test.reason is not None:
        none = Estimate(math.nan, math.nan, math.nan, test.reason)
        return MetricPair(sample.aspect, a, b, test.n, none, reason=test.reason)
    better, worse = (a, b) if test.difference >= 0 else (b, a)
    kept = ~np.isnan(sample.scores[a]) & ~np.isnan(sample.scores[b])
    layout, y = restrict(sample.layout, kept), sample.ratings[kept]
    high, low = sample.scores[better][kept], sample.scores[worse][kept]

    def difference(systems: Floats, inputs: Floats) -> Floats:
        return group(of, high, y, layout, grouping, systems, inputs) - group(
            of, low, y, layout, grouping, systems, inputs
        )

    estimate, values = grouped_bootstrap(difference, layout, resampling)
    williams, detectable = math.nan, math.nan
    undetermined: str | None = "Williams' test assumes independent outputs, so it needs grouping=global"
    if grouping == "global":
        tested = williams_test(high, low, y, of)
        williams, undetermined = tested.p_value, tested.reason
        if tested.reason is None:
            detectable = detectable_difference(tested.r_a, tested.r_ab, tested.n, power=POWER, level=comparison.level)
            if math.isnan(detectable):
                undetermined = f"{tested.n} examples would detect no difference with a power of {POWER:g}"
    return MetricPair(
        sample.aspect,
        better,
        worse,
        test.n,
        estimate,
        permutation_p=test.p_value,
        bootstrap_p=bootstrap_p_value(values, count_drawn(layout, resampling.over)) if len(values) else math.nan,
        williams_p=williams,
        detectable=detectable,
        reason="; ".join(reason for reason in (estimate.reason, undetermined) if reason) or None,
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
