"""A toy BERT for the baselines that embed texts."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bert(saved_bert: Callable[..., Path]) -> Path:
    """A random BERT of 2 layers and 16 dimensions that reads 24 tokens."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["the", "cat", "sat", "on", "mat", *letters, *(f"##{letter}" for letter in letters), *".,!?"]
    return saved_bert(pieces, dimension=16, layers=2, max_length=24)
