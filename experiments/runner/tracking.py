"""Tracking: sends training metrics and results to Weights & Biases, to CSV files or nowhere (`logger=`).

In a distributed run only the first process sends anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from core.errors import SettingError
from core.settings import check
from experiments.contracts import Study, Table
from report.agreement_tables import AGREEMENT

if TYPE_CHECKING:  # Lightning takes seconds to import, and only trainings need its loggers
    import wandb
    from pytorch_lightning.loggers import Logger

LONGEST_NAME = 128  # characters of a name in W&B
Mode = Literal["offline", "online", "disabled"]
STEP = "trainer/global_step"


@dataclass(kw_only=True)
class NoTracking:
    """No tracking. The runner asks for `loggers` of each training, and calls `publish` and `close`."""

    # of the run, and its name and settings
    folder: Path
    name: str
    config: Mapping[str, Any]
    # names a job of a sweep by the settings that vary
    job: str = ""
    # whether this is the first process of a distributed run
    first: bool = True

    def loggers(self, training: str) -> list[Logger]:
        return []

    def publish(self, outcome: Study) -> None: ...

    def close(self, exit_code: int) -> None: ...


class CsvTracking(NoTracking):
    """Lightning's CSVLogger: `csv/TRAINING/metrics.csv` in the run folder."""

    def loggers(self, training: str) -> list[Logger]:
        from pytorch_lightning.loggers import CSVLogger

        return [CSVLogger(self.folder, name="csv", version=training)]


@dataclass(kw_only=True)
class WandbTracking(NoTracking):
    """Tracks by Weights & Biases: one W&B run per run, stored in the run folder.

    configs/logger/wandb.yaml has the settings.
    """

    project: str
    # user or team; None for the default of the account
    entity: str | None
    # offline: nothing leaves the machine
    mode: Mode
    tags: Sequence[str]
    run: wandb.Run | None = field(default=None, init=False)
    # trainings whose curves Lightning sends
    trained: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        check(Mode, **{"logger.mode": self.mode})
        check(Sequence[str], **{"logger.tags": self.tags})
        if not self.first:
            return
        import wandb

        run, sweep = self.folder.name, self.folder.parent.name
        try:
            self.run = wandb.init(
                project=self.project,
                entity=self.entity,
                mode=self.mode,
                tags=list(self.tags),
                dir=self.folder,
                name=f"{self.name}/{self.job or run}"[:LONGEST_NAME],
                group=(f"{self.name}/{sweep}" if self.job else self.name)[:LONGEST_NAME],
                config=dict(self.config),
                settings=wandb.Settings(console="off", silent=True),  # run.log records the output
            )
        except wandb.Error as error:
            raise SettingError(
                f"logger.mode={self.mode} needs a network and a key of W&B, but W&B says: {error}\n"
                "logger.mode=offline keeps the run in its folder, and `wandb sync` sends it later"
            ) from error
        # what is sent along a curve stays out of the summary, which has figures and agreements
        self.run.define_metric(STEP, summary="none")
        self.run.define_metric(
            "*",
            step_metric=STEP,
            step_sync=True,
            summary="none",
        )

    def loggers(self, training: str) -> list[Logger]:
        from pytorch_lightning.loggers import WandbLogger

        class TrainingLogger(WandbLogger):
            """Logs the metrics of a training as `training/metric`; the run has its configuration already."""

            LOGGER_JOIN_CHAR = "/"

            def log_hyperparams(self, params: object) -> None:
                del params

        self.trained.add(training)
        return [TrainingLogger(experiment=self.run, prefix=training)]

    def publish(self, outcome: Study) -> None:
        if self.run is None:
            return
        import wandb

        found = {name: points for name, points in outcome.curves.items() if name not in self.trained}
        for training, points in found.items():  # of stages of an earlier run
            for point in points:
                values = {f"{training}/{name}": value for name, value in point.items() if name != "step"}
                self.run.log({**values, STEP: point["step"]})
        tables = {f"tables/{table.name}": to_wandb_table(table) for table in outcome.tables if table.rows}
        plots = {f"plots/{file.stem}": wandb.Image(str(file)) for file in sorted(self.folder.glob("plots/*.png"))}
        self.run.log({**tables, **plots})
        figures = {f"figures/{name}": value for name, value in outcome.figures.items()}
        summary = {"signature": outcome.signature, "notes": list(outcome.notes)}
        self.run.summary.update({**summary, **figures, **list_agreements(outcome.tables)})

    def close(self, exit_code: int) -> None:
        if self.run is not None:
            self.run.finish(exit_code=exit_code)


def list_agreements(tables: Sequence[Table]) -> dict[str, float]:
    """Returns each number of a row of agreement, named `agreement/SET/ASPECT/METRIC/COLUMN`.

    The ends of an interval are in the columns `..._low` and `..._high`. Undefined values are left out.
    """
    numbers: dict[str, float] = {}
    for row in chain.from_iterable(table.flatten() for table in tables if table.key == AGREEMENT):
        place = f"agreement/{row['set']}/{row['aspect']}/{row['metric']}"
        for name, cell in row.items():
            if isinstance(cell, int | float) and not (isinstance(cell, bool) or math.isnan(cell)):
                numbers[f"{place}/{name}"] = cell
    return numbers


def to_wandb_table(table: Table) -> wandb.Table:
    """Converts rows, which may lack cells; a column may have texts and numbers."""
    import wandb

    rows = table.flatten()
    names: list[Any] = [*dict.fromkeys(chain.from_iterable(rows))]
    cells: list[Any] = [[*map(row.get, names)] for row in rows]
    return wandb.Table(columns=names, data=cells, allow_mixed_types=True)
