"""The damage of all built-in rated sets.

A function that damages the facts of a dialogue lists all ways to do so, each as new words at their places. Code that
trains a metric must never import this module.
"""

import random
import re
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import replace
from itertools import combinations, islice
from typing import TypeAlias

from core.example import Example, Examples
from data.damage import replace_unit

Turns: TypeAlias = tuple[str, ...]  # of a dialogue, or the sentences of a text

FactKey: TypeAlias = tuple[int, str]  # owner (0 or 1: a speaker, 2: both) and kind of a fact
Place: TypeAlias = tuple[int, int]  # a turn, and the position of a word in it
Mentions: TypeAlias = Mapping[FactKey, Sequence[Place]]  # where each fact is mentioned, in order
Words: TypeAlias = Mapping[Place, str]  # new words, by their places

WORD = re.compile(r"\w+")


def number(name: str, n: int, damaged: Iterable[Example]) -> Examples:
    """Takes the first `n` damaged texts and gives them the ids NAME-0, NAME-1 ..."""
    return tuple(replace(text, id=f"{name}-{i}") for i, text in enumerate(islice(damaged, n)))


def damage_labels(
    level: int,
    asked: str,
    other: str,
    rng: random.Random,
) -> Callable[[int], Sequence[str]]:
    """Returns a function that makes n labels: all as asked (level 0), half as asked (1), or none as asked (2).

    A label that is not as asked is `other`.
    """

    def draw(n: int) -> Sequence[str]:
        if level != 1:
            return [other if level else asked] * n
        kept = (n + rng.randrange(2)) // 2
        return rng.sample([asked] * kept + [other] * (n - kept), n)

    return draw


def replace_sentence(
    sentences: Turns,
    i: int,
    pool: Iterable[str],
    rng: random.Random,
) -> Turns:
    """Replaces a sentence by one of the pool with the same, or the nearest, number of words."""
    wanted = len(sentences[i].split())
    counts = {sentence: len(sentence.split()) for sentence in pool}
    least = min(abs(wanted - count) for count in counts.values())
    nearest = dict.fromkeys(count for count in counts.values() if abs(wanted - count) == least)
    chosen, *_ = rng.sample([*nearest], len(nearest))
    return replace_unit(sentences, i, rng.choice([sentence for sentence, count in counts.items() if count == chosen]))


def rewrite_turns(turns: Turns, words: Words) -> Turns:
    """Writes new words at their places; punctuation stays."""
    tokens = [turn.split() for turn in turns]
    for (i, position), word in words.items():
        tokens[i][position] = WORD.sub(word, tokens[i][position])
    return tuple(map(" ".join, tokens))


def falsify(mentions: Mentions, values: Mapping[FactKey, str], options: Mapping[str, Sequence[str]]) -> list[Words]:
    """Gives one fact a value that no fact of the dialogue has, wherever it is mentioned.

    `options` are the possible values of the kinds of fact that may change.
    """
    taken = values.values()
    others = ((key, value) for key in mentions for value in options.get(key[1], ()) if value not in taken)
    return [_rename(mentions, {key: value}) for key, value in others]


def misplace(mentions: Mentions, values: Mapping[FactKey, str], kinds: Collection[str]) -> list[Words]:
    """Exchanges the values of two facts of different kinds, wherever they are mentioned."""
    pairs = combinations([key for key in mentions if key[1] in kinds], 2)
    exchanged = (
        {
            one: values[other],
            other: values[one],
        }
        for one, other in pairs
        if one[1] != other[1]
    )
    return [_rename(mentions, changed) for changed in exchanged]


def exchange_owners(
    mentions: Mentions,
    values: Mapping[FactKey, str],
    kinds: Sequence[str],
    starts: Iterable[int],
) -> list[Words]:
    """Exchanges the facts of these kinds between the two speakers, in all turns from one of the `starts` on.

    The first kind tells the speakers' facts apart: both facts are mentioned, and one of them before as well as from
    there on, so that a reader sees the fault.
    """
    exchanged = {(owner, kind): values[1 - owner, kind] for owner in (0, 1) for kind in kinds}
    known = [mentions.get((owner, kinds[0]), ()) for owner in (0, 1)]
    if not all(known):
        return []
    seen = {turn for places in known for turn in range(places[0][0] + 1, places[-1][0] + 1)}
    return [_rename(mentions, exchanged, start) for start in starts if start in seen]


def _rename(mentions: Mentions, changed: Mapping[FactKey, str], start: int = 0) -> Words:
    """The changed values of facts at all their places, from the turn `start` on."""
    places = ((place, value) for key, value in changed.items() for place in mentions.get(key, ()))
    return {place: value for place, value in places if place[0] >= start}
