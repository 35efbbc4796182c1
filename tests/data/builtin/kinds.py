"""The built-in corpora by name, and their rated sets, made once for all tests."""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from core.example import Example
from data.builtin.concepts import generate_concept_sentences, rated_concept_sentences
from data.builtin.controlled import generate_texts, rated_texts
from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.builtin.news import NEWS
from data.builtin.remarks import generate_remarks, rated_remarks
from data.builtin.reviews import REVIEWS
from data.builtin.stories import generate_stories, rated_stories
from data.builtin.verse import generate_verse

Make = Callable[..., tuple[Example, ...]]


class Kind(NamedTuple):
    """How a corpus is made, the field that makes a text another one, and the digests of 50 and of 40 rated texts."""

    generate: Make
    rate: Make | None
    field: str
    digests: tuple[str, ...]


KINDS = {
    "review": Kind(
        partial(generate_texts, REVIEWS),
        partial(rated_texts, REVIEWS),
        "text",
        ("72c43c04383c6c42", "8a463efdbc455128"),
    ),
    "news": Kind(
        partial(generate_texts, NEWS), partial(rated_texts, NEWS), "text", ("0fe8860fd13689f1", "345a359fa73fbc54")
    ),
    "remarks": Kind(generate_remarks, rated_remarks, "text", ("e7b53859aeb4803e", "91e0eb3656c5038f")),
    "dialogues": Kind(generate_dialogues, rated_dialogues, "turns", ("cdf56b08f78e794d", "0686111f1c402a59")),
    "stories": Kind(generate_stories, rated_stories, "context", ("60bdb4a72063788f", "db61d89af530260b")),
    "concepts": Kind(
        generate_concept_sentences, rated_concept_sentences, "group", ("5e609d74a309e1c0", "1b78f1ef7e753ec4")
    ),
    "verse": Kind(generate_verse, None, "text", ("ff0323e63a9e8a4e",)),
}


@cache
def rate(name: str, seed: int) -> tuple[Example, ...]:
    """400 rated texts; 408 remarks, 399 concept sentences, which come in threes."""
    make = KINDS[name].rate
    assert make is not None
    return make({"concepts": 399, "remarks": 408}.get(name, 400), seed=seed)
