"""Every test of two metrics that +exp=meta_eval prints, on metrics that agree equally well with the ratings.

Clustered: 30 inputs with outputs of 8 systems; each metric has an error that the outputs for an input share.
Unclustered: 100 inputs with one output each. A test rejects between .03 and .07 at .05, or is NaN with a reason.
"""

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest

from meta_eval.grouping import Grouping
from meta_eval.intervals import Drawn, Resampling
from meta_eval.ranking import Comparison, MetricPair, compare_pair
from meta_eval.scored_set import ScoredSet
from tests.meta_eval.sets import make_set

TESTS = ("p_value", "bootstrap_p", "williams_p")
CLUSTERED, UNCLUSTERED = (30, 8), (100, 1)
KINDS = ("pearson", "spearman", "kendall")


@pytest.fixture(autouse=True)
def no_detectable_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no test, and slow."""
    monkeypatch.setattr("meta_eval.ranking.detectable_difference", lambda *_, **__: math.nan)


def draw_study(rng: np.random.Generator, inputs: int, systems: int, over: Drawn = "inputs") -> ScoredSet:
    """Two metrics that see the quality of outputs through noise of one size, and ratings of five levels.

    With several systems, a metric has an error for each unit that is drawn (`over`).
    """
    shape = (inputs, systems)
    quality = rng.normal(size=(inputs, 1)) + 0.5 * rng.normal(size=(1, systems)) + 0.7 * rng.normal(size=shape)
    shared = np.zeros(2) if systems == 1 else (1.0, 0.0) if over == "inputs" else (0.0, 1.0)
    a, b = (
        quality
        + shared[0] * rng.normal(size=(inputs, 1))
        + shared[1] * rng.normal(size=(1, systems))
        + (1.0 if systems == 1 else 0.5) * rng.normal(size=shape)
        for _ in range(2)
    )
    ratings = np.clip(np.round(quality + rng.normal(size=shape)), -2, 2)
    systems_of = None if systems == 1 else [j for _ in range(inputs) for j in range(systems)]
    inputs_of = [i for i in range(inputs) for _ in range(systems)]
    return make_set(ratings.ravel(), {"a": a.ravel(), "b": b.ravel()}, systems_of, inputs_of)


def compare_often(
    rounds: int, size: tuple[int, int], kind: Any, grouping: Grouping, over: Drawn = "inputs", permutations: int = 199
) -> list[MetricPair]:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(rounds):
        sample = draw_study(rng, *size, over)
        resampling = Resampling(over=over, resamples=399, seed=int(rng.integers(1 << 30)))
        comparison, every = Comparison(kind, grouping, permutations, 0.05), np.ones(len(sample), dtype=np.bool_)
        found.append(compare_pair(sample, "q", ("a", "b"), every, comparison, resampling))
    return found


def show_rates(pairs: Sequence[MetricPair]) -> dict[str, float]:
    """The share of pairs that each test rejects at .05; NaN for a test that is undefined in all of them."""
    rates = {}
    for name in TESTS:
        p_values = np.array([getattr(pair, name) for pair in pairs])
        assert np.isnan(p_values).all() or not np.isnan(p_values).any()
        rates[name] = math.nan if np.isnan(p_values).all() else float((p_values <= 0.05).mean())
    return rates


def check_rates(pairs: Sequence[MetricPair], *defined: str) -> None:
    rates = show_rates(pairs)
    print(rates)
    assert {name for name, rate in rates.items() if not math.isnan(rate)} == set(defined)
    assert all(0.03 <= rates[name] <= 0.07 for name in defined), rates
    if len(defined) < len(TESTS):
        assert all(pair.reason for pair in pairs)


def test_clustered_studies() -> None:
    """PERM-BOTH, one swap per output, rejects .19 of such studies, and Williams' test .19."""
    check_rates(compare_often(300, CLUSTERED, "pearson", "global", permutations=99), "p_value", "bootstrap_p")


def test_unclustered_studies() -> None:
    check_rates(compare_often(400, UNCLUSTERED, "pearson", "global", permutations=99), *TESTS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grouping", ["global", "per_input", "per_system"])
def test_clustered_studies_in_every_grouping(kind: str, grouping: Grouping) -> None:
    check_rates(compare_often(1000, CLUSTERED, kind, grouping), "p_value", "bootstrap_p")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_unclustered_studies_by_every_correlation(kind: str) -> None:
    williams = () if kind == "kendall" else ("williams_p",)
    check_rates(compare_often(3000, UNCLUSTERED, kind, "global"), "p_value", "bootstrap_p", *williams)


@pytest.mark.slow
@pytest.mark.parametrize("grouping", get_args(Grouping))
def test_studies_clustered_by_system(grouping: Grouping) -> None:
    """8 inputs, 30 systems; a metric has an error for each system, and other systems are drawn."""
    check_rates(compare_often(1000, (8, 30), "pearson", grouping, "systems"), "p_value", "bootstrap_p")


@pytest.mark.parametrize(("grouping", "over"), [("system_means", "inputs"), ("global", "both"), ("per_input", "both")])
def test_what_no_test_can_say_is_undefined(grouping: Grouping, over: Drawn) -> None:
    check_rates(compare_often(3, CLUSTERED, "spearman", grouping, over))
