"""The rated sets of the built-in corpora, made once for all tests."""

from collections.abc import Callable
from functools import cache, partial

import pytest

from core.example import Example
from data.builtin.concepts import rated_concept_sentences
from data.builtin.controlled import rated_texts
from data.builtin.dialogues import rated_dialogues
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from data.builtin.stories import rated_stories

Rated = Callable[[str, int], tuple[Example, ...]]


@pytest.fixture(scope="session")
def rated() -> Rated:
    """`rated(name, seed)`: 400 rated texts, or 399 concept sentences."""
    makers = {
        "review": partial(rated_texts, REVIEWS, 400),
        "news": partial(rated_texts, NEWS, 400),
        "dialogues": partial(rated_dialogues, 400),
        "stories": partial(rated_stories, 400),
        "concepts": partial(rated_concept_sentences, 399),
    }
    return cache(lambda name, seed: makers[name](seed=seed))
