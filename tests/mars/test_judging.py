"""Judging: the exact cases by hand, one reading against full recomputation, other architectures, ties."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    Qwen2Config,
)

from core.errors import SettingError
from mars.augmentation import Filling, SelfPlanningAugmenter, TokenBlank, choose_length, get_output_embeddings
from mars.planning import TIE
from models.causal import CausalLM

SMALL: dict[str, Any] = {"vocab_size": 60, "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
WIDE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    **SMALL,
}
READABLE = {
    "gpt2": GPT2Config(n_embd=32, n_head=4, n_layer=2, n_positions=64, **SMALL),
    "gpt_neox": GPTNeoXConfig(**WIDE),
    "llama": LlamaConfig(num_key_value_heads=2, tie_word_embeddings=False, **WIDE),
    "qwen2": Qwen2Config(num_key_value_heads=2, **WIDE),
    "mistral": MistralConfig(num_key_value_heads=2, sliding_window=32, **WIDE),
    "gemma3": Gemma3TextConfig(num_key_value_heads=1, head_dim=8, sliding_window=32, query_pre_attn_scalar=8, **WIDE),
    "opt": OPTConfig(ffn_dim=48, word_embed_proj_dim=32, **{k: v for k, v in WIDE.items() if k != "intermediate_size"}),
}
CAPPED = Gemma2Config(num_key_value_heads=1, head_dim=8, query_pre_attn_scalar=8, final_logit_softcapping=2.0, **WIDE)


def random_model(config: Any, tokenizer: Any, attention: str = "sdpa") -> CausalLM:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(6)
    return CausalLM(model, tokenizer)


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


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", READABLE)
def test_other_architectures(lm: CausalLM, name: str, attention: str) -> None:
    other = random_model(READABLE[name], lm.tokenizer, attention)
    before, fill, after = [5, 9, 30, 2], [7, 8, 40], [11, 3, 50, 12]
    found = perplexities(other, before, fill, after)
    np.testing.assert_allclose(found, recomputed(other, before, fill, after), rtol=1e-5)


def test_a_model_that_caps_its_logits_is_refused(lm: CausalLM) -> None:
    with pytest.raises(SettingError, match="MARS needs a model"):
        get_output_embeddings(random_model(CAPPED, lm.tokenizer, "eager"))


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12))
def test_the_best_is_the_shortest_of_the_lowest(values: list[float]) -> None:
    best = choose_length(values)
    assert values[best - 1] <= min(values) * math.exp(TIE)
    assert all(value > min(values) * math.exp(TIE) for value in values[: best - 1])
