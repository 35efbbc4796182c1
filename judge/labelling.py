"""Ratings that are labels: kappa, confusion and a judge's most confident disagreements, compared with people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from core.errors import SettingError, check_names
from core.settings import checked_dataclass
from data.rating_words import GivenLevels, freeze_levels, number_levels
from judge.agreement_tables import describe_chance, describe_enough, single_table
from judge.correcting import note_sample
from judge.tables import Row, Table, pick, tabulate
from judge.wording import format_cell, shorten
from meta_eval.alternative_annotator import ENOUGH, AlternativeTest, compare_with_people
from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats
from meta_eval.designs import are_unequal, bound_by_design, estimate_drawn
from meta_eval.grouping import restrict
from meta_eval.intervals import Resampling, mean_over_inputs, share_interval
from meta_eval.judge_pairs import find_constant
from meta_eval.labels import (
    MOST_LABELS,
    LabelAgreement,
    SingleAgreement,
    agree_on_labels,
    agree_with_single,
    assign_labels,
    find_consensus,
    find_labels,
)
from meta_eval.linearised import linearise_kappa, linearise_mean
from meta_eval.prediction_powered import powered_mean, powered_rate
from meta_eval.sampling import SampleDifference, compare_cells, compare_verdicts
from meta_eval.scored_set import ScoredSet
from meta_eval.unanimity import count_unity

ALL = "all"  # of systems
MOST_SHOWN = 20  # disagreements of a judge about an aspect
LONGEST_TEXT = 200  # characters of a text beside a disagreement
LABEL_CELLS = ("n", "accuracy", "kappa", "weighted_kappa", "harshness", "missing")
CONSTANT_CELLS = ("n", "accuracy", "missing")
SHARE_CELLS = ("n_people", "n_judge", "sensitivity", "specificity")
ALTERNATIVE_CELLS = ("people", "winning_rate", "advantage", "epsilon")
PASSES = {True: "yes", False: "no", None: "not tested"}


@checked_dataclass
class Labelling:
    """Settings of labels: which ratings are labels, and how scores become labels."""

    # by aspect the labels, from the worst to the best; with auto, or one scale of words for all, the ratings that are
    # 2 to 10 whole numbers are labels
    levels: GivenLevels = "auto"
    # by metric the least score of the higher one of two labels; a score without one gives the nearest label
    thresholds: Mapping[str, float] | None = None

    @property
    def signature(self) -> str:
        """The settings that differ from the defaults, as a part of a run's signature."""
        parts: list[str] = []
        if self.levels != "auto":
            parts.append(f"|levels={self.levels}")
        if self.thresholds:
            parts.append(f"|thresholds={dict(self.thresholds)}")
        return "".join(parts)


@dataclass(frozen=True, eq=False)
class LabelStudy:
    """How well judges agree with the labels of people; empty if ratings or scores are not labels."""

    # by aspect and judge
    agreement: dict[tuple[str, str], LabelAgreement] = field(default_factory=dict)
    # by aspect, of judges with each person and of people among themselves, where several people are known
    single: dict[str, Sequence[SingleAgreement]] = field(default_factory=dict)
    # texts with another label than people's, by aspect and judge the surest first
    disagreements: list[Row] = field(default_factory=list)
    # where only some texts are labelled, a row for the mean label by aspect, judge and system
    corrected: list[Row] = field(default_factory=list)
    # by aspect and judge, how the labelled texts differ from the others: corrected means then do not hold
    unrepresentative: dict[tuple[str, str], Sequence[SampleDifference]] = field(default_factory=dict)
    # by aspect and judge, whether the judge is as good as most single people, where several are known
    alternatives: dict[tuple[str, str], AlternativeTest] = field(default_factory=dict)
    # by aspect, the agreement of the label that most texts have, given to all of them
    constants: dict[str, tuple[float, LabelAgreement]] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """Tables of agreement (also with single people), corrected means, labels, confusion and disagreements."""
        single = [({"aspect": aspect}, person) for aspect, people in self.single.items() for person in people]
        tables = [
            tabulate("Agreement on labels", AGREEMENT_CAPTION, [*self._list_agreement(), *self._list_constants()]),
            single_table(single),
            tabulate("Alternative annotator test", ALTERNATIVE_CAPTION, self._list_alternatives()),
            tabulate("Mean labels by judges and by people", CORRECTED_CAPTION, self.corrected),
            tabulate("Labels one by one", "Intervals: 95 %, over inputs.", self._list_shares()),
            *self._tabulate_confusion(),
            Table("Disagreements", DISAGREEMENTS_CAPTION, self.disagreements),
        ]
        return [table for table in tables if table.rows]

    def _list_agreement(self) -> list[Row]:
        """The agreement of each judge."""
        return [
            pick(agreement, LABEL_CELLS, aspect=aspect, judge=name)
            for (aspect, name), agreement in self.agreement.items()
        ]

    def _list_constants(self) -> list[Row]:
        """The agreement of a judge that gives the most frequent label to all texts, whose kappa is 0."""
        rows: list[Row] = []
        for aspect, (label, agreement) in self.constants.items():
            cells = pick(agreement, CONSTANT_CELLS, aspect=aspect, judge=f"always {label:g} (a constant)")
            rows.append({**cells, "kappa": 0.0})
        return rows

    def _list_alternatives(self) -> list[Row]:
        """The alternative annotator test of each judge."""
        rows: list[Row] = []
        for (aspect, name), test in self.alternatives.items():
            cells = pick(test, ALTERNATIVE_CELLS, aspect=aspect, judge=name)
            rows.append({**cells, "passes": PASSES[test.passes]})
        return rows

    def _list_shares(self) -> list[Row]:
        """How well each judge recognises each label."""
        return [
            pick(
                shares,
                SHARE_CELLS,
                aspect=aspect,
                judge=name,
                label=f"{shares.label:g}",
            )
            for (aspect, name), agreement in self.agreement.items()
            for shares in agreement.shares
        ]

    def _tabulate_confusion(self) -> list[Table]:
        """For each aspect a table of how many texts have each pair of labels."""
        by_aspect: dict[str, list[Row]] = {}
        for (aspect, name), agreement in self.agreement.items():
            rows = by_aspect.setdefault(aspect, [])
            for label, counts in zip(agreement.labels, agreement.confusion, strict=True):
                judged = zip(agreement.labels, counts, strict=True)
                cells = {f"judged {other:g}": int(count) for other, count in judged}
                rows.append({"judge": name, "people": f"{label:g}", **cells})
        return [
            Table(f"Labels by people and by judges: {aspect}", CONFUSION_CAPTION, rows)
            for aspect, rows in by_aspect.items()
        ]

    @property
    def notes(self) -> list[str]:
        """For each judge: whether it is better than chance, harsher than people, and agrees with people as they do."""
        return [*self._describe_agreement(), *self._describe_samples(), *self._describe_corrected()]

    def _describe_agreement(self) -> Iterator[str]:
        for (aspect, name), agreement in self.agreement.items():
            test = self.alternatives.get((aspect, name))
            yield describe_labels(aspect, name, agreement, self.single.get(aspect, ()), test)

    def _describe_samples(self) -> Iterator[str]:
        """How labelled texts differ from the others."""
        for (aspect, name), differences in self.unrepresentative.items():
            for difference in differences:
                yield f"{aspect}: {note_sample(name, 'texts', difference)}"

    def _describe_corrected(self) -> Iterator[str]:
        """What people would say of all texts, where an interval is known and the labels are not visibly chosen."""
        for row in self.corrected:
            is_chosen = (row["aspect"], row["judge"]) in self.unrepresentative
            if is_chosen or math.isnan(row["corrected"].low):
                continue
            system = "" if row["system"] == ALL else f"{row['system']} "
            said = f"{row['aspect']}: people would give {system}{format_cell(row['corrected'])}"
            by_judge = format_cell(row["by_judge"])
            yield f"{said}, by {row['labels']} labels and {row['judge']}, which gives {by_judge}"


AGREEMENT_CAPTION = (
    "The judge's labels against the median of people's; texts whose median lies between two labels are left out. A "
    "score gives the nearest label, or that of its threshold."
)
CORRECTED_CAPTION = (
    "The mean label (of labels 0 and 1 the rate) of all texts. corrected: prediction-powered, valid for any judge if "
    f"the labelled texts are a random sample; its interval needs {FEWEST_UNITS} of them."
)
CONFUSION_CAPTION = "How many texts have each pair of labels."
DISAGREEMENTS_CAPTION = (
    f"For each judge at most {MOST_SHOWN} texts with another label than people's: those on which people are most "
    "united first, then the judge's surest ones, then by distance of labels. united: how many people say the same."
)
ALTERNATIVE_CAPTION = (
    "Calderon et al. (2025): winning_rate is the share of people that the judge is as good as, within epsilon, held "
    f"against the other people; the paper's rule passes a judge from {ENOUGH:g} on. advantage: the chance that the "
    "judge is at least as near to the others as a person is. Its interval: 95 %, over inputs."
)


@dataclass(frozen=True, eq=False)
class LabelledAspect:
    """The labels by people and by judges of the texts that are rated for one aspect."""

    aspect: str
    rated: ScoredSet
    labels: Floats
    # of shape (people, n)
    people: Floats
    # by judge, of shape (n,), and the distance of each score from a change of label
    judged: Mapping[str, Floats]
    sureness: Mapping[str, Floats]

    @cached_property
    def consensus(self) -> Floats:
        """The median of people's labels."""
        return find_consensus(self.people, self.labels)


def study_labels(
    scored: ScoredSet,
    labelling: Labelling,
    resampling: Resampling,
    probabilities: Mapping[str, float] | None = None,
) -> LabelStudy:
    """Measures how well each judge that `list_labelled` finds agrees with people. Raises as `list_labelled` does.

    `probabilities` are those with which labelled texts were drawn, by id; figures then estimate those of all texts.
    """
    drawn = probabilities or {}
    study = LabelStudy()
    for labelled in list_labelled(scored, labelling):
        if not labelled.judged:
            continue
        if len(labelled.rated) < len(scored):
            _add_corrected(study, scored, labelled, labelling, drawn)
        _add_agreement(study, labelled, resampling, drawn)
        if len(labelled.people) > 1:
            _add_single_people(study, labelled, resampling)
    return study


def _add_corrected(
    study: LabelStudy,
    scored: ScoredSet,
    labelled: LabelledAspect,
    labelling: Labelling,
    probabilities: Mapping[str, float],
) -> None:
    """Adds the mean labels of all texts, of each system or all of them, and how the labelled ones differ."""
    if not probabilities:
        study.unrepresentative.update(check_samples(scored, labelled.aspect, [*labelled.judged]))
    by_system = {part.name: part for part in scored.by_system()} or {ALL: scored}
    for system, part in by_system.items():
        for name in labelled.judged:
            cells = {"aspect": labelled.aspect, "judge": name, "system": system}
            means = correct_mean(part, name, labelled, labelling, probabilities)
            study.corrected.append({**cells, **means})


def _add_agreement(
    study: LabelStudy,
    labelled: LabelledAspect,
    resampling: Resampling,
    probabilities: Mapping[str, float],
) -> None:
    """Adds the agreement of each judge, and of the most frequent label, and disagreements."""
    layout = labelled.rated.layout
    for name, judged in labelled.judged.items():
        agreement = agree_on_labels(labelled.consensus, judged, labelled.labels, layout, resampling)
        if are_unequal(probabilities):
            agreement = weigh_by_design(agreement, labelled, name, probabilities)
        study.agreement[labelled.aspect, name] = agreement
        study.disagreements.extend(_list_disagreements(labelled, name))
    study.constants[labelled.aspect] = _agree_by_constant(labelled, resampling)


def _add_single_people(
    study: LabelStudy,
    labelled: LabelledAspect,
    resampling: Resampling,
) -> None:
    """Adds the agreement with single people, and whether a judge is as good as most of them."""
    layout = labelled.rated.layout
    aspect = labelled.aspect
    study.single[aspect] = agree_with_single(labelled.people, labelled.judged, labelled.labels, layout, resampling)
    for name, judged in labelled.judged.items():
        test = compare_with_people(labelled.people, judged, layout, is_ordered=len(labelled.labels) > 2)
        study.alternatives[aspect, name] = test


def _agree_by_constant(labelled: LabelledAspect, resampling: Resampling) -> tuple[float, LabelAgreement]:
    """The label that most texts have, and its agreement as the label of all of them."""
    people = labelled.consensus
    label = find_constant(people)
    constant = np.full(len(people), label)
    return label, agree_on_labels(people, constant, labelled.labels, labelled.rated.layout, resampling)


def check_samples(
    scored: ScoredSet,
    aspect: str,
    names: Sequence[str],
) -> dict[tuple[str, str], Sequence[SampleDifference]]:
    """Finds how rated texts differ from the others in scores and systems, by aspect and metric, if they do."""
    is_rated = ~np.isnan(scored.ratings(aspect))
    by_system = compare_cells(is_rated, scored.systems, scored.layout) if scored.systems else None
    differences: dict[tuple[str, str], Sequence[SampleDifference]] = {}
    for name in names:
        by_score = compare_verdicts(is_rated, scored.values(name, aspect), scored.layout)
        shown = [difference for difference in (by_score, by_system) if difference is not None]
        if shown:
            differences[aspect, name] = shown
    return differences


def weigh_by_design(
    agreement: LabelAgreement,
    labelled: LabelledAspect,
    name: str,
    probabilities: Mapping[str, float],
) -> LabelAgreement:
    """Estimates the agreement of a judge on all texts: each drawn text is weighted by its inverse probability.

    Counts, shares of single labels and the test against chance are those of the drawn texts.
    """
    kept = ~np.isnan(labelled.consensus + labelled.judged[name])
    people = labelled.consensus[kept]
    judged = labelled.judged[name][kept]
    layout = restrict(labelled.rated.layout, kept)
    chances = _list_probabilities(labelled.rated, probabilities)[kept]
    weights = 1 / chances
    is_right = (people == judged).astype(np.float64)
    accuracy = linearise_mean(is_right, weights)
    kappa = linearise_kappa(people, judged, labelled.labels, weights=weights)
    weighted_kappa = linearise_kappa(people, judged, labelled.labels, is_weighted=True, weights=weights)
    harshness = linearise_mean(judged - people, weights)
    return replace(
        agreement,
        accuracy=bound_by_design(accuracy, chances, layout, is_rate=True),
        kappa=bound_by_design(kappa, chances, layout),
        weighted_kappa=bound_by_design(weighted_kappa, chances, layout),
        harshness=bound_by_design(harshness, chances, layout),
    )


def weigh_texts(labelled: LabelledAspect, probabilities: Mapping[str, float]) -> Floats | None:
    """The weight of each rated text of a drawn sample; None if all have the same probability."""
    return 1 / _list_probabilities(labelled.rated, probabilities) if are_unequal(probabilities) else None


def _list_probabilities(texts: ScoredSet, probabilities: Mapping[str, float]) -> Floats:
    """The probability with which each text was drawn; raises SettingError for a labelled one without."""
    lost = [example.id for example in texts.examples if example.ratings and example.id not in probabilities]
    if lost:
        raise SettingError(f"every label needs the probability of its text, but {lost[0]} has none in the design")
    return np.array([probabilities.get(example.id, np.nan) for example in texts.examples])


def correct_mean(
    texts: ScoredSet,
    name: str,
    labelled: LabelledAspect,
    labelling: Labelling,
    probabilities: Mapping[str, float] | None = None,
) -> Row:
    """Makes a row with the mean label of all texts: by the judge, and by people.

    The mean by people is estimated from a labelled sample, corrected with the scores that the judge gave to all texts.
    `probabilities` are those with which texts were drawn into the sample, by id.
    """
    ratings = texts.ratings(labelled.aspect)
    scores = texts.values(name, labelled.aspect)
    is_rate = not np.setdiff1d(labelled.labels, (0, 1)).size
    if probabilities and are_unequal(probabilities):
        chances = _list_probabilities(texts, probabilities)
        by_people = estimate_drawn(ratings, scores, chances, texts.layout, is_rate=is_rate)
    elif is_rate:
        by_people = powered_rate(ratings, scores, texts.layout)
    else:
        by_people = powered_mean(ratings, scores, texts.layout)
    threshold = (labelling.thresholds or {}).get(name)
    judged, _ = assign_labels(scores, labelled.labels, threshold)
    known = ~np.isnan(judged)
    estimate = share_interval if is_rate else mean_over_inputs
    by_judge = estimate(judged[known], restrict(texts.layout, known))
    return {"texts": len(texts), "by_judge": by_judge, **by_people.cells}


def list_labelled(scored: ScoredSet, labelling: Labelling) -> Iterator[LabelledAspect]:
    """Yields the aspects whose ratings are labels, with the labels of judges.

    A metric that scores a rated aspect by name is compared with that aspect only. It is a judge if it has a threshold,
    if its scores are whole numbers of which at least half are labels, or if they lie between the first and the last
    label. Shares, such as ROUGE's, are not labels of a scale that ends above 1.

    Raises SettingError for unknown names and for ratings that are not a declared label.
    """
    by_aspect = isinstance(labelling.levels, Mapping)
    scales = {name: scale for name, scale in freeze_levels(labelling.levels) if name}
    declared = {name: sorted(number_levels(scale).values()) for name, scale in scales.items()}
    check_names(declared, scored.aspects, "levels")
    check_names(labelling.thresholds or {}, scored.scores, "thresholds")
    for aspect in declared if by_aspect else scored.aspects:
        labelled = _find_labelled(scored, aspect, declared.get(aspect), labelling.thresholds or {})
        if labelled is not None:
            yield labelled


def _find_labelled(
    scored: ScoredSet,
    aspect: str,
    declared: Sequence[float] | None,
    thresholds: Mapping[str, float],
) -> LabelledAspect | None:
    """The labels of people and judges of one aspect; None if its ratings are no labels."""
    rated = scored.rated(aspect)
    people = rated.raters.get(aspect, rated.ratings(aspect)[None])
    labels = find_labels(people) if declared is None else _check_labels(aspect, declared, people)
    if labels is None:
        return None
    others = {*scored.aspects} - {aspect}
    names = [name for name, scores in rated.scores.items() if not {*scores.values} & others]
    values = {name: rated.values(name, aspect) for name in names}
    if declared is None:
        labels = _add_labels(labels, values)
    judged: dict[str, Floats] = {}
    sureness: dict[str, Floats] = {}
    for name, scores in values.items():
        threshold = thresholds.get(name)
        if threshold is not None and len(labels) != 2:
            raise SettingError(f"a threshold is for two labels, but {aspect} has {len(labels)}: {_show(labels)}")
        if threshold is not None or _are_on_scale(scores[~np.isnan(scores)], labels):
            judged[name], sureness[name] = assign_labels(scores, labels, threshold)
    return LabelledAspect(
        aspect=aspect,
        rated=rated,
        labels=labels,
        people=people,
        judged=judged,
        sureness=sureness,
    )


def _are_on_scale(scores: Floats, labels: Floats) -> bool:
    """Whether scores can be labels: between the first and the last one, and no shares where the last is above 1."""
    if not len(scores) or scores.min() < labels[0] or scores.max() > labels[-1]:
        return False
    are_shares = scores.min() >= 0 and scores.max() <= 1 and bool((scores % 1).any())
    return not are_shares or labels[-1] <= 1


def _check_labels(
    aspect: str,
    declared: Sequence[float],
    people: Floats,
) -> Floats:
    """The declared labels; raises SettingError for fewer than two, and for a rating that is none of them."""
    labels = np.unique(np.asarray(declared, dtype=np.float64))
    others = np.setdiff1d(people[~np.isnan(people)], labels)
    rule = f"levels of {aspect} must be two or more that hold every rating ({_show(labels)})"
    if len(others):
        raise SettingError(f"{rule}, found the rating {others[0]:g}")
    if len(labels) < 2:
        raise SettingError(f"{rule}, found fewer")
    return labels


def _add_labels(labels: Floats, scores: Mapping[str, Floats]) -> Floats:
    """The labels, and those that only a judge gives whose scores are whole and at least half labels of people."""
    for values in scores.values():
        given = values[~np.isnan(values)]
        both = find_labels(np.append(given, labels))
        if both is not None and 2 * np.isin(given, labels).sum() >= len(given):
            labels = both
    return labels


def _show(labels: Floats) -> str:
    return ", ".join(f"{label:g}" for label in labels[:MOST_LABELS])


def _list_disagreements(labelled: LabelledAspect, name: str) -> list[Row]:
    """The texts with another label than people's: those with the most united people first, then the surest."""
    people = labelled.consensus
    judged = labelled.judged[name]
    sureness = labelled.sureness[name]
    gaps = np.abs(judged - people)
    most, rated = count_unity(labelled.people)
    united = most / np.maximum(rated, 1)

    def rank(place: int) -> tuple[float, ...]:
        return -united[place], -rated[place], -round(sureness[place], 9), -gaps[place]

    rows: list[Row] = []
    for place in sorted(np.flatnonzero(gaps > 0).tolist(), key=rank)[:MOST_SHOWN]:
        example = labelled.rated.examples[place]
        row: dict[str, Any] = {
            "aspect": labelled.aspect,
            "judge": name,
            "id": example.id,
            "people": f"{people[place]:g}",
        }
        if len(labelled.people) > 1:
            row["united"] = f"{most[place]:g} of {rated[place]:g}"
        row["judged"] = f"{judged[place]:g}"
        row["sureness"] = float(sureness[place])
        if example.full_text:
            row["text"] = shorten(example.full_text, LONGEST_TEXT)
        rows.append(row)
    return rows


def describe_labels(
    aspect: str,
    name: str,
    agreement: LabelAgreement,
    single: Sequence[SingleAgreement],
    alternative: AlternativeTest | None = None,
) -> str:
    """Says in a sentence how well the judge agrees with people on labels; `single` is that with single people.

    For more than two ordered labels, the weighted kappa counts.
    """
    is_weighted = len(agreement.labels) > 2
    only = next((shares for shares in agreement.shares if shares.n_judge == agreement.n > 0), None)
    if only is not None:
        said = f"gives the label {only.label:g} to all {agreement.n} texts"
    elif is_weighted:
        chance = describe_chance(agreement.weighted_kappa, agreement.p_weighted)
        said = f"is {chance} (weighted kappa {format_cell(agreement.weighted_kappa)})"
    else:
        said = f"is {describe_chance(agreement.kappa, agreement.p_chance)} (kappa {format_cell(agreement.kappa)})"
    tests = {} if alternative is None else {name: alternative}
    enough = describe_enough(single, [name], is_weighted, tests)
    return f"{aspect}: {name} {said}{_describe_harshness(agreement.harshness)}; {enough}"


def _describe_harshness(harshness: Estimate) -> str:
    """How much milder or harsher than people a judge is; empty where neither is shown."""
    if harshness.low > 0:
        return f", milder than people by {format_cell(harshness)}"
    if harshness.high < 0:
        return f", harsher than people by {format_cell(harshness.negate())}"
    return ""
