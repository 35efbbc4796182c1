"""What an infilling model learns; amateur and expert are two such models (CDM, Algorithm 1, lines 1-2)."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cdm.segments import InfillingTask, Turns, training_task
from core.settings import Count, checked_dataclass
from language_models.infilling import Infilling, sentinel_infilling
from language_models.seq2seq import Seq2SeqLM, target_log_probabilities
from language_models.training import Batch, Task, seq2seq_batch

SEPARATOR = "</UTT>"  # one added token; T5 alone reads it as five pieces with an unknown among them


@dataclass(frozen=True)
class TokenisedDialogues:
    """Dialogues as token ids by one tokenizer, with how it writes gaps and joins turns."""

    dialogues: Sequence[Turns]
    infilling: Infilling
    separator: int
    longest: int

    def tasks(self, seed: int) -> list[InfillingTask]:
        """A random gap in every dialogue; the same for the same seed."""
        rng = random.Random(seed)
        return [training_task(turns, rng, self.infilling, self.separator, self.longest) for turns in self.dialogues]


def tokenise(lm: Seq2SeqLM, dialogues: Sequence[Sequence[str]], longest: int) -> TokenisedDialogues:
    """Every turn as token ids, each turn on its own."""
    turns = [turn for dialogue in dialogues for turn in dialogue]
    ids = iter(lm.tokenizer(turns, add_special_tokens=False, split_special_tokens=True)["input_ids"] if turns else [])
    return TokenisedDialogues(
        [[next(ids) for _ in dialogue] for dialogue in dialogues],
        sentinel_infilling(lm.tokenizer),
        lm.tokenizer.get_vocab()[SEPARATOR],
        longest,
    )


def held_out_nll(lm: Seq2SeqLM, infilling: Infilling, tasks: Sequence[InfillingTask]) -> float:
    """Mean negative log-likelihood of the missing tokens in nats per token; lower is better.

    The closing token counts as one.
    """
    pairs = [(task.source, infilling.target(task.segment)) for task in tasks]
    scores = [row[len(infilling.before) :] for row in target_log_probabilities(lm, pairs)]
    return -float(np.concatenate(scores).mean(dtype=np.float64))


@checked_dataclass
class DialogueGaps:
    """A model learns to fill a random gap in every dialogue.

    Attributes:
        longest: source tokens that the model reads, saved with it; longer dialogues are read in windows.
    """

    longest: Count

    def build(self, model: Any, dialogues: Sequence[Sequence[str]], seed: int) -> Seq2SeqLM:
        """The model before training; its tokenizer knows the turns and their separator."""
        lm = model.build([turn for turns in dialogues for turn in turns], (SEPARATOR,), seed)
        lm.tokenizer.model_max_length = self.longest
        return lm

    def tasks(self, lm: Seq2SeqLM, dialogues: Sequence[Sequence[str]]) -> Callable[[int], list[Task]]:
        """The tasks of an epoch by its seed."""
        tokenised = tokenise(lm, dialogues, self.longest)
        fills = tokenised.infilling
        return lambda seed: [
            Task(task.source, fills.target(task.segment), len(fills.before)) for task in tokenised.tasks(seed)
        ]

    def batch(self, lm: Seq2SeqLM, tasks: Sequence[Task]) -> Batch:
        """What the model is called with."""
        return seq2seq_batch(lm.model, tasks)
