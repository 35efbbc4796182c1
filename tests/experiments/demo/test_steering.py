"""Texts side by side: what is asked for, step by step, and what is refused."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from core.faults import InputFaults, SettingFault
from discriminators.guides import CausalGuide
from experiments.demo.steering import Steerer, SteeringRequest, write_side_by_side
from models.causal import CausalLM

REQUEST = SteeringRequest("the red cat", "good", 4.0, 6, 8, 0)


@pytest.fixture
def steerer(lm: CausalLM, guide: CausalGuide) -> Steerer:
    return Steerer(lm, {"good": guide})


def test_each_step_adds_a_token_to_both_texts(steerer: Steerer) -> None:
    found = list(islice(write_side_by_side(steerer, REQUEST), 3))
    assert [(len(each.guided), len(each.unguided)) for each in found] == [(1, 1), (2, 2), (3, 3)]
    assert any(token.moved for token in found[-1].guided)
    assert not any(token.moved for token in found[-1].unguided)


def test_without_strength_both_texts_are_one(steerer: Steerer) -> None:
    *_, found = write_side_by_side(steerer, replace(REQUEST, strength=0.0))
    assert found.guided == found.unguided


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": " \n"}, "prompt must not be blank"),
        ({"label": "bad"}, "label must be one of good, but is 'bad'"),
        ({"k": 301}, "k must be at most the 300 tokens"),
        ({"prompt": "cat " * 40}, "the generator reads 32 tokens"),
    ],
)
def test_what_cannot_be_written_is_refused(steerer: Steerer, change: dict[str, object], message: str) -> None:
    with pytest.raises((InputFaults, SettingFault), match=message):
        next(write_side_by_side(steerer, replace(REQUEST, **change)))


def test_a_folder_without_generator_and_guide_has_nothing_to_steer(tmp_path: Path) -> None:
    assert Steerer.from_pretrained(tmp_path / "missing") is None
