"""Sentence Mover's Similarity (Clark et al., ACL 2019): the cheapest way to turn sentences into other sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

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

Vector = NDArray[np.float64]  # (dim,)
Masses = tuple[NDArray[np.float64], NDArray[np.float64]]  # weights (n,), and vectors (n, dim)
UNKNOWN = "a sentence has no word that the encoder knows"
SMALLEST = 1e-3  # most scores below it: vectors are so long that exp(-distance) tells little


def move(ours: Masses, theirs: Masses) -> float:
    """Computes the least cost of moving weighted vectors onto others, by Euclidean distance; NaN if a vector has a NaN.

    >>> move((np.array([1.0, 1.0]), np.array([[1.0], [3.0]])), (np.array([2.0]), np.array([[0.0]])))
    2.0
    """
    supply, here = ours
    demand, there = theirs
    if np.isnan(here).any() or np.isnan(there).any():
        return float("nan")
    return float(wasserstein_distance_nd(here, there, supply, demand))


@dataclass(frozen=True)
class SentenceMover(BaseMetric):
    """Sentence Mover's Similarity (SMS): exp(-d), where d is the least Euclidean cost of moving sentence vectors.

    A sentence weighs as much as it has words. 0 to 1, higher is better. The best of several references counts. A blank
    text scores 0. `embedder` is a sentence encoder, or word vectors as in the paper.
    """

    name = "sentence_mover"
    requires = require("references")
    composes = True
    scores_empty = True
    libraries = MODEL_LIBRARIES
    embedder: Embedder

    @classmethod
    def from_pretrained(
        cls,
        encoder: str = "offline",
        static: bool = False,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "SentenceMover":
        """Loads an encoder by name or folder, as `load_embedder` does."""
        return cls(load_embedder(encoder, static, device, dtype))

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | {"encoder": self.embedder.name, "identity": self.embedder.identity}

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes the aspect `quality`; NaN if a sentence has no vector."""
        texts = [split_sentences(example.full_text) for example in examples]
        references = [[*map(split_sentences, references_of(example))] for example in examples]
        read = [[*text, *chain.from_iterable(others)] for text, others in zip(texts, references, strict=True)]
        distinct = list(dict.fromkeys(chain.from_iterable(read)))
        vectors = dict(zip(distinct, self.embedder.embed(distinct).astype(np.float64), strict=True))
        lost = dict(zip(distinct, self.embedder.dropped_tokens(distinct), strict=True))
        best: list[float] = []
        for text, others in zip(texts, references, strict=True):
            similarities = [measure_similarity(text, reference, vectors) for reference in others]
            best.append(float(np.max(similarities)))
        quality = np.array(best)
        far = f"sentence_mover: most scores are below {SMALLEST}: the encoder's vectors are long, take word vectors"
        is_far = 2 * (quality < SMALLEST).sum() > len(quality)
        return Scores(
            {"quality": quality},
            self.signature,
            reasons=[UNKNOWN if np.isnan(value) else None for value in quality],
            dropped_tokens=[sum(lost[sentence] for sentence in sentences) for sentences in read],
            notes=(far,) if is_far else (),
        )


def measure_similarity(text: Sequence[str], reference: Sequence[str], vectors: Mapping[str, Vector]) -> float:
    """Computes the similarity of two texts, given as sentences; 0 if a text is blank."""
    if not text:
        return 0.0
    return float(np.exp(-move(weigh_sentences(text, vectors), weigh_sentences(reference, vectors))))


def weigh_sentences(sentences: Sequence[str], vectors: Mapping[str, Vector]) -> Masses:
    """Returns the number of words of each sentence, and the vectors of the sentences."""
    words = [count_words(sentence) for sentence in sentences]
    return np.array(words, np.float64), np.stack([vectors[sentence] for sentence in sentences])
