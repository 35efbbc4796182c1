"""Examples in and out: JSONL, CSV, TSV, workbooks and line-aligned text files.

The keys or column names of a file are those of Example; `data.columns` knows other usual names.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.errors import InputError, fault, format_value, setting
from core.example import Example
from data.cells import json_line
from data.columns import FIELDS, OUTPUT
from data.input_file import FileLike, InputFile, name_records
from data.numeric import name_of
from data.rating_words import Column, Level, Levels, RatingWords, order_words
from data.records import average, check_example, check_id, require_none
from data.table_files import LISTS
from data.text_files import form_of, open_atomically, read_json_lines

FILE_SCORES = "file_scores"  # the key under which scores of another tool are passed on where texts are scored


ToRecords: TypeAlias = Callable[[Any], Iterable[Mapping[str, Any]]]  # the examples of a line, by field
ReadLines: TypeAlias = Callable[[Path, list[str]], Iterable[tuple[int, Any]]]  # adds to the faults


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file, or several lines of one text: an example with the labels of people and the scores of judges."""

    path: Path
    line: int
    # whether a column names it; else its id is its line
    has_id: bool
    # its own ratings and scores are those that are numbers; words stand in `ratings` of `extra`
    example: Example
    # by aspect and person, who has an empty name where nobody is named
    ratings: Mapping[str, Mapping[str, Any]]
    scores: Mapping[str, Any]


def read_examples(path: FileLike | None = None, requires: Collection[str] = (), **settings: Any) -> tuple[Example, ...]:
    """Reads the examples of a file, in its order.

    CSV and TSV: `turns` and `references` are JSON arrays (`turns` may also be utterances joined by `</UTT>`,
    `references` one text), ratings are columns such as `rating:coherence` (of several people `rating:coherence:ANN`) or
    one column `ratings` with a JSON object. In JSONL several people's ratings of an aspect are a list with one number
    or null per person, in the same order on every line, or an object from person to number or null. The rating is then
    their mean, and `extra` has all of them by person. An example without an id gets the number of its line. A byte
    order mark, CRLF and blank lines at the end are accepted. Other keys go to `Example.extra`. Scores are checked, but
    not returned.

    Args:
        path: the file, or an InputFile.
        requires: names of fields that every example must have; "turns" means at least two turns.
        settings: of `InputFile.of`, such as `columns`.

    Raises InputError with all faults of the file as `file:line: what is wrong, what was found`.
    """
    rows, _ = read_rows([InputFile.of(path, **settings)], requires)
    return tuple(row.example for row in rows)


def iterate_examples(
    path: FileLike | None = None,
    requires: Collection[str] = (),
    refuse_scores: bool = False,
    **settings: Any,
) -> Iterator[tuple[int, Example]]:
    """Like read_examples, but yields one example at a time, with its line number, and needs little memory.

    Ratings in words are passed on as they stand. Faults are raised at the end. `refuse_scores` is for files to score: a
    line must not have the keys that scoring adds. Scores of another tool are passed on as FILE_SCORES.
    """
    faults: list[str] = []
    for row in iterate_rows(
        InputFile.of(path, **settings),
        faults,
        requires,
        refuse_scores=refuse_scores,
    ):
        yield row.line, row.example
    require_none((), faults)


def iterate_rows(
    file: InputFile,
    faults: list[str],
    requires: Collection[str] = (),
    *,
    refuse_scores: bool = False,
    may_repeat: bool = False,
) -> Iterator[Row]:
    """Yields the rows of a file, and adds its faults to `faults`. `may_repeat` allows equal ids."""
    file.check_unchanged()
    count = 0
    says_nothing = True
    ids = array("q")  # hashes, because the ids of a long file take more memory
    for line, record, extra, problems in name_records(file, faults):
        if refuse_scores and file.tool_file is None:
            problems += [_refuse(name) for name in ("scores", *OUTPUT) if name in record]
        record = {name: value for name, value in record.items() if name not in OUTPUT}
        values, more_problems = check_example(
            record,
            requires,
            extra,
            needs_text=file.needs_text,
        )
        problems += more_problems
        has_id = "id" in values
        ids.append(hash(values.setdefault("id", str(line))))
        if problems:
            faults += [fault(file.path, line, problem) for problem in problems]
            continue
        count += 1
        ratings = values.pop("ratings", {})
        scores = values.pop("scores", {})
        if _list_beyond_numbers(ratings):
            extra = {**extra, "ratings": record["ratings"]}
        if scores and refuse_scores:
            extra = {**extra, FILE_SCORES: dict(scores)}
            scores = {}
        example = Example.of_checked(
            {
                **values,
                "ratings": average(ratings),
                "extra": extra,
            }
        )
        says_nothing = says_nothing and example.is_empty
        yield Row(
            file.path,
            line,
            has_id,
            example,
            ratings,
            scores,
        )
    if not may_repeat:
        faults += _find_repeated_ids(file, ids)
    file.check_unchanged()
    if not (faults or count):
        what = "but has only a header" if file.records is None else "found none"
        faults.append(fault(file.path, 0, f"the file needs at least one example, {what}"))
    elif not faults and says_nothing and file.needs_text:
        rule = "at least one text must not be empty, but all are"
        faults.append(fault(file.path, 0, f"{rule}: {setting('columns.text', 'COLUMN')} names another column"))


def _list_beyond_numbers(ratings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Lists the aspects whose ratings are more than one number: words, or ratings of named people."""
    return [name for name, by_person in ratings.items() if [*by_person] != [""] or isinstance(by_person[""], str)]


def read_rows(
    files: Sequence[InputFile],
    requires: Collection[str] = (),
    *,
    refuse_scores: bool = False,
    may_repeat: bool = False,
) -> tuple[list[Row], tuple[str, ...]]:
    """Reads the rows of files into memory, with numbers in place of words, and notes on the numbers of words.

    Raises InputError with all faults of the files.
    """
    faults: list[str] = []
    rows: list[Row] = []
    for file in files:
        try:
            rows += iterate_rows(
                file,
                faults,
                requires,
                refuse_scores=refuse_scores,
                may_repeat=may_repeat,
            )
        except InputError as error:
            faults += error.faults
    faults += _refuse_other_people(rows)
    levels = files[0].levels
    columns = _collect_levels(rows, levels)
    words = order_words(columns, levels)
    faults += [fault(files[0].path, 0, problem) for problem in words.problems]
    if not words.problems:
        is_changed = [bool(columns) or "ratings" in row.example.extra for row in rows]
        rows = [_number(row, words, faults) if changed else row for row, changed in zip(rows, is_changed, strict=True)]
    return [*require_none(rows, faults)], words.notes


def list_levels(row: Row) -> Iterator[tuple[Column, str, Level | None]]:
    """Yields the ratings and scores of a row: the column, the person and the level."""
    for aspect, by_person in row.ratings.items():
        yield from ((("ratings", aspect), person, level) for person, level in by_person.items())
    yield from ((("scores", name), "", level) for name, level in row.scores.items())


def _collect_levels(rows: Iterable[Row], levels: Levels) -> dict[Column, dict[Level, None]]:
    """The different levels of each column; 0 stands for all numbers of a column that `levels` does not name."""
    named = dict(levels)
    columns: dict[Column, dict[Level, None]] = {}
    for row in rows:
        for column, _, level in list_levels(row):
            if level is not None:
                is_counted = isinstance(level, str) or column[1] in named
                columns.setdefault(column, {})[level if is_counted else 0.0] = None
    return {column: found for column, found in columns.items() if column[1] in named or [*found] != [0.0]}


def _number(row: Row, words: RatingWords, faults: list[str]) -> Row:
    """The row with numbers for words; a word without a number is a fault."""
    scores: dict[str, float | None] = {}
    ratings: dict[str, dict[str, float | None]] = {}
    for column, person, level in list_levels(row):
        kind, name = column
        number = None if level is None else words.convert(column, level)
        if number is None and level is not None:
            place = f"{format_value(name)} of {format_value(kind)}"
            place = f"{format_value(person)} of {place}" if person else place
            faults.append(fault(row.path, row.line, f"{place} must be a valid number, found {format_value(level)}"))
        if kind == "scores":
            scores[name] = number
        else:
            ratings.setdefault(name, {})[person] = number
    return replace(
        row,
        example=rate(row.example, ratings),
        ratings=ratings,
        scores=scores,
    )


def rate(example: Example, ratings: Mapping[str, Mapping[str, float | None]]) -> Example:
    """Returns the example with these ratings, by aspect and person, and with all of several people in `extra`."""
    several = {aspect: by_person for aspect, by_person in ratings.items() if {*by_person} != {""}}
    extra = {name: value for name, value in example.extra.items() if name != "ratings"}
    if several:
        extra["ratings"] = several
    return replace(example, ratings=average(ratings), extra=extra)


def _refuse_other_people(rows: Iterable[Row]) -> Iterator[str]:
    """Faults of lists of ratings with different lengths, and of lines that name people where others list them."""
    first: dict[str, tuple[Any, int]] = {}
    for row in rows:
        for aspect, given in row.example.extra.get("ratings", {}).items():
            if not isinstance(given, list | Mapping):
                continue
            form = len(given) if isinstance(given, list) else "names"
            expected, line = first.setdefault(aspect, (form, row.line))
            if form != expected:
                rule = f"every line must list the ratings of {format_value(aspect)} by the same people"
                what = f"{rule}, or name the people, as line {line} does; null if one is missing"
                yield fault(row.path, row.line, what)


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
    return tuple(
        example
        for _, example in locate_examples(
            path,
            to_records,
            read,
            requires,
        )
    )


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
                checked, broken = check_example({"id": f"{path.stem}-{line}", **record}, ("id", *requires))
                ratings = checked.pop("ratings", {})
                for name in [] if broken else _list_beyond_numbers(ratings):
                    found = format_value(record["ratings"][name])
                    broken.append(f'{format_value(name)} of "ratings" must be a valid number, found {found}')
                problems += broken or check_id(checked["id"], line, first_line)
                if not problems:
                    examples.append((line, Example.of_checked({**checked, "ratings": average(ratings)})))
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
        name = name_of(record.get("id")) or str(line)
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
            value = {**value, **example.extra.get("ratings", {})}
        record[name] = value
    return record | {name: value for name, value in example.extra.items() if name not in record}
