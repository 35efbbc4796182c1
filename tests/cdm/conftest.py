"""A toy language in which every answer follows from its question, and untrained pairs over it."""

import pytest

from cdm.infilling import SEPARATOR, Pair
from data.builtin.dialogues import generate_dialogues
from models.tiny import TinyT5


@pytest.fixture(scope="session")
def dialogues() -> list[tuple[str, ...]]:
    return [example.turns for example in generate_dialogues(60, seed=5)]


@pytest.fixture(scope="session")
def pair(dialogues: list[tuple[str, ...]]) -> Pair:
    texts = [turn for turns in dialogues for turn in turns]
    amateur = TinyT5(400, 16, 32, 2, 1, 1).build(texts, (SEPARATOR,), seed=1)
    expert = TinyT5(400, 32, 64, 2, 1, 1).build(texts, (SEPARATOR,), seed=2)
    return Pair(amateur, expert, max_length=60)
