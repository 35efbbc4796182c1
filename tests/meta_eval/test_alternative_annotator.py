"""The alternative annotator test beside a slow, plain version of the paper's procedure."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from meta_eval.alternative_annotator import (
    FEW_INPUTS,
    FEW_PEOPLE,
    compare_with_people,
    measure_nearness,
)
from meta_eval.design import lay_out


def draw_people(n: int, people: int, accuracy: float, per_input: int, seed: int) -> np.ndarray:
    """Labels of people who find the same texts hard."""
    rng = np.random.default_rng(seed)
    size = n * per_input
    truth = (rng.random(size) < 0.6).astype(float)
    is_hard = np.repeat(rng.random(n) < 0.3, per_input)
    right = np.where(is_hard, accuracy - 0.2, accuracy + 0.05)
    return np.array([np.where(rng.random(size) < right, truth, 1 - truth) for _ in range(people)])


def plain_test(table: np.ndarray, judge: np.ndarray, epsilon: float, *, is_ordered: bool) -> float:
    """The winning rate, person by person and text by text, as in the paper."""
    p_values = []
    for j in range(len(table)):
        judge_wins, person_wins = [], []
        for i in range(table.shape[1]):
            others = [table[k, i] for k in range(len(table)) if k != j and not math.isnan(table[k, i])]
            if math.isnan(table[j, i]) or math.isnan(judge[i]) or not others:
                continue
            nearness = []
            for label in (judge[i], table[j, i]):
                if is_ordered:
                    nearness.append(-math.sqrt(sum((label - other) ** 2 for other in others) / len(others)))
                else:
                    nearness.append(sum(label == other for other in others) / len(others))
            judge_wins.append(float(nearness[0] >= nearness[1]))
            person_wins.append(float(nearness[1] >= nearness[0]))
        differences = np.subtract(person_wins, judge_wins)
        tested: Any = ttest_1samp(differences, epsilon, alternative="less")
        p_values.append(tested.pvalue)
    return float((false_discovery_control(p_values, method="by") <= 0.05).mean())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_ordered", [False, True])
def test_the_papers_procedure(seed: int, is_ordered: bool) -> None:
    rng = np.random.default_rng(seed)
    table = draw_people(80, 4, 0.85, 1, seed)
    if is_ordered:
        table += rng.integers(0, 3, table.shape)
    table[rng.random(table.shape) < 0.1] = np.nan
    judge = np.where(rng.random(80) < 0.7, np.nan_to_num(table[0], nan=1.0), rng.integers(0, 2, 80))
    found = compare_with_people(table, judge, lay_out(80), is_ordered=is_ordered, epsilon=0.15)
    rate = plain_test(table, judge, 0.15, is_ordered=is_ordered)
    assert (found.people, found.winning_rate, found.passes) == (4, pytest.approx(rate), rate >= 0.5)


def test_nearness_by_hand() -> None:
    others = np.array([[1.0, 1.0], [0.0, np.nan]])
    assert measure_nearness(np.array([1.0, 0.0]), others, is_ordered=False).tolist() == [0.5, 0]
    assert measure_nearness(np.array([1.0, 0.0]), others, is_ordered=True).tolist() == [-math.sqrt(0.5), -1]


def test_a_perfect_judge_passes_and_one_that_guesses_does_not() -> None:
    table = draw_people(100, 3, 0.9, 1, 0)
    most = (table.sum(axis=0) > 1).astype(float)
    assert compare_with_people(table, most, lay_out(100)).passes
    assert compare_with_people(table, 1 - most, lay_out(100)).winning_rate == 0


def test_reasons() -> None:
    table = draw_people(40, 3, 0.9, 1, 0)
    two = compare_with_people(table[:2], table[2], lay_out(40))
    assert (two.passes, two.reason) == (None, FEW_PEOPLE)
    few = compare_with_people(table[:, :9], table[2, :9], lay_out(9))
    assert (few.passes, few.reason) == (None, FEW_INPUTS)
