"""BARTScore (Yuan et al., NeurIPS 2021): how probable a model finds a text given its source."""

from collections.abc import Sequence
from typing import Literal

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
        if not self.lm.model.config.is_encoder_decoder:
            return self._rate_continuations(pairs)
        texts = [text.strip() for pair in pairs for text in pair]
        ids: list[list[int]] = self.lm.tokenizer(texts, split_special_tokens=True, verbose=False)["input_ids"]  # pyright: ignore[reportAssignmentType]
        cut = [cut_end(row, self.lm.max_length, closing=1) for row in ids]
        sources = cut[::2]
        targets = cut[1::2]
        read: list[tuple[list[int], list[int]]] = []
        lost: list[int] = []
        for (source, of_source), (target, of_target) in zip(sources, targets, strict=True):
            read.append((source, target))
            lost.append(of_source + of_target)
        return self._average(read), lost

    def _rate_continuations(self, pairs: Sequence[Texts]) -> tuple[Values, list[int]]:
        gaps = [(f"{source.strip()} ".lstrip(), text.strip(), "") for source, text in pairs]
        infills = encode_infills(self.lm.tokenizer, LEFT_TO_RIGHT, gaps)
        cut = [infill.cut(self.lm.max_length, around=False) for infill in infills]
        read = [(infill.source, infill.target) for infill, _ in cut]
        return self._average(read), [lost for _, lost in cut]

    def _average(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Values:
        """The mean log-probability of the tokens of each target given its source."""
        rows = self.lm.log_probabilities(pairs, token_budget=self.token_budget)
        return np.array([row.mean(dtype=np.float64) for row in rows])
