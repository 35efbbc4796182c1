"""Generative CDM: a discriminator that tells dialogues from their degraded versions (CDM, section 3.4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdm.negatives import Negatives
from cdm.pair import turns_of
from data.example import Example
from data.scores import Scores
from data.signature import MODEL_LIBRARIES, signature
from discriminators.data_module import LabelledText
from discriminators.discriminator import Discriminator


def labelled(negatives: Negatives) -> list[LabelledText]:
    """Positives (label 1) and negatives (label 0) for a discriminator; a dialogue and its negative are one group."""
    pairs = zip(negatives.indices, negatives.positives, negatives.negatives, strict=True)
    return [
        LabelledText(segments, label, group=str(i))
        for i, positive, negative in pairs
        for segments, label in ((positive, 1), (negative, 0))
    ]


@dataclass(frozen=True)
class GenerativeCDM:
    """The metric: the discriminator's logit for a dialogue, higher is better."""

    discriminator: Discriminator

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores under the aspect `quality`."""
        logits, dropped = self.discriminator.logits(turns_of(examples))
        line = signature("cdm_generative", libraries=MODEL_LIBRARIES, discriminator=self.discriminator.settings["kind"])
        return Scores({"quality": np.asarray(logits)}, line, dropped_tokens=dropped.tolist())
