"""Examples and scores in and out: JSONL, CSV and TSV.

A file has the names of Example as its keys (JSONL) or column names (CSV, TSV). Reading collects every fault of a file
and raises them together; writing goes to a file aside that is renamed when it is whole. An empty string means the same
as a missing value.
"""

import csv
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TextIO

from core.example import Example
from core.faults import InputFaults, SettingFault, fault, shown, suggestion
from core.scores import Scores

UTTERANCE_END = "</UTT>"
FIELDS = tuple(field.name for field in fields(Example))
STRINGS = ("id", "text", "context", "prefix", "label", "system", "group")
LISTS = ("turns", "references")
RATING = "rating:"  # a column of one aspect, as in rating:coherence
SCORE = "scores."  # a column of one metric, as in scores.bleu; data.scored reads it
SURROGATE = re.compile("[\ud800-\udfff]")  # JSON may hold half a character as \ud83d; no file can
DELIMITERS = {".csv": ",", ".tsv": "\t"}

Records = Iterator[tuple[int, dict[str, Any]]]


def read_examples(path: Path | str, requires: Collection[str] = ()) -> tuple[Example, ...]:
    """The examples of a .jsonl, .csv or .tsv file, in its order.

    JSONL: one object per line. CSV and TSV: a header, then a row per example; `turns` and `references` are JSON arrays
    (`turns` may also be utterances joined by `</UTT>`), ratings are columns such as `rating:coherence` or one column
    `ratings` with a JSON object. An id may be left out: then it is `<stem>-<line>`. A byte order mark, CRLF and blank
    lines at the end are accepted.

    Args:
        path: the file.
        requires: names of fields that every example must have; "turns" asks for at least two.

    Raises InputFaults with all faults of the file as `file:line: what is wrong, what was found`.
    """
    return tuple(example for _, example in located_examples(path, requires))


def located_examples(
    path: Path | str,
    requires: Collection[str] = (),
    take: Callable[[int, dict[str, Any]], list[str]] | None = None,
) -> tuple[tuple[int, Example], ...]:
    """As read_examples, each example with the number of the line it begins on, counted from 1.

    `take(line, record)` may take further keys off a record before it is checked, and returns what is wrong with them.
    """
    if unknown := sorted(set(requires) - set(FIELDS)):
        raise SettingFault(f"requires must name fields of Example ({', '.join(FIELDS)}), but has {unknown}")
    path = Path(path)
    faults: list[str] = []
    check_suffix(path, allowed=(".jsonl", *DELIMITERS))
    text = read_text(path, faults)
    records = _jsonl_records(path, text, faults) if path.suffix.lower() == ".jsonl" else _rows(path, text, faults)
    first_line: dict[str, int] = {}
    examples: list[tuple[int, Example]] = []
    for line, record in records:
        taken = take(line, record) if take is not None else []
        values, problems = _checked(record, requires)
        problems = taken + problems
        values.setdefault("id", f"{path.stem}-{line}")
        earlier = first_line.setdefault(values["id"], line)
        if earlier != line:
            problems.append(f"ids must be unique, but {shown(values['id'])} is the id of line {earlier} too")
        faults += [fault(path, line, problem) for problem in problems]
        if not problems:
            examples.append((line, Example(**values)))
    if faults:
        raise InputFaults(faults)
    if not examples:
        raise InputFaults([fault(path, 0, "the file needs at least one example, but has only a header")])
    return tuple(examples)


def write_examples(path: Path | str, examples: Sequence[Example]) -> None:
    """Writes a .jsonl, .csv or .tsv file that read_examples reads back as the same examples.

    Only fields that some example has are written; an empty optional string counts as missing. A file of that name is
    replaced when the new one is whole.

    Raises ValueError for an example that could not be read back (a blank turn, a rating that is no finite number, an
    id used twice), InputFaults for another suffix.
    """
    path = Path(path)
    check_suffix(path, allowed=(".jsonl", *DELIMITERS))
    records = [_record(example) for example in examples]
    ids: set[str] = set()
    for record in records:
        _, problems = _checked(record, ())
        if record.get("id") in ids:
            problems.append("ids must be unique, but it is used twice")
        if problems:
            raise ValueError(f"example {shown(record.get('id'))} cannot be written: {'; '.join(problems)}")
        ids.add(record["id"])
    with written_aside(path) as file:
        if path.suffix.lower() == ".jsonl":
            file.writelines(_json_line(record) for record in records)
        else:
            _write_table(file, records, DELIMITERS[path.suffix.lower()])


def write_scores(path: Path | str, examples: Sequence[Example], scores: Scores) -> None:
    """Writes one JSON object per example, in their order, and the signature beside it in `<path>.meta.json`.

    An object has `id`, `scores` (aspect -> number, or null where it cannot be scored), `dropped_tokens`, `reason` when
    a score is null, and `explanation` when the metric gives one. Both files appear only when both are whole.

    Raises ValueError when the numbers of examples and scores differ.
    """
    if len(examples) != len(scores):
        raise ValueError(f"one score per example, but there are {len(examples)} examples and {len(scores)} scores")
    path = Path(path)
    meta = {
        "signature": scores.signature,
        "aspects": list(scores.values),
        "n": len(scores),
        "unscored": scores.unscored,
        "truncated": scores.truncated,
    }
    with written_aside(path) as file, written_aside(path.with_name(f"{path.name}.meta.json")) as meta_file:
        json.dump(meta, meta_file, indent=2, ensure_ascii=False, allow_nan=False)
        meta_file.write("\n")
        for i, example in enumerate(examples):
            numbers = {aspect: float(values[i]) for aspect, values in scores.values.items()}
            record: dict[str, Any] = {
                "id": example.id,
                "scores": {aspect: None if math.isnan(number) else number for aspect, number in numbers.items()},
                "dropped_tokens": scores.dropped_tokens[i],
            }
            if None in record["scores"].values():
                record["reason"] = scores.reasons[i]
            if scores.explanations:
                record["explanation"] = scores.explanations[i]
            file.write(_json_line(record))


@contextmanager
def written_aside(path: Path | str) -> Iterator[TextIO]:
    """A UTF-8 text file to write to, which takes the name `path` when the block ends well and is removed otherwise."""
    path = Path(path).resolve()  # a link keeps pointing where it did
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with aside.open("w", encoding="utf-8", newline="") as file:
            yield file
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def check_suffix(path: Path, allowed: Sequence[str]) -> None:
    """Raises InputFaults when the name of the file ends in none of the allowed suffixes."""
    if path.suffix.lower() not in allowed:
        rule = f"the name of the file must end in one of {', '.join(allowed)}"
        raise InputFaults([fault(path, 0, f"{rule}, found {shown(path.suffix)}")])


def read_text(path: Path, faults: list[str]) -> str:
    """The text of a UTF-8 file without byte order mark; lines that are not UTF-8 are appended to `faults`.

    What cannot be decoded is replaced, so that the rest of the file can be checked too.

    Raises InputFaults when there is no such file or it is empty.
    """
    if not path.is_file():
        raise InputFaults([fault(path, 0, f"no such file{', it is a folder' if path.is_dir() else ''}")])
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise InputFaults([fault(path, 0, f"the file is empty, found {len(data)} bytes that say nothing")])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputFaults([fault(path, 1, "the file must be UTF-8, but begins like UTF-16; save it as UTF-8")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        for number, line in enumerate(data.split(b"\n"), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                what = f"must be UTF-8, found byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
                faults.append(fault(path, number, what))
        return data.decode("utf-8", "replace")


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers from 1, without LF or CRLF and without blank lines at the end."""
    # not str.splitlines, which also splits at characters that JSON strings and utterances may hold (U+2028, U+0085)
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        yield number, line.removesuffix("\r")


def _jsonl_records(path: Path, text: str, faults: list[str]) -> Records:
    repeated: list[str] = []
    decode = _decoder(repeated)
    for number, line in numbered_lines(text):
        repeated.clear()
        try:
            record = decode(line)
        except json.JSONDecodeError as error:
            what = f"broken JSON at column {error.colno}: {error.msg}"
            faults.append(fault(path, number, f"{what}, found {shown(line[error.pos : error.pos + 20])}"))
            continue
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
            faults.append(fault(path, number, f"JSON that cannot be read: {error}"))
            continue
        faults += [fault(path, number, f"a key must occur once, but {shown(key)} is repeated") for key in repeated]
        if isinstance(record, dict):
            yield number, record
        else:
            faults.append(fault(path, number, f"a line must be a JSON object, found {shown(record)}"))


def _decoder(repeated: list[str]) -> Callable[[str], Any]:
    """A JSON reader that appends keys which an object has twice to `repeated`."""

    def to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) != len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in record if keys.count(key) > 1)
        return record

    return json.JSONDecoder(object_pairs_hook=to_dict).decode


def _rows(path: Path, text: str, faults: list[str]) -> Records:
    """The rows of a CSV or TSV file as records, each with the number of the line it begins on."""
    csv.field_size_limit(sys.maxsize)  # articles may be longer than the 131072 characters that csv allows by default
    lines = io.StringIO(text.rstrip("\r\n"), newline="\n")
    reader = csv.reader(lines, delimiter=DELIMITERS[path.suffix.lower()], strict=True)
    header: list[str] | None = None
    begins = 1
    try:
        for row in reader:
            number, begins = begins, reader.line_num + 1
            if header is None:
                header = row
                problems = _header_problems(row)
                faults += [fault(path, number, problem) for problem in problems]
                if not {"text", "turns"} & set(row) or len(set(row)) < len(row):
                    return  # every row would be at fault for the same reason
            elif len(row) != len(header):
                faults.append(fault(path, number, f"a row must have {len(header)} cells, found {len(row)}"))
            else:
                record, problems = _row_record(dict(zip(header, row, strict=True)))
                faults += [fault(path, number, problem) for problem in problems]
                yield number, record
    except csv.Error as error:
        rule = "a cell with a quote, a separator or a line break must be in quotes, its own quotes doubled"
        faults.append(fault(path, begins, f"{rule}, found: {error}"))


def _header_problems(header: list[str]) -> list[str]:
    problems = []
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            problems.append(f"a column must occur once, but {shown(name)} is repeated")
        named = any(name.startswith(prefix) and name.removeprefix(prefix).strip() for prefix in (RATING, SCORE))
        if name not in FIELDS and not named:
            columns = f"{', '.join(FIELDS)} or {RATING}ASPECT"
            problems.append(f"columns must be named {columns}, found {shown(name)}{suggestion(name, FIELDS)}")
    if not {"text", "turns"} & set(header):
        problems.append(f'the header needs a column "text" or "turns", found {shown(header)}')
    return problems


def _row_record(cells: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The cells of a row as the values a JSON object would have; what cannot be turned into one is left as it is."""
    record: dict[str, Any] = {}
    problems: list[str] = []
    repeated: list[str] = []
    ratings: dict[str, Any] = {}
    for name, cell in cells.items():
        if not cell:
            continue
        if name.startswith(RATING):
            ratings[name.removeprefix(RATING)] = _number(cell)
        elif name.startswith(SCORE):
            record.setdefault("scores", {})[name.removeprefix(SCORE)] = _number(cell)
        elif name in (*LISTS, "ratings"):
            try:
                record[name] = _decoder(repeated)(cell)
            except (ValueError, RecursionError):
                # what is not JSON may still be utterances; else it stays a string and is a fault of its type
                joined = name == "turns" and UTTERANCE_END in cell
                record[name] = cell.removesuffix(UTTERANCE_END).split(UTTERANCE_END) if joined else cell
        elif name in FIELDS:
            record[name] = cell
    problems += [f"a key must occur once, but {shown(key)} is repeated" for key in repeated]
    if ratings:
        whole = record.setdefault("ratings", {})
        if isinstance(whole, dict):
            both = [aspect for aspect in ratings if aspect in whole]
            problems += [f'an aspect must be rated once, but {shown(a)} is in "ratings" and a column' for a in both]
            record["ratings"] = {**ratings, **whole}
    return record, problems


def _number(cell: str) -> float | str:
    try:
        return float(cell) if "_" not in cell else cell  # Python alone reads 1_0 as ten
    except ValueError:
        return cell


def _checked(record: Mapping[str, Any], requires: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """The values of a record as Example takes them, and what is wrong with it."""
    values: dict[str, Any] = {}
    problems = [
        f"keys must be among {', '.join(FIELDS)}, found {shown(key)}{suggestion(key, FIELDS)}"
        for key in record
        if key not in FIELDS
    ]
    at_fault: set[str] = set()

    def complain(name: str, problem: str) -> None:
        at_fault.add(name)
        problems.append(problem)

    for name in STRINGS:
        value = record.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            complain(name, f'"{name}" must be a string, found {shown(value)}')
        elif _has_surrogate(value):
            complain(name, f'"{name}" must be Unicode text, but holds half of a surrogate pair, found {shown(value)}')
        else:
            values[name] = value
    for name in LISTS:
        value = record.get(name)
        if value is None:
            continue
        if not isinstance(value, (list, tuple)):
            complain(name, f'"{name}" must be a list of strings, found {shown(value)}')
            continue
        for i, item in enumerate(value, start=1):
            if not isinstance(item, str):
                complain(name, f'"{name}" must be a list of strings, but number {i} is {shown(item)}')
            elif not item.strip():
                complain(name, f'"{name}" must hold no blank, but number {i} is {shown(item)}')
            elif _has_surrogate(item):
                complain(name, f'"{name}" must be Unicode text, but number {i} is {shown(item)}')
        values[name] = tuple(value)
    if (ratings := record.get("ratings")) is not None:
        if not isinstance(ratings, Mapping):
            complain("ratings", f'"ratings" must be an object of aspects and numbers, found {shown(ratings)}')
        else:
            for aspect, rating in ratings.items():
                if not aspect.strip() or _has_surrogate(aspect):
                    complain("ratings", f'an aspect of "ratings" needs a name, found {shown(aspect)}')
                elif not _is_finite_number(rating):
                    complain("ratings", f"the rating {shown(aspect)} must be a finite number, found {shown(rating)}")
            if "ratings" not in at_fault:
                values["ratings"] = {aspect: float(rating) for aspect, rating in ratings.items()}
    if "id" in values and not values["id"].strip():
        complain("id", f'"id" must not be blank, found {shown(values["id"])}')
    if not values.get("text", "").strip() and not values.get("turns") and not {"text", "turns"} & at_fault:
        found = shown(record.get("text", record.get("turns")))
        complain("text", f'an example needs "text" or "turns" that say something, found {found}')
    for name in requires:
        value = values.get(name)
        if name not in at_fault and not (value.strip() if isinstance(value, str) else value):
            complain(name, f'"{name}" is needed here, found {shown(record.get(name))}')
    if "turns" in requires and "turns" not in at_fault and len(values["turns"]) < 2:
        complain("turns", f"a dialogue needs at least two turns, found {shown(values['turns'])}")
    return values, problems


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and SURROGATE.search(text) is not None


def _is_finite_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def _record(example: Example) -> dict[str, Any]:
    """The fields of an example that it has, as JSON values."""
    record: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(example, name)
        if value:
            record[name] = list(value) if name in LISTS else dict(value) if name == "ratings" else value
    return record


def _json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _write_table(file: TextIO, records: Sequence[Mapping[str, Any]], delimiter: str) -> None:
    used = {name for record in records for name in record} | {"id", "text"}
    columns = [name for name in FIELDS if name in used and name != "ratings"]
    aspects = list(dict.fromkeys(aspect for record in records for aspect in record.get("ratings", {})))
    minimal = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    rows = [columns + [f"{RATING}{aspect}" for aspect in aspects]]
    for record in records:
        cells = [record.get(name, "") for name in columns]
        cells = [json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell for cell in cells]
        ratings = record.get("ratings", {})
        rows.append(cells + [repr(float(ratings[aspect])) if aspect in ratings else "" for aspect in aspects])
    for row in rows:
        # Python before 3.11.8 leaves a lone carriage return unquoted, and then cannot read it back
        (quoted if any("\r" in cell for cell in row) else minimal).writerow(row)
