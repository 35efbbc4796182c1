"""Sentence Mover's Similarity (Clark et al., ACL 2019): the cheapest way to turn sentences into other sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance_nd

from core.example import Example, count_words
from core.metric import BaseMetric
from core.scores import Scores, require
from core.selection import references_of
from core.signature import MODEL_LIBRARIES, Setting
from data.sentences import split_sentences
from models.encoders import Embedder, load_embedder

Masses = tuple[NDArray[np.float64], NDArray[np.float64]]  # weights (n,), and vectors (n, dim)
UNKNOWN = "a sentence has no word that the encoder knows"
SMALLEST = 1e-3  # most scores below it: vectors are so long that exp(-distance) tells little


def move(ours: Masses, theirs: Masses) -> float:
    """The least cost of moving weighted vectors to others at their Euclidean distance; NaN where one has no value.

    >>> move((np.array([1.0, 1.0]), np.array([[1.0], [3.0]])), (np.array([2.0]), np.array([[0.0]])))
    2.0
    """
    (supply, here), (demand, there) = ours, theirs
    has_gap = np.isnan(here).any() or np.isnan(there).any()
    return float("nan") if has_gap else float(wasserstein_distance_nd(here, there, supply, demand))


@dataclass(frozen=True)
class SentenceMover(BaseMetric):
    """exp(-distance): sentences as vectors, weighed by their words, moved at their Euclidean distance (SMS).

    0 to 1, higher is better. The best of several references counts. A blank text scores 0. `embedder` is a sentence
    encoder, or word vectors as in the paper.
    """

    name = "sentence_mover"
    requires = require("references")
    composes = True
    scores_empty = True
    libraries = MODEL_LIBRARIES
    embedder: Embedder

    @classmethod
    def from_pretrained(
        cls, encoder: str = "offline", static: bool = False, device: str = "cpu", dtype: str = "float32"
    ) -> "SentenceMover":
        """An encoder's name or folder, see `load_embedder`."""
        return cls(load_embedder(encoder, static, device, dtype))

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | {"encoder": self.embedder.name, "identity": self.embedder.identity}

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN where a sentence has no vector."""
        texts = [[split_sentences(e.full_text), *map(split_sentences, references_of(e))] for e in examples]
        distinct = list(dict.fromkeys(sentence for several in texts for split in several for sentence in split))
        vectors = dict(zip(distinct, self.embedder.embed(distinct).astype(np.float64), strict=True))
        lost = dict(zip(distinct, self.embedder.dropped_tokens(distinct), strict=True))
        quality = np.array([np.max([self._similarity(text, r, vectors) for r in others]) for text, *others in texts])
        reasons = [UNKNOWN if np.isnan(value) else None for value in quality]
        dropped = [sum(lost[sentence] for split in several for sentence in split) for several in texts]
        far = f"sentence_mover: most scores are below {SMALLEST}: the encoder's vectors are long, take word vectors"
        notes = (far,) if 2 * (quality < SMALLEST).sum() > len(quality) else ()
        return Scores({"quality": quality}, self.signature, reasons, dropped, notes=notes)

    def _similarity(self, text: list[str], reference: list[str], vectors: dict[str, NDArray[np.float64]]) -> float:
        if not text:
            return 0.0
        ours, theirs = (
            (np.array([count_words(s) for s in split], np.float64), np.stack([vectors[s] for s in split]))
            for split in (text, reference)
        )
        return float(np.exp(-move(ours, theirs)))
