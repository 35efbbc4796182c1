"""Worst disagreements: the examples that a metric ranks furthest from their rating."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.contracts import ScoredSet
from experiments.report.explanations import LONGEST, Line, read_explanation
from experiments.report.tables import shorten
from meta_eval.correlation import average_ranks

COUNT = 3  # examples of each metric


@dataclass(frozen=True)
class Disagreement:
    """An example whose score and rating disagree.

    Attributes:
        id, text, context: of the example, shortened.
        rating, score: of the example.
        rating_rank, score_rank: shares of the examples that are below, from 0 to 1.
        explanation: of the score; empty where the metric gives none.
    """

    id: str
    text: str
    context: str
    rating: float
    score: float
    rating_rank: float
    score_rank: float
    explanation: list[Line]


def find_disagreements(scored: ScoredSet, count: int = COUNT) -> tuple[str, Mapping[str, list[Disagreement]]]:
    """The first rated aspect, and by metric the examples with the largest difference of ranks, the largest first.

    A metric that scores this aspect by name is ranked by it, another one by its first aspect. Metrics whose scores are
    all equal have no ranks and are left out.
    """
    examples = scored.rated.examples
    rated = list(dict.fromkeys(aspect for example in examples for aspect in example.ratings))
    found: dict[str, list[Disagreement]] = {}
    if not rated:
        return "", found
    aspect = rated[0]
    ratings = np.array([example.ratings.get(aspect, np.nan) for example in examples])
    for metric, scores in scored.scores.items():
        values = scores.values.get(aspect, next(iter(scores.values.values())))
        if worst := find_worst(ratings, values, count):
            found[metric] = [
                Disagreement(
                    examples[i].id,
                    shorten(examples[i].full_text, LONGEST),
                    shorten(examples[i].context or "", LONGEST),
                    float(ratings[i]),
                    float(values[i]),
                    rating_rank,
                    score_rank,
                    read_explanation(scores.explanations[i], aspect) if scores.explanations else [],
                )
                for i, rating_rank, score_rank in worst
            ]
    return aspect, found


def find_worst(
    ratings: NDArray[np.float64], values: NDArray[np.float64], count: int = COUNT
) -> list[tuple[int, float, float]]:
    """The index of each of the worst disagreements with its ranks in the ratings and in the values.

    Empty if the ratings or the values of the examples with both are all equal.
    """
    known = np.flatnonzero(~np.isnan(values + ratings))
    if len(known) < 2 or np.ptp(values[known]) == 0 or np.ptp(ratings[known]) == 0:
        return []
    ranks = [(average_ranks(each[known]) - 1) / (len(known) - 1) for each in (ratings, values)]
    worst = np.argsort(-np.abs(ranks[1] - ranks[0]), kind="stable")[:count]
    return [(int(known[at]), float(ranks[0][at]), float(ranks[1][at])) for at in worst]
