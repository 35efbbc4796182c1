"""Sentences of `judge agree`: which metric agrees best with people, how surely, and whether this is good enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

from judge.label_study import JudgedAspect, answer_judges
from meta_eval.agreement import NOT_METRICS, Agreement
from meta_eval.permuted import widen_interval
from meta_eval.ranking import Ranking
from report.agreement_sentences import ROUNDING, describe_systems
from report.agreement_tables import LEVEL
from report.wording import format_cell, join_names

GROUPED = {
    "global": "over all texts",
    "within_systems": "within systems",
    "within_inputs": "within inputs",
    "between_systems": "between the means of these systems",
}


def note_unranked(rankings: Sequence[Ranking]) -> list[str]:
    """Notes each metric that has no rank for an aspect."""
    return [
        f"{name} is not ranked by {ranking.aspect} ({ranking.comparison.one_grouping}): {reason}"
        for ranking in rankings
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
    rankings: Sequence[Ranking],
    rows: Sequence[Agreement],
    judged: Sequence[JudgedAspect],
    *,
    level: float,
    has_cues: bool,
) -> str:
    """Writes the answer for each aspect: which metric agrees best, and whether others are as good or it is a cheap cue.

    If every metric is a judge of labels, the answer says instead how well the judges agree with people, and whether
    that is enough.
    """
    first = {ranking.aspect: ranking for ranking in reversed(rankings)}
    labelled = {aspect.name: aspect for aspect in judged}
    answers: list[str] = []
    for aspect in reversed(first):
        of_aspect = [row for row in rows if row.aspect == aspect]
        judges = labelled.get(aspect)
        if judges is not None and _are_all_judges(of_aspect, judges):
            answers.append(answer_judges(judges, level))
        else:
            clauses = _answer_by_aspect(first[aspect], of_aspect, judges, has_cues=has_cues)
            answers.append(f"{aspect}: {'; '.join(clauses)}.")
    return " ".join(answers)


def _are_all_judges(rows: Sequence[Agreement], judges: JudgedAspect) -> bool:
    """Whether every metric of an aspect is a judge of labels, and the kappa of one has an interval."""
    metrics = {row.metric for row in rows} - {*NOT_METRICS}
    has_interval = any(not math.isnan(agreement.kappa.low) for agreement in judges.agreement.values())
    return has_interval and metrics <= judges.agreement.keys()


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
    clauses = [_name_best(ranking, best, others)]
    if ranking.comparison.grouping == "global":
        clauses += describe_systems(rows, best)
    clauses += [*_describe_tests(ranking, best, others), *_describe_interval(ranking, best)]
    if has_cues:
        clauses.append(_describe_beyond(ranking, best, rows))
    if judges is not None and (best in judges.agreement or judges.single):
        clauses.append(judges.describe_enough())
    return clauses


def _name_best(ranking: Ranking, best: str, others: Sequence[str]) -> str:
    """The metric that agrees best, with its agreement."""
    agreement = ranking.agreement
    where = GROUPED[ranking.comparison.one_grouping]
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
    names = [(pair.metric_a, pair.metric_b) for pair in pairs if pair.better != best]
    unseparated = [name for both in names for name in both if name != best]
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
    where = "" if ranking.comparison.grouping == "global" else " over all texts"
    beyond = next(row.beyond_cues for row in rows if row.metric == best)
    if math.isnan(beyond.low):
        return f"whether it agrees beyond length, repetition and overlap{where} is unknown"
    is_beyond = widen_interval(beyond, len(ranking.agreement)).low > 0
    verb = "agrees" if is_beyond else "is not shown to agree"
    return f"{best} {verb} beyond additive effects of length, repetition and overlap{where}"
