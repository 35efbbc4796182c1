"""Finds which metric agrees best with people: agreement with ratings, also beyond cheap cues; tests of metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError, SettingError, check_names, fault
from core.example import Example, hint_column
from core.scores import Scores
from core.signature import join_settings
from data.roles import can_be_labels
from judge.agreement_tables import LEVEL, among_table, tabulate_agreement
from judge.answers import Asked, check_answers, list_asked_texts, write_answers
from judge.cautions import note_copied_ratings, note_groupings, note_raters, note_repeats
from judge.inputs import Columns, GivenScores, Source
from judge.judge_checks import CheckSettings, JudgeChecks, answer_judges, check_judges
from judge.label_files import Labels
from judge.labelling import Labelling, LabelStudy, study_labels
from judge.metrics import Metrics, plan_metrics
from judge.tables import Result, Row, Table, pick, tabulate
from judge.verbs.score import add_scores, collect_notes, note_empty, open_stages
from judge.verdict_files import Names, have_texts, read_verdicts
from judge.wording import bound_answer, format_cell, join_names
from meta_eval.agreement import CHEAP_CUES, Agreement, add_cheap_cues, measure_aspect, note_cues
from meta_eval.chance import widen_interval
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling
from meta_eval.labels import LabelAgreement
from meta_eval.ranking import (
    Ranking,
    RankingSettings,
    compare_metrics,
    compare_with_cues,
    list_groupings,
    number_clusters,
    rank_metrics,
)
from meta_eval.raters import Kind, correct_agreement
from meta_eval.scored_set import ScoredSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from judge.report.outcome import Outcome

PAIR_CELLS = ("aspect", "statistic", "grouping", "metric_a", "metric_b", "better")
PAIR_CELLS += ("n", "difference", "p_value", "reason")
PAIRS_CAPTION = (
    "metric_a minus metric_b. p_value: two-sided permutation test that swaps both metrics' scores of whole inputs, "
    "adjusted for all pairs of an aspect and a grouping (step-down of the largest statistic); better: below {level:g}."
)
GROUPED = {
    "per_system": "within systems",
    "per_input": "within inputs",
    "system_means": "between the means of these systems",
}
AGAINST_CUES = (
    f"{CHEAP_CUES} predicts the ratings by counting alone. Its prediction is fitted (cross-fitted) to the ratings of "
    "this set, those of metrics are not: a metric that does not beat it may be better elsewhere."
)


@dataclass(frozen=True)
class MetricStudy(Result):
    """How well metrics agree with ratings, and which agree better."""

    signature: str
    # the examples with one aspect per metric, and the scores `cheap_cues`
    scored: ScoredSet
    # the agreement of each metric with each aspect, by grouping
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
            tabulate("Is a metric better than counting?", f"{caption} {AGAINST_CUES}", against),
            *self.raters,
            *self.labels.tables,
            *self.checks.tables,
        ]
        return [table for table in tables if table.rows]

    def present(self) -> Outcome:
        return replace(super().present(), scored=[self.scored], asked=self.asked, files=self.files)

    def draw(self) -> dict[str, Figure]:
        """Plots of the agreement of each metric, and of scores against the ratings of each aspect."""
        from judge.report.plots import plot_intervals, scores_against_ratings

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


def agree(
    source: Source,
    metrics: Metrics = (),
    *,
    scores: GivenScores | None = None,
    columns: Columns | None = None,
    people: Names = (),
    judges: Names = (),
    labels: Labels | None = None,
    by: str | None = None,
    fail_if: str | Sequence[str] = (),
    baseline: str | None = None,
    margin: float = 0.1,
    cues: bool = True,
    answers: Path | str | None = None,
    stages: Path | str | None = None,
    **settings: Any,
) -> MetricStudy:
    """Finds out which metric, or judge, agrees best with human ratings, with intervals and tests.

    Args:
        source: rated texts, as `judge.read` takes them with `scores` and `columns`, or its result. Labels and verdicts
            need no texts: their columns are recognised by name and values (`data.roles`), and a note says which.
        metrics: to run, beside those whose scores are there (`judge.load_metric`); one with several aspects counts as
            several metrics.
        scores: by name, files that `judge score` wrote for the same texts.
        columns: by field its column of the file.
        people: the columns, scorers of a log or raters that are people.
        judges: the columns that hold verdicts of judges.
        labels: a file, rows or a DataFrame with people's labels of some of the texts, joined by id.
        by: a column by whose values the agreement of judges of labels is split.
        fail_if: conditions that fail the study where a test shows them (`meta_eval.gates`), such as `kappa < 0.6`;
            `findings` then says which, and the command ends with exit code 3.
        baseline: the judge from which the drops of `fail_if` are counted.
        margin: a difference of kappas that does not matter: judges that are shown to differ by less are as good.
        cues: whether agreement stands beside that of cheap cues; without texts it does not.
        answers: a .jsonl file for every text with the answers of llm_judge, which `judge agree` reads as it is; a page
            beside it (.md) shows the same to a person.
        stages: a folder that keeps the scores of the metrics.
        settings: of `meta_eval.ranking.RankingSettings` (statistic, grouping, permutations, level, lower_is_better), of
            `meta_eval.intervals.Resampling` (resamples, seed) and of `judge.labelling.Labelling` (levels, thresholds).

    Raises SettingError for wrong settings and where there is no score, InputError as `check_rated`.

    >>> from judge.inputs import read
    >>> rows = [{"text": "word " * n, "ratings": {"quality": n % 4}} for n in range(1, 9)]
    >>> found = agree(read(rows, scores={"ours": [1, 2, 3, 0, 1, 2, 3, 0]}), permutations=99)
    >>> [(row.metric, row.n, row.spearman.value) for row in found.rows]
    [('ours', 8, 1.0)]
    """
    comparison, resampling, labelling = _read_settings(settings)
    written = check_answers(answers)
    kept = open_stages(stages)
    planned = plan_metrics(metrics, stages=kept and kept.root)
    examples, probabilities = read_verdicts(
        source,
        columns=columns,
        levels=labelling.levels,
        people=people,
        judges=judges,
        labels=labels,
        scores=scores,
        needs=("people",) if planned else ("people", "judges"),
    )
    check_rated(examples)
    has_texts = have_texts(examples)
    cues = cues and has_texts
    if not (examples.scores or planned):
        raise SettingError("scores are needed: pass metrics or scores")
    scored = add_scores(examples, planned, kept)
    if cues and CHEAP_CUES in scored.scores:
        raise SettingError(f"the name {CHEAP_CUES} is reserved for the surface-feature baseline: rename these scores")
    order = order_by_name(scored)
    scored = scored.take(order)
    split = negate(scored, comparison.lower_is_better).split_aspects()
    studied = study_labels(split, labelling, resampling, probabilities)
    asked = CheckSettings(by=by, fail_if=fail_if, baseline=baseline, margin=margin, level=comparison.level)
    checks = check_judges(split, labelling, asked, resampling, probabilities)
    shown = add_cheap_cues(split, resampling.seed) if cues else split
    rows: list[Agreement] = []
    rankings: list[Ranking] = []
    for aspect in split.aspects:
        rated = split.rated(aspect)
        with_cues = shown.rated(aspect)
        comparisons = comparison.expand(rated.layout)
        groupings = list_groupings(rated.layout, comparisons[0].one_grouping)
        rows += measure_aspect(with_cues, aspect, resampling, groupings=groupings, has_cues=cues)
        for one in comparisons:
            ranking = rank_metrics(rated, aspect, one, resampling)
            pairs = compare_metrics(rated, ranking, resampling)
            against_cues = compare_with_cues(with_cues, ranking, resampling)
            rankings.append(replace(ranking, pairs=pairs, against_cues=against_cues))
    notes = [
        *scored.notes,
        *(note_empty(scored) if has_texts else ()),
        *collect_notes(scored.scores),
        *note_cues(rows),
        *note_reversed(rows),
        *note_copied_ratings(scored),
        *note_repeats(scored),
        *note_raters(scored),
        *note_groupings(rows),
        *note_unranked(rankings),
        *studied.notes,
        *checks.notes,
    ]
    answer = answer_question(rankings, rows, studied, checks, has_cues=has_texts)
    answered = list_asked_texts(scored.take(np.argsort(order)), has_own_ratings=labels is None)
    line = join_settings("meta_eval", comparison, n=len(scored))
    return MetricStudy(
        signature="|".join([line, resampling.signature + labelling.signature, *shown.signatures]),
        scored=shown.take(np.argsort(order)),
        rows=tuple(rows),
        rankings=tuple(rankings),
        raters=rater_tables(scored, split, comparison, resampling),
        labels=studied,
        checks=checks,
        notes=(*notes, *bound_answer(answer)),
        asked=answered,
        files=write_answers(answered, written),
    )


def _read_settings(settings: Mapping[str, Any]) -> tuple[RankingSettings, Resampling, Labelling]:
    """The settings of the comparison, of intervals and of labels; raises SettingError for other names."""
    kinds = (RankingSettings, Resampling, Labelling)
    kind_by_name = {field.name: kind for kind in kinds for field in fields(kind)}
    check_names(settings, kind_by_name, "agree")
    by_kind: dict[type, dict[str, Any]] = {kind: {} for kind in kinds}
    for name, value in settings.items():
        by_kind[kind_by_name[name]][name] = value
    return (
        RankingSettings(**by_kind[RankingSettings]),
        Resampling(**by_kind[Resampling]),
        Labelling(**by_kind[Labelling]),
    )


def order_by_name(scored: ScoredSet) -> list[int]:
    """Sorts examples by input, system and id, so that the order of rows does not change random draws; returns indices.

    Shorter names come first, so that 10 follows 9.
    """

    def name_example(place: int) -> list[tuple[int, str]]:
        example = scored.examples[place]
        names = (example.group or example.id, example.system or "", example.id)
        return [(len(name), name) for name in names]

    return sorted(range(len(scored)), key=name_example)


def check_rated(scored: ScoredSet) -> None:
    """Raises InputError if no example is rated, or if only some rated examples have a system or group."""
    if not scored.aspects:
        rule = 'at least one example needs "ratings", such as {"coherence": 4}'
        found = f"found none in {len(scored)} examples{hint_ratings(scored.examples)}"
        raise InputError([fault(scored.locate(0)[0], 0, f"{rule}, {found}")])
    rated = [i for i, each in enumerate(scored.examples) if each.ratings]
    for name in ("system", "group"):
        lacking = [i for i in rated if getattr(scored.examples[i], name) is None]
        if 0 < len(lacking) < len(rated):
            raise InputError(fault(*scored.locate(i), f'"{name}" is needed here, as in other lines') for i in lacking)


def hint_ratings(examples: Sequence[Example]) -> str:
    """The end of a message: how to name the ratings of people, by the labels or columns that the file has."""
    if any(example.label is not None for example in examples):
        return "; labels are what a text was asked for: people=label takes them for what people say"
    values: dict[str, list[Any]] = {}
    for example in examples:
        for name, value in example.extra.items():
            values.setdefault(name, []).append(value)
    likely = [name for name in values if can_be_labels(values[name])]
    return hint_column("ratings.ASPECT", likely or values)


def negate(scored: ScoredSet, lower_is_better: Sequence[str]) -> ScoredSet:
    """Negates the scores of these metrics, and adds `(negated)` to their names."""
    check_names(lower_is_better, scored.scores, "lower_is_better")
    scores: dict[str, Scores] = {}
    for name, found in scored.scores.items():
        if name in lower_is_better:
            negated = {aspect: -values for aspect, values in found.values.items()}
            scores[f"{name} (negated)"] = replace(found, values=negated)
        else:
            scores[name] = found
    return replace(scored, scores=scores)


def note_unranked(rankings: Sequence[Ranking]) -> list[str]:
    """A sentence for each metric that has no rank by an aspect."""
    return [
        f"{name} is not ranked by {ranking.aspect} ({ranking.comparison.one_grouping}): {reason}"
        for ranking in rankings
        for name, reason in ranking.left_out.items()
    ]


def note_reversed(rows: Sequence[Agreement]) -> list[str]:
    """A sentence for each metric with a significantly negative agreement.

    Its permutation p-value is adjusted for the number of metrics.
    """
    return [
        f"{row.metric} agrees with {row.aspect} in reverse ({format_cell(row.spearman)}): if its lower scores are "
        f"better, name {row.metric.split('/')[0]} in lower_is_better"
        for row in rows
        if row.p_chance < LEVEL and row.spearman.value < 0
    ]


def answer_question(
    rankings: Sequence[Ranking],
    rows: Sequence[Agreement],
    labels: LabelStudy,
    checks: JudgeChecks,
    *,
    has_cues: bool,
) -> str:
    """Writes the answer: the metric that agrees best, those not separated from it, whether it is just a cheap cue.

    If every metric is a judge of labels, the answer is how well they agree with people, and whether it is enough.
    """
    first = {ranking.aspect: ranking for ranking in reversed(rankings)}
    aspects = dict.fromkeys(ranking.aspect for ranking in rankings)
    answers: list[str] = []
    for aspect in aspects:
        metrics = {row.metric for row in rows if row.aspect == aspect and row.metric != CHEAP_CUES}
        judges = {name for of, name in labels.agreement if of == aspect}
        if judges and metrics <= judges and any(_has_interval(labels.agreement[aspect, name]) for name in judges):
            answers.append(f"{answer_judges(aspect, labels, checks)}.")
        else:
            answers.append(f"{aspect}: {_answer_by_aspect(first[aspect], rows, has_cues=has_cues)}.")
    return " ".join(answers)


def _has_interval(found: LabelAgreement) -> bool:
    return not math.isnan(found.kappa.low)


def _answer_by_aspect(ranking: Ranking, rows: Sequence[Agreement], *, has_cues: bool) -> str:
    if not ranking.agreement:
        return "no metric can be ranked"
    best, *others = sorted(ranking.agreement, key=lambda name: -ranking.agreement[name].value)
    clauses = [
        _name_best(ranking, best, others),
        *_describe_tests(ranking, best, others),
        *_describe_interval(ranking, best),
    ]
    if has_cues:
        clauses.append(_describe_beyond(ranking, best, rows))
    return "; ".join(clauses)


def _name_best(ranking: Ranking, best: str, others: Sequence[str]) -> str:
    """The metric that agrees best, with its agreement."""
    agreement = ranking.agreement
    grouping = ranking.comparison.one_grouping
    where = "" if grouping == "global" else f", {GROUPED[grouping]}"
    shown = f"({ranking.comparison.statistic} {format_cell(agreement[best])}{where})"
    equal = [name for name in others if math.isclose(agreement[name].value, agreement[best].value, abs_tol=1e-9)]
    if not others:
        return f"{best} is the only ranked metric {shown}"
    if equal:
        return f"{join_names([best, *equal])} have the same highest agreement {shown}"
    return f"{best} agrees best {shown}"


def _describe_tests(ranking: Ranking, best: str, others: Sequence[str]) -> list[str]:
    """Whether the tests separate the best metric from the others."""
    if not others:
        return []
    pairs = [pair for pair in ranking.pairs if best in (pair.metric_a, pair.metric_b)]
    unseparated = [pair.metric_b if pair.metric_a == best else pair.metric_a for pair in pairs if pair.better != best]
    if all(math.isnan(pair.p_value) for pair in pairs):
        return [f"no test compares {best} with {join_names(unseparated)}"]
    if unseparated:
        return [f"the tests do not separate {best} from {join_names(unseparated)}"]
    return ["the tests separate it from every other ranked metric"]


def _describe_interval(ranking: Ranking, best: str) -> list[str]:
    """What the interval of the best metric does not show, adjusted for the choice of the best."""
    looked_at = len(ranking.agreement)
    found = ranking.agreement[best]
    if math.isnan(found.low):
        return ["without an interval its agreement may be chance"]
    if widen_interval(found, looked_at).low <= 0:
        of_many = f" adjusted for {looked_at} metrics" if looked_at > 1 else ""
        return [f"no agreement above 0 is shown by its interval{of_many}"]
    return []


def _describe_beyond(ranking: Ranking, best: str, rows: Sequence[Agreement]) -> str:
    """Whether the best metric agrees beyond cheap cues, adjusted for the choice of the best."""
    wanted = (best, ranking.aspect, "global")
    beyond = next(row.beyond_cues for row in rows if (row.metric, row.aspect, row.grouping) == wanted)
    if math.isnan(beyond.low):
        return f"whether it agrees beyond length, repetition and overlap is unknown ({beyond.reason})"
    is_beyond = widen_interval(beyond, len(ranking.agreement)).low > 0
    verb = "agrees" if is_beyond else "is not shown to agree"
    return f"{best} {verb} beyond additive effects of length, repetition and overlap"


def ranking_table(rankings: Sequence[Ranking]) -> Table:
    """The table of metrics by aspect, grouping and rank."""
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


def rater_tables(
    scored: ScoredSet, metrics: ScoredSet, comparison: RankingSettings, resampling: Resampling
) -> tuple[Table, ...]:
    """The agreement among raters by aspect, and the agreement of metrics corrected for it."""
    kind: Kind = "pearson" if comparison.statistic == "pearson" else "spearman"
    layout = lay_out(len(scored), inputs=scored.groups)
    columns = ("n", "agreement", "ceiling", "corrected")
    corrected: list[Row] = []
    for aspect, ratings in scored.raters.items():
        for name in metrics.scores:
            scores = metrics.values(name, aspect)
            found = correct_agreement(scores, ratings, kind=kind, resampling=resampling, layout=layout)
            corrected.append(pick(found, columns, aspect=aspect, metric=name))
    corrected_caption = (
        f"Correlations ({kind.title()}) with the mean rating. corrected: divided by the ceiling (Spearman's "
        "correction for attenuation); it may exceed 1 by chance. Intervals: 95 %, percentile, drawn over inputs."
    )
    return (
        among_table("Agreement among raters", scored.raters, layout, kind, resampling),
        tabulate("Agreement with perfectly reliable ratings", corrected_caption, corrected),
    )
