"""The number of words: a row of every table that shows what length alone explains."""

from core.example import Example, count_words
from core.metric import BaseMetric
from core.settings import checked_dataclass
from data.words import Tokens, are_unspaced, space_words


@checked_dataclass
class WordCount(BaseMetric):
    """Scores a text by its number of words; longer is better. Every example has a score."""

    name = "word_count"
    # how scripts without spaces are split (`data.words.Tokens`); `auto` counts their letters
    tokens: Tokens = "auto"

    def rate(self, example: Example) -> float:
        text = example.full_text
        if self.tokens == "library":
            return len(text.split())
        if self.tokens == "jieba" and are_unspaced([text]):
            return sum(any(map(str.isalnum, word)) for word in space_words([text], "jieba")[0].split())
        return count_words(text)
