"""Rows by rater: rows that share an id, or text and system, are one text that several people rated."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import fault, format_value
from core.example import Example
from data.records import check_id, require_none

RATER = "rater"
USUAL_RATERS = ("rater", "rater_id", "annotator", "annotator_id", "worker", "worker_id", "WorkerId")
TASKS = ("HITId", "task_id", "item_id")  # columns of what was given to several raters
PARTS = ("text", "turns", "context", "prefix", "label", "references", "system", "group")
Scores: TypeAlias = Mapping[str, float | None]
Row: TypeAlias = tuple[int, Example, Scores]  # with its line


def join_rater_rows(path: Path, rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The texts of rows with the ratings of each person, and a sentence if there are fewer texts than rows.

    Rows are joined by ids that repeat. Otherwise they are joined by what they hold (`PARTS`) where they name a rater,
    or all have ratings and a system but no ids. A rater who rates a text again counts once, with the later rating.

    Raises InputError for rows with one id and different texts or scores, and for an id of two texts without ratings.
    """
    named = [name for name in USUAL_RATERS if _names_raters(rows, name)]
    rater = named[0] if named else None
    by_id = _group(rows, _name_id)
    by_content = _group(rows, _list_parts)
    has_ids = len(by_id) < len(rows)
    groups = by_id if has_ids else by_content if rater or _are_rated_outputs(rows) else []
    if not groups or len(groups) == len(rows):
        return tuple(rows), ()
    if not (rater or any(each.ratings for _, each, _ in rows)):
        first_line: dict[str, int] = {}
        faults = [fault(path, line, what) for line, each, _ in rows for what in check_id(each.id, line, first_line)]
        require_none((), faults)
    require_none((), [problem for group in groups for problem in _find_conflicts(path, group, rater)])
    again = sum(len(group) - len(_name_raters(group, rater)) for group in groups)
    who = f"their raters are in {rater}" if rater else "their raters are numbered; columns.rater=COLUMN names them"
    note = f"{path.name}: {len(rows)} rows, {len(groups)} text{'s'[: len(groups) != 1]}; {who}"
    if again:
        note += f"; {again} row{'s'[: again != 1]} more of a rater on the same text: the later rating counts"
    return tuple(_join(group, rater) for group in groups), (note,)


def _names_raters(rows: Sequence[Row], column: str) -> bool:
    """Whether some row has a name in this column."""
    return any(_is_name(each.extra.get(column)) for _, each, _ in rows)


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and str(value).strip() != ""


def _name_id(row: Row) -> object:
    return row[1].id


def _list_parts(row: Row) -> object:
    """What a row holds; where its system or input is not named, also the task that was given to raters."""
    _, each, _ = row
    tasks = [] if each.system and each.group else [str(each.extra.get(name)) for name in TASKS]
    return (*(getattr(each, name) for name in PARTS), *tasks)


def _group(rows: Sequence[Row], key: Any) -> list[list[Row]]:
    found: dict[object, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return list(found.values())


def _are_rated_outputs(rows: Sequence[Row]) -> bool:
    """Whether all rows have ratings, a system and the input, but no id: then its number of the line is there."""
    return all(each.ratings and each.system and each.group and each.id == str(line) for line, each, _ in rows)


def _name_raters(group: Sequence[Row], rater: str | None) -> dict[str, Row]:
    """The rows of a text by rater, the later one of a rater who rated twice; numbers where no rater is named."""
    names = [str(each.extra[rater]) if rater else str(number) for number, (_, each, _) in enumerate(group, start=1)]
    return dict(zip(names, group, strict=True))


def _find_conflicts(
    path: Path,
    group: Sequence[Row],
    rater: str | None,
) -> Iterator[str]:
    """Faults of rows of one text: another content or score than in the first row, a rater or a rating of no use."""
    first_line, first, first_scores = group[0]
    for line, each, scores in group:
        if rater and not _is_name(each.extra.get(rater)):
            yield fault(path, line, f"{format_value(rater)} is needed here, as in other lines")
        for name in PARTS:
            here, there = getattr(each, name), getattr(first, name)
            if here != there:
                rule = f"rows with the id {format_value(each.id)} are one text with several raters, but {name} is"
                yield fault(
                    path, line, f"{rule} {format_value(here)} here and {format_value(there)} in line {first_line}"
                )
        other = [name for name, score in scores.items() if score != first_scores.get(name)]
        if other:
            yield fault(path, line, f"rows of one text must have the same scores, but {other[0]} differs")
        if "ratings" in each.extra and len(group) > 1:
            yield fault(path, line, "a row by a rater must have one rating for each aspect, found several")


def _join(group: Sequence[Row], rater: str | None) -> Row:
    """One text with its ratings by person; what else its rows hold is kept where it is the same in all."""
    line, first, scores = group[0]
    by_rater = _name_raters(group, rater)
    people: dict[str, dict[str, float]] = {}
    for name, (_, each, _) in by_rater.items():
        for aspect, rating in each.ratings.items():
            people.setdefault(aspect, {})[name] = rating
    means = {aspect: sum(given.values()) / len(given) for aspect, given in people.items()}
    extra = dict(first.extra)
    for _, each, _ in group:
        extra = {name: value for name, value in extra.items() if each.extra.get(name) == value}
    extra.pop(rater or RATER, None)
    return line, replace(first, ratings=means, extra={**extra, "ratings": people} if people else extra), scores
