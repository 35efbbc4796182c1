"""How often studies say what is false, by the fields of their results; each design has a control that must be found."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import judge
from meta_eval.agreement import CHEAP_CUES
from meta_eval.permuted import widen_interval

Study = Callable[[np.random.Generator, bool], bool]
ROUNDS = 60
MOST = 0.05 + 2 * math.sqrt(0.05 * 0.95 / ROUNDS)  # two standard errors above the level
QUICK: dict[str, Any] = {"cues": False}


def agree_on_rare_labels(rng: np.random.Generator, is_control: bool) -> bool:
    """Whether a judge that guesses at a label of 10 % is worse than chance; the control says the reverse of people."""
    people = (rng.random(100) < 0.1).astype(float)
    guess = (rng.random(100) < 0.1).astype(float)
    said = 1 - people if is_control else guess
    rows = [
        {"text": f"t{i}", "ratings": {"bad": y}, "scores": {"j": f}}
        for i, (y, f) in enumerate(zip(people.tolist(), said.tolist(), strict=True))
    ]
    (found,) = judge.agree(rows, **QUICK).found.judged[0].agreement.values()
    return found.p_chance < 0.05 and found.kappa.value < 0


def reverse_one_of_many(rng: np.random.Generator, is_control: bool) -> bool:
    """Whether one of ten metrics agrees in reverse; one does in the control."""
    ratings = rng.normal(size=100)
    scores = rng.normal(size=(10, 100))
    scores[3] -= is_control * ratings
    found = judge.agree(rated(ratings, scores), **QUICK).found.rows
    return any(row.p_chance < 0.05 and row.spearman.value < 0 for row in found)


def praise_the_best_of_many(rng: np.random.Generator, is_control: bool) -> bool:
    """Whether the best of ten metrics agrees with people; one does in the control."""
    ratings = rng.normal(size=100)
    scores = rng.normal(size=(10, 100))
    scores[3] += is_control * ratings
    found = [
        row.spearman for row in judge.agree(rated(ratings, scores), **QUICK).found.rows if row.metric != CHEAP_CUES
    ]
    best = max(found, key=lambda each: each.value)
    return widen_interval(best, len(found)).low > 0


def rated(ratings: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """A row for each text with its rating and its scores of metrics, of shape (metrics, n)."""
    return [
        {"text": f"t{i}", "ratings": {"q": rating}, "scores": {f"m{k}": each for k, each in enumerate(column)}}
        for i, (rating, column) in enumerate(zip(ratings.tolist(), scores.T.tolist(), strict=True))
    ]


def labels_of_no_random_sample(rng: np.random.Generator, is_control: bool) -> bool:
    """Whether labels are called no random sample; in the control they are those where the judge said a."""
    verdicts = [
        {"id": f"q{i}", "system_a": a, "system_b": b, "winner": "a" if rng.random() < 0.6 else "b"}
        for i in range(60)
        for a, b in ("xy", "yz", "xz")
    ]
    chosen = [row for row in verdicts if row["winner"] == "a"] if is_control else verdicts
    at = rng.permutation(len(chosen))[:60]
    people = [{**chosen[i], "winner": "a" if rng.random() < 0.5 else "b"} for i in at]
    return any(judge.prefer(verdicts, human_labels=people).found.unrepresentative.values())


STUDIES: list[Study] = [
    agree_on_rare_labels,
    reverse_one_of_many,
    praise_the_best_of_many,
    labels_of_no_random_sample,
]


@pytest.mark.parametrize("study", STUDIES)
def test_the_control_is_found(study: Study) -> None:
    assert study(np.random.default_rng(0), True)


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_what_is_false_is_seldom_said(study: Study) -> None:
    rng = np.random.default_rng(1)
    said = [study(rng, False) for _ in range(ROUNDS)]
    assert np.mean(said) <= MOST
    found = [study(rng, True) for _ in range(ROUNDS // 4)]
    assert np.mean(found) > 0.7
