"""Selection: finds the examples that have the fields a metric requires. The others are NaN with a reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.example import Example, hint_column
from core.faults import SHOWN_CHARACTERS, ExampleFaults
from core.scores import Field, Scores


@dataclass(frozen=True)
class Selection:
    """The indices of the examples that can be scored, and the reason for every other example."""

    indices: list[int]
    reasons: list[str | None]

    def scatter(self, scores: Scores) -> Scores:
        """Extends scores of the selected examples to all examples; the others get NaN with the reason."""
        n = len(self.reasons)
        reasons, dropped = list(self.reasons), [0] * n
        for i, reason, lost in zip(self.indices, scores.reasons, scores.dropped_tokens, strict=True):
            reasons[i], dropped[i] = reason, lost
        values = {aspect: np.full(n, np.nan) for aspect in scores.values}
        for aspect, found in scores.values.items():
            values[aspect][self.indices] = found
        explanations = [{} for _ in range(n)] if scores.explanations else []
        for i, explanation in zip(self.indices, scores.explanations, strict=False):
            explanations[i] = dict(explanation)
        return Scores(values, scores.signature, reasons, dropped, explanations, scores.notes)


def has_field(example: Example, field: Field) -> bool:
    """Whether the example has the field. A blank text or reference does not count, nor does a single turn."""
    if field == "turns":
        return len(example.turns) >= 2
    if field == "references":
        return bool(references_of(example))
    return bool((getattr(example, field) or "").strip())


def describe_missing_fields(example: Example, requires: Sequence[Field], metric: str) -> str | None:
    """A sentence about the required fields that the example lacks, or None."""
    names = {"turns": "two or more turns"}
    missing = [names.get(field, field) for field in requires if not has_field(example, field)]
    return f"{metric} needs {' and '.join(missing)}, found none" if missing else None


def hint_field(example: Example, requires: Sequence[Field]) -> str:
    """How to name the column of the first required field that the example lacks, as the end of a message."""
    return hint_column(next(field for field in requires if not has_field(example, field)), example)


def select_complete(examples: Sequence[Example], requires: Sequence[Field], metric: str) -> Selection:
    """Selects the examples that have all fields that the metric requires.

    Raises ExampleFaults if there are examples but none has these fields: then the file or the metric is wrong.
    TypeError for what is not a sequence of Examples, such as a text.
    """
    if isinstance(examples, str | Example) or not all(isinstance(example, Example) for example in examples):
        found = repr(examples)[:SHOWN_CHARACTERS]
        raise TypeError(f'{metric} scores a list of examples, as in [Example("1", "a text")], but got {found}')
    reasons = [describe_missing_fields(example, requires, metric) for example in examples]
    if examples and all(reasons):
        raise ExampleFaults((i, f"{reason}{hint_field(examples[i], requires)}") for i, reason in enumerate(reasons))
    return Selection([i for i, reason in enumerate(reasons) if reason is None], reasons)


def score_complete(
    examples: Sequence[Example], requires: Sequence[Field], metric: str, score: Callable[[list[Example]], Scores]
) -> Scores:
    """Scores the examples that have the required fields; the others are NaN with a reason.

    Raises ExampleFaults as `select_complete` does, and those of `score`, with the indices of `examples`.
    """
    selection = select_complete(examples, requires, metric)
    try:
        return selection.scatter(score([examples[i] for i in selection.indices]))
    except ExampleFaults as faults:
        raise ExampleFaults((selection.indices[i], what) for i, what in faults.at) from None


def references_of(example: Example) -> list[str]:
    """The references that are not blank."""
    return [reference for reference in example.references if reference.strip()]
