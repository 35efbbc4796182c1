"""Columns: which column of a table, or key of a line, gives which field of an example. Other columns become `extra`."""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import WRITERS, SettingError, SettingWriter, format_value, list_first, setting
from core.example import SHOWN_COLUMNS, Example

FIELDS = tuple(field.name for field in fields(Example) if field.name != "extra")
RATING = "rating:"  # a column of one aspect, as in rating:coherence, or of one person, as in rating:coherence:ann
RATINGS = "ratings."  # an aspect in the setting `columns`, as in ratings.coherence
SCORE = "scores."  # a column of one metric, as in scores.bleu, or of one of its aspects; data.scored reads it
NAMES = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))


def list_names(*tables: str) -> dict[str, str]:
    """Lists the names in tables of `names.toml` with what they stand for."""
    return {name: field for table in tables for field, names in NAMES[table].items() for name in names.split()}


OTHER_NAMES = list_names("own")
USUAL_NAMES = list_names("usual")
USUAL_RATERS = tuple(NAMES["rows"]["rater"].split())
OUTPUT = ("dropped_tokens", "reason", "explanation")  # keys that judge score writes; data.scored leaves them out
GAPS = re.compile(r"[\s-]+")  # between the words of a name
PLAIN = frozenset({*FIELDS, "scores", *OUTPUT})  # the keys of a JSON object that need no naming
MOST_COLUMNS = 2_000  # or different keys of the lines of a file

Columns: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]  # field, or a name of your own -> columns of the file


def fold_name(name: str) -> str:
    """The name of a column without differences of spelling: in lower case, with underscores between words.

    >>> fold_name(" Item ID"), fold_name("Judge-verdict")
    ('item_id', 'judge_verdict')
    """
    return GAPS.sub("_", name.strip().lower())


@lru_cache(maxsize=1024)
def _fold_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(fold_name, keys))


def fold_names(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row with its keys in the usual spelling.

    >>> fold_names({"Model A": 1, "winner": 2})
    {'model_a': 1, 'winner': 2}
    """
    names = _fold_keys(tuple(row))
    return dict(zip(names, row.values(), strict=True))


def find_column(header: Iterable[str], *names: str) -> str | None:
    """Finds the column with the first of these names that the header has; spelling does not count.

    >>> find_column(["ID", "Epoch"], "epoch"), find_column(["ID"], "sample", "id"), find_column(["ID"], "epoch")
    ('Epoch', 'ID', None)
    """
    columns = {fold_name(column): column for column in header}
    for name in names:
        column = columns.get(fold_name(name))
        if column is not None:
            return column
    return None


def find_rater(header: Iterable[str]) -> str | None:
    """Finds the column that names who rated, by its usual names."""
    return find_column(header, *USUAL_RATERS)


def names_rater(column: str) -> bool:
    """Whether a column has a usual name of those that say who rated."""
    return fold_name(column) in USUAL_RATERS


def list_spellings(header: Iterable[str]) -> list[str]:
    """Returns a problem for each name that columns have in several spellings.

    >>> print(*list_spellings(["id", "Model A", "model_a"]))
    "Model A" and "model_a" are one name in several spellings: columns={"NAME": "Model A"} chooses one
    """
    columns: dict[str, list[str]] = {}
    for column in dict.fromkeys(header):
        columns.setdefault(fold_name(column), []).append(column)
    problems: list[str] = []
    for names in columns.values():
        if len(names) > 1:
            rule = f"{' and '.join(map(format_value, names))} are one name in several spellings"
            problems.append(f"{rule}: {setting('columns.NAME', names[0])} chooses one")
    return problems


def freeze_columns(columns: Mapping[str, str | Sequence[str]]) -> Columns:
    """Makes the setting `columns` hashable. Raises SettingError for values that are not names of columns."""
    if not isinstance(columns, Mapping):
        raise SettingError(f"columns must be by field, as {setting('columns.text', 'COLUMN')}, but is {columns!r}")
    frozen: list[tuple[str, tuple[str, ...]]] = []
    for name, given in _flatten(columns).items():
        keys = [given] if isinstance(given, str | int) else given
        are_names = isinstance(keys, Sequence) and all(isinstance(key, str | int) for key in keys)
        if not keys or not are_names:
            raise SettingError(f"{setting(f'columns.{name}')} must be a column or several, but is {given!r}")
        frozen.append((name, tuple(map(str, keys))))  # a column may be called 0
    return tuple(frozen)


def _flatten(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns with `ratings: {ASPECT: COLUMN}` as `ratings.ASPECT: COLUMN`, behind the others."""
    nested = {name: inner for name, inner in columns.items() if isinstance(inner, Mapping)}
    flat = {name: keys for name, keys in columns.items() if name not in nested}
    for name, inner in nested.items():
        for key, keys in inner.items():
            flat[f"{name}.{key}"] = keys
    return flat


@dataclass(frozen=True)
class ColumnMapping:
    """Which field each key of a line gives."""

    # pairs of a key and what it gives: a field of an example, `scores`, `rating:ASPECT` or `scores.METRIC`
    fields: Sequence[tuple[str, str]]
    # pairs of a key and the name under which its value is passed on
    extra: Sequence[tuple[str, str]]
    # of the names, in words
    problems: tuple[str, ...]


def name_fields(keys: tuple[str, ...], columns: Columns = ()) -> ColumnMapping:
    """Maps the keys of a line to fields: by `columns` first, then by the fields' names and other usual names.

    One column may give several fields. If `columns` takes a field from another column than the one with the field's
    name, the column with that name is kept as `unread_NAME`, so that the output does not confuse the two.

    >>> name_fields(("mt", "domain"))
    ColumnMapping(fields=(('mt', 'text'),), extra=(('domain', 'domain'),), problems=())
    >>> name_fields(("answer", "text"), (("text", ("answer",)),)).extra
    (('text', 'unread_text'),)
    >>> name_fields(("text", "prediction")).problems
    ('"text" and "prediction" both give the text: columns={"text": "text"} chooses one',)
    """
    return _name_fields(keys, columns, WRITERS[-1])


@lru_cache(maxsize=1024)
def _name_fields(keys: tuple[str, ...], columns: Columns, writer: SettingWriter) -> ColumnMapping:
    """The mapping, with problems in the words of the program whose settings `writer` writes."""
    del writer
    chosen: dict[str, list[str]] = {}
    for name, names in columns:
        for key in names:
            chosen.setdefault(key, []).append(_name_field(name, key, len(names)))
    taken = {_name_field(name, "", 1) for name, _ in columns}
    fields_given: list[tuple[str, str]] = []
    extra: list[tuple[str, str]] = []
    own_fields = {OTHER_NAMES.get(name, name) for name in map(fold_name, keys)}
    for key in keys:
        name = _guess_field(key, own_fields)
        if key not in chosen and name in taken:
            extra.append((key, f"unread_{key}" if fold_name(key) in PLAIN else key))
            continue
        for field in chosen.get(key, [name]):
            is_field = field in PLAIN or field.startswith((RATING, SCORE))
            pairs = fields_given if is_field else extra
            pairs.append((key, field))
    problems = _list_problems(fields_given, extra, chosen)
    return ColumnMapping(tuple(fields_given), tuple(extra), tuple(problems))


def _guess_field(key: str, own_fields: Collection[str]) -> str:
    """The field that a key stands for, else the key; one of `USUAL_NAMES` gives way to a key of the field itself."""
    for prefix in (RATING, SCORE):
        if key.lower().startswith(prefix):
            return f"{prefix}{key[len(prefix) :]}"
    name = fold_name(key)
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    if name in FIELDS or name == "scores":
        return name
    usual = USUAL_NAMES.get(name, key)
    return key if usual in own_fields else usual


def _name_field(name: str, key: str, columns: int) -> str:
    """The field of a column: with several columns for an aspect, the column is a person."""
    if not name.startswith((RATINGS, RATING)):
        return name
    aspect = f"{RATING}{name.removeprefix(RATINGS).removeprefix(RATING)}"
    return f"{aspect}:{key}" if columns > 1 else aspect


def _list_problems(
    fields_given: Sequence[tuple[str, str]], extra: Sequence[tuple[str, str]], chosen: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    giving: dict[str, list[str]] = {}
    for key, name in fields_given:
        giving.setdefault(name, []).append(key)
    for name, keys in giving.items():
        are_references = name == "references" and all(key in chosen for key in keys)
        if len(keys) > 1 and not are_references:
            rule = f"{' and '.join(map(format_value, keys))} both give the {name}"
            yield f"{rule}: {setting(f'columns.{name}', keys[0])} chooses one"
    open_columns = [key for key, name in extra if key not in chosen and not name.startswith("unread_")]
    yield from list_spellings(open_columns)
    counts = Counter(name for _, name in extra)
    for key, name in extra:
        if counts[name] > 1:
            yield f"a name must be given once, but {format_value(name)} is the name of {format_value(key)} too"


def add_nested(record: Mapping[str, Any], columns: Columns) -> Mapping[str, Any]:
    """Adds the columns that are paths into the record's objects and lists.

    If a path into `scores` gives a rating, all of `scores` counts as ratings of people, and none as a metric's score.

    >>> add_nested({"out": {"choices": [{"text": "Hi"}]}}, (("text", ("out.choices.0.text",)),))["out.choices.0.text"]
    'Hi'
    """
    paths = [key for _, keys in columns for key in keys if "." in key and key not in record]
    reached = {path: reach(record, path) for path in paths}
    nested = {path: value for path, value in reached.items() if value is not None}
    if any(key in nested for _, key in list_ratings(columns)):
        record = {key: value for key, value in record.items() if key != "scores"}
    return {**record, **nested}


def list_ratings(columns: Columns) -> list[tuple[str, str]]:
    """Lists the ratings that `columns` reads from the key `scores`.

    If there are any, no entry of `scores` is a metric's score.
    """
    named = [(name, key) for name, keys in columns for key in keys if key.startswith(SCORE)]
    return [(name, key) for name, key in named if name.startswith((RATING, RATINGS))]


def reach(row: Mapping[str, Any], path: str) -> Any:
    """The value of a column, or of a path into objects and lists such as `output.choices.0.text`; None without one."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if isinstance(value, list) and part.isdecimal():
            index = int(part)
            value = value[index] if index < len(value) else None
        elif isinstance(value, Mapping):
            value = value.get(part)
        else:
            return None
    return value


def find_absent(columns: Columns, keys: Sequence[str]) -> list[str]:
    """Returns a problem for each column that `columns` names and the file does not have."""
    known = list_first(keys, SHOWN_COLUMNS)
    absent = [(key, name) for name, names in columns for key in names if key not in keys]
    return [f"columns needs the column {format_value(key)} for {name}, found only {known}" for key, name in absent]


def count_columns(keys: Collection[object]) -> list[str]:
    """Returns a problem if there are more than MOST_COLUMNS columns."""
    if len(keys) <= MOST_COLUMNS:
        return []
    return [f"a file must have at most {MOST_COLUMNS:,} columns or keys of its lines, found {len(keys):,}"]
