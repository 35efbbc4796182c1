"""Accuracy of a judge by how united people are, by hand."""

import numpy as np

from meta_eval.grouping import lay_out
from meta_eval.unanimity import count_unity, measure_by_unity, name_unity

TABLE = np.array([[1, 1, 0, 1], [1, 0, 0, np.nan], [1, 0, 1, np.nan]], dtype=float)


def test_names_and_counts() -> None:
    assert name_unity(TABLE) == ["3 of 3", "2 of 3", "2 of 3", ""]
    most, rated = count_unity(TABLE)
    assert (most.tolist(), rated.tolist()) == ([3, 2, 2, 1], [3, 3, 3, 1])


def test_many_kinds_are_three() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, (9, 200)).astype(float)
    table[rng.random(table.shape) < 0.2] = np.nan
    table[:, 0] = 1
    names = name_unity(table)
    assert names[0] == "all"
    assert {*names} == {"all", "most", "no majority"}


def test_accuracy_by_hand() -> None:
    table = np.tile(TABLE, 10)
    consensus = np.tile([1.0, 0, 0, 1], 10)
    judge = np.tile([1.0, 0, 1, 1], 10)
    found = measure_by_unity(table, consensus, {"j": judge}, lay_out(40))
    assert [(each.people, each.n, each.accuracy.value) for each in found] == [("3 of 3", 10, 1.0), ("2 of 3", 20, 0.5)]
    assert found[1].accuracy.low < 0.5 < found[1].accuracy.high
