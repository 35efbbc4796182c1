"""Cells: converts the cells of tables and DataFrames into the values of an example's fields."""

import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from typing import Any

import numpy as np

from core.errors import SettingError, format_value, printable
from data.columns import RATING, SCORE, Cells, ColumnMapping
from data.text_files import RepeatedKeyError, decode_json
from data.written_lists import parse_list

UTTERANCE_END = "</UTT>"
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
MISSING = ("NAType", "NaTType")  # of pandas, which is not imported for them


def json_line(record: Cells) -> str:
    """Writes a record as a line of JSON."""
    return ENCODER.encode(record) + "\n"


def read_cells(record: Cells, naming: ColumnMapping) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Splits a record into the values of an example's fields, the values of all other columns, and a list of problems.

    Lists and objects that were written as one text, as in a table, are read; a text that is none stays a text, which
    then has the wrong type.
    """
    problems: list[str] = []
    values: dict[str, Any] = {}
    extra = {name: record[key] for key, name in naming.extra}
    references = [record[key] for key, name in naming.fields if name == "references"]
    if len(references) > 1:
        values["references"] = _join_references(references, problems)
    for key, name in naming.fields:
        cell = record[key]
        if name in ("turns", "ratings") and isinstance(cell, str):
            cell = _parse_cell(cell, problems)
        if name.startswith((RATING, SCORE)):
            _add_level(
                values,
                name,
                cell,
                problems,
            )
        elif name not in values:
            values[name] = {**cell} if isinstance(cell, Mapping) else cell
        elif isinstance(cell, Mapping):  # `ratings` or `scores` beside columns of one aspect
            problems += [f'"{name}" and a column both give {format_value(key)}' for key in cell if key in values[name]]
            values[name] = {**values[name], **cell}
    return values, extra, problems + _check_extra(extra)


def _parse_cell(cell: str, problems: list[str]) -> Any:
    """Utterances that are joined, or a value in JSON; any other text stays as it is."""
    try:
        return decode_json(cell)
    except RepeatedKeyError as error:
        problems.append(str(error))
        return None
    except ValueError:
        return cell.removesuffix(UTTERANCE_END).split(UTTERANCE_END) if UTTERANCE_END in cell else cell


def _join_references(cells: Sequence[Any], problems: list[str]) -> list[Any]:
    """The references of several columns; each has a text, a list, or a list that was written as a text."""
    references: list[Any] = []
    for cell in cells:
        try:
            listed = parse_list(cell) if isinstance(cell, str) else cell
        except ValueError as error:
            problems.append(f'"references" {error}, found {format_value(cell)}')
            continue
        references += listed if isinstance(listed, list) else [cell] if cell else []
    return references


def _add_level(values: dict[str, Any], name: str, cell: Any, problems: list[str]) -> None:
    """Adds the value of a column such as `rating:ASPECT`, `rating:ASPECT:PERSON` or `scores.METRIC` to its object."""
    is_rating = name.startswith(RATING)
    whole = "ratings" if is_rating else "scores"
    name = name.removeprefix(RATING if is_rating else SCORE)
    levels = values[whole] = values.get(whole) or {}
    if not isinstance(levels, dict):
        return  # a fault of its own
    aspect, _, person = name.partition(":") if is_rating else (name, "", "")
    if person:
        levels = levels.setdefault(aspect, {})
        if not isinstance(levels, dict):
            problems.append(f'"{RATING}{aspect}" and "{RATING}{aspect}:PERSON" both give its ratings')
            return
    if (person or aspect) in levels:
        problems.append(f'"{whole}" and a column both give {format_value(person or aspect)}')
    levels[person or aspect] = cell


def _check_extra(extra: Cells) -> list[str]:
    """The problems of values that could not be written again as JSON: NaN, halves of surrogate pairs."""
    problems: list[str] = []
    for name, value in extra.items():
        try:
            json_line({name: value}).encode("utf-8")
        except (TypeError, ValueError, RecursionError):
            problems.append(f"{format_value(name)} must be a value that JSON can hold, found {format_value(value)}")
    return problems


def is_frame(source: object) -> bool:
    """Whether an object is a pandas DataFrame; pandas is not imported for this."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def list_items(source: Any, rule: str) -> list[Any]:
    """Lists the rows of a DataFrame, or the items of an iterable.

    Raises SettingError, with `rule`, for objects that have no rows in order: a text, a mapping, a set, an open file,
    and tables of other libraries.
    """
    if is_frame(source):
        names = list(map(str, source.columns))
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise SettingError(f"a column must occur once, but {format_value(repeated[0])} is repeated")
        return source.to_dict(orient="records")
    # a table of another library gives its columns, or their names
    are_columns = isinstance(getattr(source, "columns", None), Iterable)
    no_rows = str | bytes | Mapping | set | frozenset | io.IOBase
    if are_columns or not isinstance(source, Iterable) or isinstance(source, no_rows):
        shown = printable(repr(source))[:60]
        raise SettingError(f"{rule}, but got a {type(source).__name__}: {shown}")
    return list(source)


def to_value(cell: Any) -> Any:
    """Converts a cell to a JSON value: None for NaN and the like, lists for arrays, texts for dates.

    >>> to_value({"a": np.array([1.0, np.nan]), "b": (np.float32(0.5), date(2020, 1, 2))})
    {'a': [1.0, None], 'b': [0.5, '2020-01-02']}
    """
    if isinstance(cell, str | bool | int):
        return cell
    if isinstance(cell, float):
        return None if math.isnan(cell) else float(cell)
    if isinstance(cell, Mapping):
        return {str(name): to_value(value) for name, value in cell.items()}
    if isinstance(cell, list | tuple):
        return [to_value(value) for value in cell]
    if cell is None or type(cell).__name__ in MISSING:
        return None
    if isinstance(cell, np.generic | np.ndarray):
        return to_value(cell.tolist())
    return str(cell) if isinstance(cell, date | time) else cell
