"""Discriminators that experiments train and keep as stages."""

import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from core.settings import Count, checked_dataclass
from core.stages import fingerprint
from discriminators.texts import LabelledText
from discriminators.training import VERSION, TrainingSettings, train_classifier
from experiments.contracts import Run
from experiments.training.trained import Trained, find_or_train


@checked_dataclass
class DiscriminatorPlan:
    """A discriminator to train.

    Attributes:
        build: what to build, a partial of `new_bilstm` or `new_bert`.
        training: how long and how fast it trains.
        texts: maximum number of texts to learn from, of all classes together; None for all.
    """

    build: partial
    training: TrainingSettings
    texts: Count | None = None

    @property
    def per_class(self) -> int | None:
        """How many texts of each class it learns, at most."""
        return None if self.texts is None else self.texts // 2


def find_or_train_discriminator(
    run: Run, name: str, plan: DiscriminatorPlan, texts: Sequence[LabelledText], seed: int
) -> Trained:
    """Trains a discriminator on `texts`, at most `plan.texts` of them, or finds its stage."""
    texts = choose_groups(texts, plan.texts, seed)

    def build(folder: Path) -> None:
        train_classifier(plan.build, texts, folder, run.trainer, plan.training, run.loggers(name), seed)

    depends = {"build": plan.build, "training": plan.training, "texts": fingerprint(texts), "seed": seed}
    return find_or_train(run, name, depends, build, VERSION)


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
