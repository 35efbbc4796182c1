"""ReferenceData: the data of an experiment on metrics with references."""

from dataclasses import dataclass

from core.example import Example
from data.rated import RatedSet


@dataclass(frozen=True)
class ReferenceData:
    """Texts to train a language model on, held-out texts of the same kind, and rated texts with references.

    Attributes:
        name: the name in tables.
        train: whole texts; `context` is their beginning if it is known. Empty if the set has no texts to train on.
        held_out: like `train`, for the held-out loss.
        rated: candidates with context, references and ratings.
        synthetic: whether the texts are generated and the ratings known by construction.
    """

    name: str
    train: tuple[Example, ...]
    held_out: tuple[Example, ...]
    rated: tuple[RatedSet, ...]
    synthetic: bool
