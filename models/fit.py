"""Trains any model: in steps that fit into memory, resumably; keeps the weights that are best on held-out data.

Language models and classifiers are Lightning modules. They subclass `TrainingModule` with their loss, and
`BatchDataModule` with their batches, for `fit` or any `pytorch_lightning.Trainer`. A learning curve has `train/loss`,
which is minimised, and `val/...`, which is measured on held-out data.
"""

import json
import logging
import math
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import LearningRateMonitor, ModelCheckpoint
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.io import TorchCheckpointIO
from torch import Tensor
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from core.errors import InputError, SettingError, fault
from core.settings import Count, NonNegative, Positive, Share, checked_dataclass
from core.stages import file_sha256
from data.text_files import temporary_path
from models.batching import NOT_LEARNED, Batch, halve_when_out_of_memory, shrink_until_it_fits

WHOLE = ("learned",)  # entries of a batch that are not one per row
MakeBatch = Callable[[], Batch]
EVERY = 25  # batches that a point of the learning curve averages
# All but cuDNN's, whose gradient in bfloat16 is NaN on an H100 where a batch has a mask, a length of 64 more than a
# multiple of 128 and small attention logits, as Qwen2.5 has them (pytorch/pytorch#196678)
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
SEALS = "sha256"  # the file of the checkpoints' folder with the digest of every checkpoint that was written there

log = logging.getLogger(__name__)


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


def learning_rate_factor(progress: float, warm_up: float, lead: float = 0.0) -> float:
    """The factor of the learning rate: rises linearly from 0 to 1 until `warm_up`, then falls linearly to 0 at the end.

    `progress` runs from 0 to 1. A `lead` shifts the warm-up, as if the training were already that far.

    >>> [learning_rate_factor(p, warm_up=0.2) for p in (0.0, 0.1, 0.2, 0.6, 1.0, 1.1)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    >>> [learning_rate_factor(p, warm_up=0.2, lead=0.1) for p in (0.0, 0.1, 0.6)]
    [0.5, 1.0, 0.5]
    """
    rise = (progress + lead) / warm_up if warm_up else 1.0
    fall = (1 - progress) / (1 - warm_up) if warm_up < 1 else 1.0
    return max(0.0, min(rise, fall, 1.0))


class TrainingModule(pl.LightningModule):
    """The Lightning module of a training. A subclass defines the loss, the optimizers and the held-out metrics.

    A batch that does not fit into memory, or holds more than `token_budget` padded tokens, is read in parts, and their
    gradients are added. Several processes share the rows of a batch, so that they train as one. Dropout depends only on
    its seed and the number of the batch, so a resumed run draws what an uninterrupted one would.
    """

    def __init__(self, schedule: Schedule, seed: int, token_budget: int | None = None) -> None:
        super().__init__()
        self.automatic_optimization = False  # parts of a batch, and two optimizers that step on one loss
        self.schedule = schedule
        self.seed = seed
        self.token_budget = token_budget
        self.skipped = 0  # batches of which not even one row fits into memory

    def loss(self, part: Batch) -> Tensor:
        """Computes the summed loss of some rows, in nats."""
        raise NotImplementedError

    def divisor(self, batch: Batch) -> Tensor | float:
        """Returns the divisor of the summed loss of all processes, such as the number of learned tokens."""
        raise NotImplementedError

    def width(self, batch: Batch) -> int:
        """Returns the number of tokens in each padded row of a batch."""
        raise NotImplementedError

    def make_optimizers(self) -> list[torch.optim.Optimizer]:
        """Makes the optimizers, set to their highest learning rate."""
        raise NotImplementedError

    def clipped(self) -> list[torch.nn.Parameter]:
        """Returns the parameters whose gradients are clipped together.

        Their order is fixed, because it affects rounding.
        """
        return list(self.parameters())

    def warm_up(self, steps: int) -> tuple[float, float]:
        """Returns the share of the training in which the learning rate rises, and the lead (`learning_rate_factor`)."""
        return self.schedule.warm_up, 0.0

    def add_held_out(self, part: Batch) -> None:
        """Measures some held-out rows and adds them to the metrics of the epoch."""
        raise NotImplementedError

    def configure_optimizers(self) -> Any:
        optimizers = self.make_optimizers()
        steps = int(self.trainer.estimated_stepping_batches)
        warm_up, lead = self.warm_up(steps)

        def factor(step: int) -> float:
            return learning_rate_factor(step / steps, warm_up, lead)

        return optimizers, [torch.optim.lr_scheduler.LambdaLR(optimizer, factor) for optimizer in optimizers]

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Per batch, not per epoch: where in an epoch the loader draws from torch's state differs in a resumed run.
        entropy = (self.seed, self.current_epoch, batch_idx, self.global_rank)
        torch.manual_seed(int(np.random.default_rng(entropy).integers(2**62)))

    def training_step(self, batch: Batch, _: int) -> None:
        optimizers, schedulers = self.optimizers(), self.lr_schedulers()
        several = optimizers if isinstance(optimizers, list) else [optimizers]
        with sdpa_kernel(ATTENTION):
            loss = self._add_gradients(batch)
        if loss is not None:
            for optimizer in several:
                optimizer.step()
            self.log("train/loss", loss, prog_bar=True, batch_size=len(batch["labels"]), sync_dist=True)
        for optimizer in several:
            optimizer.zero_grad()
        for scheduler in schedulers if isinstance(schedulers, list) else [schedulers]:
            scheduler.step()  # pyright: ignore[reportCallIssue, reportOptionalMemberAccess, reportAttributeAccessIssue]

    def _add_gradients(self, batch: Batch) -> Tensor | None:
        """Adds the gradients of a batch, part by part; returns its loss. None if not even one row fits into memory."""
        rows, width = len(batch["labels"]), self.width(batch)
        most = rows if self.token_budget is None else max(1, min(rows, self.token_budget // width))
        if self.trainer.world_size > 1:  # the other processes wait for the gradients of this one
            return self._add_parts(batch, most)

        def attempt(size: int) -> Tensor:
            if size < most:
                self.zero_grad()
                self.token_budget = width * size
                log.warning("out of memory: from now on at most %d tokens at once", self.token_budget)
            return self._add_parts(batch, size)

        try:
            return shrink_until_it_fits(attempt, most)
        except torch.OutOfMemoryError:
            self.skipped += 1
            log.warning("a row of %d tokens does not fit into memory: %d batches skipped", width, self.skipped)
            return None

    def _add_parts(self, batch: Batch, size: int) -> Tensor:
        rows, divisor = len(batch["labels"]), self.divisor(batch)
        total = torch.zeros((), device=self.device)
        for start in range(0, rows, size):
            wrapped = self.trainer.strategy.model
            is_last = start + size >= rows
            with wrapped.no_sync() if isinstance(wrapped, DistributedDataParallel) and not is_last else nullcontext():
                summed = self.loss(take_rows(batch, slice(start, start + size)))
                loss = summed * self.trainer.world_size / divisor  # gradients are averaged over processes
                self.manual_backward(loss)
            total += loss.detach()
        return total

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clips all gradients before the first optimizer steps; float16 gradients are unscaled by then.

        Raises SettingError for a norm that is not finite, since clipping would make every weight NaN. A step of float16
        is skipped instead, by Lightning.
        """
        if optimizer is not self.trainer.optimizers[0]:
            return
        limit = self.schedule.gradient_clip or math.inf
        wrapped = self.trainer.strategy.model
        if isinstance(wrapped, FullyShardedDataParallel):
            norm = wrapped.clip_grad_norm_(limit)  # the norm over all processes
        else:
            weights = self.clipped()
            norm = torch.nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
            torch.nn.utils.clip_grads_with_norm_(weights, limit, norm)
        if not norm.isfinite() and not str(self.trainer.precision).startswith("16"):
            raise SettingError(
                f"the training diverged: the gradient of {self._find_diverged()} is not finite in step "
                f"{self.trainer.fit_loop.total_batch_idx + 1}, and no weight took it: set a lower learning rate, or "
                "trainer.precision=32-true"
            )

    def _find_diverged(self) -> str:
        """Returns the name of the first parameter whose gradient is not finite, clipped or not."""
        named = [(name, weight.grad) for name, weight in self.named_parameters() if weight.grad is not None]
        return next((name for name, gradient in named if not gradient.isfinite().all()), "all parameters together")

    def validation_step(self, batch: Batch, _: int) -> None:
        def read(rows: list[int]) -> list[int]:
            self.add_held_out(take_rows(batch, rows))
            return rows

        halve_when_out_of_memory(read, list(range(len(batch["labels"]))))


def take_rows(batch: Batch, rows: slice | list[int]) -> Batch:
    """Returns a batch of the given rows."""
    return {name: tensor[rows] for name, tensor in batch.items() if name not in WHOLE}


def share_of_batch(batch: Batch, process: int, processes: int) -> Batch:
    """Returns the rows of a batch that one of several processes reads.

    A process without rows gets a row that is not learned. `learned` in the result is the number of labels that the
    whole batch learns.

    >>> batch = {"labels": torch.tensor([[1], [2], [3]])}
    >>> [share_of_batch(batch, process, 2)["labels"].flatten().tolist() for process in (0, 1)]
    [[1, 3], [2]]
    """
    learned = (batch["labels"] != NOT_LEARNED).sum()
    is_idle = process >= len(batch["labels"])
    share = take_rows(batch, slice(0, 1) if is_idle else slice(process, None, processes))
    nothing = {"labels": NOT_LEARNED, "weights": 0} if is_idle else {}
    share |= {name: torch.full_like(share[name], value) for name, value in nothing.items() if name in share}
    return {**share, "learned": learned}


class BatchDataModule(pl.LightningDataModule):
    """The training batches of each epoch, and held-out batches. Several processes share the rows of each batch.

    Your own Trainer needs `reload_dataloaders_every_n_epochs=1`, so that each epoch has new batches. On several devices
    it also needs `use_distributed_sampler=False`, because the processes share rows, not batches.
    """

    def train_batches(self, epoch: int) -> Sequence[MakeBatch]:
        """Returns the batches of one epoch; every call for an epoch returns the same batches."""
        raise NotImplementedError

    def held_out_batches(self) -> Sequence[MakeBatch]:
        """Returns the batches whose metrics decide which weights are saved."""
        raise NotImplementedError

    def train_dataloader(self) -> DataLoader[Batch]:
        return self._loader(self.train_batches(self.trainer.current_epoch if self.trainer else 0))

    def val_dataloader(self) -> DataLoader[Batch]:
        return self._loader(self.held_out_batches())

    def _loader(self, batches: Sequence[MakeBatch]) -> DataLoader[Batch]:
        process, processes = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)

        def share(make: MakeBatch) -> Batch:
            return share_of_batch(make(), process, processes)

        return DataLoader(batches, batch_size=None, collate_fn=share, shuffle=False)  # type: ignore[arg-type]


class LearningCurve(pl.Callback):
    """Collects a learning curve: points with `step` (batches seen) and `train/loss` or the metrics of a validation.

    Before each validation a point has the loss of the batches since the last point, so that a short training has a
    curve. The state is part of the checkpoint, so a resumed run continues the curve.
    """

    def __init__(self) -> None:
        self.points: list[dict[str, float]] = []
        self.seen = 0
        self.waiting: list[float] = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.seen += 1
        if "train/loss" not in trainer.callback_metrics:  # the first batches were skipped
            return
        self.waiting.append(float(trainer.callback_metrics["train/loss"]))
        if len(self.waiting) == EVERY:
            self._add_waiting()

    def _add_waiting(self) -> None:
        if self.waiting:
            self.points.append({"step": self.seen, "train/loss": sum(self.waiting) / len(self.waiting)})
            self.waiting = []

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._add_waiting()
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("val/")}
        self.points.append({"step": self.seen, **metrics})

    def state_dict(self) -> dict[str, Any]:
        return {"points": list(self.points), "seen": self.seen, "waiting": list(self.waiting)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update(state_dict)


class MovableCheckpoint(ModelCheckpoint):
    """A checkpoint callback that finds its files again after their folder was moved."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        def move(path: str) -> str:
            return str(Path(self.dirpath or "", Path(path).name)) if path else ""

        paths = {name: move(state_dict[name]) for name in ("best_model_path", "kth_best_model_path")}
        best = {move(path): score for path, score in state_dict["best_k_models"].items()}
        super().load_state_dict({**state_dict, **paths, "best_k_models": best, "dirpath": self.dirpath})


class ChecksummedCheckpointIO(TorchCheckpointIO):
    """Saves a checkpoint under a temporary name in its own folder, writes down its checksum, then renames it.

    Lightning moves a checkpoint from the system's temporary folder, which is not atomic between disks.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Path | str, storage_options: Any = None) -> None:
        """Writes the checkpoint.

        If the process is killed, the old checkpoint or the new one remains, never a part of one.
        """
        path = Path(path)
        with temporary_path(path) as aside:
            with aside.open("wb") as file:  # torch itself reports a full disk as "unexpected pos"
                torch.save(checkpoint, file)
            with (path.parent / SEALS).open("a", encoding="utf-8") as seals:
                seals.write(f"{file_sha256(aside)}\n")

    def load_checkpoint(
        self, path: Path | str, map_location: Any = None, weights_only: bool | None = True
    ) -> dict[str, Any]:
        """Reads tensors and plain values; raises InputError for anything else, because a pickle may run code."""
        try:
            return torch.load(path, map_location=map_location or "cpu", weights_only=True)
        except UnpicklingError as error:
            what = "a checkpoint must hold tensors and plain values only; delete this file to train again"
            raise InputError([fault(path, 0, what)]) from error


def is_whole(path: Path) -> bool:
    """Whether a checkpoint is undamaged; logs a warning if it is damaged."""
    if not path.is_file():
        return False
    seals = path.parent / SEALS
    if seals.is_file() and file_sha256(path) in seals.read_text(encoding="utf-8", errors="replace").split():
        return True
    log.warning("%s is damaged, or a training of another version wrote it: the training starts again", path)
    return False


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

    That is the epoch of the lowest `val/loss`, or of the highest other metric that `monitor` names. `make_trainer` is
    called with `settings` and what this function sets; it adds the hardware. A call that was killed resumes from
    `folder/checkpoints/last.ckpt`. In the end `folder` contains `curve.json` and the files that `save(folder)` writes,
    and the checkpoints are removed. With `every_epoch`, `folder/epoch_0`, ... contain the weights of every epoch.
    Raises SettingError if `monitor` is NaN in every epoch, and as `TrainingModule.on_before_optimizer_step` does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    checkpoints = folder / "checkpoints"
    shared: dict[str, Any] = {"save_on_train_epoch_end": True, "enable_version_counter": False}
    which: dict[str, Any] = {"mode": "min" if monitor == "val/loss" else "max", "save_top_k": -1 if every_epoch else 1}
    weights: dict[str, Any] = {"save_weights_only": True, "auto_insert_metric_name": False}
    best = MovableCheckpoint(checkpoints, "epoch_{epoch}", monitor, **which, **weights, **shared)
    last = MovableCheckpoint(checkpoints, "last", **shared)
    curve = LearningCurve()
    used_loggers = list(loggers)
    rates = [LearningRateMonitor("step")] if used_loggers else []  # it refuses a trainer without a logger
    trainer = make_trainer(
        callbacks=[curve, best, last, *rates],
        logger=used_loggers,
        default_root_dir=folder,
        num_sanity_val_steps=0,
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,  # the processes share the rows of a batch, not the batches
        **settings,
    )
    trainer.strategy.checkpoint_io = ChecksummedCheckpointIO()
    with warnings.catch_warnings():
        # Batches are ready lists and need no loading processes; a resumed run finds its own checkpoints; Lightning
        # itself asks torch for a name that is going away.
        for message in ("LeafSpec.* is deprecated", "not have many workers", "exists and is not empty", "the logging"):
            warnings.filterwarnings("ignore", message=f".*{message}")
        trainer.fit(module, datamodule=data, ckpt_path=find_checkpoint(checkpoints), weights_only=True)
    if best.best_model_score is not None and not best.best_model_score.isfinite():
        raise SettingError(
            f"the training diverged: {monitor} is NaN in every epoch, and no gradient was: set a lower learning rate, "
            "or trainer.precision=32-true"
        )
    module.cpu().eval()

    def load(file: Path) -> None:
        weights = trainer.strategy.checkpoint_io.load_checkpoint(file)["state_dict"]
        module.load_state_dict(weights, strict=module.strict_loading)

    if every_epoch and trainer.is_global_zero:
        for file in checkpoints.glob("epoch_*.ckpt"):
            load(file)
            save(folder / file.stem)
    load(Path(best.best_model_path))
    trainer.strategy.barrier()  # every process has read the weights before they are removed
    if trainer.is_global_zero:
        (folder / "curve.json").write_text(json.dumps(curve.points, indent=1) + "\n", encoding="utf-8")
        save(folder)
        shutil.rmtree(checkpoints)
    trainer.strategy.barrier()


def find_checkpoint(checkpoints: Path) -> Path | None:
    """Finds the checkpoint to continue from, the last one.

    Returns None if it or the checkpoint of a best epoch is missing or damaged.
    """
    last, others = checkpoints / "last.ckpt", sorted(checkpoints.glob("epoch_*.ckpt"))
    return last if others and all(map(is_whole, (last, *others))) else None
