"""How well judges agree with the labels of people: figures of each aspect, tables, sentences and gates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import SettingError, check_names, setting
from core.example import SHOWN_COLUMNS
from data.columns import name_fields
from judge.gates import Condition, decide, find_confidence
from judge.labelling import LabelledAspect, Labelling, list_labelled
from judge.preference_study import note_sample
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
from meta_eval.permuted import SampleDifference, compare_cells, compare_verdicts
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
    unrepresentative: Mapping[str, Sequence[SampleDifference]]

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
    scored: ScoredSet, labelling: Labelling, *, by: str | None = None, seed: int = 0, level: float = 0.05
) -> list[JudgedAspect]:
    """Measures the judges of each aspect that `list_labelled` finds; `by` is a column by whose values texts are split.

    Raises errors as `list_labelled` does, and SettingError for an unknown column.
    """
    labelled = [aspect for aspect in list_labelled(scored, labelling) if aspect.judged]
    return [judge_aspect(scored, aspect, labelling, by=by, seed=seed, level=level) for aspect in labelled]


def judge_aspect(
    scored: ScoredSet, labelled: LabelledAspect, labelling: Labelling, *, by: str | None, seed: int, level: float
) -> JudgedAspect:
    """Measures how well the judges of one aspect agree with people."""
    judged, people, labels, layout = labelled.judged, labelled.consensus, labelled.labels, labelled.rated.layout
    label = find_constant(people)
    constant = agree_on_labels(people, np.full(len(people), label), labels, layout)
    single: Sequence[SingleAgreement] = ()
    alternatives: dict[str, AlternativeTest] = {}
    if len(labelled.people) > 1:
        single = agree_with_single(labelled.people, judged, labels, layout)
        for name, of_judge in judged.items():
            alternatives[name] = compare_with_people(labelled.people, of_judge, layout, is_ordered=len(labels) > 2)
    slices: dict[str, Sequence[SliceAgreement]] = {}
    if by is not None:
        names = list_slices(labelled.rated, by)
        slices = {name: measure_slices(names, people, of_judge, labels, layout) for name, of_judge in judged.items()}
    is_partly = len(labelled.rated) < len(scored)
    return JudgedAspect(
        labelled=labelled,
        agreement={name: agree_on_labels(people, each, labels, layout, seed) for name, each in judged.items()},
        constant=(label, constant),
        single=single,
        alternatives=alternatives,
        pairs=compare_judges(people, judged, labels, layout, margin=NEARLY, level=level, seed=seed),
        slices=slices,
        corrected=correct_means(scored, labelled, labelling) if is_partly else (),
        unrepresentative=check_samples(scored, labelled.aspect, judged) if is_partly else {},
    )


def check_samples(scored: ScoredSet, aspect: str, names: Iterable[str]) -> dict[str, Sequence[SampleDifference]]:
    """Finds how rated texts differ from other texts in scores and systems, by metric, if they differ."""
    is_rated = ~np.isnan(scored.ratings(aspect))
    by_system = compare_cells(is_rated, scored.systems, scored.layout) if scored.systems else None
    found: dict[str, Sequence[SampleDifference]] = {}
    for name in names:
        by_score = compare_verdicts(is_rated, scored.values(name, aspect), scored.layout)
        found[name] = [difference for difference in (by_score, by_system) if difference is not None]
    return {name: differences for name, differences in found.items() if differences}


def correct_means(scored: ScoredSet, labelled: LabelledAspect, labelling: Labelling) -> list[Row]:
    """Estimates the mean label of all texts of each system, by each judge and by people.

    That by people is estimated from the labelled texts, and corrected with the scores that the judge gave to all.
    """
    is_rate = not np.setdiff1d(labelled.labels, (0, 1)).size
    estimate = estimate_share if is_rate else estimate_mean
    rows: list[Row] = []
    for system, texts in ({part.name: part for part in scored.by_system()} or {ALL: scored}).items():
        for name in labelled.judged:
            scores = texts.values(name, labelled.aspect)
            by_people = help_mean(texts.ratings(labelled.aspect), scores, texts.layout, is_rate=is_rate)
            judged, _ = assign_labels(scores, labelled.labels, (labelling.thresholds or {}).get(name))
            cells = {"aspect": labelled.aspect, "judge": name, "system": system, "texts": len(texts)}
            rows.append({**cells, "by_judge": estimate(judged, texts.layout).only, **by_people.cells})
    return rows


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
    agreement: list[Row] = []
    pairs: list[Row] = []
    slices: list[Row] = []
    confusion: list[Row] = []
    for aspect in judged:
        agreement += list_agreement(aspect)
        pairs += [list_pair(aspect.name, pair) for pair in aspect.pairs]
        confusion += list_confusion(aspect)
        for judge, parts in aspect.slices.items():
            slices += [
                pick(part, SLICE_CELLS, aspect=aspect.name, judge=judge, **{by or "": part.slice}) for part in parts
            ]
    corrected = [row for aspect in judged for row in aspect.corrected]
    shown = ("judge", "n", "kappa", "weighted_kappa", "accuracy", "harshness", "with_people", "aspect")
    of_pairs = ("judge_a", "judge_b", "n", "kappa", "p_kappa", "harshness", "p_harshness", "as_good")
    of_means = ("judge", "by_judge", "by_people", "corrected", "labels", "texts", "system", "aspect")
    return [
        Table("Agreement on labels", AGREEMENT_CAPTION, agreement, shown),
        Table("Judges side by side", PAIRS_CAPTION, pairs, of_pairs),
        Table(f"By {by}", SLICES_CAPTION, slices, ("judge", by or "", "n", "kappa", "p_kappa", "harshness", "aspect")),
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
    cells = pick(constant, ("n", "accuracy", "missing"), aspect=aspect.name, judge=f"always {label:g} (a constant)")
    yield {**cells, "kappa": 0.0}
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
        for label, counts, shares in zip(agreement.labels, agreement.confusion, agreement.shares, strict=True):
            judged = {f"judged {other:g}": int(count) for other, count in zip(agreement.labels, counts, strict=True)}
            rates = pick(shares, ("sensitivity", "specificity"))
            yield {"aspect": aspect.name, "judge": judge, "people": f"{label:g}", **judged, **rates}


# ---- gates ----------------------------------------------------------------------------------------------------------


def check_gate(judged: Sequence[JudgedAspect], conditions: Sequence[Condition], baseline: str | None) -> None:
    """Raises SettingError if no judge, or no baseline, can meet the conditions."""
    if conditions and not judged:
        raise SettingError("fail_if needs a judge of labels, but no scores are labels that people gave")
    judges = dict.fromkeys(name for aspect in judged for name in aspect.agreement)
    if baseline is not None:
        check_names([baseline], judges, "baseline")
    needs_baseline = any(condition.is_drop for condition in conditions)
    if needs_baseline and (baseline is None or len(judges) < 2):
        raise SettingError(f"a drop needs another judge as its baseline: {setting('baseline', 'JUDGE')}")


def hold_gate(
    judged: Sequence[JudgedAspect], conditions: Sequence[Condition], baseline: str | None, level: float
) -> list[tuple[bool, str]]:
    """Decides each condition for each judge and aspect; drops are differences from the baseline judge."""
    check_gate(judged, conditions, baseline)
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
    drops = estimate_change(people, judged[judge], judged[str(baseline)], labels, layout)
    return drops[condition.quantity.removesuffix(" drop")]


# ---- sentences ------------------------------------------------------------------------------------------------------


def describe_judges(judged: Sequence[JudgedAspect], level: float) -> Iterator[str]:
    """Yields notes on each judge beside chance and people, and on pairs of judges and parts of texts that differ."""
    for aspect in judged:
        notes: list[str] = []
        for name, agreement in aspect.agreement.items():
            notes.append(f"{describe_labels(name, agreement)}{_describe_harshness(agreement.harshness)}")
        for name, differences in aspect.unrepresentative.items():
            notes += [note_sample(name, "texts", difference) for difference in differences]
        notes += describe_corrected(aspect)
        notes += [describe_pair(pair, level) for pair in aspect.pairs]
        for name, parts in aspect.slices.items():
            notes += describe_slices(name, parts, level)
        yield from (f"{aspect.name}: {note}" for note in notes)


def describe_labels(name: str, agreement: LabelAgreement) -> str:
    """Says whether a judge agrees with people on labels by more than chance.

    For more than two ordered labels, the weighted kappa counts.
    """
    only = next((shares for shares in agreement.shares if shares.n_judge == agreement.n > 0), None)
    if only is not None:
        return f"{name} gives the label {only.label:g} to all {agreement.n} texts"
    kappa, p_value, named = agreement.kappa, agreement.p_chance, "kappa"
    if len(agreement.labels) > 2:
        kappa, p_value, named = agreement.weighted_kappa, agreement.p_weighted, "weighted kappa"
    return f"{name} is {describe_chance(kappa, p_value)} ({named} {format_cell(kappa)})"


def _describe_harshness(harshness: Estimate) -> str:
    """How much milder or harsher than people a judge is; empty where neither is shown."""
    if harshness.low > 0:
        return f", milder than people by {format_cell(harshness)}"
    if harshness.high < 0:
        return f", harsher than people by {format_cell(harshness.negate())}"
    return ""


def describe_corrected(aspect: JudgedAspect) -> Iterator[str]:
    """Yields what people would say of all texts, where an interval is known and the labels are not visibly chosen."""
    for row in aspect.corrected:
        if row["judge"] in aspect.unrepresentative or math.isnan(row["corrected"].low):
            continue
        system = "" if row["system"] == ALL else f"{row['system']} "
        by_judge = f"{row['labels']} labels and {row['judge']}, which gives {format_cell(row['by_judge'])}"
        yield f"people would give {system}{format_cell(row['corrected'])}, by {by_judge}"


def describe_pair(found: JudgeDifference, level: float) -> str:
    """Describes the significant differences between two judges in one sentence, the most certain first."""
    shown = [_describe_difference(name, found.differences[name]) for name in name_difference(found, level)]
    flips = f"right alone in {found.only_b_right} and {found.only_a_right} texts"
    said = f"{', '.join(shown)} ({flips})"
    if not shown:
        said = f"no difference is shown (kappa {format_cell(found.differences['kappa'])}, {flips})"
    good = f"; as good within {NEARLY:g} of kappa" if found.is_as_good else ""
    return f"{found.judge_b} beside {found.judge_a}: {said}{good}"


def _describe_difference(name: str, difference: Estimate) -> str:
    """How a judge differs from another one in a statistic, in words."""
    is_above = difference.value > 0
    size = format_cell(difference if is_above else difference.negate())
    if name == "harshness":
        return f"{'milder' if is_above else 'harsher'} by {size}"
    return f"{name} {'higher' if is_above else 'lower'} by {size}"


def describe_slices(judge: str, parts: Sequence[SliceAgreement], level: float) -> Iterator[str]:
    """Yields the slices on which a judge differs from all others by a test, and those that are too small for one."""
    for part in parts:
        for name, p_value in (("kappa", part.p_kappa), ("harshness", part.p_harshness)):
            if p_value < level:
                shown = f"{name} {format_cell(getattr(part, name))} (p {format_number(p_value)})"
                yield f"{judge} differs on {part.slice}: {shown}"
    small = [part.slice for part in parts if math.isnan(part.harshness.low)]
    if small:
        yield f"{judge}: {join_names(small)} {'are' if small[1:] else 'is'} too small for a test"


def answer_judges(aspect: JudgedAspect, level: float) -> str:
    """Writes the answer for an aspect: how well judges agree with people, the main difference, whether it is enough."""
    kappas = {name: aspect.get_kappa(agreement) for name, agreement in aspect.agreement.items()}
    best, *others = sorted(kappas, key=lambda name: -np.nan_to_num(kappas[name].value, nan=-math.inf))
    named = "weighted kappa" if aspect.is_weighted else "kappa"
    said = f"the {named} of {best} with people is {format_cell(kappas[best])}"
    harshness = aspect.agreement[best].harshness
    if harshness.low > 0 or harshness.high < 0:
        direction = "higher (milder)" if harshness.value > 0 else "lower (harsher)"
        said += f"; its labels are {direction} by {format_number(abs(harshness.value))} on average"
    clauses = [f"{aspect.name}: {said}", *_describe_others(best, others, aspect.pairs, level), aspect.describe_enough()]
    return f"{'; '.join(clauses)}."


def _describe_others(best: str, others: Sequence[str], pairs: Sequence[JudgeDifference], level: float) -> Iterator[str]:
    """The most certain difference of another judge from the best one, and the judges from which none is shown."""
    beside = {pair.judge_b: pair for pair in pairs if pair.judge_a == best}
    beside |= {pair.judge_a: pair.turn() for pair in pairs if pair.judge_b == best}
    apart = [name for name in others if name in beside and name_difference(beside[name], level)]
    if apart:
        name = min(apart, key=lambda other: min(beside[other].p_values.values()))
        statistic = name_difference(beside[name], level)[0]
        yield f"{name} beside it: {_describe_difference(statistic, beside[name].differences[statistic])}"
    same = [name for name in others if name not in apart]
    if same:
        yield f"no difference from {join_names(same)} is shown"
