"""BaseMetric: what all metrics share. A metric adds its settings, as fields of a dataclass, and how it scores."""

import unicodedata
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal

import numpy as np

from core.example import Example
from core.scores import Scores, require
from core.selection import references_of, score_complete
from core.signature import Setting, signature

FORM: Literal["NFC"] = "NFC"  # of Unicode


class BaseMetric:
    """The base of metrics: a subclass defines `rate` for one example, or `score_all` for many at once.

    The fields of its dataclass are its settings. Plain values are in the signature, except those in `unsigned`, which
    change no score. A metric with models adds their identities to `settings`.
    """

    name: Any  # in the signature and in messages
    requires: Any = require()  # the fields of an example that it reads besides the text
    libraries: ClassVar[tuple[str, ...]] = ()  # those whose versions the signature has
    unsigned: ClassVar[tuple[str, ...]] = ("token_budget", "batch_size")
    composes: ClassVar[bool] = False  # whether letters and accents are read composed (NFC), which the signature says
    scores_empty: ClassVar[bool] = False  # whether an empty answer has a score, mostly 0; else it has none
    notes: Any = ()  # sentences about all scores, such as that a model is not the usual one

    @property
    def settings(self) -> dict[str, Setting]:
        """The settings that change a score, by name."""
        signed: dict[str, Setting] = {}
        for field in fields(self):  # pyright: ignore[reportArgumentType]
            value = getattr(self, field.name)
            is_plain = value is None or isinstance(value, str | int | float)
            if is_plain and field.name not in self.unsigned:
                signed[field.name] = value
        if self.composes:
            signed["unicode"] = FORM
        return signed

    @property
    def signature(self) -> str:
        """The name, the settings and the versions in one line; see `core.signature`."""
        return signature(self.name, libraries=self.libraries, **self.settings)

    def score(self, examples: Sequence[Example]) -> Scores:
        """Scores the examples; an example without a required field gets NaN and a reason.

        Raises ExampleError if no example has the required fields. With `truncation=error`, also raises it for texts
        that a model cannot read whole.
        """
        score = self._score_composed if self.composes else self.score_all
        return score_complete(examples, self.requires, self.name, score, self.scores_empty)

    def _score_composed(self, examples: Sequence[Example]) -> Scores:
        return self.score_all([compose_example(example) for example in examples])

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Scores examples that all have the required fields.

        By default, calls `rate` for each example, as the aspect `quality`.
        """
        values = np.full(len(examples), np.nan)
        reasons: list[str | None] = [None] * len(examples)
        for i, example in enumerate(examples):
            rating = self.rate(example)
            if isinstance(rating, str):
                reasons[i] = rating
            else:
                values[i] = rating
        return Scores({"quality": values}, self.signature, reasons, notes=self.notes)

    def rate(self, example: Example) -> float | str:
        """Returns the score of an example (higher is better), or the reason why it has none."""
        raise NotImplementedError


def compose(text: str) -> str:
    """Returns the text in Unicode's composed form (NFC), which most files use."""
    return unicodedata.normalize(FORM, text)


def compose_example(example: Example) -> Example:
    """Returns the example with all its texts in composed form (NFC); the same object if nothing changes."""
    texts = [
        example.text,
        *example.turns,
        *example.references,
        example.context,
        example.prefix,
        example.label,
    ]
    if all(unicodedata.is_normalized(FORM, text) for text in filter(None, texts)):
        return example
    named = {name: getattr(example, name) for name in ("text", "context", "prefix", "label")}
    return replace(
        example,
        **{name: None if text is None else compose(text) for name, text in named.items()},
        turns=tuple(map(compose, example.turns)),
        references=tuple(map(compose, example.references)),
    )


class ReferenceMetric(BaseMetric):
    """A metric that compares each text with its references; a subclass defines `rate_text`."""

    requires = require("references")
    composes = True
    scores_empty = True
    blank: ClassVar[float] = 0.0  # the score of a blank text

    def rate(self, example: Example) -> float | str:
        text = example.full_text
        if not text.strip():
            return self.blank
        return self.rate_text(text, list(references_of(example)))

    def rate_text(self, text: str, references: list[str]) -> float | str:
        """Returns the score of a text that is not blank, or the reason why it has none."""
        raise NotImplementedError
