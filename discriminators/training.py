"""Training of a discriminator by Lightning: cross-entropy, best weights by held-out loss or AUC, resumable."""

import json
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from pytorch_lightning import Callback, LightningDataModule, LightningModule, Trainer
from pytorch_lightning.callbacks import Timer
from pytorch_lightning.loggers import Logger
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from core.settings import Count, Fraction, NonNegative, Positive, Share, checked_dataclass
from core.stages import fingerprint
from discriminators.data_module import ClassifierBatch, DiscriminatorData, LabelledText, split_by_group
from discriminators.discriminator import SETTINGS, Discriminator
from discriminators.segments import Segments
from models.fitting import fit_best
from models.learning_curve import LearningCurve

VERSION = 3  # of trained discriminators: raised whenever the same texts, settings and seed would give other weights
ORIGIN = "training.json"

log = logging.getLogger(__name__)


@checked_dataclass
class TrainingSettings:
    """How a discriminator is trained.

    Attributes:
        epochs: passes over the training texts.
        max_time: stop after this long ("DD:HH:MM:SS") even if passes are left; the learning rate follows whichever of
            steps and time has gone further. A resumed run counts on from the time that its checkpoint had used.
        learning_rate: the highest, after the warm-up; it falls linearly to 0. Bi-LSTMs want about 1e-3.
        warmup: share of the training in which the learning rate rises.
        weight_decay: of matrices; biases, norms and other vectors have none.
        gradient_clip: largest norm of the gradient.
        token_budget: padded tokens in a training batch.
        held_out: share of the texts to validate on.
        validations_per_epoch: each also writes a checkpoint to resume from.
        keep: the weights that are kept are those of the highest held-out `auc` (see `order_by_auc`) or of the lowest
            held-out `loss`. A discriminator that learns few texts becomes overconfident while it still learns to
            rank.
    """

    epochs: Count = 3
    max_time: str | None = None
    learning_rate: Positive = 1e-4
    warmup: Share = 0.1
    weight_decay: NonNegative = 0.01
    gradient_clip: NonNegative = 1.0
    token_budget: Count = 4096
    held_out: Fraction = 0.1
    validations_per_epoch: Count = 1
    keep: Literal["auc", "loss"] = "auc"


def discriminator_loss(
    logits: Float[Tensor, "batch ..."],
    labels: Float[Tensor, " batch"],
    weights: Float[Tensor, " batch"] | None = None,
) -> Float[Tensor, ""]:
    """Cross-entropy summed over texts, in nats (OUMG, Eq. 1-2, with the sign turned: lower is better).

    It is binary for one logit per text. `weights` are the shares that windows have in their text.

    >>> discriminator_loss(torch.zeros(4), torch.tensor([1.0, 1.0, 0.0, 0.0])).item() / 4  # ln 2
    0.6931471824645996
    """
    if logits.ndim == 1:
        return F.binary_cross_entropy_with_logits(logits, labels, weight=weights, reduction="sum")
    losses = F.cross_entropy(logits, labels.long(), reduction="none")
    return (losses if weights is None else losses * weights).sum()


def held_out_metrics(logits: Float[Tensor, "texts ..."], labels: Float[Tensor, " texts"]) -> dict[str, float]:
    """Loss (nats per text), accuracy, `order`, and AUC (for several labels the mean of each against the rest)."""
    loss = float(discriminator_loss(logits, labels)) / len(logits)
    found = logits > 0 if logits.ndim == 1 else logits.argmax(dim=-1)
    scores = logits if logits.ndim == 1 else logits.softmax(dim=-1)
    scores = scores[:, 1] if logits.shape[1:] == (2,) else scores
    auc = float(roc_auc_score(labels.cpu().numpy(), scores.double().cpu().numpy(), multi_class="ovr"))
    accuracy = float((found == labels).float().mean())
    return {"loss": loss, "accuracy": accuracy, "auc": auc, "order": order_by_auc(auc, loss)}


def order_by_auc(auc: float, loss: float) -> float:
    """Higher for weights with a higher held-out AUC; where it is equal to two digits, for those with a lower loss.

    On texts that are easy to tell apart an early AUC is as high as later ones, but its logits say little yet.

    >>> order_by_auc(0.9, 5.0) < order_by_auc(1.0, 0.4) < order_by_auc(0.9999, 0.1)
    True
    """
    return round(100 * auc) - loss / (1 + loss)


def learning_rate_factor(progress: float, warmup: float) -> float:
    """Rises linearly from 0 to 1 while `progress` is below `warmup`, then falls linearly to 0 at the end.

    >>> [learning_rate_factor(p, warmup=0.2) for p in (0.0, 0.1, 0.2, 0.6, 1.0, 1.1)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    """
    rise = progress / warmup if warmup else 1.0
    return max(0.0, min(rise, (1 - progress) / (1 - warmup), 1.0))


class DiscriminatorTraining(LightningModule):
    """The steps of training; the network is the discriminator's own and is trained in place.

    A step's loss is the sum over its texts divided by the average number of texts in a batch, so that every text
    weighs the same, though batches of long texts hold fewer. Several processes share the texts of a batch. Dropout is
    seeded by (seed, epoch, batch, process), so that a resumed run draws what an unbroken one would have drawn.

    Args:
        network: `forward(ids, mask) -> logits`.
        settings: how to train.
        texts_per_batch: training texts in a batch, on average.
        held_out_labels: the labels of the held-out texts.
        seed: of dropout.
        outputs: logits per text.
    """

    def __init__(
        self,
        network: nn.Module,
        settings: TrainingSettings,
        texts_per_batch: float,
        held_out_labels: np.ndarray,
        seed: int,
        outputs: int = 1,
    ):
        super().__init__()
        self.network = network
        self.settings = settings
        self.texts_per_batch = texts_per_batch
        self.seed = seed
        self.parts = 1  # in which a batch is read; more after a batch did not fit into memory
        self.skipped = 0  # batches that did not fit into memory
        self.register_buffer("labels", torch.tensor(held_out_labels, dtype=torch.float32), persistent=False)
        self.register_buffer("found", torch.zeros(len(held_out_labels), outputs + 1), persistent=False)
        self.labels: Tensor
        self.found: Tensor  # weighted logits of the held-out texts, and the weights

    def configure_optimizers(self) -> Any:
        trained = [p for p in self.network.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in trained if p.ndim > 1], "weight_decay": self.settings.weight_decay},
            {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=self.settings.learning_rate)
        steps = int(self.trainer.estimated_stepping_batches)
        callbacks: list[Callback] = self.trainer.callbacks  # pyright: ignore[reportAttributeAccessIssue]
        timer = next((c for c in callbacks if isinstance(c, Timer)), None)

        def factor(step: int) -> float:
            return learning_rate_factor(max(step / steps, self._time_used(timer)), self.settings.warmup)

        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _time_used(self, timer: Timer | None) -> float:
        """The share of `max_time` that is used up, the same in all processes; 0 without a limit."""
        if timer is None or (left := timer.time_remaining()) is None:
            return 0.0
        used = timer.time_elapsed()
        return self.trainer.strategy.broadcast(used / (used + left))

    def on_train_batch_start(self, batch: ClassifierBatch, batch_idx: int) -> None:
        # Per batch, not per epoch: where in an epoch the loader draws from torch's state differs in a resumed run.
        entropy = (self.seed, self.current_epoch, batch_idx, self.global_rank)
        torch.manual_seed(int(np.random.default_rng(entropy).integers(2**62)))

    def training_step(self, batch: ClassifierBatch) -> Tensor | None:
        if (logits := self._read(batch["ids"], batch["mask"])) is None:
            return None  # Lightning leaves the weights as they are
        loss = discriminator_loss(logits, batch["labels"], batch["weights"])
        texts = batch["weights"].sum()
        self.log(
            "train/loss",
            loss.detach() / texts.clamp(min=1e-6),
            on_step=True,
            on_epoch=True,
            batch_size=len(logits),
            sync_dist=True,
        )
        return loss * self.trainer.world_size / self.texts_per_batch  # gradients are averaged over processes

    def _read(self, ids: Tensor, mask: Tensor) -> Tensor | None:
        """The logits of a batch. One that does not fit into memory is read in parts, as later batches are.

        Of the parts only the logits are kept; the backward pass reads them again. None if not even one row fits.
        """
        while True:
            parts = min(self.parts, len(ids))
            try:
                if parts == 1:
                    return self.network(ids, mask)
                pairs = zip(ids.tensor_split(parts), mask.tensor_split(parts), strict=True)
                return torch.cat([checkpoint(self.network, *pair, use_reentrant=False) for pair in pairs])
            except torch.OutOfMemoryError:
                if self.trainer.world_size > 1:  # the other processes wait for the gradients of this one
                    raise
            torch.cuda.empty_cache()  # inside the except block the tensors of the failed attempt are still referenced
            if parts == len(ids):
                self._note_skipped()
                return None
            self._halve()

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """A batch that runs out of memory here is skipped and counted; later ones are read in more parts."""
        try:
            super().backward(loss, *args, **kwargs)
        except torch.OutOfMemoryError:
            if self.trainer.world_size > 1:
                raise
            self.zero_grad()
            self._note_skipped()
            self._halve()

    def _halve(self) -> None:
        self.parts *= 2
        log.warning("out of memory: from now on a batch is read in %d parts", self.parts)

    def _note_skipped(self) -> None:
        self.skipped += 1
        log.warning("a batch does not fit into memory: %d batches skipped", self.skipped)

    def on_validation_epoch_start(self) -> None:
        self.found.zero_()

    def validation_step(self, batch: ClassifierBatch) -> None:
        logits = self.network(batch["ids"], batch["mask"]).float()
        rows = torch.cat([logits.reshape(len(logits), -1), torch.ones_like(batch["weights"])[:, None]], dim=1)
        self.found.index_add_(0, batch["texts"], rows * batch["weights"][:, None])

    def on_validation_epoch_end(self) -> None:
        # Summed over processes: a row that two of them read counts twice in both sums, which changes nothing.
        sums = self.trainer.strategy.reduce(self.found, reduce_op="sum")
        was_read = sums[:, -1] > 0  # a text without a window that its pair lacks is not read
        logits, labels = sums[was_read, :-1] / sums[was_read, -1:], self.labels[was_read]
        if not logits.isfinite().all():
            raise FloatingPointError("held-out logits must be finite, but are not: lower the learning rate")
        values = held_out_metrics(logits.squeeze(-1), labels)
        self.log_dict(
            {f"val/{name}": torch.tensor(value, device=self.device) for name, value in values.items()}, sync_dist=True
        )


def train_discriminator(
    build: Callable[[Sequence[Segments]], Discriminator],
    texts: Sequence[LabelledText],
    folder: Path | str,
    make_trainer: Callable[..., Trainer] = Trainer,
    settings: TrainingSettings | None = None,
    loggers: Sequence[Logger] = (),
    seed: int = 0,
) -> Discriminator:
    """A discriminator trained on `texts`, with the weights that `settings.keep` names, on the CPU and in `folder`.

    While it trains, `folder/checkpoints/last.ckpt` is what the same call resumes from, with the result of an unbroken
    run. Afterwards `folder` holds what `Discriminator.from_pretrained` reads, and `curve.json`. A finished folder is
    loaded.

    Args:
        build: `new_bilstm` or `new_bert` (a partial of them), called with the training texts; or any function that
            returns a discriminator to train further.
        texts: of all classes; they are split by group before anything else.
        folder: where to train.
        make_trainer: called with the arguments this function decides about; a partial of `Trainer` holds the others
            (accelerator, devices, precision, ...).
        settings: how to train.
        loggers: Lightning loggers.
        seed: of the split, fresh weights, batches and dropout.

    Raises ValueError when a side of the split lacks a class, for texts that cannot be read, or when the folder belongs
    to other texts or settings; FloatingPointError when training diverges.
    """
    settings = settings or TrainingSettings()
    folder = Path(folder)
    origin = {
        "texts": fingerprint(texts),
        "settings": asdict(settings),
        "seed": seed,
    }
    if is_finished(folder, origin, SETTINGS):
        return Discriminator.from_pretrained(folder)
    train, held_out = split_by_group(texts, settings.held_out, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        discriminator = build([t.segments for t in train])
        classes = max(2, len(discriminator.labels))
        if (highest := max(t.label for t in texts)) >= classes:
            raise ValueError(
                f"a classifier of {classes} classes learns labels below {classes}, but a text has {highest}"
            )
        parts = settings.validations_per_epoch
        discriminator.network.train()  # what was loaded is in eval mode, without dropout
        data = DiscriminatorData(
            train, held_out, discriminator.tokens, discriminator.truncation, settings.token_budget, parts, seed
        )
        note_origin(folder, origin)
        labels = np.array([t.label for t in held_out])
        outputs = len(discriminator.labels) or 1
        module = DiscriminatorTraining(discriminator.network, settings, data.texts_per_batch, labels, seed, outputs)
        fit_classifier(module, data, folder, make_trainer, loggers, discriminator.save_pretrained)
    return discriminator


def fit_classifier(
    module: DiscriminatorTraining,
    data: LightningDataModule,
    folder: Path,
    make_trainer: Callable[..., Trainer],
    loggers: Sequence[Logger],
    save: Callable[[Path], None],
) -> None:
    """Trains the network of `module` and keeps the weights that its `settings.keep` names (see `fit_best`)."""
    settings = module.settings
    fit_best(
        module,
        data,
        folder,
        make_trainer,
        loggers,
        curve=LearningCurve("train/loss_step", ("val/loss", "val/accuracy", "val/auc")),
        monitor="val/order" if settings.keep == "auc" else "val/loss",
        mode="max" if settings.keep == "auc" else "min",
        save=save,
        max_epochs=settings.epochs * settings.validations_per_epoch,
        max_time=settings.max_time,
        gradient_clip_val=settings.gradient_clip,
        use_distributed_sampler=False,  # the data module shards its batches itself
    )


def kept_point(curve: Sequence[Mapping[str, float]], keep: Literal["auc", "loss"]) -> Mapping[str, float]:
    """The point of a `curve.json` whose weights were kept, see `TrainingSettings.keep`."""
    points = [point for point in curve if "val/auc" in point]
    if keep == "loss":
        return min(points, key=lambda point: point["val/loss"])
    return max(points, key=lambda point: order_by_auc(point["val/auc"], point["val/loss"]))


def is_finished(folder: Path, origin: Mapping[str, Any], written_last: str) -> bool:
    """Whether the folder holds the whole result of a training. If so, leftover checkpoints are removed.

    Args:
        folder: where to train.
        origin: what the result depends on, as `note_origin` writes it.
        written_last: the name of the file that is written last.

    Raises ValueError for a folder that was begun with another origin.
    """
    path = folder / ORIGIN
    if path.is_file() and path.read_text(encoding="utf-8") != _noted(origin):
        different = ", ".join(
            key for key, value in json.loads(path.read_text(encoding="utf-8")).items() if origin.get(key) != value
        )
        raise ValueError(
            f"a folder is trained from one set of {', '.join(origin)}, but {path} names other {different}: "
            "use another folder, or remove this one"
        )
    if not (folder / written_last).is_file():
        return False
    if (folder / "checkpoints").is_dir():
        shutil.rmtree(folder / "checkpoints")
    return True


def note_origin(folder: Path, origin: Mapping[str, Any]) -> None:
    """Writes to the folder what the training depends on, once the texts are known to be usable."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ORIGIN).write_text(_noted(origin), encoding="utf-8")


def _noted(origin: Mapping[str, Any]) -> str:
    return json.dumps(origin, indent=2) + "\n"
