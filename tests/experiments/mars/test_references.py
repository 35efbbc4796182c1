"""What further human references bring, with vectors made by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from core.example import Example
from data.corpus import RatedSet
from experiments.mars.references import list_gains, score_set
from mars.score import mars

ANGLES = {"a": 0, "b": 90, "c": 60, "r": 0, "s": 60, "t": 90}  # degrees of the vector of each text


class Planar:
    """Unit vectors in the plane."""

    name = identity = "planar"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = np.deg2rad([ANGLES[text] for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        return [0] * len(texts)


def test_other_human_references_take_the_place_of_augmented_ones() -> None:
    examples = [
        *(
            Example(text, text, references=("r", "s"), ratings={"q": rating})
            for text, rating in zip("abc", (1.0, 2, 3), strict=True)
        ),
        Example("one", "a", references=("r",), ratings={"q": 1.0}),  # it has fewer than the median text
    ]
    scored = score_set(RatedSet("toys", tuple(examples), synthetic=True), Planar(), q=0.5)
    assert [example.id for example in scored.examples] == ["a", "b", "c"]
    cosines = np.array([[1.0, 0.5], [0.0, np.sqrt(3) / 2], [0.5, 1.0]])
    assert list(scored.scores) == ["reference_alone", "eq7_of_2", "best_of_2"]
    for row, expected in (
        ("reference_alone", cosines[:, 0]),
        ("eq7_of_2", mars(cosines, 0.5)),
        ("best_of_2", cosines.max(axis=1)),
    ):
        assert scored.values(row, "q") == pytest.approx(expected, abs=1e-6)
    gains = list_gains(scored)
    assert [row["row"] for row in gains] == ["eq7_of_2", "best_of_2"]
    # ranks of the ratings 1, 2, 3: the reference alone has rho -.5, Eq. 7 (.83, .29, .67) too, the best (1, .87, 1) 0
    assert [row["gain"].value for row in gains] == pytest.approx([0.0, 0.5], abs=1e-6)
