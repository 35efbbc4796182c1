"""Language models for experiments: pretrained ones by name, or small ones that are trained here and kept as stages."""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from core.faults import InputFaults, SettingFault
from core.stages import fingerprint
from experiments.contracts import Run
from experiments.training.trained import Trained, find_or_train, use_pretrained
from models.causal import CausalLM
from models.masked import MaskedLM
from models.training import (
    NOT_LEARNED,
    VERSION,
    Batch,
    LanguageModelSchedule,
    Task,
    Trainable,
    causal_batch,
    masked_batch,
    train_language_model,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pretrained:
    """A pretrained model, by its hub name or folder."""

    name: str


class ModelPlan(Protocol):
    """What to build: a frozen dataclass of settings (TinyT5, PretrainedLM)."""

    def build(self, texts: Sequence[str], additional: tuple[str, ...], seed: int) -> Trainable:
        """Builds the model before training. Its tokenizer has the additional tokens and may learn from the texts."""
        ...


class Learns(Protocol):
    """The training task of a model: a frozen dataclass of settings. A text may have any type (str, turns)."""

    def build(self, model: Any, texts: Sequence[Any], seed: int, /) -> Any:
        """Builds the model of a plan before training; the texts are those to train on."""
        ...

    def tasks(self, lm: Any, texts: Sequence[Any], /) -> Callable[[int], Sequence[Task]]:
        """The tasks of one epoch, at least one per text; the same seed gives the same tasks."""
        ...

    def batch(self, lm: Any, tasks: Sequence[Task], /) -> Batch:
        """The model's inputs for a batch of tasks."""
        ...


@dataclass(frozen=True)
class LanguageModelPlan:
    """A language model to train here.

    Attributes:
        model: the model to build; `learns.build` receives it.
        schedule: the length and learning rate of the training.
        learns: the training task.
        tasks_per_text: how often an epoch takes the tasks of a text, each time others (other gaps, for example).
    """

    model: Any
    schedule: LanguageModelSchedule
    learns: Learns
    tasks_per_text: int = 1


def find_or_train_language_model(
    run: Run, name: str, plan: LanguageModelPlan | Pretrained, train: Sequence[Any], held_out: Sequence[Any]
) -> Trained:
    """A pretrained model, or one that is trained on `train` and checked on `held_out`, or found as a stage.

    Raises SettingFault if there are no texts to train on.
    """
    if isinstance(plan, Pretrained):
        return use_pretrained(plan.name)
    if not train or not held_out:
        raise SettingFault(
            f"the small model {name} learns from the texts of `data`, but these have no "
            f"{'held-out' if train else 'training'} texts: choose other data, or a pretrained model (scale=paper)"
        )

    def build(folder: Path) -> None:
        learns = plan.learns
        lm = learns.build(plan.model, train, run.seed)
        log.info("%s: %.2f M parameters, %d tokens", name, lm.parameters / 1e6, len(lm.tokenizer))
        train_language_model(
            lm,
            learns.tasks(lm, [text for text in train for _ in range(plan.tasks_per_text)]),
            learns.tasks(lm, held_out)(run.seed),
            plan.schedule,
            folder,
            run.trainer,
            run.loggers(name),
            run.seed,
            lambda _, tasks: learns.batch(lm, tasks),
        )

    depends = {"plan": plan, "train": fingerprint(train), "held_out": fingerprint(held_out), "seed": run.seed}
    return find_or_train(run, name, depends, build, VERSION)


@dataclass(frozen=True)
class WholeTexts:
    """A causal model learns whole texts, from the start token to the end token.

    Texts that are too long for the model are left out.
    """

    def build(self, model: ModelPlan, texts: Sequence[str], seed: int) -> Trainable:
        """Builds the model before training."""
        return model.build(texts, (), seed)

    def tasks(self, lm: CausalLM, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        """The same tasks in every epoch."""
        found = [Task([lm.start], [*row, lm.start]) for row in encode_fitting(lm, texts, lm.longest - 2)]
        return lambda seed: found

    def batch(self, lm: CausalLM, tasks: Sequence[Task]) -> Batch:
        """The inputs of the model for a batch."""
        return causal_batch(lm.model, tasks)


@dataclass(frozen=True)
class MaskedTokens:
    """A masked model learns to predict masked tokens, which are drawn anew in every epoch.

    Texts that are too long for the model are left out.

    Attributes:
        share: of the tokens of a text that are masked.
    """

    share: float = 0.15

    def build(self, model: ModelPlan, texts: Sequence[str], seed: int) -> Trainable:
        """Builds the model before training."""
        return model.build(texts, (), seed)

    def tasks(self, lm: MaskedLM, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        """Other tasks for every seed: each masks other tokens of the texts."""
        rows = [lm.framed((), row) for row in encode_fitting(lm, texts, lm.longest - 3)]
        mask = lm.special("mask")

        def draw_tasks(seed: int) -> list[Task]:
            rng = random.Random(seed)
            return [self.task(row, mask, rng) for row in rows]

        return draw_tasks

    def task(self, row: Sequence[int], mask: int, rng: random.Random) -> Task:
        """Masks a share of the inner tokens of a row, but at least one."""
        inner = range(1, len(row) - 1)
        at = set(rng.sample(inner, max(1, round(self.share * len(inner)))))
        source = [mask if i in at else token for i, token in enumerate(row)]
        return Task(source, [token if i in at else NOT_LEARNED for i, token in enumerate(row)])

    def batch(self, lm: MaskedLM, tasks: Sequence[Task]) -> Batch:
        """The inputs of the model for a batch."""
        return masked_batch(lm.model, tasks)


def encode_fitting(lm: CausalLM | MaskedLM, texts: Sequence[str], most: int) -> list[list[int]]:
    """Encodes the texts and keeps those with at most `most` tokens.

    Raises InputFaults if no text is that short.
    """
    rows = lm.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    found = [row for row in rows if len(row) <= most]
    if not found:
        raise InputFaults(
            [f"a text to train on must have at most {most} tokens, but all {len(rows)} have more: shorten them"]
        )
    if len(found) < len(rows):
        log.warning("%d of %d texts have more than %d tokens and are left out", len(rows) - len(found), len(rows), most)
    return found
