"""BARTScore (Yuan et al., NeurIPS 2021): how probable an encoder-decoder model finds one text given another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from baselines.likelihood import NO_TOKENS
from baselines.perplexity import readable
from core.example import Example
from core.faults import ExampleFaults, SettingFault
from core.scores import Field, Scores
from core.selection import references_of, score_complete
from core.signature import MODEL_LIBRARIES, signature
from language_models.seq2seq import Seq2SeqLM, target_log_probabilities

Direction = Literal["source_to_text", "text_to_text", "reference_to_text", "text_to_reference", "f"]
Source = Literal["context", "prefix"]
Aggregation = Literal["mean", "max"]
Truncation = Literal["error", "warn"]
Texts = tuple[str, str]  # what is read, what is written


@dataclass(frozen=True)
class BartScore:
    """The mean log-probability (nats, at most 0, higher is better) of the target's tokens given the source.

    The target is what the tokenizer makes of a text, the tokens that frame it included, as in the released code.

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

    lm: Seq2SeqLM
    model: str
    direction: Direction = "source_to_text"
    source: Source = "context"
    references: Aggregation = "mean"
    truncation: Truncation = "warn"
    token_budget: int = 16_384

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("direction", self.direction, Direction),
            ("source", self.source, Source),
            ("references", self.references, Aggregation),
            ("truncation", self.truncation, Truncation),
        ):
            if value not in get_args(allowed):
                raise SettingFault(f"{name} must be one of {', '.join(get_args(allowed))}, but is {value!r}")

    @classmethod
    def from_pretrained(
        cls,
        model: str = "facebook/bart-large-cnn",
        direction: Direction = "source_to_text",
        source: Source = "context",
        references: Aggregation = "mean",
        truncation: Truncation = "warn",
        token_budget: int = 16_384,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "BartScore":
        """Loads a hub name or a folder. Raises MissingModel where neither a folder nor a reachable hub has it."""
        lm = Seq2SeqLM.from_pretrained(model, device, dtype)
        return cls(lm, model, direction, source, references, truncation, token_budget)

    @property
    def requires(self) -> tuple[Field, ...]:
        """The fields that the direction reads beside the text."""
        match self.direction:
            case "source_to_text":
                return (self.source,)
            case "text_to_text":
                return ()
            case _:
                return ("references",)

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for a blank text and without what the direction needs.

        Raises ExampleFaults where no example has what is needed, and with `error` for all texts that are too long.
        """
        return score_complete(examples, self.requires, "bartscore", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        pairs = [self._pairs(example) for example in examples]
        values, dropped = self._log_probabilities([pair for several in pairs for pair in several])
        quality = np.full(len(examples), np.nan)
        lost = [0] * len(examples)
        start = 0
        for i, several in enumerate(pairs):
            part = slice(start, start + len(several))
            start += len(several)
            lost[i] = int(dropped[part].sum())
            if several:
                quality[i] = self._aggregated(values[part])
        if self.truncation == "error" and any(lost):
            rule = f"the model reads and writes {readable(self.lm)} tokens at once, but a text has more"
            raise ExampleFaults((i, f"{rule} ({n} too many): set truncation=warn") for i, n in enumerate(lost) if n)
        line = signature(
            "bartscore",
            libraries=MODEL_LIBRARIES,
            model=self.model,
            direction=self.direction,
            source=self.source if self.direction == "source_to_text" else None,
            references=self.references if self.requires == ("references",) else None,
            truncation=self.truncation,
        )
        reasons = [None if several else NO_TOKENS for several in pairs]
        return Scores({"quality": quality}, line, reasons, lost)

    def _pairs(self, example: Example) -> list[Texts]:
        """What is read and written; none for a blank text. With `f`, both directions of a reference stand together."""
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

    def _aggregated(self, values: NDArray[np.float64]) -> float:
        per_reference = values.reshape(-1, 2).mean(axis=1) if self.direction == "f" else values
        return float(per_reference.mean() if self.references == "mean" else per_reference.max())

    def _log_probabilities(self, pairs: Sequence[Texts]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The mean log-probability of every target given its source, and how many tokens of both were cut."""
        if not pairs:
            return np.empty(0), np.empty(0, np.int64)
        longest = readable(self.lm)
        flat = [text.strip() for pair in pairs for text in pair]
        ids = self.lm.tokenizer(flat, split_special_tokens=True, verbose=False)["input_ids"]
        cut = [cut_before_end(list(row), longest) for row in ids]  # pyright: ignore[reportArgumentType]
        dropped = np.array([len(row) for row in ids]) - np.array([len(row) for row in cut])  # pyright: ignore[reportArgumentType]
        if self.truncation == "error" and dropped.any():
            return np.zeros(len(pairs)), dropped.reshape(-1, 2).sum(axis=1)  # refused before the model is asked
        rows = target_log_probabilities(
            self.lm, list(zip(cut[::2], cut[1::2], strict=True)), token_budget=self.token_budget
        )
        means = np.array([row.mean(dtype=np.float64) for row in rows])
        return means, dropped.reshape(-1, 2).sum(axis=1)


def cut_before_end(ids: list[int], longest: int) -> list[int]:
    """At most `longest` ids: the last one, which ends a text, stays.

    >>> cut_before_end([5, 6, 7, 8, 1], longest=3)
    [5, 6, 1]
    """
    return ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]]
