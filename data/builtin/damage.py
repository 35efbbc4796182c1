"""The damage of all built-in rated sets, and their rating: 1 without damage, 0 at the worst level.

A function that damages turns takes the turns, a random generator, and the ordered indices of the turns that are `free`
to be changed. It returns as many turns with one fault, or None if no free turn can have this fault. Code that trains a
metric must never import this module.
"""

import random
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, TypeAlias

from core.example import Example
from data.damage import replace_unit

Turns: TypeAlias = tuple[str, ...]
Damaged: TypeAlias = tuple[Example, Mapping[str, int]]  # a text and its level of damage by aspect


class Fact(NamedTuple):
    """A fact that a turn mentions, and where."""

    owner: int  # whose fact it is (0 or 1: a speaker, 2: both)
    kind: str  # what it is about (a city, a pet, a day)
    value: str  # one word
    position: int  # where in the turn the word stands, counted in words from 0


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


def by_word_count(turns: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Groups the distinct turns by their number of words, in the order of their first appearance."""
    groups: dict[int, list[str]] = {}
    for turn in dict.fromkeys(turns):
        groups.setdefault(len(turn.split()), []).append(turn)
    return {count: tuple(group) for count, group in groups.items()}


def replace_turn(
    turns: Turns,
    rng: random.Random,
    free: Sequence[int],
    pool: Mapping[int, Sequence[str]],
) -> Turns | None:
    """Replaces a turn by a turn of another dialogue (`pool`) with the same, or the nearest, number of words."""
    distances = [(abs(len(turns[i].split()) - count), i, count) for i in free for count in pool]
    least = min(distances, default=(0,))[0]
    nearest = [(i, count) for distance, i, count in distances if distance == least]
    for i, count in rng.sample(nearest, len(nearest)):
        start = rng.randrange(len(pool[count]))
        for turn in (*pool[count][start:], *pool[count][:start]):
            if turn not in turns:
                return replace_unit(turns, i, turn)
    return None


def swap_turns(
    turns: Turns,
    rng: random.Random,
    free: Sequence[int],
) -> Turns | None:
    """Swaps two different turns. If a turn is a question, one of the two is a question, so that it loses its answer."""
    pairs = [(i, j) for i in free for j in free if i < j and turns[i] != turns[j]]
    if not pairs:
        return None
    asking = [(i, j) for i, j in pairs if "?" in turns[i] or "?" in turns[j]]
    i, j = rng.choice(asking or pairs)
    with_second = replace_unit(turns, i, turns[j])
    return replace_unit(with_second, j, turns[i])


def repeat_turn(
    turns: Turns,
    rng: random.Random,
    free: Sequence[int],
) -> Turns | None:
    """Replaces a turn by a copy of an earlier one with the same, or the nearest, number of words."""
    pairs = [(source, target) for target in free for source in range(target) if turns[source] != turns[target]]
    if not pairs:
        return None
    counts = [len(turn.split()) for turn in turns]
    distances = [abs(counts[source] - counts[target]) for source, target in pairs]
    least = min(distances)
    nearest = [pair for pair, distance in zip(pairs, distances, strict=True) if distance == least]
    source, target = rng.choice(nearest)
    return replace_unit(turns, target, turns[source])


def garble_words(
    turns: Turns,
    rng: random.Random,
    free: Sequence[int],
    vocabulary: Sequence[str] = (),
) -> Turns | None:
    """Shuffles the words of a turn, or replaces every second one by a word of the vocabulary, or both.

    Without a vocabulary it only shuffles. Punctuation stays where it was.
    """
    places = [i for i in free if len(set(_words(turns[i]))) > 1]
    if not places:
        return None
    i = rng.choice(places)
    words = _words(turns[i])
    way = rng.choice(("shuffle", "replace", "both")) if vocabulary else "shuffle"
    garbled = list(words) if way == "replace" else _shuffle(words, rng)
    if way != "shuffle":
        if set(vocabulary) <= set(words):
            return None
        for k in rng.sample(range(len(words)), (len(words) + 1) // 2):
            while (word := rng.choice(vocabulary)) in words:
                pass
            garbled[k] = word
    new_words = iter(garbled)
    tokens = [_with_word(token, next(new_words)) if _word(token) else token for token in turns[i].split()]
    return replace_unit(turns, i, " ".join(tokens))


def _shuffle(words: list[str], rng: random.Random) -> list[str]:
    """The words in another order: the best of several, because one that moves two words only may still read well."""

    def count_moved(shuffled: list[str]) -> int:
        return sum(new != old for new, old in zip(shuffled, words, strict=True))

    while True:
        shuffles = [rng.sample(words, len(words)) for _ in range(8)]
        shuffled = max(shuffles, key=count_moved)
        if shuffled != words:
            return shuffled


def contradict_fact(
    turns: Turns,
    rng: random.Random,
    free: Sequence[int],
    facts: Sequence[Sequence[Fact]],
    values: Mapping[str, Sequence[str]],
) -> Turns | None:
    """Chooses a fact that two free turns mention, and changes its value in one of them: the turns now contradict.

    `facts` are the facts of each turn, `values` the possible values of each kind of fact. No turn mentions the new
    value.
    """
    mentions = [(i, fact[:2]) for i in free for fact in facts[i]]
    turns_by_fact: dict[tuple[int, str], set[int]] = {}
    for i, key in mentions:
        turns_by_fact.setdefault(key, set()).add(i)
    shared = [(i, key) for i, key in mentions if len(turns_by_fact[key]) > 1]
    if not shared:
        return None
    i, changed = rng.choice(list(dict.fromkeys(shared)))
    _, kind = changed
    said = [fact.value for turn in facts for fact in turn if fact.kind == kind]
    options = [value for value in values[kind] if value not in said]
    if not options:
        return None
    value = rng.choice(options)
    tokens = turns[i].split()
    for fact in facts[i]:
        if fact[:2] == changed:
            tokens[fact.position] = _with_word(tokens[fact.position], value)
    return replace_unit(turns, i, " ".join(tokens))


def _word(token: str) -> str:
    return token.strip(string.punctuation)


def _words(turn: str) -> list[str]:
    """The words of a turn without punctuation; a token of punctuation alone is none."""
    return [word for word in map(_word, turn.split()) if word]


def _with_word(token: str, word: str) -> str:
    """The token with its word replaced and the punctuation around it kept."""
    before, _, after = token.partition(_word(token))
    return before + word + after
