"""Selection: scores the examples that have the fields a metric requires. The others get NaN and a reason."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import SHOWN_CHARACTERS, ExampleError
from core.example import Example, hint_column, is_invisible, says_something
from core.scores import INVISIBLE, Field, Scores


def has_field(example: Example, field: Field) -> bool:
    """Whether the example has the field.

    A field without a visible character does not count. `turns` needs at least two turns.
    """
    if field == "turns":
        return len(example.turns) >= 2
    if field == "references":
        return bool(references_of(example))
    return says_something(getattr(example, field) or "")


def describe_missing_fields(
    example: Example,
    requires: Sequence[Field],
    metric: str,
    scores_empty: bool = False,
) -> str | None:
    """Says which required fields the example lacks, or that its text is empty; None if nothing is missing."""
    if example.is_empty and not scores_empty:
        return f"{metric} has no score for an empty answer"
    missing = [field for field in requires if not has_field(example, field)]
    if not missing:
        return None
    names = ["two or more turns" if field == "turns" else field for field in missing]
    return f"{metric} needs {' and '.join(names)}, found none"


def hint_field(example: Example, requires: Sequence[Field]) -> str:
    """Returns the end of a message: how to name the column of the first required field that the example lacks."""
    missing = [field for field in requires if not has_field(example, field)]
    return hint_column(missing[0], example.extra) if missing else ""


def check_complete(
    examples: Sequence[Example],
    requires: Sequence[Field],
    metric: str,
    scores_empty: bool = False,
) -> list[str | None]:
    """Returns for each example the reason why the metric cannot score it; None for an example that it can score.

    Set `scores_empty` for a metric that can score an empty answer. Raises ExampleError if there are examples but none
    has the required fields: then the file or the metric is wrong. Raises TypeError for anything but a sequence of
    Examples, such as a text.
    """
    if isinstance(examples, str | Example) or not all(isinstance(example, Example) for example in examples):
        shown = repr(examples)[:SHOWN_CHARACTERS]
        raise TypeError(f'{metric} scores a list of examples, as in [Example("1", "a text")], but got {shown}')
    reasons = [describe_missing_fields(example, requires, metric, scores_empty) for example in examples]
    if examples and all(reasons):
        raise ExampleError((i, f"{reason}{hint_field(examples[i], requires)}") for i, reason in enumerate(reasons))
    for i, example in enumerate(examples):
        if reasons[i] is None and is_invisible(example.full_text):
            reasons[i] = INVISIBLE
    return reasons


def score_complete(
    examples: Sequence[Example],
    requires: Sequence[Field],
    metric: str,
    score: Callable[[list[Example]], Scores],
    scores_empty: bool = False,
) -> Scores:
    """Scores the examples that have the required fields; the others get NaN and a reason.

    Raises ExampleError as `check_complete` does. An ExampleError of `score` is raised with the indices of `examples`.
    """
    reasons = check_complete(examples, requires, metric, scores_empty)
    complete = [i for i, reason in enumerate(reasons) if reason is None]
    try:
        scores = score([examples[i] for i in complete])
    except ExampleError as faults:
        raise ExampleError((complete[i], what) for i, what in faults.at) from None
    n = len(examples)
    values: dict[str, NDArray[np.float64]] = {}
    for aspect, column in scores.values.items():
        values[aspect] = np.full(n, np.nan)
        values[aspect][complete] = column
    dropped = [0] * n
    for i, reason, lost in zip(complete, scores.reasons, scores.dropped_tokens, strict=True):
        reasons[i] = reason
        dropped[i] = lost
    explanations: list[dict[str, Any]] = []
    if scores.explanations:
        explanations = [{} for _ in range(n)]
        for i, explanation in zip(complete, scores.explanations, strict=True):
            explanations[i] = dict(explanation)
    return Scores(
        values,
        scores.signature,
        reasons=reasons,
        dropped_tokens=dropped,
        explanations=explanations,
        notes=scores.notes,
    )


def references_of(example: Example) -> list[str]:
    """Lists the references that have a visible character."""
    return [reference for reference in example.references if says_something(reference)]
