"""Damages: small changes that make a good dialogue worse, one kind of fault each.

Each takes the turns of a dialogue and a random generator, and returns the turns with one fault, or None where no turn
can have this fault. The number of turns stays the same. `free` lists the turns that may be changed, in order.
"""

import random
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Turns: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """A fact as a turn mentions it.

    Attributes:
        owner: whose fact it is (0 or 1: a speaker, 2: both).
        kind: what it is about (a city, a pet, a day).
        value: one word.
        position: where in the turn the word stands, counted in words from 0.
    """

    owner: int
    kind: str
    value: str
    position: int


def by_word_count(turns: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """The distinct turns by their number of words, in the order of their first appearance.

    >>> by_word_count(["so so", "yes", "no", "yes"])
    {2: ('so so',), 1: ('yes', 'no')}
    """
    groups: dict[int, list[str]] = {}
    for turn in dict.fromkeys(turns):
        groups.setdefault(len(turn.split()), []).append(turn)
    return {count: tuple(group) for count, group in groups.items()}


def replace_turn(
    turns: Turns, rng: random.Random, free: Sequence[int], pool: Mapping[int, Sequence[str]]
) -> Turns | None:
    """A turn of another dialogue takes the place of a turn with the same, or the nearest, number of words.

    `pool` holds turns of other dialogues, see `by_word_count`.

    >>> replace_turn(("how are you?",), random.Random(0), [0], by_word_count(["hello", "my dog barks."]))
    ('my dog barks.',)
    """
    distances = [(abs(len(turns[i].split()) - count), i, count) for i in free for count in pool]
    least = min((distance for distance, _, _ in distances), default=0)
    nearest = [(i, count) for distance, i, count in distances if distance == least]
    for i, count in rng.sample(nearest, len(nearest)):
        group = pool[count]
        start = rng.randrange(len(group))
        for k in range(len(group)):
            turn = group[(start + k) % len(group)]
            if turn not in turns:
                return _put(turns, i, turn)
    return None


def swap_turns(turns: Turns, rng: random.Random, free: Sequence[int]) -> Turns | None:
    """Two different turns change places; one of them is a question if there is one, so that it loses its answer.

    >>> swap_turns(("where?", "there."), random.Random(0), free=[0, 1])
    ('there.', 'where?')
    """
    pairs = [(i, j) for i in free for j in free if i < j and turns[i] != turns[j]]
    if not pairs:
        return None
    asking = [(i, j) for i, j in pairs if "?" in turns[i] or "?" in turns[j]]
    i, j = rng.choice(asking or pairs)
    return _put(_put(turns, i, turns[j]), j, turns[i])


def repeat_turn(turns: Turns, rng: random.Random, free: Sequence[int]) -> Turns | None:
    """A turn is replaced by a copy of an earlier one with the same, or the nearest, number of words.

    >>> repeat_turn(("hello there.", "yes.", "oh no."), random.Random(0), free=[2])
    ('hello there.', 'yes.', 'hello there.')
    """
    pairs = [(s, t) for t in free for s in range(t) if turns[s] != turns[t]]
    if not pairs:
        return None
    counts = [len(turn.split()) for turn in turns]
    nearest = min(abs(counts[s] - counts[t]) for s, t in pairs)
    source, target = rng.choice([(s, t) for s, t in pairs if abs(counts[s] - counts[t]) == nearest])
    return _put(turns, target, turns[source])


def garble_words(turns: Turns, rng: random.Random, free: Sequence[int], vocabulary: Sequence[str] = ()) -> Turns | None:
    """The words of a turn are shuffled, or every second one is replaced by a word of the vocabulary, or both.

    Without a vocabulary they are shuffled. Punctuation stays where it was.

    >>> garble_words(("oh, no!",), random.Random(0), free=[0])
    ('no, oh!',)
    """
    places = [i for i in free if len(set(_words(turns[i]))) > 1]
    if not places:
        return None
    i = rng.choice(places)
    words = _words(turns[i])
    way = rng.choice(("shuffle", "replace", "both")) if vocabulary else "shuffle"
    garbled = list(words)
    if way != "replace":
        while garbled == words:
            # The best of several shuffles: one that moves two words only may still read well.
            shuffles = [rng.sample(words, len(words)) for _ in range(8)]
            garbled = max(shuffles, key=lambda shuffled: sum(a != b for a, b in zip(shuffled, words, strict=True)))
    if way != "shuffle":
        present = frozenset(words)
        if all(word in present for word in vocabulary):
            return None
        for k in rng.sample(range(len(words)), (len(words) + 1) // 2):
            word = rng.choice(vocabulary)
            while word in present:
                word = rng.choice(vocabulary)
            garbled[k] = word
    new_words = iter(garbled)
    return _put(turns, i, " ".join(_with_word(t, next(new_words)) if _word(t) else t for t in turns[i].split()))


def contradict_fact(
    turns: Turns,
    rng: random.Random,
    free: Sequence[int],
    facts: Sequence[Sequence[Fact]],
    values: Mapping[str, Sequence[str]],
) -> Turns | None:
    """A fact that two free turns mention gets another value of its kind in one of them, a value not said elsewhere.

    `facts` are those of each turn, `values` what a fact of a kind may be.

    >>> facts = [[Fact(0, "pet", "cat", 1)], [Fact(0, "pet", "cat", 1)]]
    >>> contradict_fact(("my cat!", "a cat?"), random.Random(1), [0, 1], facts, {"pet": ["cat", "dog"]})
    ('my dog!', 'a cat?')
    """
    mentions = [(i, (fact.owner, fact.kind)) for i in free for fact in facts[i]]
    shared = [(i, fact) for i, fact in mentions if any(j != i and fact == other for j, other in mentions)]
    if not shared:
        return None
    i, (owner, kind) = rng.choice(list(dict.fromkeys(shared)))
    said = [fact.value for turn in facts for fact in turn if fact.kind == kind]
    options = [value for value in values[kind] if value not in said]
    if not options:
        return None
    value = rng.choice(options)
    tokens = turns[i].split()
    for fact in facts[i]:
        if (fact.owner, fact.kind) == (owner, kind):
            tokens[fact.position] = _with_word(tokens[fact.position], value)
    return _put(turns, i, " ".join(tokens))


def _put(turns: Turns, i: int, turn: str) -> Turns:
    return (*turns[:i], turn, *turns[i + 1 :])


def _word(token: str) -> str:
    return token.strip(string.punctuation)


def _words(turn: str) -> list[str]:
    """The words of a turn without punctuation; a token of punctuation alone is none."""
    return [word for word in map(_word, turn.split()) if word]


def _with_word(token: str, word: str) -> str:
    """The token with its word replaced and the punctuation around it kept."""
    before, _, after = token.partition(_word(token))
    return before + word + after
