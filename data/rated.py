"""Rated sets: examples with ratings, which metrics are compared with."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from core.example import Example
from core.scores import Scores


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

    def published_scores(self) -> dict[str, Scores]:
        """The published scores by metric; an example without one is NaN with a reason."""
        found: dict[str, Scores] = {}
        for metric, by_id in self.published.items():
            values = [by_id.get(example.id, math.nan) for example in self.examples]
            reasons = ["no published score" if math.isnan(value) else None for value in values]
            found[metric] = Scores({"published": np.array(values)}, f"{metric}|published beside {self.name}", reasons)
        return found
