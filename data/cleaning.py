"""Cleaning: removes hashtags and URLs from texts, as MARS does before scoring (section 3)."""

import re
from collections.abc import Sequence
from dataclasses import replace

from core.example import Example, Examples

HASHTAG_OR_URL = re.compile(r"(?:https?://|www\.)\S+|(?<!\w)#\w+")


def remove_hashtags_and_urls(text: str) -> str:
    """Removes hashtags and URLs from a text, with the white space in front of them."""
    return re.sub(rf"\s*(?:{HASHTAG_OR_URL.pattern})", "", text).strip()


def clean_examples(examples: Sequence[Example]) -> Examples:
    """Removes hashtags and URLs from text, context and references of the examples."""
    return tuple(map(_clean_example, examples))


def _clean_example(example: Example) -> Example:
    clean = remove_hashtags_and_urls
    return replace(
        example,
        text=clean(example.text),
        context=None if example.context is None else clean(example.context),
        references=tuple(map(clean, example.references)),
    )
