"""Built-in dialogues: nothing contradicts itself, damages by hand, and what the rated set says of itself."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice

import pytest

from data.builtin.damage import (
    Fact,
    Turns,
    by_word_count,
    contradict_fact,
    garble_words,
    repeat_turn,
    replace_turn,
    swap_turns,
)
from data.builtin.dialogues import BOTH, TOPICS, VALUES, Dialogue, random_dialogues
from tests.data.builtin.kinds import rate

ALL = range(5)
TALK = ("do you have a pet?", "i have a cat.", "what does your cat eat?", "my cat eats fish.", "bye.")
RAIN = "it will rain today."
POOL = by_word_count([RAIN, "my cat eats fish.", "rome is in the south of italy."])
CAT, FISH = Fact(1, "pet", "cat", 3), Fact(1, "food", "fish", 3)
FACTS = [[], [CAT], [CAT], [CAT._replace(position=1), FISH], []]
PETS = {"pet": ["cat", "dog"], "food": ["fish", "hay"]}
Damage = Callable[[random.Random], Turns | None]


@cache
def draw(seed: int, reserved: bool, n: int) -> tuple[Dialogue, ...]:
    return tuple(islice(random_dialogues(random.Random(seed), reserved), n))


def words(turns: Iterable[str]) -> list[str]:
    return [token.strip(".,?") for turn in turns for token in turn.split()]


def test_no_dialogue_contradicts_itself_or_the_world() -> None:
    for d in draw(11, reserved=False, n=2000):
        values: dict[tuple[int, str], str] = {(BOTH, "topic"): d.topic}
        for turn, facts in zip(d.turns, d.facts, strict=True):
            for fact in facts:
                assert values.setdefault(fact[:2], fact.value) == fact.value
                assert words([turn])[fact.position] == fact.value
        topic = TOPICS[d.topic]
        for owner in (0, 1):
            known = {kind: values[owner, kind] for kind in topic.kinds if (owner, kind) in values}
            assert any(known.items() <= dict(zip(topic.kinds, row, strict=True)).items() for row in topic.rows)
            assert not known or topic.kinds[0] in known
        assert values.get((0, "name")) != values.get((1, "name"))


def change(**turns: str) -> Turns:
    """The talk with other turns."""
    return tuple(turns.get(f"t{i}", turn) for i, turn in enumerate(TALK))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda rng: replace_turn(TALK, rng, ALL, POOL), {change(t1=RAIN), change(t3=RAIN)}),
        (lambda rng: replace_turn(TALK, rng, [4], POOL), {change(t4=RAIN)}),
        (lambda rng: swap_turns(TALK, rng, [1, 3]), {change(t1=TALK[3], t3=TALK[1])}),
        (
            lambda rng: swap_turns(TALK, rng, [0, 1, 3]),  # one is a question
            {change(t0=TALK[1], t1=TALK[0]), change(t0=TALK[3], t3=TALK[0])},
        ),
        (lambda rng: repeat_turn(TALK, rng, ALL), {change(t2=TALK[0]), change(t3=TALK[1])}),
        (lambda rng: repeat_turn(TALK, rng, [4]), {change(t4=TALK[1]), change(t4=TALK[3])}),
        (lambda rng: garble_words(("well , so !", "so so."), rng, [0, 1]), {("so , well !", "so so.")}),
        (lambda rng: garble_words(("yes no.",), rng, [0], ["yes"]), {None, ("no yes.",)}),
        (
            lambda rng: contradict_fact(TALK, rng, ALL, FACTS, PETS),
            {change(t1="i have a dog."), change(t2="what does your dog eat?"), change(t3="my dog eats fish.")},
        ),
        # Nothing to change: no other turn or word, no free one, no second mention, no other value.
        (lambda rng: replace_turn(TALK, rng, ALL, by_word_count(["bye."])), {None}),
        (lambda rng: replace_turn(TALK, rng, ALL, {}), {None}),
        (lambda rng: replace_turn(TALK, rng, [], POOL), {None}),
        (lambda rng: swap_turns(("yes.", "yes."), rng, [0, 1]), {None}),
        (lambda rng: swap_turns(TALK, rng, [2]), {None}),
        (lambda rng: repeat_turn(TALK, rng, [0]), {None}),
        (lambda rng: garble_words(("yes yes.", "no!"), rng, [0, 1]), {None}),
        (lambda rng: contradict_fact(TALK, rng, [0, 1, 4], FACTS, PETS), {None}),
        (lambda rng: contradict_fact(TALK, rng, ALL, FACTS, {"pet": ["cat"], "food": []}), {None}),
    ],
)
def test_damages_by_hand(damage: Damage, expected: set[Turns | None]) -> None:
    assert {damage(random.Random(seed)) for seed in range(30)} == expected


@pytest.mark.parametrize("seed", range(2))
def test_a_level_is_the_number_of_damages_on_different_turns(seed: int) -> None:
    examples = rate("builtin", seed)
    assert Counter(e.ratings["quality"] for e in examples) == dict.fromkeys((0.0, 0.25, 0.5, 0.75, 1.0), 80)
    assert [e.id for e in examples[:2]] == [f"builtin-rated-{seed}-0", f"builtin-rated-{seed}-1"]
    assert len({e.group for e in examples}) == 400
    found = Counter(kind for e in examples if e.label for kind in e.label.split("+"))
    assert len(found) == 5
    assert min(found.values()) > 0.15 * found.total()
    for e, clean in zip(examples, draw(seed, reserved=True, n=400), strict=True):
        kinds = e.label.split("+") if e.label else []
        changed = [i for i, (new, old) in enumerate(zip(e.turns, clean.turns, strict=True)) if new != old]
        assert len(kinds) == len(set(kinds)) == round(4 * (1 - e.ratings["quality"]))
        assert len(changed) == len(kinds) + ("swapped_turns" in kinds)
        assert len(words(e.turns)) == len(words(clean.turns))
        assert ("repeated_turn" in kinds) == (len(set(e.turns)) < len(e.turns))
        if kinds == ["contradicted_fact"]:
            ((was, now),) = {(a, b) for a, b in zip(words(clean.turns), words(e.turns), strict=True) if a != b}
            (kind,) = {fact.kind for fact in clean.facts[changed[0]] if fact.value == was}
            assert was in words(e.turns[: changed[0]] + e.turns[changed[0] + 1 :])
            assert now in VALUES[kind]
            assert now not in {fact.value for facts in clean.facts for fact in facts if fact.kind == kind}
