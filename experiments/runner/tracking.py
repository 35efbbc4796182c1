"""Tracking: sends training metrics and results to Weights & Biases, to CSV files or nowhere (`logger=`).

In a distributed run only the first process sends anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import SettingError
from experiments.contracts import Study, Table
from meta_eval.estimates import Estimate
from report.agreement_tables import AGREEMENT

if TYPE_CHECKING:  # Lightning takes seconds to import, and only trainings need its loggers
    import wandb
    from pytorch_lightning.loggers import Logger

LONGEST_NAME = 128  # characters of a name in W&B
STATISTICS = ("n", "systems", "spearman", "pearson", "kendall", "within_systems", "between_systems", "beyond_cues")
STEP = "trainer/global_step"


class NoTracking:
    """No tracking. The runner calls `open`, then `loggers` for each training, `publish` and `close`."""

    def open(
        self,
        folder: Path,
        name: str,
        config: Mapping[str, Any],
        first: bool = True,
        job: str = "",
    ) -> None:
        """Begins a run. `job` names a job of a sweep by the settings that vary.

        `first` says whether this is the first process of a distributed run.
        """

    def loggers(self, training: str) -> list[Logger]:
        return []

    def publish(self, outcome: Study, folder: Path) -> None: ...

    def close(self, exit_code: int) -> None: ...


class CsvTracking(NoTracking):
    """Lightning's CSVLogger: `csv/TRAINING/metrics.csv` in the run folder."""

    def open(
        self,
        folder: Path,
        name: str,
        config: Mapping[str, Any],
        first: bool = True,
        job: str = "",
    ) -> None:
        self.folder = folder

    def loggers(self, training: str) -> list[Logger]:
        from pytorch_lightning.loggers import CSVLogger

        return [CSVLogger(self.folder, name="csv", version=training)]


class WandbTracking(NoTracking):
    """Tracks by Weights & Biases: one W&B run per run, stored in the run folder.

    configs/logger/wandb.yaml has the settings. Raises SettingError for a mode other than offline (nothing leaves the
    machine), online and disabled.
    """

    def __init__(
        self,
        project: str,
        entity: str | None,
        mode: str,
        tags: list[str],
    ) -> None:
        if mode not in ("offline", "online", "disabled"):
            raise SettingError(f"logger.mode must be offline, online or disabled, but is {mode!r}")
        self.settings: Any = {
            "project": project,
            "entity": entity,
            "mode": mode,
            "tags": list(tags),
        }
        self.run: wandb.Run | None = None
        self.trained: set[str] = set()  # trainings whose curves Lightning sends

    def open(
        self,
        folder: Path,
        name: str,
        config: Mapping[str, Any],
        first: bool = True,
        job: str = "",
    ) -> None:
        if not first:
            return
        import wandb

        try:
            self.run = wandb.init(
                **self.settings,
                dir=folder,
                name=(f"{name}/{job or folder.name}")[:LONGEST_NAME],
                group=(f"{name}/{folder.parent.name}" if job else name)[:LONGEST_NAME],
                config=dict(config),
                settings=wandb.Settings(console="off", silent=True),  # run.log records the output
            )
        except wandb.Error as error:
            raise SettingError(
                f"logger.mode={self.settings['mode']} needs a network and a key of W&B, but W&B says: {error}\n"
                "logger.mode=offline keeps the run in its folder, and `wandb sync` sends it later"
            ) from error
        # what is sent along a curve stays out of the summary, which has figures and agreements
        self.run.define_metric(STEP, summary="none")
        self.run.define_metric("*", step_metric=STEP, step_sync=True, summary="none")

    def loggers(self, training: str) -> list[Logger]:
        from pytorch_lightning.loggers import WandbLogger

        class TrainingLogger(WandbLogger):
            """Logs the metrics of a training as `training/metric`; the run has its configuration already."""

            LOGGER_JOIN_CHAR = "/"

            def log_hyperparams(self, params: object) -> None: ...

        self.trained.add(training)
        return [TrainingLogger(experiment=self.run, prefix=training)]

    def publish(self, outcome: Study, folder: Path) -> None:
        if self.run is None:
            return
        import wandb

        found = {name: points for name, points in outcome.curves.items() if name not in self.trained}
        for training, points in found.items():  # of stages of an earlier run
            for point in points:
                values = {f"{training}/{name}": value for name, value in point.items() if name != "step"}
                self.run.log({**values, STEP: point["step"]})
        shown: dict[str, Any] = {
            f"tables/{table.name}": to_wandb_table(table) for table in outcome.tables if table.rows
        }
        shown |= {f"plots/{file.stem}": wandb.Image(str(file)) for file in sorted(folder.glob("plots/*.png"))}
        self.run.log(shown)
        for name in outcome.models:
            safe_name = re.sub(r"[^\w.-]", "_", f"{self.run.config['name']}-{name}")
            artifact = wandb.Artifact(safe_name, type="model")
            artifact.add_dir(str(folder / "models" / name), policy="immutable", skip_cache=True)  # no copy
            self.run.log_artifact(artifact)
        figures = {f"figures/{name}": value for name, value in outcome.figures.items()}
        summary = {"signature": outcome.signature, "notes": list(outcome.notes)}
        self.run.summary.update({**summary, **figures, **list_agreements(outcome.tables)})

    def close(self, exit_code: int) -> None:
        if self.run is not None:
            self.run.finish(exit_code=exit_code)


def list_agreements(tables: Sequence[Table]) -> dict[str, float]:
    """Returns each row of agreement as numbers, named `agreement/SET/ASPECT/METRIC/STATISTIC`.

    The ends of an agreement's interval are named `..._low` and `..._high`. Undefined values are left out.
    """
    numbers: dict[str, float] = {}
    for row in chain.from_iterable(table.rows for table in tables if table.key == AGREEMENT):
        place = f"agreement/{row['set']}/{row['aspect']}/{row['metric']}"
        for statistic in STATISTICS:
            cell = row[statistic]
            name = f"{place}/{statistic}"
            numbers[name] = cell.value if isinstance(cell, Estimate) else cell
            if isinstance(cell, Estimate) and not cell.reason:
                numbers |= {f"{name}_low": cell.low, f"{name}_high": cell.high}
    return {name: number for name, number in numbers.items() if not math.isnan(number)}


def to_wandb_table(table: Table) -> wandb.Table:
    """Converts rows, which may lack cells; a column may have texts and numbers."""
    import wandb

    rows = table.flatten()
    names: list[Any] = [*dict.fromkeys(chain.from_iterable(rows))]
    cells: list[Any] = [[*map(row.get, names)] for row in rows]
    return wandb.Table(columns=names, data=cells, allow_mixed_types=True)
