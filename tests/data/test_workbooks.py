"""Excel workbooks are read as tables are."""

import sys
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from core import extras
from core.errors import InputError
from data.files import read_examples
from data.input_file import InputFile, read_objects

ROWS: list[list[Any]] = [
    ["id", "text", "rating:q", "seen", "on"],
    ["a", "one", 1.5, True, datetime(2026, 1, 2)],
    [2, "two", 3.0, False, None],
]


@pytest.fixture
def openpyxl() -> Any:
    return pytest.importorskip("openpyxl", reason="the extra excel is not installed")


def write_workbook(openpyxl: Any, path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return path


def read_rows(path: Path) -> list[tuple[int, dict[str, Any]]]:
    faults: list[str] = []
    rows = [*read_objects(InputFile(path), faults)]
    assert not faults
    return rows


def test_a_workbook_is_read_as_a_table(openpyxl: Any, tmp_path: Path) -> None:
    path = write_workbook(openpyxl, tmp_path / "x.xlsx", {"Sheet1": ROWS, "empty": []})
    table = tmp_path / "x.csv"
    table.write_text("id,text,rating:q,seen,on\na,one,1.5,true,2026-01-02\n2,two,3,false,\n")
    assert read_examples(path) == read_examples(table)


def test_blank_rows_and_columns_without_a_name_or_cells_are_left_out(openpyxl: Any, tmp_path: Path) -> None:
    rows = [[], ["id", None, "judge"], [], [1, None, "Yes"], [None, None, ""], [2, None, "No"]]
    path = write_workbook(openpyxl, tmp_path / "x.xlsx", {"Sheet1": rows})
    assert read_rows(path) == [(4, {"id": "1", "judge": "Yes"}), (6, {"id": "2", "judge": "No"})]


def test_several_sheets_are_a_question(openpyxl: Any, tmp_path: Path) -> None:
    path = write_workbook(openpyxl, tmp_path / "x.xlsx", {"one": [["id"], ["a"]], "two": [["id"], ["b"]]})
    with pytest.raises(InputError, match=r"needs one sheet with rows; save the one to read .*, found one, two$"):
        read_rows(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "a workbook needs one sheet with rows; .*, found none"),
        ([["id", None], ["a", "b"]], "every column needs a name in row 1"),
        ([["id", "id"], ["a", "b"]], 'a column must occur once, but "id" is repeated'),
        ([["id"], *([["x"] * 40] * 30)], "a sheet of this size must have at most [0-9]+ cells"),
    ],
)
def test_faults_of_a_workbook(
    openpyxl: Any, rows: list[list[Any]], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("data.workbooks.MOST_CELLS", (1000, 0))
    path = write_workbook(openpyxl, tmp_path / "x.xlsx", {"Sheet1": rows})
    with pytest.raises(InputError, match=message):
        read_rows(path)


@pytest.mark.parametrize("row", [b"3000000", b"1000000000"])
def test_a_cell_far_from_the_others_is_refused_in_one_line(openpyxl: Any, row: bytes, tmp_path: Path) -> None:
    path = write_workbook(openpyxl, tmp_path / "x.xlsx", {"Sheet1": [["id", "b"], ["a"], ["b"]]})
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as moved:
        for name in packed.namelist():
            content = packed.read(name).replace(b'<row r="3"', b'<row r="%s"' % row)
            moved.writestr(name, content.replace(b'"A3"', b'"A%s"' % row))
    with pytest.raises(InputError, match=r"far.xlsx: up to the last filled cell .* at most [0-9]+ cells, found"):
        read_rows(tmp_path / "far.xlsx")


def test_what_is_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    path.write_text("id,text\n")
    with pytest.raises(InputError, match=r"x.xlsx: the file must be a workbook"):
        read_rows(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", b" " * 40_000_000)
    with pytest.raises(InputError, match=r"x.xlsx: a file of this size must have at most [0-9]+ bytes unpacked"):
        read_rows(path)


def test_the_command_that_installs_calamine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)  # as if it were not installed
    monkeypatch.setattr(extras, "requires", lambda _: ['python-calamine>=0.4; extra == "excel"'])
    (tmp_path / "x.xlsx").write_bytes(b"")
    with pytest.raises(InputError, match=r"is not installed: pip install 'judging-generated-text\[excel\]'"):
        read_rows(tmp_path / "x.xlsx")
