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
    divided = [[*text] if part == "turn" else split_sentences(text[-1]) or [text[-1]] for text in texts]
    owners = [(i, p) for i, parts in enumerate(divided) if len(parts) > 1 for p in range(len(parts))]
    rest = [
        (*texts[i][:p], *texts[i][p + 1 :])
        if part == "turn"
        else (*texts[i][:-1], texts[i][-1].replace(divided[i][p], "", 1))
        for i, p in owners
    ]
    logits, _ = read([*texts, *rest])
    without = dict(zip(owners, logits[len(texts) :].tolist(), strict=True))
    return [
        {
            "parts": [
                [words, round(whole - float(np.nan_to_num(without.get((i, p), 0.0))), 4)]
                for p, words in enumerate(parts)
                if not np.isnan(whole)
            ]
        }
        for i, (parts, whole) in enumerate(zip(divided, logits.tolist(), strict=False))
    ]
