"""One spelling for raw and for tokenised text, in training and in scoring."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdm.discriminative import DiscriminativeCDM
from cdm.generative import GenerativeCDM
from cdm.infilling import Gaps
from cdm.pair import Pair
from cdm.spelling import normal_spelling
from core.example import Example
from discriminators.discriminator import new_bilstm
from models.tiny import TinyT5

RAW = ("Hey! Isn't it Tuesday, Emma?", "No, it's Monday. I'm sure (I think).")
TOKENISED = ("hey ! is n't it tuesday , emma ?", "no , it ' s monday . i 'm sure ( i think ) .")


def test_raw_and_tokenised_text_get_one_spelling() -> None:
    assert [normal_spelling(turn) for turn in RAW] == [normal_spelling(turn) for turn in TOKENISED]
    assert normal_spelling(RAW[1]) == "no, it's monday. i'm sure (i think)."
    assert normal_spelling("put it on this scale.Airmail or by sea ?") == "put it on this scale. airmail or by sea?"


@given(st.text(alphabet=" .,!?'()aBsTn1’", max_size=30))
def test_spelling_twice_changes_nothing_more(text: str) -> None:
    once = normal_spelling(text)
    assert normal_spelling(once) == once


@pytest.mark.parametrize("spelling", ["as_is", "normal"])
def test_a_pair_reads_every_text_in_the_spelling_that_it_learned(spelling: str, tmp_path: Path) -> None:
    gaps = Gaps(60, spelling=spelling)  # pyright: ignore[reportArgumentType]
    for name, seed in (("amateur", 1), ("expert", 2)):
        lm = gaps.build(TinyT5(300, 16, 32, 2, 1, 1), [TOKENISED], seed)
        lm.save_pretrained(tmp_path / name)
    pair = Pair.from_pretrained(tmp_path / "amateur", tmp_path / "expert")
    assert pair.spelling == spelling
    learned = [gaps.tasks(pair.amateur, [turns])(0)[0] for turns in (RAW, TOKENISED)]
    assert (learned[0] == learned[1]) == (spelling == "normal")
    scores = DiscriminativeCDM(pair).score([Example("raw", turns=RAW), Example("tokenised", turns=TOKENISED)])
    first, second = scores.values["quality"]
    assert (first == pytest.approx(second, abs=1e-6)) == (spelling == "normal")
    assert f"|spelling={spelling}|" in scores.signature


def test_a_discriminator_scores_in_the_spelling_that_it_learned(tmp_path: Path) -> None:
    for spelling in ("as_is", "normal"):
        judge = new_bilstm([RAW, TOKENISED], "characters", hidden_dim=8, spelling=spelling)
        judge.save_pretrained(tmp_path / spelling)
        metric = GenerativeCDM.from_pretrained(tmp_path / spelling, explain=True)
        scores = metric.score([Example("raw", turns=RAW), Example("tokenised", turns=TOKENISED)])
        same = np.ptp(scores.values["quality"]) < 1e-9
        assert same == (spelling == "normal")
        assert [turn for turn, _ in scores.explanations[0]["parts"]] == [*RAW]
