"""Perturbed texts: what each perturbation does, in which shares, and that no text is its own negative."""

import random

import pytest

from baselines.perturbation import (
    DISCRIMINATOR,
    UNION,
    alter_negation,
    exchange_ending,
    perturb_as_union,
    perturb_for_discriminator,
    reorder_sentences,
    repeat_sentence,
    substitute,
)


def test_each_perturbation_by_hand() -> None:
    text, other = ("One cat is here.", "It never sat.", "We left."), ("Two dogs ran.", "They ate.", "They slept.")
    for seed in range(20):
        rng = random.Random(seed)
        repeated = repeat_sentence(text, other, rng)
        assert repeated in {(text[0], text[0], text[2]), (text[0], text[1], text[1])}
        reordered = reorder_sentences(text, other, rng)
        assert reordered is not None
        assert sorted(reordered) == sorted(text)
        assert reordered != text
        assert alter_negation(text, other, rng) in {("One cat is not here.", *text[1:]), (text[0], "It sat.", text[2])}
        assert exchange_ending(text, other, rng) in {(text[0], *other[1:]), (*text[:2], other[2])}
        substituted = substitute(text, other, rng)
        assert substituted is not None
        assert sum(a != b for a, b in zip(text, substituted, strict=True)) >= 1


def test_a_text_of_one_sentence_ends_in_words_of_another() -> None:
    rng = random.Random(0)
    assert exchange_ending(("One cat sat here.",), ("Two dogs ran far away.",), rng) == ("One cat far away.",)
    assert exchange_ending(("One cat sat.", "It ate."), ("No. 7",), rng) == ("One cat No. 7",)
    assert exchange_ending(("One cat sat here.",), ("Yes.",), rng) is None
    reviews = [f"number {i} is a dull film of {i} hours ." for i in range(20)]
    assert None not in perturb_for_discriminator(reviews, 0)


@pytest.mark.parametrize("kind", [*UNION, *DISCRIMINATOR])
def test_a_text_that_cannot_be_perturbed_has_no_negative(kind: object) -> None:
    assert callable(kind)
    assert kind(("Yes",), (), random.Random(0)) is None


def test_a_seed_gives_the_same_negatives_in_every_version() -> None:
    texts = [
        "Ann didn't pay $1,000 to Bob in 1999, can you see? It is  so.\nWe were here!",
        "明月几时有？把酒问青天。不知天上宫阙。",
        "&amp; [MALE] is x_y 's. He has 3.5 km.",
        "One two.",
    ]
    assert perturb_as_union(texts, 1) == [
        "Ann didn't pay $1,000 to Bob in 1999, can you see? One two. We were here!",
        "&amp; [MALE] is x_y 's. He has 3.5 km. 把酒问青天。 把酒问青天。",
        "把酒问青天。",
        "把酒问青天。",
    ]
    assert perturb_for_discriminator(texts, 1) == [
        "We were here! It is  so. Ann didn't pay $1,000 to Bob in 1999, can you see?",
        "明月几时有？ 把酒问青天。 We were here!",
        "&amp; [MALE] is x_y One two.",
        "One here!",
    ]
