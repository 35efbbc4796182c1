"""BLEU, chrF and TER of single texts through sacrebleu."""

from functools import cached_property
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from core.metric import ReferenceMetric
from core.settings import Count, Size, checked_dataclass
from data.words import space_letters

MOST, ROUNDING = 100.0, 1e-10  # of sacrebleu's scores


class SacrebleuMetric(ReferenceMetric):
    """The sentence score of a `scorer` of sacrebleu, divided by 100; letters of scripts without spaces are words."""

    libraries = ("sacrebleu",)
    scorer: Any

    def rate_text(self, text: str, references: list[str]) -> float:
        text, *references = space_letters([text, *references])
        score = self.scorer.sentence_score(text, references).score
        is_rounded = MOST < score < MOST + ROUNDING  # BLEU of equal texts is exp of logarithms
        return (MOST if is_rounded else score) / 100


@checked_dataclass
class Bleu(SacrebleuMetric):
    """BLEU (Papineni et al., ACL 2002): the geometric mean of the precisions of 1- to `order`-grams, times the brevity
    penalty; 0 to 1, higher is better.

    With several references, an n-gram counts as often as in the reference that has it most, and the length is compared
    with the reference of the closest length, as BLEU defines it. A blank text scores 0. A text shorter than `order` is
    scored by the orders that it has (effective order). A precision of 0 is halved for each further one. The tokenizer
    is 13a.
    """

    unsigned = ("order",)
    # the longest n-grams; BLEU-1 to BLEU-4
    order: Count = 4

    @property
    def name(self) -> str:
        """`bleu` for order 4, else `bleu1`, `bleu2` ..."""
        return "bleu" if self.order == 4 else f"bleu{self.order}"

    @cached_property
    def scorer(self) -> BLEU:
        return BLEU(max_ngram_order=self.order, effective_order=True)


@checked_dataclass
class ChrF(SacrebleuMetric):
    """chrF and chrF++ (Popović, WMT 2015 and 2017): the F score of shared character n-grams, averaged over 1 to
    6; recall counts four times as much as precision. 0 to 1, higher is better.

    The best of several references counts, as in sacrebleu. A blank text scores 0.
    """

    name = "chrf"
    # the longest n-grams of words: 0 for chrF, 2 for chrF++; scripts without spaces count by letters
    word_order: Size = 0

    @cached_property
    def scorer(self) -> CHRF:
        return CHRF(word_order=self.word_order)


@checked_dataclass
class Ter(SacrebleuMetric):
    """Minus the translation edit rate (Snover et al., AMTA 2006): insertions, deletions, substitutions and shifts per
    word of the reference.

    At most 0, higher is better; sacrebleu's own figure is this times -100. With several references the fewest edits
    count, per word of their mean length. Case does not matter. A blank text scores -1: every word is missing.
    """

    name = "ter"
    blank = -1.0

    @cached_property
    def scorer(self) -> TER:
        return TER()

    def rate_text(self, text: str, references: list[str]) -> float:
        return -super().rate_text(text, references)
