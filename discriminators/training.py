"""Trains classifiers (discriminators and guides) by cross-entropy; keeps the best weights by held-out loss or AUC."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from pytorch_lightning import Trainer
from pytorch_lightning.loggers import Logger
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torchmetrics import Metric

from core.errors import SettingError
from core.settings import Count, Fraction, Positive, Share, checked_dataclass
from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide
from discriminators.segments import Segments, TokenRow, pad_rows, read
from discriminators.texts import SHORTEST, LabelledText, split_by_group
from models.batching import Batch, batches_by_budget
from models.fit import BatchDataModule, MakeBatch, Schedule, TrainingModule, fit

TOKEN_BUDGET = 4096  # padded tokens in a training batch
MONITORS: dict[str, str] = {"auc": "val/order", "loss": "val/loss"}  # what decides, by `keep`

log = logging.getLogger(__name__)
Classifier = TypeVar("Classifier", Discriminator, CausalGuide)


@checked_dataclass
class TrainingSettings(Schedule):
    """How a classifier is trained. Bi-LSTMs need a learning rate of about 1e-3."""

    epochs: Count = 3
    learning_rate: Positive = 1e-4
    warm_up: Share = 0.1
    # padded tokens in a training batch
    token_budget: Count = TOKEN_BUDGET
    # share of the texts to validate on
    held_out: Fraction = 0.1
    # the weights that are kept are those of the highest held-out `auc` (see `order_by_auc`) or of the lowest held-out
    # `loss`. A discriminator that learns few texts becomes overconfident while it still learns to rank.
    keep: Literal["auc", "loss"] = "auc"


def discriminator_loss(
    logits: Float[Tensor, "batch ..."],
    labels: Float[Tensor, " batch"],
    weights: Float[Tensor, " batch"] | None = None,
) -> Float[Tensor, ""]:
    """Computes the cross-entropy summed over texts, in nats (OUMG, Eq. 1-2, with the opposite sign); lower is better.

    With one logit per text the cross-entropy is binary. `weights` are the shares of windows in their text.

    >>> discriminator_loss(torch.zeros(4), torch.tensor([1.0, 1.0, 0.0, 0.0])).item() / 4  # ln 2
    0.6931471824645996
    """
    if logits.ndim == 1:
        return F.binary_cross_entropy_with_logits(logits, labels, weight=weights, reduction="sum")
    losses = F.cross_entropy(logits, labels.long(), reduction="none")
    if weights is not None:
        losses = losses * weights
    return losses.sum()


def held_out_metrics(
    logits: Float[Tensor, "texts ..."],
    labels: Float[Tensor, " texts"],
) -> dict[str, float]:
    """Computes the loss (nats per text), the accuracy, the AUC and `order` (see `order_by_auc`).

    With several labels, the AUC is the mean over labels of the AUC of this label against all others.
    """
    loss = float(discriminator_loss(logits, labels)) / len(logits)
    if logits.ndim == 1:
        classes = logits > 0
        scores = logits
    else:
        classes = logits.argmax(dim=-1)
        scores = logits.softmax(dim=-1)
    if logits.shape[1:] == (2,):
        scores = scores[:, 1]
    is_right = classes == labels
    auc = roc_auc_score(
        labels.cpu().numpy(),
        scores.double().cpu().numpy(),
        multi_class="ovr",
    )
    return {
        "loss": loss,
        "accuracy": float(is_right.float().mean()),
        "auc": float(auc),
        "order": order_by_auc(float(auc), loss),
    }


def order_by_auc(auc: float, loss: float) -> float:
    """Returns a value that ranks epochs by held-out AUC (two digits), then by lower loss; higher is better.

    On texts that are easy to tell apart, the AUC is high after the first epochs, when the logits are still poor.

    >>> order_by_auc(0.9, 5.0) < order_by_auc(1.0, 0.4) < order_by_auc(0.9999, 0.1)
    True
    """
    return round(100 * auc) - loss / (1 + loss)


@dataclass(frozen=True)
class LabelledRows:
    """The rows of token ids that a network reads, and the labelled text to which each row belongs."""

    rows: Sequence[TokenRow]
    # of the texts
    labels: NDArray[np.float32]
    # the id of padding
    pad: int
    # whether the network has a logit for each prefix of a row
    prefixes: bool = False

    def batches(
        self,
        token_budget: int,
        generator: np.random.Generator | None = None,
    ) -> list[MakeBatch]:
        """Returns batches of rows of similar length, as `batches_by_budget` makes them."""
        lengths = [len(row.ids) for row in self.rows]
        batches = batches_by_budget(lengths, token_budget, generator)
        return [partial(self.make_batch, batch) for batch in batches]

    def per_batch(self, token_budget: int) -> float:
        """Computes the mean number of texts (for a guide, of prefixes) in a batch."""
        count = len(self.labels)
        if self.prefixes:
            count = sum(len(row.ids) - SHORTEST + 1 for row in self.rows)
        return count / len(self.batches(token_budget))

    def make_batch(self, indices: Sequence[int]) -> Batch:
        rows = [self.rows[i] for i in indices]
        ids, mask = pad_rows(rows, self.pad)
        texts = torch.tensor([row.text for row in rows])
        return {
            "ids": ids,
            "mask": mask,
            "labels": torch.from_numpy(self.labels[texts.numpy()]),
            "weights": torch.tensor([row.weight for row in rows], dtype=torch.float32),
            "texts": texts,
        }


def read_rows(
    classifier: Discriminator | CausalGuide,
    texts: Sequence[LabelledText],
) -> LabelledRows:
    """Encodes the rows that a classifier learns or is checked on.

    Raises ValueError for a text that cannot be read, and if fewer than two classes have rows.
    """
    labels = np.array([text.label for text in texts], dtype=np.float32)
    segments = [text.segments for text in texts]
    if isinstance(classifier, CausalGuide):
        rows = classifier.read(segments)
        labelled = LabelledRows(rows, labels, pad=0, prefixes=True)
        _warn_of_lengths(rows, len(texts), classifier.max_length)
    else:
        rows, _ = read(
            segments,
            classifier.tokens,
            pairs=[text.pair for text in texts],
            turns=classifier.reading.turns,
        )
        labelled = LabelledRows(rows, labels, pad=classifier.tokens.layout.pad)
    read_labels = [texts[i].label for i in {row.text for row in rows}]
    if len(set(read_labels)) < 2:
        raise ValueError(
            f"both classes need a text of enough tokens ({SHORTEST} for a guide) on each side of the split, but of "
            f"{len(texts)} texts {len(read_labels)} have as many, {sum(read_labels)} of label 1"
        )
    return labelled


def _warn_of_lengths(rows: Sequence[TokenRow], count: int, max_length: int) -> None:
    """Warns where some of `count` texts have too few tokens for a prefix, or as many as a guide reads."""
    too_short = count - len(rows)
    cut = sum(len(row.ids) == max_length for row in rows)
    if too_short or cut:
        log.warning(
            "of %d texts %d have too few tokens for a prefix, %d reach the limit of %d tokens",
            count,
            too_short,
            cut,
            max_length,
        )


class LabelledTextDataModule(BatchDataModule):
    """A data module of labelled texts: those to learn, and the held-out ones.

    Batches have at most `token_budget` padded tokens. Raises ValueError as `read_rows` does.
    """

    def __init__(
        self,
        classifier: Discriminator | CausalGuide,
        train: Sequence[LabelledText],
        held_out: Sequence[LabelledText],
        token_budget: int = TOKEN_BUDGET,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.train = read_rows(classifier, train)
        self.held_out = read_rows(classifier, held_out)
        self.token_budget = token_budget
        self.seed = seed

    def train_batches(self, epoch: int) -> list[MakeBatch]:
        rng = np.random.default_rng((self.seed, epoch))
        return self.train.batches(self.token_budget, rng)

    def held_out_batches(self) -> list[MakeBatch]:
        return self.held_out.batches(self.token_budget)

    @property
    def per_batch(self) -> float:
        """The mean number of texts (for a guide, of prefixes) in a training batch."""
        return self.train.per_batch(self.token_budget)


class TextLogits(Metric):
    """The logit of every held-out text, or of every prefix of it: the weighted mean over its windows."""

    full_state_update = False

    def __init__(self, places: int, outputs: int) -> None:
        super().__init__()
        # of each place, the sum of the weighted logits and the sum of the weights. A row that two processes read counts
        # twice in both, which changes nothing.
        self.add_state("sums", torch.zeros(places, outputs + 1), dist_reduce_fx="sum")
        self.sums: Tensor

    def update(self, logits: Tensor, weights: Tensor, places: Tensor) -> None:
        columns = logits.float().reshape(len(logits), -1)
        ones = torch.ones_like(weights)[:, None]
        rows = torch.cat([columns, ones], dim=1)
        self.sums.index_add_(0, places, rows * weights[:, None])

    def compute(self) -> tuple[Tensor, Tensor]:
        """Returns the logits, and which places were read: not those of a text without a window that its pair lacks."""
        was_read = self.sums[:, -1] > 0
        return self.sums[was_read, :-1] / self.sums[was_read, -1:], was_read


class DiscriminatorModule(TrainingModule):
    """A Lightning module that trains a discriminator or guide in place, on a `LabelledTextDataModule`.

    The loss of a batch is the sum over its texts, divided by the average number of texts in a batch. So every text
    weighs the same, though batches of long texts have fewer. The same holds for the prefixes of a guide (OUMG, 4.2).
    """

    def __init__(
        self,
        classifier: Discriminator | CausalGuide,
        learning_rate: float = 1e-4,
        warm_up: float = 0.1,
        weight_decay: float = 0.01,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self.save_hyperparameters(ignore=["classifier"])
        self.network = classifier.network
        labels = classifier.labels if isinstance(classifier, Discriminator) else ()
        self.outputs = max(1, len(labels))
        # set by `read_data`
        self.per_batch = math.nan
        self.prefixes = False
        self.places = 1  # of logits in a text
        self.labels: Tensor  # of each place of the held-out texts
        self.held_out: TextLogits

    def setup(self, stage: str) -> None:
        """Reads the held-out labels and batch sizes of the data module. Raises TypeError for other data."""
        if stage == "fit":
            self.network.train()  # what was loaded is in eval mode, without dropout
        data: Any = getattr(self.trainer, "datamodule", None)
        if not isinstance(data, LabelledTextDataModule):
            raise TypeError(f"a DiscriminatorModule learns from a LabelledTextDataModule, but got {data!r}")
        self.read_data(data.held_out, data.per_batch)

    def read_data(self, held_out: LabelledRows, per_batch: float) -> None:
        """Takes the labels of the held-out texts, and the average number of texts or prefixes in a batch."""
        self.per_batch = per_batch
        self.prefixes = held_out.prefixes
        self.places = max(len(row.ids) for row in held_out.rows) if self.prefixes else 1
        self.labels = torch.from_numpy(held_out.labels).repeat_interleave(self.places)
        self.held_out = TextLogits(len(self.labels), self.outputs)

    def read_logits(self, part: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Computes the logits of some rows, or of all their prefixes, with their labels, weights and texts."""
        mask = part["mask"]
        logits = self.network(part["ids"], mask)
        labels = part["labels"]
        weights = part["weights"]
        places = part["texts"] * self.places
        if not self.prefixes:
            return logits, labels, weights, places
        positions = torch.arange(mask.shape[1], device=mask.device)
        ends = mask & (positions >= SHORTEST - 1)
        places = places[:, None] + positions
        labels = labels[:, None].expand(ends.shape)
        weights = weights[:, None].expand(ends.shape)
        return logits[ends], labels[ends], weights[ends], places[ends]

    def loss(self, batch: Batch) -> Tensor:
        """Computes the cross-entropy summed over texts (for a guide, over prefixes), in nats, by the average number."""
        logits, labels, weights, _ = self.read_logits(batch)
        summed = discriminator_loss(logits, labels, weights)
        return summed * self.trainer.world_size / self.per_batch  # Lightning averages over processes

    def warm_up(self, steps: int) -> tuple[float, float]:
        return self.hparams["warm_up"], 0.0

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Makes AdamW; weight decay applies to matrices only, not to biases and norms."""
        learned = [p for p in self.network.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in learned if p.ndim > 1], "weight_decay": self.hparams["weight_decay"]},
            {"params": [p for p in learned if p.ndim <= 1], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=self.hparams["learning_rate"])

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        logits, _, weights, places = self.read_logits(batch)
        self.held_out.update(logits, weights, places)

    def on_validation_epoch_end(self) -> None:
        logits, was_read = self.held_out.compute()
        self.held_out.reset()
        labels = self.labels.to(self.device)[was_read]
        if not logits.isfinite().all():
            raise SettingError("held-out logits must be finite, but are not: lower the learning rate")
        for name, value in held_out_metrics(logits.squeeze(-1), labels).items():
            self.log(f"val/{name}", value, sync_dist=True)


def train_classifier(
    build: Callable[[Sequence[Segments]], Classifier],
    texts: Sequence[LabelledText],
    folder: Path | str,
    make_trainer: Callable[..., Trainer] = Trainer,
    settings: TrainingSettings | None = None,
    loggers: Sequence[Logger] = (),
    seed: int = 0,
) -> Classifier:
    """Trains a classifier on `texts`; returns it on the CPU, saved in `folder`, with the weights of `settings.keep`.

    The texts, of all classes, are split by group first. `build` makes a classifier for the training texts: a partial of
    `new_bilstm`, `new_bert` or `new_causal_guide`. A guide learns all prefixes of its texts. The seed decides the
    split, new weights, batches and dropout. A repeated call resumes a killed one (see `fit`).

    Raises ValueError if a side of the split lacks a class, and for texts that cannot be read. Raises SettingError if
    training diverges.
    """
    settings = settings or TrainingSettings()
    train, held_out = split_by_group(texts, settings.held_out, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        classifier = build([t.segments for t in train])
        names = classifier.labels if isinstance(classifier, Discriminator) else ()
        classes = max(2, len(names))
        highest = max(text.label for text in texts)
        if highest >= classes:
            raise ValueError(
                f"a classifier of {classes} classes learns labels below {classes}, but a text has {highest}"
            )
        data = LabelledTextDataModule(classifier, train, held_out, settings.token_budget, seed)
        module = DiscriminatorModule(
            classifier,
            learning_rate=settings.learning_rate,
            warm_up=settings.warm_up,
            weight_decay=settings.weight_decay,
            seed=seed,
        )
        fit(
            module,
            data,
            folder=Path(folder),
            make_trainer=make_trainer,
            loggers=loggers,
            save=classifier.save_pretrained,
            monitor=MONITORS[settings.keep],
            max_epochs=settings.epochs,
            gradient_clip_val=settings.gradient_clip,
        )
    return classifier


def kept_point(curve: Sequence[Mapping[str, float]], keep: Literal["auc", "loss"]) -> Mapping[str, float]:
    """Finds the point of a learning curve whose weights were saved (`TrainingSettings.keep`)."""
    name = MONITORS[keep]
    best = max if keep == "auc" else min
    points = [point for point in curve if name in point]
    return best(points, key=lambda point: point[name])
