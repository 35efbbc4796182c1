"""The number of words: a row of every table that shows what length alone explains."""

from dataclasses import dataclass

from core.example import Example, count_words
from core.metric import BaseMetric


@dataclass(frozen=True)
class WordCount(BaseMetric):
    """Scores a text by its number of words; longer is better. Every example has a score."""

    name = "word_count"
    scores_empty = True

    def rate(self, example: Example) -> float:
        return count_words(example.full_text)
