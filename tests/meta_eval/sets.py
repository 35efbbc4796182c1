"""Scored sets from arrays, and correlations by scipy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from core.example import Example
from data.scored import mark_missing
from meta_eval.preferences import Preferences
from meta_eval.scored_set import ScoredSet


def oracle(correlate: Callable[..., Any]) -> Callable[..., float]:
    return lambda x, y: float(np.asarray(correlate(x, y))[0])


ORACLES = {"pearson": oracle(stats.pearsonr), "spearman": oracle(stats.spearmanr), "kendall": oracle(stats.kendalltau)}
rho = ORACLES["spearman"]


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
    known = {name: mark_missing(np.asarray(values, np.float64), "toy") for name, values in scores.items()}
    return ScoredSet("toy", examples, known)


def make_pairs(outcomes: ArrayLike, systems: str = "xy") -> Preferences:
    """One judgement of two systems for each input."""
    won = np.asarray(outcomes, dtype=np.float64)
    a, b = ((name,) * len(won) for name in systems)
    return Preferences("p", tuple(map(str, range(len(won)))), a, b, won, (None,) * len(won))
