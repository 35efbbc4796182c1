"""Judging: the exact cases by hand, one pass against full recomputation, other architectures, ties."""

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    Qwen2Config,
)

from mars.judging import (
    choose_length,
    gather_following_states,
    judge_alone,
    judge_lengths,
    lay_out_branches,
    score_tokens,
)
from mars.lockstep import pick
from mars.planning import TIE, project
from mars.slots import Slots, check_model, count_readable, get_output_embeddings, read_alone, read_on
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
OTHERS = {
    "places tokens by their distance (bloom)": BloomConfig(hidden_size=32, n_head=4, n_layer=2, **SMALL),
}


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
    """PPL of every length of the fill, in one pass over the text before it, the fill and all copies of `after`."""
    n, filled = len(before), len(fill)
    lengths = range(1, filled + 1)
    slots = Slots(lm, rows=1, capacity=n + filled * (1 + len(after)))
    copies = lay_out_branches(fill[-1], after, n, filled, lengths)
    hidden = slots.read([[*read_on([*before, *fill[:-1]], 0), *copies]], [0])[0]
    embeddings = get_output_embeddings(lm)
    scores = score_tokens(embeddings, hidden[n - 1 : n + filled - 1], fill)
    states = gather_following_states(hidden[n : n + filled], hidden[n + filled :], len(after))
    return judge_lengths(scores, score_tokens(embeddings, states.flatten(0, 1), [*after] * filled), lengths)


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
    np.testing.assert_allclose(
        judge_alone(counting, get_output_embeddings(counting), [0], [1, 2, 3, 4], [3], [1, 2, 3, 4]),
        found,
        rtol=1e-5,
    )


def test_an_open_end_is_judged_by_itself(counting: CausalLM) -> None:
    found = perplexities(counting, [0], [1, 2, 4], [])
    np.testing.assert_allclose(found, [1 / 0.9, 1 / 0.9, (0.9 * 0.9 * 0.025) ** (-1 / 3)], rtol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_one_pass_equals_full_recomputation(lm: CausalLM, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, fill, after = (rng.integers(4, 300, n).tolist() for n in (1 + 5 * seed, 1 + seed, 7 - seed))
    expected = recomputed(lm, before, fill, after)
    np.testing.assert_allclose(perplexities(lm, before, fill, after), expected, rtol=1e-5)
    lengths = list(range(1, len(fill) + 1))
    np.testing.assert_allclose(
        judge_alone(lm, get_output_embeddings(lm), before, fill, after, lengths), expected, rtol=1e-5
    )


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", READABLE)
def test_other_architectures(lm: CausalLM, name: str, attention: str) -> None:
    other = random_model(READABLE[name], lm.tokenizer, attention)
    check_model(other)
    before, fill, after = [5, 9, 30, 2], [7, 8, 40], [11, 3, 50, 12]
    found = perplexities(other, before, fill, after)
    np.testing.assert_allclose(found, recomputed(other, before, fill, after), rtol=1e-5)


def test_a_sliding_window_says_how_much_is_read(lm: CausalLM) -> None:
    for name, readable in (("gemma3", 32), ("mistral", 32), ("llama", 64)):
        assert count_readable(random_model(READABLE[name], lm.tokenizer)) == readable


@pytest.mark.parametrize("reason", OTHERS)
def test_models_that_cannot_be_read_this_way_are_refused(lm: CausalLM, reason: str) -> None:
    with pytest.raises(ValueError, match="MARS needs a model"):
        check_model(random_model(OTHERS[reason], lm.tokenizer, "eager"))


def test_bfloat16_logits_are_products_in_float32(lm: CausalLM) -> None:
    """In bfloat16 many of the highest logits would be equal."""
    half = CausalLM(copy.deepcopy(lm.model).to(torch.bfloat16), lm.tokenizer)
    hidden, embeddings = read_alone(half, [5, 9, 30, 2, 7]), get_output_embeddings(half)
    exact = hidden.double() @ half.model.lm_head.weight.double().T
    logits = project(hidden, embeddings)
    torch.testing.assert_close(logits.double(), exact, rtol=1e-5, atol=1e-5)
    token, _ = pick(logits, torch.ones_like(exact, dtype=torch.bool))
    assert token.tolist() == exact.argmax(-1).tolist()
    found = score_tokens(embeddings, hidden, token.tolist())
    np.testing.assert_allclose(found, exact.log_softmax(-1).amax(-1).tolist(), atol=1e-5)


def test_long_texts_are_read_in_blocks(lm: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, 300, n).tolist() for n in (50, 7, 33)]

    def read() -> list[Tensor]:
        slots = Slots(lm, rows=3, capacity=50)
        hidden = slots.read([read_on(row, 0) for row in rows], range(3))
        return [states[: len(row)] for states, row in zip(hidden, rows, strict=True)]

    whole = read()
    monkeypatch.setattr("mars.slots.BLOCK", 16)
    for states, expected in zip(read(), whole, strict=True):
        torch.testing.assert_close(states, expected, rtol=1e-4, atol=1e-4)


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12))
def test_the_best_is_the_shortest_of_the_lowest(values: list[float]) -> None:
    best = choose_length(values)
    assert values[best - 1] <= min(values) * math.exp(TIE)
    assert all(value > min(values) * math.exp(TIE) for value in values[: best - 1])
