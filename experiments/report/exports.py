"""Exports: the tables of a run as CSV, Markdown and LaTeX, in `tables/`."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from core.faults import printable
from experiments.contracts import Outcome
from experiments.report.results import file_name, replace_folder
from experiments.report.tables import agreement_cells, flat_cells, format_cell, group_rows, shown_columns

LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {mark: rf"\{mark}" for mark in "&%$#_{}"}
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")  # a field that starts so is a formula for spreadsheets
MARKDOWN = re.compile(r"[\\`*|\[\]~]|(?<!\w)_|_(?!\w)")  # an underscore inside a word is text
Rows = Sequence[Mapping[str, Any]]


def write_tables(outcome: Outcome, folder: Path) -> None:
    """Writes every table of the outcome as `tables/NAME.csv`, `.md` and `.tex`."""
    named: dict[str, Rows] = {}
    if outcome.rows:
        named["agreement"] = [agreement_cells(row) for rows in group_rows(outcome.rows).values() for row in rows]
    for table in outcome.tables:
        if table.rows:
            named[re.sub(r"\W+", "_", table.title.lower()).strip("_")] = table.rows
    if not named:
        return
    aside = folder / ".tables.partial"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for name, rows in named.items():
        with (aside / file_name(name, ".csv")).open("w", encoding="utf-8", newline="") as file:
            flat = [flat_cells(row) for row in rows]
            writer = csv.DictWriter(file, list(flat[0]), lineterminator="\n")
            writer.writerow({name: _csv_field(name) for name in flat[0]})
            writer.writerows({name: _csv_field(cell) for name, cell in row.items()} for row in flat)
        (aside / file_name(name, ".md")).write_text(to_markdown(rows), encoding="utf-8")
        (aside / file_name(name, ".tex")).write_text(to_latex(rows), encoding="utf-8")
    replace_folder(aside, folder / "tables")


def to_markdown(rows: Rows, linked: str | None = None) -> str:
    """The shown columns as a Markdown table, estimates with their intervals; a cell that a row lacks is empty.

    A cell of the column `linked` becomes a link to the page of this name, `CELL.md`.

    >>> to_markdown([{"metric": "ours", "n": 3}]).splitlines()
    ['| metric | n |', '| --- | --- |', '| ours | 3 |']
    """
    names = list(dict.fromkeys(name for row in rows for name in shown_columns([row])))
    lines = [[markdown_text(name) for name in names], ["---"] * len(names)]
    for row in rows:
        texts = {name: markdown_text(row.get(name, "")) for name in names}
        lines.append([f"[{text}]({text}.md)" if name == linked else text for name, text in texts.items()])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def to_latex(rows: Rows) -> str:
    """The shown columns as a LaTeX tabular (package booktabs), estimates with their intervals.

    >>> to_latex([{"metric": "a_b", "n": 3}]).splitlines()[3:5]
    ['\\\\midrule', 'a\\\\_b & 3 \\\\\\\\']
    """
    names = shown_columns(rows)
    lines = [[row[name] for name in names] for row in rows]
    head, *body = [" & ".join(map(_latex_cell, line)) + r" \\" for line in [names, *lines]]
    columns = "l" + "r" * (len(names) - 1)
    begin, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
    parts = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end]
    return "\n".join(parts) + "\n"


def _one_line(cell: Any) -> str:
    return " ".join(format_cell(cell).split())


def _csv_field(cell: str | float) -> str | float:
    """The cell; a spreadsheet takes a text after an apostrophe for a text, also if it looks like a formula."""
    if not isinstance(cell, str):
        return cell
    return f"'{printable(cell)}" if FORMULA.match(cell) else printable(cell)


def markdown_text(cell: Any) -> str:
    """The cell as text that renders as it stands: without HTML, links and pictures."""
    text = _one_line(cell)
    return MARKDOWN.sub(r"\\\g<0>", escape(text, quote=False)) if isinstance(cell, str) else text


def _latex_cell(cell: Any) -> str:
    return "".join(LATEX.get(character, character) for character in _one_line(cell))
