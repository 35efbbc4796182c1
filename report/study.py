"""Study: the answer of a verb or of an experiment, with its tables and notes, for terminals, notebooks and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import SettingError
from report.tables import Table, list_reasons
from report.terminal import table_width
from report.wording import literal

if TYPE_CHECKING:  # keeps matplotlib out of the start
    from matplotlib.figure import Figure
    from rich.console import Console

    from meta_eval.scored_set import ScoredSet


@dataclass(frozen=True)
class SavedModel:
    """A model in HF form (`save_pretrained`) that the runner puts into `models/NAME`, and what its card says."""

    folder: Path
    # the metrics of the table of agreement that score with it
    metrics: Sequence[str] = ()
    # the name of the texts that it learned, and their licence; "" where it is not known
    corpus: str = ""
    licence: str = ""


@dataclass(frozen=True, eq=False)
class Study:
    """The answer to a question, with the tables that show it."""

    # what was found, in one sentence
    answer: str = ""
    # agreement with ratings (`report.tables.tabulate_agreement`) comes first
    tables: Sequence[Table] = ()
    # what limits the answer
    notes: Sequence[str] = ()
    # one line that names the settings, models, data and versions
    signature: str = ""
    # the estimates behind the tables, as objects of Python
    found: Any = None
    # conditions of the user that failed (`fail_if`), in sentences; the command then ends with exit code 3
    findings: Sequence[str] = ()
    # draws matplotlib figures by name (`plots/name.png`)
    draw: Callable[[], Mapping[str, Figure]] = dict
    # every score of every example (`scores.jsonl`)
    scored: Sequence[ScoredSet] = ()
    # sets that are not in `scores.jsonl`, that the page shows too
    shown: Sequence[ScoredSet] = ()
    # what judges were asked and what they answered (`answers.jsonl`, `report.asked`)
    asked: Sequence[Mapping[str, Any]] = ()
    # by name
    models: Mapping[str, SavedModel] = field(default_factory=dict)
    # points of the learning curve of each model that was trained here, by the name of its training (`curve.json`)
    curves: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    # further numbers by name (held-out losses, counts)
    figures: Mapping[str, float] = field(default_factory=dict)
    # files that were written where the user asked for them
    files: Sequence[Path] = ()
    # whether this project generated some of the training or rated text
    synthetic: bool = False

    @cached_property
    def plots(self) -> Mapping[str, Figure]:
        """The plots by name."""
        return self.draw()

    @property
    def said(self) -> list[str]:
        """The notes, then the answer."""
        return [*self.notes, *filter(None, [self.answer])]

    @property
    def filled(self) -> list[Table]:
        """The tables that have rows; of the figures too."""
        rows = [{"figure": name, "value": value} for name, value in self.figures.items()]
        tables = [*self.tables, Table("Figures", "", rows)]
        return [table for table in tables if table.rows]

    def __getitem__(self, title: str) -> Table:
        """The table with this title. Raises SettingError if no table has it."""
        titles = [table.title for table in self.tables]
        if title not in titles:
            raise SettingError(f"there is no table {title!r}; the tables are {', '.join(titles)}")
        return self.tables[titles.index(title)]

    def to_frame(self, title: str | None = None) -> Any:
        """The table of this title, or the first one with rows, as a DataFrame (see `Table.to_frame`).

        Raises SettingError without pandas, and for a title that no table has.
        """
        table = next(iter(self.filled), Table("", "", ())) if title is None else self[title]
        return table.to_frame()

    def print(self, out: Console, name: Callable[[Path], str] = str) -> None:
        """Prints tables, why values are missing, notes, the answer and the names of written files."""
        width = table_width(out)
        for table in self.filled:
            out.print(table.to_terminal(width))
        for line in list_reasons(self.tables):
            out.print(f"[dim italic]{literal(line)}[/]")
        for note in self.said:
            out.print(f"[bold yellow]![/] {literal(note)}")
        for file in self.files:
            out.print(literal(f"wrote {name(file)}"))

    def _repr_html_(self) -> str:
        tables = "".join(table._repr_html_() for table in self.tables if table.rows)
        above = f"<p>{escape(self.answer)}</p>" if self.answer else ""
        below = "".join(f"<p>{escape(note)}</p>" for note in (*self.notes, self.signature))
        return f"{above}{tables}{below}"
