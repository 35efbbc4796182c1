"""Clusters: hand-worked values and properties."""

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from meta_eval.significance import clusters


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
