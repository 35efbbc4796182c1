"""Prompts: given ones, prefixes, or first words of held-out texts."""

from collections.abc import Callable

import pytest

from core.example import Example
from core.faults import InputFaults
from data.corpus import Corpus
from data.sets.attributes import builtin_reviews
from experiments.steering.prompts import choose_prompts
from experiments.steering.settings import TextSampling


def test_prompts_come_from_the_settings_or_the_data() -> None:
    data = builtin_reviews(train=8, held_out=4, rated=16)
    given = TextSampling(2, 1, 4, 4, (0,), prompts=[" The food ", "A", "B"])
    assert choose_prompts(data, given) == (["The food", "A"], False)
    found, _ = choose_prompts(data, TextSampling(3, 2, 6, 4, (0, 1)))
    assert len(set(found)) == 3
    assert set(found) <= {e.prefix for e in data.rated[0].examples}


def test_prompts_are_the_prefixes_or_the_beginnings_of_held_out_texts(own_data: Callable[..., Corpus]) -> None:
    held_out = [Example(f"h{i}", text=f"{word} is a word.", label="xy"[i // 3]) for i, word in enumerate("abcdef")]
    data = own_data(["t", "u"], ["x", "y"], [*held_out, Example("short", text="g is", label="y")])
    assert choose_prompts(data, TextSampling(3, 1, 4, 4, (0,), prompt_words=2)) == (["a is", "c is", "e is"], True)
    assert choose_prompts(data, TextSampling(9, 1, 4, 4, (0,), prompt_words=1)) == (list("abcdefg"), True)
    chinese = own_data(["t", "u"], ["x", "y"], [Example("h", text="今天天气很好。", label="x")])
    assert choose_prompts(chinese, TextSampling(3, 1, 4, 4, (0,))) == (["今天天"], True)
    prefixed = own_data(["t", "u"], ["x", "y"], [*held_out, Example("p", text="Once more.", prefix="Once ", label="y")])
    assert choose_prompts(prefixed, TextSampling(3, 1, 4, 4, (0,))) == (["Once"], False)
    with pytest.raises(InputFaults, match=r"mine has no held-out texts to take prompts from: set sampling\.prompts"):
        choose_prompts(own_data(["t", "u"], ["x", "y"]), TextSampling(3, 1, 4, 4, (0,)))
