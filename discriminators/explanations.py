"""Explains the logit of a text: how much each turn, or each sentence of a text without turns, adds to it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.sentences import split_sentences
from discriminators.segments import Segments

Logits = tuple[NDArray[np.float64], NDArray[np.int64]]  # of each text, and how many of its tokens were cut
ReadLogits = Callable[[Sequence[Segments]], Logits]


def explain_parts(read: ReadLogits, texts: Sequence[Segments]) -> list[dict[str, Any]]:
    """Returns `{"parts": [[part, added], ...]}` for each text: how much each part adds to the text's logit.

    `added` is the logit of the text minus the logit of the text without the part. A part is a segment, or a sentence
    of a text with a single segment. If nothing remains without a part, the part gets the whole logit. A text that
    cannot be read has no parts. The classifier reads the text once for each part.
    """
    divided = [divide(text) for text in texts]
    rests = [rest for parts in divided for _, rest in parts]
    logits, _ = read([*texts, *rests])
    without = iter(np.nan_to_num(logits[len(texts) :]))
    explanations: list[dict[str, Any]] = []
    for logit, parts in zip(logits, divided, strict=False):
        added = [[words, round(float(logit - next(without)), 4)] for words, _ in parts]
        explanations.append({"parts": [] if np.isnan(logit) else added})
    return explanations


def divide(text: Segments) -> list[tuple[str, Segments]]:
    """Lists the parts of a text, each with what remains of the text without it: () where nothing remains."""
    if len(text) > 1:
        return [(turn, (*text[:place], *text[place + 1 :])) for place, turn in enumerate(text)]
    (whole,) = text
    sentences = split_sentences(whole)
    if len(sentences) < 2:
        return [(whole, ())]
    return [(sentence, (whole.replace(sentence, "", 1),)) for sentence in sentences]
