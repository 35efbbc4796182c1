"""What Generative CDM says about the turns of a dialogue."""

import math

import pytest

from cdm.generative import GenerativeCDM
from core.example import Example
from discriminators.discriminator import new_bilstm

DIALOGUES = (("red cat", "blue dog", "green sun"), ("moon tree", "dog"))


def test_a_turn_contributes_what_the_score_loses_without_it() -> None:
    judge = new_bilstm(DIALOGUES, tokens="words", min_count=1, embedding_dim=8, hidden_dim=8)
    examples = [Example(str(i), turns=turns) for i, turns in enumerate(DIALOGUES)]
    found = GenerativeCDM(judge, explain=True).score(examples)
    (whole, _), _ = judge.logits(DIALOGUES)
    first, second = DIALOGUES[0][0], DIALOGUES[0][1]
    (without_third,), _ = judge.logits([(first, second)])
    parts = found.explanations[0]["parts"]
    assert [turn for turn, _ in parts] == list(DIALOGUES[0])
    assert parts[2][1] == pytest.approx(whole - without_third, abs=1e-4)
    assert [turn for turn, _ in found.explanations[1]["parts"]] == list(DIALOGUES[1])


def test_turns_without_tokens_have_no_score() -> None:
    judge = new_bilstm(DIALOGUES, tokens="words", min_count=1, embedding_dim=8, hidden_dim=8)
    examples = [Example(str(i), turns=turns) for i, turns in enumerate([("", " "), (" ", "red cat")])]
    found = GenerativeCDM(judge, explain=True).score(examples)
    assert math.isnan(found.values["quality"][0])
    assert found.reasons == ("the turns have no tokens to score", None)
    assert [[turn for turn, _ in each["parts"]] for each in found.explanations] == [[], [" ", "red cat"]]


def test_explanations_do_not_change_the_scores() -> None:
    judge = new_bilstm(DIALOGUES, tokens="words", min_count=1, embedding_dim=8, hidden_dim=8)
    examples = [Example(str(i), turns=turns) for i, turns in enumerate(DIALOGUES)]
    plain, explained = (GenerativeCDM(judge, explain).score(examples) for explain in (False, True))
    assert plain.values["quality"].tolist() == explained.values["quality"].tolist()
    assert plain.explanations == ()
