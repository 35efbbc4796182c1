"""Tables and sentences about preferences: systems, pairs of systems, judges and their biases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from judge.correcting import Corrections
from meta_eval.design import Floats
from meta_eval.estimates import Estimate
from meta_eval.labels import SingleAgreement
from meta_eval.preferences import Favour, PreferenceAgreement, Preferences, Verdicts, position_effect
from meta_eval.strengths import Fit, PreferenceRanking, PreferredPair
from report.agreement_tables import describe_chance, describe_enough, single_table
from report.tables import Row, Table, pick
from report.wording import MOST_NAMED, format_cell, format_number, join_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ALL = "all"
TIE = 0.5  # the outcome of a tie
SYSTEMS_CAPTION = (
    "Intervals are over inputs. A tie is half a win of each; each compared pair of k systems counts 1/(k - 1) tie more."
)
PAIRS_CAPTION = (
    "Positive where system_a is preferred. difference: of the strengths, which rest on all pairs; win_rate: on the "
    "judgements of this pair. p_value: two-sided, by flips of inputs, adjusted for all pairs (score test of equal "
    "strengths, step-down of the largest statistic)."
)
AMONG_CAPTION = "Of win, tie and loss. Intervals are over inputs."
AGREEMENT_CAPTION = (
    "Equal scores are a tie, which is an outcome; untied counts it half, and .5 is chance. Intervals are over inputs."
)
FAVOURS_CAPTION = (
    "Of the n pairs of which one output is longer (in characters), how often the longer one is preferred; ties count "
    "half. Intervals are over inputs."
)
ASKED_CAPTION = (
    "Each pair is asked in both orders; the outcome is the mean of both where the model gives probabilities, else a "
    "tie unless both name the same winner. A panel says in each order what most of its judges say."
)
SYSTEM_CELLS = ("cluster", "system", "n", "wins", "ties", "losses", "win_rate", "strength")
PAIR_CELLS = ("p_value", "difference", "win_rate", "wins", "ties", "losses", "n")
PAIR_SHOWN = ("system_a", "system_b", "better", "p_value", "difference", "win_rate", "n")
AGREEMENT_CELLS = ("n", "accuracy", "kappa", "untied", "missing")
FAVOUR_CELLS = ("effect", "by_judge", "by_people", "n")


@dataclass(frozen=True, eq=False)
class PreferenceStudy:
    """A study of preferences: which systems are preferred, and which metrics agree with people."""

    ranking: PreferenceRanking
    level: float
    # how many people, or judges, there are where they are several, and Krippendorff's alpha among them
    among: Mapping[str, tuple[int, Estimate]]
    # of the judges and metrics with each person, and of people among themselves, where several are named
    single: Sequence[SingleAgreement]
    # by judge or metric, how much more often than people it prefers the longer text
    favours: Mapping[str, Favour]
    # by metric, and by its pair of systems, or by `ALL` twice
    agreement: Mapping[tuple[str, str, str], PreferenceAgreement]
    # of the judge that was asked, and the inputs of its pairs
    verdicts: Verdicts | None
    judged_inputs: Sequence[str]
    # of the ranking, by labels and for lengths
    corrections: Corrections
    # the sentence that the winners are a model's, or that the file does not say so; else ""
    whose: str
    # how the judgements were read, and what the number of inputs limits
    resolution: Sequence[str]

    @property
    def tables(self) -> list[Table]:
        """Tables of systems, pairs, raters, agreement of metrics, corrections and the judge."""
        systems = [pick(system, SYSTEM_CELLS) for system in self.ranking.systems]
        among = [{"who": who, "raters": number, "alpha": alpha} for who, (number, alpha) in self.among.items()]
        favours = [pick(favour, FAVOUR_CELLS, judge=name) for name, favour in self.favours.items()]
        agreement = [
            pick(agreement, AGREEMENT_CELLS, metric=name, system_a=a, system_b=b)
            for (name, a, b), agreement in self.agreement.items()
        ]
        return [
            Table("Systems by preferences", SYSTEMS_CAPTION, systems),
            Table("Pairs of systems by preferences", PAIRS_CAPTION, [*self._judge_pairs()], PAIR_SHOWN),
            Table("Agreement among raters", AMONG_CAPTION, among),
            Table("Agreement with preferences", AGREEMENT_CAPTION, agreement),
            single_table(({}, agreement) for agreement in self.single),
            Table("How the judges favour longer texts", FAVOURS_CAPTION, favours),
            *self.corrections.tables,
            Table("The judge", ASKED_CAPTION, [*self._count_answers()]),
        ]

    def draw(self) -> dict[str, Figure]:
        """Plots the strength of each system."""
        from report.plots import plot_intervals

        strengths = {system.system: system.strength for system in self.ranking.systems}
        return plot_intervals({"strengths": (strengths, "strength of Bradley and Terry (log odds), 95 %")})

    def _judge_pairs(self) -> Iterator[Row]:
        """The pairs of systems, each with the verdict of its tests."""
        for pair in self.ranking.pairs:
            verdict = find_better(pair, self.level)
            if verdict is None:
                verdict = "not tested" if math.isnan(pair.p_value) else "not separated"
            yield pick(pair, PAIR_CELLS, system_a=pair.system_a, system_b=pair.system_b, better=verdict)

    def _count_answers(self) -> Iterator[Row]:
        """How the judge answered; of a panel, each of its judges too."""
        by_judge = self.verdicts.by_judge if self.verdicts else {}
        for name, first in by_judge.items():
            answered = np.asarray(~np.isnan(first).any(axis=1))
            winners = np.sign(first[answered] - 0.5)
            same = winners[:, 0] == -winners[:, 1]
            yield {
                "judge": name,
                "pairs": len(answered),
                "unanswered": int((~answered).sum()),
                "same_in_both_orders": float(same.mean()) if answered.any() else math.nan,
                "position_effect": position_effect(first, self.judged_inputs),
            }

    @property
    def position(self) -> Estimate | None:
        """The judge's position bias: the share of wins of the output shown first, minus 1/2; None without a judge."""
        return None if self.verdicts is None else position_effect(self.verdicts.first, self.judged_inputs)

    @property
    def whole(self) -> dict[str, PreferenceAgreement]:
        """The agreement of each judge and metric on all pairs of systems."""
        return {name: agreement for (name, a, _), agreement in self.agreement.items() if a == ALL}

    @property
    def notes(self) -> list[str]:
        """The limits of the ranking, and what its corrections change."""
        return [
            *filter(None, [self.whose]),
            *note_position(self.position),
            *note_missing(self.whole),
            *note_favours(self.favours),
            *note_circle(self.ranking.pairs),
            *note_one_answer(self.verdicts),
            *note_fit(self.ranking.fit, self.ranking.pairs, self.level),
            *(describe_judges(self.whole) if self.single else []),
            *self.corrections.notes,
            *self.resolution,
        ]

    @property
    def answer(self) -> str:
        """Says who wins, and whether each judge is better than chance and good enough."""
        answer = [describe_ranking(self.ranking, self.level)]
        if self.whole and self.single:
            answer.append(describe_enough(self.single, self.whole))
        elif self.whole:
            unknown = "whether that is enough is unknown: no pair has judgements of two people"
            answer += [*describe_judges(self.whole), unknown]
        return "; ".join(answer)


def note_position(position: Estimate | None) -> list[str]:
    """Notes if the judge prefers the output that it reads first, or the output that it reads second."""
    if position is None or not _excludes_0(position):
        return []
    place = "first" if position.value > 0 else "second"
    return [f"the judge prefers the output that it reads {place}: see the effect of position"]


def note_missing(whole: Mapping[str, PreferenceAgreement]) -> list[str]:
    """Notes the metric or judge that lacks the most verdicts; an empty list if none lacks a verdict."""
    most = max(whole, key=lambda name: whole[name].missing, default="")
    if not most or not whole[most].missing:
        return []
    judged = whole[most].n
    pairs = judged + whole[most].missing
    return [f"{most} judges only {judged} of {pairs} pairs: the others lack an output with a score, or a verdict"]


def note_favours(favours: Mapping[str, Favour]) -> list[str]:
    """Notes judges that are shown to prefer the longer output more or less often than people do."""
    notes: list[str] = []
    for name, favour in favours.items():
        if _excludes_0(favour.effect):
            than = "more" if favour.effect.value > 0 else "less"
            effect = format_cell(favour.effect)
            notes.append(f"{name} prefers the longer text {than} often than people do: effect {effect}")
    return notes


def _excludes_0(estimate: Estimate) -> bool:
    return estimate.low > 0 or estimate.high < 0


def note_one_answer(verdicts: Verdicts | None) -> list[str]:
    """Notes each judge that gave the same answer to all questions."""
    words = {1.0: "the output that it read first", -1.0: "the output that it read second"}
    by_judge = verdicts.by_judge if verdicts else {}
    notes: list[str] = []
    for name, first in by_judge.items():
        answers = np.sign(first[~np.isnan(first)] - 0.5)
        if len(answers) > 1 and np.ptp(answers) == 0:
            answer = words.get(answers[0], "a tie")
            notes.append(f"{name} gave one answer to all {len(answers)} questions, {answer}: it tells nothing apart")
    return notes


def note_one_side(judged: Preferences) -> list[str]:
    """Notes each judge of a file that gave one answer to all pairs, and winners that are all on one side.

    One answer to all pairs says something only if no system is on both sides.
    """
    are_exchanged = not {*judged.systems_a}.isdisjoint(judged.systems_b)
    notes: list[str] = []
    for name, outcomes in judged.judges.items():
        known = outcomes[~np.isnan(outcomes)]
        if not _is_one_answer(known):
            continue
        answer = _name_answer(float(known[0]), judged)
        note = f"{name} gave one answer to all {len(known)} pairs, {answer}"
        if are_exchanged or known[0] == TIE:
            note += ": it tells nothing apart"
        notes.append(note)
    winners = judged.outcomes[~np.isnan(judged.outcomes)]
    if are_exchanged and _is_one_answer(winners) and winners[0] != TIE:
        answer = _name_answer(float(winners[0]), judged)
        notes.append(f"all {len(winners)} winners are {answer}, whichever it is: they tell nothing apart")
    return notes


def _is_one_answer(outcomes: Floats) -> bool:
    """Whether several outcomes are all the same."""
    return len(outcomes) > 1 and bool(np.ptp(outcomes) == 0)


def _name_answer(outcome: float, judged: Preferences) -> str:
    """The only answer to all pairs: a system if it is the same in all, else a side."""
    if outcome == TIE:
        return "a tie"
    place = "first"
    systems = {*judged.systems_a}
    if outcome < TIE:
        place = "second"
        systems = {*judged.systems_b}
    return systems.pop() if len(systems) == 1 else f"the system named {place}"


def note_fit(fit: Fit, pairs: Sequence[PreferredPair], level: float) -> list[str]:
    """Notes if the win rates of pairs do not fit the strengths by which systems are ranked."""
    if fit.worst is None or not fit.p_value < level:
        return []
    a, b = fit.worst
    rate = next(pair.win_rate for pair in pairs if (pair.system_a, pair.system_b) == fit.worst)
    p = format_number(fit.p_value)
    return [
        f"win rates of pairs do not follow one order of strengths (p {p}), most those of {a} and {b}: {a} wins "
        f"{format_cell(rate)} in place of {format_number(fit.expected)}; read the table of pairs"
    ]


def describe_ranking(ranking: PreferenceRanking, level: float) -> str:
    """Writes a sentence: which systems the tests separate. Of many winners it names the first."""
    if not any(pair.p_value <= 1 for pair in ranking.pairs):
        return f"the systems are not tested: {ranking.pairs[0].difference.reason}"
    untested = sum(math.isnan(pair.p_value) for pair in ranking.pairs)
    never = [f"{untested} pairs that were never compared are not tested"] if untested else []
    order = [system.system for system in ranking.systems]
    beaten: dict[str, list[str]] = {}
    for pair in ranking.pairs:
        winner = find_better(pair, level)
        if winner is not None:
            loser = pair.system_b if winner == pair.system_a else pair.system_a
            beaten.setdefault(winner, []).append(loser)
    if not beaten:
        return "; ".join([_describe_unseparated(ranking, order), *never])
    winners = [name for name in order if name in beaten]
    parts = [f"{name} is preferred to {join_names(sorted(beaten[name], key=order.index))}" for name in winners]
    if parts[MOST_NAMED:]:
        parts = [*parts[:MOST_NAMED], f"{len(parts) - MOST_NAMED} more systems are preferred to others"]
    if sum(map(len, beaten.values())) + untested < len(ranking.pairs):
        parts.append("the tests do not separate the others")
    return "; ".join([*parts, *never])


def _describe_unseparated(ranking: PreferenceRanking, order: Sequence[str]) -> str:
    """That the tests separate no pair, with the smallest p-value."""
    least = min(pair.p_value for pair in ranking.pairs if not math.isnan(pair.p_value))
    at_least = "at least " if order[2:] and least < 1 else ""
    return f"the tests do not separate {join_names(order)} (p {at_least}{format_number(least)})"


def find_better(pair: PreferredPair, level: float) -> str | None:
    """Finds the preferred system of a pair; None if the test does not separate the two."""
    if not pair.p_value < level:
        return None
    return pair.system_a if pair.difference.value > 0 else pair.system_b


def note_circle(pairs: Sequence[PreferredPair]) -> list[str]:
    """Notes if preferences between systems form a circle: a beats b, b beats c, and c beats a.

    Because these are many tests, a win rate counts only if it is twice as far from 1/2 as its interval reaches.
    """
    better: dict[str, list[str]] = {}
    for pair in pairs:
        rate = pair.win_rate
        if 2 * rate.low - rate.value > 0.5:
            better.setdefault(pair.system_b, []).append(pair.system_a)
        elif 2 * rate.high - rate.value < 0.5:
            better.setdefault(pair.system_a, []).append(pair.system_b)
    try:
        TopologicalSorter(better).prepare()
    except CycleError as error:
        circle = ", ".join(f"{name} is preferred to {other}" for name, other in pairwise(error.args[1]))
        return [f"no order fits these pairs, and their strengths say little: {circle}"]
    return []


def describe_judges(whole: Mapping[str, PreferenceAgreement]) -> list[str]:
    """Says in sentences whether judges and metrics agree with people by more than chance."""
    judges_by_verdict: dict[str, list[str]] = {}
    for name, agreement in whole.items():
        verdict = describe_chance(agreement.kappa, agreement.p_chance)
        shown = f"kappa {format_cell(agreement.kappa)}"
        if math.isnan(agreement.kappa.low):
            shown = f"without ties {format_cell(agreement.untied)}"
        judges_by_verdict.setdefault(verdict, []).append(f"{name} ({shown})")
    return [
        f"{join_names(names)} {'are' if names[1:] else 'is'} {verdict}" for verdict, names in judges_by_verdict.items()
    ]
