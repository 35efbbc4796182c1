"""Embedders turn texts into vectors: an encoder by its name, or word vectors from a file or an encoder."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.faults import InputFaults, fault, format_value
from core.stages import fingerprint
from data.text_files import iterate_lines
from data.words import plain_words
from models.encoders import Encoder
from models.windows import Truncation


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
class WordVectors:
    """One vector per word, independent of the words around it; a text has the mean of its words' vectors.

    A word that has no vector is looked up in lower case. Words that are still not found are left out and counted.

    Attributes:
        row_of: word -> row of `table`.
        table: shape (words, dim).
        name: for signatures.
        split: splits a text into words.
    """

    row_of: Mapping[str, int] = field(repr=False, hash=False)
    table: NDArray[np.float32] = field(repr=False, hash=False)
    name: str
    split: Callable[[str], list[str]] = plain_words

    @classmethod
    def load(cls, path: str | Path) -> "WordVectors":
        """A text file with `word v1 v2 ...` in each line (GloVe), maybe after a line `words dim` (word2vec, fastText).

        Raises InputFaults with all lines that hold a different number of values than the first, or a value that is not
        a finite number.
        """
        path = Path(path)
        faults: list[str] = []
        row_of: dict[str, int] = {}
        vectors: list[NDArray[np.float32]] = []
        dim = 0
        for number, line in iterate_lines(path, faults):
            if number == 1 and re.fullmatch(r"\d+ \d+", line):
                continue
            line = line.rstrip(" ")
            word, *values = line.rsplit(" ", dim or line.count(" "))  # GloVe has words with blanks in them
            try:
                with np.errstate(over="ignore"):  # 1e300 is infinite in float32, and refused below
                    vector = np.array(values, np.float32)
            except ValueError:
                vector = np.empty(0, np.float32)
            if not len(vector) or not np.isfinite(vector).all() or len(vector) != (dim or len(vector)):
                rule = f"a line must be a word and {dim} numbers" if dim else "a line must be a word and numbers"
                faults.append(fault(path, number, f"{rule}, found {format_value(line)}"))
                continue
            dim = len(vector)
            if word not in row_of:
                row_of[word] = len(vectors)
                vectors.append(vector)
        if not vectors and not faults:
            faults.append(fault(path, 0, "the file must hold a word and its vector, but has none"))
        if faults:
            raise InputFaults(faults)
        return cls(row_of, np.stack(vectors), path.name)

    @classmethod
    def of_encoder(cls, name: str = "offline", device: str = "cpu", dtype: str = "float32") -> "WordVectors":
        """The input embeddings of an encoder, its tokens as words; special tokens have none."""
        encoder = Encoder.from_pretrained(name, device, dtype)
        weights, tokenizer = encoder.model[0].auto_model.get_input_embeddings().weight, encoder.tokenizer
        table = weights.detach().float().cpu().numpy()
        special = set(tokenizer.all_special_tokens)
        row_of = {token: row for token, row in tokenizer.get_vocab().items() if token not in special}
        return cls(row_of, table, f"static:{name}", tokenizer.tokenize)

    @property
    def identity(self) -> str:
        """A fingerprint of the words and their vectors."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        digest = hashlib.sha256(np.ascontiguousarray(self.table).tobytes()).hexdigest()
        return fingerprint([dict(self.row_of), self.table.shape[1], digest])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The mean of the vectors of a text's words, shape (texts, dim); NaN for a text of which no word is known."""
        rows = [self._known(text) for text in texts]
        nothing = np.full(self.table.shape[1], np.nan, np.float32)
        means = [self.table[row].mean(axis=0, dtype=np.float64) if row else nothing for row in rows]
        return np.array(means, np.float32).reshape(len(texts), self.table.shape[1])

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        """Per text, how many of its words have no vector."""
        return [len(self.split(text)) - len(self._known(text)) for text in texts]

    def _known(self, text: str) -> list[int]:
        found = [self.row_of.get(word, self.row_of.get(word.lower())) for word in self.split(text)]
        return [row for row in found if row is not None]


@dataclass(frozen=True)
class CachedEmbedder:
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
