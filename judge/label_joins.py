"""Labels of people in a file of their own, joined to the verdicts by id; and scorers or raters that are people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InputError, SettingError, fault, format_value, printable
from core.example import Example
from core.scores import Scores
from data.cells import name_of, to_value
from data.numeric import is_missing
from data.records import name_people
from judge.wording import join_names
from meta_eval.bootstrap import Floats
from meta_eval.scored_set import ScoredSet

SHOWN = 3  # unmatched rows that a note names
NO_TEXT = "the file has no score"
INPUT_KEYS = ("group", "question_id", "doc_id", "testIdx", "sample")  # columns that name inputs
KEYED = ("sample", "epoch")  # columns that together are an id of Inspect, SAMPLE-EPOCH


@dataclass(frozen=True)
class GivenLabels:
    """Labels of people as a file of their own holds them."""

    # the name of the file, for messages
    name: str
    # the rows by id, each with its ratings; several rows of one id are several people
    labelled: ScoredSet
    # of a sheet that `judge label` drew, the probability with which each row was drawn, by id
    probabilities: Mapping[str, float]
    # the column that names the rows
    key: str | None = None


def join_labels(verdicts: ScoredSet, given: GivenLabels, *, has_ids: bool = True) -> ScoredSet:
    """The verdicts with the ratings of the labels that have their id, else their input (`group`).

    An input with several outputs of one system, such as the epochs of a sample, gets one label for all of them: they
    stay repeats of one input. Rows without a partner are counted and named in a note. Without `has_ids`, the ids of
    verdicts are numbers of lines, by which nothing is joined.

    Raises InputError where no id is in both files, and for a label of an input with outputs of several systems.
    """
    names = [example.id for example in given.labelled.examples]
    places = _choose_places(verdicts, given, names, has_ids=has_ids)
    examples = [*verdicts.examples]
    raters: dict[str, dict[str, Floats]] = {}
    joined: set[int] = set()
    for row, (name, label) in enumerate(zip(names, given.labelled.examples, strict=True)):
        outputs = _find_outputs(verdicts, given, places.get(name, []), label)
        joined |= {*outputs}
        by_aspect = _list_people(given.labelled, row)
        for i in outputs:
            examples[i] = _add_ratings(examples[i], label, verdicts.name)
            for aspect, by_person in by_aspect.items():
                columns = raters.setdefault(aspect, {})
                for person, rating in by_person.items():
                    columns.setdefault(person, np.full(len(verdicts), np.nan))[i] = rating
    several = {aspect: np.stack([*people.values()]) for aspect, people in raters.items()}
    note = _describe_join(verdicts, given, names, places, joined)
    return replace(
        verdicts,
        examples=tuple(examples),
        notes=(*verdicts.notes, *given.labelled.notes, note),
        raters={**verdicts.raters, **several},
    )


def _choose_places(
    verdicts: ScoredSet, given: GivenLabels, names: Sequence[str], *, has_ids: bool
) -> dict[str, list[int]]:
    """By name of a label the verdicts that it is about: by their ids or their inputs, whichever more labels name.

    Where as many name both, ids decide, unless the column of the labels is called as one of inputs.
    """
    ids = {example.id: [i] for i, example in enumerate(verdicts.examples)} if has_ids else {}
    groups: dict[str, list[int]] = {}
    for i, example in enumerate(verdicts.examples):
        if example.group is not None:
            groups.setdefault(example.group, []).append(i)
    if not (ids or groups):
        rule = "verdicts need a column with ids, such as id, by which labels are joined"
        raise InputError([fault(verdicts.locate(0)[0], 0, rule)])
    by_id = sum(name in ids for name in names)
    by_group = sum(name in groups for name in names)
    if not max(by_id, by_group):
        shown = f"{show_names(names)} there and {show_names([*(ids or groups)])} in {verdicts.name}"
        raise InputError([fault(given.name, 0, f"labels need ids of {verdicts.name}, but none is in both: {shown}")])
    is_of_inputs = given.key in INPUT_KEYS
    return groups if by_group > by_id or (by_group == by_id and is_of_inputs) else ids


def _find_outputs(verdicts: ScoredSet, given: GivenLabels, found: Sequence[int], label: Example) -> list[int]:
    """The places of the outputs that a label is about: those of its system, where it names one."""
    if label.system is not None:
        found = [i for i in found if verdicts.examples[i].system == label.system]
    systems = {verdicts.examples[i].system for i in found}
    if len(systems) > 1:
        rule = f"{format_value(label.id)} has outputs of {len(systems)} systems: labels need a column system"
        raise InputError([fault(given.name, 0, rule)])
    return [*found]


def _add_ratings(example: Example, label: Example, name: str) -> Example:
    twice = [aspect for aspect in label.ratings if aspect in example.ratings]
    if twice:
        rule = f"{name} rates {printable(twice[0])} of {format_value(example.id)} too: give labels once"
        raise SettingError(rule)
    extra = dict(example.extra)
    if "ratings" in label.extra:
        extra["ratings"] = {**extra.get("ratings", {}), **label.extra["ratings"]}
    return replace(example, ratings={**example.ratings, **label.ratings}, extra=extra)


def _list_people(labelled: ScoredSet, row: int) -> dict[str, dict[str, float]]:
    """By aspect that several people rated, the ratings of a row by person."""
    given = labelled.examples[row].extra.get("ratings", {})
    several = {aspect: name_people(given[aspect]) for aspect in labelled.raters if aspect in given}
    return {
        aspect: {person: float(rating) for person, rating in by_person.items() if rating is not None}
        for aspect, by_person in several.items()
    }


def _describe_join(
    verdicts: ScoredSet,
    given: GivenLabels,
    names: Sequence[str],
    places: Mapping[str, Sequence[int]],
    joined: set[int],
) -> str:
    lost = [name for name in names if name not in places]
    to = f"{len(joined)} of {len(verdicts)} verdicts"
    if len(joined) > len(names) - len(lost):
        to += ", which repeat their input"
    return describe_matches(given.name, len(names), lost, to)


def describe_matches(name: str, count: int, lost: Sequence[str], to: str, *, by: str = "id") -> str:
    """How many labels of a file were joined to verdicts, and which were not."""
    said = f"{name}: {count - len(lost)} of {count} labels joined by {by} to {to}"
    return f"{said}; without a verdict: {show_names(lost)}" if lost else said


def show_names(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = [printable(name) for name in names]
    return f"{', '.join(shown[:SHOWN])} and {len(shown) - SHOWN} more" if shown[SHOWN:] else ", ".join(shown)


def choose_people(scored: ScoredSet, people: Sequence[str]) -> ScoredSet:
    """The set in which these scorers, or raters, are people.

    A name of a metric makes its scores ratings, one aspect named after it; several are several people of one aspect,
    `label`. A name of a rater keeps these raters as people, and every other rater becomes a metric.

    Raises SettingError for a name that is neither, with those that are there.
    """
    if not people:
        return scored
    raters = list_raters(scored)
    known = [*scored.scores, *raters]
    if unknown := [name for name in people if name not in known]:
        raise SettingError(f"people must be scorers or raters, but {unknown[0]} is none of {join_names(known)}")
    if all(name in scored.scores for name in people):
        return _rate_by_scorers(scored, people)
    if all(name in raters for name in people):
        return _judge_by_raters(scored, people, raters)
    raise SettingError(f"people must be all scorers or all raters, but are {join_names([*people])}")


def list_raters(scored: ScoredSet) -> list[str]:
    """The names of the people of all aspects, in the order of their first ratings."""
    return [*dict.fromkeys(name for by in _rate_by_person(scored).values() for each in by for name in each)]


def _rate_by_person(scored: ScoredSet) -> dict[str, list[Mapping[str, Any]]]:
    """By aspect that several people rated, the ratings of each example by person."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for aspect in scored.raters:
        found[aspect] = [name_people(each.extra.get("ratings", {}).get(aspect, {})) for each in scored.examples]
    return found


def _rate_by_scorers(scored: ScoredSet, people: Sequence[str]) -> ScoredSet:
    columns = np.stack([scored.values(name, "") for name in people])
    aspect = people[0] if len(people) == 1 else "label"
    examples: list[Example] = []
    for example, ratings in zip(scored.examples, columns.T, strict=True):
        known = {name: float(rating) for name, rating in zip(people, ratings, strict=True) if not np.isnan(rating)}
        given = {**example.ratings, aspect: sum(known.values()) / len(known)} if known else example.ratings
        extra = dict(example.extra)
        if len(people) > 1:
            extra["ratings"] = {**extra.get("ratings", {}), aspect: known}
        examples.append(replace(example, ratings=given, extra=extra))
    scores = {name: each for name, each in scored.scores.items() if name not in people}
    raters = {**scored.raters, aspect: columns} if len(people) > 1 else scored.raters
    return replace(scored, examples=tuple(examples), scores=scores, raters=raters)


def _judge_by_raters(scored: ScoredSet, people: Sequence[str], raters: Sequence[str]) -> ScoredSet:
    """The raters outside `people` become metrics, called `RATER`, or `RATER/ASPECT` of several aspects."""
    by_aspect = _rate_by_person(scored)
    others = [name for name in raters if name not in people]
    scores = dict(scored.scores)
    for name in others:
        values = {aspect: _to_column(rows, name) for aspect, rows in by_aspect.items()}
        reasons = _explain_missing(values)
        scores[name] = Scores(values, f"{name}|ratings in {scored.name}", reasons)
    tables = {aspect: np.stack([_to_column(rows, name) for name in people]) for aspect, rows in by_aspect.items()}
    examples: list[Example] = []
    for i, example in enumerate(scored.examples):
        kept = dict(example.ratings)
        own = {aspect: {name: r for name, r in rows[i].items() if name in people} for aspect, rows in by_aspect.items()}
        for aspect, by_person in own.items():
            known = [float(rating) for rating in by_person.values() if rating is not None]
            kept.pop(aspect, None)
            if known:
                kept[aspect] = sum(known) / len(known)
        examples.append(replace(example, ratings=kept, extra={**example.extra, "ratings": own}))
    several = {aspect: table for aspect, table in tables.items() if len(people) > 1}
    return replace(scored, examples=tuple(examples), scores=scores, raters=several)


def _to_column(rows: Iterable[Mapping[str, Any]], name: str) -> Floats:
    return np.array([np.nan if row.get(name) is None else float(row[name]) for row in rows])


def _explain_missing(values: Mapping[str, Floats]) -> list[str | None]:
    missing = np.any([np.isnan(column) for column in values.values()], axis=0)
    return [NO_TEXT if each else None for each in missing.tolist()]


def add_epochs(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `SAMPLE-EPOCH` as their id, where columns of these names have both.

    >>> add_epochs([{"sample": 8, "epoch": 2, "human": 1}])
    [{'sample': 8, 'epoch': 2, 'human': 1, 'id': '8-2'}]
    """
    sample, epoch = KEYED
    found: list[dict[str, Any]] = []
    for row in rows:
        parts = [name_of(to_value(row.get("id", row.get(sample)))), name_of(to_value(row.get(epoch)))]
        is_whole = not any(is_missing(part) for part in parts)
        found.append({**row, "id": f"{parts[0]}-{parts[1]}"} if is_whole else dict(row))
    return found


def name_source(source: object, default: Path, *, whole: bool = False) -> str:
    """The name of a file, or its `whole` path, or of rows in memory, in messages."""
    if not isinstance(source, str | Path):
        return str(default)
    return str(source) if whole else Path(source).name
