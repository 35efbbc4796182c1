"""The damage of all built-in rated sets, and their rating: 1 without damage, 0 at the worst level.

A function that damages the facts of a dialogue lists all ways to do so, each as new words at their places. Code that
trains a metric must never import this module.
"""

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import TypeAlias

from core.example import Example
from data.damage import replace_unit

Turns: TypeAlias = tuple[str, ...]  # of a dialogue, or the sentences of a text
Damaged: TypeAlias = tuple[Example, Mapping[str, int]]  # a text and its level of damage by aspect

FactKey: TypeAlias = tuple[int, str]  # owner (0 or 1: a speaker, 2: both) and kind of a fact
Place: TypeAlias = tuple[int, int]  # a turn, and the position of a word in it
Mentions: TypeAlias = Mapping[FactKey, Sequence[Place]]  # where each fact is mentioned, in order
Words: TypeAlias = Mapping[Place, str]  # new words, by their places

WORD = re.compile(r"\w+")


def rate(
    name: str,
    n: int,
    damaged: Iterable[Damaged],
    worst: Mapping[str, int],
) -> tuple[Example, ...]:
    """Gives the first `n` texts ids (NAME-0, NAME-1 ...) and ratings: 1 - level / worst level in each aspect."""
    rated: list[Example] = []
    for i, (text, levels) in enumerate(islice(damaged, n)):
        ratings = {aspect: 1 - level / worst[aspect] for aspect, level in levels.items()}
        rated.append(replace(text, id=f"{name}-{i}", ratings=ratings))
    return tuple(rated)


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


def by_word_count(sentences: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Groups the distinct sentences by their number of words, in the order of their first appearance."""
    groups: dict[int, list[str]] = {}
    for sentence in dict.fromkeys(sentences):
        groups.setdefault(len(sentence.split()), []).append(sentence)
    return {count: tuple(group) for count, group in groups.items()}


def replace_sentence(
    sentences: Turns,
    i: int,
    pool: Mapping[int, Sequence[str]],
    rng: random.Random,
) -> Turns:
    """Replaces a sentence by one of the pool with the same, or the nearest, number of words."""
    wanted = len(sentences[i].split())
    least = min(abs(wanted - count) for count in pool)
    nearest = [count for count in pool if abs(wanted - count) == least]
    count, *_ = rng.sample(nearest, len(nearest))
    return replace_unit(sentences, i, rng.choice(pool[count]))


def rewrite_turns(turns: Turns, words: Words) -> Turns:
    """Writes new words at their places; punctuation stays."""
    tokens = [turn.split() for turn in turns]
    for (i, position), word in words.items():
        tokens[i][position] = WORD.sub(word, tokens[i][position])
    return tuple(map(" ".join, tokens))


def falsify(
    mentions: Mentions,
    values: Mapping[FactKey, str],
    options: Mapping[str, Sequence[str]],
) -> list[Words]:
    """Gives one fact a value that no fact of the dialogue has, wherever it is mentioned.

    `options` are the possible values of the kinds of fact that may change.
    """
    ways: list[Words] = []
    for key in mentions:
        for value in options.get(key[1], ()):
            if value not in values.values():
                ways.append(_rename(mentions, {key: value}))
    return ways


def misplace(
    mentions: Mentions,
    values: Mapping[FactKey, str],
    kinds: Collection[str],
) -> list[Words]:
    """Exchanges the values of two facts of different kinds, wherever they are mentioned."""
    ways: list[Words] = []
    movable = [key for key in mentions if key[1] in kinds]
    for one, other in combinations(movable, 2):
        if one[1] != other[1]:
            ways.append(_rename(mentions, {one: values[other], other: values[one]}))
    return ways


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
    known = [mentions.get((owner, kinds[0])) for owner in (0, 1)]
    if not all(known):
        return []
    spans = [(places[0][0], places[-1][0]) for places in known if places]
    ways: list[Words] = []
    for start in starts:
        if any(first < start <= last for first, last in spans):
            ways.append(_rename(mentions, exchanged, start))
    return ways


def _rename(
    mentions: Mentions,
    changed: Mapping[FactKey, str],
    start: int = 0,
) -> Words:
    """The changed values of facts at all their places, from the turn `start` on."""
    words: dict[Place, str] = {}
    for key, value in changed.items():
        words |= {place: value for place in mentions.get(key, ()) if place[0] >= start}
    return words
