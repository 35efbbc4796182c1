"""Language models that experiments need: pretrained ones by name, or small ones trained here and kept as stages."""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from core.faults import InputFaults, SettingFault
from core.stages import fingerprint
from experiments.runner.contracts import Run
from experiments.training.trained import Trained, trained_elsewhere, trained_here
from language_models.causal import CausalLM
from language_models.masked import MaskedLM
from language_models.training import (
    NOT_LEARNED,
    VERSION,
    Batch,
    Schedule,
    Task,
    Trainable,
    causal_batch,
    masked_batch,
    train_language_model,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pretrained:
    """A model that others trained, by its hub name or folder."""

    name: str


class ModelPlan(Protocol):
    """What to build: a frozen dataclass of settings (TinyT5, PretrainedSeq2Seq)."""

    def build(self, texts: Sequence[str], additional: tuple[str, ...], seed: int) -> Trainable:
        """The model before training; its tokenizer may learn the texts and has the additional special tokens."""
        ...


class Learns(Protocol):
    """What a model learns of the texts: a frozen dataclass of settings. A text may be of any kind (str, turns)."""

    def build(self, model: Any, texts: Sequence[Any], seed: int, /) -> Any:
        """The model of a plan before training, by the texts to train on."""
        ...

    def tasks(self, lm: Any, texts: Sequence[Any], /) -> Callable[[int], Sequence[Task]]:
        """The tasks of an epoch by its seed, one for each text; the same for the same seed."""
        ...

    def batch(self, lm: Any, tasks: Sequence[Task], /) -> Batch:
        """What the model is called with to learn the tasks."""
        ...


@dataclass(frozen=True)
class LanguageModelPlan:
    """A language model to train here.

    Attributes:
        model: what to build, as `learns.build` takes it.
        schedule: how long and how fast it trains.
        learns: what it learns of the texts.
        tasks_per_text: how many tasks each text gives in an epoch (gaps in a dialogue, for example).
    """

    model: Any
    schedule: Schedule
    learns: Learns
    tasks_per_text: int = 1


def trained_language_model(
    run: Run, name: str, plan: LanguageModelPlan | Pretrained, train: Sequence[Any], held_out: Sequence[Any]
) -> Trained:
    """A pretrained model, or the stage of one that learned `train` and was checked on `held_out`.

    Raises SettingFault where there is nothing to train on.
    """
    if isinstance(plan, Pretrained):
        return trained_elsewhere(plan.name)
    if not train or not held_out:
        raise SettingFault(
            f"a small model ({name}) learns from the texts of data, but {'held-out' if train else 'training'} "
            "texts are missing: choose other data, or a pretrained model (scale=paper)"
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
    return trained_here(run, name, depends, build, VERSION)


@dataclass(frozen=True)
class WholeTexts:
    """A causal model learns whole texts, from the start token to the end token.

    Texts that are longer than the model reads are left out.
    """

    def build(self, model: ModelPlan, texts: Sequence[str], seed: int) -> Trainable:
        """The model before training."""
        return model.build(texts, (), seed)

    def tasks(self, lm: CausalLM, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        """The same tasks in every epoch."""
        found = [Task([lm.start], [*row, lm.start]) for row in fitting(lm, texts, lm.longest - 2)]
        return lambda seed: found

    def batch(self, lm: CausalLM, tasks: Sequence[Task]) -> Batch:
        """What the model is called with."""
        return causal_batch(lm.model, tasks)


@dataclass(frozen=True)
class MaskedTokens:
    """A masked model learns the tokens that are masked, others in every epoch.

    Texts that are longer than the model reads are left out.

    Attributes:
        share: of the tokens of a text.
    """

    share: float = 0.15

    def build(self, model: ModelPlan, texts: Sequence[str], seed: int) -> Trainable:
        """The model before training."""
        return model.build(texts, (), seed)

    def tasks(self, lm: MaskedLM, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        """The tasks of an epoch by its seed."""
        rows = [lm.framed((), row) for row in fitting(lm, texts, lm.longest - 3)]
        mask = lm.special("mask")

        def masked(seed: int) -> list[Task]:
            rng = random.Random(seed)
            return [self.task(row, mask, rng) for row in rows]

        return masked

    def task(self, row: Sequence[int], mask: int, rng: random.Random) -> Task:
        """The row with a share of what stands between its first and last token masked, at least one of them."""
        inner = range(1, len(row) - 1)
        at = set(rng.sample(inner, max(1, round(self.share * len(inner)))))
        source = [mask if i in at else token for i, token in enumerate(row)]
        return Task(source, [token if i in at else NOT_LEARNED for i, token in enumerate(row)])

    def batch(self, lm: MaskedLM, tasks: Sequence[Task]) -> Batch:
        """What the model is called with."""
        return masked_batch(lm.model, tasks)


def fitting(lm: CausalLM | MaskedLM, texts: Sequence[str], most: int) -> list[list[int]]:
    """The tokens of the texts that have at most `most` of them.

    Raises InputFaults where none has.
    """
    rows = lm.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    found = [row for row in rows if len(row) <= most]
    if not found:
        raise InputFaults(
            [f"a language model learns texts of at most {most} tokens, but all {len(rows)} have more: cut them"]
        )
    if len(found) < len(rows):
        log.warning("%d of %d texts have more than %d tokens and are left out", len(rows) - len(found), len(rows), most)
    return found
