"""Training of one infilling model by Lightning; amateur and expert are two such runs (CDM, Algorithm 1, lines 1-2)."""

import random
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger
from torch.utils.data import DataLoader

from cdm.segments import InfillingTask, Turns, training_task
from language_models.batching import pad
from language_models.infilling import Infilling
from language_models.learning_curve import LearningCurve
from language_models.seq2seq import Seq2SeqLM, decoder_inputs, target_log_probabilities

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class TokenisedDialogues:
    """Dialogues as token ids by one tokenizer, with how it writes gaps and joins turns."""

    dialogues: Sequence[Turns]
    infilling: Infilling
    separator: int
    longest: int

    def tasks(self, seed: int, per_dialogue: int = 1) -> list[InfillingTask]:
        """Training tasks, `per_dialogue` random gaps in every dialogue; the same for the same seed."""
        rng = random.Random(seed)
        return [
            training_task(turns, rng, self.infilling, self.separator, self.longest)
            for turns in self.dialogues
            for _ in range(per_dialogue)
        ]


def held_out_nll(lm: Seq2SeqLM, infilling: Infilling, tasks: Sequence[InfillingTask]) -> float:
    """Mean negative log-likelihood of the missing tokens in nats per token; lower is better.

    The closing token counts as one.
    """
    pairs = [(task.source, infilling.target(task.segment)) for task in tasks]
    scores = [row[len(infilling.before) :] for row in target_log_probabilities(lm, pairs)]
    return -float(np.concatenate(scores).mean(dtype=np.float64))


@dataclass(frozen=True)
class Schedule:
    """How long and how fast one model trains.

    Attributes:
        epochs: passes over the dialogues, each with gaps of its own; the model is checked after each.
        batch_size: tasks in a batch.
        learning_rate: of AdamW; the highest of a linear warm-up followed by a linear decay to zero.
        muon: learning rate of Muon for the matrices of hidden layers, null for AdamW everywhere. From scratch, Muon
            reaches in half the time what AdamW reaches; pretrained models are better left to AdamW.
        warm_up: the share of steps that warm up.
        weight_decay: of AdamW.
        gaps_per_dialogue: tasks from every dialogue in one epoch.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    muon: float | None = None
    warm_up: float = 0.05
    weight_decay: float = 0.01
    gaps_per_dialogue: int = 1


class InfillingData(pl.LightningDataModule):
    """Fresh gaps every epoch, the same for the same seed and epoch; batches of like length in random order."""

    def __init__(self, train: TokenisedDialogues, held_out: Sequence[InfillingTask], schedule: Schedule, seed: int):
        super().__init__()
        self.train = train
        self.held_out = held_out
        self.schedule = schedule
        self.seed = seed

    def _collate(self, tasks: Sequence[InfillingTask]) -> Batch:
        sources = [task.source for task in tasks]
        return {
            "sources": pad(sources, 0),
            "mask": pad([[1] * len(source) for source in sources], 0),
            "targets": pad([self.train.infilling.target(task.segment) for task in tasks], -100),
        }

    def _loader(self, tasks: Sequence[InfillingTask], shuffle_seed: int | None) -> DataLoader[Batch]:
        size = self.schedule.batch_size
        ordered = sorted(tasks, key=lambda task: (len(task.source), len(task.segment)))
        batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
        if shuffle_seed is not None:
            random.Random(shuffle_seed).shuffle(batches)
        return DataLoader(batches, batch_size=None, collate_fn=self._collate, shuffle=False)  # type: ignore[arg-type]

    def train_dataloader(self) -> DataLoader[Batch]:
        epoch = self.trainer.current_epoch if self.trainer else 0
        seed = self.seed * 100_003 + epoch
        return self._loader(self.train.tasks(seed, self.schedule.gaps_per_dialogue), shuffle_seed=seed)

    def val_dataloader(self) -> DataLoader[Batch]:
        return self._loader(self.held_out, shuffle_seed=None)


class InfillingModel(pl.LightningModule):
    """Lightning's view of a model that learns to fill gaps."""

    def __init__(self, lm: Seq2SeqLM, schedule: Schedule, given: int, seed: int) -> None:
        super().__init__()
        self.automatic_optimization = False  # two optimizers step on one loss
        self.model = lm.model
        self.schedule = schedule
        self.given = given  # leading target tokens that the model is given and need not learn
        self.seed = seed

    def loss(self, batch: Batch) -> torch.Tensor:
        """Cross-entropy of the missing tokens in nats per token."""
        targets = batch["targets"]
        logits = self.model(
            input_ids=batch["sources"],
            attention_mask=batch["mask"],
            decoder_input_ids=decoder_inputs(self.model, targets.clamp(min=0)),
            use_cache=False,
        ).logits
        return torch.nn.functional.cross_entropy(
            logits[:, self.given :].flatten(0, 1), targets[:, self.given :].flatten(), ignore_index=-100
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
        self.log("train_nll", loss.detach(), prog_bar=True, batch_size=len(batch["targets"]))

    def validation_step(self, batch: Batch, _: int) -> None:
        tokens = int((batch["targets"][:, self.given :] >= 0).sum())
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
            optimizers.append(torch.optim.Muon(hidden, muon, weight_decay=decay, adjust_lr_fn="match_rms_adamw"))
        total = int(self.trainer.estimated_stepping_batches)
        warm = max(1, round(total * self.schedule.warm_up))

        def factor(step: int) -> float:
            return min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))

        return optimizers, [torch.optim.lr_scheduler.LambdaLR(optimizer, factor) for optimizer in optimizers]


def _is_hidden_matrix(name: str, parameter: torch.Tensor) -> bool:
    """Muon is made for these; embeddings, the output layer and vectors stay with AdamW."""
    return parameter.ndim == 2 and not any(part in name for part in ("shared", "embed", "bias", "lm_head"))


def train_infilling_model(
    lm: Seq2SeqLM,
    train: TokenisedDialogues,
    held_out: Sequence[InfillingTask],
    schedule: Schedule,
    folder: Path,
    make_trainer: Callable[..., pl.Trainer],
    loggers: Iterable[Logger] = (),
    seed: int = 0,
) -> Seq2SeqLM:
    """Trains `lm` to fill gaps and keeps the weights of the best held-out likelihood.

    `folder` receives the model in the Hugging Face form and `curve.json`. A run that was killed goes on from the last
    checkpoint in `folder`, and ends where it would have ended.
    """
    checkpoints = folder / "checkpoints"
    keep = ModelCheckpoint(checkpoints, monitor="held_out_nll", mode="min", save_top_k=1, save_last=True)
    curve = LearningCurve("train_nll", "held_out_nll")
    lm.model.train()
    trainer = make_trainer(
        max_epochs=schedule.epochs,
        reload_dataloaders_every_n_epochs=1,
        num_sanity_val_steps=0,
        default_root_dir=folder,
        callbacks=[keep, curve],
        logger=list(loggers),
    )
    module = InfillingModel(lm, schedule, len(train.infilling.before), seed)
    last = checkpoints / "last.ckpt"
    with warnings.catch_warnings():
        # Batches are ready lists and need no loading processes; a resumed run finds its own checkpoints; Lightning
        # itself asks torch for a name that is going away.
        warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated", category=FutureWarning)
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")
        warnings.filterwarnings("ignore", message="The number of training batches .* is smaller than the logging")
        trainer.fit(
            module,
            datamodule=InfillingData(train, held_out, schedule, seed),
            ckpt_path=last if last.exists() else None,
            weights_only=True,
        )
    best = torch.load(keep.best_model_path, map_location="cpu", weights_only=True)["state_dict"]
    module.load_state_dict(best)
    lm.model.eval()
    lm.save_pretrained(folder)
    curve.save(folder / "curve.json")
    shutil.rmtree(checkpoints)
    return lm
