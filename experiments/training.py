"""Models that experiments train and keep as stages: language models, discriminators, and guides (OUMG, section 3.2).

A plan says what to build and how it trains; `find_or_train` makes a `Trained` of it.
"""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_type_hints

from transformers import PreTrainedTokenizerBase

from core.errors import InputError, SettingError
from core.settings import Count, check, checked_dataclass
from core.stages import fingerprint
from discriminators.guides import new_causal_guide
from discriminators.texts import LabelledText, prefix_texts
from discriminators.training import TrainingSettings, train_classifier
from models.batching import NOT_LEARNED, Task
from models.causal import CausalLM
from models.loading import folder_fingerprint
from models.masked import MaskedLM
from models.model import LanguageModel, decode_tokens, plain_token_ids
from models.training import MOVED, LanguageModelSchedule, train_language_model

if TYPE_CHECKING:  # what a run shows is no part of the code behind a trained model
    from experiments.contracts import Run

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """A model that is ready to be loaded."""

    name: str  # the hub name, the folder as the user gave it, or the experiment's name for the model
    folder: Path | None = None  # None for a model from the hub
    curve: tuple[Mapping[str, float], ...] = ()  # the points of its learning curve; empty for a pretrained model

    @property
    def source(self) -> str:
        """The argument of `from_pretrained`."""
        return self.name if self.folder is None else str(self.folder)

    @property
    def is_trained_here(self) -> bool:
        """Whether a stage of this project made it."""
        return bool(self.curve)

    @property
    def is_language_model(self) -> bool:
        """Whether it is a language model that was trained here; curves of classifiers have an accuracy."""
        return self.is_trained_here and not any("val/accuracy" in point for point in self.curve)

    @cached_property
    def identity(self) -> str:
        """What identifies the model in hashes: its stage, a hash of the files in its folder, or its hub name."""
        if self.folder is None:
            return self.name
        return self.folder.name if self.is_trained_here else folder_fingerprint(self.folder)

    @property
    def moved(self) -> dict[str, float]:
        """How far training moved the embedding of each new token of a pretrained model, as a share of its norm."""
        path = Path(self.source) / MOVED
        return json.loads(path.read_text("utf-8")) if path.is_file() else {}

    @property
    def held_out_nll(self) -> float:
        """The held-out loss of a language model trained here, in nats per token, with the weights that were kept.

        These have the lowest loss, or the largest discrepancy where the curve has it.
        """
        points = (point for point in self.curve if "val/loss" in point)
        return max(points, key=lambda point: point.get("val/discrepancy", -point["val/loss"]))["val/loss"]


@dataclass(frozen=True)
class Pretrained:
    """A pretrained model, by its hub name or folder."""

    name: str


class Lesson(NamedTuple):
    """What a model learns: texts, and what a training needs besides."""

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
    """A pretrained model, or one that learns `texts` with the trainer of the run, or this one found as a stage.

    Language models are checked on `held_out`; discriminators hold out a part of `texts`. A guide reads prefixes in the
    tokens of `tokenizer`. The seed is that of the run by default.

    Raises SettingError if a language model has no texts to learn from.
    """
    if isinstance(plan, Pretrained):
        return Trained(plan.name, Path(plan.name) if Path(plan.name).is_dir() else None)
    lesson = Lesson(texts, held_out, run.seed if seed is None else seed, tokenizer)
    depends = {"plan": plan, "precision": run.precision, "seed": lesson.seed}
    depends |= {"train": fingerprint(texts), "held_out": fingerprint(held_out)}
    if tokenizer is not None:
        depends["tokens"] = fingerprint(tokenizer.get_vocab())
    with run.timed(f"training {name}"):
        folder = run.stages.get(name, depends, lambda folder: plan.train(run, name, folder, lesson), together=True)
    return Trained(name, folder, tuple(json.loads((folder / "curve.json").read_text(encoding="utf-8"))))


class Objective(Protocol):
    """The training task of a language model: a frozen dataclass of settings. A text may have any type (str, turns)."""

    def build(self, model: Any, texts: Sequence[Any], seed: int, /) -> Any:
        """Builds the model of a plan (TinyT5, PretrainedLM) before training, with the tokens that the task needs."""
        ...

    def tasks(self, lm: Any, texts: Sequence[Any], /) -> Callable[[int], Sequence[Task]]:
        """The tasks of one epoch, at least one per text; the same seed gives the same tasks."""
        ...


@dataclass(frozen=True)
class LanguageModelPlan:
    """A language model to train here."""

    model: Any  # the model to build; `learns.build` receives it
    schedule: LanguageModelSchedule  # the length and learning rate of the training
    learns: Objective
    tasks_per_text: int = 1  # how often an epoch takes the tasks of a text, each time others (other gaps, for example)

    def keeps(self) -> Mapping[str, Any]:
        """What `train_language_model` keeps other than the weights of the lowest held-out loss, as its arguments."""
        return {}

    def train(self, run: Run, name: str, folder: Path, lesson: Lesson) -> None:
        """Trains the model into the folder. Raises SettingError if there are no texts to learn from."""
        texts, held_out, seed, _ = lesson
        if not texts or not held_out:
            raise SettingError(
                f"the small model {name} learns from the texts of `data`, but these have no "
                f"{'held-out' if texts else 'training'} texts: choose other data, or a pretrained model (scale=paper)"
            )
        lm = self.learns.build(self.model, texts, seed)
        log.info("%s: %.2f M parameters, %d tokens", name, lm.parameters / 1e6, len(lm.tokenizer))
        epoch = self.learns.tasks(lm, [text for text in texts for _ in range(self.tasks_per_text)])
        checked, loggers, kept = self.learns.tasks(lm, held_out)(seed), run.loggers(name), self.keeps()
        train_language_model(lm, epoch, checked, self.schedule, folder, run.trainer, loggers, seed, **kept)


@dataclass(frozen=True)
class WholeTexts:
    """A causal model learns whole texts, from the start token to the end token, the same tasks in every epoch."""

    def build(self, model: Any, texts: Sequence[str], seed: int) -> LanguageModel:
        return model.build(texts, (), seed)

    def tasks(self, lm: CausalLM, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        found = [Task([lm.start], [*row, lm.start]) for row in encode_fitting(lm, texts, lm.max_length - 2)]
        return lambda seed: found


@dataclass(frozen=True)
class MaskedTokens:
    """A masked model learns to predict masked tokens, which are drawn anew in every epoch."""

    share: float = 0.15  # of the tokens of a text that are masked

    def build(self, model: Any, texts: Sequence[str], seed: int) -> LanguageModel:
        return model.build(texts, (), seed)

    def tasks(self, lm: MaskedLM, texts: Sequence[str]) -> Callable[[int], Sequence[Task]]:
        rows = [lm.framed((), row) for row in encode_fitting(lm, texts, lm.max_length - 3)]
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


def encode_fitting(lm: CausalLM | MaskedLM, texts: Sequence[str], most: int) -> list[list[int]]:
    """Encodes the texts; longer ones are left out. Raises InputError if no text is short enough."""
    rows = lm.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    found = [row for row in rows if len(row) <= most]
    if not found:
        raise InputError(
            [f"a text to train on must have at most {most} tokens, but all {len(rows)} have more: shorten them"]
        )
    if len(found) < len(rows):
        log.warning("%d of %d texts have more than %d tokens and are left out", len(rows) - len(found), len(rows), most)
    return found


@checked_dataclass
class DiscriminatorPlan:
    """A discriminator to train."""

    build: partial  # what to build, a partial of `new_bilstm` or `new_bert`
    training: TrainingSettings  # how long and how fast it trains
    texts: Count | None = None  # maximum number of training texts, of all classes together; None for all

    def __post_init__(self) -> None:
        kinds = get_type_hints(self.build.func, include_extras=True)
        for name, value in self.build.keywords.items():
            check(kinds.get(name, Any), **{name: value})

    @property
    def per_class(self) -> int | None:
        """How many texts of each class it learns, at most."""
        return None if self.texts is None else self.texts // 2

    def train(self, run: Run, name: str, folder: Path, lesson: Lesson) -> None:
        """Trains the discriminator into the folder, on at most `texts` of the texts."""
        chosen = choose_groups(lesson.texts, self.texts, lesson.seed)
        build, learned = self.prepare(lesson._replace(texts=chosen))
        train_classifier(build, learned, folder, run.trainer, self.training, run.loggers(name), lesson.seed)

    def prepare(self, lesson: Lesson) -> tuple[partial, Sequence[LabelledText]]:
        """What to build, and the texts that it learns."""
        return self.build, lesson.texts


def choose_groups(texts: Sequence[LabelledText], most: int | None, seed: int) -> Sequence[LabelledText]:
    """At most `most` of the texts, in their order: whole random groups, so that a text keeps its counterpart."""
    if most is None or len(texts) <= most:
        return texts
    sizes = Counter(text.group for text in texts)
    chosen: set[str] = set()
    count = 0
    for group in random.Random(seed).sample(sorted(sizes), len(sizes)):
        if count + sizes[group] <= most:
            chosen.add(group)
            count += sizes[group]
    return [text for text in texts if text.group in chosen]


@checked_dataclass
class GuidePlan(DiscriminatorPlan):
    """A guide to train, on prefixes of whole texts, which end where tokens of a generator do.

    It builds a partial of `new_causal_guide` or, for the exact guide, of `new_token_bilstm`.
    """

    # maximum number of prefixes of a text for the exact guide, drawn at random; None for all, as in the paper; the
    # causal guide learns all in one pass
    prefixes: Count | None = None

    def prepare(self, lesson: Lesson) -> tuple[partial, Sequence[LabelledText]]:
        """What to build, and the texts or prefixes that it learns. Raises ValueError without a tokenizer."""
        texts, _, seed, tokenizer = lesson
        if tokenizer is None:
            raise ValueError("a guide reads the tokens of a generator: give its tokenizer")
        if self.build.func is not new_causal_guide:
            decode = partial(decode_tokens, tokenizer)
            texts = prefix_texts(texts, lambda text: plain_token_ids(tokenizer, [text])[0], decode, self.prefixes, seed)
        return partial(self.build, tokenizer=tokenizer), texts


def prefix_notes(plan: GuidePlan) -> list[str]:
    """A note on a guide that learns only a part of the prefixes."""
    if plan.prefixes is None:
        return []
    return [
        f"the guide learned at most {plan.prefixes} prefixes of each text, drawn at random; the paper's guide learns "
        "all (model.guides.bilstm.prefixes=null)"
    ]
