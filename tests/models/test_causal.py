"""Log-probabilities of continuations against one unpadded pair at a time, windows, a GPT-2 from scratch."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.causal import (
    CausalLM,
    Continuation,
    continuation_log_probabilities,
    logit_parts,
)
from models.tiny import TinyGPT2
from tests.toy_models import refuse_large_batches

TEXTS = ["hello there, how are you?", "i am fine.", "the cat sat on the mat."]
PLAN = TinyGPT2(vocabulary=300, n_embd=16, n_head=2, n_layer=2, n_inner=32, longest=64)


@pytest.fixture(scope="module")
def lm() -> CausalLM:
    built = PLAN.build(TEXTS, ("<title>",), seed=3)
    built.model.eval()
    return built


@pytest.fixture(scope="module")
def pairs() -> list[Continuation]:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 30, size=(25, 2))
    made: list[Continuation] = [
        (rng.integers(3, 250, a).tolist(), rng.integers(3, 250, b).tolist()) for a, b in lengths
    ]
    return [*made, ([], [5, 6]), ([7, 8], []), ([], [])]


def one_at_a_time(lm: CausalLM, context: list[int], continuation: list[int]) -> np.ndarray:
    """The plain way: log softmax over the whole vocabulary of one unpadded row."""
    context = context or [1]
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([[*context, *continuation]])).logits[0]
    rows = logits.log_softmax(-1)[len(context) - 1 : len(context) + len(continuation) - 1]
    return rows[range(len(continuation)), continuation].numpy()


@pytest.mark.parametrize("token_budget", [1, 40, 200, 100_000])
@pytest.mark.parametrize("logit_budget", [1, 3_000, 30_000, 2**27])
def test_log_probabilities_equal_one_pair_at_a_time(
    lm: CausalLM, pairs: list[Continuation], token_budget: int, logit_budget: int
) -> None:
    found = continuation_log_probabilities(lm, pairs, token_budget=token_budget, logit_budget=logit_budget)
    for row, (context, continuation) in zip(found, pairs, strict=True):
        np.testing.assert_allclose(row, one_at_a_time(lm, list(context), list(continuation)), atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_order_and_padding_side_do_not_matter(lm: CausalLM, pairs: list[Continuation], side: str) -> None:
    forward = continuation_log_probabilities(lm, pairs)
    lm.tokenizer.padding_side = side
    backward = continuation_log_probabilities(lm, pairs[::-1], token_budget=64)[::-1]
    for a, b in zip(forward, backward, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_logits_stay_within_the_budget(
    lm: CausalLM, pairs: list[Continuation], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    forward = lm.model.forward

    def recorded(*args: object, **kwargs: object) -> object:
        output = forward(*args, **kwargs)
        sizes.append(output.logits.numel())
        return output

    monkeypatch.setattr(lm.model, "forward", recorded)
    continuation_log_probabilities(lm, pairs, logit_budget=6_000)
    assert max(sizes) <= 6_000
    assert sum(sizes) == len(lm.tokenizer) * sum(len(continuation) for _, continuation in pairs)


def test_a_batch_that_does_not_fit_is_halved(
    lm: CausalLM, pairs: list[Continuation], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = continuation_log_probabilities(lm, pairs)
    monkeypatch.setattr(lm.model, "forward", refuse_large_batches(lm.model.forward, rows=3))
    for a, b in zip(continuation_log_probabilities(lm, pairs), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_uniform_model_by_hand(lm: CausalLM) -> None:
    flat = PLAN.build(TEXTS, (), seed=0)
    with torch.no_grad():
        flat.model.transformer.wte.weight.zero_()
    found = continuation_log_probabilities(flat, [([], [4, 5]), ([9], [6])])
    expected = -np.log(len(flat.tokenizer))
    np.testing.assert_allclose(np.concatenate(found), [expected] * 3, rtol=1e-6)


def test_dropout_is_off_when_scoring(pairs: list[Continuation]) -> None:
    noisy = TinyGPT2(300, 16, 2, 1, 32, dropout=0.5).build(TEXTS, (), seed=0)
    noisy.model.train()
    first, second = (continuation_log_probabilities(noisy, pairs[:3]) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_saved_models_load_again_with_equal_scores(lm: CausalLM, pairs: list[Continuation], tmp_path: Path) -> None:
    lm.save_pretrained(tmp_path)
    again = CausalLM.from_pretrained(tmp_path)
    assert again.parameters == lm.parameters
    assert (again.start, again.longest) == (lm.start, lm.longest) == (1, 64)
    for a, b in zip(
        continuation_log_probabilities(again, pairs), continuation_log_probabilities(lm, pairs), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_gpt2_from_scratch() -> None:
    one, same, other = (PLAN.build(TEXTS, ("<title>",), seed) for seed in (1, 1, 2))
    assert torch.equal(one.model.transformer.wte.weight, same.model.transformer.wte.weight)
    assert not torch.equal(one.model.transformer.wte.weight, other.model.transformer.wte.weight)
    ids = one.tokenizer("<title>the 猫 sat</s>")["input_ids"]
    assert ids[0] == 3
    assert ids[-1] == one.tokenizer.eos_token_id == one.start
    assert one.tokenizer.decode(ids) == "<title>the 猫 sat</s>"


def test_without_a_start_token_a_context_is_needed() -> None:
    silent = PLAN.build(TEXTS, (), seed=0)
    silent.tokenizer.eos_token = None
    with pytest.raises(ValueError, match="has neither: give a context"):
        continuation_log_probabilities(silent, [([], [4])])
    assert len(continuation_log_probabilities(silent, [([4], [5])])[0]) == 1


@settings(deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=12), st.integers(1, 30))
def test_parts_hold_every_token_once_and_keep_the_budget(lengths: list[int], most: int) -> None:
    parts = logit_parts(lengths, most)
    assert all(0 < sum(stop - start for _, start, stop in part) <= most for part in parts)
    tokens = [(row, token) for part in parts for row, start, stop in part for token in range(start, stop)]
    assert tokens == [(row, token) for row, length in enumerate(lengths) for token in range(length)]
