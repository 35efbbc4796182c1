"""Trains a language model on tasks, each a source and a target: the batches, the loss, the optimizers (see `fit`).

An encoder-decoder model encodes the source. A causal model reads it before the target. The source of a masked model has
masks, which the target fills.
"""

import math
import random
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from pytorch_lightning.strategies import FSDPStrategy
from torchmetrics import SumMetric

from core.errors import SettingError
from core.settings import Count, Positive, checked_dataclass
from models.batching import NOT_LEARNED, Batch, Task, batches_by_budget
from models.fit import BatchDataModule, Schedule, TrainingModule, fit
from models.model import LanguageModel, output_layer_given
from models.muon import MuonAdamW
from models.windows import split_evenly


@checked_dataclass
class Lora:
    """LoRA through peft (extra `peft`): small matrices beside every linear layer but the output layer (Hu et al. 2022).

    The small matrices are trained while the weights are frozen, and are merged with them when the model is saved. The
    embeddings of new tokens are trained, too, because they are random.
    """

    # of the product of two matrices
    rank: Count = 16
    # the product is multiplied by alpha / rank
    alpha: Positive = 32.0


@checked_dataclass
class LanguageModelSchedule(Schedule):
    """How long and how fast a language model trains. The learning rate is above 0 in the first step already."""

    _: KW_ONLY
    # tasks in a batch
    batch_size: Count
    # learning rate of Muon for the matrices of hidden layers; null uses AdamW everywhere. A model from scratch reaches
    # the same loss with Muon in half the time. Pretrained models do better with AdamW.
    muon: Positive | None = None
    # padded tokens that the device holds at once. Batches have at most as many, and so many of them make a step
    # (`trainer.accumulate_grad_batches`) that a step has `batch_size` tasks on average. None: a step is one batch.
    token_budget: Count | None = None
    # whether activations are computed again in the backward pass: less memory, a third more time
    checkpointing: bool = False
    # trains small matrices beside the frozen weights; None trains all weights
    lora: Lora | None = None

    def __post_init__(self) -> None:
        if self.lora is not None and self.muon is not None:
            raise ValueError("lora trains with AdamW alone, but muon is set: set muon=null")


class LanguageModelModule(TrainingModule):
    """A Lightning module of a language model that learns targets given sources.

    The loss of a step is the mean over all its tokens: those of all its parts, in all processes. If `against` holds
    another model's held-out loss after each epoch, `val/discrepancy` is that loss minus this model's own.
    """

    def __init__(
        self,
        model: Any,
        learning_rate: float,
        muon: float | None = None,
        warm_up: float = 0.05,
        weight_decay: float = 0.01,
        seed: int = 0,
        against: Sequence[float] | None = None,
    ) -> None:
        super().__init__(seed)
        self.save_hyperparameters(ignore=["model"])
        self.strict_loading = False  # checkpoints hold what is learned
        self.model = model
        self.against = against
        self.nats = SumMetric(nan_strategy="disable")  # of the held-out tokens
        self.tokens = SumMetric(nan_strategy="disable")

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns all weights that are not frozen."""
        named = self.named_parameters(remove_duplicate=False)  # tied weights have several names
        frozen = {name for name, parameter in named if not parameter.requires_grad}
        return {name: value for name, value in super().state_dict(*args, **kwargs).items() if name not in frozen}

    def summed_loss(self, batch: Batch) -> torch.Tensor:
        """Computes the summed cross-entropy of the learned tokens, in nats, with logits of these tokens only."""
        inputs = {name: tensor for name, tensor in batch.items() if name not in ("labels", "learned")}
        learned = batch["labels"] != NOT_LEARNED
        with output_layer_given(self.model, lambda states: states[learned]):
            logits = self.model(**inputs, use_cache=False).logits.float()
        return torch.nn.functional.cross_entropy(logits, batch["labels"][learned], reduction="sum")

    def on_fit_start(self) -> None:
        """Raises SettingError for settings that would fail in the first step or later, before anything is trained."""
        if str(self.trainer.precision).startswith("16"):
            raise SettingError(
                "trainer.precision must be 32-true or bf16-mixed for language models, but is "
                f"{self.trainer.precision}: states of T5 and others overflow in float16"
            )
        if isinstance(self.trainer.strategy, FSDPStrategy) and self.hparams["muon"] is not None:
            raise SettingError("muon must be null with trainer.strategy=fsdp, which cuts the matrices that Muon needs")

    def validation_step(self, batch: Batch, _: int) -> None:
        self.nats.update(self.summed_loss(batch))
        self.tokens.update((batch["labels"] != NOT_LEARNED).sum())

    def on_validation_epoch_end(self) -> None:
        loss = self.nats.compute() / self.tokens.compute()
        self.nats.reset()
        self.tokens.reset()
        self.log("val/loss", loss, prog_bar=True)
        if self.against is not None:
            self.log("val/discrepancy", self.against[self.current_epoch] - loss)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Makes AdamW, with Muon for the matrices of hidden layers if there is a learning rate for it."""
        muon = self.hparams["muon"]
        learned = [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]
        # In the model's order, in which the norm of the gradient adds up.
        runs = groupby(learned, key=lambda named: muon is not None and _is_hidden_matrix(*named))
        groups: list[dict[str, Any]] = []
        for is_of_muon, run in runs:
            further = {"muon": True, "lr": muon} if is_of_muon else {}
            groups.append({"params": [p for _, p in run], **further})
        rate, decay = self.hparams["learning_rate"], self.hparams["weight_decay"]
        return MuonAdamW(groups, rate, betas=(0.9, 0.98), weight_decay=decay, fused=True)

    def configure_optimizers(self) -> Any:
        warm_up = max(1, round(int(self.trainer.estimated_stepping_batches) * self.hparams["warm_up"]))
        return self.schedule(self.make_optimizer(), warm_up, lead=1)  # the first step learns


class TaskDataModule(BatchDataModule[Task]):
    """The tasks that a language model learns and the held-out ones, in batches of tasks of similar length."""

    def __init__(
        self,
        lm: LanguageModel,
        train: Callable[[int], Sequence[Task]],
        held_out: Sequence[Task],
        batch_size: int,
        token_budget: int | None = None,
        seed: int = 0,
    ) -> None:
        """`train` gives the tasks of one epoch by a seed; with a `token_budget` see `batches_by_tokens`."""
        super().__init__()
        self.lm = lm
        self.train = train
        self.held_out = held_out
        self.batch_size = batch_size
        self.batch: Callable[..., list[list[Task]]] = partial(batches_of_tasks, size=batch_size)
        if token_budget is not None:
            self.batch = partial(batches_by_tokens, size=batch_size, token_budget=token_budget)
        self.seed = seed

    @property
    def parts(self) -> int:
        """The number of batches that have `batch_size` tasks together, on average over the first epoch."""
        batches = self.train_batches(0)
        return max(1, round(len(batches) * self.batch_size / max(1, sum(map(len, batches)))))

    def train_batches(self, epoch: int) -> list[list[Task]]:
        seed = self.seed * 100_003 + epoch
        return self.batch(self.train(seed), shuffle_seed=seed)

    def held_out_batches(self) -> list[list[Task]]:
        return self.batch(self.held_out)

    def count_learned(self, batches: Sequence[Sequence[Task]]) -> int:
        return sum(token != NOT_LEARNED for batch in batches for task in batch for token in task.labels)

    def collate(self, rows: Sequence[Task]) -> Batch:
        return self.lm.training_batch(rows)

    def mute(self, row: Task) -> Task:
        return replace(row, given=len(row.target))


def batches_by_tokens(
    tasks: Sequence[Task],
    size: int,
    token_budget: int,
    shuffle_seed: int | None = None,
) -> list[list[Task]]:
    """Groups tasks of similar length into batches of at most `size` tasks and `token_budget` tokens, or of one task."""
    least = math.ceil(token_budget / size)
    costs = [max(least, len(task.source) + len(task.target)) for task in tasks]
    generator = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)
    return [[tasks[i] for i in batch] for batch in batches_by_budget(costs, token_budget, generator)]


def batches_of_tasks(tasks: Sequence[Task], size: int, shuffle_seed: int | None = None) -> list[list[Task]]:
    """Groups tasks of similar length into batches of at most `size`.

    The shortest tasks come first; with a seed the batches have a random order. The sizes differ by at most one.
    Otherwise a few of the longest tasks could be left over as a batch of their own.
    """
    ordered = sorted(tasks, key=lambda task: (len(task.source), len(task.target)))
    batches = split_evenly(ordered, size) if ordered else []
    if shuffle_seed is not None:
        random.Random(shuffle_seed).shuffle(batches)
    return batches


def _is_hidden_matrix(name: str, parameter: torch.Tensor) -> bool:
    """Whether Muon trains it. AdamW trains embeddings, the output layer and vectors."""
    outer = ("shared", "embed", "wte", "wpe", "bias", "lm_head")
    return parameter.ndim == 2 and not any(part in name for part in outer)


def add_lora(model: Any, lora: Lora, seed: int, tokens: Collection[int]) -> Any:
    """Adds LoRA to a model: frozen weights, trained matrices, and trained embeddings of `tokens`."""
    from peft import LoraConfig, get_peft_model  # an extra

    sizes: dict[str, Any] = {
        "r": lora.rank,
        "lora_alpha": lora.alpha,
    }
    config = LoraConfig(target_modules="all-linear", trainable_token_indices=list(tokens) or None, **sizes)
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing.* is deprecated", category=FutureWarning)
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def find_new_tokens(lm: LanguageModel) -> list[int]:
    """Lists the ids of the tokens that were added to a pretrained model (`PretrainedLM`)."""
    vocabulary = lm.tokenizer.get_vocab()
    return [vocabulary[token] for token in getattr(lm.model.config, "new_tokens", ())]


def train_language_model(
    lm: LanguageModel,
    train: Callable[[int], Sequence[Task]],
    held_out: Sequence[Task],
    schedule: LanguageModelSchedule,
    folder: Path,
    make_trainer: Callable[..., pl.Trainer],
    loggers: Iterable[Logger] = (),
    seed: int = 0,
    against: Sequence[float] | None = None,
    every_epoch: bool = False,
) -> None:
    """Trains the model in place and saves the weights of the best held-out likelihood; resumable (see `fit`).

    `folder` receives the model in the Hugging Face form and `curve.json`. `train` returns the tasks of one epoch for a
    seed. `against` are the held-out losses of another model after each epoch, in nats per token: the saved weights are
    then those of the epoch with the largest lead. `every_epoch` is not for LoRA.
    """
    learner = lm.model
    if schedule.lora is not None:
        learner = add_lora(learner, schedule.lora, seed, find_new_tokens(lm))
    if schedule.checkpointing:
        lm.model.activation_checkpointing_enable({"use_reentrant": False})
    lm.model.train()

    def save(folder: Path) -> None:
        if schedule.lora is not None:
            learner.merge_and_unload()
        lm.save_pretrained(folder)

    module = LanguageModelModule(
        learner,
        learning_rate=schedule.learning_rate,
        muon=schedule.muon,
        warm_up=schedule.warm_up,
        weight_decay=schedule.weight_decay,
        seed=seed,
        against=against,
    )
    data = TaskDataModule(lm, train, held_out, schedule.batch_size, schedule.token_budget, seed)
    fit(
        module,
        data,
        folder=folder,
        make_trainer=make_trainer,
        loggers=loggers,
        save=save,
        monitor="val/loss" if against is None else "val/discrepancy",
        every_epoch=every_epoch,
        max_epochs=schedule.epochs,
        gradient_clip_val=schedule.gradient_clip,
        accumulate_grad_batches=1 if schedule.token_budget is None else data.parts,
    )
