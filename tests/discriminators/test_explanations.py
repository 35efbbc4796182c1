"""What each sentence adds to a logit, by a judge that counts a word."""

from collections.abc import Sequence

import numpy as np

from discriminators.explanations import explain_sentences
from discriminators.segments import Segments


class Counter:
    """The logit is the number of `good` in all segments."""

    def logits(self, texts: Sequence[Segments]) -> tuple[np.ndarray, np.ndarray]:
        assert all(any(segment.strip() for segment in segments) for segments in texts)
        return np.array([" ".join(segments).count("good") for segments in texts], float), np.zeros(len(texts), int)


def test_a_sentence_adds_the_logit_that_is_lost_without_it() -> None:
    texts = [("good source.", "A good, good cat. A dog. 好月。good"), ("only good",)]
    assert explain_sentences(Counter(), texts) == [
        {"parts": [["A good, good cat.", 2.0], ["A dog.", 0.0], ["好月。", 0.0], ["good", 1.0]]},
        {"parts": [["only good", 1.0]]},
    ]
