"""The Lightning logger of one training in a W&B run. It lies apart because Lightning takes seconds to import."""

from argparse import Namespace
from typing import Any

from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities import rank_zero_only

from experiments.runner.redaction import redact


class TrainingLogger(WandbLogger):
    """Logs metrics as `training/metric` and hyperparameters under `training`, so that trainings do not collide."""

    LOGGER_JOIN_CHAR = "/"

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace) -> None:
        params = vars(params) if isinstance(params, Namespace) else params
        self.experiment.config.update(
            {self._prefix: {k: redact(str(v)) for k, v in params.items()}}, allow_val_change=True
        )
