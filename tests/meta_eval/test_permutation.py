"""The permutation test: swaps against scipy, all swaps of a small case by hand, groupings, undefined cases."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import stats

from meta_eval.grouping import lay_out
from meta_eval.permutation import PERMUTED, PermutationTest, permutation_test, permuted_pearson

ORACLES: dict[str, Callable[..., float]] = {
    "pearson": lambda x, y: float(np.asarray(stats.pearsonr(x, y))[0]),
    "spearman": lambda x, y: float(np.asarray(stats.spearmanr(x, y))[0]),
    "kendall": lambda x, y: float(np.asarray(stats.kendalltau(x, y))[0]),
}


def metrics(n: int, seed: int, levels: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two metrics and ratings that see one quality; the smaller `levels`, the more ties."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    a, b, y = (np.round(levels * (quality + rng.normal(size=n))) / levels for _ in range(3))
    return a, b, y


@pytest.mark.parametrize("kind", list(PERMUTED))
@pytest.mark.parametrize("levels", [1, 3, 1e6])
def test_every_swap_equals_scipy(kind, levels):
    rng = np.random.default_rng(0)
    a, b, y = metrics(31, 1, levels)
    swaps = rng.random((40, 31)) < 0.5
    of_a, of_b = PERMUTED[kind](a, b, y, swaps)
    np.testing.assert_allclose(of_a, [ORACLES[kind](np.where(s, b, a), y) for s in swaps], atol=1e-12)
    np.testing.assert_allclose(of_b, [ORACLES[kind](np.where(s, a, b), y) for s in swaps], atol=1e-12)


def test_kendall_is_the_same_in_blocks(monkeypatch):
    a, b, y = metrics(40, 2, 3)
    swaps = np.random.default_rng(0).random((9, 40)) < 0.5
    whole = PERMUTED["kendall"](a, b, y, swaps)
    monkeypatch.setattr("meta_eval.permutation.PAIR_BLOCK", 120)
    np.testing.assert_allclose(PERMUTED["kendall"](a, b, y, swaps), whole, atol=1e-15)


@pytest.mark.parametrize("kind", list(PERMUTED))
def test_swapping_everything_turns_the_difference_round(kind):
    a, b, y = metrics(20, 3, 2)
    everything = np.ones((1, 20), dtype=bool)
    (of_a,), (of_b,) = PERMUTED[kind](a, b, y, everything)
    assert (of_a, of_b) == pytest.approx((ORACLES[kind](b, y), ORACLES[kind](a, y)))


def test_the_p_value_approaches_that_of_all_swaps():
    """Eight examples have 256 swaps; the test draws among them."""
    a, b, y = metrics(8, 4, 1e6)
    a, b = ((v - v.mean()) / v.std() for v in (a, b))
    every = np.array(list(product([False, True], repeat=8)))
    of_a, of_b = permuted_pearson(a, b, y, every)
    observed = abs(of_a[0] - of_b[0])
    exact = np.mean(np.abs(of_a - of_b) >= observed - 1e-12)
    found = permutation_test(a, b, y, lay_out(8), kind="pearson", permutations=20_000)
    assert found.p_value == pytest.approx(exact, abs=0.015)
    assert found.difference == pytest.approx(ORACLES["pearson"](a, y) - ORACLES["pearson"](b, y))


def test_equal_metrics_have_a_p_value_of_one_and_a_clear_difference_the_least():
    a, b, y = metrics(60, 5, 1e6)
    assert permutation_test(a, a, y, lay_out(60), permutations=200).p_value == 1.0
    found = permutation_test(y + 0.01 * a, b, y, lay_out(60), permutations=999)
    assert found.p_value == 1 / 1000
    assert found.difference > 0


@pytest.mark.parametrize("kind", list(PERMUTED))
def test_scale_does_not_matter(kind):
    a, b, y = metrics(40, 6, 1e6)
    plain = permutation_test(a, b, y, lay_out(40), kind=kind, permutations=200)
    scaled = permutation_test(1e200 * a + 1e190, b, y, lay_out(40), kind=kind, permutations=200)
    assert scaled.p_value == plain.p_value
    assert scaled.difference == pytest.approx(plain.difference)


@pytest.mark.parametrize("kind", list(PERMUTED))
@pytest.mark.parametrize(
    ("grouping", "over"),
    [
        ("global", "inputs"),
        ("per_input", "inputs"),
        ("per_system", "inputs"),
        ("global", "systems"),
        ("per_input", "systems"),
        ("per_system", "systems"),
        ("system_means", "systems"),
    ],
)
def test_groupings_equal_a_loop_that_swaps_whole_units(kind, grouping, over, monkeypatch):
    rng = np.random.default_rng(7)
    a, b, y = (v.reshape(6, 8) for v in metrics(48, 8, 3))
    y[:, 2] = 1.0  # an input without variation is left out
    swapped = rng.random((30, 8 if over == "inputs" else 6)) < 0.5
    monkeypatch.setattr("meta_eval.permutation._draw_swaps", lambda rng, rows, n: swapped[:rows, :n])
    layout = lay_out(48, [s for s in range(6) for _ in range(8)], [i for _ in range(6) for i in range(8)])
    axis = {"per_input": 0, "per_system": 1}.get(grouping)

    def correlate(x) -> float:
        if grouping == "global":
            return ORACLES[kind](x.ravel(), y.ravel())
        if grouping == "system_means":
            return ORACLES[kind](x.mean(axis=1), y.mean(axis=1))
        pairs = zip(x.T, y.T, strict=True) if grouping == "per_input" else zip(x, y, strict=True)
        return float(np.mean([ORACLES[kind](u, v) for u, v in pairs if np.ptp(v) > 0 and np.ptp(u) > 0]))

    u, v = ((x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True) for x in (a, b))
    observed = correlate(u) - correlate(v)
    every = [row[None, :] if over == "inputs" else row[:, None] for row in swapped]
    null = [correlate(np.where(s, v, u)) - correlate(np.where(s, u, v)) for s in every]
    beyond = sum(abs(delta) >= abs(observed) - 1e-10 for delta in null)
    found = permutation_test(
        a.ravel(), b.ravel(), y.ravel(), layout, kind=kind, grouping=grouping, over=over, permutations=30
    )
    assert found.difference == pytest.approx(observed, abs=1e-12)
    assert found.p_value == pytest.approx((beyond + 1) / 31)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 5.0), (1e-180, 0.0)])
def test_a_metrics_level_within_a_system_does_not_matter_per_system(scale, shift):
    a, b, y = metrics(40, 11, 1e6)
    first = np.arange(40) < 20
    layout = lay_out(40, [int(f) for f in first], [i % 20 for i in range(40)])
    moved = np.where(first, scale * a + shift, a)
    plain = permutation_test(a, b, y, layout, grouping="per_system", permutations=200)
    assert permutation_test(moved, b, y, layout, grouping="per_system", permutations=200) == plain


@pytest.mark.parametrize(
    ("grouping", "over", "reason"),
    [
        ("global", "both", "no test of two metrics draws both inputs and systems: use over=inputs or over=systems"),
        ("system_means", "inputs", "a test of system means needs other systems: use over=systems"),
        ("per_input", "systems", "the permutation test needs at least 6 systems to swap, but there are 4"),
    ],
)
def test_units_that_no_test_can_swap_give_a_difference_and_a_reason(grouping, over, reason):
    a, b, y = metrics(40, 10, 1e6)
    layout = lay_out(40, [i % 4 for i in range(40)], [i // 4 for i in range(40)])
    found = permutation_test(a, b, y, layout, grouping=grouping, over=over, permutations=99)
    assert not math.isnan(found.difference)
    assert math.isnan(found.p_value)
    assert found.reason == reason


def test_only_examples_that_both_scored_count():
    a, b, y = metrics(30, 9, 1e6)
    gaps_a, gaps_b = a.copy(), b.copy()
    gaps_a[:2], gaps_b[4] = np.nan, np.nan
    kept = np.array([i for i in range(30) if i not in (0, 1, 4)])
    found = permutation_test(gaps_a, gaps_b, y, lay_out(30), permutations=100)
    assert found == permutation_test(a[kept], b[kept], y[kept], lay_out(27), permutations=100)
    assert found.n == 27


@pytest.mark.parametrize(
    ("a", "b", "y", "reason"),
    [
        ([1, 2], [2, 1], [1, 2], "at least 3 scored and rated examples, but there are 2"),
        ([1, 1, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4], "all 4 scores of examples are 1"),
        ([1, 2, 3, 4], [5, 5, 5, 5], [1, 2, 3, 4], "all 4 scores of examples are 5"),
        ([1, 2, 3, 4], [1, 2, 4, 3], [0, 0, 0, 0], "all 4 ratings of examples are 0"),
    ],
)
def test_undefined_is_nan_with_a_reason(a, b, y, reason):
    found = permutation_test(a, b, y, lay_out(len(y)))
    assert isinstance(found, PermutationTest)
    assert math.isnan(found.p_value)
    assert found.reason is not None
    assert reason in found.reason


def test_faults():
    with pytest.raises(ValueError, match=r"scores_b must be finite, .* scores_b\[2\] is inf"):
        permutation_test([1, 2, 3], [1, 2, math.inf], [1, 2, 3], lay_out(3))
    with pytest.raises(ValueError, match="permutations must be at least 1, but is 0"):
        permutation_test([1, 2, 3], [1, 2, 3], [1, 2, 3], lay_out(3), permutations=0)


def test_a_long_test_is_announced(caplog, monkeypatch):
    a, b, y = metrics(40, 2, 3)
    permutation_test(a, b, y, lay_out(40), kind="kendall", permutations=20)
    assert not caplog.messages
    monkeypatch.setattr("meta_eval.permutation.PER_PAIR", 1.0)
    permutation_test(a, b, y, lay_out(40), kind="spearman", permutations=20)
    assert not caplog.messages
    permutation_test(a, b, y, lay_out(40), kind="kendall", permutations=20)
    assert caplog.messages == [
        "swaps of 1,600 ordered pairs of examples, 20 times, will take about 533 minutes of one core"
    ]
