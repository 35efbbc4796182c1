"""Trains any model with Lightning: `Trainer.fit(module, datamodule)`; keeps the weights that are best on held-out data.

Language models and classifiers are Lightning modules under `TrainingModule`, and read a `BatchDataModule`, for `fit` or
any `pytorch_lightning.Trainer`. A learning curve has `train/loss`, which is minimised, and `val/...`, which is measured
on held-out data.
"""

import json
import logging
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Generic, TypeVar
from zipfile import BadZipFile, ZipFile

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, ModelCheckpoint, Timer
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.io import TorchCheckpointIO
from torch import Tensor
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader

from core.errors import SettingError
from core.settings import Count, NonNegative, Positive, Share, checked_dataclass
from data.text_files import temporary_path
from models.batching import Batch

log = logging.getLogger(__name__)
Row = TypeVar("Row")  # what a batch has a row of: a task, the tokens of a text
EVERY = 25  # batches that a point of the learning curve averages
# All but cuDNN's, whose gradient in bfloat16 is NaN on an H100 where a batch has a mask, a length of 64 more than a
# multiple of 128 and small attention logits, as Qwen2.5 has them (pytorch/pytorch#196678)
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
# Batches are ready lists and need no loading processes; a resumed run finds its own checkpoints, and may have other
# callbacks than the run that was killed; Lightning itself asks torch for a name that is going away.
EXPECTED = (
    "LeafSpec.* is deprecated",
    "not have many workers",
    "exists and is not empty",
    "the logging",
    "no last checkpoint available",
    "callbacks used to create the checkpoint",
)


@checked_dataclass
class Schedule:
    """How long and how fast a model trains."""

    # passes over the training texts
    epochs: Count
    # the highest, after the warm-up; it falls linearly to 0
    learning_rate: Positive
    # share of the training in which the learning rate rises
    warm_up: Share = 0.05
    # of AdamW
    weight_decay: NonNegative = 0.01
    # largest norm of the gradient; 0 for no limit
    gradient_clip: NonNegative = 1.0


def learning_rate_factor(step: int, steps: int, warm_up: float, lead: int = 0) -> float:
    """The factor of the learning rate: rises linearly from 0 to 1 in `warm_up` steps, then falls linearly to 0.

    A `lead` shifts the warm-up by as many steps.

    >>> [learning_rate_factor(step, 10, warm_up=2) for step in (0, 1, 2, 6, 10, 11)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    >>> [learning_rate_factor(step, 10, warm_up=2, lead=1) for step in (0, 1, 6)]
    [0.5, 1.0, 0.5]
    """
    rise = (step + lead) / warm_up if warm_up else 1.0
    fall = (steps - step) / (steps - warm_up) if warm_up < steps else 1.0
    return max(0.0, min(rise, fall, 1.0))


class TrainingModule(pl.LightningModule):
    """What the Lightning modules of trainings share. A subclass adds the optimizer and the held-out metrics.

    Dropout depends only on the seed, the epoch and the number of the batch, so a resumed run draws what an
    uninterrupted one would.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def summed_loss(self, batch: Batch) -> Tensor:
        """Computes the loss of a batch, in nats, summed over what it learns (tokens or texts)."""
        raise NotImplementedError

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Per batch, not per epoch: where in an epoch the loader draws from torch's state differs in a resumed run.
        entropy = (self.seed, self.current_epoch, batch_idx, self.global_rank)
        torch.manual_seed(int(np.random.default_rng(entropy).integers(2**62)))

    def training_step(self, batch: Batch, _: int) -> Tensor:
        """Returns the batch's share of the mean loss over all that the step learns, in all parts and processes."""
        # Lightning averages over the parts of a step and over processes, however much each of them learns.
        shares = self.trainer.world_size * self.trainer.accumulate_grad_batches
        loss = self.summed_loss(batch) * shares / batch["learned"]
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch["labels"]), sync_dist=True)
        self.log("learning_rate", self.trainer.optimizers[0].param_groups[0]["lr"])
        return loss

    def schedule(self, optimizer: torch.optim.Optimizer, warm_up: float, lead: int = 0) -> Any:
        """Returns the optimizer with its learning rate at each step (`learning_rate_factor`), for Lightning."""
        steps = int(self.trainer.estimated_stepping_batches)
        factor = partial(learning_rate_factor, steps=steps, warm_up=warm_up, lead=lead)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Raises SettingError for a gradient that is not finite, before a weight takes it.

        A step of float16 is skipped instead, by Lightning.
        """
        gradients = [weight.grad for weight in self.parameters() if weight.grad is not None]
        norm = self.trainer.strategy.reduce(torch.nn.utils.get_total_norm(gradients), reduce_op="sum")
        if not norm.isfinite() and not str(self.trainer.precision).startswith("16"):
            raise SettingError(
                f"the training diverged: the gradient is not finite in step {self.trainer.global_step + 1}, and no "
                "weight took it: set a lower learning rate, or trainer.precision=32-true"
            )

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        wrapped = self.trainer.strategy.model
        if isinstance(wrapped, FullyShardedDataParallel) and gradient_clip_val:
            wrapped.clip_grad_norm_(gradient_clip_val)  # Lightning does not clip parts of a model
            return
        self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)


class BatchDataModule(pl.LightningDataModule, Generic[Row]):
    """The training batches of each epoch, and held-out batches. Several processes share the rows of each batch.

    Your own Trainer needs `reload_dataloaders_every_n_epochs=1`, so that each epoch has new batches. On several devices
    it also needs `use_distributed_sampler=False`, because the processes share rows, not batches.
    """

    def train_batches(self, epoch: int) -> Sequence[Sequence[Row]]:
        """Returns the rows of the batches of one epoch; every call for an epoch returns the same ones."""
        raise NotImplementedError

    def held_out_batches(self) -> Sequence[Sequence[Row]]:
        """Returns the rows of the batches whose metrics decide which weights are saved."""
        raise NotImplementedError

    def count_learned(self, batches: Sequence[Sequence[Row]]) -> float:
        """Counts what a step of these batches learns, by which its summed loss is divided."""
        raise NotImplementedError

    def collate(self, rows: Sequence[Row]) -> Batch:
        """Makes the tensors of a batch."""
        raise NotImplementedError

    def mute(self, row: Row) -> Row:
        """Returns a row of which nothing is learned, for a process that has no row of a batch."""
        raise NotImplementedError

    def train_dataloader(self) -> DataLoader[Batch]:
        trainer: Any = self.trainer
        batches = self.train_batches(trainer.current_epoch)
        parts = trainer.accumulate_grad_batches
        steps = [batches[start : start + parts] for start in range(0, len(batches), parts)]
        return self._load([(batch, self.count_learned(step)) for step in steps for batch in step])

    def val_dataloader(self) -> DataLoader[Batch]:
        return self._load([(batch, 0) for batch in self.held_out_batches()])

    def _load(self, batches: Sequence[tuple[Sequence[Row], float]]) -> DataLoader[Batch]:
        """Loads the process's share of the rows of each batch, with the number that its step learns."""
        trainer: Any = self.trainer

        def make(batch: tuple[Sequence[Row], float]) -> Batch:
            rows, learned = batch
            share = rows[trainer.global_rank :: trainer.world_size] or [self.mute(rows[0])]
            return {**self.collate(share), "learned": torch.as_tensor(learned)}

        return DataLoader(batches, batch_size=None, collate_fn=make)  # type: ignore[arg-type]


class LearningCurve(Callback):
    """Collects a learning curve: points with `step` and `train/loss` or the metrics of a validation.

    Before each validation a point has the loss of the batches since the last point, so that a short training has a
    curve. The points are part of the checkpoint, so a resumed run continues the curve.
    """

    def __init__(self) -> None:
        self.points: list[dict[str, float]] = []
        self.losses: list[float] = []  # since the last point

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        self.losses.append(float(trainer.callback_metrics["train/loss"]))
        if len(self.losses) == EVERY:
            self._add_losses(trainer)

    def _add_losses(self, trainer: pl.Trainer) -> None:
        if self.losses:
            self.points.append({"step": trainer.global_step, "train/loss": sum(self.losses) / len(self.losses)})
            self.losses = []

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        self._add_losses(trainer)
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("val/")}
        self.points.append({"step": trainer.global_step, **metrics})

    def state_dict(self) -> dict[str, Any]:
        return {"points": list(self.points)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.points = state_dict["points"]


class MovableCheckpoint(ModelCheckpoint):
    """A checkpoint callback that knows its best score again after its folder was moved."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({**state_dict, "dirpath": self.dirpath})


def drop_damaged(checkpoints: Path) -> None:
    """Removes the checkpoints of a training if one of them is damaged, so that it begins anew."""
    for file in sorted(checkpoints.glob("*.ckpt")):
        try:
            with ZipFile(file) as archive:
                damaged = archive.testzip()
            torch.load(file, map_location="meta", weights_only=True, mmap=True)
        except (BadZipFile, UnpicklingError, RuntimeError) as error:
            damaged = str(error).splitlines()[0]
        if damaged:
            log.warning("%s is damaged (%s), so the training begins anew", file, damaged)
            shutil.rmtree(checkpoints, ignore_errors=True)
            return


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint under another name in its own folder, then renames it.

    Lightning moves a checkpoint from the system's temporary folder, which is not atomic between disks: a killed process
    could leave half a checkpoint.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Path | str, storage_options: Any = None) -> None:
        with (
            temporary_path(path) as aside,
            aside.open("wb") as file,
        ):  # torch reports a full disk as "unexpected pos"
            torch.save(checkpoint, file)


def build_trainer(make_trainer: Callable[..., pl.Trainer], callbacks: Sequence[Callback], **settings: Any) -> Any:
    """Makes the trainer of one training; what a partial `make_trainer` already says has the last word on `settings`.

    Its callbacks are called beside `callbacks`.
    """
    given = make_trainer.keywords if isinstance(make_trainer, partial) else {}
    own = given.get("callbacks") or []
    added = [*own, *callbacks] if isinstance(own, Sequence) else [own, *callbacks]
    return make_trainer(**{**settings, **given, "callbacks": added})


def fit(
    module: pl.LightningModule,
    data: pl.LightningDataModule,
    folder: Path,
    make_trainer: Callable[..., pl.Trainer],
    loggers: Iterable[Logger],
    save: Callable[[Path], None],
    monitor: str = "val/loss",
    every_epoch: bool = False,
    **settings: Any,
) -> None:
    """Trains `module`, and leaves it on the CPU, in eval mode, with the weights of the best epoch on held-out data.

    That is the epoch of the lowest `val/loss`, or of the highest other metric that `monitor` names. `make_trainer` adds
    the hardware, and has the last word on `settings` (see `build_trainer`). A call that was killed resumes from
    `folder/checkpoints/last.ckpt`, unless a checkpoint is damaged. In the end `folder` contains `curve.json` and the
    files that `save(folder)` writes, and the checkpoints are removed. With `every_epoch`, `folder/epoch_0`, ... contain
    the weights of every epoch. Raises SettingError if `monitor` is NaN in every epoch, if the time of the trainer ran
    out, and as `TrainingModule.on_before_optimizer_step` does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    checkpoints = folder / "checkpoints"
    drop_damaged(checkpoints)
    shared: dict[str, Any] = {"save_on_train_epoch_end": True, "enable_version_counter": False}
    which: dict[str, Any] = {
        "mode": "min" if monitor == "val/loss" else "max",
        "save_top_k": -1 if every_epoch else 1,
    }
    weights: dict[str, Any] = {"save_weights_only": True, "auto_insert_metric_name": False}
    best = MovableCheckpoint(checkpoints, "epoch_{epoch}", monitor, **which, **weights, **shared)
    last = MovableCheckpoint(checkpoints, "last", **shared)
    curve = LearningCurve()
    trainer = build_trainer(
        make_trainer,
        callbacks=[curve, best, last],
        logger=list(loggers),
        default_root_dir=folder,
        num_sanity_val_steps=0,
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,  # the processes share the rows of a batch, not the batches
        **settings,
    )
    trainer.strategy.checkpoint_io = AtomicCheckpointIO()
    with warnings.catch_warnings(), sdpa_kernel(ATTENTION):
        for message in EXPECTED:
            warnings.filterwarnings("ignore", message=f".*{message}")
        trainer.fit(module, datamodule=data, ckpt_path="last", weights_only=True)
    refuse_unfinished(trainer)
    if best.best_model_score is None or not best.best_model_score.isfinite():
        raise SettingError(
            f"the training diverged: {monitor} is NaN in every epoch, or was never measured: set a lower learning "
            "rate, or trainer.precision=32-true"
        )
    module.cpu().eval()

    def load(file: Path) -> None:
        weights = torch.load(file, map_location="cpu", weights_only=True)["state_dict"]
        module.load_state_dict(weights, strict=module.strict_loading)

    if every_epoch and trainer.is_global_zero:
        for file in checkpoints.glob("epoch_*.ckpt"):
            load(file)
            save(folder / file.stem)
    load(checkpoints / Path(best.best_model_path).name)
    trainer.strategy.barrier()  # every process has read the weights before they are removed
    if trainer.is_global_zero:
        (folder / "curve.json").write_text(json.dumps(curve.points, indent=1) + "\n", encoding="utf-8")
        save(folder)
        shutil.rmtree(checkpoints)
    trainer.strategy.barrier()


def refuse_unfinished(trainer: Any) -> None:
    """Raises SettingError for a training that ended because its time ran out: its weights depend on the machine."""
    timers = [callback for callback in trainer.callbacks if isinstance(callback, Timer)]
    remaining = [timer.time_remaining() for timer in timers]
    is_late = any(seconds is not None and seconds <= 0 for seconds in remaining)
    if is_late and trainer.current_epoch < (trainer.max_epochs or 0):
        raise SettingError(
            f"the time of the training (trainer.max_time) ran out in epoch {trainer.current_epoch + 1} of "
            f"{trainer.max_epochs}, so it is not kept: the same command with more time goes on from the last epoch"
        )
