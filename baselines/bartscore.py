"""BARTScore (Yuan et al., NeurIPS 2021): how probable an encoder-decoder model finds one text given another."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from baselines.pairs import ModelMetric, PairMetric, Values
from core.example import Example
from core.scores import Field, fields_by_settings
from core.selection import references_of
from core.settings import checked_dataclass
from core.signature import Setting
from models.seq2seq import Seq2SeqLM
from models.windows import CutTruncation, cut_end

Direction = Literal["source_to_text", "reference_to_text", "text_to_reference", "f"]
Source = Literal["context", "prefix"]
Texts = tuple[str, str]  # the source and the target


def list_read_fields(direction: Direction = "source_to_text", source: Source = "context") -> tuple[Field, ...]:
    """The fields that the direction reads besides the text."""
    return (source,) if direction == "source_to_text" else ("references",)


@checked_dataclass
class BartScore(PairMetric, ModelMetric):
    """The mean log-probability (nats, at most 0, higher is better) of the target's tokens given the source.

    The target's tokens include those that frame it, as in the released code. The paper's model is BART tuned to
    summarise (`facebook/bart-large-cnn`).
    """

    name = "bartscore"
    requires = fields_by_settings(list_read_fields)
    loader = Seq2SeqLM
    # `source_to_text` (faithfulness), `reference_to_text` (precision), `text_to_reference` (recall), or `f`, the mean
    # of precision and recall; several references are averaged, as in the released code
    direction: Direction = "source_to_text"
    # the field that is the source
    source: Source = "context"
    # a text that is too long is cut at its end (`warn`) or refused (`error`)
    truncation: CutTruncation = "warn"

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | ({} if self.direction == "source_to_text" else {"source": None})

    @property
    def too_long(self) -> str:
        return f"the model reads and writes {self.lm.max_length} tokens at once, but a text has more"

    def list_pairs(self, example: Example) -> list[Texts]:
        """Sources and targets. With `f`, the two directions of a reference are neighbours."""
        text = example.full_text.strip()
        if not text:
            return []
        match self.direction:
            case "source_to_text":
                return [(getattr(example, self.source), text)]
            case "reference_to_text":
                return [(reference, text) for reference in references_of(example)]
            case "text_to_reference":
                return [(text, reference) for reference in references_of(example)]
            case "f":
                return [pair for r in references_of(example) for pair in ((r, text), (text, r))]

    def rate_pairs(self, pairs: Sequence[Texts]) -> tuple[Values, list[int]]:
        """The mean log-probability of each target given its source, and how many tokens of each pair were cut."""
        texts = [text.strip() for pair in pairs for text in pair]
        ids: list[list[int]] = self.lm.tokenizer(texts, split_special_tokens=True, verbose=False)["input_ids"]  # pyright: ignore[reportAssignmentType]
        kept = [cut_end(row, self.lm.max_length, closing=1) for row in ids]
        both = list(zip(kept[::2], kept[1::2], strict=True))
        rows = self.lm.log_probabilities(
            [(source, target) for (source, _), (target, _) in both], token_budget=self.token_budget
        )
        return np.array([row.mean(dtype=np.float64) for row in rows]), [lost + more for (_, lost), (_, more) in both]
