"""Rows by rater: joins rows that are one text rated by several people, by its id, or its input and system."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.errors import InputError, fault, format_value, setting
from core.example import hint_column
from data.columns import find_rater
from data.files import Row, rate
from data.label_columns import find_key
from data.records import require_none

PARTS = ("text", "turns", "context", "prefix", "label", "references", "system", "group")


def join_rater_rows(path: Path, rows: Sequence[Row]) -> tuple[Sequence[Row], tuple[str, ...]]:
    """Joins rows into texts with the ratings of each person, whom a column names; returns a note if it joins any.

    The id of a row names its text; where no row has one, the task or else the input does, with the system. Outputs of
    several systems may share the id of their input, which becomes their group. If a rater rates a text twice, the later
    rating counts.

    Raises InputError for rows of one text that contradict each other, for an id of two texts without raters, and for
    equal texts by raters that nothing names.
    """
    named: dict[str, None] = {}
    for row in rows:
        named |= dict.fromkeys(name for name, cell in row.example.extra.items() if _is_name(cell))
    rater = find_rater(named)
    rows = _name_outputs(rows, rater)
    if rater is None:
        require_none((), _find_repeated_ids(path, rows, [*named]))
        return rows, ()
    has_ids = any(row.has_id for row in rows)
    task = find_key(named) or ""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        example = row.example
        key: Any = example.id
        if not has_ids and (task or example.group):
            key = (example.group, str(example.extra.get(task)), example.system)
        groups[key].append(row)
    if len(groups) == len(rows):
        if not has_ids and _repeat_texts(rows):
            rule = f"rows by {rater} need a column with the id of their text, because texts are repeated"
            raise InputError([fault(path, 0, f"{rule}: {setting('columns.id', 'COLUMN')} names it")])
        return rows, ()
    faults: list[str] = []
    for group in groups.values():
        faults += _find_conflicts(group, rater)
    joined = [_join(group, rater) for group in require_none(groups.values(), faults)]
    texts = "1 text" if len(joined) == 1 else f"{len(joined)} texts"
    note = f"{path.name}: {len(rows)} rows, {texts}; their raters are in {rater}"
    again = len(rows) - sum(len(_name_raters(group, rater)) for group in groups.values())
    if again:
        repeated = "1 row" if again == 1 else f"{again} rows"
        note += f"; {repeated} more of a rater on the same text: the later rating counts"
    return joined, (note,)


def _repeat_texts(rows: Sequence[Row]) -> bool:
    """Whether a system has the same text, for the same context, in several rows."""
    examples = [row.example for row in rows]
    texts = {(example.text, example.turns, example.context, example.system) for example in examples}
    return len(texts) < len(rows)


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and str(value).strip() != ""


def _name_outputs(rows: Sequence[Row], rater: str | None) -> Sequence[Row]:
    """The rows, with an id of its own for each output where several systems share the id of an input.

    Systems whose ratings are the same for every id may be judges of one output, and stay.
    """
    systems: dict[str, set[str | None]] = defaultdict(set)
    ratings: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        systems[row.example.id].add(row.example.system)
        ratings[row.example.id].add(str(row.ratings))
    are_several = any(len(names - {None}) > 1 for names in systems.values())
    differ = any(len(given) > 1 for given in ratings.values())
    may_be_judges = rater is None and not differ and any(row.ratings for row in rows)
    if may_be_judges or not are_several:
        return rows
    faults: list[str] = []
    named: list[Row] = []
    for row in rows:
        example = row.example
        is_there = {"an id": row.has_id, "a system": example.system}
        lacking = [what for what, given in is_there.items() if not given]
        if lacking:
            rule = f"rows of several systems need {' and '.join(lacking)} here, as in other lines"
            faults.append(fault(row.path, row.line, rule))
        name = f"{example.id} ({example.system})"
        named.append(replace(row, example=replace(example, id=name, group=example.group or example.id)))
    return require_none(named, faults)


def _find_repeated_ids(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Faults of ids that several lines have, and which columns may have the raters and ratings that such rows lack."""
    first: dict[str, Row] = {}
    repeated = [row for row in rows if first.setdefault(row.example.id, row) is not row]
    if not repeated:
        return []
    row = repeated[0]
    problem = (
        f"ids must be unique, but {format_value(row.example.id)} is the id of line {first[row.example.id].line} too"
    )
    if len(repeated) > 1:
        problem += f" (the first of {len(repeated)} lines with this fault)"
    faults = [fault(path, row.line, problem)]
    lacking = "rater" if any(row.ratings for row in rows) else "ratings.ASPECT"
    hint = hint_column(lacking, columns)
    if hint:
        what = "name its rater" if lacking == "rater" else "have a rating"
        faults.append(fault(path, 0, f"lines with one id must each {what}, but no column does{hint}"))
    return faults


def _name_raters(group: Sequence[Row], rater: str) -> dict[str, Row]:
    """The rows of a text by rater, the later one of a rater who rated twice."""
    return {str(row.example.extra.get(rater)): row for row in group}


def _find_conflicts(group: Sequence[Row], rater: str) -> Iterator[str]:
    """Faults of rows of one text: another content or score than in the first row, a rater or a rating of no use."""
    first = group[0]
    for row in group:
        problems: list[str] = []
        if not _is_name(row.example.extra.get(rater)):
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


def _join(group: Sequence[Row], rater: str) -> Row:
    """One text with its ratings by person; what else its rows hold is kept where it is the same in all."""
    people: dict[str, dict[str, Any]] = {}
    for name, row in _name_raters(group, rater).items():
        for aspect, ratings in row.ratings.items():
            if ratings.get("") is not None:
                people.setdefault(aspect, {})[name] = ratings[""]
    extra = dict(group[0].example.extra)
    for row in group:
        extra = {name: cell for name, cell in extra.items() if row.example.extra.get(name) == cell}
    extra.pop(rater, None)
    return replace(group[0], example=rate(replace(group[0].example, extra=extra), people), ratings=people)
