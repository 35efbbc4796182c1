"""ROUGE (Lin, 2004) through rouge-score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Literal

from core.example import Example
from core.metric import ReferenceMetric
from core.scores import Scores
from core.selection import references_of
from core.settings import checked_dataclass
from core.signature import Setting
from data.words import find_words

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer


TEXTS = 64  # whose words are remembered
STEMS = 2**16  # words whose stems are remembered: stemming takes half of the time of ROUGE
WORDS = "any-script"  # names the tokenizer in signatures
OTHERS = (
    "counts words with letters other than a to z, which rouge-score drops: scores of such texts are not those of "
    "rouge-score"
)
Kind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]
NAMES: dict[Kind, str] = {"rouge1": "rouge_1", "rouge2": "rouge_2", "rougeL": "rouge_l", "rougeLsum": "rouge_lsum"}


@dataclass(frozen=True)
class Stemmer:
    """A stemmer with the interface of rouge-score's, which caches the stems of words."""

    stem: Callable[[str], str]


class AnyScript:
    """The tokenizer of rouge-score for texts in ASCII; other texts are split into words of any script.

    Words are in lower case; words from a to z are stemmed (Porter) if asked. rouge-score itself drops every other
    letter, so that different words count as equal.
    """

    def __init__(self, stemmer: bool) -> None:
        from nltk.stem.porter import PorterStemmer
        from rouge_score.tokenize import tokenize

        self.stemmer = Stemmer(lru_cache(STEMS)(PorterStemmer().stem)) if stemmer else None
        self.split = tokenize

    def tokenize(self, text: str) -> list[str]:
        """The words of a text."""
        if text.isascii():
            return self.split(text, self.stemmer)
        stems: list[str] = []
        for word in find_words(text.lower()):
            stems += self.split(word, self.stemmer) if word.isascii() else [word]
        return stems

    def differs(self, text: str) -> bool:
        """Whether rouge-score itself would read other words in this text."""
        return not text.isascii() and self.tokenize(text) != self.split(text, self.stemmer)


@cache
def make_tokenizer(stemmer: bool) -> AnyScript:
    """Makes the tokenizer, which remembers the words of the last texts, because each text is read several times."""
    tokenizer = AnyScript(stemmer)
    tokenizer.tokenize = lru_cache(TEXTS)(tokenizer.tokenize)
    return tokenizer


@cache
def make_scorer(kind: Kind, stemmer: bool) -> RougeScorer:
    """Makes the scorer of rouge-score. The library is imported only here, because its import is slow."""
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], tokenizer=make_tokenizer(stemmer))


@checked_dataclass
class Rouge(ReferenceMetric):
    """The F1 of shared n-grams or of the longest common subsequence; 0 to 1, higher is better.

    The best of several references counts, as in rouge-score. A blank text scores 0. Texts in ASCII are read by the
    tokenizer of rouge-score, others are split into words of any script, and letters of scripts without spaces, which a
    note says. There is no score where there are no words.
    """

    libraries = ("rouge-score",)
    unsigned = ("kind",)
    # rouge1, rouge2, rougeL, or rougeLsum (line by line)
    kind: Kind = "rougeL"
    # words from a to z are compared by their Porter stems
    stemmer: bool = True

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | {"words": WORDS}

    def score_all(self, examples: Sequence[Example]) -> Scores:
        scored = super().score_all(examples)
        tokenizer = make_tokenizer(self.stemmer)
        texts = chain.from_iterable([example.full_text, *references_of(example)] for example in examples)
        if any(map(tokenizer.differs, texts)):
            return replace(scored, notes=(*scored.notes, f"{self.name} {OTHERS}"))
        return scored

    def rate_text(self, text: str, references: list[str]) -> float | str:
        scorer = make_scorer(self.kind, self.stemmer)
        tokenizer = make_tokenizer(self.stemmer)
        if not tokenizer.tokenize(text):
            return f"{self.name} sees no words in the text"
        if not all(tokenizer.tokenize(reference) for reference in references):
            return f"{self.name} sees no words in a reference"
        return scorer.score_multi(references, text)[self.kind].fmeasure
