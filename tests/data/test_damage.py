"""Damage: what each kind changes, by hand, that strength and seeds behave; edits; Reorder and Retrieve of MARS."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from core.example import Example
from data.builtin.stories import rated_stories
from data.damage import (
    DAMAGES,
    EDITS,
    Draw,
    apply_reorder,
    apply_retrieve,
    damage_example,
    drop,
    edit_example,
    repeat,
    retrieve,
    swap_speakers,
)

FOUR = ("a.", "b.", "c.", "d.")
OTHER = ("w.", "x.", "y.", "z.")


def test_whole_damage_by_hand() -> None:
    rng = random.Random(0)
    assert retrieve(FOUR, Draw(OTHER, 0.5, rng)) == ("a.", "b.", "y.", "z.")
    assert retrieve(FOUR, Draw(OTHER, 1.0, rng)) == OTHER
    assert [len(drop(FOUR[:n], Draw(OTHER, 1.0, rng))) for n in (1, 2, 3, 4)] == [1, 1, 2, 2]
    assert repeat(FOUR, Draw(OTHER, 1.0, rng)) == ("a.", "a.", "b.", "b.", "c.", "c.", "d.", "d.")
    assert swap_speakers(FOUR, Draw(OTHER, 1.0, rng)) == ("b.", "a.", "d.", "c.")


def test_what_cannot_be_damaged_stays() -> None:
    text, dialogue = Example("a", text="One sentence"), Example("b", turns=("Hi", "Hi"))
    for name in ("reorder", "drop", "negate", "entity swap", "speaker swap"):
        assert damage_example(text, dialogue, name, 1.0, 0) is text
    assert damage_example(dialogue, text, "speaker swap", 1.0, 0) is dialogue


@pytest.mark.parametrize("name", sorted(set(DAMAGES) - {"speaker swap"}))
def test_the_sentences_of_the_prefix_stay(name: str) -> None:
    text = "I met Ann in Rome. She was in Paris on 12 May. It is late. We can see Bob at 9."
    example, other = Example("a", text=text, prefix="I met Ann"), Example("b", text="They saw Carl. Yes, Dora has 3.")
    damaged = damage_example(example, other, name, 1.0, 1).text
    assert damaged.startswith("I met Ann in Rome. ")
    assert damaged != text
    alone = Example("a", text="I met Ann in Rome and it was 12.", prefix="I met Ann")
    assert damage_example(alone, other, name, 1.0, 1) is alone


def test_edits_by_hand() -> None:
    example = Example("a", text="It is cold. We are not here!", turns=("I am late.",))
    found = {name: edit_example(example, name) for name in EDITS}
    assert found["case"].text == "it is cold. we are not here!"
    assert found["white space"].text == "It  is  cold.  We  are  not  here!"
    assert found["punctuation"].text == "It is cold We are not here"
    assert found["contraction"].text == "It's cold. We aren't here!"
    assert found["contraction"].turns == ("I'm late.",)
    begun = edit_example(Example("a", text="It is cold.", prefix="It is"), "case")
    assert (begun.text, begun.prefix) == ("it is cold.", "it is")


KEPT = {
    "reorder": "We were here! It is  so. Ann didn't pay $1,000 to Bob in 1999, can you see?",
    "retrieve": "Ann didn't pay $1,000 to Bob in 1999, can you see? She was late. They left Rome.",
    "drop": "Ann didn't pay $1,000 to Bob in 1999, can you see? It is  so.",
    "repeat": "Ann didn't pay $1,000 to Bob in 1999, can you see? Ann didn't pay $1,000 to Bob in 1999, can you see? "
    "It is  so. It is  so. We were here!",
    "negate": "Ann didn't pay $1,000 to Bob in 1999, can you see? It is not  so. We were not here!",
    "entity swap": "Ann didn't pay $1,000 to 7 in Rome, can you see? It is  so. We were here!",
    "foreign sentence": "Ann didn't pay $1,000 to Bob in 1999, can you see? It is  so. They left Rome. We were here! "
    "Then Carl met Dora on 7 May.",
}


@pytest.mark.parametrize("name", KEPT)
def test_a_seed_gives_the_same_damage_in_every_version(name: str) -> None:
    text = "Ann didn't pay $1,000 to Bob in 1999, can you see? It is  so.\nWe were here!"
    other = Example("o", text="Then Carl met Dora on 7 May. She was late. They left Rome.")
    assert damage_example(Example("a", text=text), other, name, 0.5, 1).text == KEPT[name]


EXAMPLES = rated_stories(60, 0)
BLEU_WORDS = Tokenizer13a()
TRICKY = """10,000 1.5 's $3,000 U.S. d,group ... -- &amp; (in 2012). don't 'yes' [MALE] [MALE]'s [A]. a""".split()  # noqa: SIM905


@given(st.text(alphabet="ab1 .,'-$:/&;()\"[]é’", max_size=40) | st.lists(st.sampled_from(TRICKY)).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_the_words_of_bleu_1_are_the_same_after_reorder(text: str) -> None:
    if text.strip():
        [after] = apply_reorder([Example("a", text=text)], seed=0)
        assert Counter(BLEU_WORDS(after.text).split()) == Counter(BLEU_WORDS(text).split())


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
    with pytest.raises(ValueError, match="Retrieve needs a context, but 'a' has none"):
        apply_retrieve([Example("a", text="x", context=" ")], seed=0)


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
