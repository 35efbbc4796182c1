"""The tables that people who check a judge have: verdicts and labels, with or without texts, in one file or two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, fault
from data.cells import list_items, to_value
from data.columns import RATING, SCORE, name_fields
from data.files import InputFile, read_objects
from data.numeric import to_number
from data.rating_words import GivenLevels
from data.roles import Roles, find_roles, gather_judges, holds_texts
from data.scored import ScoredFile, read_scored
from judge.inputs import GIVEN, RULE, Columns, Frame, Source, read
from judge.label_joins import GivenLabels, add_epochs, choose_people, join_labels, name_source
from meta_eval.scored_set import ScoredSet

Names: TypeAlias = str | Sequence[str]
Labels: TypeAlias = Path | str | Sequence[Mapping[str, Any]] | Frame
Rows: TypeAlias = list[dict[str, Any]]
LABELS = Path("labels")  # names labels in memory in messages
PROBABILITY = "probability"  # the column of a sheet with which each of its rows was drawn
TEXT_FIELDS = ("text", "turns")
PEEK = 100  # rows whose keys say what a file has


def read_verdicts(
    source: Source,
    *,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    people: Names = (),
    judges: Names = (),
    labels: Labels | None = None,
    has_metrics: bool = False,
) -> tuple[ScoredSet, dict[str, float]]:
    """The examples of a source with the ratings of people and the scores of judges, and probabilities of a sheet.

    Args:
        source: as `judge.read` takes it; the rows of a file, a list or a DataFrame need no text.
        columns, levels: as in `judge.read`.
        people: columns, scorers or raters that are people; by default columns are recognised by name and values.
        judges: columns that hold verdicts of judges.
        labels: a file, rows or a DataFrame with the labels of people, joined by id. Its column `probability`, which
            `judge label` writes, is returned by id.
        has_metrics: whether metrics run on the texts, so that no column needs to hold verdicts.

    Raises SettingError where the columns have two readings, InputError for faults of the files.
    """
    of_people = _list_names(people)
    of_judges = _list_names(judges)
    needs = [*(["people"] if labels is None else []), *(["judges"] if not has_metrics else [])]
    opened = None if isinstance(source, ScoredSet) else _open_rows(source, columns, levels)
    if opened is None or opened.found is not None:
        found = read(source, columns=columns, levels=levels)
        found = choose_people(found, of_people)
        if of_judges:
            kept = {name: each for name, each in found.scores.items() if name in of_judges}
            found = replace(found, scores=kept)
    else:
        found, others = _read_rows(opened, levels, of_people, of_judges, needs)
        found = choose_people(found, others)
    if labels is None:
        return found, {}
    given = read_labels(labels, levels)
    return join_labels(found, given), dict(given.probabilities)


def _list_names(names: Names) -> list[str]:
    return names.split(",") if isinstance(names, str) else list(names)


def _open_rows(source: Any, columns: Columns | None, levels: GivenLevels | None) -> InputFile | None:
    """A source of rows as an input; None for texts, Examples and outputs by system, which have no columns."""
    if isinstance(source, str | Path | InputFile):
        return InputFile.of(source, columns=columns, levels=levels)
    if isinstance(source, Mapping):
        return None
    rows = list_items(source, RULE)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    file = InputFile.of(GIVEN, columns=columns, levels=levels)
    records = [{str(name): to_value(cell) for name, cell in row.items()} for row in rows]
    return replace(file, records=records)


def _read_rows(
    file: InputFile, levels: GivenLevels | None, people: Sequence[str], judges: Sequence[str], needs: Collection[str]
) -> tuple[ScoredSet, list[str]]:
    """The examples of rows, and the names of people that are no columns."""
    faults: list[str] = []
    first = [row for _, row in islice(read_objects(file, faults), PEEK)]
    header = [*dict.fromkeys(name for row in first for name in row)]
    fields = {name for _, name in name_fields(tuple(header), file.columns).fields}
    has_texts = bool(fields & {*TEXT_FIELDS})
    has_ratings = any(name == "ratings" or name.startswith(RATING) for name in fields)
    has_scores = any(name == "scores" or name.startswith(SCORE) for name in fields)
    is_complete = (has_ratings or "people" not in needs) and (has_scores or "judges" not in needs)
    named = [name for name in [*people, *judges] if name in header]
    if is_complete and not named:
        return read_scored(replace(file, needs_text=has_texts)), [*people]
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file), [*people]  # which names the faults
    of_texts = _find_text_columns(rows, header, file)
    lacking = [role for role, is_there in (("people", has_ratings), ("judges", has_scores)) if not is_there]
    columns_of_people = [name for name in people if name in header]
    roles = find_roles(
        [{name: cell for name, cell in row.items() if name not in of_texts} for row in rows],
        people=columns_of_people,
        judges=judges,
        levels=levels,
        needs=[] if of_texts else [role for role in needs if role in lacking],
        command=f"judge agree {file.path}",
    )
    if not roles.people and not roles.judges:
        return read_scored(replace(file, needs_text=bool(of_texts))), [*people]
    if roles.rater is not None and roles.key is None and not of_texts:
        what = f"rows by {roles.rater} need a column with the id of what was rated, found {', '.join(header)}"
        raise InputError([fault(file.path, 0, what)])
    found = _apply(file, rows, roles, has_texts=bool(of_texts))
    return found, [name for name in people if name not in columns_of_people]


def _find_text_columns(rows: Sequence[Mapping[str, Any]], header: Sequence[str], file: InputFile) -> list[str]:
    """The columns that give texts, and not verdicts under the name of one (`prediction`, `answer`)."""
    naming = name_fields(tuple(header), file.columns)
    named = [key for key, name in naming.fields if name in TEXT_FIELDS]
    return [key for key in named if holds_texts(row.get(key) for row in rows)]


def _apply(file: InputFile, rows: Rows, roles: Roles, *, has_texts: bool) -> ScoredFile:
    """The examples of rows whose columns have these roles."""
    note = f"{file.path.name}: {roles.describe()}"
    if roles.named_by is not None:
        gathered = gather_judges(rows, roles)
        names = dict.fromkeys(str(row.get(roles.named_by)) for row in rows)
        roles = replace(roles, judges={name: name for name in names}, named_by=None)
        file = replace(file, records=[_read_cells_of(row) for row in gathered])
    given = dict(file.columns)
    columns = {**{name: tuple(keys) for name, keys in roles.columns.items()}, **given}
    columned = replace(file, columns=tuple(columns.items()), needs_text=has_texts)
    found = read_scored(columned)
    return replace(found, notes=(note, *found.notes))


def _read_cells_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table as a record in memory: empty cells are missing, and numbers are numbers."""
    found: dict[str, Any] = {}
    for name, cell in row.items():
        number = to_number(cell) if isinstance(cell, str) else None
        found[name] = None if cell == "" else cell if number is None else number
    return found


def read_labels(source: Labels, levels: GivenLevels | None = None) -> GivenLabels:
    """Labels of people in a file, rows or a DataFrame of their own: an id, and one column or row for each person.

    Raises SettingError where its columns have two readings, InputError for faults of the file.
    """
    file = _open_rows(source, None, levels)
    name = name_source(source, LABELS)
    if file is None or file.found is not None:
        raise SettingError(f"labels must be a table with ids and labels, but {name} is none")
    faults: list[str] = []
    rows = [row for _, row in read_objects(file, faults)]
    if faults:
        raise InputError(faults)
    rows = add_epochs(rows) if any("epoch" in row for row in rows) else rows
    rows = [_read_cells_of(row) for row in rows]
    probabilities = {str(row.get("id")): float(row[PROBABILITY]) for row in rows if _has_number(row, PROBABILITY)}
    rows = [{key: cell for key, cell in row.items() if key != PROBABILITY} for row in rows]
    roles = _find_label_roles(rows, levels, name)
    columns = tuple((key, tuple(keys)) for key, keys in roles.columns.items())
    labelled = read_scored(replace(file, records=rows, columns=columns, needs_text=False))
    kept = [i for i, example in enumerate(labelled.examples) if example.ratings]
    described = f"{name}: {roles.describe()}"
    labelled = replace(labelled.take(kept), scores={}, notes=(described, *labelled.notes))
    return GivenLabels(name, labelled, probabilities)


def _has_number(row: Mapping[str, Any], name: str) -> bool:
    return isinstance(row.get(name), int | float)


def _find_label_roles(rows: Rows, levels: GivenLevels | None, name: str) -> Roles:
    """The roles of the columns of labels: where one column alone can be a label, its name does not matter."""
    header = [*dict.fromkeys(key for row in rows for key in row)]
    roles = find_roles(rows, levels=levels, needs=())
    if roles.key is None:
        raise SettingError(f"{name} needs a column with the ids of the verdicts, such as id, found {', '.join(header)}")
    if roles.people:
        return replace(roles, judges={}, named_by=None)
    spare = [key for key in (*roles.judges, *roles.unread) if _is_label(rows, key, levels)]
    if len(spare) != 1:
        rule = f"one column of {name} must hold labels by its name, such as human or label"
        raise SettingError(f"{rule}, found {', '.join(header)}")
    chosen = find_roles(rows, people=spare, levels=levels, needs=())
    return replace(chosen, judges={}, named_by=None)


def _is_label(rows: Rows, key: str, levels: GivenLevels | None) -> bool:
    return not holds_texts(row.get(key) for row in rows) or levels not in (None, "auto")


def have_texts(scored: ScoredSet) -> bool:
    """Whether some example has a text."""
    return any(not example.is_empty for example in scored.examples)
