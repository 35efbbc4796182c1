"""The step-down of the largest statistic against a loop, its error under a correlated null, and clusters."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta_eval.step_down import clusters, step_down


def slow_step_down(observed, resampled):
    """Test by test, strongest first."""
    tested = [i for i, value in enumerate(observed) if not np.isnan(value)]
    found, least = [np.nan] * len(observed), 0.0
    for i in sorted(tested, key=lambda i: -observed[i]):
        weaker = [j for j in tested if observed[j] <= observed[i]]
        reached = sum(max(row[j] for j in weaker) >= observed[i] for row in resampled)
        found[i] = least = max(least, (1 + reached) / (1 + len(resampled)))
    return found


@pytest.mark.parametrize("tests", [1, 2, 7])
def test_step_down_is_the_loop(tests):
    rng = np.random.default_rng(tests)
    observed, resampled = np.abs(rng.normal(size=tests)) * 2, np.abs(rng.normal(size=(60, tests)))
    if tests > 2:
        observed[1] = np.nan
    np.testing.assert_allclose(step_down(observed, resampled), slow_step_down(observed, resampled), equal_nan=True)
    blocks = (resampled[at : at + 7] for at in range(0, 60, 7))
    np.testing.assert_array_equal(step_down(observed, blocks), step_down(observed, resampled))
    turned = step_down(observed[::-1], resampled[:, ::-1])[::-1]
    np.testing.assert_array_equal(turned, step_down(observed, resampled))


def test_what_is_undefined_counts_against_itself_only():
    resampled = np.array([[0.0, np.nan], [0.0, 0.0], [0.0, 0.0]])
    assert step_down([2.0, 1.0], resampled).tolist() == [1 / 4, 2 / 4]
    assert np.isnan(step_down([np.nan, np.nan], resampled)).all()


def test_family_wise_error_under_a_correlated_null():
    rng, families = np.random.default_rng(1), 4000
    shared = rng.normal(size=(families, 100, 1))
    statistics = np.abs(0.8 * shared + 0.6 * rng.normal(size=(families, 100, 10)))
    p_values = np.array([step_down(each[0], each[1:]) for each in statistics])
    assert 0.04 < (p_values.min(axis=1) <= 0.05).mean() < 0.06
    unadjusted = (statistics[:, 1:] >= statistics[:, :1]).sum(axis=1)
    smallest_by_holm = 10 * (1 + unadjusted.min(axis=1)) / 100
    assert (smallest_by_holm <= 0.05).mean() < 0.04  # Holm gives away what the correlation allows


def test_clusters_by_hand():
    """a and c differ, b differs from neither, so it shares a cluster with each. d is below all."""
    values, p = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.1}, dict.fromkeys(combinations("abcd", 2), 1.0)
    p |= dict.fromkeys([("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")], 0.01)
    assert clusters(values, p) == {"a": "1", "b": "1-2", "c": "2", "d": "3"}
    p["b", "c"] = 0.01
    assert clusters(values, p) == {"a": "1", "b": "1", "c": "2", "d": "3"}
    assert clusters(dict(reversed(values.items())), {(b, a): each for (a, b), each in p.items()}) == clusters(values, p)
    assert clusters({"a": 0.9, "b": 0.8}, {("a", "b"): math.nan}) == {"a": "1", "b": "1"}


@given(st.integers(1, 6), st.integers(0, 2**15 - 1))
def test_no_cluster_holds_a_pair_that_the_tests_separate(k, bits):
    """And two neighbours that they do not separate share one."""
    names = "abcdef"[:k]
    p = {pair: 0.01 if bits >> i & 1 else 0.5 for i, pair in enumerate(combinations(names, 2))}
    found = clusters({name: -i for i, name in enumerate(names)}, p)
    of = {name: {*range(int(label.split("-")[0]), int(label.split("-")[-1]) + 1)} for name, label in found.items()}
    for (a, b), each in p.items():
        between = names[names.index(a) : names.index(b) + 1]
        is_whole = all(p[pair] > 0.05 for pair in combinations(between, 2))
        assert bool(of[a] & of[b]) == is_whole, (a, b, each, found)
    assert set.union(*of.values()) == {*range(1, max(max(each) for each in of.values()) + 1)}
