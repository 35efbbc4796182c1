"""Input files: where examples are read from, and which columns give which fields. Splits lines into fields."""

import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, fault, format_value, setting
from core.stages import file_sha256, fingerprint
from data.cells import read_cells, to_value
from data.columns import (
    PLAIN,
    Cells,
    Columns,
    add_nested,
    count_columns,
    find_absent,
    fold_name,
    freeze_columns,
    name_fields,
)
from data.formats.recognition import recognise
from data.formats.tool_file import ToolFile, iterate_objects
from data.rating_words import GivenLevels, Levels, freeze_levels
from data.records import describe_missing_text
from data.table_files import TABLES
from data.text_files import Objects, form_of, iterate_lines, readable_path

log = logging.getLogger(__name__)

FORMS = (".jsonl", ".json", *TABLES)


@dataclass(frozen=True)
class InputFile:
    """Where examples are read from, and which columns give which fields. `InputFile.of` makes one from settings.

    A file that changes while it is read, or between two readings by the same InputFile, is refused.
    """

    # the file; faults name it
    path: Path
    # by field, or name to pass on, the columns of the file that give it
    columns: Columns = ()
    # files with one value per line, by field; the first is `path`. Empty for any other form
    aligned: tuple[tuple[str, Path], ...] = ()
    # scales of ratings in words, or in numbers of which the lowest is the best (`data.rating_words`)
    levels: Levels = ()
    # whether each line needs a text; verdicts and labels alone are compared without
    needs_text: bool = True
    # objects in memory in place of a file; then `path` is their name in messages
    records: Sequence[Cells] | None = field(default=None, repr=False)
    # the lines of these objects, where they are not counted from 1
    lines: Sequence[int] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        path: "FileLike | None" = None,
        *,
        columns: Mapping[str, str | Sequence[str]] | None = None,
        text: Path | str | None = None,
        references: Path | str | Sequence[Path | str] | None = None,
        source: Path | str | None = None,
        levels: GivenLevels | None = None,
    ) -> "InputFile":
        """Makes an input from settings.

        Args:
            path: a .jsonl, .csv, .tsv or .xlsx file, or a file of another tool; `-` for JSONL
                on standard input.
            columns: for each field the column that gives it, or a path into objects (`output.content`), or several
                columns for `references`. `ratings.ASPECT` has one column, or one for each person who rated. Any other
                name renames a column that is passed on.
            text: in place of `path`, a file of any name with one text per line.
            references, source: files aligned with `text`: one or more of references, and one of contexts.
            levels: the scale of ratings in words, from the worst to the best, or by aspect.
        """
        if isinstance(path, InputFile):
            return path
        if not isinstance(path, str | Path | None):
            rule = (
                f"data must be a file of texts, {setting('path', 'FILE')}; sets of other forms are for the experiments"
            )
            raise SettingError(rule)
        several = [references] if isinstance(references, Path | str | int) else list(references or ())
        if (path is None) == (text is None):
            given = "one is needed" if path is None else "two are given"
            hint = f"{setting('path', 'FILE')}, or {setting('text', 'FILE')} for a text per line"
            raise SettingError(f"give one input, but {given}: {hint}")
        if path is None:
            return cls._of_lines(
                text,
                several,
                source,
                columns,
            )
        if several or source is not None:
            rule = f"references and source are aligned with the lines of {setting('text', 'FILE')}"
            raise SettingError(f"{rule}; the columns of a file are named by {setting('columns.references', 'COLUMN')}")
        return cls(Path(path), freeze_columns(columns or {}), levels=freeze_levels(levels))

    @classmethod
    def _of_lines(
        cls,
        text: Path | str | None,
        references: Sequence[Path | str],
        source: Path | str | None,
        columns: Mapping[str, str | Sequence[str]] | None,
    ) -> "InputFile":
        """An input of aligned files with one value per line."""
        if columns:
            raise SettingError("columns are those of a table, but a file of texts has lines")
        named = [("text", text)]
        named += [("references", file) for file in references]
        named.append(("context", source))
        aligned = tuple((name, Path(str(file))) for name, file in named if file is not None)  # one may be called 5
        _, first = aligned[0]
        return cls(first, aligned=aligned)

    @cached_property
    def tool_file(self) -> ToolFile | None:
        """The content of a file of another tool; None for a file of our format, or if `columns` say how to read it."""
        if self.aligned or self.columns or self.records is not None:
            return None
        self.check_unchanged()
        return recognise(self.path)

    @cached_property
    def form(self) -> str:
        """How the input is read: as `records`, `lines` or a file of another `tool`, or else the suffix of the file."""
        if self.aligned:
            return "lines"
        if self.records is not None:
            return "records"
        if self.tool_file is not None:
            return "tool"
        return form_of(self.path, FORMS)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note to show with the file's scores: the tool that wrote the file."""
        return (f"{self.path.name}: {self.tool_file}",) if self.tool_file else ()

    def resolve(self) -> "InputFile":
        """Returns the same input with absolute paths, for other processes. Standard input becomes a file."""
        if self.form == "records":
            return self
        aligned = tuple((name, readable_path(file).resolve()) for name, file in self.aligned)
        return replace(self, path=readable_path(self.path).resolve(), aligned=aligned)

    @cached_property
    def _content(self) -> list[str]:
        """The hashes of the files when this was first asked, which is before they are read."""
        return self._hash_content()

    def _hash_content(self) -> list[str]:
        if self.records is not None:
            return []
        paths = [path for _, path in self.aligned] or [self.path]
        files = map(readable_path, paths)
        return [file_sha256(file) for file in files if file.is_file()]

    def check_unchanged(self) -> None:
        """Raises InputError if a file has changed since the first call."""
        if self._content != self._hash_content():
            raise InputError([fault(self.path, 0, "the file changed while it was read: run the command again")])

    def sha256(self) -> str:
        """A fingerprint of the input: the bytes of the file, or the rows, and `columns` and `levels`."""
        if self.form == "records":
            rows = hashlib.sha256()
            for _, record in read_objects(self, []):
                line = json.dumps(record, sort_keys=True, default=str)
                rows.update(line.encode())
            hashes = [rows.hexdigest()]
        else:
            hashes = self._content
        names = [name for name, _ in self.aligned]
        how_read: list[Any] = [self.columns, names]
        if self.levels:
            how_read.append(self.levels)
        return fingerprint([hashes, *how_read]) if any(how_read) else hashes[0]


FileLike: TypeAlias = InputFile | Path | str


def name_records(file: InputFile, faults: list[str]) -> Iterator[tuple[int, dict[str, Any], dict[str, Any], list[str]]]:
    """Yields each line of a file as (number, values by field, other values, problems). Adds faults to `faults`.

    Problems of the header of a table are faults of its first line.
    """
    is_table = file.form in TABLES
    may_hold_lists = is_table or file.form == "records"  # that were written as texts
    columns = file.columns
    seen: dict[str, None] = {}
    texts: Counter[str | None] = Counter()  # by the column of the text, how many rows have it
    givers: dict[str, dict[str, None]] = defaultdict(dict)  # by field, the columns that give it
    plain: set[str] = set()  # keys of rows that need no naming
    for line, record in read_objects(file, faults):
        if record.keys() <= PLAIN and not (columns or may_hold_lists):
            plain |= record.keys()
            yield line, record, {}, []
            continue
        if not (seen or columns) and {"system_a", "system_b"} <= {*map(fold_name, record)}:
            raise InputError([fault(file.path, 0, "texts are needed, found preferences: judge prefer reads them")])
        record = add_nested(record, columns)
        is_first = not seen
        seen |= dict.fromkeys(record)
        problems = count_columns(seen)
        if problems:
            raise InputError([*faults, fault(file.path, line, problems[0])])
        naming = name_fields(tuple(record), columns)
        text = next((key for key, name in naming.fields if name in ("text", "turns")), None)
        if is_table and is_first:
            absent = find_absent(columns, list(record))
            lacks_text = file.needs_text and text is None
            missing = [describe_missing_text(list(record))] if lacks_text and not absent else []
            faults += [fault(file.path, 1, problem) for problem in (*naming.problems, *absent, *missing)]
            if lacks_text:  # every row would have this fault
                return
        texts[text] += 1
        for key, name in () if naming.problems else naming.fields:
            givers[name][key] = None
        values, extra, problems = read_cells(record, naming)
        if is_table:
            extra = {name: cell for name, cell in extra.items() if cell}
        else:
            problems += naming.problems
        yield line, values, extra, problems
    for key in plain:
        givers[key][key] = None
    if not is_table:
        _check_keys(
            file,
            [*seen],
            texts,
            givers,
            faults,
        )


def _check_keys(
    file: InputFile,
    keys: Sequence[str],
    texts: Mapping[str | None, int],
    givers: Mapping[str, Mapping[str, None]],
    faults: list[str],
) -> None:
    """Adds faults of all lines: a column that none has, a field that several give, and lines of another kind, without
    a text.
    """
    absent = find_absent(file.columns, keys) if keys else []
    if absent and texts.keys() == {None}:  # a misspelt column is why every row lacks its text
        faults.clear()
    faults += [fault(file.path, 0, problem) for problem in absent]
    for name, names in givers.items():
        if len(names) > 1 and name not in dict(file.columns):
            rule = f"{' and '.join(map(format_value, names))} give the {name}, each in other rows"
            faults.append(fault(file.path, 0, f"{rule}: {setting(f'columns.{name}', next(iter(names)))} chooses one"))
    column = next((key for key in texts if key is not None), None)
    if column is not None and None in texts and file.needs_text:
        what = f"{texts[None]} of {sum(texts.values())} rows have no text"
        faults.append(fault(file.path, 0, f"{what}: rows of another kind need a file of their own"))


def read_objects(file: InputFile, faults: list[str]) -> Objects:
    """Yields the lines of a file, or the rows of a table as texts by column, with their numbers.

    Adds faults to `faults`.
    """
    match file.form:
        case "records":
            for number, record in zip(file.lines or count(1), file.records or (), strict=False):
                try:
                    row = {str(key): to_value(value) for key, value in record.items()}
                except RecursionError:
                    rule = "a row must be values that JSON can hold, found one that contains itself"
                    raise InputError([fault(file.path, number, rule)]) from None
                yield number, row
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


def _read_aligned(file: InputFile, faults: list[str]) -> Objects:
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
        texts = ["" if line is None else line[1] for line in row]
        waiting.append((number, texts))
        if any(map(str.strip, texts)):
            for place, waiting_texts in waiting:
                yield place, _align(names, waiting_texts)
            filled = number
            waiting = []
    counts = [min(lengths[path], filled) for path in files]
    for path, found in zip(files, counts, strict=True):
        if found != counts[0]:
            rule = "aligned files must have equally many lines"
            faults.append(fault(path, 0, f"{rule}, found {found} here and {counts[0]} in {file.path}"))


def _align(names: Sequence[str], lines: Sequence[str]) -> dict[str, Any]:
    """A line of each of the aligned files as a record."""
    record: dict[str, Any] = {}
    references: list[str] = []
    for name, line in zip(names, lines, strict=True):
        if name != "references":
            record[name] = line
        elif line.strip():
            references.append(line)
    return {**record, "references": references}
