"""Relative scores: cases worked by hand, seeds, weights."""

import math

import numpy as np
import pytest

from oumg.relative import accuracy, high_score_rate, high_score_rate_difference, tie_rate, upgrade_rate


def logit(probabilities: list[float]) -> np.ndarray:
    return np.array([math.log(p / (1 - p)) for p in probabilities])


D1, D2 = logit([0.9, 0.5, 0.2, 0.7]), logit([0.6, 0.5, 0.3, 0.1])


def test_the_case_worked_by_hand() -> None:
    assert high_score_rate(D1) == 0.5  # D = 0.5 is not above 0.5
    assert high_score_rate(D2) == 0.25
    assert high_score_rate_difference(D1, D2) == 0.25
    assert upgrade_rate(D1, D2) == 0.5
    assert tie_rate(D1, D2) == 0.25
    human = logit([0.8, 0.5, 0.4, 0.9])  # 2 of 4 right; of the outputs 8 - 3
    assert accuracy(human, D1, D2) == (2 / 4 + 5 / 8) / 2


def test_accuracy_counts_each_side_by_its_weights() -> None:
    human, first, second = np.array([1.0, -1.0]), np.array([1.0, -1.0, -1.0]), np.array([1.0, 1.0, -1.0])
    once, human_weights = np.array([[3.0, 0.0, 1.0]]), np.array([[4.0, 1.0]])
    outputs = (3 / 4 + 3 / 4) / 2  # taken for human; by plain counts 1/3 and 2/3
    assert accuracy(human, first, second, human_weights, once) == pytest.approx((4 / 5 + 1 - outputs) / 2)
    uneven = np.array([[0.0, 2.0, 2.0], [1.0, 0.0, 0.0]])
    found = accuracy(human, first, second, np.array([[4.0, 1.0], [0.0, 1.0]]), uneven)
    np.testing.assert_allclose(found, [(4 / 5 + 1 - 1 / 4) / 2, 0.0])


def test_logits_that_saturate_the_sigmoid_are_no_ties() -> None:
    first, second = np.array([200.0, -900.0]), np.array([100.0, -901.0])
    assert upgrade_rate(first, second) == 1
    assert tie_rate(first, second) == 0


def test_every_seed_has_its_score() -> None:
    first, second = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]]), np.zeros((3, 2))
    assert upgrade_rate(first, second).tolist() == [0.5, 1.0, 0.0]


def test_weights_count_texts() -> None:
    first, second = np.array([[1.0, -1.0, 3.0], [-1.0, -1.0, 0.5]]), np.array([[0.0, -1.0, 5.0], [2.0, -3.0, -1.0]])
    weights = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
    for score in (high_score_rate_difference, upgrade_rate, tie_rate):
        found = score(first, second, weights)
        assert found.shape == (2, 2)  # seeds, resamples
        np.testing.assert_allclose(found[:, 0], score(first, second))
        np.testing.assert_allclose(found[:, 1], score(first[:, [1, 1, 2]], second[:, [1, 1, 2]]))
    human, human_weights = np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 0.0]])
    np.testing.assert_allclose(
        accuracy(human, first, second, human_weights, weights)[:, 1],
        accuracy(human[:, [0, 0]], first[:, [1, 1, 2]], second[:, [1, 1, 2]]),
    )


def test_systems_are_paired_by_input() -> None:
    for score in (upgrade_rate, tie_rate):
        with pytest.raises(ValueError, match=r"paired by input, but have the shapes \(2,\) and \(1,\)"):
            score([1.0, 2.0], [1.0])


def test_an_anchor_puts_systems_in_an_order() -> None:
    anchor = np.array([1.0, -1.0, -1.0, -1.0])
    assert high_score_rate_difference([1.0, 1.0, 1.0, -1.0], anchor) == 0.5
    assert high_score_rate_difference(-anchor, -anchor) == 0.0
