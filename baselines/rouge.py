"""ROUGE (Lin, 2004) through rouge-score."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer, Tokenizer

from core.example import Example
from core.scores import Scores, fields
from core.selection import score_against_references
from core.settings import checked_dataclass
from core.signature import signature
from data.words import ROUGE_UNICODE

Kind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]
Tokens = Literal["ascii", "unicode"]
NAMES: dict[Kind, str] = {"rouge1": "rouge_1", "rouge2": "rouge_2", "rougeL": "rouge_l", "rougeLsum": "rouge_lsum"}


class UnicodeTokenizer(Tokenizer):
    """Words of any script in lower case; Chinese characters and kana one by one."""

    def tokenize(self, text: str) -> list[str]:
        """
        >>> UnicodeTokenizer().tokenize("Où est 明月?")
        ['où', 'est', '明', '月']
        """
        return ROUGE_UNICODE.findall(text.lower())


@checked_dataclass
class Rouge:
    """The F1 of shared n-grams or of the longest common subsequence; 0 to 1, higher is better.

    The best of several references counts, as in rouge-score. A blank text scores 0.

    Attributes:
        kind: rouge1, rouge2, rougeL, or rougeLsum (line by line).
        stemmer: words are compared by their Porter stems (with `ascii`).
        tokens: `ascii`, the tokenizer of rouge-score, which sees only a-z and 0-9; `unicode` for other scripts.
    """

    requires = fields("references")
    kind: Kind = "rougeL"
    stemmer: bool = True
    tokens: Tokens = "ascii"

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return DefaultTokenizer(self.stemmer) if self.tokens == "ascii" else UnicodeTokenizer()

    @cached_property
    def _scorer(self) -> RougeScorer:
        return RougeScorer([self.kind], tokenizer=self._tokenizer)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings and versions."""
        return signature(
            self.name, libraries=("rouge-score",), stemmer=self.stemmer and self.tokens == "ascii", tokens=self.tokens
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN without references, and where the tokenizer sees no words.

        Raises ExampleFaults where no example has references.
        """
        return score_against_references(examples, self.name, self.signature, self._rate)

    def _rate(self, text: str, references: list[str]) -> float | str:
        for what, said in (("the text", text), *(("a reference", reference) for reference in references)):
            if not self._tokenizer.tokenize(said):
                return f"{self.name} sees no words in {what} with tokens={self.tokens}"
        return self._scorer.score_multi(references, text)[self.kind].fmeasure
