"""The score of a discriminator: what it says about turns and sentences, in which spelling, and what it refuses."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from core.example import Example
from core.faults import ExampleFaults
from discriminators.discriminator import new_bilstm
from discriminators.explanations import explain_parts
from discriminators.metric import DiscriminatorScore
from discriminators.segments import Segments

DIALOGUES = (("red cat", "blue dog", "green sun"), ("moon tree", "dog"))
JUDGE = new_bilstm(DIALOGUES, tokens="words", min_count=1, embedding_dim=8, hidden_dim=8)
RAW = ("Hey! Isn't it Tuesday, Emma?", "No, it's Monday. I'm sure (I think).")
TOKENISED = ("hey ! is n't it tuesday , emma ?", "no , it ' s monday . i 'm sure ( i think ) .")


def test_turns_without_tokens_have_no_score() -> None:
    examples = [Example(str(i), turns=turns) for i, turns in enumerate([("", " "), (" ", "red cat")])]
    found = DiscriminatorScore(JUDGE, explain=True).score(examples)
    assert math.isnan(found.values["quality"][0])
    assert found.reasons == ("the text has no tokens to score", None)
    assert [[turn for turn, _ in each["parts"]] for each in found.explanations] == [[], [" ", "red cat"]]


def test_of_dialogues_alone_a_text_has_no_score() -> None:
    metric = DiscriminatorScore(JUDGE, dialogues=True)
    assert (DiscriminatorScore(JUDGE).requires, metric.requires) == ((), ("turns",))
    found = metric.score([Example("t", "red cat"), Example("d", turns=DIALOGUES[0])])
    assert found.reasons == ("discriminator needs two or more turns, found none", None)
    with pytest.raises(ExampleFaults, match="two or more turns"):
        metric.score([Example("t", "red cat")])


@pytest.mark.parametrize("spelling", ["as_is", "normal"])
def test_a_discriminator_scores_in_the_spelling_that_it_learned(tmp_path: Path, spelling: str) -> None:
    judge = new_bilstm([RAW, TOKENISED], "characters", hidden_dim=8, spelling=spelling)  # pyright: ignore[reportArgumentType]
    judge.save_pretrained(tmp_path)
    metric = DiscriminatorScore.from_pretrained(tmp_path, explain=True)
    scores = metric.score([Example("raw", turns=RAW), Example("tokenised", turns=TOKENISED)])
    assert (np.ptp(scores.values["quality"]) < 1e-9) == (spelling == "normal")
    assert [turn for turn, _ in scores.explanations[0]["parts"]] == [*RAW]


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
