"""BLEU of a single text (Papineni et al., ACL 2002) through sacrebleu."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from sacrebleu.metrics.bleu import BLEU

from core.example import Example
from core.scores import Scores, fields
from core.selection import score_against_references
from core.settings import Count, checked_dataclass
from core.signature import signature
from data.words import Tokens, space_words

Smoothing = Literal["exp", "floor", "add-k", "none"]


@checked_dataclass
class Bleu:
    """The geometric mean of the precisions of 1- to `order`-grams, times the brevity penalty; 0 to 1, higher is better.

    With several references, an n-gram counts as often as in the reference that has it most, and the length is compared
    with the reference of the closest length, as BLEU defines it. A blank text scores 0.

    Attributes:
        order: the longest n-grams; BLEU-1 to BLEU-4.
        smoothing: sacrebleu's methods for precisions of 0; `exp` halves for each further order without a match. A text
            shorter than `order` is judged by the orders that it has (effective order).
        tokenizer: a tokenizer of sacrebleu: 13a, intl, char, zh ...
        tokens: how 13a and intl split scripts without blanks (`data.words.Tokens`).
        lowercase: whether case is ignored.
    """

    requires = fields("references")
    order: Count = 4
    smoothing: Smoothing = "exp"
    tokenizer: str = "13a"
    tokens: Tokens = "auto"
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.tokenizer not in BLEU.TOKENIZERS:
            raise ValueError(f"tokenizer must be one of {', '.join(BLEU.TOKENIZERS)}, but is {self.tokenizer!r}")

    @property
    def name(self) -> str:
        """`bleu` for order 4, else `bleu1`, `bleu2` ..."""
        return "bleu" if self.order == 4 else f"bleu{self.order}"

    @cached_property
    def _scorer(self) -> BLEU:
        return BLEU(
            lowercase=self.lowercase,
            tokenize=self.tokenizer,
            smooth_method=self.smoothing,
            max_ngram_order=self.order,
            effective_order=True,
        )

    @property
    def signature(self) -> str:
        """One line: the metric, its settings and versions."""
        return signature(
            self.name,
            libraries=("sacrebleu",),
            smoothing=self.smoothing,
            tokenizer=self.tokenizer,
            tokens=self._tokens,
            lowercase=self.lowercase,
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN without references. Raises ExampleFaults where no example has any."""

        def rate(text: str, references: list[str]) -> float:
            text, *references = space_words([text, *references], self._tokens)
            return self._scorer.sentence_score(text, references).score / 100

        return score_against_references(examples, self.name, self.signature, rate)

    @property
    def _tokens(self) -> Tokens:
        return self.tokens if self.tokenizer in ("13a", "intl") else "library"
