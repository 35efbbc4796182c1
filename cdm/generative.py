"""Generative CDM: a discriminator that tells dialogues from their degraded versions (CDM, section 3.4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdm.negatives import Negatives
from cdm.pair import turns_of
from core.example import Example
from core.faults import InputFaults
from core.scores import Scores, fields
from core.selection import score_complete
from core.signature import MODEL_LIBRARIES, signature
from discriminators.data_module import LabelledText
from discriminators.discriminator import SETTINGS, Discriminator


def labelled(negatives: Negatives) -> list[LabelledText]:
    """Positives (label 1) and negatives (label 0) for a discriminator; a dialogue and its negative are a pair."""
    pairs = zip(negatives.indices, negatives.positives, negatives.negatives, strict=True)
    return [
        LabelledText(segments, label, group=str(i), pair=other)
        for i, positive, negative in pairs
        for segments, label, other in ((positive, 1, negative), (negative, 0, positive))
    ]


@dataclass(frozen=True)
class GenerativeCDM:
    """The metric: the discriminator's logit for a dialogue, higher is better."""

    requires = fields("turns")
    discriminator: Discriminator

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu") -> "GenerativeCDM":
        """Loads a trained discriminator (a run's `models/discriminator_NAME`).

        Raises InputFaults where there is none.
        """
        if not (Path(folder) / SETTINGS).is_file():
            raise InputFaults([f"{folder}: must be a folder with {SETTINGS} that +exp=cdm_dialogue left, found none"])
        return cls(Discriminator.from_pretrained(folder, device))

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores under the aspect `quality`; NaN without turns. Raises ExampleFaults where no example has turns."""
        return score_complete(examples, self.requires, "cdm_generative", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        logits, dropped = self.discriminator.logits(turns_of(examples))
        line = signature("cdm_generative", libraries=MODEL_LIBRARIES, discriminator=self.discriminator.settings["kind"])
        return Scores({"quality": np.asarray(logits)}, line, dropped_tokens=dropped.tolist())
