"""Rows by rater: joins rows that are one text rated by several people, by its id, or its input and system."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from core.errors import InputError, fault, format_value, setting
from core.example import hint_column
from data.columns import find_rater
from data.files import Row, rate
from data.label_columns import find_key
from data.records import require_none

RATER = "rater"
PARTS = ("text", "turns", "context", "prefix", "label", "references", "system", "group")


def join_rater_rows(path: Path, rows: Sequence[Row]) -> tuple[Sequence[Row], tuple[str, ...]]:
    """Joins rows into texts with the ratings of each person; returns a note if there are fewer texts than rows.

    Rows are joined by repeated ids; outputs of several systems may share the id of their input, which becomes their
    group. Where no row has an id, the task or the input and the system name a text, if a column names the rater or all
    rows are rated. If a rater rates a text twice, the later rating counts.

    Raises InputError for rows of one text that contradict each other, for an id of two texts without ratings, and for
    equal texts by raters that nothing names.
    """
    columns = dict.fromkeys(name for row in rows for name in row.example.extra)
    named = {name: None for row in rows for name, cell in row.example.extra.items() if _is_name(cell)}
    rater = find_rater(name for name in columns if name in named)
    rows = _name_outputs(rows, rater)
    groups = _find_groups(path, rows, rater, find_key(columns))
    if len(groups) == len(rows):
        return rows, ()
    if not rater and not any(row.ratings for row in rows):
        raise InputError(_find_repeated_ids(path, groups, [*columns]))
    require_none((), [*chain.from_iterable(_find_conflicts(group, rater) for group in groups)])
    note = _describe_groups(path.name, groups, rater)
    return [_join(group, rater) for group in groups], (note,)


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and str(value).strip() != ""


def _has_id(row: Row) -> bool:
    return row.example.id != str(row.line)  # a row without an id is called by its line


def _group(rows: Sequence[Row], key: Any) -> list[list[Row]]:
    groups: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return [*groups.values()]


def _name_id(row: Row) -> str:
    return row.example.id


def _name_outputs(rows: Sequence[Row], rater: str | None) -> Sequence[Row]:
    """The rows, with an id of its own for each output where several systems share the id of an input.

    Systems whose ratings are the same for every id may be judges of one output, and stay.
    """
    are_several = False
    may_be_judges = rater is None and any(row.ratings for row in rows)
    for group in _group(rows, _name_id):
        are_several = are_several or len({row.example.system for row in group} - {None}) > 1
        may_be_judges = may_be_judges and len({str(row.ratings) for row in group}) == 1
    if may_be_judges or not are_several:
        return rows
    faults: list[str] = []
    named: list[Row] = []
    for row in rows:
        example = row.example
        lacking = ([] if _has_id(row) else ["an id"]) + ([] if example.system else ["a system"])
        if lacking:
            rule = f"rows of several systems need {' and '.join(lacking)} here, as in other lines"
            faults.append(fault(row.path, row.line, rule))
        name = f"{example.id} ({example.system})"
        named.append(replace(row, example=replace(example, id=name, group=example.group or example.id)))
    return require_none(named, faults)


def _find_groups(
    path: Path,
    rows: Sequence[Row],
    rater: str | None,
    task: str | None,
) -> list[list[Row]]:
    """The rows of each text: by id, else by the task or the input, and the system."""
    by_id = _group(rows, _name_id)
    if len(by_id) < len(rows) or any(map(_has_id, rows)):
        return by_id
    examples = [row.example for row in rows]
    is_named = task is not None or all(example.group for example in examples)
    if is_named and (rater or all(row.ratings and row.example.system and row.example.group for row in rows)):
        return _group(rows, lambda row: (row.example.group, str(row.example.extra.get(task)), row.example.system))
    texts = {(example.text, example.turns, example.context, example.system) for example in examples}
    if rater and len(texts) < len(rows):
        rule = f"rows by {rater} need a column with the id of their text, because texts are repeated"
        raise InputError([fault(path, 0, f"{rule}: {setting('columns.id', 'COLUMN')} names it")])
    return by_id


def _find_repeated_ids(path: Path, groups: Sequence[Sequence[Row]], columns: Sequence[str]) -> list[str]:
    """Faults of ids that several lines have, and which columns may have the ratings that such rows lack."""
    repeated = [(group[0], row) for group in groups for row in group[1:]]
    first, row = min(repeated, key=lambda pair: pair[1].line)
    problem = f"ids must be unique, but {format_value(row.example.id)} is the id of line {first.line} too"
    if len(repeated) > 1:
        problem += f" (the first of {len(repeated)} lines with this fault)"
    faults = [fault(path, row.line, problem)]
    hint = hint_column("ratings.ASPECT", columns)
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


def _name_raters(group: Sequence[Row], rater: str | None) -> dict[str, Row]:
    """The rows of a text by rater, the later one of a rater who rated twice; numbers where no rater is named."""
    if rater is None:
        return {str(number): row for number, row in enumerate(group, start=1)}
    return {str(row.example.extra[rater]): row for row in group}


def _find_conflicts(group: Sequence[Row], rater: str | None) -> Iterator[str]:
    """Faults of rows of one text: another content or score than in the first row, a rater or a rating of no use."""
    first = group[0]
    for row in group:
        problems: list[str] = []
        if rater and not _is_name(row.example.extra.get(rater)):
            problems.append(f"{format_value(rater)} is needed here, as in other lines")
        for name in PARTS:
            here = getattr(row.example, name)
            there = getattr(first.example, name)
            if here != there:
                rule = f"rows with the id {format_value(row.example.id)} are one text with several raters"
                values = f"{format_value(here)} here and {format_value(there)} in line {first.line}"
                problems.append(f"{rule}, but {name} is {values}")
        differing = [name for name, score in row.scores.items() if score != first.scores.get(name)]
        if differing:
            problems.append(f"rows of one text must have the same scores, but {differing[0]} differs")
        if "ratings" in row.example.extra and len(group) > 1:
            problems.append("a row by a rater must have one rating for each aspect, found several")
        yield from (fault(row.path, row.line, problem) for problem in problems)


def _join(group: Sequence[Row], rater: str | None) -> Row:
    """One text with its ratings by person; what else its rows hold is kept where it is the same in all."""
    people: dict[str, dict[str, Any]] = {}
    for name, row in _name_raters(group, rater).items():
        for aspect, ratings in row.ratings.items():
            if ratings.get("") is not None:
                people.setdefault(aspect, {})[name] = ratings[""]
    extra = dict(group[0].example.extra)
    for row in group:
        extra = {name: cell for name, cell in extra.items() if row.example.extra.get(name) == cell}
    extra.pop(rater or RATER, None)
    return replace(group[0], example=rate(replace(group[0].example, extra=extra), people), ratings=people)
