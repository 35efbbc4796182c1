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
from pathlib import Path

import numpy as np

from core.errors import SettingError, setting
from core.example import Example
from data.table_files import read_rows
from data.text_files import open_atomically
from meta_eval.estimates import FEWEST
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.wording import csv_field, join_names

ITEM = "item"  # names a row of a sheet
LABEL = "label"
DESIGN = ".design.csv"  # the end of the name of a design
DESIGN_COLUMNS = (ITEM, "id")
SHEET_FIELDS = ("context", "text", "references")
TOKEN = 8  # letters of the token of a sheet
NAME = re.compile(rf"[0-9a-f]{{{TOKEN}}}-[0-9]+")  # of a row of a sheet


def draw_sheet(
    texts: ScoredSet,
    output: Path,
    *,
    n: int,
    seed: int,
    given: Mapping[str, Sequence[str]],
    has_texts: bool,
) -> Study:
    """Draws texts at random, and writes a sheet and its design; `given` are the settings of the texts by name.

    A short token, from ids and seed, begins the names of the rows and identifies the sheet. Raises SettingError for
    files that exist.
    """
    stem = output.stem if output.suffix == ".csv" else output.name
    sheet, design = (output.with_name(f"{stem}{end}") for end in (".csv", DESIGN))
    if there := [str(path) for path in (sheet, design) if path.exists()]:
        raise SettingError(f"output must be a new name, because labels may be lost, but {join_names(there)} exists")
    places = np.random.default_rng(seed).permutation(len(texts))[:n]
    examples = [texts.examples[place] for place in places]
    ids = [example.id for example in examples]
    token = hashlib.sha256(json.dumps([seed, *ids]).encode()).hexdigest()[:TOKEN]
    items = [f"{token}-{number}" for number in range(1, len(ids) + 1)]
    shown = [show_example(example) for example in examples]
    columns = [column for column in (*SHEET_FIELDS, "id") if any(column in each for each in shown)]
    rows = [[item, *(each.get(column, "") for column in columns), ""] for item, each in zip(items, shown, strict=True)]
    write_table(design, [DESIGN_COLUMNS, *zip(items, ids, strict=True)])
    write_table(sheet, [[ITEM, *columns, LABEL], *([str(csv_field(cell)) for cell in row] for row in rows)])
    notes = list(texts.notes)
    if not has_texts:
        notes.append(f"{texts.name} has no texts: the sheet shows ids, and people must look the texts up")
    if len(ids) < n:
        notes.append(f"{texts.name} has only {len(ids)} texts, and all of them are on the sheet")
    if len(ids) < FEWEST:
        notes.append(f"intervals need at least {FEWEST} labels")
    place = "" if "path" in given else "on the same texts with "
    settings = " ".join(setting(name, *values) for name, values in {**given, "labels": [str(sheet)]}.items())
    then = f"then judge agree {place}{settings}"
    return Study(
        answer=f"fill the column label of {sheet}, keep {design.name} beside it, {then}",
        notes=notes,
        signature=f"label|{texts.name}|n={len(ids)}|seed={seed}",
        files=[sheet, design],
    )


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


def write_table(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Writes rows, the first of which is the header, as CSV."""
    with open_atomically(path) as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


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
