"""Small models from scratch: their tokenizer, seeds, and a separator in a real vocabulary."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from models.conditional import PretrainedLM
from models.families import T5
from models.infilling import make_infilling
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyCausal, TinyT5, train_tokenizer

TEXTS = ["hello there, how are you?", "i am fine.", "the cat sat on the mat."]
PLAN = TinyT5(vocabulary=300, d_model=16, d_ff=32, num_heads=2, num_layers=1, num_decoder_layers=1)


def test_a_gpt2_from_scratch() -> None:
    one, same, other = (
        TinyCausal(300, 16, 2, 2, 32, max_length=64).build(TEXTS, ("<title>",), seed) for seed in (1, 1, 2)
    )
    assert torch.equal(one.model.transformer.wte.weight, same.model.transformer.wte.weight)
    assert not torch.equal(one.model.transformer.wte.weight, other.model.transformer.wte.weight)
    ids = one.tokenizer("<title>the 猫 sat</s>")["input_ids"]
    assert ids[0] == 3
    assert ids[-1] == one.tokenizer.eos_token_id == one.start
    assert one.tokenizer.decode(ids) == "<title>the 猫 sat</s>"


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer(TEXTS, 300, ("</UTT>",))


@settings(deadline=None, max_examples=50)
@given(text=st.text(max_size=40))
def test_the_tiny_tokenizer_decodes_what_it_encodes(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert tokenizer.decode(ids) == text


def test_special_tokens_have_the_ids_of_t5_and_are_not_read_from_text(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokenizer.convert_tokens_to_ids(["<pad>", "</s>", "<unk>"]) == [0, 1, 2]
    ids = tokenizer("a <extra_id_0> b</UTT>", add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert not set(ids) & set(tokenizer.all_special_ids)


def test_the_real_t5_vocabulary_gets_a_separator(vocabularies: Path, tmp_path: Path) -> None:
    t5 = AutoTokenizer.from_pretrained(str(vocabularies / "t5"))
    assert 32099 in make_infilling(T5, t5).marks
    lm = PLAN.build(TEXTS, (), seed=0)
    lm.model.resize_token_embeddings(len(t5))
    Seq2SeqLM(lm.model, t5).save_pretrained(tmp_path)
    built = PretrainedLM(str(tmp_path)).build((), ("</UTT>",), seed=0)
    separator = built.tokenizer.get_vocab()["</UTT>"]
    assert separator == len(t5)
    assert built.model.get_input_embeddings().num_embeddings > separator
    assert 32099 in make_infilling(T5, built.tokenizer).marks
    assert np.isfinite(built.log_probabilities([([separator, 5], [separator, 6])])[0]).all()


def test_attention_of_a_new_t5_falls_with_distance() -> None:
    model = PLAN.build(TEXTS, ("</UTT>",), seed=3).model
    slopes = np.array([1 / 8, 1 / 128])[:, None]  # two heads
    biases = [
        stack.block[0].layer[0].SelfAttention.compute_bias(9, 9)[0, :, 4].detach().numpy()  # what token 4 reads
        for stack in (model.encoder, model.decoder)
    ]
    distance = np.arange(-4, 5)
    np.testing.assert_allclose(biases[0], -slopes * np.abs([distance + 1, distance - 1]), atol=1e-6)
    np.testing.assert_allclose(biases[1][:, :5], slopes * distance[:5], atol=1e-6)
