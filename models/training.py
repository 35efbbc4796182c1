"""Training of a language model by Lightning: tasks of a source and a target, best weights by held-out loss, resumable.

The same training serves encoder-decoder models (the source is encoded), causal models (the source precedes the target)
and masked models (the source has masks). Several processes share the rows of every batch, so that they train as one.
"""

import logging
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from pytorch_lightning.strategies import FSDPStrategy
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from core.faults import SettingFault
from core.settings import Count, NonNegative, Positive, Share, checked_dataclass
from models.batching import halve_when_out_of_memory, pad
from models.devices import free_memory
from models.fitting import fit_best
from models.learning_curve import LearningCurve
from models.lora import Lora, add_lora, merge_lora
from models.muon import Muon
from models.seq2seq import decoder_inputs

VERSION = 2  # of trained language models: raised whenever the same model, tasks and schedule would give other weights
NOT_LEARNED = -100  # torch's cross-entropy ignores it
Batch = dict[str, torch.Tensor]  # the first axis of every tensor is the rows

log = logging.getLogger(__name__)


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
        token_budget: padded tokens that the device holds at once. A batch that has more is read in parts, whose
            gradients add up. None reads every batch whole.
        checkpointing: whether activations are computed again in the backward pass: less memory, a third more time.
        lora: trains small matrices beside the frozen weights; None trains all weights.
    """

    epochs: Count
    batch_size: Count
    learning_rate: Positive
    muon: Positive | None = None
    warm_up: Share = 0.05
    weight_decay: NonNegative = 0.01
    token_budget: Count | None = None
    checkpointing: bool = False
    lora: Lora | None = None

    def __post_init__(self) -> None:
        if self.lora is not None and self.muon is not None:
            raise ValueError("lora trains with AdamW alone, but muon is set: set muon=null")


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


def share_of_batch(batch: Batch, process: int, processes: int) -> Batch:
    """The rows that one of several processes reads, and `learned`, the learned tokens of the whole batch.

    A process without a row of its own reads one from which nothing is learned.

    >>> batch = {"labels": torch.tensor([[1], [2], [3]])}
    >>> [share_of_batch(batch, process, 2)["labels"].flatten().tolist() for process in (0, 1)]
    [[1, 3], [2]]
    """
    learned = (batch["labels"] != NOT_LEARNED).sum()
    rows = len(batch["labels"])
    share = {name: tensor[process::processes] if process < rows else tensor[:1] for name, tensor in batch.items()}
    if process >= rows:
        share["labels"] = torch.full_like(share["labels"], NOT_LEARNED)
    return {**share, "learned": learned}


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
        process, processes = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)

        def collate(tasks: Sequence[Task]) -> Batch:
            return share_of_batch(self.as_batch(self.model, tasks), process, processes)

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
        self.strict_loading = False  # checkpoints hold what is learned
        self.model = model
        self.schedule = schedule
        self.seed = seed
        self.token_budget = schedule.token_budget
        self.skipped = 0  # batches of which not even one row fits into memory
        self.register_buffer("held_out", torch.zeros(2), persistent=False)
        self.held_out: torch.Tensor  # the sum of the held-out cross-entropy in nats, and the number of its tokens

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The weights without frozen ones."""
        named = self.named_parameters(remove_duplicate=False)  # tied weights have several names
        frozen = {name for name, parameter in named if not parameter.requires_grad}
        return {name: value for name, value in super().state_dict(*args, **kwargs).items() if name not in frozen}

    def loss(self, batch: Batch) -> torch.Tensor:
        """Cross-entropy of the learned tokens, summed, in nats."""
        inputs = {name: tensor for name, tensor in batch.items() if name not in ("labels", "learned")}
        logits = self.model(**inputs, use_cache=False).logits.float()
        return torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=NOT_LEARNED, reduction="sum"
        )

    def on_fit_start(self) -> None:
        """Raises SettingFault for what would go wrong in the first step or later.

        float16 is refused: its gradients are scaled when they are clipped. FSDP cuts matrices, which Muon needs whole.
        """
        if str(self.trainer.precision).startswith("16"):
            raise SettingFault(
                "trainer.precision must be 32-true or bf16-mixed for language models, but is "
                f"{self.trainer.precision}: gradients would be clipped before they are unscaled"
            )
        is_split = isinstance(self.trainer.strategy, FSDPStrategy)
        if is_split and self.schedule.muon is not None:
            raise SettingFault("muon must be null with trainer.strategy=fsdp, which cuts the matrices that Muon needs")
        learned = sum(p.numel() * p.element_size() for p in self.parameters() if p.requires_grad)
        free = None if is_split else free_memory(self.device)
        if free is not None and 3 * learned > free:
            raise SettingFault(
                f"gradients and the optimizer's moments of {self.device} need {3 * learned / 1e9:.1f} GB beside the "
                f"weights, but {free / 1e9:.1f} GB are free: set schedule.lora, a smaller model, or FSDP"
            )

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout of a batch is the same in a resumed run, and differs between processes.
        seed = (self.seed * 100_003 + self.current_epoch) * 1_000_003 + batch_idx
        torch.manual_seed(seed + self.global_rank * 2**40)

    def training_step(self, batch: Batch, _: int) -> None:
        optimizers = self.optimizers()
        schedulers = self.lr_schedulers()
        several = optimizers if isinstance(optimizers, list) else [optimizers]
        loss = self._add_gradients(batch)
        if loss is not None:
            self._clip()
            for optimizer in several:
                optimizer.step()
            self.log("train_nll", loss, prog_bar=True, batch_size=len(batch["labels"]), sync_dist=True)
        for optimizer in several:
            optimizer.zero_grad()
        for scheduler in schedulers if isinstance(schedulers, list) else [schedulers]:
            scheduler.step()  # pyright: ignore[reportCallIssue, reportOptionalMemberAccess, reportAttributeAccessIssue]

    def _add_gradients(self, batch: Batch) -> torch.Tensor | None:
        """Adds the gradients of a batch, part by part; returns its loss in nats per token.

        Parts that do not fit into memory are halved, for later batches too. None if not even one row fits.
        """
        rows, width = len(batch["labels"]), batch["labels"].shape[1] + batch["input_ids"].shape[1]
        while True:
            size = rows if self.token_budget is None else max(1, min(rows, self.token_budget // width))
            try:
                return self._add_parts(batch, size)
            except torch.OutOfMemoryError:
                if self.trainer.world_size > 1:  # the other processes wait for the gradients of this one
                    raise
            self.zero_grad()
            torch.cuda.empty_cache()  # inside the except block the tensors of the failed attempt are still referenced
            if size == 1:
                self.skipped += 1
                log.warning("a row of %d tokens does not fit into memory: %d batches skipped", width, self.skipped)
                return None
            self.token_budget = width * (size // 2)
            log.warning("out of memory: from now on at most %d tokens at once", self.token_budget)

    def _add_parts(self, batch: Batch, size: int) -> torch.Tensor:
        rows, learned = len(batch["labels"]), batch["learned"]
        total = torch.zeros((), device=self.device)
        for start in range(0, rows, size):
            part = {name: batch[name][start : start + size] for name in batch if name != "learned"}
            wrapped = self.trainer.strategy.model
            is_last = start + size >= rows
            with wrapped.no_sync() if isinstance(wrapped, DistributedDataParallel) and not is_last else nullcontext():
                loss = self.loss(part) * self.trainer.world_size / learned  # gradients are averaged over processes
                self.manual_backward(loss)
            total += loss.detach()
        return total

    def _clip(self) -> None:
        wrapped = self.trainer.strategy.model
        if isinstance(wrapped, FullyShardedDataParallel):
            wrapped.clip_grad_norm_(1.0)  # the norm over all processes
        else:
            torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

    def on_validation_epoch_start(self) -> None:
        self.held_out.zero_()

    def validation_step(self, batch: Batch, _: int) -> None:
        def losses(rows: list[int]) -> list[torch.Tensor]:
            return [self.loss({name: batch[name][rows] for name in batch if name != "learned"})]

        self.held_out[0] += sum(halve_when_out_of_memory(losses, list(range(len(batch["labels"])))))
        self.held_out[1] += (batch["labels"] != NOT_LEARNED).sum()

    def on_validation_epoch_end(self) -> None:
        nats, tokens = self.trainer.strategy.reduce(self.held_out.clone(), reduce_op="sum")
        self.log("held_out_nll", (nats / tokens).float(), prog_bar=True)

    def configure_optimizers(self) -> Any:
        decay = self.schedule.weight_decay
        muon = self.schedule.muon
        hidden = [p for name, p in self.model.named_parameters() if muon is not None and _is_hidden_matrix(name, p)]
        chosen = {id(p) for p in hidden}
        others = [p for p in self.model.parameters() if p.requires_grad and id(p) not in chosen]
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
    learner = lm.model if schedule.lora is None else add_lora(lm.model, schedule.lora, seed)
    if schedule.checkpointing:
        lm.model.activation_checkpointing_enable({"use_reentrant": False})
    lm.model.train()

    def save(folder: Path) -> None:
        if schedule.lora is not None:
            merge_lora(learner)
        lm.save_pretrained(folder)

    fit_best(
        LanguageModelTraining(learner, schedule, seed),
        Tasks(lm.model, train, held_out, schedule.batch_size, seed, as_batch),
        folder,
        make_trainer,
        loggers,
        curve=LearningCurve("train_nll", ["held_out_nll"]),
        monitor="held_out_nll",
        mode="min",
        save=save,
        max_epochs=schedule.epochs,
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,  # the processes share the rows of a batch, not the batches
    )
