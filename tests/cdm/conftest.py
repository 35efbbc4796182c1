"""A toy language in which every answer follows from its question, and untrained pairs over it."""

import pytest

from cdm.infilling import Pair
from data.builtin.dialogues import generate_dialogues
from tests.toy_models import toy_pair


@pytest.fixture(scope="session")
def dialogues() -> list[tuple[str, ...]]:
    return [example.turns for example in generate_dialogues(60, seed=5)]


@pytest.fixture(scope="session")
def pair(dialogues: list[tuple[str, ...]]) -> Pair:
    return toy_pair([turn for turns in dialogues for turn in turns])
