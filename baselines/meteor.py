"""METEOR (Lavie and Agarwal, 2007) through NLTK: words are aligned by form, by stem and, with WordNet, by synonym.

NLTK aligns from the end of the texts and, unlike the original, does not look for the alignment with fewest crossings.
"""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from nltk.translate.meteor_score import meteor_score

from core.errors import InputError
from core.example import Example
from core.metric import ReferenceMetric
from core.scores import Scores
from core.settings import checked_dataclass
from core.signature import Setting
from data.words import are_unspaced, find_words_and_marks

LETTERS = "meteor: in scripts without spaces between words, such as Chinese, letters count as words"
NO_SYNONYMS = SimpleNamespace(synsets=lambda word: ())  # stands in for WordNet where synonyms are not matched


def tokenize(text: str) -> list[str]:
    """Words and single punctuation marks, in lower case; letters of scripts without spaces are words.

    >>> tokenize("It's late, Ann.")
    ['it', "'", 's', 'late', ',', 'ann', '.']
    """
    return find_words_and_marks(text.lower())


def find_wordnet() -> Any:
    """Loads NLTK's WordNet only on demand: NLTK 3.9 reads it as soon as a module that contains it is inspected."""
    from nltk.corpus import wordnet

    return wordnet


@checked_dataclass
class Meteor(ReferenceMetric):
    """The weighted mean of precision and recall, recall counting nine times, times 1 - 0.5 (chunks / matches)^3.

    0 to 1, higher is better. The best of several references counts. A blank text scores 0. In scripts without spaces
    between words letters count as words, which a note says.

    Raises InputError if WordNet is asked for and missing.
    """

    name = "meteor"
    libraries = ("nltk",)
    # whether words are also matched by WordNet, as published
    synonyms: bool = False

    def __post_init__(self) -> None:
        if self.synonyms:
            try:
                find_wordnet().ensure_loaded()
            except LookupError:
                rule = "METEOR with synonyms needs WordNet: run python -m nltk.downloader wordnet"
                raise InputError([rule]) from None

    @property
    def settings(self) -> dict[str, Setting]:
        wordnet = find_wordnet().get_version() if self.synonyms else None
        return super().settings | {"wordnet": wordnet, "words": "any-script"}

    def score_all(self, examples: Sequence[Example]) -> Scores:
        scored = super().score_all(examples)
        has_letters = any(are_unspaced([example.full_text]) for example in examples)
        return replace(scored, notes=(*scored.notes, LETTERS)) if has_letters else scored

    def rate_text(self, text: str, references: list[str]) -> float:
        source: Any = find_wordnet() if self.synonyms else NO_SYNONYMS
        ours, *theirs = map(tokenize, [text, *references])
        return meteor_score(theirs, ours, wordnet=source)
