"""What each turn or sentence adds to a logit, by a judge that counts a word."""

from collections.abc import Sequence

import numpy as np

from discriminators.explanations import explain_parts
from discriminators.segments import Segments


def count_good(texts: Sequence[Segments]) -> tuple[np.ndarray, np.ndarray]:
    """The number of `good` in all segments; NaN for a text that says nothing."""
    found = [" ".join(segments).count("good") if "".join(segments).strip() else np.nan for segments in texts]
    return np.array(found, float), np.zeros(len(texts), int)


def test_a_sentence_adds_the_logit_that_is_lost_without_it() -> None:
    texts = [("good source.", "A good, good cat. A dog. 好月。good"), ("only good",), ("good source.", "good")]
    assert explain_parts(count_good, texts, "sentence") == [
        {"parts": [["A good, good cat.", 2.0], ["A dog.", 0.0], ["好月。", 0.0], ["good", 1.0]]},
        {"parts": [["only good", 1.0]]},
        {"parts": [["good", 2.0]]},
    ]


def test_a_turn_adds_the_logit_that_is_lost_without_it() -> None:
    texts = [("good cat", "dog", "good, good"), ("good",), ("good", " "), (" ", "")]
    assert explain_parts(count_good, texts, "turn") == [
        {"parts": [["good cat", 1.0], ["dog", 0.0], ["good, good", 2.0]]},
        {"parts": [["good", 1.0]]},
        {"parts": [["good", 1.0], [" ", 0.0]]},
        {"parts": []},
    ]
