"""How well judges agree with the labels of people: figures of each aspect, tables, sentences and gates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import SettingError, check_names, setting
from judge.cautions import Differences, find_choice, note_choice
from judge.gates import Condition, decide, find_confidence
from judge.labelling import LabelledAspect
from meta_eval.design import Floats
from meta_eval.estimates import Estimate, Estimates, estimate_mean, estimate_share
from meta_eval.helped import help_mean
from meta_eval.judges import (
    JudgeDifference,
    compare_judges,
    estimate_agreement,
    estimate_change,
    find_constant,
    name_difference,
)
from meta_eval.labels import PEOPLE, LabelAgreement, SingleAgreement, agree_on_labels, agree_with_single, assign_labels
from report.agreement_tables import describe_chance, describe_enough, show_p
from report.tables import Row, Table, pick
from report.wording import format_cell, join_names

ALL = "all"  # of systems
LABEL_CELLS = ("n", "accuracy", "kappa", "harshness", "missing")
AGREEMENT_SHOWN = ("judge", "n", "kappa", "accuracy", "harshness", "with_people", "aspect")
PAIRS_SHOWN = ("judge_a", "judge_b", "n", "kappa", "p_kappa", "harshness", "p_harshness", "aspect")
CORRECTED_SHOWN = ("judge", "by_judge", "by_people", "corrected", "labels", "texts", "system", "aspect")
AGREEMENT_CAPTION = (
    "The judge's labels against the median of people's; texts whose median lies between two labels are left out. A "
    "score gives the nearest label. kappa: of more than two labels the weighted one. with_people: kappa with single "
    "people (Davies and Fleiss), beside people among themselves. Intervals: 95 %, over inputs."
)
CORRECTED_CAPTION = (
    "The mean label (of labels 0 and 1 the rate) of all texts. corrected: prediction-powered, valid for any judge if "
    "the labelled texts are a random sample. Intervals: 95 %, over inputs."
)
PAIRS_CAPTION = (
    "judge_b minus judge_a on the n texts that both labelled. p_NAME: two-sided tests by sign flips of inputs, "
    "adjusted for all pairs and statistics of an aspect. Intervals: 95 %, over inputs."
)


@dataclass(frozen=True, eq=False)
class JudgedAspect:
    """How well judges agree with the labels of people for one aspect."""

    labelled: LabelledAspect
    # by judge
    agreement: Mapping[str, LabelAgreement]
    # the label that most texts have, and its agreement as the label of all of them
    constant: tuple[float, LabelAgreement]
    # of judges with each person and of people among themselves, where several people are known
    single: Sequence[SingleAgreement]
    # of each pair of judges
    pairs: Sequence[JudgeDifference]
    # where only some texts are labelled, a row for the mean label by judge and system
    corrected: Sequence[Row]
    # by judge, how the labelled texts differ from the others: corrected means then do not hold
    unrepresentative: Differences

    @property
    def name(self) -> str:
        return self.labelled.aspect

    def describe_enough(self) -> str:
        """Writes a clause: whether the judges agree with people as well as people agree among themselves."""
        return describe_enough(self.single, self.agreement)


def study_judges(labelled: Iterable[LabelledAspect], seed: int) -> list[JudgedAspect]:
    """Measures the judges of each aspect that has some."""
    return [judge_aspect(aspect, seed) for aspect in labelled if aspect.judges]


def judge_aspect(labelled: LabelledAspect, seed: int) -> JudgedAspect:
    """Measures how well the judges of one aspect agree with people."""
    scored = labelled.texts
    people = labelled.consensus
    labels = labelled.labels
    layout = labelled.rated.layout
    label = find_constant(people)
    agreement: dict[str, LabelAgreement] = {}
    for name, judged in labelled.judged.items():
        agreement[name] = agree_on_labels(
            people,
            judged,
            labels,
            layout,
            seed,
        )
    constant = agree_on_labels(
        people,
        np.full(len(people), label),
        labels,
        layout,
    )
    single: Sequence[SingleAgreement] = ()
    if labelled.has_several:
        single = agree_with_single(
            labelled.people,
            labelled.judged,
            labels,
            layout,
        )
    pairs = compare_judges(
        people,
        labelled.judged,
        labels,
        layout,
        seed=seed,
    )
    verdicts = {name: scored.values(name, labelled.aspect) for name in labelled.judges}
    chosen = find_choice(
        scored.ratings(labelled.aspect),
        verdicts,
        scored.systems,
        scored.layout,
    )
    return JudgedAspect(
        labelled=labelled,
        agreement=agreement,
        constant=(label, constant),
        single=single,
        pairs=pairs,
        corrected=[*correct_means(labelled)] if len(labelled.rated) < len(scored) else (),
        unrepresentative=chosen,
    )


def correct_means(labelled: LabelledAspect) -> Iterator[Row]:
    """Yields the mean label of all texts of each system, by each judge and by people.

    That by people is estimated from the labelled texts, and corrected with the scores that the judge gave to all.
    """
    is_rate = not np.setdiff1d(labelled.labels, (0, 1)).size
    estimate = estimate_share if is_rate else estimate_mean
    for system, texts in ({part.name: part for part in labelled.texts.by_system()} or {ALL: labelled.texts}).items():
        ratings = texts.ratings(labelled.aspect)
        for name in labelled.judges:
            scores = texts.values(name, labelled.aspect)
            by_people = help_mean(
                ratings,
                scores,
                texts.layout,
                is_rate=is_rate,
            )
            judged = assign_labels(scores, labelled.labels)
            cells = {"aspect": labelled.aspect, "judge": name, "system": system, "texts": len(texts)}
            yield {**cells, "by_judge": estimate(judged, texts.layout).only, **by_people.cells}


# ---- tables ---------------------------------------------------------------------------------------------------------


def tabulate_judges(judged: Sequence[JudgedAspect]) -> list[Table]:
    """Tabulates agreement on labels, pairs of judges, and corrected means."""
    agreement: list[Row] = []
    pairs: list[Row] = []
    corrected: list[Row] = []
    for aspect in judged:
        agreement += list_agreement(aspect)
        pairs += [list_pair(aspect.name, pair) for pair in aspect.pairs]
        corrected += aspect.corrected
    return [
        Table("Agreement on labels", AGREEMENT_CAPTION, agreement, AGREEMENT_SHOWN),
        Table("Judges side by side", PAIRS_CAPTION, pairs, PAIRS_SHOWN),
        Table("Mean labels by judges and by people", CORRECTED_CAPTION, corrected, CORRECTED_SHOWN),
    ]


def list_agreement(aspect: JudgedAspect) -> Iterator[Row]:
    """Yields the agreement of each judge, of a constant judge, whose kappa is 0, and of people among themselves."""
    single = {each.name: each for each in aspect.single}
    for name, agreement in aspect.agreement.items():
        cells = pick(agreement, LABEL_CELLS, aspect=aspect.name, judge=name)
        if name in single:
            cells["with_people"] = single[name].kappa
        yield cells
    label, constant = aspect.constant
    named = f"always {label:g} (a constant)"
    yield {**pick(constant, ("n", "accuracy", "missing"), aspect=aspect.name, judge=named), "kappa": 0.0}
    if PEOPLE in single:
        people = single[PEOPLE]
        yield {"aspect": aspect.name, "judge": PEOPLE, "n": people.n, "with_people": people.kappa}


def list_pair(aspect: str, found: JudgeDifference) -> Row:
    """Lists the cells of a pair of judges."""
    names = {"aspect": aspect, "judge_a": found.judge_a, "judge_b": found.judge_b, "n": found.n}
    p_values = {f"p_{name}": found.p_values.get(name, math.nan) for name in found.differences}
    return {**names, **found.differences, **p_values}


# ---- gates ----------------------------------------------------------------------------------------------------------


def hold_gate(
    judged: Sequence[JudgedAspect],
    conditions: Sequence[Condition],
    baseline: str | None,
    level: float,
) -> list[tuple[bool, str]]:
    """Decides each condition for each judge and aspect; drops are differences from the baseline judge.

    Raises SettingError if no judge, or no baseline, can meet the conditions.
    """
    if conditions and not judged:
        raise SettingError("fail_if needs a judge of labels, but no scores are labels that people gave")
    judges = dict.fromkeys(name for aspect in judged for name in aspect.agreement)
    check_names([] if baseline is None else [baseline], judges, "baseline")
    if any(condition.is_drop for condition in conditions) and (baseline is None or len(judges) < 2):
        raise SettingError(f"a drop needs another judge as its baseline: {setting('baseline', 'JUDGE')}")
    wanted = [
        (aspect, judge, condition)
        for aspect in judged
        for judge in aspect.agreement
        for condition in conditions
        if not condition.is_drop or judge != baseline
    ]
    outcomes: list[tuple[bool, str]] = []
    for aspect, judge, condition in wanted:
        confidence = find_confidence(level, len(wanted), is_two_sided=condition.quantity == "harshness")
        quantity = measure_quantity(aspect.labelled, judge, condition, baseline)
        outcomes.append(decide(condition, quantity, f"{aspect.name} by {judge}", confidence))
    return outcomes


def measure_quantity(labelled: LabelledAspect, judge: str, condition: Condition, baseline: str | None) -> Estimates:
    """Estimates the quantity of a condition."""
    people, judged, labels, layout = labelled.consensus, labelled.judged, labelled.labels, labelled.rated.layout
    if not condition.is_drop:
        return estimate_agreement(people, judged[judge], labels, layout)[condition.quantity]
    drops = estimate_change(
        people,
        judged[judge],
        judged[str(baseline)],
        labels,
        layout,
    )
    return drops[condition.quantity.removesuffix(" drop")]


# ---- sentences ------------------------------------------------------------------------------------------------------


def describe_judges(judged: Sequence[JudgedAspect]) -> Iterator[str]:
    """Yields notes on each judge beside chance, and on labels that are no random sample."""
    for aspect in judged:
        of_judges = [describe_labels(name, agreement) for name, agreement in aspect.agreement.items()]
        yield from (f"{aspect.name}: {note}" for note in (*of_judges, *note_choice(aspect.unrepresentative, "texts")))


def describe_labels(name: str, agreement: LabelAgreement) -> str:
    """Says whether a judge agrees with people on labels by more than chance."""
    if not math.isnan(agreement.only_label):
        return f"{name} gives the label {agreement.only_label:g} to all {agreement.n} texts"
    kappa = agreement.kappa
    named = name_kappa(agreement.labels)
    shown = f"{named} {format_cell(kappa)}{show_p(agreement.p_chance)}"
    return f"{name} is {describe_chance(kappa, agreement.p_chance)} ({shown})"


def name_kappa(labels: Floats) -> str:
    """Names the kappa of these labels: of more than two it is weighted."""
    return "weighted kappa" if len(labels) > 2 else "kappa"


def answer_judges(aspect: JudgedAspect, level: float) -> str:
    """Writes the answer for an aspect: how well judges agree with people, the main difference, whether it is enough."""
    kappas = {name: agreement.kappa for name, agreement in aspect.agreement.items()}
    best, *others = sorted(kappas, key=lambda name: -np.nan_to_num(kappas[name].value, nan=-math.inf))
    named = name_kappa(aspect.labelled.labels)
    clauses = [f"{aspect.name}: the {named} of {best} with people is {format_cell(kappas[best])}"]
    if math.isnan(kappas[best].low):
        clauses.append("without an interval its agreement may be chance")
    harshness = aspect.agreement[best].harshness
    if harshness.low > 0 or harshness.high < 0:
        clauses.append(f"its labels are {_direct('harshness', harshness)} on average")
    clauses += _describe_others(best, others, aspect.pairs, level)
    return f"{'; '.join([*clauses, aspect.describe_enough()])}."


def _direct(statistic: str, difference: Estimate) -> str:
    """A difference in words: its direction and its size."""
    above, below = ("milder", "harsher") if statistic == "harshness" else (f"{statistic} higher", f"{statistic} lower")
    if difference.value > 0:
        return f"{above} by {format_cell(difference)}"
    return f"{below} by {format_cell(difference.negate())}"


def _describe_others(best: str, others: Sequence[str], pairs: Sequence[JudgeDifference], level: float) -> Iterator[str]:
    """The most certain difference of another judge from the best one, and the judges from which none is shown."""
    beside = {pair.judge_b: pair for pair in pairs if pair.judge_a == best}
    beside |= {pair.judge_a: pair.turn() for pair in pairs if pair.judge_b == best}
    shown = {name: name_difference(beside[name], level) for name in others}
    apart = [name for name in others if shown[name]]
    if apart:
        name = min(apart, key=lambda other: min(beside[other].p_values.values()))
        statistic = shown[name][0]
        yield f"{name} beside it: {_direct(statistic, beside[name].differences[statistic])}"
    same = [name for name in others if not shown[name]]
    if same:
        yield f"no difference from {join_names(same)} is shown"
