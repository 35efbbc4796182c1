"""Joins labels of people from a separate file to verdicts by id, and marks scorers or raters as people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from core.errors import InputError, SettingError, fault, format_value, printable
from core.example import Example
from core.scores import Scores
from data.cells import name_of, to_value
from data.columns import NAMES, find_column, fold_name
from data.label_columns import LABEL
from data.numeric import is_missing
from data.records import name_people
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet
from report.wording import join_names

S = TypeVar("S", bound=ScoredSet)
SHOWN_ROWS = 3  # unmatched rows that a note names
NO_TEXT = "the file has no score"
INPUT_KEYS = NAMES["rows"]["input"].split()


@dataclass(frozen=True)
class GivenLabels:
    """Labels of people from a separate file."""

    # the name of the file, for messages
    name: str
    # the rows by id, each with its ratings; several rows of one id are several people
    labelled: ScoredSet
    # the column that names the rows
    key: str | None = None
    # whether the rows are those of a sheet, whose design has the ids that verdicts have when they are read
    is_drawn: bool = False
    # the columns that hold the labels
    people: Sequence[str] = ()


def join_labels(
    verdicts: ScoredSet,
    given: GivenLabels,
    *,
    has_ids: bool = True,
) -> ScoredSet:
    """Joins labels to verdicts by id, else by input (`group`), and returns the verdicts with ratings.

    A system may have several outputs for an input, such as the epochs of a sample. Then one label counts for all of
    these outputs, which stay repeats of one input. Unmatched rows are counted in a note. Without `has_ids`, the ids of
    verdicts are numbers of lines, and only a sheet, which got its ids from these verdicts, is joined by id.

    Raises InputError if no id is in both files, and for a label of an input with outputs of several systems.
    """
    places = _choose_places(verdicts, given, has_ids=has_ids)
    outputs = [
        _find_outputs(verdicts, given, found, label)
        for found, label in zip(places, given.labelled.examples, strict=True)
    ]
    examples = [*verdicts.examples]
    people: dict[str, dict[str, Floats]] = {}
    for row, label in enumerate(given.labelled.examples):
        by_aspect = _list_people(given.labelled, row)
        for i in outputs[row]:
            examples[i] = _add_ratings(examples[i], label, verdicts.name)
            for aspect, by_person in by_aspect.items():
                columns = people.setdefault(aspect, {})
                for person, rating in by_person.items():
                    column = columns.setdefault(person, np.full(len(verdicts), np.nan))
                    column[i] = rating
    raters = {aspect: np.stack([*columns.values()]) for aspect, columns in people.items()}
    note = _describe_join(verdicts, given, outputs)
    return replace(
        verdicts,
        examples=tuple(examples),
        notes=(*verdicts.notes, *given.labelled.notes, note),
        raters={**verdicts.raters, **raters},
    )


def _choose_places(
    verdicts: ScoredSet,
    given: GivenLabels,
    *,
    has_ids: bool,
) -> list[list[int]]:
    """For each label the verdicts that it is about: by their ids or their inputs, whichever more labels name.

    Where as many name both, ids decide, unless the column of the labels is called as one of inputs.
    """
    ids: dict[str, list[int]] = {}
    groups: dict[str, list[int]] = {}
    for i, example in enumerate(verdicts.examples):
        if has_ids or given.is_drawn:
            ids[example.id] = [i]
        if example.group is not None and not given.is_drawn:
            groups.setdefault(example.group, []).append(i)
    if not (ids or groups):
        path, _ = verdicts.locate(0)
        rule = "verdicts need a column with ids, such as id, by which labels are joined"
        raise InputError([fault(path, 0, rule)])
    names = [label.id for label in given.labelled.examples]
    inputs = [label.group or label.id for label in given.labelled.examples]
    by_id = sum(name in ids for name in names)
    by_group = sum(name in groups for name in inputs)
    if not (by_id or by_group):
        known = [*(ids or groups)]
        shown = f"{show_names(names)} there and {show_names(known)} in {verdicts.name}"
        rule = f"labels must have ids of {verdicts.name}, but none matches: {shown}"
        raise InputError([fault(given.name, 0, rule)])
    is_by_input = by_group > by_id or (by_id == by_group and fold_name(given.key or "") in INPUT_KEYS)
    if is_by_input:
        _check_systems(verdicts, given)
    places = groups if is_by_input else ids
    return [places.get(name, []) for name in (inputs if is_by_input else names)]


def _check_systems(verdicts: ScoredSet, given: GivenLabels) -> None:
    """Raises InputError if labels name systems, but none of the verdicts."""
    labelled = dict.fromkeys(label.system for label in given.labelled.examples if label.system)
    judged = dict.fromkeys(example.system for example in verdicts.examples if example.system)
    if labelled and not labelled.keys() & judged.keys():
        shown = f"{show_names([*labelled])} there and {show_names([*judged]) or 'none'} in {verdicts.name}"
        rule = f"labels must name systems of {verdicts.name}, but none matches: {shown}"
        raise InputError([fault(given.name, 0, rule)])


def _find_outputs(
    verdicts: ScoredSet,
    given: GivenLabels,
    places: Sequence[int],
    label: Example,
) -> list[int]:
    """The places of the outputs that a label is about: those of its system, where it names one."""
    systems = {i: verdicts.examples[i].system for i in places}
    outputs = [i for i, system in systems.items() if label.system in (None, system)]
    several = {systems[i] for i in outputs}
    if len(several) > 1:
        rule = f"{format_value(label.group or label.id)} has outputs of {len(several)} systems"
        raise InputError([fault(given.name, 0, f"{rule}: labels need a column system")])
    return outputs


def _add_ratings(
    example: Example,
    label: Example,
    name: str,
) -> Example:
    """The example with the ratings of a label; raises SettingError where it has some of the same aspect."""
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
    return {aspect: _drop_missing(by_person) for aspect, by_person in several.items()}


def _drop_missing(by_person: Mapping[str, Any]) -> dict[str, float]:
    return {person: float(rating) for person, rating in by_person.items() if rating is not None}


def _describe_join(
    verdicts: ScoredSet,
    given: GivenLabels,
    outputs: Sequence[Sequence[int]],
) -> str:
    """How many labels were joined to how many verdicts."""
    labels = given.labelled.examples
    lost = [label.id for label, found in zip(labels, outputs, strict=True) if not found]
    joined = {i for found in outputs for i in found}
    to = f"{len(joined)} of {len(verdicts)} verdicts"
    if len(joined) > len(labels) - len(lost):
        to += ", which repeat their input"
    return describe_matches(given.name, len(labels), lost, to)


def describe_matches(
    name: str,
    count: int,
    lost: Sequence[str],
    to: str,
    *,
    by: str = "id",
) -> str:
    """Notes how many labels of a file were joined to verdicts, and which labels were not."""
    said = f"{name}: {count - len(lost)} of {count} labels joined by {by} to {to}"
    return f"{said}; without a verdict: {show_names(lost)}" if lost else said


def show_names(names: Sequence[str]) -> str:
    """Joins the first names, and says how many more names there are."""
    shown = ", ".join(printable(name) for name in names[:SHOWN_ROWS])
    return f"{shown} and {len(names) - SHOWN_ROWS} more" if names[SHOWN_ROWS:] else shown


def choose_people(scored: S, people: Sequence[str]) -> S:
    """Declares that the named scorers, or raters, are people.

    The scores of a named metric become ratings of an aspect with its name. Several named metrics become several people
    who rate one aspect, `label`. If raters are named, every other rater becomes a metric. Raises SettingError for an
    unknown name; the message lists the known names.
    """
    if not people:
        return scored
    raters = list_raters(scored)
    known = [*scored.scores, *raters]
    unknown = [name for name in people if name not in known]
    if unknown:
        raise SettingError(f"people must be scorers or raters, but {unknown[0]} is none of {join_names(known)}")
    if all(name in scored.scores for name in people):
        return _rate_by_scorers(scored, people)
    if all(name in raters for name in people):
        return _judge_by_raters(scored, people, raters)
    raise SettingError(f"people must be all columns of scores or all raters, but mix both: {join_names([*people])}")


def list_raters(scored: ScoredSet) -> list[str]:
    """Lists the names of the people who rated any aspect, in the order of their first ratings."""
    names: dict[str, None] = {}
    for rows in _rate_by_person(scored).values():
        for by_person in rows:
            names |= dict.fromkeys(by_person)
    return [*names]


def _rate_by_person(scored: ScoredSet) -> dict[str, list[Mapping[str, Any]]]:
    """By aspect that several people rated, the ratings of each example by person."""
    given = [example.extra.get("ratings", {}) for example in scored.examples]
    by_aspect: dict[str, list[Mapping[str, Any]]] = {}
    for aspect in scored.raters:
        by_aspect[aspect] = [name_people(ratings.get(aspect, {})) for ratings in given]
    return by_aspect


def _rate_by_scorers(scored: S, people: Sequence[str]) -> S:
    """The scores of these metrics as ratings of one aspect."""
    columns = np.stack([scored.values(name, "") for name in people])
    are_several = len(people) > 1
    examples: list[Example] = []
    for example, ratings in zip(scored.examples, columns.T, strict=True):
        by_person = dict(zip(people, ratings.tolist(), strict=True))
        known = {name: rating for name, rating in by_person.items() if not math.isnan(rating)}
        if are_several:
            rated = _rate(example, {LABEL: known})
        else:
            rated = replace(example, ratings={**example.ratings, **known})
        examples.append(rated)
    raters = dict(scored.raters)
    if are_several:
        raters[LABEL] = columns
    scores = {name: given for name, given in scored.scores.items() if name not in people}
    return replace(
        scored,
        examples=tuple(examples),
        scores=scores,
        raters=raters,
    )


def _judge_by_raters(
    scored: S,
    people: Sequence[str],
    raters: Sequence[str],
) -> S:
    """The raters outside `people` become metrics, called `RATER`, or `RATER/ASPECT` of several aspects."""
    by_aspect = _rate_by_person(scored)
    scores = dict(scored.scores)
    for name in raters:
        if name not in people:
            values = {aspect: _to_column(rows, name) for aspect, rows in by_aspect.items()}
            scores[name] = Scores(
                values,
                signature=f"{name}|ratings in {scored.name}",
                reasons=_explain_missing(values),
            )
    examples: list[Example] = []
    for i, example in enumerate(scored.examples):
        kept = {aspect: _pick_people(rows[i], people) for aspect, rows in by_aspect.items()}
        others = dict(example.ratings)
        for aspect in by_aspect:
            others.pop(aspect, None)
        examples.append(_rate(replace(example, ratings=others), kept))
    several: dict[str, Floats] = {}
    if len(people) > 1:
        for aspect, rows in by_aspect.items():
            several[aspect] = np.stack([_to_column(rows, name) for name in people])
    return replace(
        scored,
        examples=tuple(examples),
        scores=scores,
        raters=several,
    )


def _pick_people(by_person: Mapping[str, Any], people: Sequence[str]) -> dict[str, Any]:
    return {name: rating for name, rating in by_person.items() if name in people}


def _rate(example: Example, by_aspect: Mapping[str, Mapping[str, Any]]) -> Example:
    """The example with the ratings of several people and their means."""
    by_person = {**example.extra.get("ratings", {}), **by_aspect}
    return replace(
        example,
        ratings={**example.ratings, **_average(by_aspect)},
        extra={**example.extra, "ratings": by_person},
    )


def _average(by_aspect: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The mean rating of each aspect that somebody rated."""
    means: dict[str, float] = {}
    for aspect, by_person in by_aspect.items():
        known = _drop_missing(by_person)
        if known:
            means[aspect] = sum(known.values()) / len(known)
    return means


def _to_column(rows: Iterable[Mapping[str, Any]], name: str) -> Floats:
    """The ratings of one person, NaN where there is none."""
    ratings = [row.get(name) for row in rows]
    return np.array([np.nan if rating is None else float(rating) for rating in ratings])


def _explain_missing(values: Mapping[str, Floats]) -> list[str | None]:
    missing = np.isnan(np.stack([*values.values()]))
    return [NO_TEXT if lacks.any() else None for lacks in missing.T]


def add_epochs(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Adds the id `SAMPLE-EPOCH` to rows that have the columns sample and epoch.

    >>> add_epochs([{"sample": 8, "epoch": 2, "human": 1}])
    [{'sample': 8, 'epoch': 2, 'human': 1, 'id': '8-2'}]
    """
    header = dict.fromkeys(name for row in rows for name in row)
    key = find_column(header, "id")
    sample = find_column(header, "id", "sample")
    epoch = find_column(header, "epoch")
    named: list[dict[str, Any]] = []
    for row in rows:
        sample_name = _name_cell(row, sample)
        epoch_name = _name_cell(row, epoch)
        completed = dict(row)
        if not (is_missing(sample_name) or is_missing(epoch_name)):
            completed[key or "id"] = f"{sample_name}-{epoch_name}"
        named.append(completed)
    return named


def _name_cell(row: Mapping[str, Any], column: str | None) -> Any:
    """The name in a cell of a row; None without such a column."""
    cell = None if column is None else row.get(column)
    return name_of(to_value(cell))


def name_source(
    source: object,
    default: Path | str,
    *,
    whole: bool = False,
) -> str:
    """Names a source for messages: its file name (or `whole` path), or `default` for rows in memory."""
    if not isinstance(source, str | Path):
        return str(default)
    return str(source) if whole else Path(source).name
