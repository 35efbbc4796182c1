"""Systems ranked by E(p), the quality of a whole distribution (CDM, section 3.1 and Eq. 3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cdm.discriminative import Steps
from cdm.momentum import distribution_quality
from experiments.contracts import Table
from meta_eval.bootstrap import Estimate, bootstrap, number_groups
from meta_eval.scored_set import ScoredSet


def system_tables(rated: ScoredSet, steps: Sequence[Steps]) -> list[Table]:
    """One table of the systems of a rated set, best E(p) first; none where the examples do not name two systems."""
    of_system: dict[str, list[int]] = {}
    for i, (example, found) in enumerate(zip(rated.examples, steps, strict=True)):
        if example.system is not None and len(found.turn):
            of_system.setdefault(example.system, []).append(i)
    if len(of_system) < 2:
        return []
    rows = [_row(rated, steps, system, places) for system, places in of_system.items()]
    rows.sort(key=lambda row: -row["E(p)"].value)
    return [
        Table(
            f"Systems of {rated.name} by E(p)",
            "E(p) of Eq. 3: the mean momentum of a system's texts in nats per text, which follows length, and per "
            "token. Higher is better. The ratings are means over the same texts.",
            rows,
        )
    ]


def _row(rated: ScoredSet, steps: Sequence[Steps], system: str, places: Sequence[int]) -> dict[str, Any]:
    texts = [rated.examples[i] for i in places]
    units = number_groups(len(places), [text.group or text.id for text in texts])
    momentum = np.array([steps[i].momentum.sum() for i in places])
    tokens = np.array([len(steps[i].turn) for i in places])
    found: dict[str, Estimate] = bootstrap(
        lambda weights: {
            "E(p)": distribution_quality(momentum, weights),
            "per token": weights @ momentum / (weights @ tokens),
        },
        units,
    )
    for aspect in sorted({aspect for text in texts for aspect in text.ratings}):
        rated_places = [i for i, text in enumerate(texts) if aspect in text.ratings]
        ratings = np.array([texts[i].ratings[aspect] for i in rated_places])
        found |= bootstrap(
            lambda weights, aspect=aspect, ratings=ratings: {f"rated {aspect}": weights @ ratings / weights.sum(1)},
            units[rated_places],
        )
    return {"system": system, "n": len(places), **found}
