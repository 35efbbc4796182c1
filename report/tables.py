"""Tables of results: rows of cells with a title and a caption, for terminals, notebooks, pages, files and pandas.

A cell is a text, a number, or an estimate, which is shown with its interval. Other values (a list, a mapping) go into
results.json only.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from rich import box
from rich.console import Group
from rich.constrain import Constrain
from rich.table import Table as TerminalTable

from core.errors import FindingError, SettingError, printable
from core.extras import suggest_extra
from meta_eval.estimates import Estimate
from report.column_choice import LONGEST_CELL, VERDICT, choose_for_paper, choose_for_terminal, list_constant
from report.wording import (
    collect_reasons,
    csv_field,
    format_cell,
    join_lines,
    join_names,
    latex_text,
    literal,
    markdown_text,
    shorten,
)

if TYPE_CHECKING:  # keeps matplotlib out of the start
    from matplotlib.figure import Figure

    from report.outcome import Outcome

NAME_CELL = 30  # characters of a name, which stands before the verdict on a page
WIDE = 6  # columns; with more, those of one value become a sentence on pages
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """A table: rows of cells, a title and a caption."""

    title: str
    # what the columns are, their units and direction
    caption: str
    rows: Sequence[Row]
    # what the table shows, in words; stands above it
    finding: str = ""
    # the name of its files, and of its rows in results.json; "" for the title
    key: str = ""

    @property
    def name(self) -> str:
        """The name of the table in files: its key, or else its title."""
        return self.key or self.title

    @property
    def columns(self) -> list[str]:
        """The columns that have a text, a number or an estimate in some row."""
        kinds = str | int | float | Estimate
        shown: dict[str, None] = {}
        for row in self.rows:
            shown |= {name: None for name, cell in row.items() if isinstance(cell, kinds)}
        return [*shown]

    @property
    def texts(self) -> list[str]:
        """The columns whose cells are all texts."""
        return [name for name in self.columns if all(map(_is_text, self._list_cells(name)))]

    def _list_cells(self, name: str) -> list[Any]:
        """The cell of this column in each row; None if a row lacks it."""
        return [row.get(name) for row in self.rows]

    def _format_column(self, name: str) -> list[str]:
        """The cells of this column as text; a cell that a row lacks is empty."""
        return [format_cell(row.get(name, "")) for row in self.rows]

    def arrange(self) -> tuple[list[str], list[str]]:
        """Chooses the columns to show, and the sentences below: the reasons for undefined values, each once.

        A column that is undefined in every row becomes a sentence. If no estimate is left, there are no columns.

        >>> row = {"metric": "bleu", "tau": Estimate.undefined("too few")}
        >>> Table("", "", [{**row, "r": 0.5}, {**row, "r": 0.1}]).arrange()
        (['metric', 'r'], ['tau is undefined: too few'])
        >>> Table("", "", [row]).arrange()
        ([], ['tau is undefined: too few'])
        """
        columns: list[str] = []
        undefined: dict[str, list[str]] = {}
        for name in self.columns:
            if name == "reason":
                continue
            if all(map(_is_undefined, self._list_cells(name))):
                names = undefined.setdefault(self._explain_undefined(name), [])
                names.append(name)
            else:
                columns.append(name)
        if undefined and not any(map(self._has_estimates, columns)):
            columns = []
        below = [f"{_say_they_are(names)} undefined: {why}" for why, names in undefined.items()]
        if columns:
            below += self._explain_gaps(columns)
            below += self._list_reasons(columns[0], [*undefined])
        return columns, list(dict.fromkeys(below))

    def _has_estimates(self, name: str) -> bool:
        """Whether a column holds an estimate, or a number that is no count."""
        return any(isinstance(cell, float | Estimate) for cell in self._list_cells(name))

    def _explain_undefined(self, name: str) -> str:
        """Why a column is undefined in every row."""
        reasons = dict.fromkeys(getattr(row[name], "reason", row.get("reason")) for row in self.rows)
        return "; ".join(filter(None, reasons)) or "no row has a value"

    def _explain_gaps(self, columns: Sequence[str]) -> list[str]:
        """Why cells are dashes or lack an interval: each reason once, with the columns and the rows that have it."""
        names = self._format_column(columns[0])
        lacking_columns: dict[tuple[str, str], list[str]] = {}
        lacking_rows: dict[tuple[str, str], list[str]] = {}
        for row, name in zip(self.rows, names, strict=True):
            for column in columns:
                cell = row.get(column)
                if isinstance(cell, Estimate) and cell.reason:
                    lacking = "no" if _is_undefined(cell) else "no interval of"
                    gap = (lacking, cell.reason)
                    lacking_columns.setdefault(gap, []).append(column)
                    lacking_rows.setdefault(gap, []).append(name)
        lines: list[str] = []
        for gap in lacking_columns:
            lacking, reason = gap
            measures = join_names([*dict.fromkeys(lacking_columns[gap])])
            rows = [*dict.fromkeys(lacking_rows[gap])]
            is_everywhere = len(rows) == len({*names}) > 1
            where = "in any row" if is_everywhere else f"for {join_names(rows)}"
            lines.append(f"{lacking} {measures} {where}: {reason}")
        return lines

    def _list_reasons(self, first: str, known: Sequence[str]) -> list[str]:
        """The reasons that rows give for themselves, other than those of their estimates."""
        lines: list[str] = []
        for row in self.rows:
            reason = row.get("reason")
            if reason and reason not in (*known, collect_reasons(row)):
                lines.append(f"{format_cell(row.get(first, ''))}: {reason}")
        return lines

    def lay_out(self) -> tuple[list[str], list[str]]:
        """The order of columns for a page, and the sentences below the table.

        In a wide table names come first, then the columns of `VERDICT`; a constant column becomes a sentence.

        >>> rows = [{"m": r, **dict.fromkeys("uvwxyz", 1), "better": r, "r": r} for r in ("a", "b")]
        >>> Table("", "", rows).lay_out()
        (['m', 'r', 'better'], ['in every row: u 1, v 1, w 1, x 1, y 1, z 1'])
        """
        names, below = self.arrange()
        if len(names) <= WIDE:
            return names, below
        cells = {name: self._format_column(name) for name in names}
        same: list[str] = []
        if len(self.rows) > 1:
            same = list_constant(cells)
        if same:
            below.append(_say_same(same, cells))
        verdict = [name for name in VERDICT if name in names]
        if verdict:
            short = self._list_names(cells)
            names = list(dict.fromkeys([*short, *verdict, *names]))
        return [name for name in names if name not in same], below

    def _list_names(self, cells: Mapping[str, Sequence[str]]) -> list[str]:
        """The columns of short texts outside the verdict, and the first column if it holds texts."""
        first = next(iter(cells))
        names: list[str] = []
        for name in self.texts:
            if name not in cells or name in VERDICT:
                continue
            if name == first or max(map(len, cells[name])) <= NAME_CELL:
                names.append(name)
        return names

    def flatten(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Lists the rows with these columns (default: all); intervals are in columns `NAME_low` and `NAME_high`."""
        wanted = self.columns if names is None else names
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            chosen = {name: cell for name, cell in row.items() if name in wanted}
            rows.append(_split_estimates(chosen, lambda low, high: {"low": low, "high": high}))
        return rows

    def to_json(self) -> list[dict[str, Any]]:
        """Rows for results.json; the interval of an estimate `NAME` is in `NAME_interval`."""
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            cells = _split_estimates(row, lambda low, high: {"interval": [low, high]})
            cells["table"] = self.name
            rows.append(cells)
        return rows

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame; the interval of an estimate `NAME` is in `NAME_low` and `NAME_high`.

        Raises SettingError if pandas is not installed.
        """
        with suggest_extra():
            import pandas
        names = dict.fromkeys(name for row in self.rows for name in row)
        return pandas.DataFrame(self.flatten([*names]))

    def to_html(self) -> str:
        """The table for a notebook, with its caption."""
        names, below = self.lay_out()
        parts = [f"<h4>{escape(self.title)}</h4>"]
        if self.finding:
            parts.append(_to_paragraph(self.finding))
        if names:
            head = "".join(f"<th>{escape(name)}</th>" for name in names)
            lines = [head, *self._list_html_rows(names)]
            rows = "".join(f"<tr>{line}</tr>" for line in lines)
            parts.append(f"<table>{rows}</table>")
        parts += map(_to_paragraph, [*below, self.caption])
        return "".join(parts)

    def _list_html_rows(self, names: Sequence[str]) -> list[str]:
        rows: list[str] = []
        for row in self.rows:
            cells = [escape(format_cell(row.get(name, ""))) for name in names]
            rows.append("".join(f"<td>{cell}</td>" for cell in cells))
        return rows

    def to_markdown(self, linked: str | None = None) -> str:
        """The columns as a Markdown table, with intervals; missing cells are empty.

        A cell of the column `linked` becomes a link to the page of this name, `CELL.md`.

        >>> Table("", "", [{"metric": "ours", "n": 3}]).to_markdown().splitlines()
        ['| metric | n |', '| --- | --- |', '| ours | 3 |']
        """
        names = self.columns
        head = [markdown_text(name) for name in names]
        lines = [head, ["---"] * len(names)]
        for row in self.rows:
            texts = {name: markdown_text(row.get(name, "")) for name in names}
            if linked in texts:
                texts[linked] = f"[{texts[linked]}]({texts[linked]}.md)"
            lines.append([*texts.values()])
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def to_latex(self) -> str:
        r"""A LaTeX tabular (package booktabs), with intervals; a comment names the columns that it leaves out.

        Undefined columns and columns of sentences are left out, and columns that do not fit the width of a paper.

        >>> Table("", "", [{"metric": "a_b", "r": -0.25}]).to_latex().splitlines()[3:5]
        ['\\midrule', 'a\\_b & $-$0.250 \\\\']
        """
        names, below = self.lay_out()
        cells = {name: [*map(join_lines, self._format_column(name))] for name in names}
        fitting = choose_for_paper(cells, self.texts)
        left = [name for name in names if name not in fitting]
        if left:
            below.append(f"in the other files: {', '.join(left)}")
        comments = [f"% {join_lines(line)}" for line in below]
        if not fitting:
            return "\n".join([*comments, ""])
        texts = self.texts
        aligned = "".join("l" if name in texts else "r" for name in fitting)
        columns = [cells[name] for name in fitting]
        lines = [
            *comments,
            rf"\begin{{tabular}}{{{aligned}}}",
            r"\toprule",
            _to_latex_line(fitting),
            r"\midrule",
            *map(_to_latex_line, zip(*columns, strict=True)),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
        return "\n".join(lines)

    def write_csv(self, file: IO[str]) -> None:
        """Writes the columns as CSV; an apostrophe keeps spreadsheets from evaluating a text as a formula."""
        rows = self.flatten()
        head: dict[str, str] = {}
        for row in rows:
            head |= {name: name for name in row}
        writer = csv.DictWriter(file, [*head], lineterminator="\n")
        for row in [head, *rows]:
            writer.writerow({name: csv_field(cell) for name, cell in row.items()})

    def to_terminal(self, width: int) -> Group:
        """Lays out the table for a terminal, with the columns that fit into `width`; long texts are cut.

        Below the table are the reasons for undefined values, and the columns that did not fit: a constant column with
        its value, any other by name.
        """
        names, below = self.arrange()
        cells = {name: self._format_column(name) for name in names}
        constant = list_constant(cells)
        fitting = choose_for_terminal(cells, self.texts, constant, width)
        same = [name for name in constant if name not in fitting]
        if same:
            below.append(_say_same(same, cells))
        more = [name for name in names if name not in (*fitting, *constant)]
        if more:
            below.append(f"on the page: {', '.join(more)}")
        title = "\n".join(map(literal, filter(None, [self.title, self.finding])))
        parts: list[Any] = [f"[bold]{title}[/]"]  # as a title of the table it would be broken at the table's width
        if fitting:
            shown = _to_terminal_table({name: cells[name] for name in fitting})
            parts.append(Constrain(shown, width))
        parts += [f"[dim italic]{literal(line)}[/]" for line in below]
        if below:
            parts.append("")
        return Group(*parts)


class Result:
    """The result of a verb; notebooks show its `tables`, `notes` and `signature`, and pandas can read the tables."""

    def present(self: Any) -> Outcome:
        """The outcome that the terminal and the page show, without plots."""
        from report.outcome import Outcome

        return Outcome(self.signature, tables=self.tables, notes=self.notes)

    def draw(self) -> Mapping[str, Figure]:
        """The plots of the page, by name."""
        return {}

    @property
    def findings(self) -> Sequence[str]:
        """The failed conditions of the user (`fail_if`) in sentences; the command then ends with exit code 3."""
        return ()

    def raise_findings(self) -> None:
        """Raises FindingError if there are findings, for use in tests."""
        if self.findings:
            raise FindingError(self.findings)

    def to_frame(self: Any, title: str | None = None) -> Any:
        """The table of this title, or the first one, as a DataFrame (see `Table.to_frame`).

        Raises SettingError without pandas, and for a title that no table has.
        """
        tables: dict[str, Table] = {table.title: table for table in self.tables}
        if title is not None and title not in tables:
            raise SettingError(f"there is no table {title!r}; the tables are {', '.join(tables)}")
        return tables[title or next(iter(tables))].to_frame()

    def _repr_html_(self: Any) -> str:
        *notes, answer = self.notes or ("",)  # the last note answers the question: it comes first, as on pages
        below = to_html(self.tables, [*notes, self.signature])
        if not answer:
            return below
        return f"<p>{escape(answer)}</p>{below}"


def to_html(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """The tables for a notebook, then the notes."""
    parts = [table.to_html() for table in tables]
    parts += [f"<p>{escape(note)}</p>" for note in notes]
    return "".join(parts)


def tabulate(title: str, caption: str, rows: Iterable[Row]) -> Table:
    """Makes a table. A row without a reason gets the reasons why its estimates are undefined."""
    explained: list[Row] = []
    for row in rows:
        reason = row.get("reason") or collect_reasons(row)
        explained.append({**row, "reason": reason})
    return Table(title, caption, explained)


def pick(
    figures: object,
    columns: Iterable[str],
    /,
    **names: Any,
) -> dict[str, Any]:
    """Makes a row: first the cells `names`, then the attributes of `figures` that `columns` lists."""
    row = dict(names)
    for column in columns:
        row[column] = getattr(figures, column)
    return row


def _split_estimates(
    row: Row,
    ends: Callable[[float, float], Row],
) -> dict[str, Any]:
    """Flattens estimates: `NAME` keeps the value, `NAME_END` the ends of the interval."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        if not isinstance(cell, Estimate):
            cells[name] = cell
            continue
        cells[name] = cell.value
        low = math.nan if cell.reason else cell.low
        high = math.nan if cell.reason else cell.high
        for end, value in ends(low, high).items():
            cells[f"{name}_{end}"] = value
    return cells


def _to_terminal_table(cells: Mapping[str, Sequence[str]]) -> TerminalTable:
    """The columns as a table of a terminal; long texts are cut."""
    shown = TerminalTable(box=box.SIMPLE_HEAD)
    for name in cells:
        shown.add_column(literal(name), overflow="fold")
    for line in zip(*cells.values(), strict=True):
        shortened = [literal(shorten(cell, LONGEST_CELL)) for cell in line]
        shown.add_row(*shortened)
    return shown


def _to_latex_line(cells: Iterable[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"


def _is_text(cell: Any) -> bool:
    return isinstance(cell, str)


def _is_undefined(cell: Any) -> bool:
    if isinstance(cell, Estimate):
        cell = cell.value
    return isinstance(cell, float) and math.isnan(cell)


def _say_they_are(names: Sequence[str]) -> str:
    return f"{join_names(names)} {'are' if names[1:] else 'is'}"


def _say_same(names: Sequence[str], cells: Mapping[str, Sequence[str]]) -> str:
    """The value that these columns have in every row."""
    values = [f"{name} {cells[name][0]}" for name in names]
    return f"in every row: {', '.join(values)}"


def _to_paragraph(text: str) -> str:
    return f"<p>{escape(printable(text))}</p>"
