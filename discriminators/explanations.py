"""What each turn or sentence adds to the logit of a text."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from data.sentences import split_sentences
from discriminators.segments import Segments

ReadLogits = Callable[[Sequence[Segments]], tuple[NDArray[np.float64], NDArray[np.int64]]]
Part = Literal["turn", "sentence"]


def explain_parts(read: ReadLogits, texts: Sequence[Segments], part: Part) -> list[dict[str, Any]]:
    """`{"parts": [[part, added], ...]}` for each text: its logit minus the logit without this part.

    A part is a segment (`turn`) or a sentence of the last segment, to which those before it are the source. A part
    beside which nothing can be read has the whole logit; a text that cannot be read has no parts. A pass for each part.
    """
    divided = [divide(text, part) for text in texts]
    owners = [(number, place) for number, parts in enumerate(divided) for place in range(len(parts)) if len(parts) > 1]
    rest = [leave_out(texts[number], divided[number][place], place, part) for number, place in owners]
    logits, _ = read([*texts, *rest])
    whole = logits[: len(texts)].tolist()
    without = dict(zip(owners, np.nan_to_num(logits[len(texts) :]).tolist(), strict=True))
    explanations: list[dict[str, Any]] = []
    for number, parts in enumerate(divided):
        added: list[list[Any]] = []
        for place, words in enumerate(parts):
            if not np.isnan(whole[number]):
                added.append([words, round(whole[number] - without.get((number, place), 0.0), 4)])
        explanations.append({"parts": added})
    return explanations


def divide(text: Segments, part: Part) -> list[str]:
    """The turns of a text, or the sentences of its last segment."""
    if part == "turn":
        return [*text]
    return split_sentences(text[-1]) or [text[-1]]


def leave_out(text: Segments, words: str, place: int, part: Part) -> Segments:
    """The text without its turn at a place, or without these words of its last segment."""
    if part == "turn":
        return (*text[:place], *text[place + 1 :])
    return (*text[:-1], text[-1].replace(words, "", 1))
