"""Soft pairwise accuracy: all sign patterns by hand, the published formula as the oracle."""

import math
from itertools import product

import numpy as np
import pytest

from meta_eval.bootstrap import Estimate
from meta_eval.ranking import soft_accuracy
from meta_eval.soft_accuracy import Ties, better_p_values
from tests.meta_eval.sets import make_set


def measure(ratings: np.ndarray, scores: np.ndarray, ties: Ties = "mid") -> Estimate:
    """Of ratings and scores of shape (systems, inputs)."""
    systems, inputs = (axis.ravel().tolist() for axis in np.indices(ratings.shape))
    return soft_accuracy(make_set(ratings.ravel(), {"m": scores.ravel()}, systems, inputs), "m", "q", ties=ties)


ALL_SIGNS = np.array(list(product([1.0, -1.0], repeat=2)))


def test_published_p_values_by_hand():
    """Differences 2 and 1: of the sums 3, 1, -1, -3 one is at least 3, so p = 1/4; reversed, all are at least -3."""
    assert better_p_values(np.array([[3.0, 1.0], [1.0, 0.0]]), ALL_SIGNS, "published").tolist() == [0.25]
    assert better_p_values(np.array([[1.0, 0.0], [3.0, 1.0]]), ALL_SIGNS, "published").tolist() == [1.0]


def test_the_order_of_systems_does_not_matter_where_ratings_tie():
    """Ratings of two levels tie often; of the published p-values both directions can be 1."""
    rng = np.random.default_rng(2)
    ratings, scores = rng.integers(0, 2, (4, 8)).astype(float), rng.normal(size=(4, 8))
    ratings[1] = ratings[0]
    found = {
        ties: [measure(ratings[order], scores[order], ties).value for order in ([0, 1, 2, 3], [3, 1, 0, 2])]
        for ties in ("mid", "published")
    }
    assert found["mid"][0] == pytest.approx(found["mid"][1], abs=1e-12)
    assert abs(found["published"][0] - found["published"][1]) > 0.05


def test_a_metric_equal_to_the_ratings_is_perfect_and_its_opposite_is_poor():
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(5, 40)) + np.arange(5)[:, None]
    perfect = measure(ratings, 3 * ratings + 1)
    assert (perfect.value, perfect.low, perfect.high) == (1.0, 1.0, 1.0)
    assert measure(ratings, -ratings).value < 0.05
    noisy = measure(ratings, ratings + 8 * rng.normal(size=(5, 40)))
    assert noisy.low <= noisy.value <= noisy.high
    assert 0.5 < noisy.value < 1


def test_undefined():
    one = measure(np.ones((1, 9)), np.ones((1, 9)))
    assert math.isnan(one.value)
    assert one.reason is not None
    assert "at least 2 systems" in one.reason
    few = measure(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3))
    assert few.value == 1.0
    assert few.reason == "an interval over inputs needs at least 30 of them, but there are 3"
    flat = measure(np.arange(10.0).reshape(2, 5), np.ones((2, 5)))
    assert math.isnan(flat.value)
    assert flat.reason == "all 10 scores are 1: they order no systems"
