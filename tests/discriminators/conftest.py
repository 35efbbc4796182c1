"""Toy classifiers and texts."""

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from pytorch_lightning import Trainer
from transformers import BertConfig, BertModel, BertTokenizer

from discriminators.data_module import LabelledText
from discriminators.discriminator import Discriminator, new_bert, new_bilstm

WORDS = ["red", "green", "blue", "cat", "dog", "sun", "moon", "tree"]


def toy_text(generator: random.Random, label: int) -> tuple[str, ...]:
    """Two to four segments of random words; those of class 1 say `yes` somewhere in each, those of class 0 `no`."""
    segments = []
    for _ in range(generator.randint(2, 4)):
        words = generator.choices(WORDS, k=generator.randint(2, 8))
        words.insert(generator.randint(0, len(words)), "yes" if label else "no")
        segments.append(" ".join(words))
    return tuple(segments)


@pytest.fixture(scope="session")
def toy_texts() -> list[LabelledText]:
    """120 pairs of a good and a bad text, each pair a group."""
    generator = random.Random(0)
    return [LabelledText(toy_text(generator, label), label, f"g{i}") for i in range(120) for label in (1, 0)]


@pytest.fixture(scope="session")
def toy_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of 1 layer and 32 dimensions that reads 64 tokens, with a word-piece tokenizer."""
    folder = tmp_path_factory.mktemp("encoder")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "yes", "no", *"abcdefghijklmnopqrstuvwxyz[]"]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    assert "vocab_size" in json.loads((folder / "config.json").read_text())
    return folder


@pytest.fixture(scope="session")
def builds(toy_encoder: Path) -> dict[str, Callable[..., Discriminator]]:
    """How to build a toy of each kind."""
    return {
        "bilstm": partial(new_bilstm, tokens="words", embedding_dim=16, hidden_dim=16, max_tokens=64, dropout=0.1),
        "bert": partial(new_bert, encoder=str(toy_encoder)),
    }


@pytest.fixture(scope="session")
def make_trainer() -> Callable[..., Trainer]:
    """A quiet trainer on one CPU process."""
    return partial(Trainer, accelerator="cpu", devices=1, enable_progress_bar=False, enable_model_summary=False)
