"""ROUGE (Lin, 2004) through rouge-score."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Literal

from core.metric import ReferenceMetric
from core.settings import checked_dataclass
from core.signature import Setting
from data.words import ROUGE_UNICODE, Tokens, are_unspaced, space_words

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer


@contextmanager
def hide_modules(*names: str) -> Iterator[None]:
    """Hides modules that are not imported yet: an import within takes them as not installed."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


TEXTS = 64  # whose words are remembered
Kind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]
NAMES: dict[Kind, str] = {"rouge1": "rouge_1", "rouge2": "rouge_2", "rougeL": "rouge_l", "rougeLsum": "rouge_lsum"}


def find_words(tokens: Tokens, text: str) -> list[str]:
    """Words of any script in lower case.

    >>> find_words("characters", "Où est 明月?")
    ['où', 'est', '明', '月']
    """
    return ROUGE_UNICODE.findall(space_words([text.lower()], tokens)[0])


@cache
def make_scorer(kind: Kind, stemmer: bool, tokens: Tokens) -> RougeScorer:
    """The scorer of rouge-score, which is imported only where texts are scored: that takes longer than most runs."""
    with hide_modules("sklearn", "scipy.stats"):  # rouge-score imports all of NLTK, which imports both unused
        from rouge_score.rouge_scorer import RougeScorer
    scorer = RougeScorer([kind], use_stemmer=stemmer)
    tokenize = scorer._tokenizer.tokenize if tokens == "library" else partial(find_words, tokens)
    scorer._tokenizer.tokenize = lru_cache(TEXTS)(tokenize)  # each text is read several times
    return scorer


@checked_dataclass
class Rouge(ReferenceMetric):
    """The F1 of shared n-grams or of the longest common subsequence; 0 to 1, higher is better.

    The best of several references counts, as in rouge-score. A blank text scores 0. There is no score where the
    tokenizer sees no words.
    """

    libraries = ("rouge-score",)
    # rouge1, rouge2, rougeL, or rougeLsum (line by line)
    kind: Kind = "rougeL"
    # words are compared by their Porter stems, by the tokenizer of rouge-score
    stemmer: bool = True
    # `library`: the tokenizer of rouge-score, which sees only a-z and 0-9; `characters` and `jieba`: words of any
    # script, and how scripts without spaces are split; `auto`: characters where most letters of text and references
    # are of such a script, else as the library
    tokens: Tokens = "auto"

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    @property
    def settings(self) -> dict[str, Setting]:
        stemmer = self.stemmer and self.tokens in ("auto", "library")
        return {"stemmer": stemmer, "tokens": self.tokens}

    def rate_text(self, text: str, references: list[str]) -> float | str:
        tokens: Tokens = "characters" if are_unspaced([text, *references]) else "library"
        tokens = tokens if self.tokens == "auto" else self.tokens
        scorer = make_scorer(self.kind, self.stemmer, tokens)
        for said in (text, *references):
            if not scorer._tokenizer.tokenize(said):
                what = "the text" if said is text else "a reference"
                hint = "; tokens=characters reads every script" if tokens == "library" else ""
                return f"{self.name} sees no words in {what} with tokens={self.tokens}{hint}"
        return scorer.score_multi(references, text)[self.kind].fmeasure
