"""BARTScore (Yuan et al., NeurIPS 2021): how probable an encoder-decoder model finds one text given another."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from baselines.pairs import score_pairs, to_quality
from core.example import Example
from core.scores import Field, Scores, fields_by_settings
from core.selection import references_of, score_complete
from core.settings import Count, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from models.seq2seq import Seq2SeqLM
from models.windows import CutTruncation, cut_end, refuse_cut

Direction = Literal["source_to_text", "text_to_text", "reference_to_text", "text_to_reference", "f"]
Source = Literal["context", "prefix"]
Aggregation = Literal["mean", "max"]
Texts = tuple[str, str]  # the source and the target


def list_read_fields(direction: Direction = "source_to_text", source: Source = "context") -> tuple[Field, ...]:
    """The fields that the direction reads besides the text."""
    match direction:
        case "source_to_text":
            return (source,)
        case "text_to_text":
            return ()
        case _:
            return ("references",)


@checked_dataclass
class BartScore:
    """The mean log-probability (nats, at most 0, higher is better) of the target's tokens given the source.

    The target's tokens include those that frame it, as in the released code.

    Attributes:
        lm: any encoder-decoder model; the paper's is BART tuned to summarise (`facebook/bart-large-cnn`).
        model: its name, for the signature.
        direction: `source_to_text` (faithfulness), `text_to_text` (the text given itself), `reference_to_text`
            (precision), `text_to_reference` (recall), or `f`, the mean of precision and recall.
        source: the field that is the source.
        references: several are averaged (`mean`, as in the released code), or the best counts (`max`).
        truncation: a text that is too long is cut at its end (`warn`) or refused (`error`).
        token_budget: padded tokens in a batch.
    """

    requires = fields_by_settings(list_read_fields)
    lm: Seq2SeqLM
    model: str
    direction: Direction = "source_to_text"
    source: Source = "context"
    references: Aggregation = "mean"
    truncation: CutTruncation = "warn"
    token_budget: Count = 16_384

    @classmethod
    def from_pretrained(
        cls, model: str = "facebook/bart-large-cnn", device: str = "cpu", dtype: str = "float32", **settings: Any
    ) -> "BartScore":
        """Loads a hub name or a folder; `settings` are the attributes.

        Raises MissingModel where neither a folder nor a reachable hub has it.
        """
        return cls(Seq2SeqLM.from_pretrained(model, device, dtype), model, **settings)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings, model and versions."""
        return signature(
            "bartscore",
            libraries=MODEL_LIBRARIES,
            model=self.model,
            identity=self.lm.identity,
            direction=self.direction,
            source=self.source if self.direction == "source_to_text" else None,
            references=self.references if self.requires == ("references",) else None,
            truncation=self.truncation,
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for a blank text, and where a field that the direction reads is missing.

        Raises ExampleFaults where no example has these fields, and with `error` for all texts that are too long.
        """
        return score_complete(examples, self.requires, "bartscore", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        values, dropped = score_pairs(examples, self._pairs, self._score_pairs)
        rule = f"the model reads and writes {self.lm.max_length} tokens at once, but a text has more"
        refuse_cut(self.truncation, rule, dropped)
        return to_quality(values, self._aggregate, self.signature, dropped, self.lm.notes)

    def _pairs(self, example: Example) -> list[Texts]:
        """Sources and targets; none for a blank text. With `f`, the two directions of a reference are neighbours."""
        text = example.full_text.strip()
        if not text:
            return []
        match self.direction:
            case "source_to_text":
                return [(getattr(example, self.source), text)]
            case "text_to_text":
                return [(text, text)]
            case "reference_to_text":
                return [(reference, text) for reference in references_of(example)]
            case "text_to_reference":
                return [(text, reference) for reference in references_of(example)]
            case "f":
                return [pair for r in references_of(example) for pair in ((r, text), (text, r))]

    def _aggregate(self, values: NDArray[np.float64]) -> float:
        """One score from the values of all pairs."""
        per_reference = values.reshape(-1, 2).mean(axis=1) if self.direction == "f" else values
        return per_reference.mean() if self.references == "mean" else per_reference.max()

    def _score_pairs(self, pairs: Sequence[Texts]) -> tuple[NDArray[np.float64], list[int]]:
        """The mean log-probability of each target given its source, and how many tokens of each pair were cut."""
        texts = [text.strip() for pair in pairs for text in pair]
        ids: list[list[int]] = self.lm.tokenizer(texts, split_special_tokens=True, verbose=False)["input_ids"]  # pyright: ignore[reportAssignmentType]
        kept = [cut_end(row, self.lm.max_length, closing=1) for row in ids]
        both = list(zip(kept[::2], kept[1::2], strict=True))
        rows = self.lm.log_probabilities(
            [(source, target) for (source, _), (target, _) in both], token_budget=self.token_budget
        )
        return np.array([row.mean(dtype=np.float64) for row in rows]), [lost + more for (_, lost), (_, more) in both]
