"""Training of one infilling model; amateur and expert are two such runs (CDM, Algorithm 1, lines 1-2)."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytorch_lightning as pl
from pytorch_lightning.loggers import Logger

from cdm.segments import InfillingTask, Turns, training_task
from language_models.infilling import Infilling
from language_models.seq2seq import Seq2SeqLM, target_log_probabilities
from language_models.training import Schedule, Task, train_language_model


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


def train_infilling_model(
    lm: Seq2SeqLM,
    train: TokenisedDialogues,
    held_out: Sequence[InfillingTask],
    schedule: Schedule,
    gaps_per_dialogue: int,
    folder: Path,
    make_trainer: Callable[..., pl.Trainer],
    loggers: Iterable[Logger] = (),
    seed: int = 0,
) -> None:
    """Trains `lm` to fill gaps, `gaps_per_dialogue` new ones in every dialogue and epoch.

    The rest as in `language_models.training.train_language_model`.
    """

    def learned(tasks: Sequence[InfillingTask]) -> list[Task]:
        fills = train.infilling
        return [Task(task.source, fills.target(task.segment), len(fills.before)) for task in tasks]

    train_language_model(
        lm,
        lambda task_seed: learned(train.tasks(task_seed, gaps_per_dialogue)),
        learned(held_out),
        schedule,
        folder,
        make_trainer,
        loggers,
        seed,
    )
