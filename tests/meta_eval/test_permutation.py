"""Permutation tests: swaps against scipy, every swap of a small case by hand, groupings, all pairs, undefined cases."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from meta_eval.grouping import lay_out
from meta_eval.permutation import (
    PERMUTED,
    Statistic,
    permutation_tests,
    permuted_pearson,
)
from meta_eval.step_down import randomisation_p
from tests.meta_eval.sets import ORACLES

KINDS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")


def try_pair(a, b, y, layout, **settings) -> float:
    """The p-value of two metrics."""
    found = permutation_tests({"a": a, "b": b}, y, layout, pairs=[("a", "b")], **settings)
    assert found.reason is None
    return found.p_values["a", "b"]


def metrics(n: int, seed: int, levels: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two metrics and ratings that see one quality; the smaller `levels`, the more ties."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    a, b, y = (np.round(levels * (quality + rng.normal(size=n))) / levels for _ in range(3))
    return a, b, y


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
@pytest.mark.parametrize("levels", [1, 3, 1e6])
def test_every_swap_equals_scipy(kind, levels):
    rng = np.random.default_rng(0)
    a, b, y = metrics(31, 1, levels)
    swaps = rng.random((40, 31)) < 0.5
    of_a, of_b = PERMUTED[kind](a, b, y, swaps)
    np.testing.assert_allclose(of_a, [ORACLES[kind](np.where(s, b, a), y) for s in swaps], atol=1e-12)
    np.testing.assert_allclose(of_b, [ORACLES[kind](np.where(s, a, b), y) for s in swaps], atol=1e-12)


def test_few_units_are_swapped_in_every_way():
    """Eight examples have 256 swaps, and the p-value is the share of those that differ as much."""
    a, b, y = metrics(8, 4, 1e6)
    every = np.array(list(product([False, True], repeat=8)))
    u, v = ((x - x.mean()) / x.std() for x in (a, b))
    of_a, of_b = permuted_pearson(u, v, y, every)
    observed = abs(of_a[0] - of_b[0])
    exact = np.mean(np.abs(of_a - of_b) >= observed - 1e-12)
    assert try_pair(a, b, y, lay_out(8), kind="pearson", permutations=128) == pytest.approx(exact)
    assert try_pair(a, b, y, lay_out(8), kind="pearson", permutations=127) == pytest.approx(exact, abs=0.1)


def test_many_metrics_share_their_swaps_and_are_adjusted_together():
    """Each statistic is a difference in standard deviations of its swaps; the largest of those left is the null."""
    rng = np.random.default_rng(3)
    a, b, y = metrics(40, 12, 1e6)
    scores = {"a": a, "b": b, "c": b + 0.1 * rng.normal(size=40), "d": rng.normal(size=40)}
    pairs = [*combinations(scores, 2)]
    found = permutation_tests(scores, y, lay_out(40), pairs=pairs, kind="pearson", permutations=300, seed=4)
    swaps = np.unpackbits(
        np.frombuffer(np.random.default_rng(4).bytes(300 * 5), dtype=np.uint8).reshape(300, 5), axis=1, count=40
    ).astype(bool)
    units = {name: (x - x.mean()) / x.std() for name, x in scores.items()}

    def differ(first, second, s):
        u, v = units[first], units[second]
        return ORACLES["pearson"](np.where(s, v, u), y) - ORACLES["pearson"](np.where(s, u, v), y)

    null = np.array([[differ(*pair, s) for pair in pairs] for s in swaps])
    spread = np.sqrt((null**2).mean(axis=0))
    observed = np.array([differ(*pair, np.zeros(40, dtype=bool)) for pair in pairs])
    expected, left, largest = {}, sorted(range(6), key=lambda i: -abs(observed[i]) / spread[i]), 0.0
    for place, i in enumerate(left):
        top = (np.abs(null[:, left[place:]]) / spread[left[place:]]).max(axis=1)
        largest = max(largest, (1 + (top >= abs(observed[i]) / spread[i] - 1e-9).sum()) / 301)
        expected[pairs[i]] = largest
    assert found.p_values == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grouping", ["global", "within_inputs", "within_systems"])
def test_groupings_equal_a_loop_that_swaps_whole_inputs(kind, grouping, monkeypatch):
    rng = np.random.default_rng(7)
    a, b, y = (v.reshape(6, 12) for v in metrics(72, 8, 3))
    y[:, 2] = 1.0  # an input without variation is left out
    a[:, 3] = 0.0  # a metric without variation agrees by 0
    given = a, b, y
    swapped = rng.random((30, 12)) < 0.5
    monkeypatch.setattr("meta_eval.permutation.list_swaps", lambda *_, **__: [swapped])
    layout = lay_out(72, [s for s in range(6) for _ in range(12)], [i for _ in range(6) for i in range(12)])
    axis = {"within_inputs": 0, "within_systems": 1}.get(grouping)
    oracle = ORACLES["kendall" if kind == "kendall" else "pearson"]
    z = y
    if kind != "pearson":  # swaps of ranks
        a, b, z = (stats.rankdata(v, axis=axis).reshape(v.shape) for v in (a, b, z))

    def correlate(x) -> float:
        if grouping == "global":
            return oracle(x.ravel(), z.ravel())
        pairs = zip(x.T, z.T, strict=True) if grouping == "within_inputs" else zip(x, z, strict=True)
        return float(np.mean([oracle(u, v) if np.ptp(u) > 0 else 0.0 for u, v in pairs if np.ptp(v) > 0]))

    u, v = a, b
    if kind != "kendall":
        u, v = (
            (x - x.mean(axis=axis, keepdims=True)) / np.maximum(x.std(axis=axis, keepdims=True), 1e-9) for x in (a, b)
        )
    observed = correlate(u) - correlate(v)
    null = [correlate(np.where(s, v, u)) - correlate(np.where(s, u, v)) for s in swapped]
    beyond = sum(abs(delta) >= abs(observed) - 1e-10 for delta in null)
    a, b, y = (v.ravel() for v in given)
    found = try_pair(a, b, y, layout, kind=kind, grouping=grouping, permutations=30)
    assert found == pytest.approx((beyond + 1) / 31)


def test_only_examples_that_all_scored_count(monkeypatch, caplog):
    a, b, y = metrics(30, 9, 1e6)
    gaps_a, gaps_b = a.copy(), b.copy()
    gaps_a[:2], gaps_b[4] = np.nan, np.nan
    kept = np.array([i for i in range(30) if i not in (0, 1, 4)])
    options: Any = {"pairs": [("a", "b")], "permutations": 100}
    found = permutation_tests({"a": gaps_a, "b": gaps_b}, y, lay_out(30), **options)
    assert found == permutation_tests({"a": a[kept], "b": b[kept]}, y[kept], lay_out(27), **options)
    assert found.n == 27
    monkeypatch.setattr("meta_eval.permutation.LONG", 0)
    permutation_tests({"a": a, "b": b}, y, lay_out(30), kind="kendall", **options)
    assert caplog.messages == ["tests of a pair of metrics will take about 0 minutes"]


@pytest.mark.parametrize("seed", [15, 89, 109, 192, 261, 264])
def test_the_order_of_systems_decides_no_p_value(seed: int) -> None:
    """Sums that are 0 but for rounding: a relative tolerance alone let the order of the columns decide."""
    rng = np.random.default_rng(seed)
    scores = 0.5 + 1e-9 * rng.integers(0, 3, (5, 30))
    by_order = []
    for order in (range(5), rng.permutation(5)):
        pairs = [*combinations(order, 2)]
        gaps = np.stack([scores[a] - scores[b] for a, b in pairs], axis=1)
        p_values = randomisation_p(gaps, 1000, seed=0)
        by_order.append({frozenset(pair): p for pair, p in zip(pairs, p_values, strict=True)})
    assert by_order[0] == pytest.approx(by_order[1], abs=1e-12)
