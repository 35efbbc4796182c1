"""Scores that others published for the same examples, as a metric beside our own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.example import Example
from core.scores import Scores, fields
from core.signature import signature
from core.stages import fingerprint


@dataclass(frozen=True)
class Published:
    """Looks up each example's published score.

    Attributes:
        name: the metric's name in tables, such as `deam_published`.
        by_id: example id -> score, higher is better.

    Raises ValueError for a score that is not finite.
    """

    requires = fields()
    name: str
    by_id: Mapping[str, float] = field(hash=False)

    def __post_init__(self) -> None:
        for id, score in self.by_id.items():
            if not math.isfinite(score):
                raise ValueError(
                    f"a published score must be finite, but {self.name} has {score} for {id!r}: leave the example out"
                )

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for an example without a published score."""
        values = np.array([self.by_id.get(example.id, math.nan) for example in examples], dtype=np.float64)
        reasons = [
            None if example.id in self.by_id else f"{self.name} has no published score for {example.id!r}"
            for example in examples
        ]
        scores = fingerprint({id: float(score) for id, score in self.by_id.items()})
        return Scores({"quality": values}, signature(self.name, scores=scores), reasons=reasons)
