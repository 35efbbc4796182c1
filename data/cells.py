"""Cells: converts the cells of tables and DataFrames into the values of an example's fields."""

import io
import json
import math
import sys
from collections.abc import Iterable, Mapping
from datetime import date, time
from typing import Any

import numpy as np

from core.errors import SettingError, format_value, list_first, printable, setting
from core.example import SHOWN_COLUMNS
from data.columns import RATING, SCORE, Columns, find_absent, name_fields
from data.numeric import parse_number
from data.table_files import LISTS
from data.text_files import RepeatedKeyError, decode_json
from data.written_lists import parse_list

UTTERANCE_END = "</UTT>"
NAMES = ("id", "system", "group", "label")
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
MISSING = ("NAType", "NaTType")  # of pandas, which is not imported for them


def json_line(record: Mapping[str, Any]) -> str:
    """Writes a record as a line of JSON."""
    return ENCODER.encode(record) + "\n"


def check_header(columns: Columns, header: list[str], *, needs_text: bool = True) -> tuple[list[str], bool]:
    """Returns the problems of a table's header, and whether the rows can be read in spite of these problems."""
    naming = name_fields(tuple(header), columns)
    problems = [*naming.problems, *find_absent(columns, header)]
    names = [name for _, name in naming.fields]
    has_text = "text" in names or "turns" in names or not needs_text
    if not has_text:
        where = f"({setting('columns.text', 'NAME')} names another)"
        shown = list_first(header, SHOWN_COLUMNS)
        problems.append(f'the header needs a column "text" or "turns" {where}, found {shown}')
    return problems, has_text


def read_cells(
    record: Mapping[str, Any],
    columns: Columns,
    is_table: bool = False,
    is_typed: bool = False,
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Splits a record into the values of Example's fields, the values of all other columns, and a list of problems.

    With `is_table` (CSV, TSV), every cell is a text, which is parsed; problems of column names are left to
    `check_header`. With `is_typed` (parquet, rows in memory), a cell may be a number even where a field needs a name.
    """
    naming = name_fields(tuple(record), columns)
    values, extra = naming.apply(record)
    problems = [] if is_table else list(naming.problems)  # the header has them
    if is_typed:
        problems += _read_typed_cells(values)
    if is_table:
        problems += _parse_cells(values)
        extra = {name: cell for name, cell in extra.items() if cell}
    problems += _gather_columns(values, RATING, "ratings")
    problems += _gather_columns(values, SCORE, "scores")
    problems += _check_extra(extra)
    return values, extra, problems


def _parse_cells(record: dict[str, Any]) -> list[str]:
    """Turns the cells of a row, by field, into the values of a JSON object, and returns the problems.

    A cell that cannot be converted stays a text, which then has the wrong type.
    """
    problems: list[str] = []
    for name, cell in list(record.items()):
        if name.startswith(RATING) and isinstance(cell, str) and cell.lstrip().startswith("["):
            problems.append(f'a table has a column for each person, such as "{name}:ANN", found {format_value(cell)}')
            record[name] = None
        elif name.startswith((RATING, SCORE)):
            record[name] = parse_number(cell) if cell else None
        elif not cell and name != "text":  # an empty text is an empty answer
            del record[name]
        elif name == "references":
            references: list[Any] = []
            for part in cell if isinstance(cell, list) else [cell]:  # a list is of several columns
                references += _parse_references(part, problems)
            record[name] = references
        elif name in ("turns", "ratings"):
            record[name] = _parse_json(cell, problems)
            if name == "turns" and record[name] is cell and UTTERANCE_END in cell:
                record[name] = cell.removesuffix(UTTERANCE_END).split(UTTERANCE_END)
    return problems


def _read_typed_cells(record: dict[str, Any]) -> list[str]:
    """Reads numbers as names, and texts of lists and ratings as those of a table file; returns the problems."""
    record |= {name: name_of(record[name]) for name in NAMES if name in record}
    texts = {name: record[name] for name in (*LISTS, "ratings") if isinstance(record.get(name), str)}
    problems = _parse_cells(texts)
    record |= texts
    return problems


def _parse_json(cell: str, problems: list[str]) -> Any:
    try:
        return decode_json(cell)
    except RepeatedKeyError as error:
        problems.append(str(error))
        return None
    except ValueError:
        return cell


def _parse_references(cell: str, problems: list[str]) -> list[Any]:
    """The elements of a list that was written as a text; any other cell, and one of numbers such as [1], is a text."""
    try:
        listed = parse_list(cell)
    except ValueError as error:
        problems.append(f'"references" {error}, found {format_value(cell)}')
        return []
    return [cell] if listed is None else listed


def _gather_columns(
    record: dict[str, Any],
    prefix: str,
    whole: str,
) -> list[str]:
    """Moves the values of columns such as `rating:ASPECT` into one object, here `ratings`; returns the problems.

    Columns such as `rating:ASPECT:PERSON` become an object from person to rating.
    """
    columns = [name for name in record if name.startswith(prefix)]
    if not columns:
        return []
    plain: dict[str, Any] = {}
    people: dict[str, dict[str, Any]] = {}
    for column in columns:
        name = column.removeprefix(prefix)
        value = record.pop(column)
        aspect, _, person = name.partition(":")
        if person and prefix == RATING:
            people.setdefault(aspect, {})[person] = value
        elif value is not None or prefix == SCORE:
            plain[name] = value
    parts = {**plain, **people}
    given = record.get(whole) or {}
    if not isinstance(given, Mapping):
        return []  # a fault of its own
    if parts or given:
        record[whole] = {**parts, **given}
    problems: list[str] = []
    for name in plain:
        if name in people:
            problems.append(f'"{RATING}{name}" and "{RATING}{name}:PERSON" both give its ratings')
    for name in parts:
        if name in given:
            problems.append(f'"{whole}" and a column both give {format_value(name)}')
    return problems


def _check_extra(extra: Mapping[str, Any]) -> list[str]:
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


def name_of(number: Any) -> Any:
    """Converts a number in a column of names (ids, systems) to a text: 3.0 is "3". Other values stay unchanged."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return number
    return str(number)
