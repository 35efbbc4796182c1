"""Intervals of ratios and perplexities, by hand."""

import numpy as np
import pytest

from meta_eval.bootstrap import estimate_perplexity, estimate_ratio


def test_a_ratio_of_sums_has_an_interval_over_units() -> None:
    alike, ones, units = np.tile([1.0, 0.0], 30), np.ones(60), np.repeat(np.arange(30), 2)
    found = estimate_ratio(alike, ones, units, seed=0)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)  # units are alike
    found = estimate_ratio(np.repeat([1.0, 0.0], 30), ones, units, seed=0)  # each unit is all or nothing
    assert (found.value, found.high - found.low) == (0.5, pytest.approx(2 * 2.05 * 0.5 / np.sqrt(29), rel=0.1))
    few = estimate_ratio(np.array([6.0, 2.0]), np.array([3.0, 1.0]), np.array([0, 1]), seed=0)
    assert few.value == 2.0  # sums, not a mean of ratios
    assert few.reason == "an interval over examples needs at least 30 of them, but there are 2"


def test_a_perplexity_is_exp_of_the_mean_loss_of_a_token() -> None:
    losses, tokens = np.tile([np.log(8), np.log(2)], 30), np.tile([3.0, 1.0], 30)
    found = estimate_perplexity(losses, tokens, np.repeat(np.arange(30), 2))
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))  # log(16) over four tokens
