"""Discriminators that experiments train and keep as stages."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.stages import fingerprint
from discriminators.data_module import LabelledText
from discriminators.discriminator import Discriminator
from discriminators.training import VERSION, TrainingSettings, train_discriminator
from experiments.runner.contracts import Run
from experiments.training.trained import Trained, find_or_train


@dataclass(frozen=True)
class DiscriminatorPlan:
    """A discriminator to train.

    Attributes:
        build: what to build, a partial of `new_bilstm` or `new_bert`.
        training: how long and how fast it trains.
        texts: maximum number of training texts of both classes together; None for all.
    """

    build: partial[Discriminator]
    training: TrainingSettings
    texts: int | None = None

    @property
    def per_class(self) -> int | None:
        """How many texts of each class it learns, at most."""
        return None if self.texts is None else self.texts // 2


def find_or_train_discriminator(
    run: Run, name: str, plan: DiscriminatorPlan, texts: Sequence[LabelledText], seed: int
) -> Trained:
    """Trains a discriminator on all of `texts`, or finds its stage. The caller applies the limit `plan.texts`."""

    def build(folder: Path) -> None:
        train_discriminator(plan.build, texts, folder, run.trainer, plan.training, run.loggers(name), seed)

    depends = {"build": plan.build, "training": plan.training, "texts": fingerprint(texts), "seed": seed}
    return find_or_train(run, name, depends, build, VERSION)
