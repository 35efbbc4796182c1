"""Tests of pairs of metrics that agree equally well with the ratings.

Clustered: 30 inputs with outputs of 8 systems; each metric has an error that the outputs for an input share.
Unclustered: 100 inputs with one output each. The chance of any difference among all pairs is .03 to .07 at .05.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from meta_eval.correlation import Floats
from meta_eval.grouping import Grouping
from meta_eval.intervals import Resampling
from meta_eval.ranking import MetricPair, RankingSettings, compare_metrics, rank_metrics
from meta_eval.scored_set import ScoredSet
from tests.meta_eval.sets import make_set

Size = tuple[int, int]  # inputs, systems
CLUSTERED, UNCLUSTERED = (30, 8), (100, 1)
KINDS = ("pearson", "spearman", "kendall")
FEW = Resampling(resamples=1)


def draw_study(rng: np.random.Generator, size: Size, noises: Floats | None = None) -> ScoredSet:
    """Metrics that see the quality of outputs through noise, of one size unless `noises` has theirs; five levels.

    With several systems, a metric has an error for each input.
    """
    (inputs, systems), shape = size, size
    quality = rng.normal(size=(inputs, 1)) + 0.5 * rng.normal(size=(1, systems)) + 0.7 * rng.normal(size=shape)
    scores = [
        quality
        + (systems > 1) * rng.normal(size=(inputs, 1))
        + noise * (1.0 if systems == 1 else 0.5) * rng.normal(size=shape)
        for noise in (np.ones(2) if noises is None else noises)
    ]
    ratings = np.clip(np.round(quality + rng.normal(size=shape)), -2, 2)
    systems_of = None if systems == 1 else [j for _ in range(inputs) for j in range(systems)]
    inputs_of = [i for i in range(inputs) for _ in range(systems)]
    return make_set(ratings.ravel(), {f"m{k}": x.ravel() for k, x in enumerate(scores)}, systems_of, inputs_of)


def compare(sample: ScoredSet, comparison: RankingSettings, seed: int = 0) -> tuple[MetricPair, ...]:
    settings = Resampling(resamples=1, seed=seed)
    return compare_metrics(sample, rank_metrics(sample, "q", comparison, settings), settings)


def reject(
    rounds: int,
    size: Size,
    kind: Any,
    grouping: Grouping,
    permutations: int = 199,
    draw: Callable[[np.random.Generator], ScoredSet] | None = None,
) -> float:
    """The share of studies in which any pair of metrics is separated at .05."""
    rng, comparison = np.random.default_rng(0), RankingSettings(kind, grouping, permutations, 0.05)
    found = []
    for _ in range(rounds):
        sample = draw(rng) if draw else draw_study(rng, size)
        pairs = compare(sample, comparison, int(rng.integers(1 << 30)))
        found.append(min(pair.p_value for pair in pairs) <= 0.05)
    print(f"{kind}, {grouping}, {size}: {np.mean(found):.4f}")
    return float(np.mean(found))


GROUPINGS: tuple[Grouping, ...] = ("global", "within_inputs", "within_systems")
SLOW = [
    *((1000, CLUSTERED, kind, grouping) for kind in KINDS for grouping in GROUPINGS),
    *((3000, UNCLUSTERED, kind, "global") for kind in KINDS),
]


@pytest.mark.parametrize(
    ("rounds", "size", "kind", "grouping"),
    [
        (300, CLUSTERED, "pearson", "global"),  # one swap per output (PERM-BOTH) rejects .19
        (400, UNCLUSTERED, "spearman", "global"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW),
    ],
)
def test_metrics_of_one_quality(rounds: int, size: Size, kind: Any, grouping: Grouping) -> None:
    assert 0.03 <= reject(rounds, size, kind, grouping, permutations=99 if rounds < 1000 else 199) <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("shape", ["log-normal", "cubed"])
def test_metrics_of_unlike_shape(kind: str, n: int, shape: str) -> None:
    """A log-normal metric, or the third power of the positive part, against a normal one of equal correlation.

    Swaps of scores would find a difference in .01 to .02 of studies. The noise of the other metric, found by bisection
    on 100,000 examples, makes the correlations equal.
    """
    noise = 0.5 if shape == "log-normal" else 0.68 if kind == "spearman" else 0.55

    def draw(rng: np.random.Generator) -> ScoredSet:
        quality = rng.normal(size=n)
        seen = quality + 0.5 * rng.normal(size=n)
        a = np.exp(1.5 * seen) if shape == "log-normal" else np.maximum(seen, 0) ** 3
        scores = {"a": a, "b": quality + noise * rng.normal(size=n)}
        return make_set(np.clip(np.round(quality + rng.normal(size=n)), -2, 2), scores)

    assert 0.025 <= reject(1000, (n, 1), kind, "global", draw=draw) <= 0.075


@pytest.mark.slow
@pytest.mark.parametrize("size", [CLUSTERED, UNCLUSTERED])
@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_many_metrics_at_once(size: Size, kind: Any) -> None:
    """Ten equal metrics, and ten of which five are better: no false difference within the halves."""
    assert reject(1000, size, kind, "global", draw=lambda rng: draw_study(rng, size, noises=np.ones(10))) <= 0.08
    rng, comparison, wrong, right = np.random.default_rng(1), RankingSettings(kind, "global", 199, 0.05), 0, []
    for _ in range(100):
        sample = draw_study(rng, size, noises=np.repeat([0.2, 6.0], 5))
        pairs = compare(sample, comparison, seed=int(rng.integers(1 << 30)))
        halves = [(int(pair.metric_a[1:]) < 5, int(pair.metric_b[1:]) < 5, pair.better != "–") for pair in pairs]
        wrong += any(separated for a, b, separated in halves if a == b)
        right.append(np.mean([separated for a, b, separated in halves if a != b]))
    print(f"{kind} {size}: {wrong} false of 100, power {np.mean(right):.3f}")
    assert wrong <= 11
    assert np.mean(right) > 0.5


@pytest.mark.slow
def test_thirty_three_metrics_are_not_too_many_for_the_swaps() -> None:
    """528 pairs: with Holm's adjustment 10,000 swaps could separate none."""
    sample = draw_study(np.random.default_rng(0), (200, 1), noises=np.r_[0.1, np.full(32, 10.0)])
    found = compare(sample, RankingSettings(permutations=1000))
    assert all(pair.better == "m0" for pair in found if pair.metric_a == "m0")


def test_means_of_systems_have_no_test() -> None:
    sample = draw_study(np.random.default_rng(0), CLUSTERED)
    (pair,) = compare(sample, RankingSettings("spearman", "between_systems", 99))
    assert (np.isnan(pair.p_value), pair.better) == (True, "–")
    assert "no test compares metrics by the means of systems" in str(pair.reason)
