"""Examples in and out: JSONL, CSV, TSV, parquet and line-aligned text files.

The keys or column names of a file are those of Example; `data.columns` knows other usual names.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.errors import InputError, fault, format_value, setting
from core.example import Example
from data.cells import json_line
from data.columns import FIELDS, OUTPUT
from data.input_file import FileLike, InputFile, name_records
from data.rating_words import RatingWords, has_words
from data.records import are_of_several, check_example, check_id, name_number, require_none
from data.table_files import LISTS
from data.text_files import form_of, open_atomically, read_json_lines

FILE_SCORES = "file_scores"  # the key under which scores of another tool are passed on where texts are scored


ToRecords: TypeAlias = Callable[[Any], Iterable[Mapping[str, Any]]]  # the examples of a line, by field
ReadLines: TypeAlias = Callable[[Path, list[str]], Iterable[tuple[int, Any]]]  # adds to the faults


def read_examples(
    path: FileLike | None = None,
    requires: Collection[str] = (),
    **settings: Any,
) -> tuple[Example, ...]:
    """Reads the examples of a file, in its order.

    CSV and TSV: `turns` and `references` are JSON arrays (`turns` may also be utterances joined by `</UTT>`,
    `references` one text), ratings are columns such as `rating:coherence` (of several people `rating:coherence:ANN`) or
    one column `ratings` with a JSON object. In JSONL several people's ratings of an aspect are a list with one number
    or null per person, in the same order on every line, or an object from person to number or null. The rating is then
    their mean, and `extra` has all of them. An example without an id gets the number of its line. A byte order mark,
    CRLF and blank lines at the end are accepted. Other keys go to `Example.extra`. Scores are checked, but not
    returned.

    Args:
        path: the file, or an InputFile.
        requires: names of fields that every example must have; "turns" means at least two turns.
        settings: of `InputFile.of`, such as `columns`.

    Raises InputError with all faults of the file as `file:line: what is wrong, what was found`.
    """
    return tuple(example for _, example in iterate_examples(path, requires, **settings))


def iterate_examples(
    path: FileLike | None = None,
    requires: Collection[str] = (),
    refuse_scores: bool = False,
    **settings: Any,
) -> Iterator[tuple[int, Example]]:
    """Like read_examples, but yields one example at a time, with its line number, and needs little memory.

    Faults are raised at the end. `refuse_scores` is for files to score: a line must not have the keys that scoring
    adds. Scores of another tool are passed on as FILE_SCORES.
    """
    for line, example, _ in iterate_rows(InputFile.of(path, **settings), requires, refuse_scores):
        yield line, example


def iterate_rows(
    file: InputFile,
    requires: Collection[str] = (),
    refuse_scores: bool = False,
    may_repeat: bool = False,
) -> Iterator[tuple[int, Example, Mapping[str, float | None]]]:
    """Works as `iterate_examples`, but also yields the scores of each line by metric. `may_repeat` allows equal ids."""
    file.check_unchanged()
    faults: list[str] = []
    is_empty = says_nothing = True
    ids = array("q")  # hashes, because the ids of a long file take more memory
    for line, record, extra, problems in name_records(file, faults):
        if refuse_scores and file.tool_file is None:
            problems += [_refuse(name) for name in ("scores", *OUTPUT) if name in record]
        for name in OUTPUT:
            record.pop(name, None)
        if file.levels or has_words(record):
            record = file.words.replace(record)
        values, more_problems = check_example(record, requires, extra, needs_text=file.needs_text)
        problems += more_problems
        if "id" not in values:
            values["id"] = str(line)
        ids.append(hash(values["id"]))
        if problems:
            faults += [fault(file.path, line, problem) for problem in problems]
            continue
        is_empty = False
        ratings = record.get("ratings")
        if ratings and are_of_several(ratings):
            extra = {**extra, "ratings": ratings}
        scores = values.pop("scores", None) or {}
        if scores and refuse_scores:
            extra = {**extra, FILE_SCORES: dict(scores)}
            scores = {}
        if extra:
            values = {**values, "extra": extra}
        example = Example.of_checked(values)
        says_nothing = says_nothing and example.is_empty
        yield line, example, scores
    faults += [fault(file.path, 0, problem) for problem in vars(file).get("words", RatingWords()).problems]
    if not may_repeat:
        faults += _find_repeated_ids(file, ids)
    file.check_unchanged()
    if faults:
        raise InputError(faults)
    if is_empty:
        what = "but has only a header" if file.records is None else "found none"
        raise InputError([fault(file.path, 0, f"the file needs at least one example, {what}")])
    if says_nothing and file.needs_text:
        rule = "at least one text must not be empty, but all are"
        raise InputError([fault(file.path, 0, f"{rule}: {setting('columns.text', 'COLUMN')} names another column")])


def _refuse(name: str) -> str:
    hint = setting(f"columns.my_{name}", name)
    if name == "scores":
        hint += f", in a table {setting('columns.my_bleu', 'scores.bleu')},"
    return f'"{name}" is a key of the output of scores: {hint} renames it'


def load_examples(
    path: Path,
    to_records: ToRecords,
    read: ReadLines = read_json_lines,
    requires: Collection[str] = (),
) -> tuple[Example, ...]:
    """Reads examples in the format of one data set: JSONL, or numbered records that `read` yields.

    `to_records` makes the fields of any number of examples from a line; ids are optional. Each example must have the
    fields `requires`.

    Raises InputError with all faults of the file: a key that a line lacks, a value that `to_records` refuses (it raises
    ValueError), and faulty fields.
    """
    return tuple(example for _, example in locate_examples(path, to_records, read, requires))


def locate_examples(
    path: Path,
    to_records: ToRecords,
    read: ReadLines,
    requires: Collection[str] = (),
) -> Sequence[tuple[int, Example]]:
    """Works as `load_examples`, but returns each example with its line number."""
    faults: list[str] = []
    examples: list[tuple[int, Example]] = []
    first_line: dict[str, int] = {}
    for line, values in read(path, faults):
        problems: list[str] = []
        try:
            for record in to_records(values):
                named = {"id": f"{path.stem}-{line}", **record}
                checked, broken = check_example(named, ("id", *requires))
                problems += broken or check_id(checked["id"], line, first_line)
                if not problems:
                    examples.append((line, Example.of_checked(checked)))
        except KeyError as error:
            problems.append(f"{format_value(error.args[0])} is needed here, found null")
        except (AttributeError, TypeError, ValueError) as error:
            problems.append(f"the line must have the form of its set: {error}")
        faults += [fault(path, line, problem) for problem in problems]
    return require_none(examples, faults)


def _find_repeated_ids(file: InputFile, ids: "array[int]") -> list[str]:
    """A fault for every id that an earlier line has; the file is read again if hashes of ids are equal."""
    hashes = np.frombuffer(ids, np.int64)
    hashes.sort()  # in place: a long file has many
    repeated = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    if not repeated:
        return []
    faults: list[str] = []
    first_line: dict[str, int] = {}
    first_text: dict[str, object] = {}
    for line, record, _, _ in name_records(file, []):
        name = name_number(record.get("id")) or str(line)
        if not isinstance(name, str) or hash(name) not in repeated:
            continue
        text = record.get("text") or record.get("turns")
        is_same = first_text.setdefault(name, text) == text and "id" in record
        hint = ": rows by rater, with one text, are for judge agree, which joins and scores them" if is_same else ""
        faults += [fault(file.path, line, f"{problem}{hint}") for problem in check_id(name, line, first_line)]
    return faults


def write_examples(path: Path | str, examples: Sequence[Example]) -> None:
    """Writes a .jsonl file that read_examples reads back as the same examples.

    Raises ValueError for an example that could not be read back (a blank turn, a rating that is not a finite number, an
    id used twice, an extra name of a field), InputError for another suffix.
    """
    path = Path(path)
    form_of(path, allowed=(".jsonl",))
    records = [to_record(example) for example in examples]
    try:
        read_examples(InputFile(path, records=records))
    except InputError as error:
        raise ValueError(f"examples cannot be written: {error}") from None
    with open_atomically(path) as file:
        file.writelines(map(json_line, records))


def to_record(example: Example) -> dict[str, Any]:
    """Returns the line of an example: its non-empty fields as JSON values, then the entries of `extra`."""
    record: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(example, name)
        if not value and not (name == "text" and example.is_empty):
            continue
        if name in LISTS:
            value = list(value)
        elif name == "ratings":
            value = dict(value)
        record[name] = value
    return {**record, **example.extra}
