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


def explain_parts(read: ReadLogits, texts: Sequence[Segments], part: Part) -> list[dict[str, Any]]:
    """Returns `{"parts": [[part, added], ...]}` for each text: how much each part adds to the text's logit.

    `added` is the logit of the text minus the logit of the text without the part. A part is a segment (`turn`), or a
    sentence of the last segment; the segments before it are then its source. If nothing remains without a part, the
    part gets the whole logit. A text that cannot be read has no parts. The classifier reads the text once for each
    part.
    """
    divided = [divide(text, part) for text in texts]
    rests = [rest for parts in divided for _, rest in parts]
    logits, _ = read([*texts, *rests])
    without = iter(np.nan_to_num(logits[len(texts) :]))
    explanations: list[dict[str, Any]] = []
    for logit, parts in zip(logits, divided, strict=False):
        added: list[list[Any]] = []
        for words, _ in parts:
            value = float(logit - next(without))
            added.append([words, round(value, 4)])
        explanations.append({"parts": [] if np.isnan(logit) else added})
    return explanations


def divide(text: Segments, part: Part) -> list[tuple[str, Segments]]:
    """Lists the parts of a text, each with what remains of the text without it: () where nothing remains."""
    divided: list[tuple[str, Segments]] = []
    if part == "turn":
        for place, turn in enumerate(text):
            rest = (*text[:place], *text[place + 1 :])
            divided.append((turn, rest))
        return divided
    *source, last = text
    sentences = split_sentences(last) or [last]
    if len(sentences) == 1:
        return [(sentences[0], ())]
    for sentence in sentences:
        rest = last.replace(sentence, "", 1)
        divided.append((sentence, (*source, rest)))
    return divided
