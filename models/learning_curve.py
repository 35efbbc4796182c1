"""The learning curve of a training run, kept beside its checkpoint."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl


class LearningCurve(pl.Callback):
    """Collects one training metric, averaged over `every` batches, and held-out metrics after every validation.

    Its state is part of the checkpoint, so a resumed run continues the curve. `save` writes a list of objects with
    `step` (batches seen) and the metrics.
    """

    def __init__(self, training: str, held_out: Sequence[str], every: int = 25) -> None:
        self.training = training
        self.held_out = tuple(held_out)
        self.every = every
        self.points: list[dict[str, float]] = []
        self.seen = 0
        self.waiting: list[float] = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.seen += 1
        if self.training not in trainer.callback_metrics:  # the first batches were skipped
            return
        self.waiting.append(float(trainer.callback_metrics[self.training]))
        if len(self.waiting) == self.every:
            self.points.append({"step": self.seen, self.training: sum(self.waiting) / self.every})
            self.waiting = []

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if not trainer.sanity_checking:
            found = {name: float(trainer.callback_metrics[name]) for name in self.held_out}
            self.points.append({"step": self.seen, **found})

    def state_dict(self) -> dict[str, Any]:
        return {"points": list(self.points), "seen": self.seen, "waiting": list(self.waiting)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.points = list(state_dict["points"])
        self.seen = state_dict["seen"]
        self.waiting = list(state_dict["waiting"])

    def save(self, path: Path) -> None:
        """Writes the points as JSON."""
        path.write_text(json.dumps(self.points, indent=1) + "\n", encoding="utf-8")
