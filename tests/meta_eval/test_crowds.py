"""Crowds whose members share few texts: agreement among them is that of experts, and large ones take little memory."""

import numpy as np
import pytest

from meta_eval.crowds import seat_crowd
from meta_eval.design import lay_out
from meta_eval.labels import agree_with_single
from meta_eval.preferences import Preferences
from meta_eval.raters import correlate_raters, find_ceiling
from tests.meta_eval.coverage import label_by_crowd

NAN = np.nan
YES = np.array([0.0, 1.0])


def test_a_crowd_agrees_as_the_same_people_would_on_all_texts() -> None:
    """Two people agree in .82 and judge and person in .78 of texts; half of them agree by chance."""
    table, judge = label_by_crowd(np.random.default_rng(0), texts=3000, people=300, per_text=3)
    people, of_judge = agree_with_single(table, {"j": judge}, YES, lay_out(3000))
    assert people.n == 9000
    assert people.kappa.value == pytest.approx(2 * 0.82 - 1, abs=0.03)
    assert of_judge.kappa.value == pytest.approx(2 * 0.78 - 1, abs=0.03)
    assert people.kappa.low < people.kappa.value < people.kappa.high


def test_correlation_and_ceiling_of_a_crowd() -> None:
    """The correlation of two people is .64, so the mean of three has the reliability 3 (.64) / (1 + 2 (.64)) = .842."""
    table, _ = label_by_crowd(np.random.default_rng(0), texts=3000, people=300, per_text=3)
    assert correlate_raters(table, "pearson").value == pytest.approx(0.64, abs=0.03)
    assert find_ceiling(table, "pearson").value == pytest.approx(0.842**0.5, abs=0.01)


def test_experts_keep_their_rows() -> None:
    table, _ = label_by_crowd(np.random.default_rng(0), texts=60, people=3, per_text=3)
    np.testing.assert_array_equal(seat_crowd(table), table)
    partly, _ = label_by_crowd(np.random.default_rng(0), texts=200, people=3, per_text=2)
    np.testing.assert_array_equal(seat_crowd(partly), partly)  # each pair shares 67 texts or so


def test_seats_of_texts_with_one_label_and_with_none() -> None:
    table = np.full((4, 5), NAN)
    table[[0, 1, 1, 2, 2, 3, 0], [0, 0, 1, 1, 2, 2, 3]] = [1, 0, 1, 1, 0, 1, 0]
    np.testing.assert_array_equal(seat_crowd(table), [[1, 1, 0, 0, NAN], [0, 1, 1, NAN, NAN]])


def test_users_of_an_arena_who_share_no_battle_are_one_row() -> None:
    """3,000 users with 20,000 battles would be a table of half a gigabyte."""
    size = 20_000
    names = tuple(map(str, range(size)))
    users = tuple(f"u{i % 3000}" for i in range(size))
    battles = Preferences(
        name="p",
        inputs=names,
        systems_a=("x",) * size,
        systems_b=("y",) * size,
        outcomes=np.ones(size),
        raters=users,
    )
    assert battles.by_rater().shape == (1, size)


@pytest.mark.parametrize("outcomes", [[NAN, 1.0], [1.0, NAN]])
def test_a_judgement_without_an_outcome_does_not_count(outcomes: list[float]) -> None:
    judgements = np.array([*outcomes, 0.0, NAN])
    count = len(judgements)
    pair = Preferences(
        name="p",
        inputs=("q",) * count,
        systems_a=("x",) * count,
        systems_b=("y",) * count,
        outcomes=judgements,
        raters=("ann", "ann", "ben", "cid"),
    )
    by_rater = pair.by_rater()
    np.testing.assert_array_equal(by_rater, [[1], [0], [NAN]])
