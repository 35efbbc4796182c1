"""Rated sets: what metrics are compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.example import Example


@dataclass(frozen=True)
class RatedSet:
    """Texts or dialogues that people rated, or whose quality is known because they were damaged on purpose.

    Attributes:
        name: as it stands in tables.
        examples: with ratings, higher is better.
        synthetic: whether the ratings are known damage and not people's.
        published: the scores of other people's metrics: metric name -> example id -> score, higher is better.
    """

    name: str
    examples: tuple[Example, ...]
    synthetic: bool
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
