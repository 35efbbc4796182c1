"""Rated sets: examples with ratings, which metrics are compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.example import Example


@dataclass(frozen=True)
class RatedSet:
    """Texts or dialogues that people rated, or whose quality is known because they were damaged on purpose.

    Attributes:
        name: the name in tables.
        examples: with ratings, higher is better.
        synthetic: whether the ratings are known by construction and not given by people.
        published: published scores of other metrics: metric name -> example id -> score, higher is better.
    """

    name: str
    examples: tuple[Example, ...]
    synthetic: bool
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
