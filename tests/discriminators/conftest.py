import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discriminators.discriminator import new_bert, new_bilstm
from discriminators.guides import new_causal_guide
from discriminators.texts import LabelledText
from models.tiny import train_tokenizer

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
def toy_encoder(saved_bert: Callable[..., Path]) -> Path:
    """A random BERT of 1 layer and 32 dimensions that reads 64 tokens."""
    return saved_bert(
        [*WORDS, "yes", "no", *"abcdefghijklmnopqrstuvwxyz[]"],
        dimension=32,
        layers=1,
        max_length=64,
    )


@pytest.fixture(scope="session")
def builds(toy_encoder: Path) -> dict[str, Callable[..., Any]]:
    """How to build a toy of each kind."""
    tokenizer = train_tokenizer([" ".join([*WORDS, "yes", "no"])] * 3, 300, sentinels=())
    return {
        "bilstm": partial(
            new_bilstm,
            tokens="words",
            embedding_dim=16,
            hidden_dim=16,
            max_length=64,
            dropout=0.1,
        ),
        "bert": partial(new_bert, encoder=str(toy_encoder)),
        "guide": partial(
            new_causal_guide,
            tokenizer=tokenizer,
            embedding_dim=16,
            hidden_dim=16,
            dropout=0.1,
        ),
    }
