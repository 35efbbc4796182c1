"""DisScore, the discriminator baseline of CTRLEval's tables (Ke et al. 2022, section 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.example import Example
from core.scores import Scores, require
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore


@dataclass(frozen=True)
class DisScore:
    """Scores the quality of texts by one discriminator and their labels by another; higher is better.

    Coherence and consistency are the logit of the discriminator of quality. Attribute relevance is the probability that
    the discriminator of labels gives to the label of the example.
    """

    requires = require("label")
    quality: DiscriminatorScore
    label: LabelDiscriminatorScore

    @classmethod
    def from_pretrained(
        cls,
        quality: str | Path,
        label: str | Path,
        device: str = "cpu",
    ) -> "DisScore":
        """Loads both discriminators. Raises InputError for a folder without a discriminator."""
        judge = DiscriminatorScore.from_pretrained(quality, device)
        return cls(judge, LabelDiscriminatorScore.from_pretrained(label, device))

    @property
    def signature(self) -> str:
        """The signatures of both discriminators."""
        return f"{self.quality.signature} + {self.label.signature}"

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores all three aspects; NaN for a blank text and for an example without a label."""
        quality = self.quality.score(examples)
        label = self.label.score(examples)
        logits = quality.values["quality"]
        probabilities = label.values["quality"]
        return Scores(
            {"coherence": logits, "consistency": logits, "attribute_relevance": probabilities},
            self.signature,
            reasons=[of_text or of_label for of_text, of_label in zip(quality.reasons, label.reasons, strict=True)],
            dropped_tokens=[max(lost) for lost in zip(quality.dropped_tokens, label.dropped_tokens, strict=True)],
            notes=tuple(dict.fromkeys((*quality.notes, *label.notes))),
        )
