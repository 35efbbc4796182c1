"""Excel workbooks (.xlsx): reads a sheet with openpyxl (extra `excel`) as a table whose cells are texts."""

import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, blame_file, fault, format_value, list_first
from core.extras import suggest_extra
from data.columns import count_columns
from data.table_files import MOST_VALUES, find_most, find_repeated
from data.zip_files import check_unpacked_size

WITH_SHEET = re.compile(r"(.+\.xlsx)#(.+)", re.IGNORECASE | re.DOTALL)  # a file and one of its sheets
SHOWN_SHEETS = 5  # sheets in a message
MOST_ROWS = 2**20  # of a sheet, by the format
Rows: TypeAlias = list[tuple[int, list[str]]]  # with their numbers in the sheet


def split_sheet(path: Path | str) -> tuple[Path, str | None]:
    """Splits FILE.xlsx#SHEET; any other path, and one of a file with such a name, has no sheet.

    >>> split_sheet("grades.xlsx#Sheet 2")
    (PosixPath('grades.xlsx'), 'Sheet 2')
    >>> split_sheet("grades.csv#2")
    (PosixPath('grades.csv#2'), None)
    """
    named = WITH_SHEET.fullmatch(str(path))
    if named is None or Path(path).exists():
        return Path(path), None
    file, sheet = named.groups()
    return Path(file), sheet


def read_workbook(
    path: Path,
    sheet: str | None = None,
) -> Iterator[tuple[int, dict[str, str]]]:
    """Reads the rows of a sheet as cells by column, each with its number in the sheet.

    The first row with a filled cell is the header; rows without a filled cell are left out. `sheet` is needed if
    several sheets have rows. Formulas give their saved values.

    Raises InputError for a file that is not a workbook, and SettingError if openpyxl is not installed.
    """
    with suggest_extra():
        import openpyxl
    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    with blame_file(path):
        _check_zip(path)
        workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            rows = _choose_sheet(path, _list_sheets(path, workbook), sheet)
        finally:
            workbook.close()
    yield from _read_rows(path, rows)


def _check_zip(path: Path) -> None:
    """Raises InputError for a file that is no zip, or is one that unpacks to far more than its size."""
    try:
        with zipfile.ZipFile(path) as packed:
            check_unpacked_size(path, [file.file_size for file in packed.infolist()])
    except zipfile.BadZipFile as error:
        raise InputError([fault(path, 0, f"the file must be an Excel workbook: {error}")]) from error


def _list_sheets(path: Path, workbook: Any) -> dict[str, Rows]:
    """The numbered rows with a filled cell of each sheet that has some; raises InputError for too many cells."""
    sheets: dict[str, Rows] = {}
    most = find_most(MOST_VALUES, path.stat().st_size)
    cells = 0
    for sheet in workbook.worksheets:
        sheet.reset_dimensions()  # else each row is as long as the file says
        filled: Rows = []
        for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
            if number > MOST_ROWS:
                raise InputError([fault(path, number, f"a sheet must have at most {MOST_ROWS} rows")])
            cells += len(values)
            if cells > most:
                raise InputError([fault(path, number, f"a file of this size must have at most {most} cells")])
            row = list(map(to_text, values))
            if any(map(str.strip, row)):
                filled.append((number, row))
        if filled:
            sheets[sheet.title] = filled
    return sheets


def _choose_sheet(
    path: Path,
    sheets: dict[str, Rows],
    wanted: str | None,
) -> Rows:
    """The rows of the wanted sheet, or of the only one with rows; raises InputError for any other number of them."""
    if wanted is None and len(sheets) == 1:
        return next(iter(sheets.values()))
    if wanted in sheets:
        return sheets[wanted]
    if not sheets:
        raise InputError([fault(path, 0, "the workbook needs a sheet with rows, found none")])
    rule = f"{path.name}#SHEET names the sheet to read where several have rows"
    what = f"{rule}, found {list_first(list(sheets), SHOWN_SHEETS)}"
    if wanted is not None:
        what += f" but no {wanted}"
    raise InputError([fault(path, 0, what)])


def _read_rows(
    path: Path,
    rows: Rows,
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows below the header as cells by column; columns without a name and without cells are left out."""
    first, header = rows[0]
    width = max(len(row) for _, row in rows)
    filled = [place for place in range(width) if _has_cell(rows, place)]
    names = [_cell(header, place).strip() for place in filled]
    problems = count_columns(names) or find_repeated(names)
    if "" in names:
        problems.append(f"every column needs a name in row {first}, found {format_value(names)}")
    if problems:
        raise InputError([fault(path, first, problem) for problem in problems])
    for number, row in rows[1:]:
        yield number, {name: _cell(row, place) for name, place in zip(names, filled, strict=True)}


def _has_cell(rows: Rows, place: int) -> bool:
    """Whether a column has a filled cell."""
    return any(_cell(row, place).strip() for _, row in rows)


def _cell(row: Sequence[str], place: int) -> str:
    return row[place] if place < len(row) else ""


def to_text(value: object) -> str:
    """Converts a cell to the text that a CSV file would have.

    >>> to_text(None), to_text(3.0), to_text(0.5), to_text(True), to_text("yes")
    ('', '3', '0.5', 'true', 'yes')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, datetime) else str(value)
