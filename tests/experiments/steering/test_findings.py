"""Findings of guided decoding by hand: labels, chance, intervals, scores."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from discriminators.discriminator import Discriminator
from experiments.report.tables import json_cells
from experiments.steering.findings import SteeredSetting, SteeredTexts, is_above_chance
from experiments.steering.models import LabelJudges
from experiments.steering.tables import steering_row


def test_judges_are_above_chance_or_not() -> None:
    wanted = ["a"] * 90 + ["b"] * 10
    assert not is_above_chance(wanted, ["a"] * 100)  # right 90 times of 100
    assert is_above_chance(wanted, ["a"] * 81 + ["b"] * 9 + ["a"] + ["b"] * 9)
    assert not is_above_chance(["a", "b"], ["b", "a"])


def judge(*logits: float) -> Discriminator:
    return cast(Discriminator, SimpleNamespace(logits=lambda texts: (np.array(logits), np.zeros(len(logits)))))


def test_the_label_of_a_text_is_that_of_the_highest_logit() -> None:
    assert LabelJudges(("bad", "good"), {"good": judge(-0.5, 0.5)}).find_labels(["a", "b"]) == ["bad", "good"]
    three = {"a": judge(1.0, -3.0), "b": judge(2.0, -1.0), "c": judge(0.0, -2.0)}
    assert LabelJudges(("a", "b", "c"), three).find_labels(["x", "y"]) == ["b", "b"]


def steered(label: str, hits: Sequence[float], nll: Sequence[float], words: Sequence[str]) -> SteeredTexts:
    return SteeredTexts(
        label,
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 1]),
        ("x",) * 4,
        tuple(tuple(w.split()) for w in words),
        np.array(hits),
        np.array(nll),
        np.array([2.0, 2.0, 2.0, 4.0]),
    )


def test_a_row_by_hand() -> None:
    good = steered("good", [1, 1, 0, 1], [2.0, 2.0, 2.0, 4.0], ["a b", "a b", "a b", "a c d e"])
    bad = steered("bad", [0, 0, 0, 0], [4.0, 4.0, 4.0, 8.0], ["a a", "a a", "a a", "a a a a"])
    setting = SteeredSetting(2.0, 8, (good, bad), 1.05)
    found = json_cells(steering_row(setting, "good", [good], "fudge", seed=0))
    assert (found["label"], found["strength"], found["k"], found["n"]) == ("good", 2.0, 8, 4)
    assert found["accuracy"] == 0.75
    assert found["perplexity"] == pytest.approx(np.e)  # a nat a token
    assert found["tokens"] == 2.5
    assert found["distinct_1"] == pytest.approx((2 / 4 + 5 / 6) / 2)  # by seed
    assert found["distinct_2"] == pytest.approx((1 / 2 + 4 / 4) / 2)
    assert (found["seeds"], found["by_seed"]["accuracy"]) == ([0, 1], [1.0, 0.5])
    everything = json_cells(steering_row(setting, "all", setting.texts, "fudge", seed=0))
    assert (everything["label"], everything["n"], everything["accuracy"]) == ("all", 8, 0.375)
    assert everything["perplexity"] == pytest.approx(np.exp(30 / 20))
    assert everything.keys() == found.keys()
