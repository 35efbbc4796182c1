"""Agreement on labels: cases by hand, scikit-learn's kappa and F1, and the coverage of intervals."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from meta_eval.design import Layout, lay_out
from meta_eval.labels import (
    CHANCE,
    PEOPLE,
    agree_on_labels,
    agree_with_single,
    estimate_kappa,
    find_consensus,
)

YES = np.array([0.0, 1.0])
NAN = math.nan


def draw(n: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels of people, and those of a judge who repeats two thirds of them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, labels, n).astype(float)
    return x, np.where(rng.random(n) < 2 / 3, x, rng.integers(0, labels, n))


def test_two_labels_by_hand() -> None:
    """20 yes and yes, 5 yes and no, 10 no and yes, 15 no and no: kappa is .4 (.7 observed, .5 by chance)."""
    people = np.repeat([1.0, 1, 0, 0, 1, NAN], [20, 5, 10, 15, 3, 2])
    judge = np.repeat([1.0, 0, 1, 0, NAN, 1], [20, 5, 10, 15, 3, 2])
    found = agree_on_labels(people, judge, YES, lay_out(len(people)))
    assert (found.n, found.missing) == (50, 3)
    assert found.accuracy.value == pytest.approx(0.7)
    assert found.kappa.value == pytest.approx(0.4)
    assert found.kappa.low < 0.4 < found.kappa.high
    assert found.harshness.value == pytest.approx(0.1)
    assert math.isnan(found.only_label)
    assert agree_on_labels(people, np.ones(len(people)), YES, lay_out(len(people))).only_label == 1


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_scikit_learn_agrees(labels: int) -> None:
    x, y = draw(80, labels)
    values, layout = np.arange(labels, dtype=float), lay_out(80)
    assert agree_on_labels(x, y, values, layout).kappa.value == pytest.approx(
        cohen_kappa_score(x, y, weights="quadratic")
    )
    plain = estimate_kappa([(x, y)], values, layout, is_ordered=False).only
    assert plain.value == pytest.approx(cohen_kappa_score(x, y))


def test_people_among_themselves() -> None:
    """Two pairs of people share texts: 1 of 2 + 2 labels differs, where 1 + 1 are expected to."""
    table = np.array([[0, 1, 0, 1], [0, 1, NAN, NAN], [NAN, NAN, 1, 1]], dtype=float)
    judge = np.array([0.0, 1, 0, 0])
    people, own = agree_with_single(table, {"j": judge}, YES, lay_out(4))
    assert (people.name, people.n, people.accuracy.value) == (PEOPLE, 4, 0.75)
    assert people.kappa.value == pytest.approx(1 - 1 / (1 + 1))
    assert (own.name, own.n, own.accuracy.value) == ("j", 8, 5 / 8)
    assert own.kappa.value == pytest.approx(1 - 3 / (2 + 1 + 2))  # expected of 4, 2 and 2 labels: 2, 1 and 2


def test_few_texts_of_a_judge_say_nothing_beside_people() -> None:
    """Nor does it follow from 30 equal labels of one person that all others would be equal."""
    people = np.tile([0.0, 1.0], 100)
    judge = np.where(np.arange(200) < 3, 1 - people, NAN)
    table = np.stack([people, people, np.where(np.arange(200) % 9 == 0, 1 - people, people)])
    _, own = agree_with_single(table, {"j": judge}, YES, lay_out(200))
    assert "at least 10 inputs, but there are 3" in (own.beside_people.reason or "")
    _, equal = agree_with_single(people[None, :30], {"j": people[:30]}, YES, lay_out(30))
    assert (equal.n, equal.accuracy.value) == (30, 1)
    assert 0.8 < equal.accuracy.low < 0.95


def test_labels_of_several_people() -> None:
    table = np.array([[1, 0, 1, NAN], [1, 1, NAN, NAN], [0, NAN, NAN, NAN]], dtype=float)
    np.testing.assert_equal(find_consensus(table, YES), [1, NAN, 1, NAN])


def test_one_label_and_few_texts_have_reasons() -> None:
    ones = np.ones(40)
    assert estimate_kappa([(ones, ones)], YES, lay_out(40)).only.reason == CHANCE
    x, y = draw(9, 2)
    found = agree_on_labels(x, y, YES, lay_out(9))
    assert "at least 10" in (found.kappa.reason or "")
    nothing = agree_on_labels(x, np.full(9, NAN), YES, lay_out(9))
    assert (nothing.n, nothing.missing, nothing.kappa.reason) == (0, 9, CHANCE)


def test_texts_of_one_input_count_together() -> None:
    x, y = draw(120, 2)
    alone = estimate_kappa([(x, y)], YES, lay_out(120)).only
    copies = Layout(np.zeros(480, dtype=int), np.tile(np.arange(120), 4))
    found = estimate_kappa([(np.tile(x, 4), np.tile(y, 4))], YES, copies).only
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=0.005)
