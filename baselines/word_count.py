"""The number of words: a row of every table that shows what length alone explains."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.example import Example
from core.scores import Scores, fields
from core.signature import signature


@dataclass(frozen=True)
class WordCount:
    """Scores a text by its number of words; longer is better."""

    requires = fields()

    @property
    def signature(self) -> str:
        """One line: the metric and its version."""
        return signature("word_count")

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`: words of `full_text`. Every example has a score."""
        counts = np.array([example.word_count for example in examples], dtype=np.float64)
        return Scores({"quality": counts}, self.signature)
