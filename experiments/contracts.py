"""Run, Outcome and their tables: what an experiment receives and what it returns.

An experiment is a function of built objects, `experiment(run) -> Outcome`: Hydra builds its arguments from the
configuration; the runner calls it and writes the `Outcome` into the run folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from judge.tables import Table as Table

if TYPE_CHECKING:  # keeps torch and matplotlib out of the start of the runner
    import pytorch_lightning
    from matplotlib.figure import Figure
    from pytorch_lightning.loggers import Logger

    from core.stages import Stages
    from meta_eval.agreement import Agreement
    from meta_eval.scored_set import ScoredSet


class Progress(Protocol):
    """Opens a progress bar, which is shown only when stderr is a terminal."""

    def __call__(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Yields `advance(steps)`."""
        ...


@dataclass(frozen=True)
class Run:
    """What the runner gives to an experiment.

    Attributes:
        name: the experiment's name, as in `+exp=name`.
        folder: the run folder; it exists.
        stages: the kept stages, shared by all runs.
        seed: already set for python and numpy, and for torch if a module of the configuration's targets imports it.
        trainer: makes a pytorch_lightning.Trainer with the hardware settings of the configuration; the experiment adds
            `max_steps`, `callbacks`, `logger=run.loggers("expert")` and so on.
        loggers: returns the Lightning loggers of one training by its name; they log its metrics as `name/metric`.
        progress: `with run.progress("sampling negatives", total=n) as advance: ... advance(1)`.
        precision: of the training (`32-true`, `bf16-mixed`); the hash of a trained model includes it.
        cues: whether agreement stands beside that of cheap cues.
        timings: seconds per step, filled by `timed`.
    """

    name: str
    folder: Path
    stages: Stages
    seed: int
    trainer: Callable[..., pytorch_lightning.Trainer]
    loggers: Callable[[str], list[Logger]]
    progress: Progress
    precision: str = "32-true"
    cues: bool = True
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Adds the wall-clock seconds of the block to `timings[step]`, even if the block fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[step] = self.timings.get(step, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment; the runner writes it into the run folder.

    Attributes:
        signature: one line that names the experiment, its settings, models, data and versions.
        rows: the agreement of metrics with ratings.
        tables: tables other than agreement with ratings.
        scored: every score of every example (`scores.jsonl`).
        shown: sets that are not in `scores.jsonl`, whose worst disagreements the page shows too.
        plots: matplotlib figures by name (`plots/name.png`).
        models: folders in HF form (`save_pretrained`) by name; the runner puts them into `models/name`.
        notes: warnings, shown with every table.
        figures: further numbers by name (held-out losses, counts).
        files: files that the experiment wrote outside the run folder, where the user asked for them.
        printed: a file whose content goes to standard output; the tables then go to standard error.
        synthetic: whether this project generated some of the training or rated text.
    """

    signature: str
    rows: Sequence[Agreement] = ()
    tables: Sequence[Table] = ()
    scored: Sequence[ScoredSet] = ()
    shown: Sequence[ScoredSet] = ()
    plots: Mapping[str, Figure] = field(default_factory=dict)
    models: Mapping[str, Path] = field(default_factory=dict)
    notes: Sequence[str] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    files: Sequence[Path] = ()
    printed: Path | None = None
    synthetic: bool = False
