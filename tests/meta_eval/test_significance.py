"""Adjusted p-values and clusters: hand-worked values, scipy as the oracle, properties."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from meta_eval.significance import benjamini_hochberg, clusters, holm


def test_by_hand():
    """Sorted .01 .02 .03 .04: Holm .04 .06 .06 .06; Benjamini-Hochberg .04 .04 .04 .04."""
    p = [0.04, 0.01, 0.03, 0.02]
    assert holm(p).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.04] * 4)
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_equal_to_scipy_and_to_the_definition(p):
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p), atol=1e-12)
    adjusted, ordered, largest = holm(p), np.argsort(p, kind="stable"), 0.0
    for rank, at in enumerate(ordered):
        largest = max(largest, min(1.0, (len(p) - rank) * p[at]))
        assert adjusted[at] == pytest.approx(largest)


def test_undefined_tests_are_not_counted():
    assert holm([0.02, math.nan, 0.01])[[0, 2]].tolist() == [0.02, 0.02]
    assert math.isnan(benjamini_hochberg([0.02, math.nan])[1])
    assert holm([]).tolist() == []
    assert np.isnan(holm([math.nan])).all()


def test_faults():
    with pytest.raises(ValueError, match=r"numbers from 0 to 1, but 1.5 is not"):
        holm([0.5, 1.5])


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
