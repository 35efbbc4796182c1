"""Checks judges of labels: against each other, on texts that split people, slice by slice, and against limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.errors import SettingError, check_names, setting
from core.example import SHOWN_COLUMNS
from data.columns import name_fields
from judge.gates import Condition, GateResult, decide, find_confidence, read_conditions
from judge.label_agreement import correct_mean
from judge.label_study import LabelStudy
from judge.labelling import LabelledAspect, Labelling, list_labelled
from meta_eval.estimates import Estimate, Estimates
from meta_eval.judges import (
    STATISTICS,
    JudgeDifference,
    SliceAgreement,
    compare_judges,
    estimate_agreement,
    estimate_change,
    measure_slices,
    name_difference,
    name_unity,
    sort_unity,
)
from meta_eval.labels import LabelAgreement
from meta_eval.scored_set import ScoredSet
from report.tables import Row, Table, pick, tabulate
from report.wording import format_cell, format_number, join_names

PAIR_CELLS = ("n", "only_a_right", "only_b_right", "b_milder", "b_harsher")
PAIRS_CAPTION = (
    "judge_b minus judge_a on the n texts that both labelled. length_effect: how much milder a judge is where texts "
    "are longer than the median, beside people. only_a_right, only_b_right, b_milder, b_harsher: texts. p_NAME: "
    "two-sided tests by sign flips of inputs, adjusted for all pairs and statistics of an aspect. as_good: kappas are "
    "shown to differ by less than {margin:g}. Intervals: 95 %, over inputs."
)
UNITY_CAPTION = (
    "Texts by how many people give the same label; those without a label that stands for people's do not count."
)
SLICES_CAPTION = (
    "p_kappa, p_harshness: that a slice differs from all others, by the intervals of both, times the number of tests. "
    "rate_by_judge, rate_by_people and corrected are means of labels (of labels 0 and 1 rates); corrected is "
    "prediction-powered where only some texts are labelled. Intervals: 95 %, over inputs."
)
GATE_CAPTION = (
    "A condition fails where a test shows it, at {level:g} over all conditions: noise alone fails any of them with at "
    "most this chance. could_show: what the data would have shown beyond the limit with a chance of 0.8."
)
NO_SLICE = "no text has a value"
SLICED_FIELDS = ("system", "group", "label", "context", "prefix", "id")


@dataclass(frozen=True)
class CheckSettings:
    """The settings of the checks, and which checks are made."""

    # a column of the texts by whose values agreement is split
    by: str | None = None
    # conditions that fail the study, such as `kappa < 0.6`
    fail_if: str | Sequence[str] = ()
    # the judge from which drops are counted
    baseline: str | None = None
    # a difference of kappas that does not matter
    margin: float = 0.1
    level: float = 0.05

    def __post_init__(self) -> None:
        _ = self.conditions

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of `fail_if`. Raises SettingError for a text that is not a condition."""
        return read_conditions(self.fail_if) if self.fail_if else []


@dataclass(frozen=True, eq=False)
class JudgeChecks:
    """The results of the checks for all aspects."""

    settings: CheckSettings
    # by aspect
    pairs: Mapping[str, Sequence[JudgeDifference]] = field(default_factory=dict)
    unity: Mapping[tuple[str, str], Sequence[SliceAgreement]] = field(default_factory=dict)
    # by aspect and judge, with the rows of corrected rates by slice
    slices: Mapping[tuple[str, str], Sequence[tuple[SliceAgreement, Row]]] = field(default_factory=dict)
    gate: Sequence[GateResult] = ()

    @property
    def tables(self) -> list[Table]:
        """Tables of differences between judges, accuracy by unanimity, slices and the gate.

        Empty tables are left out.
        """
        pairs = [_list_cells(aspect, pair) for aspect, several in self.pairs.items() for pair in several]
        unity = [
            {"aspect": aspect, "judge": judge, "people": agreement.slice, **pick(agreement, ("n", "accuracy"))}
            for (aspect, judge), several in self.unity.items()
            for agreement in several
        ]
        by = self.settings.by or ""
        slices = [
            {"aspect": aspect, "judge": judge, by: agreement.slice, **_list_slice_cells(agreement), **rates}
            for (aspect, judge), several in self.slices.items()
            for agreement, rates in several
        ]
        gate = [_list_gate_cells(result) for result in self.gate]
        return [
            tabulate("Judges side by side", PAIRS_CAPTION.format(margin=self.settings.margin), pairs),
            tabulate("Accuracy by how united people are", UNITY_CAPTION, unity),
            tabulate(f"By {by}", SLICES_CAPTION, slices),
            tabulate("Gate", GATE_CAPTION.format(level=self.settings.level), gate),
        ]

    @property
    def notes(self) -> list[str]:
        """Notes on significant differences, slices that differ or are too small, and outcomes of the gate."""
        level = self.settings.level
        notes = [
            f"{aspect}: {describe_pair(pair, level, self.settings.margin)}"
            for aspect, several in self.pairs.items()
            for pair in several
        ]
        for (aspect, judge), several in self.slices.items():
            agreements = [agreement for agreement, _ in several]
            notes += [f"{aspect}: {said}" for said in _describe_slices(judge, agreements, level)]
        return notes + [result.describe() for result in self.gate]

    @property
    def findings(self) -> list[str]:
        """The conditions of the gate (`fail_if`) that failed, in sentences."""
        return [result.describe() for result in self.gate if result.has_failed]


def check_judges(
    scored: ScoredSet,
    labelling: Labelling,
    settings: CheckSettings,
    seed: int = 0,
) -> JudgeChecks:
    """Runs the checks of judges for each labelled aspect.

    Raises SettingError for an unknown column, baseline or condition, and for a gate if no judge gives labels.
    """
    labelled = [aspect for aspect in list_labelled(scored, labelling) if aspect.judged]
    conditions = _read_conditions(labelled, settings)
    pairs: dict[str, Sequence[JudgeDifference]] = {}
    unity: dict[tuple[str, str], Sequence[SliceAgreement]] = {}
    slices: dict[tuple[str, str], Sequence[tuple[SliceAgreement, Row]]] = {}
    for aspect in labelled:
        if len(aspect.judged) > 1:
            pairs[aspect.aspect] = _compare(aspect, settings, seed)
        if len(aspect.people) > 1:
            united = name_unity(aspect.people)
            order = sort_unity(aspect.people)
            for judge in aspect.judged:
                agreements = _split(aspect, judge, united)
                unity[aspect.aspect, judge] = sorted(agreements, key=lambda each: order.index(each.slice))
        if settings.by is not None:
            slicing = _Slicing(scored, settings.by, labelling)
            for judge in aspect.judged:
                slices[aspect.aspect, judge] = slicing.measure(aspect, judge)
    gate = hold_gate(labelled, conditions, settings)
    return JudgeChecks(settings, pairs, unity, slices, gate)


def _read_conditions(labelled: Sequence[LabelledAspect], settings: CheckSettings) -> Sequence[Condition]:
    """The conditions of the gate; raises SettingError if no judge, or no baseline, can meet them."""
    conditions = settings.conditions
    if conditions and not labelled:
        raise SettingError("fail_if needs a judge of labels, but no scores are labels that people gave")
    judges = dict.fromkeys(name for aspect in labelled for name in aspect.judged)
    if settings.baseline is not None:
        check_names([settings.baseline], judges, "baseline")
    needs_baseline = any(condition.is_drop for condition in conditions)
    if needs_baseline and (settings.baseline is None or len(judges) < 2):
        raise SettingError(f"a drop needs another judge as its baseline: {setting('baseline', 'JUDGE')}")
    return conditions


def _compare(aspect: LabelledAspect, settings: CheckSettings, seed: int) -> list[JudgeDifference]:
    lengths = np.array([len(example.full_text) for example in aspect.rated.examples], dtype=np.float64)
    return compare_judges(
        aspect.consensus,
        aspect.judged,
        aspect.labels,
        aspect.rated.layout,
        lengths=lengths if lengths.any() else None,
        margin=settings.margin,
        level=settings.level,
        seed=seed,
    )


def _split(aspect: LabelledAspect, judge: str, names: Sequence[str]) -> list[SliceAgreement]:
    """The agreement of a judge on the texts with each name; those without a name do not count."""
    is_named = np.array(names) != ""
    return measure_slices(
        names,
        np.where(is_named, aspect.consensus, np.nan),
        aspect.judged[judge],
        aspect.labels,
        aspect.rated.layout,
    )


def list_slices(scored: ScoredSet, by: str) -> list[str]:
    """Lists the slice of each text: its value in a field such as `system` or `label`, or in any other column.

    A usual name of a field, such as `model`, stands for it. Raises SettingError for a column that no text has.
    """
    examples = scored.examples
    is_passed_on = any(by in example.extra for example in examples)
    field = by if is_passed_on else name_field(by)
    values = [getattr(example, field) if field in SLICED_FIELDS else example.extra.get(by) for example in examples]
    if all(value is None for value in values):
        known = [name for name in SLICED_FIELDS if any(getattr(example, name) is not None for example in examples)]
        extra = dict.fromkeys(name for example in examples for name in example.extra if name != "ratings")
        columns = ", ".join([*known, *extra][:SHOWN_COLUMNS])
        raise SettingError(f"by must be a column of the texts, but {by} is none of {columns}")
    return [NO_SLICE if value is None else str(value) for value in values]


def name_field(column: str) -> str:
    """Returns the field that a column gives by its name, or else the name of the column.

    >>> name_field("model"), name_field("topic")
    ('system', 'topic')
    """
    (_, name), *_ = [*name_fields((column,)).fields, (column, column)]
    return name


@dataclass(frozen=True)
class _Slicing:
    """How the agreement of judges is split."""

    scored: ScoredSet
    # the column by whose values it is split
    by: str
    labelling: Labelling

    def measure(self, aspect: LabelledAspect, judge: str) -> list[tuple[SliceAgreement, Row]]:
        """The agreement of a judge by slice, with the rates of all texts of a slice."""
        agreements = _split(aspect, judge, list_slices(aspect.rated, self.by))
        slices = np.array(list_slices(self.scored, self.by))
        has_unlabelled = len(aspect.rated) < len(self.scored)
        rows: list[tuple[SliceAgreement, Row]] = []
        for agreement in agreements:
            part = self.scored.take(np.flatnonzero(slices == agreement.slice))
            rates = correct_mean(part, judge, aspect, self.labelling)
            shown = {"rate_by_judge": rates["by_judge"], "rate_by_people": rates["by_people"]}
            if has_unlabelled:
                shown["corrected"] = rates["corrected"]
            rows.append((agreement, shown))
        return rows


def hold_gate(
    labelled: Sequence[LabelledAspect],
    conditions: Sequence[Condition],
    settings: CheckSettings,
) -> list[GateResult]:
    """Decides each condition for each judge and aspect; drops are differences from the baseline judge."""
    wanted = [
        (aspect, judge, condition)
        for aspect in labelled
        for judge in aspect.judged
        for condition in conditions
        if not condition.is_drop or judge != settings.baseline
    ]
    results: list[GateResult] = []
    for aspect, judge, condition in wanted:
        is_two_sided = condition.quantity == "harshness"
        confidence = find_confidence(settings.level, len(wanted), is_two_sided=is_two_sided)
        result = decide(
            condition,
            _measure(aspect, judge, condition, settings.baseline),
            aspect=aspect.aspect,
            judge=judge,
            confidence=confidence,
        )
        results.append(result)
    return results


def _measure(aspect: LabelledAspect, judge: str, condition: Condition, baseline: str | None) -> Estimates:
    """The quantity of a condition."""
    by_judge = aspect.judged[judge]
    layout = aspect.rated.layout
    if not condition.is_drop:
        return estimate_agreement(aspect.consensus, by_judge, aspect.labels, layout)[condition.quantity]
    by_other = aspect.judged[str(baseline)]
    drops = estimate_change(aspect.consensus, by_judge, by_other, aspect.labels, layout)
    return drops[condition.quantity.removesuffix(" drop")]


def _list_cells(aspect: str, found: JudgeDifference) -> Row:
    known = {name: found.differences[name] for name in STATISTICS if name in found.differences}
    p_values = {f"p_{name}": found.p_values.get(name, math.nan) for name in known}
    names = {"aspect": aspect, "judge_a": found.judge_a, "judge_b": found.judge_b}
    verdict = "yes" if found.is_as_good else "not shown"
    return {**names, **known, **p_values, "as_good": verdict, **pick(found, PAIR_CELLS)}


def _list_slice_cells(found: SliceAgreement) -> Row:
    return pick(found, ("n", "kappa", "p_kappa", "harshness", "p_harshness"))


def _list_gate_cells(result: GateResult) -> Row:
    outcome = "kept"
    if result.has_failed:
        outcome = "failed"
    elif math.isnan(result.estimate.low):
        outcome = "unknown"
    names = {"aspect": result.aspect, "judge": result.judge, "condition": str(result.condition)}
    return {**names, "outcome": outcome, "found": result.estimate, "could_show": result.could_show}


def describe_pair(found: JudgeDifference, level: float, margin: float) -> str:
    """Describes the significant differences between two judges in one sentence, the most certain first."""
    shown = name_difference(found, level)
    pair = f"{found.judge_b} beside {found.judge_a}"
    flips = f"right alone in {found.only_b_right} and {found.only_a_right} texts"
    good = f"; as good within {margin:g} of kappa" if found.is_as_good else ""
    if not shown:
        kappa = format_cell(found.differences["kappa"])
        return f"{pair}: no difference is shown (kappa {kappa}, {flips}){good}"
    said = ", ".join(_describe_difference(name, found.differences[name]) for name in shown)
    return f"{pair}: {said} ({flips}){good}"


def _describe_difference(name: str, difference: Estimate) -> str:
    """How a judge differs from another one in a statistic, in words."""
    is_above = difference.value > 0
    size = format_cell(difference if is_above else difference.negate())
    if name == "harshness":
        return f"{'milder' if is_above else 'harsher'} by {size}"
    if name == "length_effect":
        return f"{'milder' if is_above else 'harsher'} on longer texts by {size}"
    return f"{name} {'higher' if is_above else 'lower'} by {size}"


def _describe_slices(judge: str, agreements: Sequence[SliceAgreement], level: float) -> list[str]:
    """The slices on which a judge differs from all others by a test, and those that are too small for one."""
    said: list[str] = []
    for agreement in agreements:
        tests = {
            "kappa": (agreement.kappa, agreement.p_kappa),
            "harshness": (agreement.harshness, agreement.p_harshness),
        }
        for name, (estimate, p_value) in tests.items():
            if p_value < level:
                shown = f"{name} {format_cell(estimate)} (p {format_number(p_value)})"
                said.append(f"{judge} differs on {agreement.slice}: {shown}")
    small = [agreement.slice for agreement in agreements if math.isnan(agreement.harshness.low)]
    if small:
        said.append(f"{judge}: {join_names(small)} {'are' if small[1:] else 'is'} too small for a test")
    return said


def answer_judges(aspect: str, labels: LabelStudy, checks: JudgeChecks) -> str:
    """Writes the answer for an aspect: how well judges agree with people, the main difference, whether it is enough."""
    agreement = {name: judged for (of, name), judged in labels.agreement.items() if of == aspect}
    is_weighted = any(len(judged.labels) > 2 for judged in agreement.values())
    ranked = sorted(agreement, key=lambda name: -_sort_kappa(agreement[name], is_weighted))
    best, *others = ranked
    clauses = [f"{aspect}: {_describe_agreement(best, agreement[best], is_weighted)}"]
    clauses += _describe_others(best, others, checks.pairs.get(aspect, ()), checks.settings.level)
    clauses.append(labels.describe_enough(aspect, ranked))
    return "; ".join(clauses)


def _describe_others(best: str, others: Sequence[str], pairs: Sequence[JudgeDifference], level: float) -> Iterator[str]:
    """The most certain difference of another judge from the best one, and the judges from which none is shown."""
    beside: dict[str, JudgeDifference] = {}
    for pair in pairs:
        if best == pair.judge_a:
            beside[pair.judge_b] = pair
        elif best == pair.judge_b:
            beside[pair.judge_a] = pair.turn()
    apart = [name for name in others if name in beside and name_difference(beside[name], level)]
    if apart:
        name = min(apart, key=lambda other: min(beside[other].p_values.values()))
        statistic = name_difference(beside[name], level)[0]
        yield f"{name} beside it: {_describe_difference(statistic, beside[name].differences[statistic])}"
    same = [name for name in others if name not in apart]
    if same:
        yield f"no difference from {join_names(same)} is shown"


def _sort_kappa(agreement: LabelAgreement, is_weighted: bool) -> float:
    kappa = agreement.weighted_kappa if is_weighted else agreement.kappa
    return -math.inf if math.isnan(kappa.value) else kappa.value


def _describe_agreement(name: str, agreement: LabelAgreement, is_weighted: bool) -> str:
    """The kappa of a judge with people, and how much harsher or milder it is where that is shown."""
    kappa = agreement.weighted_kappa if is_weighted else agreement.kappa
    statistic = "weighted kappa" if is_weighted else "kappa"
    said = f"the {statistic} of {name} with people is {format_cell(kappa)}"
    harshness = agreement.harshness
    if harshness.low <= 0 <= harshness.high or math.isnan(harshness.low):
        return said
    direction = "higher (milder)" if harshness.value > 0 else "lower (harsher)"
    return f"{said}; its labels are {direction} by {format_number(abs(harshness.value))} on average"
