"""Tables of `judge agree`: the ranking of metrics, pairs of metrics, and agreement corrected for that of raters."""

from __future__ import annotations

from collections.abc import Sequence

from meta_eval.agreement import CHEAP_CUES, Agreement
from meta_eval.design import lay_out
from meta_eval.ranking import MetricPair, Ranking, RankingSettings, number_clusters
from meta_eval.raters import Kind, correct_agreement
from meta_eval.scored_set import ScoredSet
from report.agreement_tables import among_table, tabulate_agreement
from report.tables import Row, Table, pick

PAIR_CELLS = ("aspect", "statistic", "grouping", "metric_a", "metric_b", "better")
PAIR_CELLS += ("n", "difference", "p_value", "reason")
PAIR_SHOWN = ("metric_a", "metric_b", "better", "p_value", "difference", "n", "aspect", "grouping")
RANKING_SHOWN = ("cluster", "metric", "agreement", "n", "aspect", "statistic", "grouping")
PAIRS_CAPTION = (
    "metric_a minus metric_b. p_value: two-sided, by flips of inputs (below 30 inputs by swaps of their scores), "
    "adjusted for all pairs of an aspect and a grouping (step-down of the largest statistic); better: below {level:g}."
)
AGAINST_CUES_CAPTION = (
    f"{CHEAP_CUES} predicts the ratings by counting alone. Its prediction is fitted (cross-fitted) to the ratings of "
    "this set, those of metrics are not: a metric that does not beat it may be better elsewhere."
)


def tabulate_metrics(rows: Sequence[Agreement], rankings: Sequence[Ranking]) -> list[Table]:
    """Tabulates the ranking, the agreement with ratings, and the tests of pairs of metrics and against cheap cues."""
    caption = PAIRS_CAPTION.format(level=rankings[0].comparison.level)
    pairs = [pair for ranking in rankings for pair in ranking.pairs]
    against = [pair for ranking in rankings for pair in ranking.against_cues]
    return [
        ranking_table(rankings),
        tabulate_agreement(rows),
        tabulate_pairs("Is one metric better?", caption, pairs),
        tabulate_pairs("Is a metric better than counting?", f"{caption} {AGAINST_CUES_CAPTION}", against),
    ]


def tabulate_pairs(title: str, caption: str, pairs: Sequence[MetricPair]) -> Table:
    """Tabulates tests of pairs of metrics."""
    return Table(title, caption, [pick(pair, PAIR_CELLS) for pair in pairs], PAIR_SHOWN)


def ranking_table(rankings: Sequence[Ranking]) -> Table:
    """Tabulates the ranked metrics by aspect and grouping."""
    rows: list[Row] = []
    for ranking in rankings:
        comparison = ranking.comparison
        where = {
            "aspect": ranking.aspect,
            "statistic": comparison.statistic,
            "grouping": comparison.one_grouping,
        }
        n = int(ranking.kept.sum())
        cluster = number_clusters(ranking)
        best_first = sorted(ranking.agreement.items(), key=lambda item: -item[1].value)
        for name, agreement in best_first:
            rows.append({**where, "cluster": cluster[name], "metric": name, "n": n, "agreement": agreement})
    level = rankings[0].comparison.level
    caption = (
        "On the n examples that all metrics scored. Clusters are of permutation tests at "
        f"{level:g}, adjusted for all pairs."
    )
    return Table("Ranking", caption, rows, RANKING_SHOWN)


def rater_tables(scored: ScoredSet, metrics: ScoredSet, comparison: RankingSettings) -> tuple[Table, ...]:
    """Tabulates the agreement among raters by aspect, and the agreement of metrics corrected for it."""
    kind: Kind = "pearson" if comparison.statistic == "pearson" else "spearman"
    layout = lay_out(len(scored), inputs=scored.groups)
    columns = ("n", "agreement", "corrected")
    corrected: list[Row] = []
    for aspect, ratings in scored.raters.items():
        for name in metrics.scores:
            scores = metrics.values(name, aspect)
            figures = correct_agreement(scores, ratings, kind=kind, layout=layout)
            corrected.append(pick(figures, columns, aspect=aspect, metric=name))
    corrected_caption = (
        f"Correlations ({kind.title()}) with the mean rating. corrected: divided by the ceiling (Spearman's "
        "correction for attenuation); it may exceed 1 by chance. Intervals: 95 %, over inputs."
    )
    return (
        among_table("Agreement among raters", scored.raters, layout, kind),
        Table("Agreement with perfectly reliable ratings", corrected_caption, corrected),
    )
