"""Rows of tables in memory: files, lists and DataFrames of them, and their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import fault
from data.cells import list_items, name_of, to_value
from data.columns import PLAIN, find_column, fold_name, name_fields
from data.input_file import InputFile
from data.numeric import is_missing, to_number
from data.rating_words import GivenLevels
from data.records import require_none
from data.roles import Roles, holds_texts
from judge.inputs import GIVEN, SOURCE_RULE, Columns

Rows: TypeAlias = list[dict[str, Any]]
GROUP = "group"
SYSTEM = "system"
PROVIDER = "provider"  # what promptfoo calls a system


def open_rows(
    source: Any,
    columns: Columns | None,
    levels: GivenLevels | None,
) -> InputFile | None:
    """Opens a source of rows as an input file.

    Returns None for texts, Examples and outputs by system: they have no columns.
    """
    if isinstance(source, str | Path | InputFile):
        return InputFile.of(source, columns=columns, levels=levels)
    if isinstance(source, Mapping):
        return None
    records: Rows = []
    for row in list_items(source, SOURCE_RULE):
        if not isinstance(row, Mapping):
            return None
        records.append(_to_record(row))
    if not records:
        return None
    file = InputFile.of(GIVEN, columns=columns, levels=levels)
    return replace(file, records=records)


def _to_record(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row with names that are texts, and cells that are plain values."""
    return {str(name): to_value(cell) for name, cell in row.items()}


def flatten_rows(rows: Rows) -> Rows:
    """Turns the values of objects in rows into columns `OBJECT.NAME`; objects in our own fields stay.

    >>> flatten_rows([{"id": 1, "judge": {"verdict": "yes", "reason": "So."}, "scores": {"f1": 1}}])
    [{'id': 1, 'judge.verdict': 'yes', 'judge.reason': 'So.', 'scores': {'f1': 1}}]
    """
    flat: Rows = []
    for row in rows:
        cells: dict[str, Any] = {}
        for name, cell in row.items():
            if _is_object(name, cell):
                for key, value in cell.items():
                    cells[f"{name}.{key}"] = value
            else:
                cells[name] = cell
        flat.append(cells)
    return flat


def holds_objects(rows: Rows) -> bool:
    """Whether some cell is an object that is not one of Example's fields."""
    return any(_is_object(name, cell) for row in rows for name, cell in row.items())


def _is_object(name: str, cell: object) -> bool:
    """Whether a cell is an object that is no field of our own."""
    return isinstance(cell, Mapping) and fold_name(name) not in PLAIN


def read_cells(row: Mapping[str, Any], roles: Roles) -> dict[str, Any]:
    """Reads a row of a table: empty cells are missing; labels and verdicts that spell numbers become numbers.

    Other cells stay texts: an id such as 007 is no number.
    """
    labels = set(roles.judges.values())
    labels.update(*roles.people.values())
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        cells[name] = _read_cell(cell, is_label=name in labels)
    return cells


def _read_cell(cell: Any, *, is_label: bool) -> Any:
    """A number in a cell of labels, None for an empty text, and any other value as it is."""
    if not isinstance(cell, str):
        return cell
    if is_label:
        number = to_number(cell)
        if number is not None:
            return number
    return cell or None


def holds_texts_in(rows: Rows, key: str) -> bool:
    """Whether a column that is named like a column of texts (`prediction`, `answer`) has texts and not verdicts."""
    return holds_texts(row.get(key) for row in rows)


def leave_out(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns the row without these columns."""
    return {key: cell for key, cell in row.items() if key not in names}


def find_system(header: Collection[str]) -> str | None:
    """Finds the column that names the system of each row; None if there is no such column.

    >>> find_system(["question_id", "model", "judge"]), find_system(["test", "provider"]), find_system(["id"])
    ('model', 'provider', None)
    """
    for key, name in name_fields(tuple(header)).fields:
        if name == SYSTEM:
            return key
    return find_column(header, PROVIDER)


def name_outputs(rows: Rows, key: str | None) -> tuple[Rows | None, tuple[str, ...]]:
    """Rows with `group`, `system` and an id made of both, where an id in `key` is that of an input of several systems.

    Returns the columns of which ids were made, too. None where ids differ between systems. Rows of one output, such as
    those of its raters, get the same id.

    >>> rows, parts = name_outputs([{"q": 1, "model": "a", "human": 0}, {"q": 1, "model": "b", "human": 1}], "q")
    >>> rows[1], parts
    ({'human': 1, 'id': '1 (b)', 'group': '1', 'system': 'b'}, ('q', 'model'))
    >>> name_outputs([{"q": 1, "model": "a"}, {"q": 2, "model": "b"}], "q")
    (None, ())
    """
    system = find_system(rows[0])
    if key is None or system is None:
        return None, ()
    inputs = [_name_cell(row.get(key)) for row in rows]
    systems = [_name_cell(row.get(system)) for row in rows]
    systems_by_input: dict[str, set[str]] = {}
    for name, of_system in zip(inputs, systems, strict=True):
        if name is not None and of_system is not None:
            systems_by_input.setdefault(name, set()).add(of_system)
    if all(len(answered) == 1 for answered in systems_by_input.values()):
        return None, ()
    named: Rows = []
    for row, name, of_system in zip(rows, inputs, systems, strict=True):
        output = leave_out(row, [key, system])
        output["id"] = f"{name} ({of_system})"
        output[GROUP] = name
        output[SYSTEM] = of_system
        named.append(output)
    return named, (key, system)


def check_outputs(
    rows: Rows,
    parts: Sequence[str],
    places: Iterable[tuple[Path | str, int]],
) -> None:
    """Raises InputError for rows that lack one of the cells of which their id is made.

    `parts` are the columns of the input and of the system, `places` the file and the line of each row.
    """
    rule = f"rows of several systems need {' and '.join(parts)}"
    faults: list[str] = []
    for row, place in zip(rows, places, strict=True):
        names = {part: _name_cell(row.get(part)) for part in parts}
        empty = [part for part, name in names.items() if name is None]
        if empty:
            problem = f"{rule}, but {' and '.join(empty)} is empty"
            faults.append(fault(*place, problem))
    require_none((), faults)


def _name_cell(cell: Any) -> str | None:
    """A name in a cell; None for an empty cell."""
    name = name_of(to_value(cell))
    return None if is_missing(name) else str(name)
