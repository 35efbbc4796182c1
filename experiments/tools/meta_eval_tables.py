"""The tables of `+exp=meta_eval`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from data.scored import ScoredFile
from experiments.contracts import Table
from experiments.report.tables import collect_reasons
from meta_eval.agreement import Agreement
from meta_eval.auditing import COUNTS_WORDS_FROM, LengthAudit
from meta_eval.bootstrap import Estimate
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling
from meta_eval.permutation import Correlation
from meta_eval.raters import krippendorff_alpha, leave_one_out
from meta_eval.significance import clusters

if TYPE_CHECKING:
    from experiments.tools.meta_eval import Comparison, MetricPair, Ranking

POWER = 0.8  # for the column `detectable`


def rank(ranking: Ranking, pairs: Sequence[MetricPair], level: float) -> dict[str, int]:
    """The cluster of each ranked metric by Holm's p-values; 1 is the best."""
    names = list(ranking.agreement)
    p_values = np.full((len(names), len(names)), math.nan)
    for pair in pairs:
        if pair.metric_a in names and pair.metric_b in names:
            i, j = names.index(pair.metric_a), names.index(pair.metric_b)
            p_values[i, j] = p_values[j, i] = pair.holm
    values = [each.value for each in ranking.agreement.values()]
    return dict(zip(names, clusters(values, p_values, level), strict=True))


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
        f"Intervals: 95 %, {resampling.method}, drawn over {resampling.over}."
    )
    return Table("Agreement with human ratings", caption, rows)


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
        cluster = rank(ranking, own, comparison.level)
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
    rows = [
        {
            "aspect": pair.aspect,
            "metric_a": pair.metric_a,
            "metric_b": pair.metric_b,
            "better": name_better(pair, comparison.level),
            "n": pair.n,
            "difference": pair.difference,
            "p_value": pair.permutation_p,
            "holm": pair.holm,
            "false_discovery": pair.false_discovery,
            "bootstrap_p": pair.bootstrap_p,
            "williams_p": pair.williams_p,
            "detectable": pair.detectable,
            "reason": pair.reason or "",
        }
        for pair in pairs
    ]
    caption = (
        f"{comparison.statistic} ({comparison.grouping}) of metric_a minus that of metric_b, with its 95 % interval. "
        f"better: the metric that agrees better, where holm is below {comparison.level:g}. "
        f"p_value: two-sided permutation test that swaps both metrics' scores of whole {resampling.over}; "
        "holm and false_discovery (Benjamini-Hochberg) adjust it for all pairs of an aspect. "
        f"detectable: the difference that this n would have found with a power of {POWER:g} (Williams' test)."
    )
    return Table("Is one metric better?", caption, rows)


def name_better(pair: MetricPair, level: float) -> str:
    """The metric that agrees better; a dash where the test does not separate the two, or is undefined."""
    if not pair.holm < level:
        return "–"
    return pair.metric_a if pair.difference.value > 0 else pair.metric_b


def length_table(found: Mapping[tuple[str, str], LengthAudit], scored: str) -> Table:
    """The table of correlations between scores and length.

    Args:
        found: by metric, or aspect of a metric, and rated aspect ("" if there are no ratings).
        scored: the name of the first column, "metric" or "aspect".
    """
    rows = [
        {
            scored: name,
            "rated": rated or "–",
            "n": each.n,
            "with_ratings": each.with_ratings,
            "with_length": each.with_length,
            "ratings_given_length": each.ratings_given_length,
            "length_given_ratings": each.length_given_ratings,
            "counts_words": "yes" if each.counts_words else "no",
        }
        for (name, rated), each in found.items()
    ]
    for row, ((_, rated), each) in zip(rows, found.items(), strict=True):
        row["reason"] = collect_reasons(row) if rated else each.with_length.reason or "the texts have no ratings"
    caption = (
        "Spearman's rho of scores with ratings and with word counts, and each with the other held fixed (partial "
        "correlation). counts_words: whether the interval of the correlation with length, ratings held fixed, lies "
        f"beyond {COUNTS_WORDS_FROM:g} on either side of 0."
    )
    return Table("Length", caption, rows)


def rater_table(file: ScoredFile, statistic: Correlation, resampling: Resampling) -> Table:
    """The table of agreement among raters by aspect."""
    over_inputs = Resampling(method="percentile", resamples=resampling.resamples, seed=resampling.seed)
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
