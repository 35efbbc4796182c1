"""Models that experiments train and keep as stages: language models, discriminators, and guides (OUMG, section 3.2).

A plan says what to build and how it trains; `find_or_train` makes a `Trained` of it.
"""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_type_hints, runtime_checkable

import numpy as np
from transformers import PreTrainedTokenizerBase

from core.errors import InputError, SettingError
from core.example import Example
from core.settings import Count, check_arguments, checked_dataclass
from core.stages import fingerprint
from discriminators.guides import CausalGuide
from discriminators.texts import LabelledText, prefix_texts
from discriminators.training import TrainingSettings, train_classifier
from models.batching import NOT_LEARNED, Task
from models.causal import CausalLM
from models.folders import find_folder
from models.loading import folder_fingerprint
from models.masked import MaskedLM
from models.model import LanguageModel, decode_tokens, plain_token_ids
from models.training import LanguageModelSchedule, train_language_model

if TYPE_CHECKING:  # what a run shows is no part of the code behind a trained model
    from experiments.contracts import Run

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """A trained model that can be loaded: a stage of this project, a user's folder, or a name on the hub."""

    name: str  # the hub name, the folder as the user gave it, or the experiment's name for the model
    folder: Path | None = None  # None for a model from the hub
    curve: tuple[Mapping[str, float], ...] = ()  # the points of its learning curve; empty for a pretrained model

    @property
    def source(self) -> str:
        """The folder or hub name to pass to `from_pretrained`."""
        return self.name if self.folder is None else str(self.folder)

    @property
    def is_trained_here(self) -> bool:
        """Whether the model is a stage of this project."""
        return bool(self.curve)

    @property
    def is_language_model(self) -> bool:
        """Whether the model is a language model that was trained here.

        A classifier's learning curve has an accuracy.
        """
        return self.is_trained_here and not any("val/accuracy" in point for point in self.curve)

    @cached_property
    def identity(self) -> str:
        """The model's identity in hashes: its stage, a hash of the files in its folder, or its hub name and revision.

        A model that was not fetched yet has no revision.
        """
        if self.folder is None:
            cached = find_folder(self.name)
            return self.name if cached is None else f"{self.name}@{cached.name}"
        return self.folder.name if self.is_trained_here else folder_fingerprint(self.folder)

    def list_points(self, name: str) -> list[float]:
        """Lists the values of a metric along the learning curve."""
        return [point[name] for point in self.curve if name in point]

    @property
    def held_out_nll(self) -> float:
        """The held-out loss of the saved weights of a language model trained here, in nats per token; lower is better.

        Training saves the weights with the lowest loss, or with the largest discrepancy if the learning curve has one.
        """
        losses = self.list_points("val/loss")
        leads = self.list_points("val/discrepancy")
        return losses[int(np.argmax(leads))] if leads else min(losses)


@dataclass(frozen=True)
class Pretrained:
    """A pretrained model, by its hub name or folder."""

    name: str


def list_texts(examples: Iterable[Example]) -> list[str]:
    """Lists the full text of each example."""
    return [example.full_text for example in examples]


class TrainingData(NamedTuple):
    """The texts that a model learns, and the seed and tokenizer of its training."""

    texts: Sequence[Any]
    held_out: Sequence[Any]
    seed: int
    # of the generator that a guide steers
    tokenizer: PreTrainedTokenizerBase | None


def find_or_train(
    run: Run,
    name: str,
    plan: LanguageModelPlan | DiscriminatorPlan | Pretrained,
    texts: Sequence[Any],
    held_out: Sequence[Any] = (),
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    seed: int | None = None,
) -> Trained:
    """Returns a pretrained model as it is; trains any other plan on `texts`, or finds the model as a stage.

    Language models are checked on `held_out`; discriminators hold out a part of `texts`. A guide reads prefixes in the
    tokens of `tokenizer`. The default seed is that of the run.

    Raises SettingError if a language model has no texts to learn from.
    """
    if isinstance(plan, Pretrained):
        return find_pretrained(plan)
    data = TrainingData(texts, held_out, seed=run.seed if seed is None else seed, tokenizer=tokenizer)
    depends = {
        "plan": plan,
        "trainer": dict(run.training),
        "seed": data.seed,
        "train": fingerprint(texts),
        "held_out": fingerprint(held_out),
    }
    if tokenizer is not None:
        depends["tokens"] = fingerprint(tokenizer.get_vocab())

    def build(folder: Path) -> None:
        plan.train(run, name, folder, data)

    folder = run.keep(f"training {name}", name, depends, build, together=True, any_name=True)
    curve = json.loads((folder / "curve.json").read_text(encoding="utf-8"))
    return Trained(name, folder, tuple(curve))


def find_pretrained(plan: Pretrained) -> Trained:
    """Finds the model in a folder, or the model with this name on the hub if there is no such folder."""
    folder = Path(plan.name)
    return Trained(plan.name, folder if folder.is_dir() else None)


@runtime_checkable
class Objective(Protocol):
    """What a language model learns from a text: a frozen dataclass of settings.

    A text may be of any type (str, turns).
    """

    def build(self, model: Any, texts: Sequence[Any], seed: int, /) -> Any:
        """Builds the model of a plan (TinyT5, PretrainedLM) before training, with the tokens that the task needs."""
        ...

    def tasks(self, lm: Any, texts: Sequence[Any], /) -> Callable[[int], Sequence[Task]]:
        """Returns a function from a seed to the tasks of one epoch, at least one per text."""
        ...


@checked_dataclass
class LanguageModelPlan:
    """A language model to train here: which model, what it learns, and how."""

    model: Any  # the model to build; `objective.build` receives it
    schedule: LanguageModelSchedule  # the length and learning rate of the training
    objective: Objective
    # held-out losses of another model after each epoch: the kept epoch is then that with the largest lead
    against: Sequence[float] | None = None
    every_epoch: bool = False  # whether the weights of every epoch are kept, too

    def train(
        self,
        run: Run,
        name: str,
        folder: Path,
        data: TrainingData,
    ) -> None:
        """Trains the model into the folder. Raises SettingError if there are no texts to learn from."""
        if not data.texts or not data.held_out:
            missing = "held-out" if data.texts else "training"
            raise SettingError(
                f"the small model {name} learns from the texts of `data`, but these have no "
                f"{missing} texts: choose other data, or a pretrained model (scale=paper)"
            )
        lm = self.objective.build(self.model, data.texts, data.seed)
        log.info("%s: %.2f M parameters, %d tokens", name, lm.parameters / 1e6, len(lm.tokenizer))
        draw_epoch = self.objective.tasks(lm, data.texts)
        draw_held_out = self.objective.tasks(lm, data.held_out)
        train_language_model(
            lm,
            train=draw_epoch,
            held_out=draw_held_out(data.seed),
            schedule=self.schedule,
            folder=folder,
            make_trainer=run.trainer,
            loggers=run.loggers(name),
            seed=data.seed,
            against=self.against,
            every_epoch=self.every_epoch,
        )


@dataclass(frozen=True)
class WholeTexts:
    """An objective for causal models: whole texts, from the start token to the end token; the same in every epoch."""

    def build(
        self,
        model: Any,
        texts: Sequence[str],
        seed: int,
    ) -> LanguageModel:
        return model.build(texts, (), seed)

    def tasks(self, lm: Any, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        rows = encode_fitting(lm, texts, lm.max_length - 2)
        tasks = [Task([lm.start], [*row, lm.start]) for row in rows]
        return lambda seed: tasks


@dataclass(frozen=True)
class MaskedTokens(WholeTexts):
    """An objective for masked models: to predict masked tokens, which are drawn anew in every epoch."""

    share: float = 0.15  # of the tokens of a text that are masked

    def tasks(self, lm: MaskedLM, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        rows = [lm.framed((), row) for row in encode_fitting(lm, texts, lm.max_length - 3)]
        mask = lm.special("mask")

        def draw_tasks(seed: int) -> list[Task]:
            rng = random.Random(seed)
            return [self.task(row, mask, rng) for row in rows]

        return draw_tasks

    def task(
        self,
        row: Sequence[int],
        mask: int,
        rng: random.Random,
    ) -> Task:
        """Makes a task: masks a share of the inner tokens of a row, at least one token."""
        inner = range(1, len(row) - 1)
        count = max(1, round(self.share * len(inner)))
        source = list(row)
        target = [NOT_LEARNED] * len(row)
        for index in rng.sample(inner, count):
            source[index] = mask
            target[index] = row[index]
        return Task(source, target)


def encode_fitting(lm: CausalLM | MaskedLM, texts: Sequence[str], most: int) -> list[list[int]]:
    """Encodes the texts with at most `most` tokens; leaves out longer texts.

    Raises InputError if no text is short enough.
    """
    rows = lm.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    fitting = [row for row in rows if len(row) <= most]
    left_out = len(rows) - len(fitting)
    if not fitting:
        raise InputError(
            [f"a text to train on must have at most {most} tokens, but all {len(rows)} have more: shorten them"]
        )
    if left_out:
        log.warning("%d of %d texts have more than %d tokens and are left out", left_out, len(rows), most)
    return fitting


@checked_dataclass
class DiscriminatorPlan:
    """The plan of a discriminator: what to build and how to train it."""

    build: partial  # what to build, a partial of `new_bilstm` or `new_bert`
    training: TrainingSettings  # how long and how fast it trains
    texts: Count | None = None  # maximum number of training texts, of all classes together; None for all

    def __post_init__(self) -> None:
        check_arguments(self.build)

    @property
    def per_class(self) -> int | None:
        """The maximum number of training texts of each class; None means all texts."""
        return None if self.texts is None else self.texts // 2

    def train(
        self,
        run: Run,
        name: str,
        folder: Path,
        data: TrainingData,
    ) -> None:
        """Trains the discriminator into the folder, on at most `texts` of the texts."""
        chosen = choose_groups(data.texts, self.texts, data.seed)
        build, learned = self.prepare(data._replace(texts=chosen))
        train_classifier(
            build,
            learned,
            folder=folder,
            make_trainer=run.trainer,
            settings=self.training,
            loggers=run.loggers(name),
            seed=data.seed,
        )

    def prepare(self, data: TrainingData) -> tuple[partial, Sequence[LabelledText]]:
        """Returns the function that builds the model, and the texts that it learns."""
        return self.build, data.texts


def choose_groups(texts: Sequence[LabelledText], most: int | None, seed: int) -> Sequence[LabelledText]:
    """Draws whole groups at random, at most `most` texts in all, so that each text keeps its counterpart.

    The texts stay in their order.
    """
    if most is None or len(texts) <= most:
        return texts
    sizes = Counter(text.group for text in texts)
    chosen: set[str] = set()
    left = most
    for group in random.Random(seed).sample(sorted(sizes), len(sizes)):
        if sizes[group] <= left:
            chosen.add(group)
            left -= sizes[group]
    return [text for text in texts if text.group in chosen]


@checked_dataclass
class GuidePlan(DiscriminatorPlan):
    """The plan of a guide that learns prefixes of whole texts; a prefix ends where a token of the generator ends.

    `build` is a partial of `new_causal_guide` or, for the exact guide, of `new_token_bilstm`.
    """

    # maximum number of prefixes of a text for the exact guide, drawn at random; None for all, as in the paper. The
    # causal guide learns all in one pass.
    prefixes: Count | None = None

    def prepare(self, data: TrainingData) -> tuple[partial, Sequence[LabelledText]]:
        """Returns the function that builds the guide, and the texts or prefixes that it learns.

        Raises ValueError without a tokenizer.
        """
        tokenizer = data.tokenizer
        if tokenizer is None:
            raise ValueError("a guide reads the tokens of a generator: give its tokenizer")
        build = partial(self.build, tokenizer=tokenizer)
        if get_type_hints(self.build.func).get("return") is CausalGuide:  # learns all prefixes in one pass
            return build, data.texts
        prefixes = prefix_texts(
            data.texts,
            encode=lambda text: plain_token_ids(tokenizer, [text])[0],
            decode=partial(decode_tokens, tokenizer),
            most=self.prefixes,
            seed=data.seed,
        )
        return build, prefixes
