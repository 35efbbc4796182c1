"""Meta-evaluation: how well metrics agree with human ratings, and which metric is better (`+exp=meta_eval`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.faults import InputFaults, fault
from core.scores import Metric
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run, Table
from experiments.report.plots import intervals, scores_against_ratings
from experiments.report.tables import HUMAN_AGREEMENT
from experiments.tools.metric_scores import check_scored, score_file, show_resampling, show_signatures
from judge.auditing import length_table
from judge.tables import collect_reasons, tabulate
from meta_eval.agreement import Agreement
from meta_eval.auditing import audit_length
from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Correlation
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling
from meta_eval.ranking import (
    POWER,
    Comparison,
    MetricPair,
    Ranking,
    compare_metrics,
    list_groupings,
    measure_agreement,
    number_clusters,
    rank_metrics,
    soft_accuracy,
)
from meta_eval.raters import krippendorff_alpha, leave_one_out


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


def agreement_table(found: Sequence[Agreement], resampling: Resampling) -> Table:
    """The table of agreement by metric, aspect and grouping, with intervals."""
    rows = []
    for each in found:
        row: dict[str, Any] = {name: getattr(each, name) for name in ("metric", "aspect", "grouping", "n", "groups")}
        row |= {"pearson": each.pearson, "spearman": each.spearman, "kendall": each.kendall, **each.further}
        rows.append(row | {"unscored": each.unscored, "set": each.set, "reason": collect_reasons(row)})
    caption = (
        "Agreement of scores with ratings; higher is better. kendall is tau-b. accuracy is pairwise accuracy with "
        "ties; calibrated_accuracy counts scores within epsilon as tied; epsilon was chosen on these same ratings. "
        f"Intervals: 95 %, {resampling.interval}, drawn over {resampling.over}."
    )
    return Table(HUMAN_AGREEMENT, caption, rows)


def soft_accuracy_table(found: Mapping[tuple[str, str], Estimate]) -> Table:
    """The table of soft pairwise accuracy by metric and aspect."""
    rows = [
        {"metric": metric, "aspect": aspect, "soft_accuracy": estimate, "reason": estimate.reason or ""}
        for (metric, aspect), estimate in found.items()
    ]
    caption = (
        "Soft pairwise accuracy: how far a metric is as sure as people are about which of two systems is better, the "
        "mean over all pairs of systems; from 0 to 1, higher is better."
    )
    return Table("Agreement about systems", caption, rows)


def ranking_table(rankings: Sequence[Ranking], pairs: Sequence[Sequence[MetricPair]], comparison: Comparison) -> Table:
    """The table of metrics by aspect and rank; `pairs` holds the pairs of each ranking."""
    rows = []
    for ranking, own in zip(rankings, pairs, strict=True):
        cluster = number_clusters(ranking, own, comparison.level)
        rows += [
            {
                "aspect": ranking.aspect,
                "cluster": cluster[name],
                "metric": name,
                "n": int(ranking.kept.sum()),
                comparison.statistic: each,
                "reason": each.reason or "",
            }
            for name, each in sorted(ranking.agreement.items(), key=lambda item: (cluster[item[0]], -item[1].value))
        ]
    caption = (
        "Metrics are ranked on the n examples that all of them scored. The tests do not separate metrics of one "
        "cluster. A new one begins if every metric above differs from every metric below at "
        f"{comparison.level:g} (permutation test, Holm over all pairs)."
    )
    return Table("Ranking", caption, rows)


def pair_table(pairs: Sequence[MetricPair], comparison: Comparison, resampling: Resampling) -> Table:
    """The table of all pairs of metrics."""
    caption = (
        f"{comparison.statistic} ({comparison.grouping}) of metric_a minus that of metric_b, with its 95 % interval. "
        f"better: the metric that agrees better, where holm is below {comparison.level:g}. "
        f"p_value: two-sided permutation test that swaps both metrics' scores of whole {resampling.over}; "
        "holm and false_discovery (Benjamini-Hochberg) adjust it for all pairs of an aspect. "
        f"detectable: the difference that this n would have found with a power of {POWER:g} (Williams' test)."
    )
    columns = ("aspect", "metric_a", "metric_b", "better", "n", "difference", "p_value", "holm", "false_discovery")
    more = ("bootstrap_p", "williams_p", "detectable", "reason")
    return tabulate("Is one metric better?", caption, [({}, pair) for pair in pairs], [*columns, *more])


def rater_table(file: ScoredFile, statistic: Correlation, resampling: Resampling) -> Table:
    """The table of agreement among raters by aspect."""
    over_inputs = Resampling(interval="percentile", resamples=resampling.resamples, seed=resampling.seed)
    groups = [example.group for example in file.examples]
    layout = lay_out(len(groups), inputs=None if None in groups else groups)
    rows = []
    for aspect, table in file.raters.items():
        kind = "pearson" if statistic == "pearson" else "spearman"
        ceiling = leave_one_out(table, kind, over_inputs, layout=layout)
        row: dict[str, Any] = {"aspect": aspect, "raters": len(table)}
        for scale in ("nominal", "ordinal", "interval"):
            row[f"{scale}_alpha"] = krippendorff_alpha(table, scale, over_inputs, layout=layout)
        row["leave_one_out"] = ceiling.estimate
        rows.append(row | {"reason": collect_reasons(row)})
    caption = (
        "Krippendorff's alpha (1: full agreement, 0: chance) and the mean correlation of each rater with the mean of "
        "the others: what a person reaches, a ceiling for metrics. Intervals: 95 %, percentile, drawn over inputs."
    )
    return Table("Agreement among raters", caption, rows)
