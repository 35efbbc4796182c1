"""How well judges agree with the labels of people: figures of each aspect, tables, sentences and gates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import SettingError, check_names, setting
from core.example import SHOWN_COLUMNS
from data.columns import name_fields
from judge.cautions import Differences, find_choice, note_choice
from judge.gates import Condition, decide, find_confidence
from judge.labelling import LabelledAspect, Labelling, list_labelled
from meta_eval.alternative_annotator import AlternativeTest, compare_with_people
from meta_eval.estimates import Estimate, Estimates, estimate_mean, estimate_share
from meta_eval.helped import help_mean
from meta_eval.judges import (
    JudgeDifference,
    SliceAgreement,
    compare_judges,
    estimate_agreement,
    estimate_change,
    find_constant,
    measure_slices,
    name_difference,
)
from meta_eval.labels import PEOPLE, LabelAgreement, SingleAgreement, agree_on_labels, agree_with_single, assign_labels
from meta_eval.scored_set import ScoredSet
from report.agreement_tables import NEARLY, describe_chance, describe_enough
from report.tables import Row, Table, pick
from report.wording import format_cell, format_number, join_names

ALL = "all"  # of systems
NO_SLICE = "no text has a value"
SLICED_FIELDS = ("system", "group", "label", "context", "prefix", "id")
LABEL_CELLS = ("n", "accuracy", "kappa", "weighted_kappa", "harshness", "missing")
PAIR_CELLS = ("n", "only_a_right", "only_b_right", "b_milder", "b_harsher")
SLICE_CELLS = ("n", "accuracy", "kappa", "p_kappa", "harshness", "p_harshness")
AGREEMENT_CAPTION = (
    "The judge's labels against the median of people's; texts whose median lies between two labels are left out. A "
    "score gives the nearest label, or that of its threshold. with_people: kappa, of several ordered labels the "
    "weighted one, with single people (Davies and Fleiss), beside people among themselves. winning_rate: the share of "
    "people that the judge is as good as (Calderon et al., 2025). Intervals: 95 %, over inputs."
)
CORRECTED_CAPTION = (
    "The mean label (of labels 0 and 1 the rate) of all texts. corrected: prediction-powered, valid for any judge if "
    "the labelled texts are a random sample. Intervals: 95 %, over inputs."
)
CONFUSION_CAPTION = "How many texts have each pair of labels. Intervals: 95 %, over inputs."
PAIRS_CAPTION = (
    "judge_b minus judge_a on the n texts that both labelled. only_a_right, only_b_right, b_milder, b_harsher: texts. "
    "p_NAME: two-sided tests by sign flips of inputs, adjusted for all pairs and statistics of an aspect. as_good: "
    f"kappas are shown to differ by less than {NEARLY:g}. Intervals: 95 %, over inputs."
)
SLICES_CAPTION = (
    "kappa: of more than two labels the weighted one. p_kappa, p_harshness: that a slice differs from all others, by "
    "the intervals of both, times the number of tests. Intervals: 95 %, over inputs."
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
    # by judge, whether the judge is as good as most single people, where several are known
    alternatives: Mapping[str, AlternativeTest]
    # of each pair of judges
    pairs: Sequence[JudgeDifference]
    # by judge, where texts are split
    slices: Mapping[str, Sequence[SliceAgreement]]
    # where only some texts are labelled, a row for the mean label by judge and system
    corrected: Sequence[Row]
    # by judge, how the labelled texts differ from the others: corrected means then do not hold
    unrepresentative: Differences

    @property
    def name(self) -> str:
        return self.labelled.aspect

    @property
    def is_weighted(self) -> bool:
        """Whether the weighted kappa counts: there are more than two labels."""
        return len(self.labelled.labels) > 2

    def get_kappa(self, figures: LabelAgreement | SingleAgreement) -> Estimate:
        """Returns the kappa that counts."""
        return figures.weighted_kappa if self.is_weighted else figures.kappa

    def describe_enough(self) -> str:
        """Writes a clause: whether the judges agree with people as well as people agree among themselves."""
        return describe_enough(self.single, self.agreement, self.is_weighted, self.alternatives)


def study_judges(
    scored: ScoredSet,
    labelling: Labelling,
    *,
    by: str | None = None,
    seed: int = 0,
    level: float = 0.05,
) -> list[JudgedAspect]:
    """Measures the judges of each aspect that `list_labelled` finds; `by` is a column by whose values texts are split.

    Raises errors as `list_labelled` does, and SettingError for an unknown column.
    """
    labelled = [aspect for aspect in list_labelled(scored, labelling) if aspect.judged]
    return [
        judge_aspect(
            scored,
            aspect,
            labelling,
            by=by,
            seed=seed,
            level=level,
        )
        for aspect in labelled
    ]


def judge_aspect(
    scored: ScoredSet,
    labelled: LabelledAspect,
    labelling: Labelling,
    *,
    by: str | None,
    seed: int,
    level: float,
) -> JudgedAspect:
    """Measures how well the judges of one aspect agree with people."""
    judged, people, labels, layout = labelled.judged, labelled.consensus, labelled.labels, labelled.rated.layout
    label = find_constant(people)
    has_several = len(labelled.people) > 1
    slices = [] if by is None else list_slices(labelled.rated, by)
    verdicts = {name: scored.values(name, labelled.aspect) for name in judged}
    return JudgedAspect(
        labelled=labelled,
        agreement={name: agree_on_labels(people, each, labels, layout, seed) for name, each in judged.items()},
        constant=(label, agree_on_labels(people, np.full(len(people), label), labels, layout)),
        single=agree_with_single(labelled.people, judged, labels, layout) if has_several else (),
        alternatives={
            name: compare_with_people(labelled.people, each, layout, is_ordered=len(labels) > 2)
            for name, each in judged.items()
            if has_several
        },
        pairs=compare_judges(
            people,
            judged,
            labels,
            layout,
            margin=NEARLY,
            level=level,
            seed=seed,
        ),
        slices={
            name: measure_slices(
                slices,
                people,
                each,
                labels,
                layout,
            )
            for name, each in judged.items()
            if slices
        },
        corrected=[*correct_means(scored, labelled, labelling)] if len(labelled.rated) < len(scored) else (),
        unrepresentative=find_choice(scored.ratings(labelled.aspect), verdicts, scored.systems, scored.layout),
    )


def correct_means(scored: ScoredSet, labelled: LabelledAspect, labelling: Labelling) -> Iterator[Row]:
    """Yields the mean label of all texts of each system, by each judge and by people.

    That by people is estimated from the labelled texts, and corrected with the scores that the judge gave to all.
    """
    is_rate = not np.setdiff1d(labelled.labels, (0, 1)).size
    estimate = estimate_share if is_rate else estimate_mean
    thresholds = labelling.thresholds or {}
    for system, texts in ({part.name: part for part in scored.by_system()} or {ALL: scored}).items():
        ratings = texts.ratings(labelled.aspect)
        for name in labelled.judged:
            scores = texts.values(name, labelled.aspect)
            by_people = help_mean(ratings, scores, texts.layout, is_rate=is_rate)
            judged, _ = assign_labels(scores, labelled.labels, thresholds.get(name))
            cells = {"aspect": labelled.aspect, "judge": name, "system": system, "texts": len(texts)}
            yield {**cells, "by_judge": estimate(judged, texts.layout).only, **by_people.cells}


def list_slices(scored: ScoredSet, by: str) -> list[str]:
    """Lists the value of a column for each text: of the field that the column gives, or else of another column.

    Raises SettingError for a column that no text has.
    """
    (_, name), *_ = [*name_fields((by,)).fields, (by, by)]
    examples = scored.examples
    is_field = name in SLICED_FIELDS
    values = [getattr(example, name) if is_field else example.extra.get(name) for example in examples]
    if all(value is None for value in values):
        known = [name for name in SLICED_FIELDS if any(getattr(example, name) is not None for example in examples)]
        extra = dict.fromkeys(name for example in examples for name in example.extra if name != "ratings")
        columns = ", ".join([*known, *extra][:SHOWN_COLUMNS])
        raise SettingError(f"by must be a column of the texts, but {by} is none of {columns}")
    return [NO_SLICE if value is None else str(value) for value in values]


# ---- tables ---------------------------------------------------------------------------------------------------------


def tabulate_judges(judged: Sequence[JudgedAspect], by: str | None = None) -> list[Table]:
    """Tabulates agreement on labels, pairs of judges, slices, corrected means, and labels one by one."""
    shown = ("judge", "n", "kappa", "weighted_kappa", "accuracy", "harshness", "with_people", "aspect")
    of_pairs = ("judge_a", "judge_b", "n", "kappa", "p_kappa", "harshness", "p_harshness", "as_good")
    of_slices = ("judge", by or "", "n", "kappa", "p_kappa", "harshness", "aspect")
    of_means = ("judge", "by_judge", "by_people", "corrected", "labels", "texts", "system", "aspect")
    agreement = [row for aspect in judged for row in list_agreement(aspect)]
    pairs = [list_pair(aspect.name, pair) for aspect in judged for pair in aspect.pairs]
    slices = [
        pick(
            part,
            SLICE_CELLS,
            aspect=aspect.name,
            judge=judge,
            **{by or "": part.slice},
        )
        for aspect in judged
        for judge, parts in aspect.slices.items()
        for part in parts
    ]
    corrected = [row for aspect in judged for row in aspect.corrected]
    confusion = [row for aspect in judged for row in list_confusion(aspect)]
    return [
        Table("Agreement on labels", AGREEMENT_CAPTION, agreement, shown),
        Table("Judges side by side", PAIRS_CAPTION, pairs, of_pairs),
        Table(f"By {by}", SLICES_CAPTION, slices, of_slices),
        Table("Mean labels by judges and by people", CORRECTED_CAPTION, corrected, of_means),
        Table("Labels by people and by judges", CONFUSION_CAPTION, confusion),
    ]


def list_agreement(aspect: JudgedAspect) -> Iterator[Row]:
    """Yields the agreement of each judge, of a constant judge, whose kappa is 0, and of people among themselves."""
    single = {each.name: each for each in aspect.single}
    for name, agreement in aspect.agreement.items():
        cells = pick(agreement, LABEL_CELLS, aspect=aspect.name, judge=name)
        if name in single:
            cells["with_people"] = aspect.get_kappa(single[name])
            cells["winning_rate"] = aspect.alternatives[name].winning_rate
        yield cells
    label, constant = aspect.constant
    named = f"always {label:g} (a constant)"
    yield {**pick(constant, ("n", "accuracy", "missing"), aspect=aspect.name, judge=named), "kappa": 0.0}
    if PEOPLE in single:
        people = single[PEOPLE]
        yield {"aspect": aspect.name, "judge": PEOPLE, "n": people.n, "with_people": aspect.get_kappa(people)}


def list_pair(aspect: str, found: JudgeDifference) -> Row:
    """Lists the cells of a pair of judges."""
    names = {"aspect": aspect, "judge_a": found.judge_a, "judge_b": found.judge_b}
    p_values = {f"p_{name}": found.p_values.get(name, math.nan) for name in found.differences}
    as_good = "yes" if found.is_as_good else "not shown"
    return {**names, **found.differences, **p_values, "as_good": as_good, **pick(found, PAIR_CELLS)}


def list_confusion(aspect: JudgedAspect) -> Iterator[Row]:
    """Yields, by judge and label of people, how many texts have each label, and how well the judge knows this one."""
    for judge, agreement in aspect.agreement.items():
        columns = [f"judged {label:g}" for label in agreement.labels]
        for counts, shares in zip(agreement.confusion.tolist(), agreement.shares, strict=True):
            judged = dict(zip(columns, counts, strict=True))
            cells = {"aspect": aspect.name, "judge": judge, "people": f"{shares.label:g}", **judged}
            yield pick(shares, ("sensitivity", "specificity"), **cells)


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
    """Yields notes on each judge beside chance and people, and on what people would say of all texts."""
    for aspect in judged:
        of_judges = [describe_labels(name, agreement) for name, agreement in aspect.agreement.items()]
        of_all = [*note_choice(aspect.unrepresentative, "texts"), *describe_corrected(aspect)]
        yield from (f"{aspect.name}: {note}" for note in (*of_judges, *of_all))


def describe_labels(name: str, agreement: LabelAgreement) -> str:
    """Says whether a judge agrees with people on labels by more than chance.

    For more than two ordered labels, the weighted kappa counts.
    """
    only = next((shares for shares in agreement.shares if shares.n_judge == agreement.n > 0), None)
    kappa, p_value, named = agreement.kappa, agreement.p_chance, "kappa"
    if len(agreement.labels) > 2:
        kappa, p_value, named = agreement.weighted_kappa, agreement.p_weighted, "weighted kappa"
    said = f"{name} is {describe_chance(kappa, p_value)} ({named} {format_cell(kappa)})"
    if only is not None:
        said = f"{name} gives the label {only.label:g} to all {agreement.n} texts"
    if not is_shown(agreement.harshness):
        return said
    return f"{said}, {_direct(agreement.harshness, 'milder than people', 'harsher than people')}"


def is_shown(difference: Estimate) -> bool:
    """Whether the interval of a difference shows its sign."""
    return difference.low > 0 or difference.high < 0


def _direct(difference: Estimate, above: str, below: str) -> str:
    """A difference in words: its direction and its size."""
    if difference.value > 0:
        return f"{above} by {format_cell(difference)}"
    return f"{below} by {format_cell(difference.negate())}"


def describe_corrected(aspect: JudgedAspect) -> Iterator[str]:
    """Yields what people would say of all texts, where an interval is known and the labels are not visibly chosen."""
    for row in aspect.corrected:
        if aspect.unrepresentative[row["judge"]] or math.isnan(row["corrected"].low):
            continue
        system = "" if row["system"] == ALL else f"{row['system']} "
        by_judge = f"{row['labels']} labels and {row['judge']}, which gives {format_cell(row['by_judge'])}"
        yield f"people would give {system}{format_cell(row['corrected'])}, by {by_judge}"


def answer_judges(aspect: JudgedAspect, level: float) -> str:
    """Writes the answer for an aspect: how well judges agree with people, the main difference, whether it is enough."""
    kappas = {name: aspect.get_kappa(agreement) for name, agreement in aspect.agreement.items()}
    best, *others = sorted(kappas, key=lambda name: -np.nan_to_num(kappas[name].value, nan=-math.inf))
    named = "weighted kappa" if aspect.is_weighted else "kappa"
    said = f"{aspect.name}: the {named} of {best} with people is {format_cell(kappas[best])}"
    harshness = aspect.agreement[best].harshness
    if is_shown(harshness):
        direction = "higher (milder)" if harshness.value > 0 else "lower (harsher)"
        said += f"; its labels are {direction} by {format_number(abs(harshness.value))} on average"
    return f"{'; '.join([said, *_describe_others(best, others, aspect.pairs, level), aspect.describe_enough()])}."


def _describe_others(best: str, others: Sequence[str], pairs: Sequence[JudgeDifference], level: float) -> Iterator[str]:
    """The most certain difference of another judge from the best one, and the judges from which none is shown."""
    beside = {pair.judge_b: pair for pair in pairs if pair.judge_a == best}
    beside |= {pair.judge_a: pair.turn() for pair in pairs if pair.judge_b == best}
    shown = {name: name_difference(beside[name], level) for name in others}
    apart = [name for name in others if shown[name]]
    if apart:
        name = min(apart, key=lambda other: min(beside[other].p_values.values()))
        statistic = shown[name][0]
        words = ("milder", "harsher") if statistic == "harshness" else (f"{statistic} higher", f"{statistic} lower")
        yield f"{name} beside it: {_direct(beside[name].differences[statistic], *words)}"
    same = [name for name in others if not shown[name]]
    if same:
        yield f"no difference from {join_names(same)} is shown"
