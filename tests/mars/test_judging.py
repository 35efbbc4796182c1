"""Judging: the exact cases by hand, one reading against full recomputation, ties."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, Gemma2Config

from core.errors import SettingError
from mars.augmentation import Filling, SelfPlanningAugmenter, TokenBlank, choose_length, get_output_embeddings
from mars.planning import TIE
from models.causal import CausalLM


def perplexities(lm: CausalLM, before: list[int], fill: list[int], after: list[int]) -> list[float]:
    """PPL of every length of the fill, as the augmenter judges it."""
    augmenter = SelfPlanningAugmenter(lm)
    augmenter.tokens.bytes = [b"a"] * lm.model.config.vocab_size  # every token ends with a whole character
    row = Filling((), before, [TokenBlank(len(fill), after)], written=fill)
    (found,) = augmenter.judge([row])
    return found


def recomputed(lm: CausalLM, before: list[int], fill: list[int], after: list[int]) -> list[float]:
    """The plain way: a text for every length, log softmax over the whole vocabulary."""
    found = []
    for m in range(1, len(fill) + 1):
        text = [*before, *fill[:m], *after]
        with torch.no_grad():
            scores = lm.model(input_ids=torch.tensor([text])).logits[0].double().log_softmax(-1)
        chosen = [scores[i - 1, text[i]].item() for i in range(len(before), len(text))]
        found.append(math.exp(-sum(chosen) / len(chosen)))
    return found


def test_the_judge_by_hand(counting: CausalLM) -> None:
    found = perplexities(counting, [0], [1, 2, 3, 4], [3])
    np.testing.assert_allclose(found, [6.6667, 1.1111, 2.7217, 2.2752], atol=1e-4)
    assert choose_length(found) == 2


def test_an_open_end_is_judged_by_itself(counting: CausalLM) -> None:
    found = perplexities(counting, [0], [1, 2, 4], [])
    np.testing.assert_allclose(found, [1 / 0.9, 1 / 0.9, (0.9 * 0.9 * 0.025) ** (-1 / 3)], rtol=1e-5)


def test_a_uniform_model_finds_all_lengths_alike(uniform: CausalLM) -> None:
    found = perplexities(uniform, [0], [1, 2, 3], [4, 1])
    np.testing.assert_allclose(found, [5.0] * 3, rtol=1e-5)
    assert choose_length(found) == 1


@pytest.mark.parametrize("seed", range(6))
def test_one_reading_equals_full_recomputation(lm: CausalLM, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, fill, after = (rng.integers(4, 300, n).tolist() for n in (1 + 5 * seed, 1 + seed, 7 - seed))
    expected = recomputed(lm, before, fill, after)
    np.testing.assert_allclose(perplexities(lm, before, fill, after), expected, rtol=1e-5)


def test_a_model_that_caps_its_logits_is_refused(lm: CausalLM) -> None:
    sizes: dict[str, Any] = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    capped = Gemma2Config(num_key_value_heads=1, head_dim=8, final_logit_softcapping=2.0, **sizes)
    with pytest.raises(SettingError, match="MARS needs a model"):
        get_output_embeddings(CausalLM(AutoModelForCausalLM.from_config(capped).eval(), lm.tokenizer))


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12))
def test_the_best_is_the_shortest_of_the_lowest(values: list[float]) -> None:
    best = choose_length(values)
    assert values[best - 1] <= min(values) * math.exp(TIE)
    assert all(value > min(values) * math.exp(TIE) for value in values[: best - 1])
