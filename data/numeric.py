"""Numbers in cells: parses numbers, missing values, and verdicts in words (yes, fail)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

YES = ("yes", "pass", "passed", "true")
NO = ("no", "fail", "failed", "false")
WORDS = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
GAPS = ("nan", "null", "n/a", "na", "-")  # that say that a number is missing


def parse_number(cell: str) -> float | str:
    """Parses the number in a cell; returns the text itself if it is not a number.

    >>> parse_number("0.5"), parse_number("1_0"), parse_number("0,5")  # only Python reads 1_0 as ten
    (0.5, '1_0', '0,5')
    """
    try:
        return float(cell) if "_" not in cell else cell
    except ValueError:
        return cell


def parse_finite(text: str) -> float | None:
    """Parses the finite number that a text spells; None for any other text."""
    number = parse_number(text)
    if isinstance(number, float) and math.isfinite(number):
        return number
    return None


def to_number(value: object) -> float | None:
    """Converts a number, a text that spells a number, or a verdict in words to a number; None for any other value.

    The words yes, pass and true are 1; no, fail and false are 0.

    >>> to_number(True), to_number("Fail"), to_number("0.5"), to_number(float("nan")), to_number("good")
    (1.0, 0.0, 0.5, None, None)
    """
    if isinstance(value, str):
        word = value.strip().lower()
        return WORDS.get(word, parse_finite(word))
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return None


def name_of(number: Any) -> Any:
    """Converts a number in a column of names (ids, systems) to a text: 3.0 is "3". Other values stay unchanged."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return number
    return str(number)


def number_columns(rows: Sequence[Mapping[str, Any]], apart: Iterable[str]) -> list[str]:
    """Lists the columns, except those in `apart`, that contain only numbers (also as texts) and at least one number.

    Empty cells and NaN count as missing.

    >>> number_columns([{"a": "0.5", "b": 1, "c": ""}, {"a": "nan", "b": "yes", "c": None}], ())
    ['a']
    """
    left_out = frozenset(apart)
    are_numbers: dict[str, bool] = {}
    for row in rows:
        for name in row.keys() - left_out:
            cell = row[name]
            if is_missing(cell):
                continue
            is_word = isinstance(cell, str) and cell.strip().lower() in WORDS
            is_number = not is_word and to_number(cell) is not None
            are_numbers[name] = are_numbers.get(name, True) and is_number
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if are_numbers.get(name)]


def is_missing(value: object) -> bool:
    """Whether a cell stands for a missing number."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "none", *GAPS)
    return value is None or (isinstance(value, float) and not math.isfinite(value))
