"""Checks of judges of labels: against each other, where people are split, slice by slice, and against limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.errors import SettingError, check_names
from core.example import SHOWN
from judge.agreement_tables import describe_enough
from judge.labelling import LabelledAspect, Labelling, LabelStudy, correct_mean, list_labelled, weigh_texts
from judge.tables import Row, Table, pick, tabulate
from judge.wording import format_cell, format_number, join_names
from meta_eval.bootstrap import Estimate, Floats
from meta_eval.gates import Condition, GateResult, decide, find_confidence, read_conditions
from meta_eval.grouping import restrict
from meta_eval.intervals import Resampling
from meta_eval.judge_pairs import (
    STATISTICS,
    JudgeDifference,
    compare_judges,
    linearise_differences,
    name_difference,
)
from meta_eval.labels import LabelAgreement
from meta_eval.linearised import Linearised, linearise_kappa, linearise_mean
from meta_eval.scored_set import ScoredSet
from meta_eval.slices import SliceAgreement, measure_slices
from meta_eval.unanimity import UnityAccuracy, measure_by_unity

PAIR_CELLS = ("n", "only_a_right", "only_b_right", "b_milder", "b_harsher")
PAIRS = (
    "judge_b minus judge_a on the n texts that both labelled. length_effect: how much milder a judge is where texts "
    "are longer than the median, beside people. only_a_right, only_b_right, b_milder, b_harsher: texts. p_NAME: "
    "two-sided tests by sign flips of inputs, adjusted for all pairs and statistics of an aspect. as_good: kappas are "
    "shown to differ by less than {margin:g}. Intervals: 95 %, over inputs."
)
UNITY = "Texts by how many people give the same label; those without a label that stands for people's do not count."
SLICES = (
    "p_kappa, p_harshness: that a slice differs from all others, by permutations of inputs, adjusted for all slices "
    "and both. rate_by_judge, rate_by_people and corrected are means of labels (of labels 0 and 1 rates); corrected is "
    "prediction-powered where only some texts are labelled. Intervals: 95 %, over inputs."
)
GATE = (
    "A condition fails where a test shows it, at {level:g} over all conditions: noise alone fails any of them with at "
    "most this chance. could_show: what the data would have shown beyond the limit with a chance of 0.8."
)
NO_SLICE = "no text has a value"


@dataclass(frozen=True)
class CheckSettings:
    """Which checks are made, and their settings."""

    # a column of the texts by whose values agreement is split
    by: str | None = None
    # conditions that fail the study, such as `kappa < 0.6`
    fail_if: str | Sequence[str] = ()
    # the judge from which drops are counted
    baseline: str | None = None
    # a difference of kappas that does not matter
    margin: float = 0.1
    level: float = 0.05


@dataclass(frozen=True, eq=False)
class JudgeChecks:
    """What the checks of all aspects found."""

    settings: CheckSettings
    # by aspect
    pairs: Mapping[str, Sequence[JudgeDifference]] = field(default_factory=dict)
    unity: Mapping[str, Sequence[UnityAccuracy]] = field(default_factory=dict)
    # by aspect and judge, with the rows of corrected rates by slice
    slices: Mapping[tuple[str, str], Sequence[tuple[SliceAgreement, Row]]] = field(default_factory=dict)
    gate: Sequence[GateResult] = ()

    @property
    def tables(self) -> list[Table]:
        """Differences of judges, accuracy by unity, slices and the gate; those that there are."""
        pairs = [_list_cells(aspect, each) for aspect, several in self.pairs.items() for each in several]
        unity = [
            pick(each, ("judge", "people", "n", "accuracy"), aspect=aspect)
            for aspect, several in self.unity.items()
            for each in several
        ]
        by = self.settings.by or ""
        slices = [
            {"aspect": aspect, "judge": judge, by: each.slice, **_list_slice_cells(each), **rates}
            for (aspect, judge), several in self.slices.items()
            for each, rates in several
        ]
        gate = [_list_gate_cells(each) for each in self.gate]
        return [
            tabulate("Judges side by side", PAIRS.format(margin=self.settings.margin), pairs),
            tabulate("Accuracy by how united people are", UNITY, unity),
            tabulate(f"By {by}", SLICES, slices),
            tabulate("Gate", GATE.format(level=self.settings.level), gate),
        ]

    @property
    def notes(self) -> list[str]:
        """The differences that tests show, slices that differ or are too small, and the outcomes of the gate."""
        level = self.settings.level
        found = [
            f"{aspect}: {describe_pair(each, level, self.settings.margin)}"
            for aspect, several in self.pairs.items()
            for each in several
        ]
        for (aspect, judge), several in self.slices.items():
            found += [f"{aspect}: {said}" for said in _describe_slices(judge, [each for each, _ in several], level)]
        return found + [each.describe() for each in self.gate]

    @property
    def findings(self) -> list[str]:
        """The conditions of the gate that failed, in sentences."""
        return [each.describe() for each in self.gate if each.has_failed]


def check_judges(
    scored: ScoredSet,
    labelling: Labelling,
    settings: CheckSettings,
    resampling: Resampling,
    probabilities: Mapping[str, float] | None = None,
) -> JudgeChecks:
    """The checks of the judges of each labelled aspect.

    `probabilities` are those with which labelled texts were drawn, by id: where they differ, judges side by side
    and the gate count each text by its inverse, slices do not.

    Raises SettingError for an unknown column, baseline or condition, and for a gate where no judge gives labels.
    """
    drawn = probabilities or {}
    judged = [each for each in list_labelled(scored, labelling) if each.judged]
    conditions = read_conditions(settings.fail_if) if settings.fail_if else []
    if conditions and not judged:
        raise SettingError("fail_if is about judges of labels, but no score is a label that people give")
    judges = dict.fromkeys(name for each in judged for name in each.judged)
    if settings.baseline is not None:
        check_names([settings.baseline], judges, "baseline")
    needs_baseline = any(each.is_drop for each in conditions)
    if needs_baseline and (settings.baseline is None or len(judges) < 2):
        raise SettingError("a drop needs another judge as its baseline: baseline=JUDGE")
    pairs: dict[str, Sequence[JudgeDifference]] = {}
    unity: dict[str, Sequence[UnityAccuracy]] = {}
    slices: dict[tuple[str, str], Sequence[tuple[SliceAgreement, Row]]] = {}
    for each in judged:
        if len(each.judged) > 1:
            pairs[each.aspect] = _compare(each, settings, resampling, drawn)
        if len(each.people) > 1:
            unity[each.aspect] = measure_by_unity(each.people, each.consensus, each.judged, each.rated.layout)
        for name in each.judged if settings.by is not None else ():
            slices[each.aspect, name] = _slice(scored, each, name, labelling, settings.by or "", resampling, drawn)
    gate = hold_gate(judged, conditions, settings, drawn)
    return JudgeChecks(settings, pairs, unity, slices, gate)


def _compare(
    of: LabelledAspect, settings: CheckSettings, resampling: Resampling, drawn: Mapping[str, float]
) -> list[JudgeDifference]:
    lengths = np.array([len(each.full_text) for each in of.rated.examples], dtype=np.float64)
    return compare_judges(
        of.consensus,
        of.judged,
        of.labels,
        of.rated.layout,
        lengths=lengths if lengths.any() else None,
        weights=weigh_texts(of, drawn),
        margin=settings.margin,
        level=settings.level,
        seed=resampling.seed,
    )


def list_slices(scored: ScoredSet, by: str) -> list[str]:
    """The value of a column for each text: a field such as `system` or `label`, or a column that is passed on.

    Raises SettingError for a column that no text has.
    """
    fields = ("system", "group", "label", "context", "prefix", "id")
    given = [getattr(each, by) if by in fields else each.extra.get(by) for each in scored.examples]
    if all(value is None for value in given):
        known = [name for name in fields if any(getattr(each, name) is not None for each in scored.examples)]
        extra = dict.fromkeys(name for each in scored.examples for name in each.extra if name != "ratings")
        raise SettingError(
            f"by must be a column of the texts, but {by} is none of {', '.join([*known, *extra][:SHOWN])}"
        )
    return [NO_SLICE if value is None else str(value) for value in given]


def _slice(
    scored: ScoredSet,
    of: LabelledAspect,
    name: str,
    labelling: Labelling,
    by: str,
    resampling: Resampling,
    drawn: Mapping[str, float],
) -> list[tuple[SliceAgreement, Row]]:
    """The agreement of a judge by slice, with the rates of all texts of a slice."""
    names = np.array(list_slices(scored, by))
    rated = np.array(list_slices(of.rated, by))
    found = measure_slices(
        rated.tolist(), of.consensus, of.judged[name], of.labels, of.rated.layout, resampling=resampling
    )
    rows: list[tuple[SliceAgreement, Row]] = []
    for each in found:
        part = scored.take(np.flatnonzero(names == each.slice))
        rates = correct_mean(part, name, of, labelling, drawn)
        shown = {"rate_by_judge": rates["by_judge"], "rate_by_people": rates["by_people"]}
        if len(of.rated) < len(scored):
            shown["corrected"] = rates["corrected"]
        rows.append((each, shown))
    return rows


def hold_gate(
    judged: Sequence[LabelledAspect],
    conditions: Sequence[Condition],
    settings: CheckSettings,
    drawn: Mapping[str, float],
) -> list[GateResult]:
    """The outcome of each condition for each judge of each aspect; drops are those of judges beside the baseline."""
    wanted = [
        (each, name, condition)
        for each in judged
        for name in each.judged
        for condition in conditions
        if not condition.is_drop or name != settings.baseline
    ]
    found: list[GateResult] = []
    for of, name, condition in wanted:
        is_two_sided = condition.quantity == "harshness"
        confidence = find_confidence(settings.level, len(wanted), is_two_sided=is_two_sided)
        quantity, kept = _measure(of, name, condition, settings.baseline, weigh_texts(of, drawn))
        layout = restrict(of.rated.layout, kept)
        estimate = quantity.estimate(layout, confidence)
        inputs = layout.input_count
        found.append(decide(condition, estimate, aspect=of.aspect, judge=name, confidence=confidence, inputs=inputs))
    return found


def _measure(
    of: LabelledAspect, name: str, condition: Condition, baseline: str | None, weights: Floats | None
) -> tuple[Linearised, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """The quantity of a condition, and the texts it rests on."""
    judge = of.judged[name]
    other = of.judged[str(baseline)] if condition.is_drop else judge
    kept = ~np.isnan(of.consensus + judge + other)
    people, labels = of.consensus[kept], judge[kept]
    own = None if weights is None else weights[kept]
    if condition.is_drop:
        differences = linearise_differences(people, labels, other[kept], of.labels, weights=own)
        return differences[condition.quantity.removesuffix(" drop")], kept
    if condition.quantity == "kappa":
        return linearise_kappa(people, labels, of.labels, is_weighted=len(of.labels) > 2, weights=own), kept
    if condition.quantity == "accuracy":
        return linearise_mean((labels == people).astype(np.float64), own), kept
    return linearise_mean(labels - people, own), kept


def _list_cells(aspect: str, found: JudgeDifference) -> Row:
    known = {name: found.differences[name] for name in STATISTICS if name in found.differences}
    p_values = {f"p_{name}": found.p_values.get(name, math.nan) for name in known}
    names = {"aspect": aspect, "judge_a": found.judge_a, "judge_b": found.judge_b}
    verdict = "yes" if found.is_as_good else "not shown"
    return {**names, **known, **p_values, "as_good": verdict, **pick(found, PAIR_CELLS)}


def _list_slice_cells(found: SliceAgreement) -> Row:
    return pick(found, ("n", "kappa", "p_kappa", "harshness", "p_harshness"))


def _list_gate_cells(found: GateResult) -> Row:
    outcome = "failed" if found.has_failed else "unknown" if math.isnan(found.estimate.low) else "kept"
    names = {"aspect": found.aspect, "judge": found.judge, "condition": str(found.condition), "outcome": outcome}
    return {**names, "found": found.estimate, "could_show": found.could_show}


def describe_pair(found: JudgeDifference, level: float, margin: float) -> str:
    """What differs between two judges, the most certain first, or that nothing is shown to."""
    shown = name_difference(found, level)
    pair = f"{found.judge_b} beside {found.judge_a}"
    flips = f"right alone in {found.only_b_right} and {found.only_a_right} texts"
    good = f"; as good within {margin:g} of kappa" if found.is_as_good else ""
    if not shown:
        kappa = format_cell(found.differences["kappa"])
        return f"{pair}: no difference is shown (kappa {kappa}, {flips}){good}"
    said = ", ".join(_describe_difference(name, found.differences[name]) for name in shown)
    return f"{pair}: {said} ({flips}){good}"


def _describe_difference(name: str, found: Estimate) -> str:
    above = found.value > 0
    if name == "harshness":
        return f"{'milder' if above else 'harsher'} by {format_cell(found if above else found.negate())}"
    if name == "length_effect":
        shown = format_cell(found if above else found.negate())
        return f"{'milder' if above else 'harsher'} on longer texts by {shown}"
    return f"{name} {'higher' if above else 'lower'} by {format_cell(found if above else found.negate())}"


def _describe_slices(judge: str, several: Sequence[SliceAgreement], level: float) -> list[str]:
    found: list[str] = []
    for each in several:
        for name, estimate, p_value in (
            ("kappa", each.kappa, each.p_kappa),
            ("harshness", each.harshness, each.p_harshness),
        ):
            if p_value < level:
                p = format_number(p_value)
                found.append(f"{judge} differs on {each.slice}: {name} {format_cell(estimate)} (p {p})")
    small = [each.slice for each in several if each.reason is not None]
    if small:
        found.append(f"{judge}: {join_names(small)} {'are' if small[1:] else 'is'} too small to tell")
    return found


def answer_judges(aspect: str, labels: LabelStudy, checks: JudgeChecks) -> str:
    """How well the judges of an aspect agree with people, the difference that matters, and whether that is enough."""
    agreement = {name: each for (of, name), each in labels.agreement.items() if of == aspect}
    is_weighted = any(len(each.labels) > 2 for each in agreement.values())
    ranked = sorted(agreement, key=lambda name: -_sort_kappa(agreement[name], is_weighted))
    best, *others = ranked
    said = f"{aspect}: {_describe_agreement(best, agreement[best], is_weighted)}"
    pairs = [each for each in checks.pairs.get(aspect, ()) if best in (each.judge_a, each.judge_b)]
    shown = {name: _face(each, best) for each in pairs for name in (each.judge_a, each.judge_b) if name != best}
    level = checks.settings.level
    apart = [name for name in others if name in shown and name_difference(shown[name], level)]
    if apart:
        name = min(apart, key=lambda other: min(shown[other].p_values.values()))
        difference = name_difference(shown[name], level)[0]
        change = _describe_difference(difference, shown[name].differences[difference])
        said += f"; beside {name}: {change}"
    if same := [name for name in others if name not in apart]:
        said += f"; no difference from {join_names(same)} is shown"
    single = labels.single.get(aspect, ())
    tests = {name: labels.alternatives[aspect, name] for name in ranked if (aspect, name) in labels.alternatives}
    return f"{said}; {describe_enough(single, ranked, is_weighted, tests)}"


def _sort_kappa(found: LabelAgreement, is_weighted: bool) -> float:
    kappa = found.weighted_kappa if is_weighted else found.kappa
    return -math.inf if math.isnan(kappa.value) else kappa.value


def _describe_agreement(name: str, found: LabelAgreement, is_weighted: bool) -> str:
    kappa = found.weighted_kappa if is_weighted else found.kappa
    named = "weighted kappa" if is_weighted else "kappa"
    said = f"{name} agrees with people by {named} {format_cell(kappa)}"
    harshness = found.harshness
    if harshness.low > 0 or harshness.high < 0:
        said += (
            f", {'milder' if harshness.value > 0 else 'harsher'} than they are by {format_number(abs(harshness.value))}"
        )
    return said


def _face(found: JudgeDifference, judge: str) -> JudgeDifference:
    """The difference as this judge minus the other one."""
    return found if found.judge_b == judge else found.turn()
