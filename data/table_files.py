"""CSV and TSV files: reads rows with the lines on which they begin, and writes rows that can be read back."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from core.faults import InputFaults, fault, shown
from data.text_files import iterate_raw_lines, longest_line

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_rows(
    path: Path, delimiter: str, faults: list[str], check_header: Callable[[list[str]], tuple[list[str], bool]]
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file as cells by column, each with the number of the line on which it begins, from 1.

    `check_header(header)` returns the problems of the header, and whether rows can be read under it.

    Raises InputFaults if the file is missing or empty, or has a row of more than `longest_line()` characters.
    """
    longest = longest_line()
    csv.field_size_limit(longest)
    begins, length = 1, 0

    def take_lines() -> Iterator[str]:
        nonlocal length
        for _, line in iterate_raw_lines(path, faults):
            length += len(line) + 1
            if length > longest:
                rule = f"a row must have at most {longest} characters (longest_line), found more; is a quote missing?"
                raise InputFaults([*faults, fault(path, begins, rule)])
            yield f"{line}\n"

    reader = csv.reader(take_lines(), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            number, begins, length = begins, reader.line_num + 1, 0
            if header is None:
                header = row
                problems, is_readable = check_header(row)
                problems += [f"a column must occur once, but {shown(n)} is repeated" for n in _find_repeated(row)]
                faults += [fault(path, number, problem) for problem in problems]
                if not is_readable or len(set(row)) < len(row):
                    return  # every row would have the same fault
            elif len(row) != len(header):
                faults.append(fault(path, number, f"a row must have {len(header)} cells, found {len(row)}"))
            else:
                yield number, dict(zip(header, row, strict=True))
    except csv.Error as error:
        rule = "a cell with a quote, a separator or a line break must be in quotes, its own quotes doubled"
        faults.append(fault(path, begins, f"{rule}, found: {error}"))


def _find_repeated(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def parse_number(cell: str) -> float | str:
    """The number in a cell; a cell that holds none stays a text.

    >>> parse_number("0.5"), parse_number("1_0")  # only Python reads 1_0 as ten
    (0.5, '1_0')
    """
    try:
        return float(cell) if "_" not in cell else cell
    except ValueError:
        return cell


def row_writer(file: TextIO, delimiter: str) -> Callable[[Sequence[Any]], None]:
    """A function that writes one row of cells."""
    minimal = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(row: Sequence[Any]) -> None:
        # Python before 3.11.8 leaves a lone carriage return unquoted, and then cannot read it back
        (quoted if any(isinstance(cell, str) and "\r" in cell for cell in row) else minimal).writerow(row)

    return write
