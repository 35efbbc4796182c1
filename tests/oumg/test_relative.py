"""Relative scores: cases worked by hand, weights, a slow bootstrap beside the intervals, properties."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from oumg.relative import (
    SCORES,
    RelativeScores,
    accuracy,
    high_score_rate,
    high_score_rate_difference,
    relative_scores,
    tie_rate,
    upgrade_rate,
)


def scores(*logits: ArrayLike, inputs: Any = None, human_inputs: Any = None) -> RelativeScores:
    """Of one seed where the logits have one axis; without names every pair and its human text have an input."""
    human, first, second = (np.atleast_2d(np.asarray(each, dtype=float)) for each in logits)
    inputs = range(first.shape[1]) if inputs is None else inputs
    return relative_scores(
        human,
        first,
        second,
        inputs,
        human_inputs or inputs,
    )


def logit(probabilities: list[float]) -> np.ndarray:
    return np.array([math.log(p / (1 - p)) for p in probabilities])


D1, D2 = logit([0.9, 0.5, 0.2, 0.7]), logit([0.6, 0.5, 0.3, 0.1])


def test_the_case_worked_by_hand() -> None:
    assert high_score_rate(D1) == 0.5  # D = 0.5 is not above 0.5
    assert high_score_rate(D2) == 0.25
    assert high_score_rate_difference(D1, D2) == 0.25
    assert upgrade_rate(D1, D2) == 0.5
    assert tie_rate(D1, D2) == 0.25
    assert tie_rate([0.8, 0.0], [0.7999999999999999, 1.0]) == 0.5  # rounding
    human = logit([0.8, 0.5, 0.4, 0.9])  # 2 of 4 right; of the outputs 8 - 3
    assert accuracy(human, D1, D2) == (2 / 4 + 5 / 8) / 2
    expected = {"accuracy": 0.5625, "hsr_1": 0.5, "hsr_2": 0.25, "hsrd": 0.25, "ur": 0.5, "ur_2": 0.25, "ties": 0.25}
    found = scores(human, D1, D2)
    assert {name: getattr(found, name).value for name in SCORES} == expected


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
        accuracy(
            human,
            first,
            second,
            human_weights,
            weights,
        )[:, 1],
        accuracy(human[:, [0, 0]], first[:, [1, 1, 2]], second[:, [1, 1, 2]]),
    )


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=20))
def test_exchanging_the_systems_turns_the_scores_round(logits: list[tuple[int, int]]) -> None:
    first, second = np.array(logits, dtype=float).T
    there, back = (scores(np.zeros(len(logits)), a, b) for a, b in ((first, second), (second, first)))
    assert there.hsrd.value == -back.hsrd.value
    assert there.hsrd.low == pytest.approx(-back.hsrd.high, nan_ok=True)  # one input has no interval
    assert there.ur_2 == back.ur
    assert there.ur.value + there.ur_2.value + there.ties.value == pytest.approx(1)
    assert there.accuracy.value == pytest.approx(back.accuracy.value)


@pytest.mark.parametrize(
    ("logits", "settings", "message"),
    [
        (([1.0], [1.0, 2.0], [1.0]), {}, r"paired by input, but have the shapes \(1, 2\) and \(1, 1\)"),
        (([np.nan], [1.0], [1.0]), {}, "must be finite"),
        (([1.0], [1.0], [1.0]), {"inputs": ["a"], "human_inputs": ["b"]}, "needs outputs and a human text"),
    ],
)
def test_logits_that_cannot_be_compared_are_refused(logits: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scores(*logits, **settings)
