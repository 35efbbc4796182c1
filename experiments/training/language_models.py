"""Language models that experiments need: pretrained ones by name, or small ones trained here and kept as stages."""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.faults import InputFaults, SettingFault
from core.stages import fingerprint
from experiments.runner.contracts import Run
from language_models.causal import CausalLM
from language_models.masked import MaskedLM
from language_models.tiny import TinyBert, TinyGPT2
from language_models.training import NOT_LEARNED, Schedule, Task, masked_batch, train_language_model

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pretrained:
    """A model that others trained, by its hub name or folder."""

    name: str


@dataclass(frozen=True)
class CausalPlan:
    """A small causal model from scratch."""

    model: TinyGPT2
    schedule: Schedule


@dataclass(frozen=True)
class MaskedPlan:
    """A small masked model from scratch; `share` of the tokens of a text are masked."""

    model: TinyBert
    schedule: Schedule
    share: float = 0.15


@dataclass(frozen=True)
class Corpus:
    """Texts to train on, and held-out ones of the same kind."""

    train: Sequence[str]
    held_out: Sequence[str]


def trained(run: Run, name: str, plan: dict[str, Any], corpus: Corpus, build: Callable[[Path], None]) -> Path:
    """The stage of one language model, under its plan, its texts and the seed.

    Raises SettingFault where there is nothing to train on.
    """
    if not corpus.train or not corpus.held_out:
        raise SettingFault(
            f"a small model ({name}) learns from the texts of data, but {'held-out' if corpus.train else 'training'} "
            "texts are missing: choose other data, or a pretrained model (scale=paper)"
        )
    with run.timed(f"training {name}"):
        return run.stages.get(
            name,
            {
                "plan": plan,
                "train": fingerprint(list(corpus.train)),
                "held_out": fingerprint(list(corpus.held_out)),
                "seed": run.seed,
            },
            build,
            together=True,
            version=1,
        )


def causal_model(run: Run, plan: CausalPlan | Pretrained, corpus: Corpus, name: str = "causal") -> str:
    """The causal model's name, or the folder of its stage; it learns whole texts from the start token to the end token.

    Texts that are longer than the model reads are left out.
    """
    if isinstance(plan, Pretrained):
        return plan.name

    def build(folder: Path) -> None:
        lm = plan.model.build(corpus.train, (), run.seed)

        def tasks(texts: Sequence[str]) -> list[Task]:
            return [Task([lm.start], [*row, lm.start]) for row in _fitting(lm, texts, lm.longest - 2, name)]

        learned = tasks(corpus.train)
        train_language_model(
            lm,
            lambda seed: learned,
            tasks(corpus.held_out),
            plan.schedule,
            folder,
            run.trainer,
            run.loggers(name),
            run.seed,
        )

    return str(trained(run, name, asdict(plan), corpus, build))


def masked_model(run: Run, plan: MaskedPlan | Pretrained, corpus: Corpus, name: str = "masked") -> str:
    """The masked model's name, or the folder of its stage; other tokens are masked in every epoch.

    Texts that are longer than the model reads are left out.
    """
    if isinstance(plan, Pretrained):
        return plan.name

    def build(folder: Path) -> None:
        lm = plan.model.build(corpus.train, (), run.seed)

        def tasks(texts: Sequence[str], seed: int) -> list[Task]:
            rng = random.Random(seed)
            return [
                _masked(lm.framed((), row), lm.special("mask"), plan.share, rng)
                for row in _fitting(lm, texts, lm.longest - 3, name)
            ]

        train_language_model(
            lm,
            lambda seed: tasks(corpus.train, seed),
            tasks(corpus.held_out, run.seed),
            plan.schedule,
            folder,
            run.trainer,
            run.loggers(name),
            run.seed,
            masked_batch,
        )

    return str(trained(run, name, asdict(plan), corpus, build))


def _fitting(lm: CausalLM | MaskedLM, texts: Sequence[str], most: int, name: str) -> list[list[int]]:
    """The tokens of the texts that have at most so many of them.

    Raises InputFaults where none has.
    """
    rows = lm.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    fitting = [row for row in rows if len(row) <= most]
    if not fitting:
        raise InputFaults([f"{name} learns texts of at most {most} tokens, but all {len(rows)} have more: cut them"])
    if len(fitting) < len(rows):
        log.warning(
            "%s: %d of %d texts have more than %d tokens and are left out",
            name,
            len(rows) - len(fitting),
            len(rows),
            most,
        )
    return fitting


def _masked(row: Sequence[int], mask: int, share: float, rng: random.Random) -> Task:
    """The row with a share of what stands between its first and last token masked, at least one of them."""
    inner = range(1, len(row) - 1)
    at = set(rng.sample(inner, max(1, round(share * len(inner)))))
    source = [mask if i in at else token for i, token in enumerate(row)]
    return Task(source, [token if i in at else NOT_LEARNED for i, token in enumerate(row)])
