"""Reads CSV and TSV files, with the line on which each row begins."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from core.errors import InputError, fault, format_value
from data.columns import count_columns
from data.text_files import LONGEST_LINE, iterate_lines

DELIMITERS = {".csv": ",", ".tsv": "\t"}
TABLES = (*DELIMITERS, ".xlsx")  # whose cells are texts
SEPARATORS = (";", "\t", ",")
NO_HEADER = "a table begins with the names of its columns, found"
LISTS = ("turns", "references")  # fields with lists of texts
MOST_UNPACKED = (2**24, 100)  # bytes of the parts of a zip file: so many, and so many more for each of its bytes


def read_rows(path: Path, delimiter: str, faults: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the rows of a file as cells by column, each with the line on which it begins, from 1; raises InputError.

    If the header lacks the delimiter, another of `SEPARATORS` is tried: spreadsheets use another one in countries where
    the comma is the decimal sign. Rows without a filled cell are left out, also before the header, and so are columns
    without a name and without cells.
    """
    csv.field_size_limit(LONGEST_LINE)
    row = _Row()
    lines = _take_lines(path, faults, row)
    first = ""
    start: list[str] = []  # up to the first line that is not blank
    for first in lines:
        start.append(first)
        if first.strip():
            break
    if first.lower().startswith("sep="):
        raise InputError([fault(path, len(start), f"{NO_HEADER} the separator: delete this line")])
    if delimiter not in first:
        delimiter = next((separator for separator in SEPARATORS if separator in first), delimiter)
    reader = csv.reader(chain(start, lines), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next((cells for cells in reader if any(map(str.strip, cells))), [])]
        unnamed = [place for place, name in enumerate(header) if not name]
        problems = count_columns(header) or find_repeated(filter(None, header))
        if problems:
            raise InputError([*faults, *(fault(path, len(start), problem) for problem in problems)])
        row.begins = reader.line_num + 1
        for cells in reader:
            number = row.begins
            row.begins = reader.line_num + 1
            row.length = 0
            if not any(map(str.strip, cells)):
                continue
            if len(cells) != len(header):
                if header[0].startswith("#"):
                    raise InputError([fault(path, len(start), f"{NO_HEADER} a comment: delete this line")])
                faults.append(fault(path, number, f"a row must have {len(header)} cells, found {len(cells)}"))
            elif len(unnamed) > 1 and any(cells[place].strip() for place in unnamed):
                faults.append(fault(path, number, "a filled cell needs a column with a name"))
            else:
                yield number, dict(zip(header, cells, strict=True))
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


def find_repeated(header: Iterable[str]) -> list[str]:
    """Returns a problem for each column name that occurs more than once."""
    repeated = [name for name, count in Counter(header).items() if count > 1]
    return [f"a column must occur once, but {format_value(name)} is repeated" for name in repeated]


def find_most(limit: tuple[int, int], size: int) -> int:
    """Returns the maximum that a file of `size` bytes may have; `limit` is a base number and an addition per byte."""
    fixed, factor = limit
    return fixed + factor * size


def check_unpacked_size(path: Path, sizes: Iterable[int]) -> None:
    """Raises InputError if a zip file unpacks to too many bytes for its own size.

    `sizes` are the unpacked sizes of its parts, in bytes.
    """
    most = find_most(MOST_UNPACKED, path.stat().st_size)
    total = sum(sizes)
    if total > most:
        rule = f"a file of this size must have at most {most} bytes unpacked"
        raise InputError([fault(path, 0, f"{rule}, found {total}")])
