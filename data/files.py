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
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.example import Example
from core.faults import InputFaults, SettingFault, fault, format_value
from core.stages import file_sha256, fingerprint
from data.cells import check_header, json_line, read_cells, to_value
from data.columns import FIELDS, OUTPUT, PLAIN, Columns, add_nested, count_columns, find_absent, freeze_columns
from data.formats.found import Found, iterate_objects
from data.formats.recognition import recognise
from data.numeric import RATED, describe_numbers, list_unknown, number_words, replace_words
from data.records import are_of_several, check_example, check_id, require_none
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
        """
        if isinstance(path, InputFile):
            return path
        if not isinstance(path, str | Path | None):
            rule = "data must be a file of texts: data.path=FILE; sets of other forms are for the experiments"
            raise SettingFault(rule)
        several = [references] if isinstance(references, Path | str | int) else list(references or ())
        if (path is None) == (text is None):
            raise SettingFault(PATH_NEEDED if path is None else "data.path and data.text are two inputs: give one")
        if path is not None:
            if several or source is not None:
                raise SettingFault("data.references and data.source are aligned with the lines of data.text=FILE")
            return cls(Path(path), freeze_columns(columns or {}), (), split)
        if columns:
            raise SettingFault("data.columns names the columns of data.path; data.text has lines")
        aligned = [("text", text), *(("references", each) for each in several), ("context", source)]
        files = tuple((name, Path(str(file))) for name, file in aligned if file is not None)  # one may be called 5
        return cls(files[0][1], aligned=files)

    @cached_property
    def found(self) -> Found | None:
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
        return "tool" if self.found is not None else form_of(self.path, FORMS)

    @cached_property
    def word_labels(self) -> dict[str, float]:
        """The numbers of words that rate or score; only asked for a file that has such words."""
        numbers = number_words(record for _, record, _, _ in _name_records(self, []))
        if numbers:
            log.info("%s: %s", self.path, describe_numbers(numbers))
        return numbers

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of its scores must know, as far as it has been read: the tool, words that are labels."""
        known = vars(self)  # of the cached properties those that were asked for
        said = [known.get("found"), describe_numbers(known.get("word_labels") or {})]
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
        """Raises InputFaults if a file is not as it was when this was first asked."""
        if self._content != self._hash_content():
            raise InputFaults([fault(self.path, 0, "the file changed while it was read: give the command again")])

    def sha256(self) -> str:
        """A fingerprint of what was read: of the bytes of a file, or of the rows of a folder, and of the columns."""
        if self.form == "records" or self.path.is_dir():
            rows = hashlib.sha256()
            for _, record in read_objects(self, []):
                rows.update(json.dumps(record, sort_keys=True, default=str).encode())
            found = [rows.hexdigest()]
        else:
            found = self._content
        names = [name for name, _ in self.aligned]
        return fingerprint([found, self.columns, names]) if self.columns or names else found[0]


Source: TypeAlias = InputFile | Path | str
ToRecords: TypeAlias = Callable[[Any], Iterable[Mapping[str, Any]]]  # the examples of a line, by field
ReadLines: TypeAlias = Callable[[Path, list[str]], Iterable[tuple[int, Any]]]  # adds to the faults


def read_examples(path: Source | None = None, requires: Collection[str] = (), **settings: Any) -> tuple[Example, ...]:
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

    Raises InputFaults with all faults of the file as `file:line: what is wrong, what was found`.
    """
    return tuple(example for _, example in iterate_examples(path, requires, **settings))


def iterate_examples(
    path: Source | None = None, requires: Collection[str] = (), refuse_scores: bool = False, **settings: Any
) -> Iterator[tuple[int, Example]]:
    """Like read_examples, but yields one example at a time, with its line, in little memory; faults come at the end.

    `refuse_scores` is for texts to score: a line must not have the keys of the output. Scores of another tool are
    passed on as FILE_SCORES.
    """
    for line, example, _ in iterate_rows(InputFile.of(path, **settings), requires, refuse_scores):
        yield line, example


def iterate_rows(
    file: InputFile, requires: Collection[str] = (), refuse_scores: bool = False
) -> Iterator[tuple[int, Example, Mapping[str, float | None]]]:
    """Like iterate_examples, with the scores of each line by metric."""
    file.check_unchanged()
    faults: list[str] = []
    is_empty, ids = True, array("q")  # hashes, because the ids of a long file take more memory
    for line, record, extra, problems in _name_records(file, faults):
        if refuse_scores and file.found is None:
            problems += [_refuse(name) for name in ("scores", *OUTPUT) if name in record]
        for name in OUTPUT:
            record.pop(name, None)
        values, found = check_example(record, requires)
        if found and list_unknown(record) and file.word_labels:
            record |= {name: replace_words(record[name], file.word_labels) for name in RATED if name in record}
            values, found = check_example(record, requires)
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
        yield line, Example.of_checked({**values, "extra": extra} if extra else values), scores
    faults += _repeated_ids(file, ids)
    file.check_unchanged()
    if faults:
        raise InputFaults(faults)
    if is_empty:
        found = "but has only a header" if file.records is None else "found none"
        raise InputFaults([fault(file.path, 0, f"the file needs at least one example, {found}")])


def _refuse(name: str) -> str:
    hint = "my_scores=scores, in a table my_bleu=scores.bleu," if name == "scores" else f"my_{name}={name}"
    return f'"{name}" is a key of the output of scores: data.columns.{hint} renames it'


def load_examples(
    path: Path, to_records: ToRecords, read: ReadLines = read_json_lines, requires: Collection[str] = ()
) -> tuple[Example, ...]:
    """The examples of a file in the format of one data set: JSONL, or what `read` finds, with numbers of lines.

    `to_records` makes the fields of examples from a line; an id may be left out. Each example must have `requires`.

    Raises InputFaults with all faults of the file: a key that a line lacks, a value that `to_records` refuses (it
    raises ValueError), and what is wrong with the fields.
    """
    return tuple(example for _, example in locate_examples(path, to_records, read, requires))


def locate_examples(
    path: Path, to_records: ToRecords, read: ReadLines, requires: Collection[str] = ()
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
            raise InputFaults([fault(file.path, 0, "texts are needed, found preferences: judge prefer reads them")])
        if is_table and not seen:
            header, is_readable = check_header(file.columns, list(record))
            faults += [fault(file.path, 1, problem) for problem in header]
            if not is_readable:
                return  # every row would have the same fault
        record = add_nested(record, file.columns)
        if not seen.keys() >= record.keys():
            seen.update(dict.fromkeys(record))
            if problems := count_columns(seen):
                raise InputFaults([*faults, fault(file.path, line, problems[0])])
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
        name = record.get("id") or str(line)
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
            if file.found is None or not file.found.texts:
                raise InputFaults([fault(file.path, 0, f"texts are needed, found {file.found}: judge prefer reads it")])
            yield from ((line, dict(row)) for line, row in file.found.texts)
        case form:
            yield from iterate_objects(file.path, form, faults)


def _read_aligned(file: InputFile, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of aligned files as records without blank references; blank lines after the last text do not count."""
    names, files = zip(*file.aligned, strict=True)
    counts = [0] * len(names)
    texts, *others = files
    columns = (iterate_lines(texts, faults), *(iterate_lines(path, faults, keep_end=True) for path in others))
    for number, row in enumerate(zip_longest(*columns), start=1):
        counts = [number if cell and (row[0] or cell[1].strip()) else n for n, cell in zip(counts, row, strict=True)]
        if None not in row:
            lines = [line for _, line in row]
            references = [line for name, line in zip(names, lines, strict=True) if name == "references"]
            others = {name: line for name, line in zip(names, lines, strict=True) if name != "references"}
            yield number, {**others, "references": [line for line in references if line.strip()]}
    for path, count in zip(files, counts, strict=True):
        if count != counts[0]:
            rule = "aligned files must have equally many lines"
            faults.append(fault(path, 0, f"{rule}, found {count} here and {counts[0]} in {file.path}"))


def write_examples(path: Path | str, examples: Sequence[Example]) -> None:
    """Writes a .jsonl file that read_examples reads back as the same examples.

    Raises ValueError for an example that could not be read back (a blank turn, a rating that is not a finite number, an
    id used twice, an extra name of a field), InputFaults for another suffix.
    """
    path = Path(path)
    form_of(path, allowed=(".jsonl",))
    records = [to_record(example) for example in examples]
    try:
        read_examples(InputFile(path, records=records))
    except InputFaults as found:
        raise ValueError(f"examples cannot be written: {found}") from None
    with open_atomically(path) as file:
        file.writelines(map(json_line, records))


def to_record(example: Example) -> dict[str, Any]:
    """What the line of an example holds: its non-empty fields as JSON values, then what is passed on."""
    record: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(example, name)
        if value:
            record[name] = list(value) if name in LISTS else dict(value) if name == "ratings" else value
    return {**record, **example.extra}
