"""Reorder and Retrieve."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from core.example import Example
from data.adversaries import apply_reorder, apply_retrieve
from data.builtin.stories import rated_stories

EXAMPLES = rated_stories(60, 0)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_reordered_keeps_the_words_and_moves_at_most_half() -> None:
    for before, after in zip(EXAMPLES, apply_reorder(EXAMPLES, seed=1), strict=True):
        a, b = words(before.text), words(after.text)
        assert Counter(a) == Counter(b)
        assert 2 <= sum(x != y for x, y in zip(a, b, strict=True)) <= len(a) // 2
        assert re.sub(r"\w+", "", before.text) == re.sub(r"\w+", "", after.text)
        assert (before.id, before.references, before.ratings) == (after.id, after.references, after.ratings)


BLEU_WORDS = Tokenizer13a()
TRICKY = """10,000 1.5 's $3,000 U.S. d,group ... -- &amp; (in 2012). don't 'yes' [MALE] [MALE]'s [A]. a""".split()  # noqa: SIM905


@given(st.text(alphabet="ab1 .,'-$:/&;()\"[]é’", max_size=40) | st.lists(st.sampled_from(TRICKY)).map(" ".join))
@settings(max_examples=400, deadline=None)
def test_the_words_of_bleu_1_are_the_same_after_reorder(text: str) -> None:
    if text.strip():
        [after] = apply_reorder([Example("a", text=text)], seed=0)
        assert Counter(BLEU_WORDS(after.text).split()) == Counter(BLEU_WORDS(text).split())


def test_every_place_is_shuffled_sometimes() -> None:
    example = Example("a", text="one two three four five six")
    moved = {
        i
        for seed in range(100)
        for i, (x, y) in enumerate(zip(words(example.text), words(apply_reorder([example], seed)[0].text), strict=True))
        if x != y
    }
    assert moved == set(range(6))


@pytest.mark.parametrize("text", ["yes", "so so so.", "!"])
def test_what_cannot_be_shuffled_stays(text: str) -> None:
    assert apply_reorder([Example("a", text=text)], seed=0)[0].text == text


def test_a_stand_in_for_a_name_stays_whole() -> None:
    texts = {apply_reorder([Example("a", text="[MALE] ran .")], seed)[0].text for seed in range(20)}
    assert texts == {"ran [MALE] ."}


def test_an_adversary_does_not_depend_on_its_neighbours() -> None:
    for make in (apply_reorder, apply_retrieve):
        assert make(EXAMPLES, seed=2)[::-1] == make(EXAMPLES[::-1], seed=2)
        assert make(EXAMPLES, seed=2) != make(EXAMPLES, seed=3)


def test_retrieved_is_a_sentence_of_the_context() -> None:
    context = "He ran 3.5 miles. It rained! Why ?  The end"
    drawn = {apply_retrieve([Example("a", text="x", context=context)], seed)[0].text for seed in range(60)}
    assert drawn == {"He ran 3.5 miles.", "It rained!", "Why ?", "The end"}
    chinese = {apply_retrieve([Example("a", text="x", context="下雨了。他走了！")], seed)[0].text for seed in range(20)}
    assert chinese == {"下雨了。", "他走了！"}


@pytest.mark.parametrize("context", [None, " "])
def test_retrieved_needs_a_context(context: str | None) -> None:
    with pytest.raises(ValueError, match="Retrieve needs a context, but 'a' has none"):
        apply_retrieve([Example("a", text="x", context=context)], seed=0)


def test_a_seed_gives_the_same_order_of_words_in_every_version() -> None:
    texts = (
        "Ann didn't pay $1,000 to Bob in 1999, can you see? It is  so.\nWe were here!",
        "明月几时有？把酒问青天。不知天上宫阙。",
        "&amp; [MALE] is x_y 's. He has 3.5 km.",
    )
    found = apply_reorder([Example(str(i), text=text) for i, text in enumerate(texts)], seed=0)
    assert [example.text for example in found] == [
        "Ann didn't It $1,000 to Bob 1999 see, in you so? pay is  can.\nWe were here!",
        "明月几时有？把酒问青天。不知天上宫阙。",
        "&amp; [MALE] 3.5 x_y 's. He has km is.",
    ]
