"""ReferenceData: what an experiment on metrics with references reads."""

from dataclasses import dataclass

from core.example import Example
from data.rated import RatedSet


@dataclass(frozen=True)
class ReferenceData:
    """Texts to train a language model on, held-out ones of the same kind, and rated ones with references.

    Attributes:
        name: as it stands in tables.
        train: whole texts; `context` is their beginning where it is known. Empty where none belong to the set.
        held_out: as `train`, for the held-out loss.
        rated: candidates with context, references and ratings.
        synthetic: whether the texts are generated and the ratings known by construction.
    """

    name: str
    train: tuple[Example, ...]
    held_out: tuple[Example, ...]
    rated: tuple[RatedSet, ...]
    synthetic: bool
