"""How well metrics agree with people: rankings, tests, tables, and one sentence (`judge agree`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, SettingError, fault
from core.example import hint_column
from core.signature import join_settings
from core.stages import Stages
from data.rating_words import GivenLevels
from judge.cautions import note_confounded, note_repeats
from judge.gates import Condition
from judge.label_study import JudgedAspect, answer_judges, describe_judges, hold_gate, study_judges, tabulate_judges
from judge.labelling import list_labelled
from judge.metrics import Planned
from judge.scoring import add_scores, collect_notes
from judge.verdict_files import have_texts
from meta_eval.agreement import NOT_METRICS, Agreement, add_cheap_cues, list_agreement, note_cues
from meta_eval.design import lay_out
from meta_eval.permuted import widen_interval
from meta_eval.ranking import Ranking, RankingSettings, compare_metrics, number_clusters, rank_metrics
from meta_eval.scored_set import ScoredSet
from report.agreement_sentences import ROUNDING, describe_systems, show_n
from report.agreement_tables import LEVEL, among_table, tabulate_agreement
from report.study import Study
from report.tables import Row, Table, pick
from report.wording import format_cell, join_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAIR_CELLS = ("aspect", "statistic", "metric_a", "metric_b", "better", "n", "difference", "p_value", "reason")
PAIR_SHOWN = ("metric_a", "metric_b", "better", "p_value", "difference", "n", "aspect")
RANKING_SHOWN = ("cluster", "metric", "agreement", "n", "aspect", "statistic")
PAIRS_CAPTION = (
    "metric_a minus metric_b. p_value: two-sided, by flips of inputs (below 30 inputs by swaps of their scores), "
    "adjusted for all pairs of an aspect (step-down of the largest statistic); better: below {level:g}."
)
RANKING_CAPTION = (
    "On the n examples that all metrics scored. Clusters are of permutation tests at {level:g}, adjusted for all pairs."
)


@dataclass(frozen=True)
class AgreementFigures:
    """How well metrics agree with ratings, and which metrics agree better than others."""

    # the agreement of each metric with each aspect, over all texts, within systems and between them
    rows: Sequence[Agreement]
    # of each aspect that not only judges of labels score
    rankings: Sequence[Ranking]
    # the agreement on labels, of aspects whose ratings and scores are labels
    judged: Sequence[JudgedAspect]


def score_rated(examples: ScoredSet, planned: Mapping[str, Planned], kept: Stages | None) -> ScoredSet:
    """Adds the scores of metrics to rated examples.

    Raises InputError if no example is rated, or if only some rated examples have a system or group; SettingError for no
    score and for a reserved name.
    """
    if not examples.aspects:
        rule = 'at least one example needs "ratings", such as {"coherence": 4}'
        message = f"{rule}, found none in {len(examples)} examples"
        message += hint_column("ratings.ASPECT", examples.examples[0].extra)
        raise InputError([fault(examples.locate(0)[0], 0, message)])
    rated = [i for i, each in enumerate(examples.examples) if each.ratings]
    for name in ("system", "group"):
        lacking = [i for i in rated if getattr(examples.examples[i], name) is None]
        if 0 < len(lacking) < len(rated):
            raise InputError(fault(*examples.locate(i), f'"{name}" is needed here, as in other lines') for i in lacking)
    if not (examples.scores or planned):
        rule = "scores are needed: pass metrics or scores"
        raise SettingError(f"{rule}, or a judge's verdicts as the file and these ratings as labels")
    scored = add_scores(examples, planned, kept)
    if reserved := [name for name in NOT_METRICS if name in scored.scores]:
        raise SettingError(f"the name {reserved[0]} is reserved for a row that is no metric: rename these scores")
    return scored


def study_agreement(
    unordered: ScoredSet,
    comparison: RankingSettings,
    levels: GivenLevels,
    *,
    conditions: Sequence[Condition],
    baseline: str | None,
    cues: bool,
    seed: int,
) -> Study:
    """Compares metrics with ratings, and judges with labels, of a scored set (`judge.agree`)."""
    order = order_by_name(unordered)
    scored = unordered.take(order)
    has_texts = have_texts(scored)
    has_cues = cues and has_texts
    split = scored.negate(comparison.lower_is_better).split_aspects()
    shown = add_cheap_cues(split, seed) if has_cues else split
    negated = split.scores.keys() - scored.split_aspects().scores.keys()
    labelled = study_judges(list_labelled(split, levels, negated), seed)
    judged = {aspect.name: aspect for aspect in labelled}
    gate = hold_gate(labelled, conditions, baseline, comparison.level)
    rows = list_agreement(shown, seed, has_cues=has_cues)
    rankings: dict[str, Ranking] = {}
    for aspect in split.aspects:
        metrics = {row.metric for row in rows if row.aspect == aspect} - {*NOT_METRICS}
        if aspect in judged and metrics <= judged[aspect].agreement.keys():
            continue
        rated = split.rated(aspect)
        ranking = rank_metrics(rated, aspect, comparison)
        rankings[aspect] = replace(ranking, pairs=compare_metrics(rated, ranking, seed))
    line = join_settings("meta_eval", comparison, n=len(scored))
    of_levels = "" if levels == "auto" else f"|levels={levels}"
    of_page = shown.take(np.argsort(order))
    return Study(
        answer=answer_question(rankings, rows, judged, level=comparison.level, has_cues=has_texts),
        tables=[
            *tabulate_metrics(rows, rankings, comparison.level),
            among_table("Agreement among raters", scored.raters, lay_out(len(scored), inputs=scored.groups)),
            *tabulate_judges(labelled),
        ],
        notes=[
            *scored.notes,
            *(note_empty(scored) if has_texts else []),
            *collect_notes(scored.scores),
            *note_cues(rows),
            *note_reversed(rows),
            *note_repeats(scored),
            *note_confounded(scored),
            *note_unranked(rankings),
            *describe_judges(labelled),
            *(sentence for _, sentence in gate),
        ],
        signature="|".join([line, f"seed={seed}{of_levels}", *shown.signatures]),
        found=AgreementFigures(rows, [*rankings.values()], labelled),
        findings=[sentence for has_failed, sentence in gate if has_failed],
        draw=lambda: draw_agreement(of_page),
        scored=[of_page],
    )


def order_by_name(scored: ScoredSet) -> list[int]:
    """Sorts examples by input, system and id, so that the order of rows does not change random draws; returns indices.

    Shorter names come first, so that 10 follows 9.
    """

    names = [(example.group or example.id, example.system or "", example.id) for example in scored.examples]
    return sorted(range(len(scored)), key=lambda place: [(len(name), name) for name in names[place]])


def draw_agreement(scored: ScoredSet) -> dict[str, Figure]:
    """Draws scores against the ratings of each aspect."""
    from report.plots import scores_against_ratings

    return {f"scores_{aspect}": scores_against_ratings(scored, aspect) for aspect in scored.aspects}


# ---- tables ---------------------------------------------------------------------------------------------------------


def tabulate_metrics(rows: Sequence[Agreement], rankings: Mapping[str, Ranking], level: float) -> list[Table]:
    """Tabulates the ranking, the agreement with ratings, and the tests of pairs of metrics."""
    ranked = [row for ranking in rankings.values() for row in list_ranked(ranking)]
    pairs = [pick(pair, PAIR_CELLS) for ranking in rankings.values() for pair in ranking.pairs]
    return [
        Table("Ranking", RANKING_CAPTION.format(level=level), ranked, RANKING_SHOWN),
        tabulate_agreement(rows),
        Table("Is one metric better?", PAIRS_CAPTION.format(level=level), pairs, PAIR_SHOWN),
    ]


def list_ranked(ranking: Ranking) -> list[Row]:
    """Lists the ranked metrics of an aspect, the best first."""
    where = {"aspect": ranking.aspect, "statistic": ranking.comparison.statistic, "n": int(ranking.kept.sum())}
    cluster = number_clusters(ranking)
    best_first = sorted(ranking.agreement.items(), key=lambda item: -item[1].value)
    return [{**where, "cluster": cluster[name], "metric": name, "agreement": each} for name, each in best_first]


# ---- sentences ------------------------------------------------------------------------------------------------------


def note_empty(scored: ScoredSet) -> list[str]:
    """Notes how many answers are empty, and of which systems."""
    empty = [example for example in scored.examples if example.is_empty]
    if not empty:
        return []
    counts = Counter(example.system for example in empty if example.system is not None)
    by_system = ", ".join(f"{number} of {name}" for name, number in counts.items())
    said = f"{len(empty)} of {len(scored)} answers {'are' if empty[1:] else 'is'} empty"
    return [f"{said} ({by_system})" if by_system else said]


def note_unranked(rankings: Mapping[str, Ranking]) -> list[str]:
    """Notes each metric that has no rank for an aspect."""
    return [
        f"{name} is not ranked by {aspect}: {reason}"
        for aspect, ranking in rankings.items()
        for name, reason in ranking.left_out.items()
    ]


def note_reversed(rows: Sequence[Agreement]) -> list[str]:
    """Notes each metric whose rank correlation with people over all texts is significantly negative.

    The p-value of its permutation test is adjusted for the number of metrics.
    """
    return [
        f"{row.metric} agrees with {row.aspect} in reverse over all texts (spearman {format_cell(row.spearman)}): "
        f"if its lower scores are better, name {row.metric.split('/')[0]} in lower_is_better"
        for row in rows
        if row.p_chance < LEVEL and row.spearman.value < 0
    ]


def answer_question(
    rankings: Mapping[str, Ranking],
    rows: Sequence[Agreement],
    judged: Mapping[str, JudgedAspect],
    *,
    level: float,
    has_cues: bool,
) -> str:
    """Writes the answer for each aspect: which metric agrees best, and whether others are as good or it is a cheap cue.

    If every metric is a judge of labels, the answer says instead how well the judges agree with people, and whether
    that is enough.
    """
    answers: list[str] = []
    for aspect in dict.fromkeys(row.aspect for row in rows):
        if aspect in rankings:
            clauses = _answer_by_aspect(
                rankings[aspect],
                [row for row in rows if row.aspect == aspect],
                judged.get(aspect),
                has_cues=has_cues,
            )
            answers.append(f"{aspect}: {'; '.join(clauses)}.")
        else:
            answers.append(answer_judges(judged[aspect], level))
    return " ".join(answers)


def _answer_by_aspect(
    ranking: Ranking,
    rows: Sequence[Agreement],
    judges: JudgedAspect | None,
    *,
    has_cues: bool,
) -> list[str]:
    """The clauses about the metric that agrees best; of judges or people, the last is whether a judge is enough."""
    if not ranking.agreement:
        return ["no metric can be ranked"]
    best, *others = sorted(ranking.agreement, key=lambda name: -ranking.agreement[name].value)
    clauses = [
        _name_best(ranking, best, others, rows),
        *describe_systems(rows, best),
        *_describe_tests(ranking, best, others),
        *_describe_interval(ranking, best),
    ]
    if has_cues:
        clauses.append(_describe_beyond(ranking, best, rows))
    if judges is not None and (best in judges.agreement or judges.single):
        clauses.append(judges.describe_enough())
    return clauses


def _name_best(ranking: Ranking, best: str, others: Sequence[str], rows: Sequence[Agreement]) -> str:
    """The metric that agrees best, with its agreement, and on which texts if these are not all in the table."""
    n = ranking.kept.sum()
    is_all = all(row.n == n for row in rows if row.metric in ranking.agreement)
    where = "over all texts" if is_all else f"on the {n} texts that all ranked metrics scored"
    agreement = ranking.agreement
    shown = f"({ranking.comparison.statistic} {format_cell(agreement[best])})"
    equal = [name for name in others if math.isclose(agreement[name].value, agreement[best].value, abs_tol=ROUNDING)]
    if not others:
        return f"{best} is the only ranked metric {shown}, {where}"
    if equal:
        return f"{where} {join_names([best, *equal])} have the same highest agreement {shown}"
    return f"{where} {best} agrees best {shown}"


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
    agreement = ranking.agreement[best]
    if math.isnan(agreement.low):
        return ["without an interval its agreement may be chance"]
    if widen_interval(agreement, looked_at).low <= 0:
        of_many = f" adjusted for {looked_at} metrics" if looked_at > 1 else ""
        return [f"no agreement above 0 is shown by its interval{of_many}"]
    return []


def _describe_beyond(ranking: Ranking, best: str, rows: Sequence[Agreement]) -> str:
    """Whether the best metric agrees beyond cheap cues over all texts, adjusted for the choice of the best."""
    beyond = next(row.beyond_cues for row in rows if row.metric == best)
    if math.isnan(beyond.low):
        return "whether it agrees beyond length, repetition and overlap is unknown"
    is_beyond = widen_interval(beyond, len(ranking.agreement)).low > 0
    verb = "agrees" if is_beyond else "is not shown to agree"
    return f"{best} {verb}{show_n(rows, best)} beyond additive effects of length, repetition and overlap"
