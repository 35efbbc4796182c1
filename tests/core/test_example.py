"""Example: what it holds and refuses."""

import pickle
from dataclasses import asdict, replace
from typing import Any

import pytest

from core.example import Example


def test_full_text_is_the_text_where_there_is_one():
    assert Example("a", text="t", turns=("u", "v")).full_text == "t"
    assert Example("a", turns=("u", "v")).full_text == "u\nv"


def test_needs_text_or_turns():
    with pytest.raises(ValueError, match=r"needs text or turns, but 'a' has neither"):
        Example("a", text="\n\t")


@pytest.mark.parametrize("name", ["turns", "references"])
def test_a_bare_string_is_not_a_list_of_characters(name: str):
    fields: dict[str, Any] = {name: "Hi!"}
    with pytest.raises(TypeError, match=f"{name} must be a sequence of strings, but 'a' has the string 'Hi!'"):
        Example("a", text="t", **fields)


@pytest.mark.parametrize(
    "fields", [{"text": "a"}, {"turns": ("a", "b"), "ratings": {"q": 1.0}, "extra": {"x": 1}, "label": "l"}]
)
def test_an_example_of_checked_values_is_as_any_other(fields: dict[str, Any]):
    example, quick = Example("1", **fields), Example.of_checked({"id": "1", **fields})
    assert (quick, hash(quick), repr(quick), asdict(quick)) == (example, hash(example), repr(example), asdict(example))
    assert pickle.loads(pickle.dumps(quick)) == replace(quick) == example
    assert quick.extra is not Example.of_checked({"id": "1", "text": "a"}).extra


def test_half_a_character_is_refused():
    with pytest.raises(ValueError, match="must be Unicode text, but holds half of a surrogate pair"):
        Example("a", text="a", context="\ud83d")
