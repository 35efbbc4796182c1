"""Tables of guided decoding: a row by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from experiments.steering.tables import SteeredSetting, SteeredTexts, steering_row
from judge.tables import Table


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
    (found,) = Table("", "", [steering_row(setting, "good", [good], "fudge", seed=0)]).to_json()
    assert (found["label"], found["strength"], found["k"], found["n"]) == ("good", 2.0, 8, 4)
    assert (found["accuracy"], found["tokens"]) == (0.75, 2.5)
    assert found["perplexity"] == pytest.approx(np.e)  # a nat a token
    assert found["distinct_1"] == pytest.approx((2 / 4 + 5 / 6) / 2)  # by seed
    assert found["distinct_2"] == pytest.approx((1 / 2 + 4 / 4) / 2)
    assert (found["seeds"], found["by_seed"]["accuracy"]) == ([0, 1], [1.0, 0.5])
    (everything,) = Table("", "", [steering_row(setting, "all", setting.texts, "fudge", seed=0)]).to_json()
    assert (everything["label"], everything["n"], everything["accuracy"]) == ("all", 8, 0.375)
    assert everything["perplexity"] == pytest.approx(np.exp(30 / 20))
    assert everything.keys() == found.keys()
