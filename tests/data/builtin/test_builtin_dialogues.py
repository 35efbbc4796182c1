"""Built-in dialogues: nothing contradicts itself, damages by hand, and what the rated set says of itself."""

import random
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import get_args

import pytest

from cdm.rules import Rule, make_rule_negatives
from data.builtin.damage import Words, exchange_owners, falsify, misplace, rewrite_turns
from data.builtin.dialogues import TOPICS, Dialogue, list_damages, random_dialogue, reserved_dialogues
from tests.data.builtin.kinds import rate
from tests.data.builtin.probe import solve

TALK = ("hi ann.", "hi bob, a cat?", "my cat eats fish, and yours?", "my dog eats bones.", "bye ann.", "bye bob.")
MENTIONS = {
    (1, "name"): [(0, 1), (4, 1)],
    (0, "name"): [(1, 1), (5, 1)],
    (0, "pet"): [(1, 3), (2, 1)],
    (0, "food"): [(2, 3)],
    (1, "pet"): [(3, 1)],
    (1, "food"): [(3, 3)],
}
VALUES = {
    (owner, kind): value
    for owner, said in enumerate(("bob cat fish", "ann dog bones"))
    for kind, value in zip(("name", "pet", "food"), said.split(), strict=True)
}


@cache
def draw(seed: int, n: int) -> tuple[Dialogue, ...]:
    return tuple(islice(reserved_dialogues(random.Random(seed)), n))


def words(turns: Iterable[str]) -> list[str]:
    return [token.strip(".,?") for turn in turns for token in turn.split()]


def test_no_dialogue_contradicts_itself_or_the_world() -> None:
    rng = random.Random(11)
    for d in (random_dialogue(rng) for _ in range(500)):
        values = {key: d.values[key] for key in d.mentions}
        for key, places in d.mentions.items():
            assert {words([d.turns[i]])[position] for i, position in places} == {values[key]}
        topic = TOPICS[d.topic]
        for owner in (0, 1):
            known = {kind: values[owner, kind] for kind in topic.kinds if (owner, kind) in values}
            assert any(known.items() <= dict(zip(topic.kinds, row, strict=True)).items() for row in topic.rows)
            assert not known or topic.kinds[0] in known
        assert values.get((0, "name")) != values.get((1, "name"))


def change(**turns: str) -> tuple[str, ...]:
    """The talk with other turns."""
    return tuple(turns.get(f"t{i}", turn) for i, turn in enumerate(TALK))


EATEN = [change(t2="my cat eats hay, and yours?"), change(t3="my dog eats hay.")]
CROSSED = [
    change(t1="hi bob, a fish?", t2="my fish eats cat, and yours?"),
    change(t1="hi bob, a bones?", t2="my bones eats fish, and yours?", t3="my dog eats cat."),
    change(t2="my cat eats dog, and yours?", t3="my fish eats bones."),
    change(t3="my bones eats dog."),
]
EXCHANGED = change(t2="my dog eats bones, and yours?", t3="my cat eats fish.")


@pytest.mark.parametrize(
    ("damages", "expected"),
    [
        (falsify(MENTIONS, VALUES, {"food": ["fish", "bones", "hay"]}), EATEN),
        (falsify(MENTIONS, VALUES, {"food": ["fish", "bones"], "town": ["rome"]}), []),
        (misplace(MENTIONS, VALUES, {"pet", "food"}), CROSSED),
        (misplace(MENTIONS, VALUES, {"food"}), []),
        (exchange_owners(MENTIONS, VALUES, ["name"], [4]), [change(t4="bye bob.", t5="bye ann.")]),
        (exchange_owners(MENTIONS, VALUES, ["pet", "food"], range(1, 6)), [EXCHANGED]),  # "cat" in turns 1 and 2
        (exchange_owners({**MENTIONS, (1, "pet"): []}, VALUES, ["pet", "food"], range(1, 6)), []),
    ],
)
def test_damages_by_hand(damages: list[Words], expected: list[tuple[str, ...]]) -> None:
    assert [rewrite_turns(TALK, words) for words in damages] == expected


def blank(turns: Iterable[str]) -> list[str]:
    """The turns with a letter for each word."""
    return [re.sub(r"[a-z]+", "w", turn) for turn in turns]


def test_a_level_is_the_number_of_kinds_of_damage_on_different_words() -> None:
    examples = rate("builtin", 0)
    assert Counter(round(3 * e.ratings["quality"], 6) for e in examples) == dict.fromkeys(range(4), 100)
    assert [e.id for e in examples[:2]] == ["builtin-rated-0-0", "builtin-rated-0-1"]
    assert len({e.group for e in examples}) == 400
    found = Counter(kind for e in examples if e.label for kind in e.label.split("+"))
    assert found.total() == 600
    assert len(found) == 5
    assert min(found.values()) > 110
    clean = iter(draw(0, n=1000))
    for e in examples:
        d = next(
            d for d in clean if blank(d.turns) == blank(e.turns) and d.turns[0].split()[0] == e.turns[0].split()[0]
        )
        kinds = e.label.split("+") if e.label else []
        assert len(kinds) == len(set(kinds)) == round(3 * (1 - e.ratings["quality"]))
        ways = list_damages(d)
        changed = {
            (i, position): new
            for i, turns in enumerate(zip(d.turns, e.turns, strict=True))
            for position, (old, new) in enumerate(zip(*map(str.split, turns), strict=True))
            if old != new
        }
        assert bool(changed) == bool(kinds)
        for kind in kinds:
            assert any(changes(d, way).items() <= changed.items() for way in ways[kind])


def changes(d: Dialogue, way: Words) -> dict[tuple[int, int], str]:
    """The tokens that a damage changes, at their places."""
    turns = rewrite_turns(d.turns, way)
    return {(i, k): turns[i].split()[k] for i, k in way if turns[i].split()[k] != d.turns[i].split()[k]}


@pytest.mark.parametrize("rule", get_args(Rule))
def test_no_rule_that_makes_negatives_draws_a_kind_of_damage(rule: Rule) -> None:
    """No negative has all turns that a damage changes, not even beside other changes."""
    clean = draw(5, n=500)
    negatives = make_rule_negatives([d.turns for d in clean], rule, seed=0)
    assert len(negatives.indices) > 450
    for i, negative in zip(negatives.indices, negatives.negatives, strict=True):
        d = clean[i]
        for ways in list_damages(d).values():
            for way in ways:
                damaged = rewrite_turns(d.turns, way)
                changed = [k for k, turn in enumerate(damaged) if turn != d.turns[k]]
                assert any(negative[k] != damaged[k] for k in changed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_classifier_that_learned_other_ratings_sees_the_damage(seed: int) -> None:
    assert solve("builtin", "quality", seed) > 0.5
