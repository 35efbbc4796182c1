"""Studies of preferences: who wins, which judges and metrics prefer as people do, and win rates corrected by labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.errors import InputError, fault
from judge.cautions import Differences, find_choice, note_choice
from judge.pair_judging import JudgedPairs
from meta_eval.design import Floats, restrict
from meta_eval.estimates import FEWEST, Estimate, estimate_share
from meta_eval.helped import help_mean
from meta_eval.labels import SingleAgreement, agree_with_single
from meta_eval.length_control import Controlled, control_length
from meta_eval.preferences import (
    OUTCOMES,
    PANEL,
    Favour,
    PreferenceAgreement,
    Preferences,
    Verdicts,
    agree_on_preferences,
    exchanges_sides,
    find_longer,
    find_majority,
    in_both_orders,
    measure_favour,
    position_effect,
    prefer_by_scores,
    to_outcomes,
)
from meta_eval.scored_set import ScoredSet
from meta_eval.strengths import PreferenceRanking, PreferredPair, rank_by_preferences
from report.agreement_tables import describe_chance, describe_enough, show_p, single_table
from report.study import Study
from report.tables import Row, Table, pick
from report.wording import MOST_NAMED, format_cell, format_number, join_names, note_resolution

TIE = 0.5  # the outcome of a tie
WINNER = "winner"  # names the preferences themselves
SYSTEMS_CAPTION = (
    "Intervals are over inputs. A tie is half a win of each; each compared pair of k systems counts 1/(k - 1) tie more."
)
PAIRS_CAPTION = (
    "Positive where system_a is preferred. difference: of the strengths, which rest on all pairs; win_rate: on the "
    "judgements of this pair. p_value: two-sided, by flips of inputs, adjusted for all pairs (score test of equal "
    "strengths, step-down of the largest statistic)."
)
AGREEMENT_CAPTION = "Equal scores are a tie, which is an outcome. Intervals are over inputs."
FAVOURS_CAPTION = (
    "Of the n pairs of which one output is longer (in characters), how often the longer one is preferred; ties count "
    "half. Intervals are over inputs."
)
BY_PEOPLE_CAPTION = "Win rates, with intervals over inputs."
CORRECTED_CAPTION = (
    " corrected: of all {pairs} pairs, from {labels} labels and the verdicts "
    "(prediction-powered; valid for any judge if the labelled pairs are a random sample; intervals need "
    f"{FEWEST} inputs with labels)."
)
LENGTHS_CAPTION = (
    "Logistic regression on the difference of lengths, as in AlpacaEval 2. by: the judge, or "
    f"{WINNER}, the preferences themselves. Intervals are over inputs."
)
ASKED_CAPTION = (
    "Each pair is asked in both orders; the outcome is the mean of both where the model gives probabilities, else a "
    "tie unless both name the same winner. A panel says in each order what most of its judges say."
)
SYSTEM_CELLS = ("cluster", "system", "n", "wins", "ties", "losses", "win_rate", "strength")
PAIR_CELLS = ("p_value", "difference", "win_rate", "wins", "ties", "losses", "n")
PAIR_SHOWN = ("system_a", "system_b", "better", "p_value", "difference", "win_rate", "n")
AGREEMENT_CELLS = ("n", "accuracy", "kappa", "missing")
FAVOUR_CELLS = ("effect", "by_judge", "by_people", "n")
CORRECTED_SHOWN = ("judge", "system", "by_judge", "by_people", "corrected", "labels")
LENGTH_CELLS = ("win_rate", "controlled", "n")


@dataclass(frozen=True, eq=False)
class PreferenceFigures:
    """The estimates of a study of preferences."""

    ranking: PreferenceRanking
    # of the judges and metrics with each person, and of people among themselves, where several are named
    single: Sequence[SingleAgreement]
    # by judge or metric, how much more often than people it prefers the longer text; empty if lengths are not known
    favours: Mapping[str, Favour]
    # by judge or metric
    agreement: Mapping[str, PreferenceAgreement]
    # by judge that was asked, the share of wins of the output shown first, minus 1/2; of a panel it comes first
    position: Mapping[str, Estimate]
    # by judge or metric, a row for each system, the best first: its win rate by the judge, by people and corrected
    corrected: Mapping[str, Sequence[Row]]
    # by judge or metric, how labelled pairs differ from the others: corrected win rates then do not hold
    unrepresentative: Differences
    # by judge, or `WINNER`, the systems at equal lengths, the best first
    by_length: Mapping[str, Mapping[str, Controlled]]


def study_preferences(judged: JudgedPairs, texts: ScoredSet, *, seed: int, level: float) -> Study:
    """Ranks systems, and compares judges and metrics with people. Raises InputError if nobody has a preference."""
    pairs, ranked = judged.pairs, judged.ranked
    rivals = list_rivals(judged, texts) if judged.has_people else {}
    refuse_silence(judged, rivals, texts.name)
    people = ranked.by_rater()
    asked = judged.verdicts.by_judge if judged.verdicts else {}
    lengths = find_lengths(judged, texts)
    found = PreferenceFigures(
        ranking=rank_by_preferences(ranked, seed, level),
        single=list_single(people, rivals, pairs) if len(people) > 1 else [],
        favours={} if lengths is None else find_favours(pairs, rivals, lengths),
        agreement={name: agree_on_preferences(pairs, verdicts, seed) for name, verdicts in rivals.items()},
        position={name: position_effect(first, pairs.inputs) for name, first in asked.items()},
        corrected={name: correct_rates(pairs, verdicts) for name, verdicts in rivals.items()},
        unrepresentative=find_choice(pairs.outcomes, rivals, name_pairs(pairs), pairs.layout),
        by_length={} if lengths is None else control_lengths(pairs, judged.judges if rivals else {}, lengths),
    )
    return Study(
        answer=write_answer(found, level),
        tables=[*tabulate(found, judged, level)],
        notes=[
            *describe_winners(ranked, is_named=bool(rivals or len(people) > 1)),
            *note_position(found.position),
            *note_one_answer(pairs, asked),
            *(describe_judges(found.agreement) if found.single else []),
            *note_choice(found.unrepresentative, "pairs"),
            *ranked.notes,
            *note_resolution(ranked.layout.input_count, level),
        ],
        found=found,
    )


# ---- figures --------------------------------------------------------------------------------------------------------


def list_rivals(judged: JudgedPairs, texts: ScoredSet) -> dict[str, Floats]:
    """Lists the outcomes to compare with people's: of each judge, of the majority of three or more, and of metrics."""
    rivals = dict(judged.judges)
    single = judged.single_judges
    if len(single) > 2:  # of two, most say a tie wherever they differ
        rivals.setdefault(PANEL, find_majority(np.stack(single)))
    for name, scores in texts.scores.items():
        (values,) = scores.values.values()
        rivals[name] = prefer_by_scores(judged.pairs, judged.places, values)
    return rivals


def refuse_silence(judged: JudgedPairs, rivals: Mapping[str, Floats], texts: str) -> None:
    """Raises InputError if no judgement has an outcome, or if nothing that is compared with people has one."""
    is_silent = bool(np.isnan(judged.pairs.outcomes).all())
    if not is_silent and not (rivals and all(np.isnan(outcomes).all() for outcomes in rivals.values())):
        return
    why = f"the judged systems and inputs must be in {texts}, but no pair of outputs is"
    if judged.verdicts is not None:
        why = f"the judge gave no answer: {judged.verdicts.reasons[0]}"
    elif is_silent:
        why = 'at least one judgement needs a "winner", or human_labels give people\'s, but only judges judged'
    raise InputError([fault(judged.pairs.name, 0, why)])


def list_single(people: Floats, rivals: Mapping[str, Floats], pairs: Preferences) -> list[SingleAgreement]:
    """Lists the agreement with each of several people, whose outcomes have the shape (people, n).

    An outcome of a judge that gives probabilities counts as the side that it is on.
    """
    columns = to_outcomes(np.stack([*rivals.values(), *people]) - 0.5)
    layout = pairs.layout
    if exchanges_sides(pairs):
        columns, layout = in_both_orders(columns, layout)
    by_name = dict(zip(rivals, columns, strict=False))
    single = agree_with_single(columns[len(rivals) :], by_name, OUTCOMES, layout, is_ordered=False)
    orders = len(layout.inputs) // len(pairs)
    return [replace(agreement, n=agreement.n // orders) for agreement in single]


def find_lengths(judged: JudgedPairs, texts: ScoredSet) -> Floats | None:
    """Finds the lengths of both outputs, in characters, (n, 2): those of the preferences, or else of the texts."""
    if judged.pairs.lengths is not None or not judged.places:
        return judged.pairs.lengths
    padded = np.array([*(len(example.full_text) for example in texts.examples), np.nan])
    sides = [[judged.places.get(output, -1) for output in outputs] for outputs in judged.pairs.outputs]
    return np.stack([padded[side] for side in sides], axis=1)


def find_favours(pairs: Preferences, rivals: Mapping[str, Floats], lengths: Floats) -> dict[str, Favour]:
    """Measures how much more often than people each judge prefers the longer text."""
    longer = find_longer(lengths)
    return {name: measure_favour(pairs, outcomes, longer) for name, outcomes in rivals.items()}


def correct_rates(given: Preferences, verdicts: Floats) -> list[Row]:
    """Makes a row for each system with its win rate by the judge and by people, the best by people first.

    `corrected` is estimated from people's labels of some pairs and the judge's verdicts on all.
    """
    judged = replace(given, outcomes=verdicts)
    best_by = "corrected" if np.isnan(given.outcomes).any() else "by_people"
    rows: list[Row] = []
    for system in given.systems:
        compared = given.compares(system)
        by_judge = judged.of(system)
        layout = restrict(given.layout, compared)
        rate = help_mean(given.of(system)[compared], by_judge[compared], layout, is_rate=True)
        cells = rate.cells if best_by == "corrected" else {"by_people": rate.by_labels, "labels": rate.rated}
        share = Estimate.undefined("the judge gave no verdict")
        if not np.isnan(by_judge).all():
            share = estimate_share(by_judge, given.layout).only
        rows.append({"system": system, "by_judge": share, **cells})
    return sorted(rows, key=lambda row: _place_best(row[best_by]))


def name_pairs(given: Preferences) -> list[str]:
    """Names the systems of each pair, the same in both orders."""
    return [" and ".join(sorted(pair)) for pair in zip(given.systems_a, given.systems_b, strict=True)]


def control_lengths(
    pairs: Preferences, judges: Mapping[str, Floats], lengths: Floats
) -> dict[str, dict[str, Controlled]]:
    """Estimates the systems at equal lengths by judge, and by the preferences if all pairs have one."""
    sources = {WINNER: pairs.outcomes, **judges}
    if np.isnan(pairs.outcomes).any():
        del sources[WINNER]
    by_length: dict[str, dict[str, Controlled]] = {}
    for name, outcomes in sources.items():
        controlled = control_length(replace(pairs, outcomes=outcomes), lengths)
        by_length[name] = dict(sorted(controlled.items(), key=lambda each: _place_controlled(each[1])))
    return by_length


def _place_controlled(found: Controlled) -> tuple[float, float]:
    """A key that sorts the best at equal lengths first; systems without such a rate follow by their win rate."""
    return _place_best(found.controlled), _place_best(found.win_rate)


def _place_best(estimate: Estimate) -> float:
    """A key that sorts the highest estimate first, and one without a value last."""
    return -np.nan_to_num(estimate.value, nan=-math.inf)


# ---- tables ---------------------------------------------------------------------------------------------------------


def tabulate(found: PreferenceFigures, judged: JudgedPairs, level: float) -> Iterator[Table]:
    """Yields tables of systems, pairs, agreement with people, corrections and the judge."""
    systems = [pick(system, SYSTEM_CELLS) for system in found.ranking.systems]
    yield Table("Systems by preferences", SYSTEMS_CAPTION, systems)
    pairs = [
        pick(pair, PAIR_CELLS, system_a=pair.system_a, system_b=pair.system_b, better=name_better(pair, level))
        for pair in found.ranking.pairs
    ]
    yield Table("Pairs of systems by preferences", PAIRS_CAPTION, pairs, PAIR_SHOWN)
    agreement = [pick(agreement, AGREEMENT_CELLS, metric=name) for name, agreement in found.agreement.items()]
    yield Table("Agreement with preferences", AGREEMENT_CAPTION, agreement)
    yield single_table(({}, agreement) for agreement in found.single)
    favours = [pick(favour, FAVOUR_CELLS, judge=name) for name, favour in found.favours.items()]
    yield Table("How the judges favour longer texts", FAVOURS_CAPTION, favours)
    labels = int((~np.isnan(judged.pairs.outcomes)).sum())
    corrected = [{"judge": name, **row} for name, rows in found.corrected.items() for row in rows]
    caption = BY_PEOPLE_CAPTION
    if labels < len(judged.pairs):
        caption += CORRECTED_CAPTION.format(pairs=len(judged.pairs), labels=labels)
    yield Table("Systems by judges and by people", caption, corrected, CORRECTED_SHOWN)
    by_length = [
        pick(controlled, LENGTH_CELLS, by=name, system=system)
        for name, systems in found.by_length.items()
        for system, controlled in systems.items()
    ]
    yield Table("At equal lengths", LENGTHS_CAPTION, by_length)
    yield Table("The judge", ASKED_CAPTION, [*count_answers(found, judged.verdicts)])


def count_answers(found: PreferenceFigures, verdicts: Verdicts | None) -> Iterator[Row]:
    """Yields how the judge answered; of a panel, each of its judges too."""
    for name, first in verdicts.by_judge.items() if verdicts else ():
        answered = first[~np.isnan(first).any(axis=1)]
        winners = np.sign(answered - TIE)
        same = winners[:, 0] == -winners[:, 1]
        yield {
            "judge": name,
            "pairs": len(first),
            "unanswered": len(first) - len(answered),
            "same_in_both_orders": float(same.mean()) if len(same) else math.nan,
            "position_effect": found.position[name],
        }


# ---- sentences ------------------------------------------------------------------------------------------------------


def describe_winners(given: Preferences, *, is_named: bool) -> Iterator[str]:
    """Says if a model chose the winners, or if the file does not say who did.

    `is_named` says whether tables have a row called people, which the sentence then explains.
    """
    if given.by_model is None:
        yield f"{given.name} does not say whether people or a model chose the winners"
    elif given.by_model:
        named = ': "people" in tables and notes is this model' if is_named else ", not of people"
        yield f"the winners in {given.name} are verdicts of a model{named}"


def note_position(found: Mapping[str, Estimate]) -> Iterator[str]:
    """Notes if the judge, or the panel of its judges, prefers a place."""
    for position in [*found.values()][:1]:
        if position.low > 0 or position.high < 0:
            place = "first" if position.value > 0 else "second"
            yield f"the judge prefers the output that it reads {place}: see the effect of position"


def note_one_answer(pairs: Preferences, asked: Mapping[str, Floats]) -> Iterator[str]:
    """Notes each judge that gave the same answer to all questions, or to all pairs of which systems change sides."""
    for name, outcomes in {**asked, **pairs.judges, **asked}.items():
        sides = np.sign(outcomes[~np.isnan(outcomes)] - TIE)
        if len(sides) < 2 or np.ptp(sides):
            continue
        what, side = ("questions", "output that it read") if name in asked else ("pairs", "system named")
        if name in asked or sides[0] == 0 or exchanges_sides(pairs):
            answer = {1.0: f"the {side} first", -1.0: f"the {side} second"}.get(sides[0], "a tie")
            yield f"{name} gave one answer to all {len(sides)} {what}, {answer}: it tells nothing apart"


def write_answer(found: PreferenceFigures, level: float) -> str:
    """Says who wins, and whether each judge is better than chance and good enough."""
    answer = [describe_ranking(found.ranking, level)]
    if found.agreement and found.single:
        answer.append(describe_enough(found.single, found.agreement))
    elif found.agreement:
        unknown = "whether that is enough is unknown: no pair has judgements of two people"
        answer += [*describe_judges(found.agreement), unknown]
    return "; ".join(answer)


def describe_ranking(ranking: PreferenceRanking, level: float) -> str:
    """Writes a sentence: which systems the tests separate. Of many winners it names the first."""
    tested = [pair for pair in ranking.pairs if not math.isnan(pair.p_value)]
    if not tested:
        return f"the systems are not tested: {ranking.pairs[0].difference.reason}"
    order = [system.system for system in ranking.systems]
    separated = {(pair.system_a, pair.system_b): name_better(pair, level) for pair in tested if pair.p_value < level}
    parts: list[str] = []
    for name in order:
        losers = [other for other in order if name in (separated.get((name, other)), separated.get((other, name)))]
        if losers:
            parts.append(f"{name} is preferred to {join_names(losers)}")
    if parts[MOST_NAMED:]:
        parts = [*parts[:MOST_NAMED], f"{len(parts) - MOST_NAMED} more systems are preferred to others"]
    if not separated:
        least = min(pair.p_value for pair in tested)
        at_least = "at least " if order[2:] and least < 1 else ""
        parts.append(f"the tests do not separate {join_names(order)} (p {at_least}{format_number(least)})")
    elif len(separated) < len(tested):
        parts.append("the tests do not separate the others")
    if untested := len(ranking.pairs) - len(tested):
        parts.append(f"{untested} pairs that were never compared are not tested")
    return "; ".join(parts)


def name_better(pair: PreferredPair, level: float) -> str:
    """Names the preferred system of a pair, or says what the test shows instead."""
    if math.isnan(pair.p_value):
        return "not tested"
    if pair.p_value >= level:
        return "not separated"
    return pair.system_a if pair.difference.value > 0 else pair.system_b


def describe_judges(found: Mapping[str, PreferenceAgreement]) -> list[str]:
    """Says in sentences whether judges and metrics agree with people by more than chance."""
    judges_by_verdict: dict[str, list[str]] = {}
    for name, agreement in found.items():
        verdict = describe_chance(agreement.kappa, agreement.p_chance)
        shown = f"kappa {format_cell(agreement.kappa)}"
        if math.isnan(agreement.kappa.low):
            shown = f"accuracy {format_cell(agreement.accuracy)}"
        judges_by_verdict.setdefault(verdict, []).append(f"{name} ({shown}{show_p(agreement.p_chance)})")
    return [
        f"{join_names(names)} {'are' if names[1:] else 'is'} {verdict}" for verdict, names in judges_by_verdict.items()
    ]
