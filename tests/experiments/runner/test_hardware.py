"""Hardware of a run: what is shown while a model trains."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest
import pytorch_lightning as pl
import torch
from omegaconf import OmegaConf
from pytorch_lightning.core.optimizer import LightningOptimizer
from torch.utils.data import DataLoader, TensorDataset

from experiments.runner.hardware import build_trainer


class TwoOptimizers(pl.LightningModule):
    """A loss on which two optimizers step, as Muon and AdamW do."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.weight = torch.nn.Parameter(torch.ones(1))

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.SGD([self.weight], 0.1), torch.optim.SGD([self.weight], 0.1)]

    def training_step(self, batch: list[torch.Tensor], _: int) -> None:
        self.manual_backward((self.weight * batch[0]).sum())
        for optimizer in cast(list[LightningOptimizer], self.optimizers()):
            optimizer.step()


@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore:.*does not have many workers", "ignore:.*smaller than the logging"
)
def test_a_step_counts_once_however_many_optimizers_it_has(tmp_path):
    shown = []

    @contextmanager
    def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        shown.append(total)
        yield shown.append

    config = OmegaConf.create(
        {"_target_": "pytorch_lightning.Trainer", "_partial_": True, "accelerator": "cpu", "max_epochs": 2}
    )
    trainer = build_trainer(config, tmp_path, progress, enable_checkpointing=False)
    trainer.fit(TwoOptimizers(), DataLoader(TensorDataset(torch.ones(3))))
    assert shown == [6, 0, 1, 1, 1, 1, 1, 1]
