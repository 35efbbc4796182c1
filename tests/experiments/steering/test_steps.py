"""Texts written token by token: against a model that reads the whole text at each step, and draws of their own."""

from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch

from discriminators.guides import CausalGuide
from experiments.steering.steps import describe_step, write_tokens
from models.causal import CausalLM
from models.model import decode_tokens
from oumg.guidance import Guidance, GuidedStep

PROMPT = "the red cat"


def prompt_of(lm: CausalLM) -> list[int]:
    return [lm.start, *lm.tokenizer(PROMPT, add_special_tokens=False)["input_ids"]]


def guidance_of(lm: CausalLM, guide: CausalGuide):
    made = partial(Guidance, guide, lm.tokenizer, 4.0, 6, "normalised", "text")
    return lambda watch: made(watch=watch)


@torch.no_grad()
def test_each_step_is_that_of_the_whole_text(lm: CausalLM, guide: CausalGuide) -> None:
    tokens = list(write_tokens(lm, prompt_of(lm), 8, 6, 0, guidance_of(lm, guide)))
    ids = prompt_of(lm)
    for token in tokens:
        likeliest = lm.model(torch.tensor([ids])).logits[0, -1].topk(6)
        before = likeliest.values.softmax(-1).numpy()
        np.testing.assert_allclose([c.before for c in token.candidates], before, rtol=1e-4)
        chosen = token.candidates[token.chosen]
        assert token.moved == pytest.approx(np.log(chosen.after / chosen.before), abs=1e-4)
        ids.append(int(likeliest.indices[token.chosen]))
    assert PROMPT + "".join(token.text for token in tokens) == decode_tokens(lm.tokenizer, ids)


def test_without_guidance_nothing_moves_and_no_attribute_is_known(lm: CausalLM) -> None:
    for token in write_tokens(lm, prompt_of(lm), 4, 6, 0):
        assert token.moved == 0
        assert all(c.before == c.after and c.attribute is None for c in token.candidates)


def test_two_texts_written_by_turns_are_those_written_alone(lm: CausalLM, guide: CausalGuide) -> None:
    write = partial(write_tokens, lm, prompt_of(lm), 6, 6)
    alone = [list(write(1, guidance_of(lm, guide))), list(write(2))]
    first, second = zip(*zip(write(1, guidance_of(lm, guide)), write(2), strict=False), strict=True)
    assert [list(first), list(second)] == [row[: len(first)] for row in alone]
    assert any(alone[1] != list(write(seed)) for seed in range(3, 9))


def test_a_token_is_computed_when_it_is_asked_for(lm: CausalLM, guide: CausalGuide) -> None:
    steps: list[GuidedStep] = []
    writing = write_tokens(
        lm,
        prompt_of(lm),
        20,
        6,
        0,
        lambda watch: guidance_of(lm, guide)(lambda step: (steps.append(step), watch(step))),
    )
    assert len(list(islice(writing, 3))) == len(steps) == 3


def test_the_attribute_is_the_probability_of_the_logit(lm: CausalLM) -> None:
    scores = torch.tensor([[1.0, 0.0]])
    step = GuidedStep(torch.tensor([[5, 6]]), scores, torch.tensor([[0.0, -np.log(3)]]), scores.flip(1))
    token = describe_step(lm, step, 1, "x")
    assert [c.attribute for c in token.candidates] == pytest.approx([0.5, 0.25])
    assert token.moved == pytest.approx(1.0)
