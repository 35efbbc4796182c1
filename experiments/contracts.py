"""Run and Study: what an experiment receives and what it returns.

An experiment is a function of built objects, `experiment(run) -> Study`: Hydra builds its arguments from the
configuration; the runner calls it and writes the `Study` into the run folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.progress import Progress as Progress
from report.study import SavedModel as SavedModel
from report.study import Study as Study
from report.tables import Table as Table

if TYPE_CHECKING:  # keeps torch and matplotlib out of the start of the runner
    import pytorch_lightning
    from pytorch_lightning.loggers import Logger

    from core.stages import Stages


@dataclass(frozen=True)
class Run:
    """What the runner gives to an experiment: its name, folder, stages, seed, trainer and loggers."""

    # the experiment's name, as in `+exp=name`
    name: str
    # the run folder; it exists
    folder: Path
    # the kept stages, shared by all runs
    stages: Stages
    # already set for python and numpy, and for torch if a module of the configuration's targets imports it
    seed: int
    # makes a pytorch_lightning.Trainer with the hardware settings of the configuration; the experiment adds
    # `max_epochs`, `callbacks`, `logger=run.loggers("expert")` and so on
    trainer: Callable[..., pytorch_lightning.Trainer]
    # returns the Lightning loggers of one training by its name; they log its metrics as `name/metric`
    loggers: Callable[[str], list[Logger]]
    # `with run.progress("sampling negatives", total=n) as advance: ... advance(1)`.
    progress: Progress
    # the settings of the trainer that change what a training gives; the hash of a trained model includes them
    training: Mapping[str, Any] = field(default_factory=lambda: {"precision": "32-true"})
    # whether agreement stands beside that of cheap cues
    cues: bool = True
    # seconds per step, filled by `timed`
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Shows the block as a step of the run.

        Adds its wall-clock seconds to `timings[step]`, even if the block fails.
        """
        start = time.perf_counter()
        try:
            with self.progress(step):
                yield
        finally:
            self.timings[step] = self.timings.get(step, 0.0) + time.perf_counter() - start

    def keep(
        self,
        step: str,
        name: str,
        depends: Mapping[str, Any],
        build: Callable[[Path], None],
        **options: Any,
    ) -> Path:
        """Makes the kept stage `name`, or finds it, as a step of the run (see `Stages.get`); returns its folder."""
        with self.timed(step):
            return self.stages.get(name, depends, build, **options)
