import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice

import pytest

from core.example import Example
from data.builtin.damage import (
    Fact,
    by_word_count,
    contradict_fact,
    garble_words,
    repeat_turn,
    replace_turn,
    swap_turns,
)
from data.builtin.dialogue_grammar import BOTH, Dialogue, fact_values
from data.builtin.dialogue_world import TOPICS
from data.builtin.dialogues import generate_dialogues, random_dialogues

Rated = Callable[[str, int], tuple[Example, ...]]
DAMAGES = {"foreign_turn", "swapped_turns", "contradicted_fact", "repeated_turn", "garbled_words"}


@cache
def annotated() -> tuple[Dialogue, ...]:
    return tuple(islice(random_dialogues(random.Random(11), reserved=False), 4000))


@cache
def clean_of_rated(seed: int, n: int = 400) -> tuple[tuple[str, ...], ...]:
    return tuple(d.turns for d in islice(random_dialogues(random.Random(seed), reserved=True), n))


def words(turns: Iterable[str]) -> list[str]:
    return [token.strip(".,?") for turn in turns for token in turn.split()]


# ---- generation ----------------------------------------------------------------------------------------------------


def test_no_dialogue_contradicts_itself_or_the_world() -> None:
    for d in annotated():
        values: dict[tuple[int, str], str] = {}
        for fact in (fact for facts in d.facts for fact in facts):
            assert values.setdefault((fact.owner, fact.kind), fact.value) == fact.value
        topic = TOPICS[d.topic]
        for owner in (0, 1):
            known = {kind: values[owner, kind] for kind in topic.kinds if (owner, kind) in values}
            rows = [dict(zip(topic.kinds, row, strict=True)) for row in topic.rows]
            assert any(known.items() <= row.items() for row in rows)
            assert not known or topic.kinds[0] in known
        assert values.get((0, "name")) != values.get((1, "name"))
        assert values.get((BOTH, "topic"), d.topic) == d.topic


# ---- the world and its phrases -------------------------------------------------------------------------------------


# ---- damages -------------------------------------------------------------------------------------------------------

ALL = range(5)
TALK = ("do you have a pet?", "i have a cat.", "what does your cat eat?", "my cat eats fish.", "bye.")


@pytest.mark.parametrize("seed", range(8))
def test_replace_turn_by_hand(seed: int) -> None:
    pool = by_word_count(["it will rain today.", "my cat eats fish.", "rome is in the south of italy."])
    assert replace_turn(TALK, random.Random(seed), ALL, pool) in (
        ("do you have a pet?", "it will rain today.", *TALK[2:]),
        (*TALK[:3], "it will rain today.", "bye."),
    )
    assert replace_turn(TALK, random.Random(seed), [4], pool) == (*TALK[:4], "it will rain today.")


@pytest.mark.parametrize("seed", range(8))
def test_swap_turns_moves_a_question(seed: int) -> None:
    swapped = swap_turns(TALK, random.Random(seed), ALL)
    assert swapped is not None
    moved = [i for i in range(5) if swapped[i] != TALK[i]]
    assert len(moved) == 2
    assert (swapped[moved[0]], swapped[moved[1]]) == (TALK[moved[1]], TALK[moved[0]])
    assert {0, 2} & set(moved)
    assert swap_turns(TALK, random.Random(seed), free=[1, 3]) == tuple(TALK[i] for i in (0, 3, 2, 1, 4))


@pytest.mark.parametrize("seed", range(8))
def test_repeat_turn_by_hand(seed: int) -> None:
    assert repeat_turn(TALK, random.Random(seed), ALL) in (
        (*TALK[:2], TALK[0], *TALK[3:]),
        (*TALK[:3], TALK[1], TALK[4]),
    )
    nearest = repeat_turn(TALK, random.Random(seed), free=[4])
    assert nearest in ((*TALK[:4], TALK[1]), (*TALK[:4], TALK[3]))


@pytest.mark.parametrize("seed", range(8))
def test_garble_words_shuffles_without_a_vocabulary(seed: int) -> None:
    garbled = garble_words(("well , i have a cat !", "cat cat."), random.Random(seed), free=[0, 1])
    assert garbled is not None
    assert garbled[0] != "well , i have a cat !"
    assert garbled[1] == "cat cat."
    tokens = garbled[0].split()
    assert (tokens[1], tokens[6]) == (",", "!")
    assert sorted(tokens) == ["!", ",", "a", "cat", "have", "i", "well"]


@pytest.mark.parametrize("seed", range(8))
def test_garble_words_draws_from_the_vocabulary(seed: int) -> None:
    garbled = garble_words(TALK, random.Random(seed), ALL, vocabulary=["red", "do", "i", "what", "my"])
    assert garbled is not None
    changed = [i for i in range(5) if garbled[i] != TALK[i]]
    assert len(changed) == 1
    assert changed != [4]  # one word cannot be garbled
    assert len(garbled[changed[0]].split()) == len(TALK[changed[0]].split())
    assert garbled[changed[0]][-1] == TALK[changed[0]][-1]


NOTHING_TO_CHANGE: list[Callable[[random.Random], object]] = [
    *(lambda rng, pool=pool: replace_turn(TALK, rng, ALL, pool) for pool in (by_word_count(["bye."]), {})),
    lambda rng: replace_turn(TALK, rng, [], by_word_count(["so."])),
    lambda rng: swap_turns(("yes.", "yes."), rng, free=[0, 1]),
    lambda rng: swap_turns(TALK, rng, free=[2]),
    lambda rng: repeat_turn(TALK, rng, free=[0]),
    lambda rng: garble_words(("yes yes.", "no!"), rng, free=[0, 1]),
]


@pytest.mark.parametrize("damage", NOTHING_TO_CHANGE)
def test_turns_that_cannot_be_damaged(damage: Callable[[random.Random], object]) -> None:
    assert damage(random.Random(0)) is None


def test_garble_words_draws_another_word() -> None:
    ways = {garble_words(("yes no.",), random.Random(seed), free=[0], vocabulary=["yes"]) for seed in range(20)}
    assert ways == {None, ("no yes.",)}


@pytest.mark.parametrize("seed", range(8))
def test_contradict_fact_by_hand(seed: int) -> None:
    cat = Fact(1, "pet", "cat", 3)
    facts = [[], [cat], [Fact(1, "pet", "cat", 3)], [Fact(1, "pet", "cat", 1), Fact(1, "food", "fish", 3)], []]
    values = {"pet": ["cat", "dog"], "food": ["fish", "hay"]}
    damaged = contradict_fact(TALK, random.Random(seed), ALL, facts, values)
    assert damaged in (
        (TALK[0], "i have a dog.", *TALK[2:]),
        (*TALK[:2], "what does your dog eat?", *TALK[3:]),
        (*TALK[:3], "my dog eats fish.", TALK[4]),
    )
    # The food is said once only, and with one free turn nothing is left to contradict.
    assert contradict_fact(TALK, random.Random(seed), [3], facts, values) is None
    assert contradict_fact(TALK, random.Random(seed), ALL, facts, {"pet": ["cat"], "food": []}) is None


# ---- the rated set -------------------------------------------------------------------------------------------------


def test_rated_levels_in_equal_shares(rated: Rated) -> None:
    examples = rated("dialogues", 0)
    assert Counter(e.ratings["quality"] for e in examples) == dict.fromkeys((0.0, 0.25, 0.5, 0.75, 1.0), 80)
    assert [e.id for e in examples[:2]] == ["builtin-rated-0-0", "builtin-rated-0-1"]
    assert len({e.group for e in examples}) == 400
    kinds = Counter(kind for e in examples if e.label for kind in e.label.split("+"))
    assert set(kinds) == DAMAGES
    assert min(kinds.values()) > 0.15 * kinds.total()


def test_level_is_the_number_of_damages_on_different_turns(rated: Rated) -> None:
    for seed in range(2):
        for e, clean in zip(rated("dialogues", seed), clean_of_rated(seed), strict=True):
            kinds = e.label.split("+") if e.label else []
            changed = [i for i, (new, old) in enumerate(zip(e.turns, clean, strict=True)) if new != old]
            assert len(kinds) == len(set(kinds)) == round(4 * (1 - e.ratings["quality"]))
            assert len(changed) == len(kinds) + ("swapped_turns" in kinds)
            assert len(words(e.turns)) == len(words(clean))
            assert ("repeated_turn" in kinds) == (len(set(e.turns)) < len(e.turns))
            assert e.label is not None or e.turns == clean


def test_single_damages_are_what_they_are_called(rated: Rated) -> None:
    for e, clean in ((e, c) for s in range(2) for e, c in zip(rated("dialogues", s), clean_of_rated(s), strict=True)):
        changed = [i for i, (new, old) in enumerate(zip(e.turns, clean, strict=True)) if new != old]
        match e.label:
            case "swapped_turns":
                i, j = changed
                assert (e.turns[i], e.turns[j]) == (clean[j], clean[i])
            case "foreign_turn":
                assert e.turns[changed[0]] not in clean
                assert len(e.turns[changed[0]].split()) == len(clean[changed[0]].split())
            case "repeated_turn":
                assert e.turns[changed[0]] in e.turns[: changed[0]]
            case "garbled_words":
                new, old = words([e.turns[changed[0]]]), words([clean[changed[0]]])
                assert sum(a != b for a, b in zip(new, old, strict=True)) >= 3
            case "contradicted_fact":
                new, old = words([e.turns[changed[0]]]), words([clean[changed[0]]])
                (was,) = {b for a, b in zip(new, old, strict=True) if a != b}
                assert any(was in words([turn]) for i, turn in enumerate(e.turns) if i != changed[0])
            case _:
                pass


def test_contradicted_value_is_said_nowhere_else() -> None:
    for d in annotated()[:300]:
        damaged = contradict_fact(d.turns, random.Random(0), range(len(d.turns)), d.facts, fact_values())
        assert damaged is not None
        (i,) = (i for i in range(len(damaged)) if damaged[i] != d.turns[i])
        before, after = words([d.turns[i]]), words([damaged[i]])
        pairs = {(a, b) for a, b in zip(before, after, strict=True) if a != b}
        ((was, now),) = pairs
        (kind,) = {f.kind for f in d.facts[i] if f.value == was and before[f.position] == was != after[f.position]}
        assert now in fact_values()[kind]
        assert now not in {f.value for facts in d.facts for f in facts if f.kind == kind}


def test_training_dialogues_are_none_of_the_clean_ones() -> None:
    train = {e.turns for e in generate_dialogues(1000, 0)}
    assert not any(train & set(clean_of_rated(seed)) for seed in range(2))
