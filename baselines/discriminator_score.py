"""Discriminator score: the logit of a trained classifier, for the quality of a text or for the label it should have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from baselines.likelihood import NO_TOKENS
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

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for a blank text. Raises ValueError as `Discriminator.logits` does."""
        line = signature("discriminator", libraries=MODEL_LIBRARIES, discriminator=self.discriminator.settings["kind"])
        return _scores(examples, [self.discriminator] * len(examples), line)


@dataclass(frozen=True)
class LabelDiscriminatorScore:
    """The logit that a text has the label of its example, by one discriminator per label; higher is better.

    This is the discriminator score of attribute relevance in CTRLEval's tables, each label against the rest.
    """

    requires = fields("label")
    by_label: Mapping[str, Discriminator] = field(hash=False)

    @classmethod
    def from_pretrained(cls, folders: Mapping[str, str | Path], device: str = "cpu") -> "LabelDiscriminatorScore":
        """`folders`: label -> folder. Raises InputFaults where a folder holds no discriminator."""
        if not folders:
            raise InputFaults(["folders must name a discriminator per label, found none"])
        return cls(dict(zip(folders, load_discriminators([*folders.values()], device), strict=True)))

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for a blank text and without label.

        Raises ExampleFaults where no example has a label, and for all labels without a discriminator.
        """
        return score_complete(examples, self.requires, "discriminator_label", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        known = ", ".join(self.by_label)
        faults = [
            (i, f'"label" must be one of {known}, found {example.label!r}')
            for i, example in enumerate(examples)
            if example.label not in self.by_label
        ]
        if faults:
            raise ExampleFaults(faults)
        line = signature(
            "discriminator_label",
            libraries=MODEL_LIBRARIES,
            **{f"discriminator_{label}": d.settings["kind"] for label, d in self.by_label.items()},
        )
        return _scores(examples, [self.by_label[example.label or ""] for example in examples], line)


def _scores(examples: Sequence[Example], discriminators: Sequence[Discriminator], line: str) -> Scores:
    """Each example's logit by its own discriminator; all examples of one discriminator are read together."""
    texts = [example.turns or (example.text,) for example in examples]
    blank = [not any(segment.strip() for segment in text) for text in texts]
    quality, dropped = np.full(len(examples), np.nan), np.zeros(len(examples), np.int64)
    for one in {id(d): d for d in discriminators}.values():
        mine = [i for i, other in enumerate(discriminators) if other is one and not blank[i]]
        if mine:
            quality[mine], dropped[mine] = one.logits([texts[i] for i in mine])
    return Scores({"quality": quality}, line, [NO_TOKENS if b else None for b in blank], dropped.tolist())
