"""Rows in memory: a DataFrame, a mapping of columns, or an iterable of rows; cells become values of JSON."""

import io
import math
from collections.abc import Iterable, Mapping, Sized
from datetime import date, time
from typing import Any, Protocol, runtime_checkable

import numpy as np

from core.faults import SettingFault, format_value, printable

MISSING = ("NAType", "NaTType")  # of pandas, which is not imported for them


@runtime_checkable
class _Pandas(Protocol):
    columns: Any

    def to_dict(self, orient: str) -> Any: ...


@runtime_checkable
class _Polars(Protocol):
    columns: Any

    def to_dicts(self) -> list[dict[str, Any]]: ...


@runtime_checkable
class _Arrow(Protocol):
    column_names: list[str]

    def to_pylist(self) -> list[dict[str, Any]]: ...


def is_frame(source: object) -> bool:
    """Whether it is a table of pandas, polars or pyarrow."""
    return isinstance(source, _Pandas | _Polars | _Arrow)


def is_columns(source: object) -> bool:
    """Whether it is a mapping from names to columns of values."""
    return isinstance(source, Mapping) and bool(source) and all(map(_is_column, source.values()))


def _is_column(values: object) -> bool:
    is_several = isinstance(values, Iterable) and isinstance(values, Sized)
    return is_several and not isinstance(values, str | bytes | Mapping) and not is_frame(values)


def list_items(source: object, rule: str) -> list[Any]:
    """The rows of a DataFrame of pandas or polars, a table of pyarrow or a mapping of columns, or what an iterable
    holds.

    Raises SettingFault, with `rule`, for what has no rows: a text, another mapping, a set, an open file.
    """
    if is_frame(source) or is_columns(source):
        return _list_rows(source)
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | Mapping | set | frozenset | io.IOBase):
        raise SettingFault(f"{rule}, but got a {type(source).__name__}: {printable(repr(source))[:60]}")
    return list(source)


def _list_rows(source: Any) -> list[dict[str, Any]]:
    if isinstance(source, Mapping):
        lengths = {str(name): len(values) for name, values in source.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} {n}" for name, n in lengths.items())
            raise SettingFault(f"columns must have one length, but have: {printable(found)}")
        names, rows = list(source), zip(*source.values(), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]
    names = [str(name) for name in (source.column_names if isinstance(source, _Arrow) else source.columns)]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise SettingFault(f"a column must occur once, but {format_value(twice[0])} is repeated")
    if isinstance(source, _Arrow):
        return source.to_pylist()
    return source.to_dicts() if isinstance(source, _Polars) else source.to_dict(orient="records")


def to_value(cell: Any) -> Any:
    """A cell as a value of JSON: None for NaN and the like, lists for arrays, texts for dates.

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
    """A number as a table file has it in a column of names (ids, systems): 3.0 is "3"; any other value as it is."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return str(number) if isinstance(number, int | float) and not isinstance(number, bool) else number
