"""E(p) of systems by hand (CDM, Eq. 3)."""

import numpy as np
import pytest

from cdm.discriminative import Steps
from core.example import Example
from experiments.cdm.systems import system_tables
from meta_eval.scored_set import ScoredSet


def steps(*momentum: float) -> Steps:
    return Steps(np.zeros(len(momentum)), np.array(momentum), np.zeros(len(momentum), dtype=np.int64), 0)


def example(name: str, system: str | None, rating: float) -> Example:
    return Example(name, turns=("a",), system=system, ratings={"coherence": rating})


def test_systems_are_ranked_by_the_mean_momentum_of_their_texts() -> None:
    examples = (example("a", "x", 0.5), example("b", "y", 1.0), example("c", "x", 0.0), example("d", "y", 0.5))
    found = [steps(1.0, -2.0), steps(3.0), steps(-3.0), steps(1.0, 1.0, 2.0)]
    (table,) = system_tables(ScoredSet("toy", examples, {}), found)
    assert [(row["system"], row["n"]) for row in table.rows] == [("y", 2), ("x", 2)]
    y, x = table.rows
    assert (y["E(p)"].value, x["E(p)"].value) == pytest.approx((3.5, -2.0))
    assert (y["per token"].value, x["per token"].value) == pytest.approx((7 / 4, -4 / 3))
    assert (y["rated coherence"].value, x["rated coherence"].value) == pytest.approx((0.75, 0.25))
    assert (y["E(p)"].low, y["E(p)"].high) == pytest.approx((3.0, 4.0))


def test_one_system_is_no_ranking() -> None:
    examples = (example("a", "x", 0.5), example("b", None, 1.0))
    assert system_tables(ScoredSet("toy", examples, {}), [steps(1.0), steps(2.0)]) == []
