"""Rows in memory: a DataFrame, or an iterable of rows; cells become values of JSON."""

import io
import math
from collections.abc import Iterable, Mapping
from datetime import date, time
from typing import Any, Protocol, runtime_checkable

import numpy as np

from core.faults import SettingFault, format_value, printable

MISSING = ("NAType", "NaTType")  # of pandas, which is not imported for them


@runtime_checkable
class _Pandas(Protocol):
    columns: Any

    def iterrows(self) -> Any: ...

    def to_dict(self, orient: str) -> Any: ...


def is_frame(source: object) -> bool:
    """Whether it is a DataFrame of pandas."""
    return isinstance(source, _Pandas)


def list_items(source: object, rule: str) -> list[Any]:
    """The rows of a DataFrame, or what an iterable holds.

    Raises SettingFault, with `rule`, for what has no rows: a text, a mapping, a set, an open file.
    """
    if isinstance(source, _Pandas):
        names = list(map(str, source.columns))
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise SettingFault(f"a column must occur once, but {format_value(twice[0])} is repeated")
        return source.to_dict(orient="records")
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | Mapping | set | frozenset | io.IOBase):
        raise SettingFault(f"{rule}, but got a {type(source).__name__}: {printable(repr(source))[:60]}")
    return list(source)


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
