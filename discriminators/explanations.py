"""Explains the logit of a text: how much each turn or sentence adds to it."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from data.sentences import split_sentences
from discriminators.segments import Segments

Logits = tuple[NDArray[np.float64], NDArray[np.int64]]  # of each text, and how many of its tokens were cut
ReadLogits = Callable[[Sequence[Segments]], Logits]
Part = Literal["turn", "sentence"]


def explain_parts(
    read: ReadLogits,
    texts: Sequence[Segments],
    part: Part,
) -> list[dict[str, Any]]:
    """Returns `{"parts": [[part, added], ...]}` for each text: how much each part adds to the text's logit.

    `added` is the logit of the text minus the logit of the text without the part. A part is a segment (`turn`), or a
    sentence of the last segment; the segments before it are then its source. If nothing remains without a part, the
    part gets the whole logit. A text that cannot be read has no parts. The classifier reads the text once for each
    part.
    """
    divided = [divide(text, part) for text in texts]
    rest: list[Segments] = []
    for text, parts in zip(texts, divided, strict=True):
        if len(parts) > 1:
            rest += list_rests(text, parts, part)
    logits, _ = read([*texts, *rest])
    whole = logits[: len(texts)]
    without = iter(np.nan_to_num(logits[len(texts) :]))
    explanations: list[dict[str, Any]] = []
    for logit, parts in zip(whole, divided, strict=True):
        others = [0.0]
        if len(parts) > 1:
            others = [next(without) for _ in parts]
        explanations.append({"parts": subtract(logit, parts, others)})
    return explanations


def divide(text: Segments, part: Part) -> list[str]:
    """Divides a text into its turns, or its last segment into sentences."""
    if part == "turn":
        return [*text]
    last = text[-1]
    return split_sentences(last) or [last]


def list_rests(
    text: Segments,
    parts: Sequence[str],
    part: Part,
) -> list[Segments]:
    """Lists the texts that remain if each part in turn is removed."""
    *source, last = text
    rests: list[Segments] = []
    for place, words in enumerate(parts):
        if part == "sentence":
            rests.append((*source, last.replace(words, "", 1)))
        else:
            rests.append((*text[:place], *text[place + 1 :]))
    return rests


def subtract(
    logit: float,
    parts: Sequence[str],
    others: Sequence[float],
) -> list[list[Any]]:
    """Pairs each part with the text's logit minus the logit without this part. Empty for a text that cannot be read."""
    if np.isnan(logit):
        return []
    added: list[list[Any]] = []
    for words, other in zip(parts, others, strict=True):
        value = float(logit - other)
        added.append([words, round(value, 4)])
    return added
