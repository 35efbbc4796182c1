"""Log-probabilities against one pair at a time, loading and saving, tiny models and their tokenizer."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from models.infilling import sentinel_infilling
from models.seq2seq import PretrainedSeq2Seq, Seq2SeqLM, target_log_probabilities
from models.tiny import TinyT5, train_tokenizer

TEXTS = ["hello there, how are you?", "i am fine.", "the cat sat on the mat."]
PLAN = TinyT5(vocabulary=300, d_model=16, d_ff=32, num_heads=2, num_layers=1, num_decoder_layers=1)


@pytest.fixture(scope="module")
def lm() -> Seq2SeqLM:
    built = PLAN.build(TEXTS, ("</UTT>",), seed=3)
    built.model.eval()
    return built


@pytest.fixture(scope="module")
def pairs() -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, size=(25, 2))
    made = [(rng.integers(3, 250, a).tolist(), rng.integers(3, 250, b).tolist()) for a, b in lengths]
    return [*made, (made[0][0], [5, 6]), (made[0][0], [7])]  # equal sources, which are encoded once


def one_at_a_time(lm: Seq2SeqLM, source: list[int], target: list[int]) -> np.ndarray:
    """The plain way: log softmax over the whole vocabulary of one unpadded pair."""
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[0, *target[:-1]]])).logits
    return logits[0].log_softmax(-1)[range(len(target)), target].numpy()


@pytest.mark.parametrize("token_budget", [1, 40, 200, 100_000])
@pytest.mark.parametrize("logit_budget", [1_000, 2**27])
def test_log_probabilities_equal_one_pair_at_a_time(
    lm: Seq2SeqLM, pairs: list[tuple[list[int], list[int]]], token_budget: int, logit_budget: int
) -> None:
    found = target_log_probabilities(lm, pairs, token_budget=token_budget, logit_budget=logit_budget)
    for row, (source, target) in zip(found, pairs, strict=True):
        np.testing.assert_allclose(row, one_at_a_time(lm, source, target), atol=1e-5)


@pytest.mark.parametrize(("token_budget", "logit_budget"), [(60, 2**27), (200, 2**27), (200, 4_000)])
def test_no_batch_exceeds_the_budgets(
    lm: Seq2SeqLM, monkeypatch: pytest.MonkeyPatch, token_budget: int, logit_budget: int
) -> None:
    """Short sources with long targets beside the opposite are padded on both sides."""
    opposite = [([7] * 28, [8] * 2), ([7] * 2, [8] * 28)] * 6
    pairs = [([i, *source], target) for i, (source, target) in enumerate(opposite, start=20)]
    sizes: list[tuple[int, int]] = []
    forward = lm.model.forward

    def watched(**inputs: torch.Tensor) -> object:
        rows, written = inputs["decoder_input_ids"].shape
        sizes.append((rows * (inputs["attention_mask"].shape[1] + written), rows * written))
        return forward(**inputs)

    monkeypatch.setattr(lm.model, "forward", watched)
    target_log_probabilities(lm, pairs, token_budget=token_budget, logit_budget=logit_budget)
    assert token_budget / 2 < max(size for size, _ in sizes) or logit_budget < 2**27
    assert max(size for size, _ in sizes) <= token_budget
    row = 28 * lm.model.config.vocab_size  # a row of its own may need more
    assert max(written for _, written in sizes) * lm.model.config.vocab_size <= max(logit_budget, row)


def test_log_probabilities_follow_the_order_of_the_pairs(
    lm: Seq2SeqLM, pairs: list[tuple[list[int], list[int]]]
) -> None:
    forward = target_log_probabilities(lm, pairs)
    backward = target_log_probabilities(lm, pairs[::-1])[::-1]
    for a, b in zip(forward, backward, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_dropout_is_off_when_scoring(pairs: list[tuple[list[int], list[int]]]) -> None:
    noisy = TinyT5(300, 16, 32, 2, 1, 1, dropout_rate=0.5).build(TEXTS, (), seed=0)
    noisy.model.train()
    first, second = (target_log_probabilities(noisy, pairs[:3]) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_saved_models_load_again_with_equal_scores(
    lm: Seq2SeqLM, pairs: list[tuple[list[int], list[int]]], tmp_path: Path
) -> None:
    lm.save_pretrained(tmp_path)
    again = Seq2SeqLM.from_pretrained(tmp_path)
    assert again.tokenizer.get_vocab() == lm.tokenizer.get_vocab()
    assert again.parameters == lm.parameters
    for a, b in zip(target_log_probabilities(again, pairs), target_log_probabilities(lm, pairs), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert Seq2SeqLM.from_pretrained(tmp_path, dtype="bfloat16").model.dtype == torch.bfloat16


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=40))
def test_the_tiny_tokenizer_decodes_what_it_encodes(text: str) -> None:
    tokenizer = _tokenizer()
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert tokenizer.decode(ids) == text


def _tokenizer(cache: list[PreTrainedTokenizerFast] = []) -> PreTrainedTokenizerFast:  # noqa: B006 (trained once)
    if not cache:
        cache.append(train_tokenizer(TEXTS, 300, ("</UTT>",)))
    return cache[0]


def test_special_tokens_have_the_ids_of_t5_and_are_not_read_from_text() -> None:
    tokenizer = _tokenizer()
    assert tokenizer.convert_tokens_to_ids(["<pad>", "</s>", "<unk>"]) == [0, 1, 2]
    ids = tokenizer("a <extra_id_0> b</UTT>", add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert not set(ids) & set(tokenizer.all_special_ids)


def test_tiny_models_depend_on_the_seed_alone() -> None:
    state = torch.random.get_rng_state()
    a, b, c = (PLAN.build(TEXTS, (), seed).model.state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert any(not torch.equal(a[name], c[name]) for name in a)


def test_infilling_frames_the_segment(lm: Seq2SeqLM) -> None:
    infilling = sentinel_infilling(lm.tokenizer)
    assert lm.tokenizer.convert_ids_to_tokens(infilling.target([5])) == [
        "<extra_id_0>",
        lm.tokenizer.convert_ids_to_tokens(5),
        "<extra_id_1>",
    ]


def test_a_tokenizer_without_sentinels_is_refused(shared_data: Path) -> None:
    gpt2 = AutoTokenizer.from_pretrained(str(shared_data.parent / "tokenizers" / "gpt2"))
    with pytest.raises(ValueError, match="extra_id_0"):
        sentinel_infilling(gpt2)


def test_the_real_t5_vocabulary_gets_a_separator(shared_data: Path, tmp_path: Path) -> None:
    t5 = AutoTokenizer.from_pretrained(str(shared_data.parent / "tokenizers" / "t5"))
    assert sentinel_infilling(t5).mask == (32099,)
    lm = PLAN.build(TEXTS, (), seed=0)
    lm.model.resize_token_embeddings(len(t5))
    Seq2SeqLM(lm.model, t5).save_pretrained(tmp_path)
    built = PretrainedSeq2Seq(str(tmp_path)).build((), ("</UTT>",), seed=0)
    separator = built.tokenizer.get_vocab()["</UTT>"]
    assert separator == len(t5)
    assert built.model.get_input_embeddings().num_embeddings > separator
    assert sentinel_infilling(built.tokenizer).mask == (32099,)
    assert np.isfinite(target_log_probabilities(built, [([separator, 5], [separator, 6])])[0]).all()


def test_attention_of_a_new_t5_falls_with_distance(lm: Seq2SeqLM) -> None:
    slopes = np.array([1 / 8, 1 / 128])[:, None]  # two heads
    biases = [
        stack.block[0].layer[0].SelfAttention.compute_bias(9, 9)[0, :, 4].detach().numpy()  # what token 4 reads
        for stack in (lm.model.encoder, lm.model.decoder)
    ]
    distance = np.arange(-4, 5)
    np.testing.assert_allclose(biases[0], -slopes * np.abs([distance + 1, distance - 1]), atol=1e-6)
    np.testing.assert_allclose(biases[1][:, :5], slopes * distance[:5], atol=1e-6)
