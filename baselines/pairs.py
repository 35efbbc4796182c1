"""Metrics of models: scores of examples from values of tokens and pairs. All pairs are scored together."""

from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.metric import BaseMetric
from core.scores import NO_TOKENS, Scores
from core.settings import Count, checked_dataclass
from core.signature import MODEL_LIBRARIES, Setting
from models.windows import refuse_cut

Pair = TypeVar("Pair")
Values = NDArray[np.float64]


@checked_dataclass
class ModelMetric(BaseMetric):
    """A metric of one model, which the class in `loader` loads."""

    composes = True
    libraries = MODEL_LIBRARIES
    loader: ClassVar[Any]
    lm: Any
    # the model's name, for the signature
    model: str
    # padded tokens in a batch
    token_budget: Count = field(default=16_384, kw_only=True)

    @classmethod
    def from_pretrained(
        cls,
        model: str,
        device: str = "cpu",
        dtype: str = "float32",
        **settings: Any,
    ) -> Self:
        """Loads a hub name or a folder; `settings` are the other fields.

        Raises errors as `LanguageModel.from_pretrained` does.
        """
        return cls(cls.loader.from_pretrained(model, device, dtype), model, **settings)

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | {"identity": self.lm.identity}

    @property
    def notes(self) -> tuple[str, ...]:
        return self.lm.notes


class PairMetric(BaseMetric):
    """A metric of pairs, such as (reference, text). Its score is the mean of the values of an example's pairs."""

    truncation: Any = "warn"
    too_long: Any = ""  # the rule that a text which the model cannot read whole breaks

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes the aspect `quality`; NaN for a blank text."""
        values, dropped = score_pairs(examples, self.list_pairs, self.rate_pairs)
        refuse_cut(self.truncation, self.too_long, dropped)
        return to_quality(values, self.signature, dropped, self.notes)

    def list_pairs(self, example: Example) -> Sequence[Any]:
        """Lists the pairs of an example; empty for a blank text."""
        raise NotImplementedError

    def rate_pairs(self, pairs: list[Any]) -> tuple[Values, Sequence[int]]:
        """Returns the value of each pair, and how many of its tokens were cut."""
        raise NotImplementedError


def score_pairs(
    examples: Sequence[Example],
    pairs_of: Callable[[Example], Sequence[Pair]],
    score: Callable[[list[Pair]], tuple[Values, Sequence[int]]],
) -> tuple[list[Values], list[int]]:
    """Scores the pairs of all examples together; returns the values of each example's pairs and its cut tokens."""
    pairs = [pairs_of(example) for example in examples]
    flat = [pair for several in pairs for pair in several]
    scored: Values = np.empty(0)
    lost: Sequence[int] = []
    if flat:
        scored, lost = score(flat)
    ends = np.cumsum([0, *map(len, pairs)])
    values: list[Values] = []
    dropped: list[int] = []
    for start, stop in pairwise(ends.tolist()):
        values.append(scored[start:stop])
        dropped.append(int(sum(lost[start:stop])))
    return values, dropped


def to_quality(
    values: Sequence[NDArray[np.floating]],
    signature: str,
    dropped: Sequence[int],
    notes: tuple[str, ...] = (),
) -> Scores:
    """Makes the aspect `quality`: the mean of each example's values; NaN for an example without values."""
    quality = np.full(len(values), np.nan)
    reasons: list[str | None] = [NO_TOKENS] * len(values)
    for place, of_example in enumerate(values):
        if len(of_example):
            quality[place] = of_example.astype(np.float64).mean()
            reasons[place] = None
    return Scores({"quality": quality}, signature, reasons, dropped, notes=notes)
