"""Examples and their scores: what they hold and refuse, and what cannot be scored."""

import pickle
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from core.errors import ExampleError
from core.example import Example, hint_column
from core.scores import Scores
from core.selection import check_complete, score_complete


def test_full_text_is_the_text_where_there_is_one():
    assert Example("a", text="t", turns=("u", "v")).full_text == "t"
    assert Example("a", turns=("u", "v")).full_text == "u\nv"


def test_without_text_and_turns_an_answer_is_empty():
    assert [Example("a", text=text).is_empty for text in ("", "\n\t", "x")] == [True, True, False]
    assert not Example("a", turns=("x",)).is_empty


@pytest.mark.parametrize("name", ["turns", "references"])
def test_a_bare_string_is_not_a_list_of_characters(name: str):
    fields: dict[str, Any] = {name: "Hi!"}
    with pytest.raises(TypeError, match=f"{name} must be a sequence of strings, but 'a' has the string 'Hi!'"):
        Example("a", text="t", **fields)
    assert getattr(Example("a", text="t", **{name: ["Hi!"]}), name) == ("Hi!",)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "fields", [{"text": "a"}, {"turns": ("a", "b"), "ratings": {"q": 1.0}, "extra": {"x": 1}, "label": "l"}]
)
def test_an_example_of_checked_values_is_as_any_other(fields: dict[str, Any]):
    example, quick = Example("1", **fields), Example.of_checked({"id": "1", **fields})
    assert (quick, hash(quick), repr(quick), asdict(quick)) == (example, hash(example), repr(example), asdict(example))
    assert pickle.loads(pickle.dumps(quick)) == replace(quick) == example
    assert quick.extra is not Example.of_checked({"id": "1", "text": "a"}).extra


def test_half_a_character_is_refused():
    with pytest.raises(ValueError, match="must be Unicode text, but contains half of a surrogate pair"):
        Example("a", text="a", context="\ud83d")


def test_a_hint_names_some_columns_of_many():
    assert hint_column("system", map(str, range(51))).endswith(" 48, 49, …")


NAN = float("nan")


def scores(**changes: Any) -> Scores:
    whole: dict[str, Any] = {"values": {"a": [1.0, NAN, 3.0]}, "signature": "s", "reasons": (None, "too long", None)}
    return Scores(**{**whole, **changes})


def test_counts():
    values = {"a": [1.0, NAN, 3.0], "b": [NAN, NAN, 1.0]}
    made = scores(values=values, reasons=("b: x", "y", None), dropped_tokens=[0, 5, 1])
    assert (len(made), made.unscored, made.truncated) == (3, 2, 2)
    none = Scores({"a": np.zeros(0)}, "s")
    assert (len(none), none.unscored, none.truncated) == (0, 0, 0)


def test_parts_are_joined():
    some = Scores.join([scores(), scores(values={"a": [1.0]}, reasons=())], "s")
    assert some.reasons == (None, "too long", None, None)
    assert some.dropped_tokens[-1] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": {}}, r"one length, but got \[\]"),
        ({"values": {"a": [1.0], "b": [1.0, 2.0]}}, r"one length, but got \[1, 2\]"),
        ({"reasons": (None,)}, r"reasons must have one entry per example \(3\), but has 1"),
        ({"dropped_tokens": (1, 2)}, r"dropped_tokens must have one entry per example \(3\), but has 2"),
        ({"explanations": ({},)}, r"explanations must have one entry per example \(3\), but has 1"),
        ({"reasons": ()}, "a NaN needs a reason, but a of example 1 has none"),
        ({"values": {"a": [1.0, NAN, -np.inf]}}, "must be finite, or NaN with a reason, but a of example 2 is not"),
        ({"values": {"a": np.zeros((3, 2))}}, r"one score per example, but a has the shape \(3, 2\)"),
    ],
)
def test_refuses(changes: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        scores(**changes)


FULL = Example("a", text="t", context="c", references=("r",), turns=("u", "v"))
EXAMPLES = [Example("x", text="t", context=" "), FULL, Example("y", text="t", context="c", references=("", " "))]


def test_examples_without_a_field_have_a_reason() -> None:
    reasons = check_complete(EXAMPLES, ("context", "references"), "m")
    assert reasons == ["m needs context and references, found none", None, "m needs references, found none"]
    assert check_complete(EXAMPLES, (), "m") == [None] * 3
    assert check_complete([], ("context",), "m") == []


def test_where_no_example_has_the_field_all_are_named() -> None:
    with pytest.raises(ExampleError) as found:
        check_complete([EXAMPLES[0], EXAMPLES[2]], ("turns",), "m")
    assert found.value.at == (
        (0, "m needs two or more turns, found none"),
        (1, "m needs two or more turns, found none"),
    )


def test_scores_of_the_complete_examples_take_their_places() -> None:
    def score(chosen: Sequence[Example]) -> Scores:
        n = len(chosen)
        values = {"q": np.arange(n, dtype=np.float64) + 1}
        return Scores(values, "s", dropped_tokens=[7] * n, explanations=[{"id": e.id} for e in chosen])

    found = score_complete(EXAMPLES, ("context",), "m", score)
    np.testing.assert_array_equal(found.values["q"], [np.nan, 1.0, 2.0])
    assert found.reasons == ("m needs context, found none", None, None)
    assert found.dropped_tokens == (0, 7, 7)
    assert found.explanations == ({}, {"id": "a"}, {"id": "y"})


def test_faults_of_the_scoring_have_the_indices_of_all_examples() -> None:
    def refuse(chosen: Sequence[Example]) -> Scores:
        raise ExampleError((i, f"{example.id} is too long") for i, example in enumerate(chosen))

    with pytest.raises(ExampleError) as found:
        score_complete(EXAMPLES, ("references",), "m", refuse)
    assert found.value.at == ((1, "a is too long"),)


def test_what_is_usual_takes_no_memory_for_each_text() -> None:
    """A million texts with scores hold one reason and one number of dropped tokens."""
    parts = [Scores({"q": np.zeros(500)}, "m", reasons=[None] * 500, dropped_tokens=[0] * 500) for _ in range(200)]
    joined = Scores.join(parts, "m")
    assert (len(joined.reasons), len(joined.dropped_tokens)) == (100_000, 100_000)
    assert sys.getsizeof(joined.reasons) + sys.getsizeof(joined.dropped_tokens) < 1000
