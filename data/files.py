"""Examples in and out: JSONL, CSV, TSV, parquet and line-aligned text files.

A file has the names of Example as its keys or column names; `data.columns` knows other usual ones.
"""

import hashlib
import json
import logging
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.errors import InputError, SettingError, fault, format_value
from core.example import Example
from core.stages import file_sha256, fingerprint
from data.cells import check_header, json_line, read_cells, to_value
from data.columns import (
    FIELDS,
    OUTPUT,
    PLAIN,
    Columns,
    add_nested,
    count_columns,
    find_absent,
    freeze_columns,
    list_ratings,
)
from data.formats.recognition import recognise
from data.formats.tool_file import ToolFile, iterate_objects
from data.rating_words import GivenLevels, Levels, RatingWords, freeze_levels, has_words, order_words
from data.records import are_of_several, check_example, check_id, name_number, require_none
from data.table_files import DELIMITERS, LISTS
from data.text_files import form_of, iterate_lines, open_atomically, read_json_lines, readable_path

log = logging.getLogger(__name__)

FORMS = (".jsonl", ".json", *DELIMITERS, ".parquet")
TYPED = (".parquet", "records")  # forms whose names may be numbers
FILE_SCORES = "file_scores"  # the key under which scores of another tool are passed on where texts are scored
PATH_NEEDED = "data.path must be given: data.path=FILE, or data.text=FILE for a text per line"


@dataclass(frozen=True)
class InputFile:
    """Where examples are read from, and which columns give which fields. `InputFile.of` makes one from settings.

    A file that changes while it is read is refused, and so is one that has changed since the same InputFile read it.
    """

    # the file; faults name it
    path: Path
    # by field, or name to pass on, the columns of the file that give it
    columns: Columns = ()
    # files with one value per line, by field; the first is `path`. Empty for any other form
    aligned: tuple[tuple[str, Path], ...] = ()
    # of a folder of WMT with several language pairs, the one to read
    split: str | None = None
    # scales of ratings in words, or in numbers of which the lowest is the best (`data.rating_words`)
    levels: Levels = ()
    # files of other systems, whose words have the same numbers
    beside: "tuple[InputFile, ...]" = field(default=(), repr=False, compare=False)
    # objects in memory in place of a file; then `path` is their name in messages
    records: Sequence[Mapping[str, Any]] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        path: "Source | None" = None,
        *,
        columns: Mapping[str, str | Sequence[str]] | None = None,
        text: Path | str | None = None,
        references: Path | str | Sequence[Path | str] | None = None,
        source: Path | str | None = None,
        split: str | None = None,
        levels: GivenLevels | None = None,
    ) -> "InputFile":
        """An input by its settings.

        Args:
            path: a .jsonl, .csv, .tsv (each also .gz) or .parquet file, or a file of another tool; `-` for JSONL on
                standard input.
            columns: by field the column of the file that gives it, or a path into its objects (`output.content`), or
                several for `references`. `ratings.ASPECT` has one column, or one for each person who rated. Any other
                name renames a column that is passed on.
            text: in place of `path`, a file of any name with one text per line.
            references, source: files aligned with `text`: one or more of references, and one of contexts.
            levels: the scale of ratings in words, from the worst to the best, or by aspect; `auto` knows usual ones.
        """
        if isinstance(path, InputFile):
            return path
        if not isinstance(path, str | Path | None):
            rule = "data must be a file of texts: data.path=FILE; sets of other forms are for the experiments"
            raise SettingError(rule)
        several = [references] if isinstance(references, Path | str | int) else list(references or ())
        if (path is None) == (text is None):
            raise SettingError(PATH_NEEDED if path is None else "data.path and data.text are two inputs: give one")
        if path is not None:
            if several or source is not None:
                raise SettingError("data.references and data.source are aligned with the lines of data.text=FILE")
            return cls(Path(path), freeze_columns(columns or {}), (), split, freeze_levels(levels))
        if columns:
            raise SettingError("data.columns names the columns of data.path; data.text has lines")
        aligned = [("text", text), *(("references", each) for each in several), ("context", source)]
        files = tuple((name, Path(str(file))) for name, file in aligned if file is not None)  # one may be called 5
        return cls(files[0][1], aligned=files)

    @cached_property
    def tool_file(self) -> ToolFile | None:
        """What a file of another tool holds; None for one of ours, and where `columns` say how it is read."""
        if self.columns or self.aligned or self.records is not None:
            return None
        self.check_unchanged()
        return recognise(self.path, self.split)

    @cached_property
    def form(self) -> str:
        """How it is read: as `records`, `lines` or a file of another `tool`, or by its suffix."""
        if self.records is not None or self.aligned:
            return "lines" if self.aligned else "records"
        return "tool" if self.tool_file is not None else form_of(self.path, FORMS)

    @cached_property
    def words(self) -> RatingWords:
        """The numbers of words that rate or score; only asked for a file that has such words, or levels."""
        rows = chain.from_iterable(_name_records(each, []) for each in (self, *self.beside))
        found = order_words((record for _, record, _, _ in rows), self.levels)
        if found.description:
            log.info("%s: %s", self.path, found.description)
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of its scores must know, as far as it has been read: the tool, the numbers of words."""
        known = vars(self)  # of the cached properties those that were asked for
        words = known.get("words", RatingWords())
        rated = [key for _, key in list_ratings(self.columns)] if self.form not in DELIMITERS else []
        taken = f"{', '.join(rated)} are ratings: data.columns.scores.NAME=scores.NAME reads another as a metric"
        said = (known.get("tool_file"), words.description, taken if rated else "")
        return tuple(f"{self.path.name}: {each}" for each in said if each)

    def resolve(self) -> "InputFile":
        """The same input with absolute paths, for other processes; standard input is a file then."""
        if self.form == "records":
            return self
        aligned = tuple((name, readable_path(file).resolve()) for name, file in self.aligned)
        return replace(self, path=readable_path(self.path).resolve(), aligned=aligned)

    @cached_property
    def _content(self) -> list[str]:
        """The hashes of the files when this was first asked, which is before they are read."""
        return self._hash_content()

    def _hash_content(self) -> list[str]:
        given = [] if self.records is not None else [file for _, file in self.aligned or [("", self.path)]]
        files = [readable_path(file) for file in given]
        return [file_sha256(file) for file in files if file.is_file()]

    def check_unchanged(self) -> None:
        """Raises InputError if a file is not as it was when this was first asked."""
        if self._content != self._hash_content():
            raise InputError([fault(self.path, 0, "the file changed while it was read: give the command again")])

    def sha256(self) -> str:
        """A fingerprint of what was read: of the bytes of a file, or of the rows of a folder, of columns and levels."""
        if self.form == "records" or self.path.is_dir():
            rows = hashlib.sha256()
            for _, record in read_objects(self, []):
                rows.update(json.dumps(record, sort_keys=True, default=str).encode())
            found = [rows.hexdigest()]
        else:
            found = self._content
        names = [name for name, _ in self.aligned]
        how = [self.columns, names, *([self.levels] if self.levels else [])]
        return fingerprint([found, *how]) if any(how) else found[0]


Source: TypeAlias = InputFile | Path | str
ToRecords: TypeAlias = Callable[[Any], Iterable[Mapping[str, Any]]]  # the examples of a line, by field
ReadLines: TypeAlias = Callable[[Path, list[str]], Iterable[tuple[int, Any]]]  # adds to the faults


def read_examples(
    path: Source | None = None,
    requires: Collection[str] = (),
    **settings: Any,
) -> tuple[Example, ...]:
    """The examples of a file, in its order.

    CSV and TSV: `turns` and `references` are JSON arrays (`turns` may also be utterances joined by `</UTT>`,
    `references` one text), ratings are columns such as `rating:coherence` (of several people `rating:coherence:ANN`) or
    one column `ratings` with a JSON object. In JSONL several people's ratings of an aspect are a list with one number
    or null per person, in the same order on every line, or an object from person to number or null. The rating is then
    their mean, and `extra` has all of them. Without an id, it is the number of the line. A byte order mark, CRLF and
    blank lines at the end are accepted. What is no field goes to `Example.extra`. Scores are checked and left out.

    Args:
        path: the file, or an InputFile.
        requires: names of fields that every example must have; "turns" means at least two turns.
        settings: of `InputFile.of`, such as `columns`.

    Raises InputError with all faults of the file as `file:line: what is wrong, what was found`.
    """
    return tuple(example for _, example in iterate_examples(path, requires, **settings))


def iterate_examples(
    path: Source | None = None,
    requires: Collection[str] = (),
    refuse_scores: bool = False,
    **settings: Any,
) -> Iterator[tuple[int, Example]]:
    """Like read_examples, but yields one example at a time, with its line, in little memory; faults come at the end.

    `refuse_scores` is for texts to score: a line must not have the keys of the output. Scores of another tool are
    passed on as FILE_SCORES.
    """
    for line, example, _ in iterate_rows(InputFile.of(path, **settings), requires, refuse_scores):
        yield line, example


def iterate_rows(
    file: InputFile,
    requires: Collection[str] = (),
    refuse_scores: bool = False,
    may_repeat: bool = False,
) -> Iterator[tuple[int, Example, Mapping[str, float | None]]]:
    """Like iterate_examples, with the scores of each line by metric; `may_repeat` is for lines that share an id."""
    file.check_unchanged()
    faults: list[str] = []
    is_empty = says_nothing = True
    ids = array("q")  # hashes, because the ids of a long file take more memory
    for line, record, extra, problems in _name_records(file, faults):
        if refuse_scores and file.tool_file is None:
            problems += [_refuse(name) for name in ("scores", *OUTPUT) if name in record]
        for name in OUTPUT:
            record.pop(name, None)
        if file.levels or has_words(record):
            record = file.words.replace(record)
        values, found = check_example(record, requires, extra)
        problems += found
        if "id" not in values:
            values["id"] = str(line)
        ids.append(hash(values["id"]))
        if problems:
            faults += [fault(file.path, line, problem) for problem in problems]
            continue
        is_empty = False
        if (ratings := record.get("ratings")) and are_of_several(ratings):
            extra = {**extra, "ratings": ratings}
        scores = values.pop("scores", None) or {}
        if scores and refuse_scores:
            extra, scores = {**extra, FILE_SCORES: dict(scores)}, {}
        example = Example.of_checked({**values, "extra": extra} if extra else values)
        says_nothing = says_nothing and example.is_empty
        yield line, example, scores
    faults += [fault(file.path, 0, problem) for problem in vars(file).get("words", RatingWords()).problems]
    faults += [] if may_repeat else _repeated_ids(file, ids)
    file.check_unchanged()
    if faults:
        raise InputError(faults)
    if says_nothing and not is_empty:
        rule = "at least one text must say something, but all are empty"
        raise InputError([fault(file.path, 0, f"{rule}: data.columns.text=COLUMN names another column")])
    if is_empty:
        found = "but has only a header" if file.records is None else "found none"
        raise InputError([fault(file.path, 0, f"the file needs at least one example, {found}")])


def _refuse(name: str) -> str:
    hint = "my_scores=scores, in a table my_bleu=scores.bleu," if name == "scores" else f"my_{name}={name}"
    return f'"{name}" is a key of the output of scores: data.columns.{hint} renames it'


def load_examples(
    path: Path,
    to_records: ToRecords,
    read: ReadLines = read_json_lines,
    requires: Collection[str] = (),
) -> tuple[Example, ...]:
    """The examples of a file in the format of one data set: JSONL, or what `read` finds, with numbers of lines.

    `to_records` makes the fields of examples from a line; an id may be left out. Each example must have `requires`.

    Raises InputError with all faults of the file: a key that a line lacks, a value that `to_records` refuses (it
    raises ValueError), and what is wrong with the fields.
    """
    return tuple(example for _, example in locate_examples(path, to_records, read, requires))


def locate_examples(
    path: Path,
    to_records: ToRecords,
    read: ReadLines,
    requires: Collection[str] = (),
) -> Sequence[tuple[int, Example]]:
    """Like load_examples, with the lines of the examples."""
    faults: list[str] = []
    examples: list[tuple[int, Example]] = []
    first_line: dict[str, int] = {}
    for line, values in read(path, faults):
        problems: list[str] = []
        try:
            for record in to_records(values):
                checked, found = check_example({"id": f"{path.stem}-{line}", **record}, ("id", *requires))
                problems += found or check_id(checked["id"], line, first_line)
                examples += [] if problems else [(line, Example.of_checked(checked))]
        except KeyError as error:
            problems.append(f"{format_value(error.args[0])} is needed here, found null")
        except (AttributeError, TypeError, ValueError) as error:
            problems.append(f"the line must have the form of its set: {error}")
        faults += [fault(path, line, problem) for problem in problems]
    return require_none(examples, faults)


def _name_records(
    file: InputFile, faults: list[str]
) -> Iterator[tuple[int, dict[str, Any], dict[str, Any], list[str]]]:
    """The lines of a file as values by field, what is passed on, and their problems; `faults` as in `read_objects`."""
    is_table, is_typed = file.form in DELIMITERS, file.form in TYPED
    seen: dict[str, None] = {}
    for line, record in read_objects(file, faults):
        if record.keys() <= PLAIN and not (file.columns or is_table or is_typed):
            yield line, record, {}, []
            continue
        if not (seen or file.columns) and {"system_a", "system_b"} <= record.keys():
            raise InputError([fault(file.path, 0, "texts are needed, found preferences: judge prefer reads them")])
        if is_table and not seen:
            header, is_readable = check_header(file.columns, list(record))
            faults += [fault(file.path, 1, problem) for problem in header]
            if not is_readable:
                return  # every row would have the same fault
        record = add_nested(record, file.columns)
        if not seen.keys() >= record.keys():
            seen.update(dict.fromkeys(record))
            if problems := count_columns(seen):
                raise InputError([*faults, fault(file.path, line, problems[0])])
        yield line, *read_cells(record, file.columns, is_table, is_typed)
    if seen and not is_table:
        faults += [fault(file.path, 0, problem) for problem in find_absent(file.columns, list(seen))]


def _repeated_ids(file: InputFile, ids: "array[int]") -> list[str]:
    """A fault for every id that an earlier line has; the file is read again if hashes of ids are equal."""
    hashes, counts = np.unique(np.frombuffer(ids, np.int64), return_counts=True)
    repeated = set(hashes[counts > 1].tolist())
    if not repeated:
        return []
    faults: list[str] = []
    first_line: dict[str, int] = {}
    for line, record, _, _ in _name_records(file, []):
        name = name_number(record.get("id")) or str(line)
        if isinstance(name, str) and hash(name) in repeated:
            faults += [fault(file.path, line, problem) for problem in check_id(name, line, first_line)]
    return faults


def read_objects(file: InputFile, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a file, or the rows of a table as texts by column, with their numbers; adds to `faults`."""
    match file.form:
        case "records":
            for number, record in enumerate(file.records or (), start=1):
                yield number, {str(key): to_value(value) for key, value in record.items()}
        case "lines":
            yield from _read_aligned(file, faults)
        case "tool":
            if file.tool_file is None or not file.tool_file.texts:
                raise InputError(
                    [fault(file.path, 0, f"texts are needed, found {file.tool_file}: judge prefer reads it")]
                )
            yield from ((line, dict(row)) for line, row in file.tool_file.texts)
        case form:
            yield from iterate_objects(file.path, form, faults)


def _read_aligned(file: InputFile, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of aligned files as records without blank references; lines that are blank in all files at the end do
    not count.
    """
    names, files = zip(*file.aligned, strict=True)
    lengths = dict.fromkeys(files, 0)
    filled = 0  # the last line on which some file says something
    waiting: list[tuple[int, list[str]]] = []  # blank in all files, until a line follows that is not
    columns = [iterate_lines(path, faults, keep_end=True) for path in files]
    for number, row in enumerate(zip_longest(*columns), start=1):
        lengths |= {path: number for path, line in zip(files, row, strict=True) if line is not None}
        lines = ["" if line is None else line[1] for line in row]
        waiting.append((number, lines))
        if any(map(str.strip, lines)):
            yield from ((place, _align(names, each)) for place, each in waiting)
            filled = number
            waiting = []
    counts = [min(lengths[path], filled) for path in files]
    for path, count in zip(files, counts, strict=True):
        if count != counts[0]:
            rule = "aligned files must have equally many lines"
            faults.append(fault(path, 0, f"{rule}, found {count} here and {counts[0]} in {file.path}"))


def _align(names: Sequence[str], lines: Sequence[str]) -> dict[str, Any]:
    """A line of each of the aligned files as a record."""
    pairs = list(zip(names, lines, strict=True))
    others = {name: line for name, line in pairs if name != "references"}
    return {**others, "references": [line for name, line in pairs if name == "references" and line.strip()]}


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
    except InputError as found:
        raise ValueError(f"examples cannot be written: {found}") from None
    with open_atomically(path) as file:
        file.writelines(map(json_line, records))


def to_record(example: Example) -> dict[str, Any]:
    """What the line of an example holds: its non-empty fields as JSON values, then what is passed on."""
    record: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(example, name)
        if value or (name == "text" and example.is_empty):
            record[name] = list(value) if name in LISTS else dict(value) if name == "ratings" else value
    return {**record, **example.extra}
