"""Ratings that are labels: kappa, confusion and a judge's surest disagreements, beside people among themselves."""

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
from meta_eval.bootstrap import FEWEST_UNITS, Floats
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
SHARE_CELLS = ("n_people", "n_judge", "sensitivity", "specificity")
ALTERNATIVE_CELLS = ("people", "winning_rate", "advantage", "epsilon")
PASSES = {True: "yes", False: "no", None: "not tested"}


@checked_dataclass
class Labelling:
    """Which ratings are labels, and which label a score gives."""

    # by aspect the labels, from the worst to the best; with auto, or one scale of words for all, the ratings that are
    # 2 to 10 whole numbers are labels
    levels: GivenLevels = "auto"
    # by metric the least score of the higher one of two labels; a score without one gives the nearest label
    thresholds: Mapping[str, float] | None = None

    @property
    def signature(self) -> str:
        """The settings that are not the usual ones, as a part of the signature of a run."""
        declared = "" if self.levels == "auto" else f"|levels={self.levels}"
        return declared + (f"|thresholds={dict(self.thresholds)}" if self.thresholds else "")


@dataclass(frozen=True, eq=False)
class LabelStudy:
    """How well judges agree with the labels of people; empty where ratings, or scores, are no labels."""

    # by aspect and judge
    agreement: Mapping[tuple[str, str], LabelAgreement]
    # by aspect, of judges with each person and of people among themselves, where several people are known
    single: Mapping[str, Sequence[SingleAgreement]]
    # texts with another label than people's, by aspect and judge the surest first
    disagreements: Sequence[Mapping[str, Any]]
    # where only some texts are labelled, a row for the mean label by aspect, judge and system
    corrected: Sequence[Row]
    # by aspect and judge, how the labelled texts differ from the others: corrected means then do not hold
    unrepresentative: Mapping[tuple[str, str], Sequence[SampleDifference]] = field(default_factory=dict)
    # by aspect and judge, whether the judge is as good as most single people, where several are known
    alternatives: Mapping[tuple[str, str], AlternativeTest] = field(default_factory=dict)
    # by aspect, the agreement of the label that most texts have, given to all of them
    constants: Mapping[str, tuple[float, LabelAgreement]] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """Agreement, also with single people, corrected means, each label, the confusion, the surest disagreements."""
        rows = [pick(each, LABEL_CELLS, aspect=aspect, judge=name) for (aspect, name), each in self.agreement.items()]
        rows += [
            {
                **pick(each, ("n", "accuracy", "missing"), aspect=aspect, judge=f"always {label:g} (a constant)"),
                "kappa": 0.0,
            }
            for aspect, (label, each) in self.constants.items()
        ]
        alternatives = [
            pick(each, ALTERNATIVE_CELLS, aspect=aspect, judge=name) | {"passes": PASSES[each.passes]}
            for (aspect, name), each in self.alternatives.items()
        ]
        single = [({"aspect": aspect}, each) for aspect, found in self.single.items() for each in found]
        labels = [
            pick(own, SHARE_CELLS, aspect=aspect, judge=name, label=f"{own.label:g}")
            for (aspect, name), each in self.agreement.items()
            for own in each.shares
        ]
        confusion: dict[str, list[dict[str, Any]]] = {}
        for (aspect, name), each in self.agreement.items():
            for label, counts in zip(each.labels, each.confusion, strict=True):
                judged = {f"judged {other:g}": int(n) for other, n in zip(each.labels, counts, strict=True)}
                confusion.setdefault(aspect, []).append({"judge": name, "people": f"{label:g}", **judged})
        found = [
            tabulate("Agreement on labels", AGREEMENT_CAPTION, rows),
            single_table(single),
            tabulate("Alternative annotator test", ALTERNATIVE_CAPTION, alternatives),
            tabulate("Mean labels by judges and by people", CORRECTED_CAPTION, self.corrected),
            tabulate("Labels one by one", "Intervals: 95 %, over inputs.", labels),
            *(
                Table(f"Labels by people and by judges: {aspect}", "How many texts have each pair of labels.", counts)
                for aspect, counts in confusion.items()
            ),
            Table("Disagreements", DISAGREEMENTS_CAPTION, self.disagreements),
        ]
        return [table for table in found if table.rows]

    @property
    def notes(self) -> list[str]:
        """Whether each judge is better than chance, harsher than people, and as near to them as they are."""
        return (
            [
                describe_labels(aspect, name, each, self.single.get(aspect, ()), self.alternatives.get((aspect, name)))
                for (aspect, name), each in self.agreement.items()
            ]
            + [
                f"{aspect}: {note_sample(name, 'texts', each)}"
                for (aspect, name), several in self.unrepresentative.items()
                for each in several
            ]
            + [
                f"{row['aspect']}: people would give {'' if row['system'] == ALL else row['system'] + ' '}"
                f"{format_cell(row['corrected'])}, by {row['labels']} labels and {row['judge']}, which gives "
                f"{format_cell(row['by_judge'])}"
                for row in self.corrected
                if not math.isnan(row["corrected"].low) and (row["aspect"], row["judge"]) not in self.unrepresentative
            ]
        )


AGREEMENT_CAPTION = (
    "The judge's labels against the median of people's; texts whose median lies between two labels are left out. A "
    "score gives the nearest label, or that of its threshold."
)
CORRECTED_CAPTION = (
    "The mean label (of labels 0 and 1 the rate) of all texts. corrected: prediction-powered, valid for any judge if "
    f"the labelled texts are a random sample; its interval needs {FEWEST_UNITS} of them."
)
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
    """The labels of people and of judges of the texts that have ratings of one aspect."""

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
    """The agreement on labels of each judge that `list_labelled` finds; raises as it.

    `probabilities` are those with which labelled texts were drawn, by id: figures are then of all texts.
    """
    drawn = probabilities or {}
    agreement: dict[tuple[str, str], LabelAgreement] = {}
    single: dict[str, Sequence[SingleAgreement]] = {}
    corrected: list[Row] = []
    disagreements: list[Mapping[str, Any]] = []
    unlike: dict[tuple[str, str], Sequence[SampleDifference]] = {}
    alternatives: dict[tuple[str, str], AlternativeTest] = {}
    constants: dict[str, tuple[float, LabelAgreement]] = {}
    for each in list_labelled(scored, labelling):
        if not each.judged:
            continue
        if len(each.rated) < len(scored):
            unlike |= {} if drawn else check_samples(scored, each.aspect, [*each.judged])
            for system, part in ({part.name: part for part in scored.by_system()} or {ALL: scored}).items():
                for name in each.judged:
                    cells = {"aspect": each.aspect, "judge": name, "system": system}
                    corrected.append({**cells, **correct_mean(part, name, each, labelling, drawn)})
        layout = each.rated.layout
        for name, found in each.judged.items():
            own = agree_on_labels(each.consensus, found, each.labels, layout, resampling)
            agreement[each.aspect, name] = weigh_by_design(own, each, name, drawn) if are_unequal(drawn) else own
            disagreements += _list_disagreements(each, name)
        constants[each.aspect] = _agree_by_constant(each, resampling)
        if len(each.people) > 1:
            single[each.aspect] = agree_with_single(each.people, each.judged, each.labels, layout, resampling)
            for name, found in each.judged.items():
                test = compare_with_people(each.people, found, layout, is_ordered=len(each.labels) > 2)
                alternatives[each.aspect, name] = test
    return LabelStudy(
        agreement=agreement,
        single=single,
        disagreements=disagreements,
        corrected=corrected,
        unrepresentative=unlike,
        alternatives=alternatives,
        constants=constants,
    )


def _agree_by_constant(of: LabelledAspect, resampling: Resampling) -> tuple[float, LabelAgreement]:
    """The label that most texts have, and its agreement as the label of all of them."""
    label = find_constant(of.consensus)
    constant = np.full(len(of.consensus), label)
    return label, agree_on_labels(of.consensus, constant, of.labels, of.rated.layout, resampling)


def check_samples(
    scored: ScoredSet, aspect: str, names: Sequence[str]
) -> dict[tuple[str, str], Sequence[SampleDifference]]:
    """By aspect and metric how rated texts differ from the others, in scores and systems, where they do."""
    is_rated = ~np.isnan(scored.ratings(aspect))
    by_system = compare_cells(is_rated, scored.systems, scored.layout) if scored.systems else None
    found: dict[tuple[str, str], Sequence[SampleDifference]] = {}
    for name in names:
        by_score = compare_verdicts(is_rated, scored.values(name, aspect), scored.layout)
        if several := [each for each in (by_score, by_system) if each is not None]:
            found[aspect, name] = several
    return found


def weigh_by_design(
    found: LabelAgreement, of: LabelledAspect, name: str, probabilities: Mapping[str, float]
) -> LabelAgreement:
    """The agreement of a judge with each text counted by the inverse of its probability: that of all texts.

    Counts, shares of single labels and the test against chance are those of the drawn texts.
    """
    judged = of.judged[name]
    kept = ~np.isnan(of.consensus + judged)
    people, labels, layout = of.consensus[kept], judged[kept], restrict(of.rated.layout, kept)
    chances = _list_probabilities(of.rated, probabilities)[kept]
    weights = 1 / chances
    right = linearise_mean((people == labels).astype(np.float64), weights)
    kappa = linearise_kappa(people, labels, of.labels, weights=weights)
    weighted = linearise_kappa(people, labels, of.labels, is_weighted=True, weights=weights)
    return replace(
        found,
        accuracy=bound_by_design(right, chances, layout, is_rate=True),
        kappa=bound_by_design(kappa, chances, layout),
        weighted_kappa=bound_by_design(weighted, chances, layout),
        harshness=bound_by_design(linearise_mean(labels - people, weights), chances, layout),
    )


def weigh_texts(of: LabelledAspect, probabilities: Mapping[str, float]) -> Floats | None:
    """The weight of each rated text of a drawn sample; None where all have the same chance."""
    return 1 / _list_probabilities(of.rated, probabilities) if are_unequal(probabilities) else None


def _list_probabilities(texts: ScoredSet, probabilities: Mapping[str, float]) -> Floats:
    """The probability with which each text was drawn; raises SettingError for a labelled one without."""
    if lost := [each.id for each in texts.examples if each.ratings and each.id not in probabilities]:
        raise SettingError(f"every label needs the probability of its text, but {lost[0]} has none in the design")
    return np.array([probabilities.get(each.id, np.nan) for each in texts.examples])


def correct_mean(
    texts: ScoredSet,
    name: str,
    of: LabelledAspect,
    labelling: Labelling,
    probabilities: Mapping[str, float] | None = None,
) -> Row:
    """The mean label of all texts by the judge, and by people, who labelled some, drawn with `probabilities`."""
    ratings, scores = texts.ratings(of.aspect), texts.values(name, of.aspect)
    judged, _ = assign_labels(scores, of.labels, (labelling.thresholds or {}).get(name))
    there, is_rate = ~np.isnan(judged), not np.setdiff1d(of.labels, (0, 1)).size
    if probabilities and are_unequal(probabilities):
        chances = _list_probabilities(texts, probabilities)
        drawn = estimate_drawn(ratings, scores, chances, texts.layout, is_rate=is_rate)
        kept = restrict(texts.layout, there)
        by_judge = share_interval(judged[there], kept) if is_rate else mean_over_inputs(judged[there], kept)
        return {"texts": len(texts), "by_judge": by_judge, **drawn.cells}
    if is_rate:
        by_judge = share_interval(judged[there], restrict(texts.layout, there))
        by_people = powered_rate(ratings, scores, texts.layout)
    else:
        by_judge = mean_over_inputs(judged[there], restrict(texts.layout, there))
        by_people = powered_mean(ratings, scores, texts.layout)
    return {"texts": len(texts), "by_judge": by_judge, **by_people.cells}


def list_labelled(scored: ScoredSet, labelling: Labelling) -> Iterator[LabelledAspect]:
    """The aspects whose ratings are labels, with the labels that metrics with one aspect give.

    A metric that scores a rated aspect by name has this one. It is a judge with a threshold, or if its scores are whole
    numbers and at least half labels, or lie between the first and the last label. Shares, such as ROUGE's, are no
    labels of a scale from 0 to more than 1. Raises SettingError for unknown names and for ratings that are no declared
    label.
    """
    by_aspect = isinstance(labelling.levels, Mapping)
    declared = {name: sorted(number_levels(scale).values()) for name, scale in freeze_levels(labelling.levels) if name}
    thresholds = labelling.thresholds or {}
    check_names(declared, scored.aspects, "levels")
    check_names(thresholds, scored.scores, "thresholds")
    for aspect in declared if by_aspect else scored.aspects:
        rated = scored.rated(aspect)
        people = rated.raters.get(aspect, rated.ratings(aspect)[None])
        labels = _check_labels(aspect, declared[aspect], people) if aspect in declared else find_labels(people)
        if labels is None:
            continue
        own = [name for name, each in rated.scores.items() if not {*each.values} & {*scored.aspects} - {aspect}]
        scores = {name: rated.values(name, aspect) for name in own}
        labels = labels if aspect in declared else _add_labels(labels, scores)
        judged, sureness = dict[str, Floats](), dict[str, Floats]()
        for name, values in scores.items():
            threshold = thresholds.get(name)
            if threshold is not None and len(labels) != 2:
                raise SettingError(f"a threshold is for two labels, but {aspect} has {len(labels)}: {_show(labels)}")
            given = values[~np.isnan(values)]
            if threshold is not None or _are_on_scale(given, labels):
                judged[name], sureness[name] = assign_labels(values, labels, threshold)
        yield LabelledAspect(aspect, rated, labels, people, judged, sureness)


def _are_on_scale(scores: Floats, labels: Floats) -> bool:
    """Whether scores can be labels: between the first and the last one, and no shares where the last is above 1."""
    if not len(scores) or scores.min() < labels[0] or scores.max() > labels[-1]:
        return False
    are_shares = scores.min() >= 0 and scores.max() <= 1 and bool((scores % 1).any())
    return not are_shares or labels[-1] <= 1


def _check_labels(aspect: str, declared: Sequence[float], people: Floats) -> Floats:
    labels = np.unique(np.asarray(declared, dtype=np.float64))
    others = np.setdiff1d(people[~np.isnan(people)], labels)
    if len(labels) < 2 or len(others):
        found = f"found the rating {others[0]:g}" if len(others) else "found fewer"
        raise SettingError(f"levels of {aspect} must be two or more that hold every rating ({_show(labels)}), {found}")
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


def _list_disagreements(found: LabelledAspect, name: str) -> list[Mapping[str, Any]]:
    people, judged, sureness = found.consensus, found.judged[name], found.sureness[name]
    texts, gaps = found.rated.examples, np.abs(judged - people)
    most, rated = count_unity(found.people)
    unity = [f"{a:g} of {b:g}" for a, b in zip(most, rated, strict=True)]
    united = most / np.maximum(rated, 1)
    at = sorted(np.flatnonzero(gaps > 0), key=lambda i: (-united[i], -rated[i], -round(sureness[i], 9), -gaps[i]))
    rows: list[Mapping[str, Any]] = []
    for i in at[:MOST_SHOWN]:
        row = {"aspect": found.aspect, "judge": name, "id": texts[i].id, "people": f"{people[i]:g}"}
        row |= {"united": unity[i]} if len(found.people) > 1 else {}
        row |= {"judged": f"{judged[i]:g}", "sureness": float(sureness[i])}
        text = texts[i].full_text
        rows.append(row | ({"text": shorten(text, LONGEST_TEXT)} if text else {}))
    return rows


def describe_labels(
    aspect: str,
    name: str,
    found: LabelAgreement,
    single: Sequence[SingleAgreement],
    alternative: AlternativeTest | None = None,
) -> str:
    """How well the judge agrees with people on labels, in a sentence; `single` is the agreement with single people.

    Labels in an order of more than two are held against people by distance: it is the weighted kappa that counts.
    """
    is_weighted = len(found.labels) > 2
    kappa = found.weighted_kappa if is_weighted else found.kappa
    p_value = found.p_weighted if is_weighted else found.p_chance
    named = "weighted kappa" if is_weighted else "kappa"
    said = f"{aspect}: {name} is {describe_chance(kappa, p_value)} ({named} {format_cell(kappa)})"
    only = next((each for each in found.shares if each.n_judge == found.n > 0), None)
    if only is not None:
        said = f"{aspect}: {name} gives the label {only.label:g} to all {found.n} texts"
    if found.harshness.low > 0 or found.harshness.high < 0:
        is_mild = found.harshness.value > 0
        by = format_cell(found.harshness if is_mild else found.harshness.negate())
        said += f", {'milder' if is_mild else 'harsher'} than people by {by}"
    tests = {} if alternative is None else {name: alternative}
    return f"{said}; {describe_enough(single, [name], is_weighted, tests)}"
