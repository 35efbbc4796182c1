"""Terminal: what a run shows while it goes and when it ends. Standard output has results, standard error the rest."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from experiments.report.results import grouped, shown_columns
from experiments.runner import contracts
from experiments.runner.contracts import Interval, Row

WIDTH_OF_A_FILE = 160  # columns where the output is no terminal


def watched() -> bool:
    """Whether somebody looks: standard error is a terminal."""
    return sys.stderr.isatty()


def console(stderr: bool = False) -> Console:
    """A console on standard output (or standard error), wide enough for a table where it is a file."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else WIDTH_OF_A_FILE, highlight=False, soft_wrap=stderr)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of `total` steps, yielded as `advance(steps)`; none where nobody looks."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not watched(), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(steps: int) -> None:
            bar.advance(task, steps)

        yield advance


def number(value: float) -> str:
    """Three decimals, or a dash where it is not defined.

    >>> number(0.12345), number(float("nan"))
    ('0.123', '–')
    """
    return "–" if math.isnan(value) else f"{value:.3f}"


def interval(bounds: Interval) -> str:
    """An interval in brackets, or nothing where it is not defined.

    >>> interval((-0.1, 0.25))
    '[-0.10, 0.25]'
    """
    return "" if any(math.isnan(bound) for bound in bounds) else f"[{bounds[0]:.2f}, {bounds[1]:.2f}]"


def agreement_tables(rows: Sequence[Row], width: int) -> Iterator[Table]:
    """One table per set and aspect, best Spearman first, with the columns that go into `width`; report.html has all.

    A set that this project generates is marked, and unscored and cut examples are shown where there are any.
    """
    for (name, aspect), group in grouped(rows).items():
        mark = " (synthetic: the ratings are not people's)" if group[0].synthetic else ""
        table = Table(title=f"{name} · {aspect}{mark}", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        table.add_column("metric", no_wrap=True)
        columns = [column for column in AGREEMENT if column.from_width <= width]
        columns = [column for column in columns if not column.if_any or any(column.cell(row) for row in group)]
        for column in columns:
            table.add_column(column.name, justify="right", no_wrap=True)
        for row in group:
            table.add_row(escape(row.metric), *(column.cell(row) for column in columns))
        yield table


@dataclass(frozen=True)
class _Column:
    """A column of an agreement table: its name, its cells, and from which width of the terminal it is shown."""

    name: str
    cell: Callable[[Row], str]
    from_width: int = 0
    if_any: bool = False


AGREEMENT = (
    _Column("n", lambda row: str(row.n), 90),
    _Column("Spearman", lambda row: f"[bold]{number(row.spearman)}[/]"),
    _Column("95 %", lambda row: interval(row.spearman_interval)),
    _Column("Pearson", lambda row: number(row.pearson)),
    _Column("95 %", lambda row: interval(row.pearson_interval), 140),
    _Column("Kendall", lambda row: number(row.kendall), 100),
    _Column("95 %", lambda row: interval(row.kendall_interval), 140),
    _Column("length", lambda row: number(row.word_count_spearman), 80),  # Spearman with the number of words
    _Column("unscored", lambda row: str(row.unscored or ""), 110, if_any=True),
    _Column("cut", lambda row: str(row.truncated or ""), 110, if_any=True),
)


def other_tables(tables: Sequence[contracts.Table]) -> Iterator[Table]:
    """Tables of other kinds, an interval after its number."""
    for table in tables:
        names = shown_columns(table.rows)
        lines = [[_with_interval(row, name) for name in names] for row in table.rows]
        yield plain_table(names, lines, table.title)


def _with_interval(row: Mapping[str, Any], name: str) -> Any:
    bounds = row.get(f"{name}_interval")
    return row[name] if bounds is None else f"{number(row[name])} {interval(bounds)}".strip()


def plain_table(columns: Sequence[str], lines: Sequence[Sequence[Any]], title: str) -> Table:
    """Any table."""
    table = Table(*columns, title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for line in lines:
        table.add_row(*(number(cell) if isinstance(cell, float) else escape(str(cell)) for cell in line))
    return table
