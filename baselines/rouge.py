"""ROUGE (Lin, 2004) through rouge-score."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from core.example import UNSPACED
from core.metric import ReferenceMetric
from core.settings import checked_dataclass
from data.words import ROUGE_UNICODE

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


def find_words(text: str) -> list[str]:
    """Words of any script in lower case.

    >>> find_words("Où est 明月?")
    ['où', 'est', '明', '月']
    """
    return ROUGE_UNICODE.findall(UNSPACED.sub(r" \g<0> ", text.lower()))


def are_latin(texts: Sequence[str]) -> bool:
    """Whether half of the letters of the texts together, or more, are from a to z."""
    joined = "".join(texts)
    return joined.isascii() or 2 * sum(map(str.isascii, filter(str.isalpha, joined))) >= sum(map(str.isalpha, joined))


@cache
def make_scorer(kind: Kind, stemmer: bool, is_latin: bool) -> RougeScorer:
    """The scorer of rouge-score, which is imported only where texts are scored: that takes longer than most runs."""
    with hide_modules("sklearn", "scipy.stats"):  # rouge-score imports all of NLTK, which imports both unused
        from rouge_score.rouge_scorer import RougeScorer
    scorer = RougeScorer([kind], use_stemmer=stemmer)
    tokenize = scorer._tokenizer.tokenize if is_latin else find_words
    scorer._tokenizer.tokenize = lru_cache(TEXTS)(tokenize)  # each text is read several times
    return scorer


@checked_dataclass
class Rouge(ReferenceMetric):
    """The F1 of shared n-grams or of the longest common subsequence; 0 to 1, higher is better.

    The best of several references counts, as in rouge-score. A blank text scores 0. The tokenizer of rouge-score sees
    only a-z and 0-9; it reads a text and its references where most of their letters are such. Others are split into
    words of any script, and letters of scripts without spaces. There is no score where there are no words.
    """

    libraries = ("rouge-score",)
    unsigned = ("kind",)
    # rouge1, rouge2, rougeL, or rougeLsum (line by line)
    kind: Kind = "rougeL"
    # words are compared by their Porter stems, by the tokenizer of rouge-score
    stemmer: bool = True

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    def rate_text(self, text: str, references: list[str]) -> float | str:
        scorer = make_scorer(self.kind, self.stemmer, are_latin([text, *references]))
        for said in (text, *references):
            if not scorer._tokenizer.tokenize(said):
                return f"{self.name} sees no words in {'the text' if said is text else 'a reference'}"
        return scorer.score_multi(references, text)[self.kind].fmeasure
