"""Accuracy with calibrated ties: figures of mt-metrics-eval, and its test by loops."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from meta_eval.grouping import Layout, lay_out
from meta_eval.intervals import Resampling
from meta_eval.permutation import _standardise, permutation_tests, permuted_accuracy
from meta_eval.ranking import Comparison, measure

SYSTEMS, INPUTS = 4, 12
SYSTEM, INPUT = (axis.ravel() for axis in np.indices((SYSTEMS, INPUTS)))
RATINGS = ((3 * SYSTEM + 5 * INPUT + SYSTEM * INPUT % 4) % 3).astype(float)
SCORES = RATINGS + (7 * SYSTEM + 11 * INPUT + SYSTEM * INPUT) % 11 / 8
LAYOUT = lay_out(SYSTEMS * INPUTS, SYSTEM.tolist(), INPUT.tolist())
FEW = Resampling(resamples=50)


@pytest.mark.parametrize(
    ("grouping", "accuracy", "epsilon"),
    [
        ("global", 0.726063829787234, 0.25),
        ("per_system", 0.8598484848484849, 0.25),
        ("per_input", 0.7777777777777778, 0.5),
    ],
)
def test_calibrated_accuracy_of_mt_metrics_eval(grouping: Any, accuracy: float, epsilon: float) -> None:
    """`KendallWithTiesOpt(variant="acc23", sample_rate=1)` averaged by none, sys and item, at commit 0b82d96."""
    found = measure(SCORES, RATINGS, LAYOUT, Comparison("accuracy", grouping), FEW)
    assert found.estimate.value == pytest.approx(accuracy, abs=1e-12)
    assert found.epsilon == pytest.approx(epsilon, abs=1e-12)


def test_the_literal_of_its_own_test() -> None:
    found = measure(np.array([2, 1, 1.5, 5, 3]), np.array([1.0, 2, 2, 3, 4]), lay_out(5), Comparison("accuracy"), FEW)
    assert (found.estimate.value, found.epsilon) == (pytest.approx(0.7), 0.5)


def ordered(gap: float, epsilon: float) -> float:
    return 0.0 if abs(gap) <= epsilon else float(np.sign(gap))


def count_right(x: np.ndarray, halves: np.ndarray, y: np.ndarray) -> float:
    pairs = list(combinations(range(len(y)), 2))
    return float(np.mean([ordered(x[i] - x[j], halves[i] + halves[j]) == np.sign(y[i] - y[j]) for i, j in pairs]))


def draw_metrics(layout: Layout, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratings, a good metric and a poor one with ties."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=layout.system_count)[layout.systems] + rng.normal(size=len(layout.systems))
    return np.round(quality), quality + 0.3 * rng.normal(size=len(quality)), np.round(rng.normal(size=len(quality)), 1)


def test_accuracy_after_a_swap_equals_a_loop_over_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    y, a, b = draw_metrics(LAYOUT)
    first, second = (_standardise(x, eps, LAYOUT, "global") for x, eps in ((a, 0.5), (b, 0.2)))
    swaps = np.random.default_rng(1).random((5, INPUTS))[:, INPUT] < 0.5
    found = permuted_accuracy(first, second, y, swaps)
    for values, own, other in zip(found, (first, second), (second, first), strict=True):
        swapped = ((np.where(s, other.values, own.values), np.where(s, other.halves, own.halves)) for s in swaps)
        assert values.tolist() == pytest.approx([count_right(*each, y) for each in swapped], abs=1e-12)
    monkeypatch.setattr("meta_eval.permutation.PAIR_BLOCK", 200)
    assert permuted_accuracy(first, second, y, swaps)[0] == pytest.approx(found[0], abs=1e-12)


def test_accuracy_within_inputs_flips_the_sign_of_whole_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    y, a, b = draw_metrics(LAYOUT)
    flips = np.random.default_rng(1).random((50, INPUTS)) < 0.5
    monkeypatch.setattr("meta_eval.permutation.list_swaps", lambda *_: [flips])
    settings: dict[str, Any] = {"kind": "accuracy", "grouping": "per_input", "permutations": 50}
    found = permutation_tests({"a": a, "b": b}, y, LAYOUT, epsilons={"a": 0.5, "b": 0.2}, **settings)
    gaps = [
        count_right(a[at], np.full(SYSTEMS, 0.25), y[at]) - count_right(b[at], np.full(SYSTEMS, 0.1), y[at])
        for at in LAYOUT.groups("per_input")
    ]
    null = (1 - 2 * flips) @ gaps / INPUTS
    assert found.differences["a", "b"] == pytest.approx(np.mean(gaps), abs=1e-12)
    assert found.p_values["a", "b"] == pytest.approx(((np.abs(null) >= abs(np.mean(gaps)) - 1e-10).sum() + 1) / 51)
