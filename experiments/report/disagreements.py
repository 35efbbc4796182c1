"""Worst disagreements: the examples that a metric ranks furthest from their rating."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from experiments.report.explanations import Line, read_explanation
from meta_eval.correlation import average_ranks
from meta_eval.scored_set import ScoredSet

COUNT = 3  # examples of each metric


@dataclass(frozen=True)
class Disagreement:
    """An example whose score and rating disagree.

    Attributes:
        rating, score: of the example.
        rating_rank, score_rank: shares of the other examples that are below, from 0 to 1.
        explanation: of the score; empty where the metric gives none.
    """

    example: Example
    rating: float
    score: float
    rating_rank: float
    score_rank: float
    explanation: list[Line]


def list_disagreements(scored: ScoredSet) -> Mapping[str, list[Disagreement]]:
    """By metric, the worst disagreements with the first rated aspect.

    A metric that scores this aspect by name is ranked by it, another one by its first aspect. Metrics whose scores are
    all equal have no ranks and are left out.
    """
    found = {
        metric: find_disagreements(scored, metric, aspect) for aspect in scored.aspects[:1] for metric in scored.scores
    }
    return {metric: worst for metric, worst in found.items() if worst}


def find_disagreements(scored: ScoredSet, metric: str, aspect: str, count: int = COUNT) -> list[Disagreement]:
    """The examples whose ranks by a metric and by an aspect's ratings differ most, the largest difference first."""
    ratings, values = scored.ratings(aspect), scored.values(metric, aspect)
    explanations = scored.scores[metric].explanations
    return [
        Disagreement(
            scored.examples[i],
            float(ratings[i]),
            float(values[i]),
            rating_rank,
            score_rank,
            read_explanation(explanations[i], aspect) if explanations else [],
        )
        for i, rating_rank, score_rank in find_worst(ratings, values, count)
    ]


def find_worst(
    ratings: NDArray[np.float64], values: NDArray[np.float64], count: int = COUNT
) -> list[tuple[int, float, float]]:
    """The index of each of the worst disagreements with its ranks in the ratings and in the values.

    Empty if the ratings or the values of the examples with both are all equal.
    """
    known = np.flatnonzero(~np.isnan(values + ratings))
    if len(known) < 2 or np.ptp(values[known]) == 0 or np.ptp(ratings[known]) == 0:
        return []
    below_rating, below_score = (average_ranks(each[known]) - 1 for each in (ratings, values))
    worst = np.argsort(-np.abs(below_score - below_rating), kind="stable")[:count]
    others = len(known) - 1
    return [(int(known[at]), float(below_rating[at]) / others, float(below_score[at]) / others) for at in worst]
