"""Trained classifiers as metrics: of the quality of a text (Generative CDM, DisScore, UNION), or of its label."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from core.errors import ExampleError, InputError
from core.example import Example
from core.metric import BaseMetric
from core.scores import NO_TOKENS, Scores, fields_by_settings, require
from core.signature import MODEL_LIBRARIES, Setting
from discriminators.discriminator import Discriminator
from discriminators.explanations import Part, explain_parts


class ClassifierMetric(BaseMetric):
    """A metric of a trained discriminator; NaN for a text without tokens."""

    libraries = MODEL_LIBRARIES
    discriminator: Discriminator

    @property
    def settings(self) -> dict[str, Setting]:
        model = {"discriminator": self.discriminator.kind, "identity": self.discriminator.identity}
        return super().settings | model


@dataclass(frozen=True)
class DiscriminatorScore(ClassifierMetric):
    """The logit that a text, or a dialogue, is of class 1 (human, good); higher is better.

    If the discriminator learned dialogues and degraded versions of them, the metric is Generative CDM (CDM, section
    3.4.1).
    """

    name = "discriminator"
    requires = fields_by_settings(lambda dialogues=False: require("turns") if dialogues else require())
    # a classifier with one logit
    discriminator: Discriminator
    # whether an example without two turns has no score
    dialogues: bool = False
    # adds what each turn, or each sentence of a text, adds to the score (`explain_parts`): a low value made the score
    # low; it costs one more pass for each of them
    explain: bool = False

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        device: str = "cpu",
        dialogues: bool = False,
        explain: bool = False,
    ) -> Self:
        """Loads a discriminator (a run's `models/discriminator_NAME`).

        Raises InputError for a folder without a discriminator.
        """
        return cls(Discriminator.from_pretrained(folder, device), dialogues, explain)

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes the aspect `quality`. Raises ValueError as `Discriminator.logits` does."""
        logits, reasons, dropped = _read(examples, self.discriminator)
        explanations = self._explain(examples) if self.explain else ()
        return Scores(
            {"quality": logits},
            self.signature,
            reasons=reasons,
            dropped_tokens=dropped,
            explanations=explanations,
            notes=self.discriminator.notes,
        )

    def _explain(self, examples: Sequence[Example]) -> list[dict[str, Any]]:
        explanations: dict[int, dict[str, Any]] = {}
        read = partial(self.discriminator.logits, or_nan=True)
        for part in get_args(Part):
            numbers = [number for number, example in enumerate(examples) if bool(example.turns) == (part == "turn")]
            texts = [_segments(examples[number]) for number in numbers]
            explanations |= zip(numbers, explain_parts(read, texts, part), strict=True)
        return [explanations[number] for number in range(len(examples))]


@dataclass(frozen=True)
class LabelDiscriminatorScore(ClassifierMetric):
    """The probability that a classifier of labels gives to the label of the example; higher is better.

    This is the discriminator score of attribute relevance in CTRLEval's tables.
    """

    name = "discriminator_label"
    requires = require("label")
    discriminator: Discriminator

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu") -> Self:
        """Loads a discriminator.

        Raises InputError for a folder without a discriminator, and for a discriminator without labels.
        """
        discriminator = Discriminator.from_pretrained(folder, device)
        if not discriminator.labels:
            rule = "must be the folder of a classifier of labels"
            raise InputError([f"{folder}: {rule}, found one with a single logit"])
        return cls(discriminator)

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes the aspect `quality`. Raises ExampleError for all labels that the classifier does not know."""
        labels = self.discriminator.labels
        rule = f'"label" must be one of {", ".join(labels)}, found'
        faults = [
            (number, f"{rule} {example.label!r}")
            for number, example in enumerate(examples)
            if example.label not in labels
        ]
        if faults:
            raise ExampleError(faults)
        logits, reasons, dropped = _read(examples, self.discriminator)
        columns = [labels.index(example.label or "") for example in examples]
        quality = softmax(logits, axis=1)[range(len(examples)), columns]
        return Scores(
            {"quality": quality},
            self.signature,
            reasons=reasons,
            dropped_tokens=dropped,
            notes=self.discriminator.notes,
        )


def _segments(example: Example) -> tuple[str, ...]:
    return example.turns or (example.text,)


def _read(
    examples: Sequence[Example], discriminator: Discriminator
) -> tuple[NDArray[np.float64], list[str | None], list[int]]:
    """The logits of each example, NaN with the reason for one without tokens, and how many tokens were cut."""
    logits, dropped = discriminator.logits([_segments(example) for example in examples], or_nan=True)
    unread = [bool(np.isnan(row).any()) for row in logits]
    return logits, [NO_TOKENS if lacks else None for lacks in unread], dropped.tolist()
