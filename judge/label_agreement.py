"""Measures how well judges agree with the labels of people, also where only a sample of the texts is labelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from judge.label_study import ALL, MOST_SHOWN, LabelStudy
from judge.labelling import LabelledAspect, Labelling, list_labelled
from meta_eval.alternative_annotator import compare_with_people
from meta_eval.estimates import estimate_mean, estimate_share
from meta_eval.helped import help_mean
from meta_eval.judges import count_unity, find_constant
from meta_eval.labels import LabelAgreement, agree_on_labels, agree_with_single, assign_labels
from meta_eval.permuted import SampleDifference, compare_cells, compare_verdicts
from meta_eval.scored_set import ScoredSet
from report.tables import Row
from report.wording import shorten

LONGEST_TEXT = 200  # characters of a text beside a disagreement


def study_labels(
    scored: ScoredSet,
    labelling: Labelling,
    seed: int = 0,
) -> LabelStudy:
    """Measures the agreement of each judge that `list_labelled` finds. Raises errors as `list_labelled` does."""
    study = LabelStudy()
    for labelled in list_labelled(scored, labelling):
        if not labelled.judged:
            continue
        if len(labelled.rated) < len(scored):
            _add_corrected(study, scored, labelled, labelling)
        _add_agreement(study, labelled, seed)
        if len(labelled.people) > 1:
            _add_single_people(study, labelled)
    return study


def _add_corrected(
    study: LabelStudy,
    scored: ScoredSet,
    labelled: LabelledAspect,
    labelling: Labelling,
) -> None:
    """Adds the mean labels of all texts, of each system or all of them, and how the labelled ones differ."""
    study.unrepresentative.update(check_samples(scored, labelled.aspect, [*labelled.judged]))
    by_system = {part.name: part for part in scored.by_system()} or {ALL: scored}
    for system, part in by_system.items():
        for name in labelled.judged:
            cells = {"aspect": labelled.aspect, "judge": name, "system": system}
            means = correct_mean(part, name, labelled, labelling)
            study.corrected.append({**cells, **means})


def _add_agreement(
    study: LabelStudy,
    labelled: LabelledAspect,
    seed: int = 0,
) -> None:
    """Adds the agreement of each judge, and of the most frequent label, and disagreements."""
    layout = labelled.rated.layout
    for name, judged in labelled.judged.items():
        agreement = agree_on_labels(labelled.consensus, judged, labelled.labels, layout, seed)
        study.agreement[labelled.aspect, name] = agreement
        study.disagreements.extend(_list_disagreements(labelled, name))
    study.constants[labelled.aspect] = _agree_by_constant(labelled)


def _add_single_people(
    study: LabelStudy,
    labelled: LabelledAspect,
) -> None:
    """Adds the agreement with single people, and whether a judge is as good as most of them."""
    layout = labelled.rated.layout
    aspect = labelled.aspect
    study.single[aspect] = agree_with_single(labelled.people, labelled.judged, labelled.labels, layout)
    for name, judged in labelled.judged.items():
        test = compare_with_people(labelled.people, judged, layout, is_ordered=len(labelled.labels) > 2)
        study.alternatives[aspect, name] = test


def _agree_by_constant(labelled: LabelledAspect) -> tuple[float, LabelAgreement]:
    """The label that most texts have, and its agreement as the label of all of them."""
    people = labelled.consensus
    label = find_constant(people)
    constant = np.full(len(people), label)
    return label, agree_on_labels(people, constant, labelled.labels, labelled.rated.layout)


def check_samples(
    scored: ScoredSet,
    aspect: str,
    names: Sequence[str],
) -> dict[tuple[str, str], Sequence[SampleDifference]]:
    """Returns how rated texts differ from other texts in scores and systems, by aspect and metric, if they differ."""
    is_rated = ~np.isnan(scored.ratings(aspect))
    by_system = compare_cells(is_rated, scored.systems, scored.layout) if scored.systems else None
    differences: dict[tuple[str, str], Sequence[SampleDifference]] = {}
    for name in names:
        by_score = compare_verdicts(is_rated, scored.values(name, aspect), scored.layout)
        shown = [difference for difference in (by_score, by_system) if difference is not None]
        if shown:
            differences[aspect, name] = shown
    return differences


def correct_mean(
    texts: ScoredSet,
    name: str,
    labelled: LabelledAspect,
    labelling: Labelling,
) -> Row:
    """Makes a row with the mean label of all texts: by the judge, and by people.

    The mean by people is estimated from a labelled sample, and corrected with the scores that the judge gave to all
    texts.
    """
    ratings = texts.ratings(labelled.aspect)
    scores = texts.values(name, labelled.aspect)
    is_rate = not np.setdiff1d(labelled.labels, (0, 1)).size
    by_people = help_mean(ratings, scores, texts.layout, is_rate=is_rate)
    threshold = (labelling.thresholds or {}).get(name)
    judged, _ = assign_labels(scores, labelled.labels, threshold)
    estimate = estimate_share if is_rate else estimate_mean
    by_judge = estimate(judged, texts.layout).only
    return {"texts": len(texts), "by_judge": by_judge, **by_people.cells}


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
