"""CSV and TSV files, with the lines on which rows begin, and parquet files, read by pyarrow (extra `parquet`)."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from core.errors import InputError, blame_file, fault, format_value
from core.extras import named_extras
from data.columns import count_columns
from data.text_files import LONGEST_LINE, iterate_lines

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = (";", "\t", ",")
LISTS = ("turns", "references")  # fields with lists of texts
ROWS = 1024  # of a parquet file, to read at once
SMALL, SMALL_ROWS = 1_000_000, 16  # bytes of a small parquet file, and the rows of it to read at once: they may be long
VALUES = (100_000, 10)  # values of a parquet file: so many, and so many more for each of its bytes
COLUMN = (2**24, 100)  # bytes of a column, uncompressed, likewise
TEXTS = (2**26, 1_000)  # characters of all rows


def read_rows(
    path: Path,
    delimiter: str,
    faults: list[str],
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file as cells by column, each with the line on which it begins, from 1; raises InputError.

    A header without the delimiter has another of `SEPARATORS`, as spreadsheets write it where a comma is decimal. Rows
    without a filled cell are left out.
    """
    csv.field_size_limit(LONGEST_LINE)
    begins, length = 1, 0

    def take_lines() -> Iterator[str]:
        nonlocal length
        for _, line in iterate_lines(path, faults, keep_cr=True):
            length += len(line) + 1
            if length > LONGEST_LINE:
                rule = f"a row must have at most {LONGEST_LINE} characters, found more; is a quote missing?"
                raise InputError([*faults, fault(path, begins, rule)])
            yield f"{line}\n"

    lines = take_lines()
    first = next(lines, "")
    if delimiter not in first:
        delimiter = next((each for each in SEPARATORS if each in first), delimiter)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    try:
        header = next(reader)
        twice = [format_value(name) for name, n in Counter(header).items() if n > 1]
        problems = count_columns(header) or [f"a column must occur once, but {name} is repeated" for name in twice]
        if problems:
            raise InputError([*faults, *(fault(path, 1, problem) for problem in problems)])
        begins, length = reader.line_num + 1, 0
        for row in reader:
            number, begins, length = begins, reader.line_num + 1, 0
            if not any(map(str.strip, row)):
                continue
            if len(row) != len(header):
                faults.append(fault(path, number, f"a row must have {len(header)} cells, found {len(row)}"))
            else:
                yield number, dict(zip(header, row, strict=True))
    except csv.Error as error:
        rule = "a cell with a quote, a separator or a line break must be in quotes, its own quotes doubled"
        faults.append(fault(path, begins, f"{rule}, found: {error}"))


def row_writer(file: TextIO, delimiter: str) -> Callable[[Sequence[Any]], None]:
    """A function that writes one row of cells."""
    minimal = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(
        file,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL,
    )

    def write(row: Sequence[Any]) -> None:
        # Python before 3.11.8 leaves a lone carriage return unquoted, and then cannot read it back
        (quoted if any(isinstance(cell, str) and "\r" in cell for cell in row) else minimal).writerow(row)

    return write


def to_cell(value: Any) -> str | None:
    """A value as a text: itself, or JSON. None stays None."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file as records without nulls and NaN, numbered from 1."""
    with named_extras():
        import pyarrow.parquet
    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    number, size = 0, path.stat().st_size
    with blame_file(path):
        try:
            file = pyarrow.parquet.ParquetFile(path)
        except pyarrow.ArrowInvalid as error:
            raise InputError([fault(path, 0, f"the file must be parquet: {error}")]) from error
        _check_size(path, size, file.metadata)
        left = _most(TEXTS, size)
        for batch in file.iter_batches(ROWS if size > SMALL else SMALL_ROWS):
            try:
                rows = batch.to_pylist(maps_as_pydicts="strict")
            except KeyError as error:
                raise InputError([fault(path, 0, f"a key of a map must occur once: {error}")]) from None
            for row in rows:
                number += 1
                left -= _count_characters(row)
                if left < 0:
                    rule = f"the texts of a file of {size} bytes must have at most {_most(TEXTS, size)} characters"
                    raise InputError([fault(path, number, f"{rule}, found more up to this row")])
                yield number, _without_nulls(row)


def _check_size(
    path: Path,
    size: int,
    metadata: Any,
) -> None:
    """Raises InputError for a file with too many columns, or with too many values or bytes for its size."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    problems = count_columns(range(metadata.num_columns))
    if not problems:
        chunks = [group.column(i) for group in groups for i in range(metadata.num_columns)]
        values = sum(chunk.num_values for chunk in chunks)
        longest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        for what, found, most in (("values", values, VALUES), ("bytes in a column", longest, COLUMN)):
            if found > _most(most, size):
                rule = f"a parquet file of {size} bytes must have at most {_most(most, size)} {what}"
                problems.append(f"{rule}, found {found}")
    if problems:
        raise InputError([fault(path, 0, problem) for problem in problems])


def _most(limit: tuple[int, int], size: int) -> int:
    return limit[0] + limit[1] * size


def _count_characters(value: Any) -> int:
    if isinstance(value, Mapping | list):
        return sum(map(_count_characters, value.values() if isinstance(value, Mapping) else value))
    return len(value) if isinstance(value, str | bytes) else 0


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        found = {name: _without_nulls(each) for name, each in value.items()}
        return {name: each for name, each in found.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)  # JSON has no dates and bytes
