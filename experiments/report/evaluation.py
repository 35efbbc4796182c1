"""Evaluation: measures the agreement of scores with the ratings of a set."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from core.scores import Scores
from data.corpus import RatedSet
from data.words import count_words
from experiments.contracts import AgreementRow
from meta_eval.agreement import agreement, correlation_given_length, length_correlation
from meta_eval.correlation import pearson


def evaluate(scores: Mapping[str, Scores], rated: RatedSet) -> list[AgreementRow]:
    """One row per metric and rated aspect.

    Scores and ratings are matched by the name of the aspect. A metric with a single aspect is compared on every rated
    aspect. Aspects without ratings have no row. An example without a rating for an aspect is left out of that aspect.
    If every example names its group, the bootstrap draws whole groups.

    Args:
        scores: by metric name, in the order of the examples.
        rated: the examples and their ratings.

    Raises ValueError when a metric does not have one score per example, or shares no aspect with the ratings.
    """
    aspects = list(dict.fromkeys(aspect for example in rated.examples for aspect in example.ratings))
    rows: list[AgreementRow] = []
    for metric, scored in scores.items():
        if len(scored) != len(rated.examples):
            raise ValueError(
                f"one score per example, but {metric} has {len(scored)} for {len(rated.examples)} of {rated.name}"
            )
        compared = [aspect for aspect in aspects if aspect in scored.values or len(scored.values) == 1]
        if not compared:
            raise ValueError(
                f"{metric} must score a rated aspect, but it scores {', '.join(scored.values)} and {rated.name} is "
                f"rated for {', '.join(aspects)}"
            )
        rows += [_row(metric, scored, rated, aspect) for aspect in compared]
    return rows


def plain_pearson(scores: NDArray[np.float64], ratings: NDArray[np.float64]) -> float:
    """Pearson's correlation without an interval; NaN for fewer than two pairs, or if one side does not vary."""
    return float(pearson(scores, ratings, np.ones((1, len(scores))))[0]) if len(scores) > 1 else math.nan


def published_scores(rated: RatedSet) -> dict[str, Scores]:
    """The published scores of a set, by metric; an example without one is NaN with a reason."""
    found: dict[str, Scores] = {}
    for metric, by_id in rated.published.items():
        values = [by_id.get(example.id, math.nan) for example in rated.examples]
        reasons = ["no published score" if math.isnan(value) else None for value in values]
        found[metric] = Scores({"published": np.array(values)}, f"{metric}|published beside {rated.name}", reasons)
    return found


def aspect_values(scored: Scores, aspect: str) -> NDArray[np.float64]:
    """The scores of an aspect; if the metric lacks it, the scores of the metric's only aspect."""
    return scored.values[aspect] if aspect in scored.values else next(iter(scored.values.values()))


def _row(metric: str, scored: Scores, rated: RatedSet, aspect: str) -> AgreementRow:
    values = aspect_values(scored, aspect)
    at = [i for i, example in enumerate(rated.examples) if aspect in example.ratings]
    examples = [rated.examples[i] for i in at]
    groups = [example.group for example in examples]
    ratings = [example.ratings[aspect] for example in examples]
    lengths = [count_words(example.full_text) for example in examples]
    found = agreement(
        values[at],
        ratings,
        groups=None if None in groups else groups,
    )
    return AgreementRow(
        metric=metric,
        set=rated.name,
        aspect=aspect,
        n=found.n,
        pearson=found.pearson,
        spearman=found.spearman,
        kendall=found.kendall,
        word_count_spearman=length_correlation(values[at], lengths),
        spearman_given_length=correlation_given_length(values[at], ratings, lengths),
        unscored=found.unscored,
        truncated=sum(scored.dropped_tokens[i] > 0 for i in at),
        synthetic=rated.synthetic,
    )
