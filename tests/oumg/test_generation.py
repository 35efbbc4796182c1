"""Prompts and continuations: a strength of 0 is unguided, padding changes nothing, steps are those of a whole text."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from core.errors import InputError
from core.example import Example
from data.corpus import Corpus
from discriminators.guides import CausalGuide
from models.causal import CausalLM
from models.model import decode_tokens
from oumg.generation import (
    SamplingSettings,
    choose_prompts,
    continue_prompts,
    encode_prompts,
    make_guidance,
    write_tokens,
)
from oumg.guidance import Guidance

SAMPLING = SamplingSettings(
    inputs=3,
    samples=2,
    new_tokens=6,
    batch_size=4,
    seeds=(0, 1),
)
PROMPT = "the red cat"
NOTE = (
    "mine has no prefixes, so the prompts are the first {} words of held-out texts of all labels, and some may show a "
    "label themselves; sampling.prompts sets others"
)


def few(inputs: int, **more: int) -> SamplingSettings:
    sizes: Any = {"samples": 1, "new_tokens": 4, "batch_size": 4, **more}
    return SamplingSettings(inputs, seeds=(0,), **sizes)


def test_prompts_are_the_prefixes_or_the_beginnings_of_held_out_texts(own_data: Callable[..., Corpus]) -> None:
    held_out = [Example(f"h{i}", text=f"{word} is a word.", label="xy"[i // 3]) for i, word in enumerate("abcdef")]
    data = own_data(["t", "u"], ["x", "y"], [*held_out, Example("short", text="g is", label="y")])
    assert choose_prompts(data, few(3, prompt_words=2)) == (
        ["a is", "c is", "e is"],
        [NOTE.format(2)],
    )
    assert choose_prompts(data, few(9, prompt_words=1)) == (
        list("abcdefg"),
        [NOTE.format(1)],
    )
    chinese = own_data(["t"], ["x"], [Example("h", text="今天天气很好。", label="x")])
    assert choose_prompts(chinese, few(3)) == (["今天天"], [NOTE.format(3)])
    prefixed = own_data(
        ["t", "u"],
        ["x", "y"],
        [
            *held_out,
            Example(
                "p",
                text="Once more.",
                prefix="Once ",
                label="y",
            ),
        ],
    )
    assert choose_prompts(prefixed, few(3)) == (["Once"], [])
    short = own_data(["t", "u"], ["x", "y"], [Example("h", text="Delicious", label="x")])
    with pytest.raises(InputError, match="none of the 1 held-out texts of mine has a prefix or more than 3 words"):
        choose_prompts(short, few(3))


def encode(lm: CausalLM, *prompts: str, new_tokens: int = 6) -> list[list[int]]:
    return list(encode_prompts(lm, prompts, new_tokens).values())


def steered(
    lm: CausalLM,
    guide: CausalGuide,
    prompts: list[list[int]],
    strength: float,
    k: int = 5,
    rule: Any = "normalised",
) -> list[list[int]]:
    return continue_prompts(
        lm,
        prompts,
        SAMPLING,
        k,
        make_guidance(
            lm,
            guide,
            rule,
            strength,
            k,
        ),
    )


def test_what_pads_the_prompts_changes_nothing(lm: CausalLM, guide: CausalGuide) -> None:
    tokenizer = copy.deepcopy(lm.tokenizer)
    tokenizer.pad_token = None  # as GPT-2's: its start token pads
    bare = CausalLM(lm.model, tokenizer)
    prompts = encode(
        bare,
        "the cat",
        "a",
        "the red cat sat on",
    )
    assert steered(
        bare,
        guide,
        prompts,
        4,
    ) == steered(
        lm,
        guide,
        prompts,
        4,
    )


def guidance_of(lm: CausalLM, guide: CausalGuide):
    made = partial(
        Guidance,
        guide,
        lm.tokenizer,
        4.0,
        6,
    )
    return lambda watch: made(watch=watch)


@torch.no_grad()
def test_each_step_is_that_of_the_whole_text(lm: CausalLM, guide: CausalGuide) -> None:
    tokens = list(
        write_tokens(
            lm,
            encode(lm, PROMPT)[0],
            8,
            6,
            0,
            guidance_of(lm, guide),
        )
    )
    ids = encode(lm, PROMPT)[0]
    for token in tokens:
        likeliest = lm.model(torch.tensor([ids])).logits[0, -1].topk(6)
        before = likeliest.values.softmax(-1).numpy()
        np.testing.assert_allclose([c.before for c in token.candidates], before, rtol=1e-4)
        chosen = token.candidates[token.chosen]
        assert token.moved == pytest.approx(np.log(chosen.after / chosen.before), abs=1e-4)
        ids.append(int(likeliest.indices[token.chosen]))
    assert PROMPT + "".join(token.text for token in tokens) == decode_tokens(lm.tokenizer, ids)
    prompt, written = ids[: -len(tokens)], ids[-len(tokens) :]
    ending = copy.deepcopy(lm.tokenizer)
    ending.eos_token = ending.convert_ids_to_tokens(written[3])
    ended = list(
        write_tokens(
            CausalLM(lm.model, ending),
            prompt,
            8,
            6,
            0,
            guidance_of(lm, guide),
        )
    )
    assert len(ended) == written.index(written[3]) + 1 <= 4  # the end is the last token


def test_two_texts_written_by_turns_are_those_written_alone(lm: CausalLM, guide: CausalGuide) -> None:
    write = partial(
        write_tokens,
        lm,
        encode(lm, PROMPT)[0],
        6,
        6,
    )
    alone = [list(write(1, guidance_of(lm, guide))), list(write(2))]
    first, second = zip(*zip(write(1, guidance_of(lm, guide)), write(2), strict=False), strict=True)
    assert [list(first), list(second)] == [row[: len(first)] for row in alone]
    assert any(alone[1] != list(write(seed)) for seed in range(3, 9))
