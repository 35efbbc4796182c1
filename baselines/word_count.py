"""The number of words: a row of every table that shows what length alone explains."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.example import Example
from core.scores import Scores, fields
from core.signature import signature


def count_words(text: str) -> int:
    """The number of words between blanks.

    >>> count_words(" Well, I  do.\\n")
    3
    """
    return len(text.split())


@dataclass(frozen=True)
class WordCount:
    """Scores a text by its number of words; longer is better."""

    requires = fields()

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`: whitespace-separated words of `full_text`. Every example has a score."""
        counts = np.array([count_words(example.full_text) for example in examples], dtype=np.float64)
        return Scores({"quality": counts}, signature("word_count"))
