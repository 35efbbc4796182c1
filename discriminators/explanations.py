"""What each sentence adds to the logit of a text."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from data.sentences import split_at_marks
from discriminators.segments import Segments


class Judge(Protocol):
    """Anything with logits: a trained discriminator of one logit."""

    def logits(self, texts: Sequence[Segments]) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...


def explain_sentences(judge: Judge, texts: Sequence[Segments]) -> list[dict[str, Any]]:
    """`{"parts": [[sentence, added], ...]}` for each text: its logit minus the logit without this sentence.

    Only the last segment is divided; the segments before it are the source. The only sentence of a text has the whole
    logit.
    """
    divided = [split_at_marks(segments[-1]) for segments in texts]
    rest = [
        (*segments[:-1], segments[-1].replace(sentence, "", 1))
        for segments, sentences in zip(texts, divided, strict=True)
        if len(sentences) > 1
        for sentence in sentences
    ]
    logits, _ = judge.logits([*texts, *rest])
    whole, without = logits[: len(texts)], iter(logits[len(texts) :])
    return [
        {
            "parts": [
                [sentence, float(logit - next(without) if len(sentences) > 1 else logit)]
                for sentence in sentences or [segments[-1]]
            ]
        }
        for segments, sentences, logit in zip(texts, divided, whole, strict=True)
    ]
