"""Outcome: the result of an experiment or of a verb, which the report shows and the run folder keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from report.tables import Table
from report.terminal import table_width
from report.wording import Headline, literal

if TYPE_CHECKING:  # keeps matplotlib out of the start
    from matplotlib.figure import Figure
    from rich.console import Console

    from meta_eval.scored_set import ScoredSet
    from report.asked import Asked


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment or of a verb."""

    # one line that names the experiment, its settings, models, data and versions
    signature: str
    # agreement with ratings (`report.tables.tabulate_agreement`) comes first
    tables: Sequence[Table] = ()
    # every score of every example (`scores.jsonl`)
    scored: Sequence[ScoredSet] = ()
    # sets that are not in `scores.jsonl`, that the page shows too
    shown: Sequence[ScoredSet] = ()
    # what judges were asked and what they answered (`answers.jsonl`)
    asked: Sequence[Asked] = ()
    # matplotlib figures by name (`plots/name.png`)
    plots: Mapping[str, Figure] = field(default_factory=dict)
    # folders in HF form (`save_pretrained`) by name; the runner puts them into `models/name`
    models: Mapping[str, Path] = field(default_factory=dict)
    # the metrics of the table of agreement that score with a model, by the name of the model
    metrics_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # the name of the texts that the models learned, and their licence; "" where there are none or it is not known
    corpus: str = ""
    licence: str = ""
    # points of the learning curve of each model that was trained here, by the name of its training (`curve.json`)
    curves: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    # warnings, shown with every table
    notes: Sequence[str] = ()
    # further numbers by name (held-out losses, counts)
    figures: Mapping[str, float] = field(default_factory=dict)
    # files that the experiment wrote outside the run folder, where the user asked for them
    files: Sequence[Path] = ()
    # a file whose content goes to standard output; the tables then go to standard error
    printed: Path | None = None
    # whether this project generated some of the training or rated text
    synthetic: bool = False
    # what the run is about, for the heading of its page; "" for its metrics and sets
    title: str = ""


def print_outcome(outcome: Outcome, out: Console, name: Callable[[Path], str] = str) -> None:
    """Prints tables, figures, notes and the names of written files; of a long answer only the full form."""
    tables = [*outcome.tables]
    if outcome.figures:
        rows = [{"figure": figure, "value": value} for figure, value in outcome.figures.items()]
        tables.append(Table("Figures", "", rows))
    width = table_width(out)
    for table in tables:
        out.print(table.to_terminal(width))
    notes = [note for note in outcome.notes if not isinstance(note, Headline)]
    for note in notes:
        out.print(f"[bold yellow]![/] {literal(note)}")
    for file in outcome.files:
        out.print(literal(f"wrote {name(file)}"))
