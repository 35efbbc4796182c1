"""Reads CSV and TSV files, with the line on which each row begins, and parquet files by pyarrow (extra `parquet`)."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from core.errors import InputError, blame_file, fault, format_value
from core.extras import suggest_extra
from data.columns import count_columns
from data.text_files import LONGEST_LINE, iterate_lines

DELIMITERS = {".csv": ",", ".tsv": "\t"}
WORKBOOKS = (".xlsx", ".xls", ".ods")
TABLES = (*DELIMITERS, *WORKBOOKS)  # whose cells are texts
SEPARATORS = (";", "\t", ",")
LISTS = ("turns", "references")  # fields with lists of texts
ROWS = 1024  # of a parquet file, to read at once
SMALL = 1_000_000  # bytes of a small parquet file
SMALL_ROWS = 16  # of a small one, to read at once: they may be long
MOST_VALUES = (100_000, 10)  # values of a parquet file: so many, and so many more for each of its bytes
MOST_COLUMN_BYTES = (2**24, 100)  # bytes of a column, uncompressed, likewise
MOST_CHARACTERS = (2**26, 1_000)  # of all rows, likewise


def read_rows(path: Path, delimiter: str, faults: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the rows of a file as cells by column, each with the line on which it begins, from 1; raises InputError.

    If the header lacks the delimiter, another of `SEPARATORS` is tried: spreadsheets use another one in countries where
    the comma is the decimal sign. Rows without a filled cell are left out.
    """
    csv.field_size_limit(LONGEST_LINE)
    row = _Row()
    lines = _take_lines(path, faults, row)
    first = next(lines, "")
    if delimiter not in first:
        delimiter = next((separator for separator in SEPARATORS if separator in first), delimiter)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    try:
        header = next(reader)
        problems = count_columns(header) or find_repeated(header)
        if problems:
            raise InputError([*faults, *(fault(path, 1, problem) for problem in problems)])
        row.begins = reader.line_num + 1
        for cells in reader:
            number = row.begins
            row.begins = reader.line_num + 1
            row.length = 0
            if not any(map(str.strip, cells)):
                continue
            if len(cells) == len(header):
                yield number, dict(zip(header, cells, strict=True))
                continue
            if header[0].startswith("#"):
                rule = "a table begins with the names of its columns, found a comment: delete this line"
                raise InputError([fault(path, 1, rule)])
            faults.append(fault(path, number, f"a row must have {len(header)} cells, found {len(cells)}"))
    except csv.Error as error:
        rule = "a cell with a quote, a separator or a line break must be in quotes, its own quotes doubled"
        faults.append(fault(path, row.begins, f"{rule}, found: {error}"))


@dataclass
class _Row:
    """The row that is read."""

    # the line on which it begins
    begins: int = 1
    # in characters
    length: int = 0


def _take_lines(path: Path, faults: list[str], row: _Row) -> Iterator[str]:
    """The lines of a CSV file. Raises InputError for a row, of one or more lines, that is too long."""
    for _, line in iterate_lines(path, faults, keep_cr=True):
        row.length += len(line) + 1
        if row.length > LONGEST_LINE:
            rule = f"a row must have at most {LONGEST_LINE} characters, found more; is a quote missing?"
            raise InputError([*faults, fault(path, row.begins, rule)])
        yield f"{line}\n"


def find_repeated(header: Sequence[str]) -> list[str]:
    """Returns a problem for each column name that occurs more than once."""
    repeated = [name for name, count in Counter(header).items() if count > 1]
    return [f"a column must occur once, but {format_value(name)} is repeated" for name in repeated]


def row_writer(file: TextIO, delimiter: str) -> Callable[[Sequence[Any]], None]:
    """Returns a function that writes one row of cells."""
    minimal = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(
        file,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL,
    )

    def write(row: Sequence[Any]) -> None:
        # Python before 3.11.8 leaves a lone carriage return unquoted, and then cannot read it back
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in row)
        writer = quoted if has_return else minimal
        writer.writerow(row)

    return write


def to_cell(value: Any) -> str | None:
    """Converts a value to a text: itself, or JSON. None stays None."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the rows of a file as records without nulls and NaN, numbered from 1."""
    with suggest_extra():
        import pyarrow.parquet
    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    number = 0
    size = path.stat().st_size
    with blame_file(path):
        try:
            file = pyarrow.parquet.ParquetFile(path)
        except pyarrow.ArrowInvalid as error:
            raise InputError([fault(path, 0, f"the file must be parquet: {error}")]) from error
        _check_size(path, size, file.metadata)
        left = find_most(MOST_CHARACTERS, size)
        for batch in file.iter_batches(ROWS if size > SMALL else SMALL_ROWS):
            try:
                rows = batch.to_pylist(maps_as_pydicts="strict")
            except KeyError as error:
                raise InputError([fault(path, 0, f"a key of a map must occur once: {error}")]) from None
            for row in rows:
                number += 1
                left -= _count_characters(row)
                if left < 0:
                    most = find_most(MOST_CHARACTERS, size)
                    rule = f"the texts of a file of {size} bytes must have at most {most} characters"
                    raise InputError([fault(path, number, f"{rule}, found more up to this row")])
                yield number, _without_nulls(row)


def _check_size(path: Path, size: int, metadata: Any) -> None:
    """Raises InputError for a file with too many columns, or with too many values or bytes for its size."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    problems = count_columns(range(metadata.num_columns))
    if not problems:
        chunks = [group.column(i) for group in groups for i in range(metadata.num_columns)]
        values = sum(chunk.num_values for chunk in chunks)
        longest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        limits = (("values", values, MOST_VALUES), ("bytes in a column", longest, MOST_COLUMN_BYTES))
        for what, count, limit in limits:
            most = find_most(limit, size)
            if count > most:
                problems.append(f"a parquet file of {size} bytes must have at most {most} {what}, found {count}")
    if problems:
        raise InputError([fault(path, 0, problem) for problem in problems])


def find_most(limit: tuple[int, int], size: int) -> int:
    """Returns the maximum that a file of `size` bytes may have; `limit` is a base number and an addition per byte."""
    fixed, factor = limit
    return fixed + factor * size


def _count_characters(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(map(_count_characters, value.values()))
    if isinstance(value, list):
        return sum(map(_count_characters, value))
    return len(value) if isinstance(value, str | bytes) else 0


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        cells = {name: _without_nulls(cell) for name, cell in value.items()}
        return {name: cell for name, cell in cells.items() if cell is not None}
    if isinstance(value, list):
        return [_without_nulls(cell) for cell in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)  # JSON has no dates and bytes
