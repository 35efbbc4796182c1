"""The number of words: a row of every table that shows what length alone explains."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.example import Example
from core.scores import Scores, fields
from core.signature import signature

# letters of scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana and Han
UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def count_words(text: str) -> int:
    """The number of words between blanks.

    Scripts without blanks between words, such as Chinese, have each letter counted; marks between them are no words.

    >>> count_words(" Well, I  do.\\n"), count_words("明月几时有？把酒问青天。")
    (3, 10)
    """
    rest, letters = UNSPACED.subn(" ", text)
    words = rest.split()
    return letters + sum(any(map(str.isalnum, word)) for word in words) if letters else len(words)


@dataclass(frozen=True)
class WordCount:
    """Scores a text by its number of words; longer is better."""

    requires = fields()

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`: words of `full_text`, as `count_words` counts them. Every example has a score."""
        counts = np.array([count_words(example.full_text) for example in examples], dtype=np.float64)
        return Scores({"quality": counts}, signature("word_count"))
