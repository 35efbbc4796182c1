"""METEOR (Lavie and Agarwal, 2007) through NLTK: words are aligned by form, by stem and, with WordNet, by synonym.

NLTK aligns from the end of the texts and, unlike the original, does not look for the alignment with fewest crossings.
"""

from collections.abc import Sequence
from typing import Any

from nltk.corpus import wordnet
from nltk.translate.meteor_score import meteor_score

from core.example import Example
from core.faults import InputFaults
from core.scores import Scores, fields
from core.selection import score_against_references
from core.settings import checked_dataclass
from core.signature import signature
from data.words import RUNS_AND_MARKS, Tokens, space_words


class NoSynonyms:
    """Stands in for WordNet where synonyms are not matched."""

    def synsets(self, word: str) -> list[Any]:
        return []


def tokenize(text: str) -> list[str]:
    """Words and single punctuation marks, in lower case.

    >>> tokenize("It's late, Ann.")
    ['it', "'", 's', 'late', ',', 'ann', '.']
    """
    return RUNS_AND_MARKS.findall(text.lower())


def has_wordnet() -> bool:
    """Whether NLTK finds WordNet on this machine."""
    try:
        wordnet.ensure_loaded()
    except LookupError:
        return False
    return True


@checked_dataclass
class Meteor:
    """The weighted mean of precision and recall, recall counting nine times, times 1 - 0.5 (chunks / matches)^3.

    0 to 1, higher is better. The best of several references counts. A blank text scores 0.

    Attributes:
        synonyms: whether words are also matched by WordNet, as published; None: where this machine has it. The
            signature says which.
        tokens: how scripts without blanks are split (`data.words.Tokens`).

    Raises InputFaults where WordNet is asked for and missing.
    """

    requires = fields("references")
    synonyms: bool | None = None
    tokens: Tokens = "auto"

    def __post_init__(self) -> None:
        if self.synonyms and not has_wordnet():
            rule = "METEOR with synonyms needs WordNet"
            raise InputFaults([f"{rule}: run python -m nltk.downloader wordnet, or set synonyms=false"])

    @property
    def signature(self) -> str:
        """One line: the metric, its settings and versions."""
        version = wordnet.get_version() if self._has_synonyms else None
        return signature(
            "meteor", libraries=("nltk",), synonyms=self._has_synonyms, tokens=self.tokens, wordnet=version
        )

    @property
    def _has_synonyms(self) -> bool:
        return has_wordnet() if self.synonyms is None else self.synonyms

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN without references. Raises ExampleFaults where no example has any."""
        source: Any = wordnet if self._has_synonyms else NoSynonyms()

        def rate(text: str, references: list[str]) -> float:
            ours, *theirs = map(tokenize, space_words([text, *references], self.tokens))
            return meteor_score(theirs, ours, wordnet=source)

        return score_against_references(examples, "meteor", self.signature, rate)
