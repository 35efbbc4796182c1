"""Intervals of ratios and perplexities, by hand."""

import numpy as np
import pytest

from meta_eval.bootstrap import estimate_perplexity, estimate_ratio


def test_a_ratio_of_sums_has_an_interval_over_units() -> None:
    units = np.array([0, 0, 1, 1])
    found = estimate_ratio(np.array([1.0, 1, 0, 0]), np.ones(4), units, seed=0)
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)  # each unit is all or nothing
    found = estimate_ratio(np.array([1.0, 0, 1, 0]), np.ones(4), units, seed=0)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)  # units are alike
    found = estimate_ratio(np.array([6.0, 2.0]), np.array([3.0, 1.0]), np.array([0, 1]), seed=0)
    assert found.value == 2.0  # sums, not a mean of ratios
    found = estimate_ratio(np.array([1.0, 0, 1]), np.ones(3), np.array([0, 0, 0]), seed=0)
    assert found.value == 2 / 3
    assert np.isnan(found.low)  # one unit has no interval


def test_a_perplexity_is_exp_of_the_mean_loss_of_a_token() -> None:
    found = estimate_perplexity(np.array([np.log(8), np.log(2)]), np.array([3.0, 1.0]), np.array([0, 1]))
    assert found.value == pytest.approx(2.0)  # log(16) over four tokens
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))
