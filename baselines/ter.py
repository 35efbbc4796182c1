"""Translation edit rate of a single text (Snover et al., AMTA 2006) through sacrebleu."""

from collections.abc import Sequence
from functools import cached_property

from sacrebleu.metrics.ter import TER

from core.example import Example
from core.scores import Scores, fields
from core.selection import score_against_references
from core.settings import checked_dataclass
from core.signature import signature
from data.words import Tokens, space_words


@checked_dataclass
class Ter:
    """Minus the edits (insertion, deletion, substitution, shift of words) per word of the reference.

    At most 0, higher is better; sacrebleu's own figure is this times -100. With several references the fewest edits
    count, per word of their mean length. A blank text scores -1: every word is missing.

    Attributes:
        normalized: whether punctuation is split from words.
        no_punct: whether punctuation is removed.
        case_sensitive: whether case counts.
        tokens: how scripts without blanks are split (`data.words.Tokens`).
    """

    requires = fields("references")
    normalized: bool = False
    no_punct: bool = False
    case_sensitive: bool = False
    tokens: Tokens = "auto"

    @cached_property
    def _scorer(self) -> TER:
        return TER(self.normalized, self.no_punct, asian_support=self.no_punct, case_sensitive=self.case_sensitive)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings and versions."""
        return signature(
            "ter",
            libraries=("sacrebleu",),
            normalized=self.normalized,
            no_punct=self.no_punct,
            case_sensitive=self.case_sensitive,
            tokens=self.tokens,
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN without references. Raises ExampleFaults where no example has any."""

        def rate(text: str, references: list[str]) -> float:
            text, *references = space_words([text, *references], self.tokens)
            return -self._scorer.sentence_score(text, references).score / 100

        return score_against_references(examples, "ter", self.signature, rate, blank=-1.0)
