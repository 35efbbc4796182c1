"""Trains classifiers (discriminators and guides) by cross-entropy; keeps the best weights by held-out loss or AUC."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from pytorch_lightning import Trainer
from pytorch_lightning.loggers import Logger
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from core.errors import SettingError
from core.settings import Count, Fraction, Positive, Share, checked_dataclass
from discriminators.discriminator import Discriminator
from discriminators.segments import Segments, TokenRow, pad_rows
from discriminators.texts import SHORTEST, LabelledText, split_by_group
from models.batching import Batch, batches_by_budget
from models.fit import BatchDataModule, Schedule, TrainingModule, fit

TOKEN_BUDGET = 4096  # padded tokens in a training batch
MONITORS: dict[str, str] = {"auc": "val/order", "loss": "val/loss"}  # what decides, by `keep`


C = TypeVar("C", bound=Discriminator)


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
    logits: Float[Tensor, "batch ..."], labels: Float[Tensor, " batch"], weights: Float[Tensor, " batch"] | None = None
) -> Float[Tensor, ""]:
    """Computes the cross-entropy summed over texts, in nats (OUMG, Eq. 1-2, with the opposite sign); lower is better.

    With one logit per text the cross-entropy is binary. `weights` are the shares of windows in their text.

    >>> discriminator_loss(torch.zeros(4), torch.tensor([1.0, 1.0, 0.0, 0.0])).item() / 4  # ln 2
    0.6931471824645996
    """
    if logits.ndim == 1:
        return F.binary_cross_entropy_with_logits(
            logits,
            labels,
            weight=weights,
            reduction="sum",
        )
    losses = F.cross_entropy(logits, labels.long(), reduction="none")
    if weights is not None:
        losses = losses * weights
    return losses.sum()


def held_out_metrics(logits: Float[Tensor, "texts ..."], labels: Float[Tensor, " texts"]) -> dict[str, float]:
    """Computes the loss (nats per text), the accuracy, the AUC and `order` (see `order_by_auc`).

    With several labels, the AUC is the mean over labels of the AUC of this label against all others.
    """
    loss = float(discriminator_loss(logits, labels)) / len(logits)
    columns = logits.double()
    if logits.ndim == 1:
        columns = torch.stack([torch.zeros_like(columns), columns], dim=1)
    scores = columns.softmax(dim=1)
    if columns.shape[1] == 2:
        scores = columns[:, 1] - columns[:, 0]
    auc = float(roc_auc_score(labels.cpu().numpy(), scores.cpu().numpy(), multi_class="ovr"))
    is_right = columns.argmax(dim=1) == labels
    return {
        "loss": loss,
        "accuracy": float(is_right.float().mean()),
        "auc": auc,
        "order": order_by_auc(auc, loss),
    }


def order_by_auc(auc: float, loss: float) -> float:
    """Returns a value that ranks epochs by held-out AUC (two digits), then by lower loss; higher is better.

    On texts that are easy to tell apart, the AUC is high after the first epochs, when the logits are still poor.

    >>> order_by_auc(0.9, 5.0) < order_by_auc(1.0, 0.4) < order_by_auc(0.9999, 0.1)
    True
    """
    return round(100 * auc) - loss / (1 + loss)


class LabelledTextDataModule(BatchDataModule[TokenRow]):
    """A data module of labelled texts: those to learn, and the held-out ones.

    Batches have at most `token_budget` padded tokens. Their loss is divided by the average number of texts in a batch,
    so that every text weighs the same, though batches of long texts have fewer. The same holds for the prefixes of a
    guide (OUMG, 4.2). Raises ValueError for a text that cannot be read, and if fewer than two classes have rows.
    """

    def __init__(
        self,
        classifier: Discriminator,
        train: Sequence[LabelledText],
        held_out: Sequence[LabelledText],
        token_budget: int = TOKEN_BUDGET,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.classifier = classifier
        self.train = read_rows(classifier, train)
        self.held_out = read_rows(classifier, held_out)
        self.token_budget = token_budget
        self.seed = seed
        count = len(train)
        if classifier.learns_prefixes:
            count = sum(len(row.ids) - SHORTEST + 1 for row in self.train)
        self.per_batch = count / len(self._batch(self.train))

    def train_batches(self, epoch: int) -> list[list[TokenRow]]:
        return self._batch(self.train, np.random.default_rng((self.seed, epoch)))

    def held_out_batches(self) -> list[list[TokenRow]]:
        return self._batch(self.held_out)

    def _batch(self, rows: Sequence[TokenRow], generator: np.random.Generator | None = None) -> list[list[TokenRow]]:
        """Batches of rows of similar length, as `batches_by_budget` makes them."""
        batches = batches_by_budget([len(row.ids) for row in rows], self.token_budget, generator)
        return [[rows[i] for i in batch] for batch in batches]

    def count_learned(self, batches: Sequence[Sequence[TokenRow]]) -> float:
        return self.per_batch * len(batches)

    def collate(self, rows: Sequence[TokenRow]) -> Batch:
        """Makes the ids of the rows, their mask, and of all that gets a logit the label, the weight and the place.

        `ends` marks where the prefixes of a guide end.
        """
        ids, mask = pad_rows(rows, self.classifier.tokens.layout.pad)
        batch = {
            "ids": ids,
            "mask": mask,
            "labels": torch.tensor([row.label for row in rows], dtype=torch.float32),
            "weights": torch.tensor([row.weight for row in rows], dtype=torch.float32),
            "places": torch.tensor([row.text for row in rows]),
        }
        if not self.classifier.learns_prefixes:
            return batch
        positions = torch.arange(mask.shape[1])
        ends = mask & (positions >= SHORTEST - 1)
        places = batch["places"][:, None] * self.classifier.tokens.max_length + positions
        batch |= {"places": places[ends], "ends": ends}
        for name in ("labels", "weights"):
            batch[name] = batch[name][:, None].expand(ends.shape)[ends]
        return batch

    def mute(self, row: TokenRow) -> TokenRow:
        return replace(row, weight=0.0)


def read_rows(classifier: Discriminator, texts: Sequence[LabelledText]) -> list[TokenRow]:
    """Encodes the rows that a classifier learns or is checked on.

    Raises ValueError for a text that cannot be read, and if fewer than two classes have rows.
    """
    rows = [replace(row, label=texts[row.text].label) for row in classifier.read_to_learn(texts)]
    labels = {row.text: row.label for row in rows}
    if len(set(labels.values())) < 2:
        raise ValueError(
            f"both classes need a text of enough tokens ({SHORTEST} for a guide) on each side of the split, but of "
            f"{len(texts)} texts {len(labels)} have as many, {sum(labels.values())} of label 1"
        )
    return rows


class TextLogits(Metric):
    """The logit of every held-out text, or of every prefix of it: the weighted mean over its windows."""

    full_state_update = False

    def __init__(self) -> None:
        super().__init__()
        for name in ("logits", "labels", "weights", "places"):
            self.add_state(name, [], dist_reduce_fx="cat")

    def update(self, logits: Tensor, batch: Batch) -> None:
        is_read = batch["weights"] > 0  # not a row that another process reads
        read = {**batch, "logits": logits.float()}
        for name in self._defaults:
            getattr(self, name).append(read[name][is_read])

    def compute(self) -> tuple[Tensor, Tensor]:
        """Returns the logits and the labels, in the order of the texts."""
        logits, labels, weights, places = (dim_zero_cat(getattr(self, name)) for name in self._defaults)
        order, at = places.unique(return_inverse=True)
        weights = weights[:, None]
        columns = torch.cat([logits.reshape(len(logits), -1), torch.ones_like(weights)], dim=1)
        sums = columns.new_zeros(len(order), columns.shape[1])
        sums.index_add_(0, at, columns * weights)
        means = sums[:, :-1] / sums[:, -1:]
        return means.squeeze(-1), labels.new_zeros(len(order)).index_copy_(0, at, labels)


class DiscriminatorModule(TrainingModule):
    """A Lightning module that trains a discriminator or guide in place, on a `LabelledTextDataModule`."""

    def __init__(
        self,
        classifier: Discriminator,
        learning_rate: float = 1e-4,
        warm_up: float = 0.1,
        weight_decay: float = 0.01,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self.save_hyperparameters(ignore=["classifier"])
        self.network = classifier.network
        self.held_out = TextLogits()

    def setup(self, stage: str) -> None:
        self.network.train()  # what was loaded is in eval mode, without dropout

    def read_logits(self, batch: Batch) -> Tensor:
        """Computes the logits of the rows of a batch, or of all their prefixes."""
        logits = self.network(batch["ids"], batch["mask"])
        return logits[batch["ends"]] if "ends" in batch else logits

    def summed_loss(self, batch: Batch) -> Tensor:
        """Computes the cross-entropy summed over texts (for a guide, over prefixes), in nats."""
        return discriminator_loss(self.read_logits(batch), batch["labels"], batch["weights"])

    def configure_optimizers(self) -> Any:
        """Makes AdamW; weight decay applies to matrices only, not to biases and norms."""
        learned = [p for p in self.network.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in learned if p.ndim > 1], "weight_decay": self.hparams["weight_decay"]},
            {"params": [p for p in learned if p.ndim <= 1], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=self.hparams["learning_rate"])
        return self.schedule(optimizer, self.hparams["warm_up"] * int(self.trainer.estimated_stepping_batches))

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.held_out.update(self.read_logits(batch), batch)

    def on_validation_epoch_end(self) -> None:
        logits, labels = self.held_out.compute()
        self.held_out.reset()
        if not logits.isfinite().all():
            raise SettingError("held-out logits must be finite, but are not: lower the learning rate")
        for name, value in held_out_metrics(logits, labels).items():
            self.log(f"val/{name}", value, sync_dist=True)


def train_classifier(
    build: Callable[[Sequence[Segments]], C],
    texts: Sequence[LabelledText],
    folder: Path | str,
    make_trainer: Callable[..., Trainer] = Trainer,
    settings: TrainingSettings | None = None,
    loggers: Sequence[Logger] = (),
    seed: int = 0,
) -> C:
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
        classes = max(2, len(classifier.labels))
        highest = max(text.label for text in texts)
        if highest >= classes:
            raise ValueError(
                f"a classifier of {classes} classes learns labels below {classes}, but a text has {highest}"
            )
        data = LabelledTextDataModule(
            classifier,
            train,
            held_out,
            settings.token_budget,
            seed,
        )
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
