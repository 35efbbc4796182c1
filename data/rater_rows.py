"""Rows by rater: joins rows that are one text rated by several people, by its id, or its input and system."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.errors import InputError, fault, format_value, setting
from core.example import Example
from data.columns import find_rater
from data.files import Row, rate
from data.label_columns import find_key
from data.numeric import name_of
from data.records import check_id, require_none

PARTS = ("text", "turns", "context", "prefix", "label", "references", "system", "group")


def join_rater_rows(path: Path, rows: Sequence[Row]) -> tuple[Sequence[Row], tuple[str, ...]]:
    """Joins rows into texts with the ratings of each person, whom a column names; returns a note if it joins any.

    The id of a row names its text; where no row has one, the task or else the input does, with the system. So they
    do where each row has an id of its own and several people rated a text. Outputs of several systems may share the id
    of their input, which becomes their group.

    Raises InputError for rows of one text that contradict each other, for an id of two texts without raters, and for
    equal texts by raters that nothing names.
    """
    named: dict[str, None] = {}
    for row in rows:
        named |= dict.fromkeys(name for name, cell in row.example.extra.items() if _name(cell))
    rater = find_rater(named)
    rows = _name_outputs(rows)
    if rater is None:
        require_none((), _find_repeated_ids(rows))
        return rows, ()
    has_ids = any(row.has_id for row in rows)
    task = find_key(named)
    outputs = [_find_output(row.example, task) for row in rows]
    texts = [(each.text, each.turns, each.context, each.system) for each in (row.example for row in rows)]
    raters = [_name(row.example.extra.get(rater)) for row in rows]
    keys: list[Any] = [row.example.id for row in rows]
    # ids of single rows, beside the name of a text that several people rated
    are_rows = len({*zip(outputs, texts, strict=True)}) == len({*outputs})
    are_rows = are_rows and len({*zip(outputs, raters, strict=True)}) == len({*keys}) == len(rows)
    what = "id"
    if are_rows or not has_ids:
        keys = outputs
        what = f"{task or 'input'} and system"
    groups: dict[Any, list[Row]] = defaultdict(list)
    for key, row in zip(keys, rows, strict=True):
        groups[key].append(row)
    if len(groups) == len(rows):
        if len({*texts}) < len(rows) and not has_ids:
            rule = f"rows by {rater} need a column with the id of their text, because texts are repeated"
            raise InputError([fault(path, 0, f"{rule}: {setting('columns.id', 'COLUMN')} names it")])
        return rows, ()
    faults: list[str] = []
    for group in groups.values():
        faults += _find_conflicts(group, rater, what)
    joined = [_join(group, rater) for group in require_none(groups.values(), faults)]
    count = "1 text" if len(joined) == 1 else f"{len(joined)} texts"
    note = f"{path.name}: {len(rows)} rows, {count}; their raters are in {rater}"
    return joined, (note,)


def _name(cell: object) -> str:
    """The name in a cell, which may be a number; empty for anything else."""
    name = name_of(cell)
    return name if isinstance(name, str) and name.strip() else ""


def _find_output(example: Example, task: str | None) -> Any:
    """What tells an output from others: its task or else its input, and its system; its id if it names neither."""
    if task is None and not example.group:
        return example.id
    return example.group, str(example.extra.get(task or "")), example.system


def _name_outputs(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows, with an id of its own for each output where several systems share the id of an input."""
    systems: dict[str, set[str | None]] = defaultdict(set)
    for row in rows:
        systems[row.example.id].add(row.example.system)
    if not any(len(names - {None}) > 1 for names in systems.values()):
        return rows
    faults: list[str] = []
    named: list[Row] = []
    for row in rows:
        example = row.example
        if not (row.has_id and example.system):
            faults.append(fault(row.path, row.line, "rows of several systems need an id and a system, as other lines"))
        name = f"{example.id} ({example.system})"
        named.append(replace(row, example=replace(example, id=name, group=example.group or example.id)))
    return require_none(named, faults)


def _find_repeated_ids(rows: Sequence[Row]) -> list[str]:
    """Faults of ids that several lines have, where no column names their raters."""
    first_line: dict[str, int] = {}
    faults: list[str] = []
    for row in rows:
        problems = check_id(row.example.id, row.line, first_line)
        faults += [fault(row.path, row.line, problem) for problem in problems]
    if faults:
        rule = "lines with one id must each name who rated, but no column does"
        faults.append(fault(rows[0].path, 0, f"{rule}: {setting('columns.rater', 'COLUMN')} names it"))
    return faults


def _find_conflicts(group: Sequence[Row], rater: str, what: str) -> Iterator[str]:
    """Faults of rows of one text: another content or score than in the first row, a rater or a rating of no use."""
    first = group[0]
    first_line: dict[str, int] = {}
    for row in group:
        problems: list[str] = []
        who = _name(row.example.extra.get(rater))
        earlier = first_line.setdefault(who, row.line)
        if not who:
            problems.append(f"{format_value(rater)} is needed here, as in other lines")
        elif earlier != row.line:
            problems.append(f"a rater must rate a text once, but {format_value(who)} also does in line {earlier}")
        for name in PARTS:
            here = getattr(row.example, name)
            there = getattr(first.example, name)
            if here != there:
                rule = f"rows with one {what} are one text with several raters"
                values = f"{format_value(here)} here and {format_value(there)} in line {first.line}"
                problems.append(f"{rule}, but {name} is {values}")
        if row.scores != first.scores:
            problems.append("rows of one text must have the same scores")
        if "ratings" in row.example.extra and len(group) > 1:
            problems.append("a row by a rater must have one rating for each aspect, found several")
        yield from (fault(row.path, row.line, problem) for problem in problems)


def _join(group: Sequence[Row], rater: str) -> Row:
    """One text with its ratings by person; what else its rows hold is kept where it is the same in all."""
    first = group[0]
    people: dict[str, dict[str, Any]] = {}
    extra = dict(first.example.extra)
    for row in group:
        others = row.example.extra
        for aspect, ratings in row.ratings.items():
            if ratings.get("") is not None:
                people.setdefault(aspect, {})[_name(others[rater])] = ratings[""]
        extra = {name: cell for name, cell in extra.items() if others.get(name) == cell}
    extra.pop(rater, None)
    example = replace(first.example, extra=extra)
    return replace(first, example=rate(example, people), ratings=people)
