"""Continuations: a strength of 0 is unguided, padding changes nothing, guidance moves the guide's logit."""

import copy
import time
from typing import Any

import numpy as np
import pytest

from discriminators.guides import CausalGuide
from experiments.steering.findings import make_guidance, steered_continuations
from experiments.steering.generation import continue_prompts, measure_overhead
from experiments.steering.prompts import encode_prompts
from experiments.steering.settings import TextSampling
from models.causal import CausalLM
from oumg.guidance import Guidance

SAMPLING = TextSampling(inputs=3, samples=2, new_tokens=6, batch_size=4, seeds=(0, 1))


def steered(
    lm: CausalLM, guide: CausalGuide, prompts: list[list[int]], strength: float, k: int = 5, rule: Any = "normalised"
) -> list[list[int]]:
    return steered_continuations(lm, prompts, make_guidance(lm, guide, rule, strength, k), k, SAMPLING)


@pytest.mark.parametrize("rule", ["normalised", "fudge"])
def test_a_strength_of_0_is_the_unguided_generator_token_for_token(lm: CausalLM, guide: CausalGuide, rule: Any) -> None:
    prompts = encode_prompts(lm, ["the cat", "a", "the red cat sat on"], 6)
    unguided = [
        ids
        for seed in (0, 1)
        for ids in continue_prompts(lm, prompts, samples=2, new_tokens=6, batch_size=4, seed=seed, k=5)
    ]
    assert steered(lm, guide, prompts, 0, rule=rule) == unguided
    guided = steered(lm, guide, prompts, 8, rule=rule)
    assert guided != unguided
    assert guided == steered(lm, guide, prompts, 8, rule=rule)
    assert len(unguided) == 2 * 3 * 2  # seeds, prompts, samples


def test_what_pads_the_prompts_changes_nothing(lm: CausalLM, guide: CausalGuide) -> None:
    tokenizer = copy.deepcopy(lm.tokenizer)
    tokenizer.pad_token = None  # as GPT-2's: its start token pads
    bare = CausalLM(lm.model, tokenizer)
    prompts = encode_prompts(bare, ["the cat", "a", "the red cat sat on"], 6)
    assert steered(bare, guide, prompts, 4) == steered(lm, guide, prompts, 4)


def test_a_text_ends_with_its_end_token(lm: CausalLM) -> None:
    end = lm.tokenizer.eos_token_id
    found = continue_prompts(lm, encode_prompts(lm, ["the"], 24), 64, 24, 64, seed=0, k=len(lm.tokenizer))
    assert any(end in ids for ids in found)
    assert all(end not in ids[:-1] for ids in found)
    assert all(ids[-1] == end or len(ids) == 24 for ids in found)


def test_a_strong_guide_moves_its_own_logit(lm: CausalLM, guide: CausalGuide) -> None:
    prompts = encode_prompts(lm, ["the cat", "a dog"], 6)
    means = [
        float(np.mean(guide.logits([str(lm.tokenizer.decode(ids)) for ids in rows])))
        for rows in (steered(lm, guide, prompts, strength, 20) for strength in (0, 50))
    ]
    assert means[1] > means[0]


def test_the_overhead_is_that_of_generation_alone(
    lm: CausalLM, guide: CausalGuide, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def tick() -> float:
        clock[0] += 1
        return clock[0]

    def build() -> Guidance:
        clock[0] += 100
        return Guidance(guide, lm.tokenizer, 2.0, 5)

    monkeypatch.setattr(time, "perf_counter", tick)
    prompts = encode_prompts(lm, ["the cat"], 2)
    assert measure_overhead(lm, prompts, new_tokens=2, k=5, guidance=build, repeats=1) == 1.0
