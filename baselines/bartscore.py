"""BARTScore (Yuan et al., NeurIPS 2021): how probable an encoder-decoder model finds a text given its source."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from baselines.pairs import ModelMetric, PairMetric, Values
from core.example import Example
from core.scores import fields_by_settings
from core.settings import checked_dataclass
from models.seq2seq import Seq2SeqLM
from models.windows import CutTruncation, cut_end

Texts = tuple[str, str]  # the source and the target


@checked_dataclass
class BartScore(PairMetric, ModelMetric):
    """The mean log-probability (nats, at most 0, higher is better) of the text's tokens given its source.

    The text's tokens include those that frame it, as in the released code. The paper's model is BART tuned to
    summarise (`facebook/bart-large-cnn`).
    """

    name = "bartscore"
    requires = fields_by_settings(lambda source="context": (source,))
    loader = Seq2SeqLM
    # the field that is the source
    source: Literal["context", "prefix"] = "context"
    # a text that is too long is cut at its end (`warn`) or refused (`error`)
    truncation: CutTruncation = "warn"

    @property
    def too_long(self) -> str:
        return f"the model reads and writes {self.lm.max_length} tokens at once, but a text has more"

    def list_pairs(self, example: Example) -> list[Texts]:
        text = example.full_text.strip()
        kept = self.lm.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return [(getattr(example, self.source), text)] if kept else []

    def rate_pairs(self, pairs: Sequence[Texts]) -> tuple[Values, list[int]]:
        """The mean log-probability of each target given its source, and how many tokens of each pair were cut."""
        texts = [text.strip() for pair in pairs for text in pair]
        ids: list[list[int]] = self.lm.tokenizer(texts, split_special_tokens=True, verbose=False)["input_ids"]  # pyright: ignore[reportAssignmentType]
        kept = [cut_end(row, self.lm.max_length, closing=1) for row in ids]
        cut, lost = zip(*kept, strict=True)
        rows = self.lm.log_probabilities(list(zip(cut[::2], cut[1::2], strict=True)), token_budget=self.token_budget)
        return np.array([row.mean(dtype=np.float64) for row in rows]), np.add(lost[::2], lost[1::2]).tolist()
