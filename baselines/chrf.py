"""chrF and chrF++ of a single text (Popović, WMT 2015 and 2017) through sacrebleu."""

from collections.abc import Sequence
from functools import cached_property

from sacrebleu.metrics.chrf import CHRF

from core.example import Example
from core.scores import Scores, fields
from core.selection import score_against_references
from core.settings import Count, Size, checked_dataclass
from core.signature import signature
from data.words import space_words


@checked_dataclass
class ChrF:
    """The F score of shared character n-grams, averaged over 1 to `char_order`; 0 to 1, higher is better.

    The best of several references counts, as in sacrebleu. A blank text scores 0.

    Attributes:
        char_order: the longest n-grams of characters.
        word_order: the longest n-grams of words: 0 for chrF, 2 for chrF++. Scripts without blanks count by letters.
        beta: recall counts beta squared times as much as precision.
        lowercase: whether case is ignored.
    """

    requires = fields("references")
    char_order: Count = 6
    word_order: Size = 0
    beta: Count = 2
    lowercase: bool = False

    @cached_property
    def _scorer(self) -> CHRF:
        return CHRF(self.char_order, self.word_order, self.beta, self.lowercase)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings and versions."""
        orders = {"char_order": self.char_order, "word_order": self.word_order}
        return signature("chrf", libraries=("sacrebleu",), beta=self.beta, lowercase=self.lowercase, **orders)

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN without references. Raises ExampleFaults where no example has any."""

        def rate(text: str, references: list[str]) -> float:
            text, *references = space_words([text, *references], "auto" if self.word_order else "library")
            return self._scorer.sentence_score(text, references).score / 100

        return score_against_references(examples, "chrf", self.signature, rate)
