"""judge.steer: the texts are those of the generator and the guide, and the guide's own probability rises."""

from pathlib import Path

import pytest
from scipy.special import expit

from core.errors import InputError, SettingError
from discriminators.guides import CausalGuide
from judge import steer
from models.causal import CausalLM

PROMPTS = ["the red cat", "a dog"]


def test_guided_and_unguided_texts_have_the_same_draws(lm: CausalLM, guide: CausalGuide, tmp_path: Path) -> None:
    found = steer(lm, guide, PROMPTS, strength=8, k=8, new_tokens=6, samples=2)
    assert [each.prompt for each in found.found] == ["the red cat", "the red cat", "a dog", "a dog"]
    assert all(each.text.startswith(each.prompt) and each.unguided_text.startswith(each.prompt) for each in found.found)
    for each in found.found:
        assert each.attribute == pytest.approx(float(expit(guide.logits([(each.text,)])[0][0])), abs=1e-5)
    assert sum(each.attribute - each.attribute_unguided for each in found.found) > 0
    alone = steer(lm, guide, PROMPTS, strength=0, k=8, new_tokens=6, samples=2)
    assert [each.text for each in alone.found] == [each.unguided_text for each in found.found]
    assert all(each.guided == each.unguided for each in alone.found)
    lm.save_pretrained(tmp_path / "generator")
    guide.save_pretrained(tmp_path / "guide")
    again = steer(tmp_path / "generator", tmp_path / "guide", PROMPTS, strength=8, k=8, new_tokens=6, samples=2)
    assert again.found == found.found
    assert again.signature.partition("|guide=")[2] == found.signature.partition("|guide=")[2]
    assert alone.signature != found.signature
    assert "<td>the red cat</td>" in found._repr_html_()
    texts, steps = found.tables
    assert found.answer.startswith("The guide finds its attribute with probability ")
    assert found.answer.endswith("unguided ones (mean of 4; its own judgement).")
    assert "`" not in texts.caption + steps.caption  # pages and terminals show captions as they stand
    one = steer(lm, guide, PROMPTS[1:], strength=8, k=8, new_tokens=6, samples=2)
    assert one.found[0].text == found.found[2].text  # in other company


def test_wrong_requests_are_refused_in_words(lm: CausalLM, guide: CausalGuide, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="prompts must be a list"):
        steer(lm, guide, "the cat")
    with pytest.raises(SettingError, match="strength must be greater than or equal to 0"):
        steer(lm, guide, PROMPTS, strength=-1.0)
    with pytest.raises(InputError, match=r"must be the folder of a trained guide"):
        steer(lm, tmp_path, PROMPTS)
    with pytest.raises(InputError, match="k must be at most"):
        steer(lm, guide, PROMPTS, k=10_000)
    with pytest.raises(InputError, match="the generator reads 32 tokens"):
        steer(lm, guide, ["cat " * 40])
