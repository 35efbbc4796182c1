"""Sheets on which people label texts blind: a table, a page for the keyboard, and the design of the sample.

A sheet shows no verdict, no system and no id of the texts, and its rows are in random order. The design, a table in the
same folder, has the id of each row and the probability with which it was drawn. `read_design` finds it again by the
names of the rows, which begin with a token of the sheet.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from core.errors import SettingError
from core.example import Example
from data.numeric import parse_finite
from data.table_files import read_rows
from data.text_files import open_atomically
from judge.wording import csv_field

TEMPLATE = Path(__file__).parent / "report" / "label_sheet.html.jinja"
ITEM = "item"  # names a row of a sheet
LABEL = "label"
PROBABILITY = "probability"
DESIGN = ".design.csv"  # the end of the name of a design
DESIGN_COLUMNS = (ITEM, "id", PROBABILITY)
SHEET_FIELDS = ("context", "text", "references")
TOKEN = 8  # letters of the token of a sheet
NAME = re.compile(rf"[0-9a-f]{{{TOKEN}}}-[0-9]+")  # of a row of a sheet
MOST_CHOICES = 9  # a key for each


@dataclass(frozen=True)
class SheetRow:
    """One row of a sheet: a text as people see it."""

    item: str
    # what is shown, by name
    shown: Mapping[str, str]


@dataclass(frozen=True)
class Design:
    """The design of a sheet: the id of each row, and the probability with which it was drawn."""

    # by row of the sheet, the id of its text
    ids: Mapping[str, str]
    # by id, the probability with which it was drawn
    probabilities: Mapping[str, float]


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


def write_page(
    rows: Sequence[SheetRow],
    path: Path,
    *,
    question: str,
    choices: Sequence[str],
) -> None:
    """Writes the sheet as one page, which keeps labels in the browser and saves them as a table."""
    content = {
        "name": path.stem,
        "choices": [*choices],
        "rows": [{"item": row.item, "shown": dict(row.shown)} for row in rows],
    }
    # no text can end the script: JSON may write < as an escape
    encoded = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    page = template.render(
        question=question,
        name=path.stem,
        content=Markup(encoded),
    )
    with open_atomically(path) as file:
        file.write(page)


def write_design(
    rows: Sequence[SheetRow],
    examples: Sequence[Example],
    probabilities: Sequence[float],
    path: Path,
) -> None:
    """Writes the design: the id and the probability of each row."""
    items = [row.item for row in rows]
    ids = [example.id for example in examples]
    chances = [repr(float(probability)) for probability in probabilities]
    write_table([DESIGN_COLUMNS, *zip(items, ids, chances, strict=True)], path)


def read_design(items: Sequence[str], folders: Iterable[Path]) -> Design:
    """Reads the sampling design of a sheet (the id and the probability of each row) from the first folder that has it.

    Raises SettingError if no folder has it.
    """
    searched = list(dict.fromkeys(folder.resolve() for folder in folders))
    for folder in searched:
        for path in sorted(folder.glob(f"*{DESIGN}")):
            rows = _read_table(path)
            if rows.keys() >= {*items}:
                return _to_design(rows)
    rule = f"labels of a sheet need its design, the file NAME{DESIGN} beside it"
    shown = ", ".join(map(str, searched))
    raise SettingError(f"{rule}, but there is none for {items[0]} in {shown}")


def _to_design(rows: Mapping[str, Mapping[str, str]]) -> Design:
    """The design in the rows of a table by item."""
    probabilities: dict[str, float] = {}
    for row in rows.values():
        probability = parse_finite(row[PROBABILITY])
        if probability is not None and probability > 0:
            probabilities[row["id"]] = probability
    return Design(ids={item: row["id"] for item, row in rows.items()}, probabilities=probabilities)


def _read_table(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a design by item; none of a table with other columns."""
    faults: list[str] = []
    rows = [row for _, row in read_rows(path, ",", faults)]
    has_columns = all(row.keys() >= {*DESIGN_COLUMNS} for row in rows)
    return {row[ITEM]: row for row in rows} if has_columns and not faults else {}


def check_choices(choices: str | Sequence[object]) -> list[str]:
    """Returns the choices of a label as texts. Raises SettingError for fewer than two, too many, or equal choices."""
    given = choices.split(",") if isinstance(choices, str) else choices
    listed = [str(choice).strip() for choice in given]
    are_different = all(listed) and len({*listed}) == len(listed)
    if not are_different or not 2 <= len(listed) <= MOST_CHOICES:
        rule = f"choices must be 2 to {MOST_CHOICES} different labels from the worst to the best, such as no,yes"
        raise SettingError(f"{rule}, but are {', '.join(listed) or 'none'}")
    return listed
