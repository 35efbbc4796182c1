"""Scored sets from arrays, for tests."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from core.example import Example
from core.scores import Scores
from meta_eval.scored_set import ScoredSet


def make_scores(values: ArrayLike, aspect: str = "score") -> Scores:
    """Scores of one aspect; a NaN has a reason."""
    column = np.asarray(values, dtype=np.float64)
    return Scores({aspect: column}, "toy", ["no score" if missing else None for missing in np.isnan(column)])


def make_set(
    ratings: ArrayLike,
    scores: Mapping[str, ArrayLike],
    systems: Sequence[object] | None = None,
    groups: Sequence[object] | None = None,
    aspect: str = "q",
) -> ScoredSet:
    """Texts of one word with ratings of one aspect, NaN for none."""
    names = [[None if each is None else str(each) for each in column or ()] for column in (systems, groups)]
    examples = tuple(
        Example(
            str(i),
            "word",
            system=names[0][i] if names[0] else None,
            group=names[1][i] if names[1] else None,
            ratings={} if np.isnan(rating) else {aspect: float(rating)},
        )
        for i, rating in enumerate(np.asarray(ratings, dtype=np.float64))
    )
    return ScoredSet("toy", examples, {name: make_scores(values) for name, values in scores.items()})
