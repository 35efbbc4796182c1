"""Tables: formats rows and cells for the terminal, the page, results.json, W&B, Markdown, LaTeX and CSV.

A cell is a text, a number, or an estimate, which is shown with its interval. Other values (a list, a mapping) go into
results.json only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from rich import box, markup
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table as TerminalTable

from core.faults import printable
from judge.tables import (
    VERDICT,
    Table,
    agreement_cells,
    arrange,
    format_cell,
    format_interval,
    format_number,
    shorten,
    shown_columns,
)
from meta_eval.agreement import Agreement
from meta_eval.bootstrap import Estimate

SUBJECT = ("set", "aspect", "statistic", "grouping")  # columns that say what a table is about
LONGEST_CELL = 60  # characters of a text on the terminal
SQUEEZED_CELL = 20  # characters of a text where other columns need the room
AGREEMENT = "agreement"  # the key `table` of its rows, and the name of its files
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {mark: rf"\{mark}" for mark in "&%$#_{}"}
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")  # a field that starts so is a formula for spreadsheets
MARKDOWN = re.compile(r"[\\`*|\[\]~]|(?<!\w)_|_(?!\w)")  # an underscore inside a word is text
Rows: TypeAlias = Sequence[Mapping[str, Any]]


def literal(text: str) -> str:
    """The text for a console, which shows rich's marks and control characters and does not obey them."""
    return markup.escape(printable(text))


def list_rows(rows: Sequence[Agreement], tables: Sequence[Table]) -> Iterator[tuple[str, Rows]]:
    """Every table with its name: the ranked agreement with ratings, then the others by their titles."""
    yield AGREEMENT, [agreement_cells(row) for group in group_rows(rows).values() for row in group]
    for table in tables:
        yield table.title, table.rows


def json_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a row for results.json, the interval of an estimate `NAME` as `NAME_interval`."""
    found: dict[str, Any] = {}
    for name, cell in row.items():
        if isinstance(cell, Estimate):
            found |= {name: cell.value, f"{name}_interval": [cell.low, cell.high]}
        else:
            found[name] = cell
    return found


def text_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns whose cells are all texts.

    >>> text_columns([{"metric": "bleu", "n": 3}, {"metric": "mars", "n": 4}])
    ['metric']
    """
    return [name for name in shown_columns(rows) if all(isinstance(row[name], str) for row in rows)]


def group_rows(rows: Sequence[Agreement]) -> dict[str, list[Agreement]]:
    """The rows of each set, aspect and grouping, sorted by Spearman: the best first, an undefined one last."""
    groups: dict[str, list[Agreement]] = {}
    for row in rows:
        names = [row.set, row.aspect, *([] if row.grouping == "global" else [row.grouping])]
        groups.setdefault(" · ".join(names), []).append(row)
    for group in groups.values():
        group.sort(key=_rank)
    return groups


def _rank(row: Agreement) -> tuple[float, str]:
    return math.inf if math.isnan(row.spearman.value) else -row.spearman.value, row.metric


def terminal_table(columns: Sequence[str], lines: Sequence[Sequence[Any]], title: str) -> TerminalTable:
    """A table for the terminal; long texts are cut, which the page and results.json hold whole."""
    table = TerminalTable(
        *map(literal, columns), title=literal(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for line in lines:
        table.add_row(*(literal(shorten(format_cell(cell), LONGEST_CELL)) for cell in line))
    return table


def terminal_tables(tables: Sequence[Table], width: int) -> Iterator[Group]:
    """The tables of an outcome for the terminal, with the columns that fit into `width`.

    Below a table are the reasons, each once, and the other columns: with their value if all rows have the same one,
    else by name, because the page shows them.
    """
    for table in tables:
        names, below = arrange(table.rows)
        constant = constant_columns(names, table.rows)
        fitting = fitting_columns(names, constant, table.rows, width)
        title = "\n".join(filter(None, [table.title, table.finding]))
        shown = terminal_table(fitting, [[row[name] for name in fitting] for row in table.rows if names], title)
        hidden = [name for name in names if name not in fitting]
        if same := [f"{name} {format_cell(table.rows[0][name])}" for name in hidden if name in constant]:
            below.append(f"in every row: {', '.join(same)}")
        if more := [name for name in hidden if name not in constant]:
            below.append(f"on the page: {', '.join(more)}")
        yield _explain(shown, below)


def _explain(table: TerminalTable, below: Sequence[str]) -> Group:
    """The table, or its title alone where it has no columns, with sentences below it."""
    head = table if table.columns else f"[bold]{table.title}[/]"
    return Group(head, *(f"[dim italic]{literal(line)}[/]" for line in below), *([""] if below else []))


def constant_columns(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns with the same cell in every row, but those of the verdict; of a single row those of `SUBJECT`."""
    if len(rows) == 1:
        return [name for name in names if name in SUBJECT]
    return [name for name in names if name not in VERDICT and len({format_cell(row[name]) for row in rows}) == 1]


def fitting_columns(
    names: Sequence[str], constant: Sequence[str], rows: Sequence[Mapping[str, Any]], width: int
) -> list[str]:
    """The columns that fit into `width` characters; texts can be squeezed, numbers not.

    The leading texts (of three columns) and the p-value always stay; then come the rest of the verdict, short texts,
    the others in their order, and constant ones last.
    """
    cells = {name: max(cell_len(format_cell(row[name])) for row in rows) for name in names}
    texts, used, chosen = text_columns(rows), 1, []
    varying = [name for name in names if name not in constant]
    always = [name for i, name in enumerate(varying) if i == 0 or (i < 3 and name in texts) or name == "p_value"]
    verdict = [name for name in VERDICT if name in varying]
    short = [name for name in varying if name in texts and cells[name] <= SQUEEZED_CELL]
    for name in dict.fromkeys([*always, *verdict, *short, *varying, *constant]):
        cell = min(cells[name], SQUEEZED_CELL) if name in texts else cells[name]
        needed = max(cell_len(printable(name)), cell) + 3
        if used + needed <= width or name in always:
            used += needed
            chosen.append(name)
    return [name for name in names if name in chosen]


def agreement_tables(rows: Sequence[Agreement], width: int) -> Iterator[Group]:
    """One table per set, aspect and grouping, best Spearman first, with the columns that fit into `width`.

    The page shows all columns. Synthetic sets are marked. Unscored and truncated examples have a column if any exist,
    and what is undefined in every row has a sentence.
    """
    for name, group in group_rows(rows).items():
        mark = " (synthetic: not rated by people)" if group[0].synthetic else ""
        cells = [agreement_cells(row) for row in group]
        columns = [column for column in COLUMNS if column.from_width <= width and column.of in cells[0]]
        wanted = dict.fromkeys(["metric", *(column.of for column in columns)])
        defined, below = arrange([{each: row[each] for each in wanted} for row in cells])
        columns = [column for column in columns if column.of in defined and any(map(column.show, cells))]
        table = terminal_table([], [], f"{name}{mark}")
        if defined:
            table.add_column("metric", no_wrap=True)
            for column in columns:
                table.add_column(column.name, justify="right", no_wrap=True)
            for row in cells:
                table.add_row(literal(row["metric"]), *(column.show(row) or column.missing for column in columns))
        yield _explain(table, below)


@dataclass(frozen=True)
class _Column:
    """A column of an agreement table: its name, its cell, and the smallest terminal width that shows it.

    A column without any cell to show is left out.
    """

    name: str
    of: str
    from_width: int = 0
    missing: str = ""

    def show(self, row: Mapping[str, Any]) -> str:
        """The number or the interval; nothing for an undefined interval and for a count of 0."""
        cell = row[self.of]
        if self.name == INTERVAL:
            return format_interval(cell)
        if self.of in ("unscored", "truncated") and not cell:
            return ""
        number = format_number(cell.value) if isinstance(cell, Estimate) else format_cell(cell)
        return f"[bold]{number}[/]" if self.of == "spearman" else number


INTERVAL = "95 %"
COLUMNS = (
    _Column("n", "n", 90),
    _Column("Spearman", "spearman"),
    _Column(INTERVAL, "spearman", 0, "–"),
    _Column("beyond cues", "beyond_cues", 80),
    _Column(INTERVAL, "beyond_cues", 100, "–"),
    _Column("Pearson", "pearson", 120),
    _Column(INTERVAL, "pearson", 160, "–"),
    _Column("Kendall", "kendall", 130),
    _Column(INTERVAL, "kendall", 160, "–"),
    _Column("accuracy", "calibrated_accuracy", 150),
    _Column("unscored", "unscored", 110),
    _Column("cut", "truncated", 110),
)


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
    names = [name for name in shown_columns(rows) if name != "reason"]
    lines = [[row[name] for name in names] for row in rows]
    head, *body = [" & ".join(map(_latex_cell, line)) + r" \\" for line in [names, *lines]]
    columns = "l" + "r" * (len(names) - 1)
    begin, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
    parts = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end]
    return "\n".join(parts) + "\n"


def markdown_text(cell: Any) -> str:
    """The cell as text that renders as it stands: without HTML, links and pictures."""
    text = _one_line(cell)
    return MARKDOWN.sub(r"\\\g<0>", escape(text, quote=False)) if isinstance(cell, str) else text


def csv_field(cell: str | float) -> str | float:
    """The cell; a spreadsheet takes a text after an apostrophe for a text, also if it looks like a formula."""
    if not isinstance(cell, str):
        return cell
    return f"'{printable(cell)}" if FORMULA.match(cell) else printable(cell)


def _one_line(cell: Any) -> str:
    return " ".join(format_cell(cell).split())


def _latex_cell(cell: Any) -> str:
    return "".join(LATEX.get(character, character) for character in _one_line(cell))
