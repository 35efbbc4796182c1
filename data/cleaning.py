"""Cleaning: what MARS removes from its data before scoring (section 3)."""

import re
from collections.abc import Sequence
from dataclasses import replace

from core.example import Example

HASHTAG_OR_URL = re.compile(r"(?:https?://|www\.)\S+|(?<!\w)#\w+")


def remove_hashtags_and_urls(text: str) -> str:
    """The text without hashtags and URLs, and without the white space in front of them."""
    return re.sub(rf"\s*(?:{HASHTAG_OR_URL.pattern})", "", text).strip()


def clean_examples(examples: Sequence[Example]) -> tuple[Example, ...]:
    """The examples without hashtags and URLs in text, context and references."""
    return tuple(map(_clean_example, examples))


def _clean_example(example: Example) -> Example:
    clean = remove_hashtags_and_urls
    return replace(
        example,
        text=clean(example.text),
        context=None if example.context is None else clean(example.context),
        references=tuple(map(clean, example.references)),
    )
