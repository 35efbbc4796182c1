"""Discriminator score: what a trained classifier makes of the quality of a text, or of the label it should have."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from baselines.pairs import NO_TOKENS
from core.example import Example
from core.faults import ExampleFaults, InputFaults
from core.scores import Scores, fields
from core.selection import score_complete
from core.signature import MODEL_LIBRARIES, signature
from discriminators.discriminator import SETTINGS, Discriminator


def load_discriminators(folders: Sequence[str | Path], device: str = "cpu") -> list[Discriminator]:
    """Trained discriminators. Raises InputFaults for all folders that hold none."""
    rule = f"must be the folder of a trained discriminator, with {SETTINGS}, found none"
    missing = [f"{folder}: {rule}" for folder in folders if not (Path(folder) / SETTINGS).is_file()]
    if missing:
        raise InputFaults(missing)
    return [Discriminator.from_pretrained(folder, device) for folder in folders]


@dataclass(frozen=True)
class DiscriminatorScore:
    """The logit that a text is of the class 1 (human, good); higher is better. A dialogue is read turn by turn."""

    requires = fields()
    discriminator: Discriminator

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu") -> "DiscriminatorScore":
        """Raises InputFaults where the folder holds no discriminator."""
        return cls(*load_discriminators([folder], device))

    @property
    def signature(self) -> str:
        """One line: the metric, its settings, model and versions."""
        return _sign("discriminator", self.discriminator)

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for a blank text. Raises ValueError as `Discriminator.logits` does."""
        logits, reasons, dropped = _read(examples, self.discriminator)
        return Scores({"quality": logits}, self.signature, reasons, dropped)


@dataclass(frozen=True)
class LabelDiscriminatorScore:
    """The probability that one classifier of all labels gives to the label of the example; higher is better.

    This is the discriminator score of attribute relevance in CTRLEval's tables.
    """

    requires = fields("label")
    discriminator: Discriminator

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu") -> "LabelDiscriminatorScore":
        """Raises InputFaults for a folder without a discriminator, or with one that has no labels."""
        (found,) = load_discriminators([folder], device)
        if not found.labels:
            rule = "must be the folder of a classifier of labels"
            raise InputFaults([f"{folder}: {rule}, found one with a single logit"])
        return cls(found)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings, model and versions."""
        return _sign("discriminator_label", self.discriminator)

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for a blank text and without label.

        Raises ExampleFaults if no example has a label, and for all labels that the classifier does not know.
        """
        return score_complete(examples, self.requires, "discriminator_label", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        labels = self.discriminator.labels
        known = ", ".join(labels)
        rule = f'"label" must be one of {known}, found'
        if faults := [(i, f"{rule} {e.label!r}") for i, e in enumerate(examples) if e.label not in labels]:
            raise ExampleFaults(faults)
        logits, reasons, dropped = _read(examples, self.discriminator)
        columns = [labels.index(example.label or "") for example in examples]
        quality = softmax(logits, axis=1)[range(len(examples)), columns]
        return Scores({"quality": quality}, self.signature, reasons, dropped)


def _sign(name: str, discriminator: Discriminator) -> str:
    kind = discriminator.settings["kind"]
    return signature(name, libraries=MODEL_LIBRARIES, discriminator=kind, identity=discriminator.identity)


def _read(
    examples: Sequence[Example], discriminator: Discriminator
) -> tuple[NDArray[np.float64], list[str | None], list[int]]:
    """The logits of each example, NaN with the reason for one without tokens, and how many tokens were cut."""
    texts = [example.turns or (example.text,) for example in examples]
    logits, dropped = discriminator.logits_or_nan(texts)
    unread = [bool(np.isnan(row).any()) for row in logits]
    return logits, [NO_TOKENS if lacks else None for lacks in unread], dropped.tolist()
