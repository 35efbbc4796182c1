"""Numbers in cells: what is one, what is missing, verdicts in words (yes, fail), and other words that are labels."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

YES, NO = ("yes", "pass", "passed", "true"), ("no", "fail", "failed", "false")
WORDS = {name: number for names, number in ((YES, 1.0), (NO, 0.0)) for name in names}
GAPS = ("nan", "null", "n/a", "na", "-")  # that say that a number is missing
MOST_LABELS = 10  # as in meta_eval.labels, which is slow to import
LOW = frozenset({"bad", "incorrect", "low", "negative", "poor", "rejected", "worse", "wrong"})
RATED = ("ratings", "scores")
HIGH = frozenset({"accepted", "better", "correct", "good", "high", "positive", "right"})


def parse_number(cell: str) -> float | str:
    """The number in a cell; a cell that holds none stays a text.

    >>> parse_number("0.5"), parse_number("1_0")  # only Python reads 1_0 as ten
    (0.5, '1_0')
    """
    try:
        return float(cell) if "_" not in cell else cell
    except ValueError:
        return cell


def parse_finite(text: str) -> float | None:
    """The finite number that a text is, None for any other text."""
    number = parse_number(text)
    return number if isinstance(number, float) and math.isfinite(number) else None


def to_number(value: object) -> float | None:
    """A number as it is, also in a text; yes, pass and true are 1, no, fail and false 0. None for anything else.

    >>> to_number(True), to_number("Fail"), to_number("0.5"), to_number(float("nan")), to_number("good")
    (1.0, 0.0, 0.5, None, None)
    """
    if isinstance(value, str):
        word = value.strip().lower()
        return WORDS.get(word, parse_finite(word))
    return float(value) if isinstance(value, bool | int | float) and math.isfinite(value) else None


def number_columns(rows: Sequence[Mapping[str, Any]], apart: Iterable[str]) -> list[str]:
    """The columns outside `apart` with numbers alone, at least one, also as texts; empty cells and NaN are missing.

    >>> number_columns([{"a": "0.5", "b": 1, "c": ""}, {"a": "nan", "b": "yes", "c": None}], ())
    ['a']
    """
    leaves, found = frozenset(apart), dict[str, bool]()
    for row in rows:
        for name in row.keys() - leaves:
            if not is_missing(cell := row[name]):
                is_word = isinstance(cell, str) and cell.strip().lower() in WORDS
                found[name] = found.get(name, True) and not is_word and to_number(cell) is not None
    return [name for name in dict.fromkeys(name for row in rows for name in row) if found.get(name)]


def is_missing(value: object) -> bool:
    """Whether a cell says that there is no number."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "none", *GAPS)
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def list_unknown(record: Mapping[str, Any]) -> list[str]:
    """The words among the ratings and scores of a record that are no verdict such as yes."""
    return [each for _, each in _list_values(record) if isinstance(each, str) and each not in WORDS]


def _list_values(record: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    """Each rating and score with its column, without those that are missing; words in lower case."""
    for kind in RATED:
        given = record.get(kind)
        for name, value in given.items() if isinstance(given, Mapping) else ():
            for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]:
                found = each.strip().lower() if isinstance(each, str) else each
                if found not in (None, "", *GAPS):
                    yield (kind, name), found


def number_words(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """By word its number as a label: from 0, after yes and no from 2; words such as bad come first, such as good last.

    Empty where a column has numbers too, or more words than `MOST_LABELS`: then a word is a fault.

    >>> number_words({"ratings": {"q": word}} for word in ("Good", "bad", "fair", None))
    {'bad': 0.0, 'fair': 1.0, 'good': 2.0}
    """
    columns: dict[tuple[str, str], set[Any]] = {}
    for record in records:
        for column, value in _list_values(record):
            columns.setdefault(column, set()).add(parse_number(value) if isinstance(value, str) else 0.0)
    in_words = [found for found in columns.values() if any(isinstance(each, str) for each in found - WORDS.keys())]
    words: set[Any] = set().union(*in_words)
    has_many = any(len(found) > MOST_LABELS for found in in_words)
    if len(words) < 2 or has_many or any(isinstance(word, float) for word in words):
        return {}
    new = sorted(words - WORDS.keys(), key=lambda word: (word in HIGH, word not in LOW, word))
    return {word: float(number) for number, word in enumerate(new, start=2 if words & WORDS.keys() else 0)}


def replace_words(values: Any, numbers: Mapping[str, float]) -> Any:
    """Ratings or scores with numbers in place of words."""
    if isinstance(values, Mapping):
        return {name: replace_words(value, numbers) for name, value in values.items()}
    if isinstance(values, list):
        return [replace_words(value, numbers) for value in values]
    return numbers.get(values.strip().lower(), values) if isinstance(values, str) else values


def describe_numbers(numbers: Mapping[str, float]) -> str:
    """The numbers for a note, such as `words are labels: bad 0, good 1`; empty without any."""
    shown = ", ".join(f"{word} {number:g}" for word, number in numbers.items())
    return f"words are labels: {shown}" if numbers else ""
