"""Cheap cues: exact values, a slow oracle, and simulations of metrics that only count."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from core.example import Example
from meta_eval.cues import (
    NOTHING_LEFT,
    Cues,
    agreement_beyond_cues,
    combine_cues,
    correlate_beyond,
    count_cues,
)
from meta_eval.estimates import Estimate
from tests.meta_eval.sets import rho


def test_cues_of_a_text() -> None:
    texts = ("The cat sat. The cat sat here!", "--", "明月几时有？明月几时有。")
    found = count_cues([Example(str(i), text) for i, text in enumerate(texts)])
    assert dict(zip(found.names, found.values[0], strict=True)) == pytest.approx(
        {
            "words": 7,
            "sentences": 2,
            "sentence length": 3.5,
            "deviation of sentence length": 0.5,
            "different words": 4 / 7,
            "repeated spans": 1 / 5,
            "punctuation": 2 / 30,
            "upper case": 2 / 30,
        }
    )
    assert found.values[1].tolist() == [0, 1, 0, 0, 0, 0, 1, 0]
    assert found.values[2].tolist() == pytest.approx([10, 2, 5, 0, 0.5, 3 / 8, 2 / 12, 0])


def test_cues_of_a_text_beside_its_references() -> None:
    found = count_cues([Example("a", "the cat sat down", references=("the cat sat", "a dog"))])
    names = ("overlap with reference", "copied spans with reference", "length ratio with reference")
    assert found.names[-3:] == names
    assert found.values[0, -3:].tolist() == pytest.approx([3 / 4, 1 / 2, (math.log(5 / 4) + math.log(5 / 3)) / 2])


def test_cues_of_a_dialogue() -> None:
    dialogues = ("do you ski?", "I do ski", "do you ski?"), ("hello",)
    found = count_cues([Example(str(i), turns=turns) for i, turns in enumerate(dialogues)])
    first = [9, 3, 3, 3, 3, 4 / 9, 1, 0.5, 2 / 3]
    assert found.values.tolist() == [pytest.approx(first), [1, 1, 1, 0, 1, 1, 0, 0, 0]]


def test_the_kind_of_the_examples_decides_which_cues_there_are() -> None:
    text = Example("a", text="x y", context="x", references=("y",), system="s")
    assert len(count_cues([text]).names) == 14
    assert len(count_cues([text, Example("b", text="x")]).names) == 8
    dialogue = count_cues([Example("a", turns=("x", "y"))])
    assert len(dialogue.names) == 9
    assert not any("system" in name for name in dialogue.names)


@pytest.mark.parametrize("n", [50, 130])  # without and with knots
def test_the_partial_correlation_equals_one_of_residuals(n: int) -> None:
    rng = np.random.default_rng(0)
    cues = rng.standard_normal((n, 3)).round(1)
    x, y = (cues @ rng.standard_normal(3) + rng.standard_normal(n) for _ in range(2))
    weights = rng.multinomial(n, np.full(n, 1 / n), size=5).astype(float)
    slow = [partial_of_drawn(x, y, cues, row) for row in weights]
    np.testing.assert_allclose(correlate_beyond(x[:, None], y, cues, weights)[:, 0], slow, atol=1e-8)


def test_cues_that_fix_a_score_leave_nothing() -> None:
    rng = np.random.default_rng(0)
    cues = Cues(("a", "b"), rng.standard_normal((50, 2)))
    found = beyond(np.exp(cues.values[:, 0]), rng.standard_normal(50), cues)
    assert math.isnan(found.value)
    assert found.reason == NOTHING_LEFT
    few = beyond(np.arange(15.0), rng.standard_normal(15), Cues(("a", "b"), cues.values[:15]))
    assert few.reason == "2 cues need at least 16 texts, but there are 15"
    same = beyond(np.arange(50.0), rng.standard_normal(50), Cues(("a", "b"), np.ones((50, 2))))
    assert same.reason == "no cheap cue differs between these texts"


def test_combined_cues_find_what_cues_tell_and_nothing_where_they_tell_nothing() -> None:
    rng = np.random.default_rng(0)
    cues = Cues(tuple("abcdefghi"), rng.standard_normal((400, 9)))
    told = np.exp(cues.values[:, 0]) + 0.5 * cues.values[:, 1] + rng.standard_normal(400)
    assert rho(combine_cues(cues, told), told) > 0.5
    inputs = np.repeat(np.arange(50), 8)
    by_input = rng.standard_normal(50)[inputs]  # an input's ratings are alike, and the cues tell the input
    alike = Cues(cues.names, rng.standard_normal((50, 9))[inputs])
    nothing = [
        rho(combine_cues(Cues(cues.names, rng.standard_normal((400, 9))), by_input, inputs.tolist(), seed=k), by_input)
        for k in range(20)
    ]
    assert abs(np.mean(nothing)) < 0.03
    assert rho(combine_cues(alike, by_input), by_input) > 0.2  # a text predicts others of its input
    assert abs(rho(combine_cues(alike, by_input, inputs.tolist()), by_input)) < 0.2


def beyond(scores: np.ndarray, ratings: np.ndarray, cues: Cues, groups: Sequence[int] | None = None) -> Estimate:
    """The agreement of one metric beyond cues."""
    return agreement_beyond_cues({"metric": scores}, ratings, cues, groups)["metric"]


def partial_of_drawn(x: np.ndarray, y: np.ndarray, cues: np.ndarray, weights: np.ndarray) -> float:
    """The same from the drawn rows themselves: residuals of least squares."""
    drawn = np.repeat(np.arange(len(x)), weights.astype(int))

    def normal(column: np.ndarray) -> np.ndarray:
        return norm.ppf((rankdata(column[drawn]) - 0.5) / len(drawn))

    z = np.column_stack([normal(column) for column in cues.T])
    knots = [np.where(z > 0.8, z - 0.8, 0), np.where(z < -0.8, -z - 0.8, 0)] if len(x) >= 60 else []
    design = np.column_stack([np.ones(len(drawn)), z, np.where(z < 0, -z, z), *knots])
    residuals = [each - design @ np.linalg.lstsq(design, each, rcond=None)[0] for each in (normal(x), normal(y))]
    return float(np.asarray(np.corrcoef(np.stack(residuals)))[0, 1])
