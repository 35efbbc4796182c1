"""Tables of results: rows of cells with a title and a caption, for terminals, notebooks, pages, files and pandas.

A cell is a text, a number, or an estimate, which is shown with its interval. Other values (a list, a mapping) go into
results.json only. A table says which of its columns a terminal and a paper show; pages and files have all.
"""

from __future__ import annotations

import csv
import math
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import (
    IO,
    Any,
    TypeAlias,
)

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.constrain import Constrain
from rich.table import Table as TerminalTable

from core.errors import printable
from core.extras import suggest_extra
from meta_eval.estimates import Estimate
from report.wording import (
    csv_field,
    format_cell,
    join_lines,
    join_names,
    latex_text,
    literal,
    markdown_text,
    shorten,
)

Row: TypeAlias = Mapping[str, Any]
MOST_SHOWN = 8  # columns of a terminal
LONGEST_CELL = 60  # characters of a text on a terminal
PAPER = 100  # characters of a LaTeX table across both columns of a paper
GAP = 3  # characters between columns
KINDS = str | int | float | Estimate  # of cells that tables show


@dataclass(frozen=True)
class Table:
    """A table: rows of cells, a title and a caption."""

    title: str
    # what the columns are, their units and direction
    caption: str
    rows: Sequence[Row]
    # the columns for a terminal and a paper, the most important first; () for the first ones
    shown: Sequence[str] = ()
    # the name of its files, and of its rows in results.json; "" for the title
    key: str = ""
    # how many rows are shown; a table in a file has all
    head: int | None = None

    @property
    def name(self) -> str:
        """The name of the table in files: its key, or else its title."""
        return self.key or self.title

    @property
    def columns(self) -> list[str]:
        """The columns that have a text, a number or an estimate in some row, without the reasons of rows."""
        names: dict[str, None] = {}
        for row in self.rows:
            names |= {name: None for name, cell in row.items() if isinstance(cell, KINDS)}
        return [name for name in names if name != "reason"]

    @property
    def known(self) -> list[str]:
        """The columns that have a value in some row: those that are shown come first."""
        names = dict.fromkeys([*self.shown, *self.columns])
        return [name for name in names if not all(map(is_missing, self.get_column(name)))]

    @property
    def texts(self) -> list[str]:
        """The columns whose cells are all texts."""
        return [name for name in self.columns if {*map(type, self.get_column(name))} == {str}]

    def get_column(self, name: str) -> list[Any]:
        """Returns the cells of a column; a cell that a row lacks is an empty text."""
        return [row.get(name, "") for row in self.rows]

    def format_column(self, name: str) -> list[str]:
        """Writes the cells of a column, those that are shown, as text on one line each."""
        return [*map(join_lines, self.get_column(name)[: self.head])]

    def fit(self, width: int, longest: int = LONGEST_CELL) -> list[str]:
        """Chooses the columns that fit into `width` characters; texts count as at most `longest` characters.

        The last ones go first, and the first two stay.

        >>> rows = [{"metric": "bleu", "n": 100, "spearman": 0.25, "set": "a"}]
        >>> Table("", "", rows, shown=("metric", "spearman", "n")).fit(23)
        ['metric', 'spearman']
        """
        names = [name for name in self.known if not self.shown or name in self.shown][:MOST_SHOWN]
        sizes: dict[str, int] = {}
        for name in names:
            widest = max(map(cell_len, [name, *self.format_column(name)]))
            sizes[name] = GAP + min(longest, widest)
        while len(names) > 2 and sum(sizes[name] for name in names) >= width:
            names.pop()
        return names

    def flatten(self, names: Container[str] | None = None) -> list[dict[str, Any]]:
        """Lists the rows with these columns (default: all); intervals are in columns `NAME_low` and `NAME_high`.

        `reason` says why a row lacks values or intervals; there is none where no row does.
        """
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            chosen = {name: cell for name, cell in row.items() if names is None or name in names}
            if reason := _join_reasons(row):
                chosen["reason"] = reason
            rows.append(_split_estimates(chosen, lambda low, high: {"low": low, "high": high}))
        return rows

    def to_json(self) -> list[dict[str, Any]]:
        """Rows for results.json; the interval of an estimate `NAME` is in `NAME_interval`."""
        rows: list[dict[str, Any]] = []
        for row in self.rows[: self.head]:
            cells = _split_estimates(row, lambda low, high: {"interval": [low, high]})
            rows.append(
                {
                    **cells,
                    "reason": _join_reasons(row),
                    "table": self.name,
                }
            )
        return rows

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame; the interval of an estimate `NAME` is in `NAME_low` and `NAME_high`.

        Raises SettingError if pandas is not installed.
        """
        with suggest_extra():
            import pandas
        return pandas.DataFrame(self.flatten())

    def _repr_html_(self) -> str:
        """The table for a notebook, with its caption."""
        lines = [self.known, *zip(*map(self.format_column, self.known), strict=True)]
        rows = "".join(f"<tr><td>{'</td><td>'.join(map(escape, line))}</td></tr>" for line in lines)
        below = [*list_reasons([self]), self.caption]
        paragraphs = "".join(f"<p>{escape(printable(text))}</p>" for text in below if text)
        return f"<h4>{escape(self.title)}</h4><table>{rows}</table>{paragraphs}"

    def to_markdown(self) -> str:
        """All columns as a Markdown table, with intervals; missing cells are empty, and reasons stand below.

        >>> Table("", "", [{"metric": "ours", "n": 3}]).to_markdown().splitlines()
        ['| metric | n |', '| --- | --- |', '| ours | 3 |']
        """
        names = self.columns
        columns = [map(markdown_text, self.get_column(name)) for name in names]
        lines = [
            map(markdown_text, names),
            ["---"] * len(names),
            *zip(*columns, strict=True),
        ]
        below = [f"\n{markdown_text(reason)}\n" for reason in list_reasons([self])]
        return "".join([*(f"| {' | '.join(line)} |\n" for line in lines), *below])

    def to_latex(self) -> str:
        r"""A float for LaTeX (package booktabs) with the columns that fit across a paper, the caption, and reasons.

        >>> Table("R", "Of n texts, with 95 % intervals.", [{"metric": "a_b", "r": -0.25}]).to_latex().splitlines()[1:3]
        ['\\caption{R. Of n texts, with 95 \\% intervals.}', '\\begin{tabular}{lr}']
        """
        names: list[str] = []
        for name in self.fit(PAPER, PAPER):
            if max(map(len, self.format_column(name))) <= LONGEST_CELL:
                names.append(name)
        lines = [names, *zip(*map(self.format_column, names), strict=True)]
        head, *body = [" & ".join(map(latex_text, line)) + r" \\" for line in lines]
        aligned = "".join("l" if name in self.texts else "r" for name in names)
        caption = ". ".join(filter(None, [self.title, self.caption]))
        shown = [{name: row.get(name, "") for name in (*names, "reason")} for row in self.rows[: self.head]]
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{latex_text(join_lines(caption))}}}",
                rf"\begin{{tabular}}{{{aligned}}}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                *(rf"\par {latex_text(join_lines(reason))}" for reason in list_reasons([Table("", "", shown)])),
                r"\end{table}",
                "",
            ]
        )

    def write_csv(self, file: IO[str]) -> None:
        """Writes all columns as CSV; an apostrophe keeps spreadsheets from evaluating a text as a formula."""
        rows = self.flatten({*self.columns, "reason"})
        head = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(file, [*head], lineterminator="\n")
        for row in [
            dict(zip(head, head, strict=True)),
            *rows,
        ]:
            writer.writerow({name: csv_field(cell) for name, cell in row.items()})

    def to_terminal(self, width: int) -> Group:
        """Lays out the columns that fit into `width`; long texts are cut."""
        names = self.fit(width, LONGEST_CELL)
        grid = TerminalTable(box=box.SIMPLE_HEAD)
        for name in names:
            grid.add_column(literal(name), overflow="fold")
        for line in zip(*map(self.format_column, names), strict=True):
            grid.add_row(*[literal(shorten(cell, LONGEST_CELL)) for cell in line])
        return Group(f"[bold]{literal(self.title)}[/]", Constrain(grid, width))  # a title would be broken


def pick(figures: object, columns: Iterable[str], /, **names: Any) -> dict[str, Any]:
    """Makes a row: first the cells `names`, then the attributes of `figures` that `columns` lists."""
    return names | {column: getattr(figures, column) for column in columns}


def is_missing(cell: Any) -> bool:
    """Whether a cell has nothing to show: no text, NaN, an estimate without a value, or a list."""
    value = cell.value if isinstance(cell, Estimate) else cell
    if isinstance(value, float):
        return math.isnan(value)
    return value == "" or not isinstance(value, KINDS)


def list_reasons(tables: Iterable[Table]) -> Iterator[str]:
    """Yields why values, or their intervals, are missing from tables: each reason once, with all that it explains.

    >>> few = Estimate.undefined("too few")
    >>> [*list_reasons([Table("", "", [{"metric": "bleu", "r": few, "tau": few}])])]
    ['no r and no tau: too few']
    """
    lacking: dict[str, dict[str, None]] = {}
    for row in chain.from_iterable(table.rows for table in tables):
        of_row: set[str] = set()
        for name, cell in row.items():
            if isinstance(cell, Estimate) and cell.reason:
                what = "no" if is_missing(cell) else "no interval of"
                lacking.setdefault(cell.reason, {})[f"{what} {name}"] = None
                of_row.add(cell.reason)
        own = row.get("reason")
        if own and own not in of_row:
            first, *_ = row.values()
            lacking.setdefault(own, {})[format_cell(first)] = None
    for reason, names in lacking.items():
        yield f"{join_names([*names])}: {reason}"


def _join_reasons(row: Row) -> str:
    """Why the row lacks values or intervals; "" if it lacks none."""
    reasons = [cell.reason for cell in row.values() if isinstance(cell, Estimate) and cell.reason]
    return row.get("reason") or "; ".join(dict.fromkeys(reasons))


def _split_estimates(row: Row, ends: Callable[[float, float], Row]) -> dict[str, Any]:
    """Flattens estimates: `NAME` keeps the value, `NAME_END` the ends of the interval."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        if not isinstance(cell, Estimate):
            cells[name] = cell
            continue
        cells[name] = cell.value
        low = math.nan if cell.reason else cell.low
        high = math.nan if cell.reason else cell.high
        cells |= {f"{name}_{end}": value for end, value in ends(low, high).items()}
    return cells
