"""Training of a language model by Lightning: tasks of a source and a target, best weights by held-out loss, resumable.

The same training serves encoder-decoder models (the source is encoded), causal models (the source precedes the target)
and masked models (the source has masks).
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from torch.utils.data import DataLoader

from core.faults import SettingFault
from core.settings import Count, NonNegative, Positive, Share, checked_dataclass
from language_models.batching import pad
from language_models.fitting import fit_best
from language_models.learning_curve import LearningCurve
from language_models.muon import Muon
from language_models.seq2seq import decoder_inputs

VERSION = 2  # of trained language models: raised whenever the same model, tasks and schedule would give other weights
NOT_LEARNED = -100  # torch's cross-entropy ignores it
Batch = dict[str, torch.Tensor]


class Trainable(Protocol):
    """A model and its tokenizer: Seq2SeqLM, CausalLM or MaskedLM."""

    @property
    def model(self) -> Any:
        """A transformers model."""
        ...

    def save_pretrained(self, folder: Path) -> None:
        """Writes model and tokenizer in the Hugging Face form."""
        ...


@dataclass(frozen=True)
class Task:
    """Token ids to read and token ids to write; the first `given` ids of the target are read and not learned."""

    source: Sequence[int]
    target: Sequence[int]
    given: int = 0


@checked_dataclass
class Schedule:
    """How long and how fast one model trains.

    Attributes:
        epochs: passes over the tasks; the model is checked after each.
        batch_size: tasks in a batch.
        learning_rate: of AdamW; the highest of a linear warm-up followed by a linear decay to zero.
        muon: learning rate of Muon for the matrices of hidden layers; null uses AdamW everywhere. A model from scratch
            reaches the same loss with Muon in half the time. Pretrained models do better with AdamW.
        warm_up: the share of steps in which the learning rates rise.
        weight_decay: of AdamW.
    """

    epochs: Count
    batch_size: Count
    learning_rate: Positive
    muon: Positive | None = None
    warm_up: Share = 0.05
    weight_decay: NonNegative = 0.01


def seq2seq_batch(model: Any, tasks: Sequence[Task]) -> Batch:
    """The inputs of an encoder-decoder model, and `labels` of the shape (rows, time)."""
    labels = pad([[NOT_LEARNED] * t.given + list(t.target[t.given :]) for t in tasks], NOT_LEARNED)
    return {
        "input_ids": pad([t.source for t in tasks], model.config.pad_token_id),
        "attention_mask": pad([[1] * len(t.source) for t in tasks], 0),
        "decoder_input_ids": decoder_inputs(model, pad([t.target for t in tasks], model.config.pad_token_id)),
        "labels": labels,
    }


def causal_batch(model: Any, tasks: Sequence[Task]) -> Batch:
    """The inputs of a causal model, and `labels` of the shape (rows, time): the token after each one that is read.

    Every task needs a source of at least one token, because the model predicts nothing without one.
    """
    rows = [[*t.source, *t.target] for t in tasks]
    read = [len(t.source) + t.given for t in tasks]
    labels = [[NOT_LEARNED] * (given - 1) + row[given:] for row, given in zip(rows, read, strict=True)]
    return {
        "input_ids": pad([row[:-1] for row in rows], model.config.pad_token_id or 0),
        "attention_mask": pad([[1] * (len(row) - 1) for row in rows], 0),
        "labels": pad(labels, NOT_LEARNED),
    }


def masked_batch(model: Any, tasks: Sequence[Task]) -> Batch:
    """The inputs of a masked model; a target is as long as its source, with NOT_LEARNED where there is no mask."""
    return {
        "input_ids": pad([t.source for t in tasks], model.config.pad_token_id or 0),
        "attention_mask": pad([[1] * len(t.source) for t in tasks], 0),
        "labels": pad([t.target for t in tasks], NOT_LEARNED),
    }


class Tasks(pl.LightningDataModule):
    """New tasks in every epoch, the same for the same seed and epoch; batches of similar length in random order."""

    def __init__(
        self,
        model: Any,
        train: Callable[[int], Sequence[Task]],
        held_out: Sequence[Task],
        batch_size: int,
        seed: int,
        as_batch: Callable[[Any, Sequence[Task]], Batch],
    ) -> None:
        super().__init__()
        self.model = model
        self.as_batch = as_batch
        self.train = train
        self.held_out = held_out
        self.batch_size = batch_size
        self.seed = seed

    def _loader(self, tasks: Sequence[Task], shuffle_seed: int | None) -> DataLoader[Batch]:
        ordered = sorted(tasks, key=lambda task: (len(task.source), len(task.target)))
        batches = [ordered[i : i + self.batch_size] for i in range(0, len(ordered), self.batch_size)]
        if shuffle_seed is not None:
            random.Random(shuffle_seed).shuffle(batches)
        collate = partial(self.as_batch, self.model)
        return DataLoader(batches, batch_size=None, collate_fn=collate, shuffle=False)  # type: ignore[arg-type]

    def train_dataloader(self) -> DataLoader[Batch]:
        epoch = self.trainer.current_epoch if self.trainer else 0
        seed = self.seed * 100_003 + epoch
        return self._loader(self.train(seed), shuffle_seed=seed)

    def val_dataloader(self) -> DataLoader[Batch]:
        return self._loader(self.held_out, shuffle_seed=None)


class LanguageModelTraining(pl.LightningModule):
    """Lightning's view of a language model that learns its targets."""

    def __init__(self, model: Any, schedule: Schedule, seed: int) -> None:
        super().__init__()
        self.automatic_optimization = False  # two optimizers step on one loss
        self.model = model
        self.schedule = schedule
        self.seed = seed

    def loss(self, batch: Batch) -> torch.Tensor:
        """Cross-entropy of the learned tokens in nats per token."""
        inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
        logits = self.model(**inputs, use_cache=False).logits
        return torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=NOT_LEARNED
        )

    def on_fit_start(self) -> None:
        """Raises SettingFault for float16, whose gradients are scaled when they are clipped."""
        if str(self.trainer.precision).startswith("16"):
            raise SettingFault(
                "trainer.precision must be 32-true or bf16-mixed for language models, but is "
                f"{self.trainer.precision}: gradients would be clipped before they are unscaled"
            )

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout of a batch is the same in a resumed run.
        torch.manual_seed((self.seed * 100_003 + self.current_epoch) * 1_000_003 + batch_idx)

    def training_step(self, batch: Batch, _: int) -> None:
        optimizers = self.optimizers()
        schedulers = self.lr_schedulers()
        loss = self.loss(batch)
        self.manual_backward(loss)
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        for optimizer in optimizers if isinstance(optimizers, list) else [optimizers]:
            optimizer.step()
            optimizer.zero_grad()
        for scheduler in schedulers if isinstance(schedulers, list) else [schedulers]:
            scheduler.step()  # pyright: ignore[reportCallIssue, reportOptionalMemberAccess, reportAttributeAccessIssue]
        self.log("train_nll", loss.detach(), prog_bar=True, batch_size=len(batch["labels"]))

    def validation_step(self, batch: Batch, _: int) -> None:
        tokens = int((batch["labels"] != NOT_LEARNED).sum())
        self.log("held_out_nll", self.loss(batch), batch_size=tokens, prog_bar=True, sync_dist=True)

    def configure_optimizers(self) -> Any:
        decay = self.schedule.weight_decay
        muon = self.schedule.muon
        hidden = [p for name, p in self.model.named_parameters() if muon is not None and _is_hidden_matrix(name, p)]
        chosen = {id(p) for p in hidden}
        others = [p for p in self.model.parameters() if id(p) not in chosen]
        optimizers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(others, self.schedule.learning_rate, betas=(0.9, 0.98), weight_decay=decay, fused=True)
        ]
        if muon is not None:
            optimizers.append(Muon(hidden, muon, weight_decay=decay))
        total = int(self.trainer.estimated_stepping_batches)
        warm = max(1, round(total * self.schedule.warm_up))

        def factor(step: int) -> float:
            return min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))

        return optimizers, [torch.optim.lr_scheduler.LambdaLR(optimizer, factor) for optimizer in optimizers]


def _is_hidden_matrix(name: str, parameter: torch.Tensor) -> bool:
    """Whether Muon trains it. AdamW trains embeddings, the output layer and vectors."""
    outer = ("shared", "embed", "wte", "wpe", "bias", "lm_head")
    return parameter.ndim == 2 and not any(part in name for part in outer)


def train_language_model(
    lm: Trainable,
    train: Callable[[int], Sequence[Task]],
    held_out: Sequence[Task],
    schedule: Schedule,
    folder: Path,
    make_trainer: Callable[..., pl.Trainer],
    loggers: Iterable[Logger] = (),
    seed: int = 0,
    as_batch: Callable[[Any, Sequence[Task]], Batch] | None = None,
) -> None:
    """Trains the model in place and keeps the weights of the best held-out likelihood.

    `folder` receives the model in the Hugging Face form and `curve.json`. A run that was killed continues from the last
    checkpoint in `folder`, with the same result.

    Args:
        lm: an encoder-decoder, a causal or a masked model.
        train: the tasks of one epoch by a seed, the same for the same seed.
        held_out: tasks to check the model on.
        schedule: how long and how fast to train.
        folder: where to train and to keep the model.
        make_trainer: called with the arguments that this function sets; it adds the hardware.
        loggers: Lightning loggers.
        seed: of the tasks, their order and dropout.
        as_batch: makes the inputs of the model; by default `seq2seq_batch` or `causal_batch`. A masked model needs
            `masked_batch`.
    """
    as_batch = as_batch or (seq2seq_batch if lm.model.config.is_encoder_decoder else causal_batch)
    lm.model.train()
    fit_best(
        LanguageModelTraining(lm.model, schedule, seed),
        Tasks(lm.model, train, held_out, schedule.batch_size, seed, as_batch),
        folder,
        make_trainer,
        loggers,
        curve=LearningCurve("train_nll", ["held_out_nll"]),
        monitor="held_out_nll",
        mode="min",
        save=lm.save_pretrained,
        max_epochs=schedule.epochs,
        reload_dataloaders_every_n_epochs=1,
    )
