"""Tables: formats rows and cells for the terminal, the page, results.json, W&B, Markdown, LaTeX and CSV.

A cell is a text, a number, or an estimate, which is shown with its interval. Other values (a list, a mapping) go into
results.json only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from rich import box, markup
from rich.cells import cell_len
from rich.table import Table as TerminalTable

from core.faults import printable
from judge.tables import Table, agreement_cells, format_cell, format_interval, format_number, shorten, shown_columns
from meta_eval.agreement import Agreement
from meta_eval.bootstrap import Estimate

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


def flat_cells(row: Mapping[str, Any]) -> dict[str, str | float]:
    """One text or number per column; the interval of an estimate `NAME` as `NAME_low` and `NAME_high`."""
    found: dict[str, str | float] = {}
    for name in shown_columns([row]):
        if isinstance(cell := row[name], Estimate):
            found |= {name: cell.value, f"{name}_low": cell.low, f"{name}_high": cell.high}
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


def terminal_tables(tables: Sequence[Table], width: int) -> Iterator[TerminalTable]:
    """The tables of an outcome for the terminal, with the columns that fit into `width`.

    Below a table are the reasons, each once, and the names of the other columns, which the page shows.
    """
    for table in tables:
        names = [name for name in shown_columns(table.rows) if name != "reason"]
        fitting = fitting_columns(names, table.rows, width)
        title = "\n".join(filter(None, [table.title, table.finding]))
        shown = terminal_table(fitting, [[row[name] for name in fitting] for row in table.rows], title)
        below = [f"–: {reason}" for reason in dict.fromkeys(row.get("reason") for row in table.rows) if reason]
        if more := [name for name in names if name not in fitting]:
            below.append(f"on the page: {', '.join(more)}")
        _explain_below(shown, below)
        yield shown


def _explain_below(table: TerminalTable, lines: Sequence[str]) -> None:
    if lines:
        table.caption, table.caption_justify = literal("\n".join(lines)), "left"


def fitting_columns(names: Sequence[str], rows: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """The columns that fit into `width` characters; texts can be squeezed, numbers not.

    The first three and the p-value always stay; then come the adjusted p-value and the others in their order.
    """
    texts, used, chosen = text_columns(rows), 1, []
    always = [*names[:3], *(name for name in names[3:] if name == "p_value")]
    for name in dict.fromkeys([*always, *(name for name in names if name == "holm"), *names]):
        cells = max(cell_len(format_cell(row[name])) for row in rows)
        used += max(cell_len(printable(name)), min(cells, SQUEEZED_CELL) if name in texts else cells) + 3
        if used > width and name not in always:
            break
        chosen.append(name)
    return [name for name in names if name in chosen]


def agreement_tables(rows: Sequence[Agreement], width: int) -> Iterator[TerminalTable]:
    """One table per set, aspect and grouping, best Spearman first, with the columns that fit into `width`.

    The page shows all columns. Synthetic sets are marked. Unscored and truncated examples have a column if any exist.
    """
    for name, group in group_rows(rows).items():
        mark = " (synthetic: not rated by people)" if group[0].synthetic else ""
        columns = [column for column in COLUMNS if column.from_width <= width]
        columns = [column for column in columns if not column.if_any or any(column.cell(row) for row in group)]
        table = terminal_table([], [], f"{name}{mark}")
        table.add_column("metric", no_wrap=True)
        for column in columns:
            table.add_column(column.name, justify="right", no_wrap=True)
        for row in group:
            table.add_row(literal(row.metric), *(column.cell(row) for column in columns))
        estimates = (estimate for row in group for estimate in (row.pearson, row.spearman, row.kendall))
        _explain_below(table, [f"–: {reason}" for reason in dict.fromkeys(e.reason for e in estimates) if reason])
        yield table


@dataclass(frozen=True)
class _Column:
    """A column of an agreement table: its name, its cells, and the smallest terminal width that shows it."""

    name: str
    cell: Callable[[Agreement], str]
    from_width: int = 0
    if_any: bool = False


COLUMNS = (
    _Column("n", lambda row: str(row.n), 90),
    _Column("Spearman", lambda row: f"[bold]{format_number(row.spearman.value)}[/]"),
    _Column("95 %", lambda row: format_interval(row.spearman) or "–"),
    _Column("beyond cues", lambda row: format_number(row.beyond_cues.value), 80),
    _Column("95 %", lambda row: format_interval(row.beyond_cues) or "–", 100),
    _Column("Pearson", lambda row: format_number(row.pearson.value), 120),
    _Column("95 %", lambda row: format_interval(row.pearson) or "–", 160),
    _Column("Kendall", lambda row: format_number(row.kendall.value), 130),
    _Column("95 %", lambda row: format_interval(row.kendall) or "–", 160),
    _Column("accuracy", lambda row: format_cell(row.further.get("calibrated_accuracy", "")), 150, if_any=True),
    _Column("unscored", lambda row: str(row.unscored or ""), 110, if_any=True),
    _Column("cut", lambda row: str(row.truncated or ""), 110, if_any=True),
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
    names = shown_columns(rows)
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
