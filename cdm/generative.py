"""Generative CDM: a discriminator that tells dialogues from their degraded versions (CDM, section 3.4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdm.negatives import Negatives
from cdm.pair import turns_of
from cdm.spelling import Spelling, spell
from core.example import Example
from core.faults import InputFaults
from core.scores import Scores, fields
from core.selection import score_complete
from core.signature import MODEL_LIBRARIES, signature
from discriminators.discriminator import SETTINGS, Discriminator
from discriminators.explanations import explain_parts
from discriminators.texts import LabelledText


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
    """The logit of a discriminator that learned dialogues and their degraded versions (CDM); higher is better.

    With `explain` the explanation of a dialogue says what each turn adds to its score (see `explain_parts`). A low
    value made the score low. It costs one more pass for every turn.
    """

    requires = fields("turns")
    discriminator: Discriminator
    explain: bool = False

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu", explain: bool = False) -> "GenerativeCDM":
        """Loads a trained discriminator (a run's `models/discriminator_NAME`).

        Raises InputFaults where there is none.
        """
        if not (Path(folder) / SETTINGS).is_file():
            raise InputFaults([f"{folder}: must be a folder with {SETTINGS} that +exp=cdm_dialogue left, found none"])
        return cls(Discriminator.from_pretrained(folder, device), explain)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings, model and versions."""
        return signature(
            "cdm_generative",
            libraries=MODEL_LIBRARIES,
            discriminator=self.discriminator.settings["kind"],
            identity=self.discriminator.identity,
            explain=self.explain,  # kept rows hold the explanations
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores under the aspect `quality`; NaN without turns that say something.

        Raises ExampleFaults where no example has turns.
        """
        return score_complete(examples, self.requires, "cdm_generative", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        dialogues = turns_of(examples)
        logits, dropped = self._logits(dialogues)
        explanations = explain_parts(self._logits, dialogues, "turn") if self.explain else ()
        reasons = ["the turns have no tokens to score" if np.isnan(logit) else None for logit in logits]
        return Scores({"quality": logits}, self.signature, reasons, dropped.tolist(), explanations)

    def _logits(self, dialogues: Sequence[Sequence[str]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        spelling: Spelling = self.discriminator.settings.get("spelling") or "as_is"
        return self.discriminator.logits_or_nan(spell(dialogues, spelling))
