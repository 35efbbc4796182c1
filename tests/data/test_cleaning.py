"""Cleaning: hashtags and URLs go, other signs stay."""

import pytest

from core.example import Example
from data.cleaning import clean_examples, remove_hashtags_and_urls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read www.a.org/x?y=1.", "Read"),
        ("#monday was good", "was good"),
        ("C# and a#b stay, so does # alone", "C# and a#b stay, so does # alone"),
        ("two  spaces stay", "two  spaces stay"),
    ],
)
def test_hashtags_and_urls(text: str, expected: str) -> None:
    assert remove_hashtags_and_urls(text) == expected


def test_all_texts_of_an_example_are_cleaned() -> None:
    example = Example("a", "a #b", context="http://x.y c", references=("d #e", "f"), ratings={"overall": 1.0})
    [cleaned] = clean_examples([example])
    assert (cleaned.text, cleaned.context, cleaned.references) == ("a", "c", ("d", "f"))
    assert cleaned.ratings == example.ratings
    assert clean_examples([Example("b", "x")])[0].context is None
