"""Chance: Fisher's test and permutations by scipy, rare labels, one of many metrics, interval of a rare kappa."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from meta_eval.design import Floats, lay_out
from meta_eval.estimates import Estimate
from meta_eval.labels import agree_on_labels
from meta_eval.permuted import (
    Kind,
    compare_verdicts,
    measure_correlation_chance,
    measure_label_chance,
    measure_preference_chance,
    swap_metrics,
    widen_interval,
)
from meta_eval.preferences import agree_on_preferences
from tests.meta_eval.coverage import draw_normal, lay_inputs
from tests.meta_eval.sets import ORACLES, make_pairs

YES_NO = np.array([0.0, 1.0])


def test_two_labels_are_fishers_test() -> None:
    people = np.repeat([0.0, 0.0, 1.0, 1.0], [20, 5, 4, 11])
    judge = np.repeat([0.0, 1.0, 0.0, 1.0], [20, 5, 4, 11])
    expected = 2 * float(stats.hypergeom.sf(10, 40, 15, 16))  # 11 or more of 15 and of 16 among 40
    assert measure_label_chance(people, judge, lay_out(40)) == pytest.approx(expected)
    assert measure_label_chance(people, 1 - judge, lay_out(40)) == pytest.approx(expected)


def test_three_labels_are_all_permutations() -> None:
    people = np.array([0.0, 0, 1, 1, 2, 2, 2])
    judge = np.array([0.0, 0, 1, 2, 2, 2, 1])
    products = np.array([people @ order for order in permutations(judge)])
    usual = products.mean()
    expected = np.mean(np.abs(products - usual) >= abs(people @ judge - usual) - 1e-9)
    assert measure_label_chance(people, judge, lay_out(7)) == pytest.approx(expected, abs=0.03)


def test_a_sample_of_inputs_of_unequal_size_is_a_random_one() -> None:
    """60 inputs of 1 to 80 texts that are alike, half of which have labels."""
    rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        layout = lay_inputs(rng, 60, "uneven")
        verdicts = draw_normal(rng, layout, 0.9)
        is_labelled = rng.random(60)[layout.inputs] < 0.5
        rejected += compare_verdicts(is_labelled, verdicts, layout) is not None
    assert rejected <= 1


def test_texts_that_repeat_are_no_evidence() -> None:
    """Ten inputs of ten texts, each with one label of people and one of the judge: agreement of ten, not a hundred."""
    rng = np.random.default_rng(1)
    inputs = np.repeat(np.arange(10), 10)
    rejected = 0
    for _ in range(60):
        people = (rng.random(10) < 0.5).astype(float)[inputs]
        judge = (rng.random(10) < 0.5).astype(float)[inputs]
        rejected += measure_label_chance(people, judge, lay_out(100, inputs=inputs.tolist())) < 0.05
    assert rejected <= 7


def test_a_judge_that_sees_rare_labels_is_better_than_chance() -> None:
    rng = np.random.default_rng(3)
    people = (rng.random(500) < 0.03).astype(float)
    judge = np.where(rng.random(500) < 0.98, people, 1 - people)
    found = agree_on_labels(people, judge, YES_NO, lay_out(500))
    assert found.p_chance < 0.001
    assert found.kappa.low > 0.2


def mostly_ties(n: int, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(n) < 0.1, rng.integers(0, 2, n) * 1.0, 0.5)


def test_a_guess_where_most_pairs_tie() -> None:
    rng = np.random.default_rng(4)
    told = 0
    for _ in range(60):
        given = make_pairs(mostly_ties(60, rng))
        told += agree_on_preferences(given, mostly_ties(60, rng)).p_chance < 0.05
    assert told <= 6
    people = mostly_ties(60, rng)
    given = make_pairs(people)
    alike = agree_on_preferences(given, people)
    assert alike.p_chance < 0.01
    assert measure_preference_chance(people, 1 - people, given.layout) > alike.p_chance


def test_the_chance_of_a_correlation_is_adjusted_for_the_metrics() -> None:
    rng = np.random.default_rng(8)
    ratings = rng.normal(size=80)
    noise = {f"m{k}": rng.normal(size=80) for k in range(30)}
    alone = measure_correlation_chance({"good": ratings + 2 * rng.normal(size=80)}, ratings, lay_out(80))
    assert alone["good"] < 0.01
    among = measure_correlation_chance(noise, ratings, lay_out(80))
    assert min(among.values()) > 0.05
    best = min(among, key=lambda name: among[name])
    single = measure_correlation_chance({best: noise[best]}, ratings, lay_out(80))
    assert single[best] < 0.05 < among[best]
    assert single[best] == pytest.approx(stats.spearmanr(noise[best], ratings)[1], abs=0.01)
    assert math.isnan(measure_correlation_chance({"constant": np.ones(80)}, ratings, lay_out(80))["constant"])


def test_an_interval_is_widened_on_fishers_scale() -> None:
    found = Estimate(0.5, math.tanh(math.atanh(0.5) - 0.196), math.tanh(math.atanh(0.5) + 0.196))
    assert widen_interval(found, 1) == found
    wide = widen_interval(found, 10)
    assert math.atanh(0.5) - math.atanh(wide.low) == pytest.approx(0.1 * stats.norm.ppf(1 - 0.0025), rel=1e-3)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_swaps_equal_a_loop_over_all_of_them(kind: Kind) -> None:
    """Six inputs of five outputs: the scores of both metrics of an input are swapped in all ways that differ."""
    rng = np.random.default_rng(0)
    layout = lay_out(30, inputs=np.repeat(np.arange(6), 5).tolist())
    y = np.round(rng.normal(size=30), 1)
    a, b = (y + noise * rng.normal(size=30) for noise in (0.5, 2.0))
    oracle = ORACLES["kendall" if kind == "kendall" else "pearson"]

    def transform(x: Floats) -> Floats:
        values = stats.rankdata(x) if kind != "pearson" else x
        return values if kind == "kendall" else (values - values.mean()) / values.std()

    u, v, z = (transform(x) for x in (a, b, y))

    def gap(swapped: Floats) -> float:
        one, other = np.where(swapped, v, u), np.where(swapped, u, v)
        return oracle(one, z) - oracle(other, z)

    patterns = [np.array([k >> i & 1 for i in range(6)], dtype=bool)[layout.inputs] for k in range(64)]
    gaps = np.array([abs(gap(pattern)) for pattern in patterns])
    found = swap_metrics([a, b], y, layout, kind)
    assert found[0] == pytest.approx(np.mean(gaps >= gaps[0] - 1e-9))


def test_metrics_that_are_alike_do_not_differ() -> None:
    y = np.random.default_rng(0).normal(size=12)
    assert swap_metrics([y, y, 2 * y], y, lay_out(12), "spearman").tolist() == [1.0] * 3
