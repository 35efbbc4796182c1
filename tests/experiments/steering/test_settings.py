"""Settings of guided decoding that break their rules."""

from typing import Any, cast

import pytest

from core.faults import InputFaults, SettingFault
from experiments.steering.demo import Demonstration
from experiments.steering.generation import check_candidates
from experiments.steering.prompts import encode_prompts
from experiments.steering.settings import Steering, TextSampling
from models.causal import CausalLM


def test_bad_settings_are_reported(lm: CausalLM) -> None:
    with pytest.raises(ValueError, match="begin with 0"):
        Steering("normalised", (1, 2), (8,))
    for wrong in (-1.0, float("inf"), float("nan"), 0, "2"):
        with pytest.raises(SettingFault, match="strengths"):
            Steering("normalised", cast(Any, (0, wrong)), (8,))
    for ks in ((8, 0), (8, 8), (), (8.5,), 8):
        with pytest.raises(SettingFault, match="ks"):
            Steering("normalised", (0,), cast(Any, ks))
    for labels in ((), ("x", "x"), (1, 2), "x"):
        with pytest.raises(SettingFault, match="labels"):
            Steering("normalised", (0,), (8,), cast(Any, labels))
    for seeds in ((), (0, 0), (-1,), 0):
        with pytest.raises(SettingFault, match="seeds"):
            TextSampling(2, 1, 4, 4, cast(Any, seeds))
    for inputs in (0, 1.5, "2"):
        with pytest.raises(SettingFault, match="inputs must be "):
            TextSampling(cast(Any, inputs), 1, 4, 4, (0,))
    with pytest.raises(SettingFault, match="rule must be 'normalised' or 'fudge', but is 'sharp'"):
        Steering(cast(Any, "sharp"), (0,), (8,))
    for prompts in (["", "A"], [], ["A", "A"], [1984]):
        with pytest.raises(SettingFault, match="prompts"):
            TextSampling(2, 1, 4, 4, (0,), prompts=cast(Any, prompts))
    with pytest.raises(InputFaults, match="at most the 300 tokens of the generator, but is 301"):
        check_candidates([8, 301], 300)
    with pytest.raises(InputFaults, match="the generator reads 32 tokens, but this prompt has"):
        encode_prompts(lm, ["the cat"], 31)
    for strength in (0.0, float("inf"), float("nan")):
        with pytest.raises(SettingFault, match="strength must be "):
            Demonstration("The food", strength, 8, "normalised", 4, 2)
