"""Embedders turn texts into vectors: an encoder by its name, or a file of word vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.encoders import Encoder
from models.windows import Truncation
from models.word_vectors import WordVectors


class Embedder(Protocol):
    """Turns texts into vectors: an Encoder or WordVectors."""

    @property
    def name(self) -> str:
        """For signatures."""
        ...

    @property
    def identity(self) -> str:
        """A fingerprint of what makes the vectors, for signatures."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, dim), in the order of the texts, the same for any batch size."""
        ...

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        """Per text, how many of its tokens have no part in its vector."""
        ...


@dataclass(frozen=True)
class Remembered:
    """An embedder that reads every text once, for several metrics that compare the same texts."""

    embedder: Embedder
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self.embedder.name

    @property
    def identity(self) -> str:
        """The fingerprint of the embedder."""
        return self.embedder.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the embedder, shape (texts, dim)."""
        if new := [text for text in dict.fromkeys(texts) if text not in self.known]:
            self.known.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self.known[text] for text in texts])

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the embedder drops, per text."""
        return self.embedder.dropped_tokens(texts)


def load_embedder(
    name: str = "offline",
    static: bool = False,
    device: str = "cpu",
    dtype: str = "float32",
    truncation: Truncation = "window",
    token_budget: int = 8192,
) -> Embedder:
    """A sentence encoder by its name or folder, or the word vectors of a file.

    With `static`, the input embeddings of the encoder serve as word vectors.
    """
    if Path(name).is_file():
        return WordVectors.load(name)
    if static:
        return WordVectors.of_encoder(name, device, dtype)
    return Encoder.from_pretrained(name, device, dtype, truncation=truncation, token_budget=token_budget)
