"""Word vectors by hand and from an encoder, and a cache that reads every text once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from data.words import plain_words
from models.encoders import CachedEmbedder, WordVectors, load_embedder, load_encoder


def test_cached_texts_are_read_once() -> None:
    class Lengths:
        name = identity = "lengths"
        asked: ClassVar[list[str]] = []

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.asked.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], np.float32)

        def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
            return [len(text) for text in texts]

    cached = CachedEmbedder(Lengths())
    assert cached.embed(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert cached.embed(["bb", "ccc"]).tolist() == [[2, 1], [3, 1]]
    assert Lengths.asked == ["a", "bb", "ccc"]
    assert cached.dropped_tokens(["bb"]) == [2]
    assert cached.name == "lengths"


def test_word_vectors_by_hand() -> None:
    vectors = WordVectors({"the": 0, "cat": 1}, np.array([[1, 0], [0, 4]], np.float32), "toy", plain_words)
    texts = ["the cat!", "cat cat the", "nothing known", ""]
    expected = [[0.5, 2.0], [1 / 3, 8 / 3], [np.nan, np.nan], [np.nan, np.nan]]
    np.testing.assert_allclose(vectors.embed(texts), expected, rtol=1e-6)
    assert vectors.dropped_tokens(texts) == [0, 0, 2, 0]
    assert vectors.embed([]).shape == (0, 2)


def test_input_embeddings_as_word_vectors(saved_bert: Callable[..., Path]) -> None:
    folder = str(saved_bert(["red", "cat"], dimension=16, layers=1, max_length=64))
    vectors = load_embedder(folder, static=True)
    encoder, tokenizer = load_encoder(folder)
    table = encoder.state_dict()["embeddings.word_embeddings.weight"].numpy()
    rows = tokenizer.convert_tokens_to_ids(["red", "cat"])
    np.testing.assert_allclose(vectors.embed(["red cat", "cat red"]), [table[rows].mean(axis=0)] * 2, rtol=1e-6)
    assert vectors.dropped_tokens(["red 猫"]) == [1]
