"""Perturbations: what each changes, by hand, and that strength and seeds behave."""

import random

import pytest

from core.example import Example
from data.perturbations import (
    DAMAGES,
    EDITS,
    damage_example,
    drop,
    edit_example,
    reorder,
    repeat,
    retrieve,
    swap_speakers,
)

FOUR = ("a.", "b.", "c.", "d.")
OTHER = ("w.", "x.", "y.", "z.")


def test_whole_damage_by_hand() -> None:
    rng = random.Random(0)
    assert retrieve(FOUR, OTHER, 0.5, rng) == ("a.", "b.", "y.", "z.")
    assert retrieve(FOUR, OTHER, 1.0, rng) == OTHER
    assert [len(drop(FOUR[:n], OTHER, 1.0, rng)) for n in (1, 2, 3, 4)] == [1, 1, 2, 2]
    assert repeat(FOUR, OTHER, 1.0, rng) == ("a.", "a.", "b.", "b.", "c.", "c.", "d.", "d.")
    assert swap_speakers(FOUR, OTHER, 1.0, rng) == ("b.", "a.", "d.", "c.")


@pytest.mark.parametrize("seed", range(20))
def test_reorder_keeps_the_units_and_changes_their_order(seed: int) -> None:
    moved = reorder(FOUR, OTHER, 0.5, random.Random(seed))
    assert sorted(moved) == sorted(FOUR)
    assert moved != FOUR
    assert sum(a != b for a, b in zip(moved, FOUR, strict=True)) == 2  # half of four units


def test_what_cannot_be_damaged_stays() -> None:
    text, dialogue = Example("a", text="One sentence"), Example("b", turns=("Hi", "Hi"))
    assert damage_example(text, dialogue, "reorder", 1.0, 0) is text
    assert damage_example(text, dialogue, "drop", 1.0, 0) is text
    assert damage_example(text, dialogue, "negate", 1.0, 0) is text
    assert damage_example(text, dialogue, "entity swap", 1.0, 0) is text
    assert damage_example(text, dialogue, "speaker swap", 1.0, 0) is text
    assert damage_example(dialogue, text, "speaker swap", 1.0, 0) is dialogue


@pytest.mark.parametrize("name", set(DAMAGES) - {"speaker swap"})
def test_the_sentences_of_the_prefix_stay(name: str) -> None:
    text = "I met Ann in Rome. She was in Paris on 12 May. It is late. We can see Bob at 9."
    example, other = Example("a", text=text, prefix="I met Ann"), Example("b", text="They saw Carl. Yes, Dora has 3.")
    damaged = damage_example(example, other, name, 1.0, 1).text
    assert damaged.startswith("I met Ann in Rome. ")
    assert damaged != text
    alone = Example("a", text="I met Ann in Rome and it was 12.", prefix="I met Ann")
    assert damage_example(alone, other, name, 1.0, 1) is alone


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_depends_on_the_example_and_the_seed_alone(name: str) -> None:
    turns = ("I met Ann in Rome.", "She was in Paris on 12 May.", "It is late.", "We can see Bob at 9.")
    example, other = Example("a", turns=turns), Example("b", turns=("They saw Carl.", "Yes, Dora has 3 cats."))
    once, again = (damage_example(example, other, name, 0.5, 1) for _ in range(2))
    assert once == again != example
    assert (once.id, once.text) == ("a", "")


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
