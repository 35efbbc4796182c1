"""The number of words: a row of every table that shows what length alone explains."""

from collections.abc import Sequence

import numpy as np

from core.example import Example, count_words
from core.scores import Scores, fields
from core.selection import score_complete
from core.settings import checked_dataclass
from core.signature import signature
from data.words import Tokens, are_unspaced, space_words


@checked_dataclass
class WordCount:
    """Scores a text by its number of words; longer is better.

    Attributes:
        tokens: how scripts without blanks are split (`data.words.Tokens`); `auto` counts their letters.
    """

    requires = fields()
    tokens: Tokens = "auto"

    @property
    def signature(self) -> str:
        """One line: the metric, its setting and version."""
        return signature("word_count", tokens=self.tokens)

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`: words of `full_text`. Every example has a score."""
        return score_complete(examples, self.requires, "word_count", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        counts = np.array([self._count(example.full_text) for example in examples], dtype=np.float64)
        return Scores({"quality": counts}, self.signature)

    def _count(self, text: str) -> int:
        if self.tokens == "library":
            return len(text.split())
        if self.tokens == "jieba" and are_unspaced([text]):
            return sum(any(map(str.isalnum, word)) for word in space_words([text], "jieba")[0].split())
        return count_words(text)
