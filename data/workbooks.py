"""Workbooks (.xlsx): reads the sheet by calamine (extra `excel`) as a table whose cells are texts."""

import re
import zipfile
from collections.abc import Iterator
from datetime import date, time
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, blame_file, fault, format_value, list_first
from core.extras import suggest_extra
from data.columns import count_columns
from data.table_files import check_unpacked_size, find_most, find_repeated

SHOWN_SHEETS = 5  # sheets in a message
MOST_CELLS = (2**22, 10)  # from the first to the last filled one: so many, and so many more for each byte of the file
CELL = re.compile(rb"<(?:\w+:)?(?:row|c)\s[^>]*?\br=[\"']([A-Z]*)(\d+)")  # of a sheet
Rows: TypeAlias = list[tuple[int, list[str]]]  # with their numbers in the sheet


def read_workbook(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Reads the rows of a workbook with one table as cells by column, each with its number in the sheet.

    The first row with a filled cell is the header; rows without a filled cell are left out. Formulas give their saved
    values.

    Raises InputError for a file that is not a workbook or has several sheets with rows, and SettingError if calamine is
    not installed.
    """
    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    with suggest_extra():
        from python_calamine import CalamineError, CalamineWorkbook
    with blame_file(path):
        _check_size(path)
        try:
            with CalamineWorkbook.from_path(path) as workbook:
                tables = {name: workbook.get_sheet_by_name(name) for name in workbook.sheet_names}
                sheets = {name: _list_rows(table) for name, table in tables.items()}
        except CalamineError as error:
            raise InputError([fault(path, 0, f"the file must be a workbook: {error}")]) from error
    filled = {name: rows for name, rows in sheets.items() if rows}
    if len(filled) != 1:
        rule = "a workbook needs one sheet with rows; save the one to read as a file of its own"
        raise InputError([fault(path, 0, f"{rule}, found {list_first(list(filled), SHOWN_SHEETS) or 'none'}")])
    (rows,) = filled.values()
    yield from _read_rows(path, rows)


def _check_size(path: Path) -> None:
    """Raises InputError for a packed file that unpacks to far more than its size, or has a cell far from the others."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as packed:
        check_unpacked_size(path, [file.file_size for file in packed.infolist()])
        names = [name for name in packed.namelist() if name.endswith(".xml")]
        cells = max((_count_cells(packed.read(name)) for name in names), default=0)
    most = find_most(MOST_CELLS, path.stat().st_size)
    if cells > most:
        what = f"up to the last filled cell a sheet of this size must have at most {most} cells, found {cells}"
        raise InputError([fault(path, 0, what)])


def _count_cells(content: bytes) -> int:
    """How many cells lie before the last filled row and column of a sheet."""
    places = {(letters, int(number)) for letters, number in CELL.findall(content)}
    width = max((_number_column(letters) for letters, _ in places), default=0)
    height = max((number for _, number in places), default=0)
    return width * height


def _number_column(letters: bytes) -> int:
    """The number of a column by its letters.

    >>> _number_column(b"A"), _number_column(b"AB")
    (1, 28)
    """
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _list_rows(table: Any) -> Rows:
    """The numbered rows of a sheet with a filled cell."""
    rows = enumerate(table.to_python(skip_empty_area=False), start=1)
    texts = [(number, list(map(to_text, row))) for number, row in rows]
    return [(number, row) for number, row in texts if any(map(str.strip, row))]


def _read_rows(path: Path, rows: Rows) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows below the header as cells by column; columns without a name and without cells are left out."""
    (first, header), *others = rows
    filled = [place for place in range(len(header)) if any(row[place].strip() for _, row in rows)]
    names = [header[place].strip() for place in filled]
    problems = count_columns(names) or find_repeated(names)
    if "" in names:
        problems.append(f"every column needs a name in row {first}, found {format_value(names)}")
    if problems:
        raise InputError([fault(path, first, problem) for problem in problems])
    for number, row in others:
        yield number, {name: row[place] for name, place in zip(names, filled, strict=True)}


def to_text(value: object) -> str:
    """Converts a cell to the text that a CSV file would have.

    >>> to_text(""), to_text(3.0), to_text(0.5), to_text(True), to_text("yes")
    ('', '3', '0.5', 'true', 'yes')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, date | time) else str(value)
