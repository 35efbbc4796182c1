"""Eq. 7 against its exact cases and by its properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mars.score import cosine, ratio_weights


@given(st.integers(1, 8), st.floats(0.05, 5.0))
def test_weights_sum_to_one_and_fall_by_q(n: int, q: float) -> None:
    weights = ratio_weights(n, q)
    assert weights.sum() == pytest.approx(1.0)
    assert np.allclose(weights[1:], q * weights[:-1])
    if q != 1:
        assert weights[0] == pytest.approx((1 - q) / (1 - q**n), rel=1e-6)


def test_cosines_of_short_and_of_very_large_vectors() -> None:
    a = np.array([[0.3, 0.4, 0.0], [1e30, 0.0, 0.0], [1e-30, 1e-30, 0.0]], np.float32)
    b = np.array([[0.0, 0.5, 0.0], [1e30, 1e30, 0.0], [1e-30, 0.0, 0.0]], np.float32)  # squares leave float32
    np.testing.assert_allclose(cosine(a, b), [0.8, 0.5**0.5, 0.5**0.5], rtol=1e-6)


def test_cosines_by_hand_and_without_a_direction() -> None:
    a = np.array([[1, 0], [1, 1], [0, 0], [np.nan, 1]], np.float32)
    b = np.array([[0, 2], [3, 3], [1, 1], [1, 1]], np.float32)
    assert np.allclose(cosine(a, b), [0, 1, np.nan, np.nan], equal_nan=True)
