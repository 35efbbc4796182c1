"""BARTScore (Yuan et al., NeurIPS 2021): how probable a model finds a text given its source."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from baselines.pairs import ModelMetric, PairMetric, Values
from core.example import Example
from core.scores import fields_by_settings
from core.settings import checked_dataclass
from models.conditional import ConditionalLoader
from models.families import LEFT_TO_RIGHT
from models.infilling import encode_infills
from models.windows import CutTruncation, cut_end

Texts = tuple[str, str]  # the source and the target
Tokens = tuple[Sequence[int], Sequence[int]]


@checked_dataclass
class BartScore(PairMetric, ModelMetric):
    """The mean log-probability (nats, at most 0, higher is better) of the text's tokens given its source.

    The special tokens around a text count as its tokens, as in the released code. The paper's model is BART tuned to
    summarise (`facebook/bart-large-cnn`). A causal model continues the source, and its text has no frame.
    """

    name = "bartscore"
    requires = fields_by_settings(lambda source="context": (source,))
    loader = ConditionalLoader
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
        encode = self._encode_framed if self.lm.model.config.is_encoder_decoder else self._encode_continuations
        read, lost = encode(pairs)
        rows = self.lm.log_probabilities(read, token_budget=self.token_budget)
        means = [row.mean(dtype=np.float64) for row in rows]
        return np.array(means), lost

    def _encode_framed(self, pairs: Sequence[Texts]) -> tuple[list[Tokens], list[int]]:
        """The source and the target of each pair, each in its frame, and how many tokens were cut."""
        read: list[Tokens] = []
        lost: list[int] = []
        tokenize: Any = self.lm.tokenizer
        for pair in pairs:
            texts = [text.strip() for text in pair]
            ids = tokenize(texts, split_special_tokens=True, verbose=False)["input_ids"]
            source, target = [cut_end(row, self.lm.max_length, closing=1) for row in ids]
            read.append((source[0], target[0]))
            lost.append(source[1] + target[1])
        return read, lost

    def _encode_continuations(self, pairs: Sequence[Texts]) -> tuple[list[Tokens], list[int]]:
        """As above, for a model that continues the source."""
        gaps = [(f"{source.strip()} ".lstrip(), text.strip(), "") for source, text in pairs]
        infills = encode_infills(self.lm.tokenizer, LEFT_TO_RIGHT, gaps)
        cut = [infill.cut(self.lm.max_length, around=False) for infill in infills]
        read: list[Tokens] = [(infill.source, infill.target) for infill, _ in cut]
        return read, [lost for _, lost in cut]
