"""The result of `judge agree`: how well metrics agree with ratings, in tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from judge.judge_checks import JudgeChecks
from judge.label_study import LabelStudy
from meta_eval.agreement import CHEAP_CUES, Agreement
from meta_eval.design import lay_out
from meta_eval.ranking import Ranking, RankingSettings, number_clusters
from meta_eval.raters import Kind, correct_agreement
from meta_eval.scored_set import ScoredSet
from report.agreement_tables import among_table, tabulate_agreement
from report.asked import Asked
from report.tables import Result, Row, Table, pick, tabulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.outcome import Outcome

PAIR_CELLS = ("aspect", "statistic", "grouping", "metric_a", "metric_b", "better")
PAIR_CELLS += ("n", "difference", "p_value", "reason")
PAIRS_CAPTION = (
    "metric_a minus metric_b. p_value: two-sided, by flips of inputs (below 30 inputs by swaps of their scores), "
    "adjusted for all pairs of an aspect and a grouping (step-down of the largest statistic); better: below {level:g}."
)
AGAINST_CUES_CAPTION = (
    f"{CHEAP_CUES} predicts the ratings by counting alone. Its prediction is fitted (cross-fitted) to the ratings of "
    "this set, those of metrics are not: a metric that does not beat it may be better elsewhere."
)


@dataclass(frozen=True)
class MetricStudy(Result):
    """How well metrics agree with ratings, and which metrics agree better than others."""

    signature: str
    # the examples with one aspect per metric, and the scores `cheap_cues`
    scored: ScoredSet
    # the agreement of each metric with each aspect, over all texts, within systems and between them
    rows: tuple[Agreement, ...]
    # by aspect and grouping
    rankings: tuple[Ranking, ...]
    # the agreement among the raters, and that of metrics corrected for it, where several people rated an aspect
    raters: tuple[Table, ...]
    # the agreement on labels, where ratings and scores are labels
    labels: LabelStudy
    # judges beside each other, where people are split, by slice and against limits
    checks: JudgeChecks
    # warnings, and the answer
    notes: tuple[str, ...]
    # what judges were asked and what they answered, and the files that have it
    asked: Sequence[Asked] = ()
    files: Sequence[Path] = ()

    @property
    def tables(self) -> list[Table]:
        """Tables of the ranking, agreement, pairs of metrics, raters and labels."""
        against = [pick(pair, PAIR_CELLS) for ranking in self.rankings for pair in ranking.against_cues]
        pairs = [pick(pair, PAIR_CELLS) for ranking in self.rankings for pair in ranking.pairs]
        caption = PAIRS_CAPTION.format(level=self.rankings[0].comparison.level)
        tables = [
            ranking_table(self.rankings),
            tabulate_agreement(self.rows),
            tabulate("Is one metric better?", caption, pairs),
            tabulate("Is a metric better than counting?", f"{caption} {AGAINST_CUES_CAPTION}", against),
            *self.raters,
            *self.labels.tables,
            *self.checks.tables,
        ]
        return [table for table in tables if table.rows]

    def present(self) -> Outcome:
        return replace(super().present(), scored=[self.scored], asked=self.asked, files=self.files)

    def draw(self) -> dict[str, Figure]:
        """Plots of the agreement of each metric, and of scores against the ratings of each aspect."""
        from report.plots import plot_intervals, scores_against_ratings

        intervals = {}
        for ranking in self.rankings:
            how = ranking.comparison
            title = f"{how.statistic} with {ranking.aspect} ({how.one_grouping}), 95 % over inputs"
            intervals[f"{how.statistic}_{ranking.aspect}_{how.one_grouping}"] = ranking.agreement, title
        against = {f"scores_{aspect}": scores_against_ratings(self.scored, aspect) for aspect in self.scored.aspects}
        return plot_intervals(intervals) | against

    @property
    def findings(self) -> list[str]:
        """The conditions of `fail_if` that failed, in sentences."""
        return self.checks.findings


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
    return tabulate("Ranking", caption, rows)


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
        tabulate("Agreement with perfectly reliable ratings", corrected_caption, corrected),
    )
