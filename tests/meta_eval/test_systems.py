"""System against system: hand-worked values, scipy as the oracle, groups, undefined cases; the step-down by a loop."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meta_eval.design import find_common
from meta_eval.estimates import clusters, flip_signs, step_down
from meta_eval.systems import SystemComparison, compare_pairs, rank_systems

NAN = math.nan


def compare(a, b, **settings) -> SystemComparison:
    """Two systems alone."""
    return compare_pairs("ab", np.array([a, b], dtype=float), **settings)["a", "b"]


def test_by_hand():
    """Differences 1, 1, 0, -1, 2, 3: mean 1, wins 4, ties 1, losses 1."""
    found = compare([2, 3, 1, 0, 4, 5], [1, 2, 1, 1, 2, 2])
    assert found.difference.value == pytest.approx(1.0)
    assert (found.wins, found.ties, found.losses) == (4, 1, 1)
    assert found.win_rate.value == pytest.approx(4.5 / 6)
    assert (found.n, found.reason) == (6, None)


def test_rounding_does_not_hide_an_equal_sum():
    """Of .1 + .2 + .3 every sign pattern but all equal ones is smaller: p = 1/4."""
    assert flip_signs(np.array([[0.1], [0.2], [0.3]])) == [0.25]
    assert flip_signs(np.array([[0.3], [0.1], [0.2]])) == [0.25]
    assert flip_signs(np.array([[0.1], [-0.1], [0.3], [-0.3]])) == [1.0]
    assert flip_signs(np.zeros((5, 1))) == [1.0]


def test_undefined_cases():
    one = compare([1, NAN], [2, 3])
    assert math.isnan(one.difference.value)
    assert one.reason == "a comparison needs at least 2 inputs that both systems have a score for, but there are 1"
    few = compare([1, 2, 3], [0, 1, 1])
    assert few.difference.value == pytest.approx(4 / 3)
    assert few.reason == "an interval needs at least 5 inputs, but there are 3"
    assert 0 < few.p_value <= 1
    same = compare([1, 2, 3, 4, 5], [0, 1, 2, 3, 4])
    assert same.difference.low == 1
    assert "no spread" in (same.difference.reason or "")
    equal = compare(range(6), range(6))
    assert (equal.p_value, equal.ties) == (1.0, 6)
    assert equal.win_rate.low < 0.5 < equal.win_rate.high


def test_pairs_together_are_pairs_alone():
    """On the inputs that all systems have a score for; only the p-values take account of the other pairs."""
    values = np.random.default_rng(4).normal(size=(4, 40)) + 0.5 * np.arange(4)[:, None]
    values[1, 3] = values[2, [5, 7]] = NAN
    complete = np.delete(values, [3, 5, 7], axis=1)
    found = compare_pairs("abcd", values)
    for (a, b), together in found.items():
        alone = compare(complete["abcd".index(a)], complete["abcd".index(b)])
        assert (together.n, together.wins) == (37, alone.wins)
        assert together.p_value >= alone.p_value
        for name in ("difference", "win_rate"):
            one, other = getattr(alone, name), getattr(together, name)
            assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high))


def test_p_values_of_all_pairs_by_a_loop_over_all_swaps():
    """The largest standardised sum among a pair and the weaker ones, under the swaps that all pairs share."""
    gaps = np.random.default_rng(9).normal(size=(6, 5)) * [1, 10, 1, 0.1, 1] + [2, 5, 0.5, 0, 1]

    def statistic(signs):
        return [abs(np.dot(signs, gap)) / math.sqrt(np.dot(gap, gap)) for gap in gaps.T]

    observed, expected, least = statistic(np.ones(6)), {}, 0.0
    for j in sorted(range(5), key=lambda j: -observed[j]):
        weaker = [i for i in range(5) if observed[i] <= observed[j]]
        reached = [max(statistic(s)[i] for i in weaker) >= observed[j] - 1e-12 for s in product([1, -1], repeat=6)]
        expected[j] = least = max(least, np.mean(reached))
    assert flip_signs(gaps) == pytest.approx([expected[j] for j in range(5)])


def test_a_system_without_most_scores_is_left_out():
    """c, scored on 20 of 100 inputs, changes neither the order of a and b nor their test."""
    values = np.random.default_rng(0).normal(size=(3, 100)) + np.array([[0.5], [0.0], [2.0]])
    values[2, 20:] = NAN
    pairs = compare_pairs("abc", values)
    assert (pairs["a", "b"].n, pairs["a", "c"].n, math.isnan(pairs["a", "c"].p_value)) == (100, 0, True)
    assert pairs["a", "c"].reason == "a system has scores for too few inputs in common with the others"
    assert [(each.system, each.n) for each in rank_systems("abc", values, pairs)] == [("a", 100), ("b", 100), ("c", 0)]


@given(st.integers(2, 5), st.integers(0, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_order_pairs_and_clusters_never_contradict(k, n, missing, seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(k, n)) + 1.5 * rng.normal(size=(k, 1)), int(rng.integers(0, 3)))
    values[rng.random((k, n)) < missing * rng.random((k, 1))] = NAN
    names = "abcde"[:k]
    pairs = compare_pairs(names, values)
    ranked = rank_systems(names, values, pairs)
    for i, above in enumerate(ranked):
        for below in ranked[i + 1 :]:
            a, b = above.system, below.system
            found, sign = (pairs[a, b], 1) if (a, b) in pairs else (pairs[b, a], -1)
            if not found.p_value < 0.05:
                continue
            assert sign * found.difference.value > 0
            assert above.mean.value - below.mean.value == pytest.approx(sign * found.difference.value, abs=1e-9)
            assert above.n == below.n == found.n
            assert int(above.cluster.split("-")[-1]) < int(below.cluster.split("-")[0])


def test_a_difference_by_rounding_is_a_tie():
    found = compare([0.8, 0.7999999999999999, 0.3], [0.7999999999999999, 0.8, 0.2])
    assert (found.wins, found.ties, found.losses) == (1, 2, 0)
    same = compare(np.full(9, 0.1 + 0.2), np.full(9, 0.3))
    assert (same.ties, same.difference.value, same.p_value) == (9, 0.0, 1.0)
    tiny = compare([1e-17, -1e-17, 0.3, 0.5], [0.0, 0.0, 0.1, 0.1])  # beside differences of .2
    assert (tiny.wins, tiny.ties) == (2, 2)


def test_one_huge_score_makes_no_ties():
    """One input that exploded under both systems, or under a third one, hides no other difference."""
    a = np.arange(100) * 0.01
    b = a - 1
    a[7] = b[7] = 1e12
    found = compare(a, b)
    assert (found.wins, found.ties) == (99, 1)
    assert found.p_value < 0.001
    third = np.zeros(100)
    third[3] = -1e10
    scores = np.stack([a, b, third]).astype(np.float64)
    together = compare_pairs(("x", "y", "z"), scores)["x", "y"]
    assert (together.wins, together.ties) == (99, 1)


def test_step_down_depends_on_neither_blocks_nor_order():
    rng = np.random.default_rng(0)
    observed, resampled = np.abs(rng.normal(size=7)) * 2, np.abs(rng.normal(size=(60, 7)))
    observed[1] = np.nan
    blocks = (resampled[at : at + 7] for at in range(0, 60, 7))
    np.testing.assert_array_equal(step_down(observed, blocks), step_down(observed, resampled))
    turned = step_down(observed[::-1], resampled[:, ::-1])[::-1]
    np.testing.assert_array_equal(turned, step_down(observed, resampled))


def test_what_is_undefined_counts_against_itself_only():
    resampled = np.array([[0.0, np.nan], [0.0, 0.0], [0.0, 0.0]])
    assert step_down([2.0, 1.0], resampled).tolist() == [1 / 4, 2 / 4]
    assert np.isnan(step_down([np.nan, np.nan], resampled)).all()


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


def test_the_order_of_rows_does_not_choose_who_is_compared():
    """A lacks 30 inputs and B 30 others: the first by name is compared with C in any order of rows."""
    values = np.random.default_rng(0).normal(size=(3, 70))
    values[0, :30] = np.nan
    values[1, 40:] = np.nan
    for order in permutations(range(3)):
        names = ["ABC"[i] for i in order]
        rows, columns = find_common(values[list(order)], names)
        kept = {name for name, is_kept in zip(names, rows, strict=True) if is_kept}
        assert (kept, int(columns.sum())) == ({"A", "C"}, 40)


def test_the_largest_set_is_compared():
    """The fullest rows come first, but three others have more inputs in common."""
    values = np.ones((4, 10))
    values[0, 5:] = np.nan
    values[1:, :4] = np.nan
    rows, columns = find_common(values, "abcd")
    assert rows.tolist() == [False, True, True, True]
    assert columns.sum() == 6
