"""Length-controlled win rates: known truths and the published ones of AlpacaEval 2."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from meta_eval.correlation import kendall
from meta_eval.estimates import NO_SPREAD
from meta_eval.length_control import CONFOUNDED, control_length
from meta_eval.preferences import Preferences
from tests.data.sets.small_files import read_alpaca_eval, read_leaderboard
from tests.meta_eval.coverage import judge_by_length
from tests.meta_eval.sets import make_pairs


def test_texts_of_one_length_have_nothing_to_control():
    given, _ = judge_by_length(np.random.default_rng(0), 100, -150)
    assert control_length(given, np.full((100, 2), 7.0)) == {}


@pytest.mark.parametrize("shortest", [10, 50, 150])
def test_a_system_that_is_longer_nearly_everywhere_is_not_known_at_equal_lengths(shortest):
    given, lengths = judge_by_length(np.random.default_rng(0), 60, shortest)
    for each in control_length(given, lengths).values():
        assert each.n == 60
        assert not np.isnan(each.win_rate.value)
        assert (np.isnan(each.controlled.value), each.controlled.reason) == (True, CONFOUNDED)


@pytest.mark.parametrize("outcome", [0.0, 0.5, 1.0])
def test_outcomes_that_are_all_equal_are_not_known_at_equal_lengths(outcome):
    given, lengths = judge_by_length(np.random.default_rng(0), 60, -150)
    found = control_length(replace(given, outcomes=np.full(60, outcome)), lengths)["x"]
    assert found.win_rate.value == outcome
    assert (np.isnan(found.controlled.value), found.controlled.reason) == (True, NO_SPREAD)


def test_others_are_known_beside_a_system_that_is_always_longer():
    """Beside one baseline, whose win rate m0 is a part of."""
    rng = np.random.default_rng(0)
    given, lengths = simulate_star(rng, 100, np.linspace(-2, 0.5, 10))
    lengths[:, 0] = rng.normal(0, 30, 1000)
    lengths[::10, 0] = rng.uniform(50, 60, 100)  # those of m0
    found = control_length(given, lengths)
    assert {name for name, each in found.items() if each.controlled.reason} == {"m0", "base"}


def test_two_systems_by_hand():
    """x wins 3 of 4 inputs at each of two lengths, which do not matter."""
    gaps = np.repeat([-10.0, 10.0], 40)
    found = control_length(make_pairs([1.0, 1, 1, 0] * 20), np.stack([50 + gaps, np.full(80, 50.0)], axis=1))
    assert found["x"].controlled.value == pytest.approx(0.75)
    assert (found["y"].controlled.value, found["y"].n) == (pytest.approx(0.25), 80)


def test_the_preference_for_long_texts_is_taken_out():
    found = control_length(*judge_by_length(np.random.default_rng(0), 200, -50))["x"]
    assert found.win_rate.low > 0.6
    assert found.controlled.low < 0.5 < found.controlled.high


def test_few_inputs_have_no_interval():
    found = control_length(*judge_by_length(np.random.default_rng(0), 9, -150))
    assert found["x"].win_rate.reason == "an interval needs at least 10 inputs, but there are 9"


def simulate_star(rng: np.random.Generator, inputs: int, theta: np.ndarray) -> tuple[Preferences, np.ndarray]:
    """Systems of these strengths against one baseline, on inputs whose difficulties have the standard deviation 1.5."""
    difficulty, k = rng.normal(0, 1.5, inputs), len(theta)
    gaps = rng.normal(-20, 20, k) + rng.normal(0, 30, (inputs, k))
    longer = np.tanh(gaps / gaps.std(axis=0, ddof=1))
    won = rng.random((inputs, k)) < expit(theta + difficulty[:, None] + 1.5 * longer)
    names = tuple(f"q{i}" for i in range(inputs) for _ in range(k))
    systems = tuple(f"m{j}" for j in range(k)) * inputs
    lengths = np.stack([gaps.ravel(), np.zeros(gaps.size)], axis=1)
    return Preferences(
        "p", names, systems, ("base",) * gaps.size, won.ravel().astype(float), (None,) * gaps.size
    ), lengths


def test_published_figures_of_alpaca_eval(shared_data):
    """Of 27 models: win rates and standard errors, and length-controlled win rates, in percent."""
    given, published = read_alpaca_eval(shared_data)[0], read_leaderboard(shared_data)
    assert given.lengths is not None
    found = control_length(given, given.lengths)
    names = [name for name in given.systems if "standard_error" in published[name] and found[name].n <= 805]
    assert len(names) == 27
    for name in names:
        own = given.take(~np.isnan(given.of(name)))
        won = own.of(name)
        error = won.std(ddof=1) / math.sqrt(len(won))
        assert (100 * won.mean(), 100 * error) == pytest.approx(
            (published[name]["win_rate"], published[name]["standard_error"]), abs=1e-3
        )
    ours = 100 * np.array([found[name].controlled.value for name in names])
    theirs = np.array([published[name]["length_controlled_winrate"] for name in names])
    tau = kendall(ours, theirs, np.ones((1, 27)))[0]
    print(np.abs(ours - theirs).mean(), np.abs(ours - theirs).max(), tau)
    assert np.abs(ours - theirs).mean() < 0.9
    assert tau >= 0.9
