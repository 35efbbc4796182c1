"""Rows of tables in memory: files, lists and DataFrames of them, and their cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from data.cells import list_items, to_value
from data.input_file import InputFile
from data.numeric import to_number
from data.rating_words import GivenLevels
from data.roles import Roles, holds_texts
from judge.inputs import GIVEN, SOURCE_RULE, Columns

Rows: TypeAlias = list[dict[str, Any]]


def open_rows(
    source: Any,
    columns: Columns | None,
    levels: GivenLevels | None,
) -> InputFile | None:
    """Opens a source of rows as an input; None for texts, Examples and outputs by system, which have no columns."""
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
    """Whether a column with a name of texts (`prediction`, `answer`) has texts and not verdicts."""
    return holds_texts(row.get(key) for row in rows)


def leave_out(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns the row without these columns."""
    return {key: cell for key, cell in row.items() if key not in names}
