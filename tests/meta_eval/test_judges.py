"""Judges beside one another and in parts of the texts: counts by hand, rare labels, and what cannot be shown."""

import numpy as np
import pytest

from meta_eval.design import lay_out
from meta_eval.judges import (
    STATISTICS,
    compare_judges,
    estimate_agreement,
    name_difference,
)
from meta_eval.labels import agree_on_labels

YES = np.array([0.0, 1.0])


def mark_texts(n: int, *places: int) -> np.ndarray:
    return np.isin(np.arange(n), places).astype(float)


def test_counts_by_hand() -> None:
    people = np.repeat([1.0, 1, 0, 0, np.nan], 12)
    a = np.tile([1.0, 1, 1, 0], 15)
    b = np.tile([1.0, 0, 1, 1], 15)
    (found,) = compare_judges(people, {"a": a, "b": b}, YES, lay_out(60))
    assert found.n == 48
    assert [found.differences[name].value for name in STATISTICS] == pytest.approx([0, 0, 0], abs=1e-12)
    assert all(p > 0.9 for p in found.p_values.values())
    turned = found.turn()
    assert (turned.judge_a, turned.judge_b) == ("b", "a")


def test_differences_are_those_of_single_judges() -> None:
    rng = np.random.default_rng(0)
    people = (rng.random(200) < 0.5).astype(float)
    judges = {name: np.where(rng.random(200) < right, people, 1 - people) for name, right in (("a", 0.95), ("b", 0.7))}
    (found,) = compare_judges(people, judges, YES, lay_out(200))
    of_a, of_b = (agree_on_labels(people, each, YES, lay_out(200)) for each in judges.values())
    for name in ("kappa", "accuracy", "harshness"):
        assert found.differences[name].value == pytest.approx(getattr(of_b, name).value - getattr(of_a, name).value)
    assert name_difference(found)[0] in ("kappa", "accuracy")


def test_equal_judges_do_not_differ_and_few_inputs_tell_nothing() -> None:
    people = np.tile([0.0, 1.0], 200)
    judge = np.where(np.arange(400) % 10 == 0, 1 - people, people)
    (found,) = compare_judges(people, {"a": judge, "b": judge.copy()}, YES, lay_out(400))
    assert set(found.p_values.values()) == {1.0}
    (few,) = compare_judges(people[:9], {"a": judge[:9], "b": judge[:9]}, YES, lay_out(9))
    assert "at least 10" in (few.differences["kappa"].reason or "")


def test_texts_that_a_judge_lacks_are_no_evidence() -> None:
    """Flips of three texts give p .25 at least, whatever the other judges read."""
    people = np.tile([0.0, 1.0], 100)
    wrong = np.where(np.arange(200) < 3, 1 - people, np.nan)
    found = compare_judges(people, {"a": people, "b": people, "c": wrong}, YES, lay_out(200))
    assert [min(each.p_values.values()) >= 0.25 for each in found] == [True] * 3


def test_kappa_of_rare_labels_is_not_sure() -> None:
    """With two yes of a hundred and none found, kappa may be anything up to about .6; it ends below 1."""
    kappa = estimate_agreement(mark_texts(100, 0, 1), mark_texts(100, 2, 3), YES, lay_out(100))["kappa"].only
    assert kappa.value < 0 < 0.3 < kappa.high < 1
    perfect = estimate_agreement(mark_texts(100, 0, 1), mark_texts(100, 0, 1), YES, lay_out(100))["kappa"].only
    assert (perfect.value, perfect.high) == (1.0, 1.0)
    assert perfect.low < 0.8
