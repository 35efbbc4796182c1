"""Sheets on which people label texts blind, and the design of a sheet, which has the ids of its texts.

A sheet is a table that shows no verdict, no system and no id, and its rows are in random order. The design is a table
in the same folder with the id of each row. `read_design` finds it again by the names of the rows, which begin with a
token of the sheet.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import SettingError
from core.example import Example
from data.table_files import read_rows
from data.text_files import open_atomically
from report.wording import csv_field

ITEM = "item"  # names a row of a sheet
LABEL = "label"
DESIGN = ".design.csv"  # the end of the name of a design
DESIGN_COLUMNS = (ITEM, "id")
SHEET_FIELDS = ("context", "text", "references")
TOKEN = 8  # letters of the token of a sheet
NAME = re.compile(rf"[0-9a-f]{{{TOKEN}}}-[0-9]+")  # of a row of a sheet


@dataclass(frozen=True)
class SheetRow:
    """One row of a sheet: a text as people see it."""

    item: str
    # what is shown, by name
    shown: Mapping[str, str]


def make_rows(examples: Sequence[Example], seed: int) -> list[SheetRow]:
    """Makes the rows of a sheet of these texts, in their order."""
    token = find_token([example.id for example in examples], seed)
    return [
        SheetRow(item=f"{token}-{number}", shown=show_example(example))
        for number, example in enumerate(examples, start=1)
    ]


def find_token(ids: Sequence[str], seed: int) -> str:
    """Computes a short token that identifies a sheet, from its ids and its seed."""
    content = json.dumps([seed, *ids])
    return hashlib.sha256(content.encode()).hexdigest()[:TOKEN]


def is_sheet(items: Iterable[object]) -> bool:
    """Whether rows with these names are the rows of a sheet.

    >>> is_sheet(["4a6a11fd-1", "4a6a11fd-2"]), is_sheet(["q1", "q2"]), is_sheet([None])
    (True, False, False)
    """
    return all(NAME.fullmatch(str(item)) for item in items)


def show_example(example: Example) -> dict[str, str]:
    """Lists what people see: the input, the text and references. For verdicts without texts they see only the id."""
    parts = {
        "context": example.context or "",
        "text": example.full_text,
        "references": "\n".join(example.references),
    }
    shown = {name: part for name, part in parts.items() if part.strip()}
    return shown or {"id": example.id}


def write_sheet(rows: Sequence[SheetRow], path: Path) -> None:
    """Writes the sheet as a table with an empty column for labels."""
    names = [name for name in (*SHEET_FIELDS, "id") if any(name in row.shown for row in rows)]
    table = [[ITEM, *names, LABEL]]
    for row in rows:
        cells = [str(csv_field(row.shown.get(name, ""))) for name in names]
        table.append([row.item, *cells, ""])
    write_table(table, path)


def write_table(rows: Iterable[Sequence[str]], path: Path) -> None:
    """Writes rows, the first of which is the header, as CSV."""
    with open_atomically(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows(rows)


def write_design(rows: Sequence[SheetRow], examples: Sequence[Example], path: Path) -> None:
    """Writes the design: the id of each row."""
    items = [row.item for row in rows]
    ids = [example.id for example in examples]
    write_table([DESIGN_COLUMNS, *zip(items, ids, strict=True)], path)


def read_design(items: Sequence[str], folders: Iterable[Path]) -> dict[str, str]:
    """Reads the design of a sheet (the id of each row) from the first folder that has it.

    Raises SettingError if no folder has it.
    """
    searched = list(dict.fromkeys(folder.resolve() for folder in folders))
    for folder in searched:
        for path in sorted(folder.glob(f"*{DESIGN}")):
            rows = _read_table(path)
            if rows.keys() >= {*items}:
                return {item: row["id"] for item, row in rows.items()}
    rule = f"labels of a sheet need its design, the file NAME{DESIGN} beside it"
    shown = ", ".join(map(str, searched))
    raise SettingError(f"{rule}, but there is none for {items[0]} in {shown}")


def _read_table(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a design by item; none of a table with other columns."""
    faults: list[str] = []
    rows = [row for _, row in read_rows(path, ",", faults)]
    has_columns = all(row.keys() >= {*DESIGN_COLUMNS} for row in rows)
    return {row[ITEM]: row for row in rows} if has_columns and not faults else {}
