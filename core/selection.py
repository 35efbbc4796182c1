"""Which examples a metric can judge: those that have what it needs. The others are NaN with a reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.example import Example
from core.faults import ExampleFaults
from core.scores import Scores

Need = Literal["references", "context", "prefix", "label"]


@dataclass(frozen=True)
class Selection:
    """The examples that can be judged, by their indices, and for every example why it cannot be."""

    indices: list[int]
    reasons: list[str | None]

    def spread(self, scores: Scores) -> Scores:
        """Scores of the selected examples as scores of all: NaN with the reason where one is left out."""
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
        return Scores(values, scores.signature, reasons, dropped, explanations)


def having(examples: Sequence[Example], needs: Sequence[Need], metric: str) -> Selection:
    """The examples that have all that the metric needs.

    Raises ExampleFaults where there are examples and none of them has it: then the wrong data or metric was asked for.
    """
    lacking = [[need for need in needs if not said(example, need)] for example in examples]
    reasons = [f"{metric} needs {' and '.join(missing)}, found none" if missing else None for missing in lacking]
    if examples and all(reasons):
        raise ExampleFaults((i, f"{reason} for {examples[i].id!r}") for i, reason in enumerate(reasons))
    return Selection([i for i, missing in enumerate(lacking) if not missing], reasons)


def said(example: Example, need: Need) -> str | tuple[str, ...]:
    """What the example has of it, blank strings left out; empty where it has nothing."""
    if need == "references":
        return tuple(reference for reference in example.references if reference.strip())
    value = getattr(example, need)
    return value if value is not None and value.strip() else ""


def references_of(example: Example) -> list[str]:
    """The references that are not blank."""
    return [reference for reference in example.references if reference.strip()]


def rated_by_references(
    examples: Sequence[Example], metric: str, signature: str, rate: Callable[[str, list[str]], float | str]
) -> Scores:
    """The aspect `quality` of a metric that compares each text with its references.

    `rate` is given a text that is not blank and its references; it returns a score, or a reason why there is none. A
    blank text shares nothing with its references and is scored 0. Raises ExampleFaults as `having` does.
    """
    selection = having(examples, ["references"], metric)
    chosen = [examples[i] for i in selection.indices]
    found = [rate(e.full_text, references_of(e)) if e.full_text.strip() else 0.0 for e in chosen]
    values = np.array([np.nan if isinstance(value, str) else value for value in found], np.float64)
    reasons = [value if isinstance(value, str) else None for value in found]
    return selection.spread(Scores({"quality": values}, signature, reasons))
