"""Rows by rater: joins rows that are one text rated by several people, by its id, or its input and system."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, fault, format_value, setting
from core.example import Example, hint_column
from data.columns import find_rater
from data.label_columns import find_key
from data.records import check_id, require_none

RATER = "rater"
MOST_FAULTS = 9  # of one kind that are listed
PARTS = ("text", "turns", "context", "prefix", "label", "references", "system", "group")
Scores: TypeAlias = Mapping[str, float | None]
Row: TypeAlias = tuple[int, Example, Scores]  # with its line


def join_rater_rows(path: Path, rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Joins rows into texts with the ratings of each person; returns a note if there are fewer texts than rows.

    Rows are joined by repeated ids; outputs of several systems may share the id of their input, which becomes their
    group. Where no row has an id, the task or the input and the system name a text, if a column names the rater or all
    rows are rated. If a rater rates a text twice, the later rating counts.

    Raises InputError for rows of one text that contradict each other, for an id of two texts without ratings, and for
    equal texts by raters that nothing names.
    """
    columns = dict.fromkeys(name for _, example, _ in rows for name in example.extra)
    rater = find_rater(name for name in columns if _names_raters(rows, name))
    rows = _name_outputs(path, rows, rater)
    groups = _find_groups(path, rows, rater, find_key(columns))
    if len(groups) == len(rows):
        return tuple(rows), ()
    is_rated = any(example.ratings for _, example, _ in rows)
    if not rater and not is_rated:
        require_none((), _find_repeated_ids(path, rows))
    conflicts = chain.from_iterable(_find_conflicts(path, group, rater) for group in groups)
    require_none((), list(conflicts))
    note = _describe_groups(path.name, groups, rater)
    return tuple(_join(group, rater) for group in groups), (note,)


def _name_outputs(path: Path, rows: Sequence[Row], rater: str | None) -> Sequence[Row]:
    """The rows, with an id of its own for each output where several systems share the id of an input.

    Systems whose ratings are the same for every id may be judges of one output, and stay.
    """
    by_id = _group(rows, _name_id)
    systems = [{example.system for _, example, _ in group} for group in by_id]
    ratings = [{str(example.ratings) for _, example, _ in group} for group in by_id]
    is_rated = any(example.ratings for _, example, _ in rows)
    may_be_judges = is_rated and rater is None and all(len(different) == 1 for different in ratings)
    if may_be_judges or all(len(different - {None}) < 2 for different in systems):
        return rows
    faults: list[str] = []
    named: list[Row] = []
    for line, example, scores in rows:
        lacking = ["an id"] if example.id == str(line) else []
        lacking += [] if example.system else ["a system"]
        if lacking:
            faults.append(
                fault(path, line, f"rows of several systems need {' and '.join(lacking)} here, as in other lines")
            )
        name = f"{example.id} ({example.system})"
        named.append((line, replace(example, id=name, group=example.group or example.id), scores))
    return require_none(named, faults)


def _find_groups(
    path: Path,
    rows: Sequence[Row],
    rater: str | None,
    task: str | None,
) -> list[list[Row]]:
    """The rows of each text: by id, else by the task or the input, and the system."""
    by_id = _group(rows, _name_id)
    has_ids = any(example.id != str(line) for line, example, _ in rows)
    if len(by_id) < len(rows) or has_ids:
        return by_id
    is_named = task is not None or all(example.group for _, example, _ in rows)
    if is_named and (rater or _are_rated_outputs(rows)):
        return _group(rows, lambda row: _name_output(row, task))
    texts = {(example.text, example.turns, example.context, example.system) for _, example, _ in rows}
    if rater and len(texts) < len(rows):
        rule = f"rows by {rater} need a column with the id of their text, because texts are repeated"
        raise InputError([fault(path, 0, f"{rule}: {setting('columns.id', 'COLUMN')} names it")])
    return by_id


def _name_output(row: Row, task: str | None) -> object:
    _, example, _ = row
    return example.group, str(example.extra.get(str(task))), example.system


def _find_repeated_ids(path: Path, rows: Sequence[Row]) -> list[str]:
    """Faults of ids that several lines have, and which columns may have the ratings that such rows lack."""
    first_line: dict[str, int] = {}
    faults: list[str] = []
    for line, example, _ in rows:
        faults += [fault(path, line, problem) for problem in check_id(example.id, line, first_line)]
    if len(faults) > MOST_FAULTS:
        faults = [f"{faults[0]} (the first of {len(faults)} lines with this fault)"]
    hint = hint_column("ratings.ASPECT", dict.fromkeys(name for _, example, _ in rows for name in example.extra))
    if hint:
        rule = "lines with one id must each have a rating, but no column of ratings was found"
        faults.append(fault(path, 0, f"{rule}{hint}"))
    return faults


def _describe_groups(
    name: str,
    groups: Sequence[Sequence[Row]],
    rater: str | None,
) -> str:
    """How many rows are how many texts, where the names of raters are, and which ratings do not count."""
    rows = sum(map(len, groups))
    texts = "1 text" if len(groups) == 1 else f"{len(groups)} texts"
    numbered = f"their raters are numbered; {setting('columns.rater', 'COLUMN')} names them"
    who = f"their raters are in {rater}" if rater else numbered
    note = f"{name}: {rows} rows, {texts}; {who}"
    again = rows - sum(len(_name_raters(group, rater)) for group in groups)
    if again:
        repeated = "1 row" if again == 1 else f"{again} rows"
        note += f"; {repeated} more of a rater on the same text: the later rating counts"
    return note


def _names_raters(rows: Sequence[Row], column: str) -> bool:
    """Whether some row has a name in this column."""
    return any(_is_name(example.extra.get(column)) for _, example, _ in rows)


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and str(value).strip() != ""


def _name_id(row: Row) -> object:
    _, example, _ = row
    return example.id


def _group(rows: Sequence[Row], key: Any) -> list[list[Row]]:
    groups: dict[object, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def _are_rated_outputs(rows: Sequence[Row]) -> bool:
    """Whether all rows have ratings, a system and the input, but no id."""
    return all(_is_rated_output(example, line) for line, example, _ in rows)


def _is_rated_output(example: Example, line: int) -> bool:
    has_no_id = example.id == str(line)  # a row without an id is called by its line
    return has_no_id and bool(example.ratings and example.system and example.group)


def _name_raters(group: Sequence[Row], rater: str | None) -> dict[str, Row]:
    """The rows of a text by rater, the later one of a rater who rated twice; numbers where no rater is named."""
    if rater:
        names = [str(example.extra[rater]) for _, example, _ in group]
    else:
        names = [str(number) for number in range(1, len(group) + 1)]
    return dict(zip(names, group, strict=True))


def _find_conflicts(
    path: Path,
    group: Sequence[Row],
    rater: str | None,
) -> Iterator[str]:
    """Faults of rows of one text: another content or score than in the first row, a rater or a rating of no use."""
    first_line, first, first_scores = group[0]
    for line, example, scores in group:
        if rater and not _is_name(example.extra.get(rater)):
            yield fault(path, line, f"{format_value(rater)} is needed here, as in other lines")
        rule = f"rows with the id {format_value(example.id)} are one text with several raters"
        for name in PARTS:
            here = getattr(example, name)
            there = getattr(first, name)
            if here != there:
                values = f"{format_value(here)} here and {format_value(there)} in line {first_line}"
                yield fault(path, line, f"{rule}, but {name} is {values}")
        differing = [name for name, score in scores.items() if score != first_scores.get(name)]
        if differing:
            yield fault(path, line, f"rows of one text must have the same scores, but {differing[0]} differs")
        if "ratings" in example.extra and len(group) > 1:
            yield fault(path, line, "a row by a rater must have one rating for each aspect, found several")


def _join(group: Sequence[Row], rater: str | None) -> Row:
    """One text with its ratings by person; what else its rows hold is kept where it is the same in all."""
    line, first, scores = group[0]
    by_rater = _name_raters(group, rater)
    people: dict[str, dict[str, float]] = {}
    for name, (_, example, _) in by_rater.items():
        for aspect, rating in example.ratings.items():
            people.setdefault(aspect, {})[name] = rating
    means = {aspect: sum(ratings.values()) / len(ratings) for aspect, ratings in people.items()}
    extra = dict(first.extra)
    for _, example, _ in group:
        extra = {name: value for name, value in extra.items() if example.extra.get(name) == value}
    extra.pop(rater or RATER, None)
    if people:
        extra["ratings"] = people
    return line, replace(first, ratings=means, extra=extra), scores
