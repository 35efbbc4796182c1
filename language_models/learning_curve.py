"""What a training run logged, kept beside its checkpoint."""

import json
from pathlib import Path
from typing import Any

import pytorch_lightning as pl


class LearningCurve(pl.Callback):
    """Collects the logged metrics of every validation; its state is part of the checkpoint, so a resumed run goes on.

    `save` writes a list of objects with `step`, `epoch` and the metrics.
    """

    def __init__(self) -> None:
        self.points: list[dict[str, float]] = []

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        self.points.append({"step": trainer.global_step, "epoch": trainer.current_epoch, **metrics})

    def state_dict(self) -> dict[str, Any]:
        return {"points": self.points}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.points = list(state_dict["points"])

    def save(self, path: Path) -> None:
        """Writes the points as JSON."""
        path.write_text(json.dumps(self.points, indent=1) + "\n", encoding="utf-8")
