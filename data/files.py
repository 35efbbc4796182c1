"""Examples in and out: JSONL, CSV and TSV.

A file has the names of Example as its keys (JSONL) or column names (CSV, TSV). Reading collects every fault of a file
and raises them together. A file is written under a temporary name and renamed when it is complete. An empty string
counts as a missing value.
"""

import json
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from pydantic import ValidationError

from core.example import Example
from core.faults import InputFaults, SettingFault, broken_rules, fault, format_value, suggestion
from core.settings import Number
from data.records import List, Record, String, Text, check_id, list_problems
from data.table_files import DELIMITERS, CheckHeader, parse_number, read_parquet, read_rows, row_writer
from data.text_files import STANDARD, decoder, form_of, open_atomically, read_json_lines

UTTERANCE_END = "</UTT>"
FIELDS = tuple(field.name for field in fields(Example))
LISTS = ("turns", "references")
RATING = "rating:"  # a column of one aspect, as in rating:coherence
SCORE = "scores."  # a column of one metric, as in scores.bleu, or of one of its aspects; data.scored reads it
FORMS = (".jsonl", *DELIMITERS, ".parquet")


class ExampleRecord(Record):
    """An example as a file holds it."""

    id: Text | None = None
    text: String = ""
    turns: List[Text] = ()
    context: String | None = None
    prefix: String | None = None
    label: String | None = None
    references: List[Text] = ()
    system: String | None = None
    group: String | None = None
    ratings: Mapping[Text, Number] = {}


def read_examples(path: Path | str, requires: Collection[str] = ()) -> tuple[Example, ...]:
    """The examples of a .jsonl, .csv, .tsv (each also .gz) or .parquet file, in its order.

    JSONL: one object per line. CSV and TSV: a header, then a row per example; `turns` and `references` are JSON arrays
    (`turns` may also be utterances joined by `</UTT>`), ratings are columns such as `rating:coherence` or one column
    `ratings` with a JSON object. An id may be left out: then it is `<stem>-<line>`. A byte order mark, CRLF and blank
    lines at the end are accepted.

    Args:
        path: the file.
        requires: names of fields that every example must have; "turns" means at least two turns.

    Raises InputFaults with all faults of the file as `file:line: what is wrong, what was found`.
    """
    return tuple(example for _, example in located_examples(path, requires))


def located_examples(
    path: Path | str,
    requires: Collection[str] = (),
    take: Callable[[int, dict[str, Any]], list[str]] | None = None,
) -> tuple[tuple[int, Example], ...]:
    """Like read_examples, with the number of the line on which each example begins, counted from 1.

    `take(line, record)` may remove further keys from a record before it is checked, and returns their problems.
    """
    return tuple(iterate_examples(path, requires, take))


def iterate_examples(
    path: Path | str,
    requires: Collection[str] = (),
    take: Callable[[int, dict[str, Any]], list[str]] | None = None,
    records: Sequence[Mapping[str, Any]] | None = None,
) -> Iterator[tuple[int, Example]]:
    """Like located_examples, but yields one example at a time in little memory and raises the faults at the end.

    `records` in memory take the place of the lines of the file; then `path` is their name in messages.
    """
    if unknown := sorted(set(requires) - set(FIELDS)):
        raise SettingFault(f"requires must name fields of Example ({', '.join(FIELDS)}), but has {unknown}")
    path = Path(path)
    faults: list[str] = []
    is_empty, ids = True, array("q")  # hashes, because the ids of a long file take more memory
    read = partial(read_objects if records is None else _number_records, path if records is None else records)
    for line, record in read(faults):
        problems = take(line, record) if take is not None else []
        values, found = _check_record(record, requires)
        problems += found
        ids.append(hash(values.setdefault("id", _default_id(path, line))))
        faults += [fault(path, line, problem) for problem in problems]
        if not problems:
            is_empty = False
            yield line, Example(**values)
    faults += _repeated_ids(path, read, ids)
    if faults:
        raise InputFaults(faults)
    if is_empty:
        what = "the file needs at least one example, but has only a header"
        raise InputFaults([fault(path, 0, what if records is None else "at least one example is needed, found none")])


def _number_records(records: Sequence[Mapping[str, Any]], _faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, dict(record)) for number, record in enumerate(records, start=1))


def _default_id(path: Path, line: int) -> str:
    stem = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return f"{'stdin' if path == STANDARD else stem.stem}-{line}"


def _repeated_ids(
    path: Path, read: Callable[[list[str]], Iterator[tuple[int, dict[str, Any]]]], ids: "array[int]"
) -> list[str]:
    """A fault for every id that an earlier line has; the file is read again if hashes of ids are equal."""
    hashes, counts = np.unique(np.frombuffer(ids, np.int64), return_counts=True)
    repeated = set(hashes[counts > 1].tolist())
    if not repeated:
        return []
    faults: list[str] = []
    first_line: dict[str, int] = {}
    for line, record in read([]):
        name = record.get("id") or _default_id(path, line)
        if isinstance(name, str) and hash(name) in repeated:
            faults += [fault(path, line, problem) for problem in check_id(name, line, first_line)]
    return faults


def read_objects(
    path: Path, faults: list[str], check_header: CheckHeader | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a JSONL file, or the rows of a table, as JSON objects with their numbers; adds faults to `faults`.

    `check_header` is that of `read_rows`; without one, the columns must be those of examples.
    """
    match form_of(path, FORMS):
        case ".jsonl":
            yield from read_json_lines(path, faults)
        case ".parquet":
            yield from read_parquet(path)
        case form:
            for number, cells in read_rows(path, DELIMITERS[form], faults, check_header or _check_header):
                record, problems = _row_record(cells)
                faults += [fault(path, number, problem) for problem in problems]
                yield number, record


def write_examples(path: Path | str, examples: Sequence[Example]) -> None:
    """Writes a .jsonl, .csv or .tsv file that read_examples reads back as the same examples.

    Only fields that some example has are written; an empty optional string counts as missing. An existing file is
    replaced when the new one is complete.

    Raises ValueError for an example that could not be read back (a blank turn, a rating that is not a finite number, an
    id used twice), InputFaults for another suffix.
    """
    path = Path(path)
    form = form_of(path, allowed=(".jsonl", *DELIMITERS))
    records = [_record(example) for example in examples]
    ids: set[str] = set()
    for record in records:
        _, problems = _check_record(record, ())
        if record.get("id") in ids:
            problems.append("ids must be unique, but it is used twice")
        if problems:
            raise ValueError(f"example {format_value(record.get('id'))} cannot be written: {'; '.join(problems)}")
        ids.add(record["id"])
    with open_atomically(path) as file:
        if form == ".jsonl":
            file.writelines(json_line(record) for record in records)
        else:
            _write_table(file, records, DELIMITERS[form])


def json_line(record: Mapping[str, Any]) -> str:
    """A record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _check_record(record: Mapping[str, Any], requires: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """The values of a record as arguments of Example, and the problems of the record."""
    problems = [
        f"keys must be among {', '.join(FIELDS)}, found {format_value(key)}{suggestion(key, FIELDS)}"
        for key in record
        if key not in FIELDS
    ]
    given = {name: value for name, value in record.items() if value is not None and value != ""}
    at_fault: set[object] = set()
    try:
        values = ExampleRecord.model_validate(given).model_dump(exclude_unset=True)
    except ValidationError as error:
        problems += list_problems(error, given)
        at_fault = {place[0] for place, _, _ in broken_rules(error)}
        values = {name: value for name, value in given.items() if name not in at_fault}
    missing = dict.fromkeys(name for name in requires if not _says_something(values.get(name)))
    if not {"text", "turns"} & at_fault and not any(_says_something(values.get(name)) for name in ("text", "turns")):
        found = format_value(record.get("text", record.get("turns")))
        problems.append(f'an example needs "text" or "turns" that say something, found {found}')
        missing.pop("text", None)
    problems += [
        f'"{name}" is needed here, found {format_value(record.get(name))}' for name in missing if name not in at_fault
    ]
    if "turns" in requires and len(values.get("turns", ())) == 1:
        problems.append(f"a dialogue needs at least two turns, found {format_value(values['turns'])}")
    return values, problems


def _says_something(value: Any) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def _check_header(header: list[str]) -> tuple[list[str], bool]:
    problems = []
    for name in dict.fromkeys(header):
        named = any(name.startswith(prefix) and name.removeprefix(prefix).strip() for prefix in (RATING, SCORE))
        if name not in FIELDS and not named:
            columns = f"{', '.join(FIELDS)} or {RATING}ASPECT"
            problems.append(f"columns must be named {columns}, found {format_value(name)}{suggestion(name, FIELDS)}")
    has_text = bool({"text", "turns"} & set(header))
    if not has_text:
        problems.append(f'the header needs a column "text" or "turns", found {format_value(header)}')
    return problems, has_text


def _row_record(cells: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The cells of a row as the values of a JSON object; a cell that cannot be converted stays as it is."""
    record: dict[str, Any] = {}
    problems: list[str] = []
    repeated: list[str] = []
    ratings: dict[str, Any] = {}
    for name, cell in cells.items():
        if name.startswith(SCORE):
            record.setdefault("scores", {})[name.removeprefix(SCORE)] = parse_number(cell) if cell else None
        elif not cell:
            continue
        elif name.startswith(RATING):
            ratings[name.removeprefix(RATING)] = parse_number(cell)
        elif name in (*LISTS, "ratings"):
            try:
                record[name] = decoder(repeated)(cell)
            except (ValueError, RecursionError):
                # a cell that is not JSON may hold utterances; otherwise it stays a string, which has the wrong type
                joined = name == "turns" and UTTERANCE_END in cell
                record[name] = cell.removesuffix(UTTERANCE_END).split(UTTERANCE_END) if joined else cell
        elif name in FIELDS:
            record[name] = cell
    problems += [f"a key must occur once, but {format_value(key)} is repeated" for key in repeated]
    if ratings:
        whole = record.setdefault("ratings", {})
        if isinstance(whole, dict):
            both = [aspect for aspect in ratings if aspect in whole]
            problems += [
                f'an aspect must be rated once, but {format_value(a)} is in "ratings" and a column' for a in both
            ]
            record["ratings"] = {**ratings, **whole}
    return record, problems


def _record(example: Example) -> dict[str, Any]:
    """The non-empty fields of an example as JSON values."""
    record: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(example, name)
        if value:
            record[name] = list(value) if name in LISTS else dict(value) if name == "ratings" else value
    return record


def _write_table(file: TextIO, records: Sequence[Mapping[str, Any]], delimiter: str) -> None:
    used = {name for record in records for name in record} | {"id", "text"}
    columns = [name for name in FIELDS if name in used and name != "ratings"]
    aspects = list(dict.fromkeys(aspect for record in records for aspect in record.get("ratings", {})))
    rows = [columns + [f"{RATING}{aspect}" for aspect in aspects]]
    for record in records:
        cells = [record.get(name, "") for name in columns]
        cells = [json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell for cell in cells]
        ratings = record.get("ratings", {})
        rows.append(cells + [repr(float(ratings[aspect])) if aspect in ratings else "" for aspect in aspects])
    write = row_writer(file, delimiter)
    for row in rows:
        write(row)
