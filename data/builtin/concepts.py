"""Built-in concept sentences: synthetic English sentences about five concepts each, and a rated set of misused ones.

A sensible sentence follows a scene of `worlds/concepts.txt`: who does what to what, with what and where. In an odd
sentence two nouns have exchanged their parts, in a senseless sentence all four nouns have.
"""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from core.example import Example
from data.builtin.reserved import is_reserved
from data.builtin.world_files import phrases, read_world

FILE = read_world("concepts")
SENTENCES, FRAMES = phrases(FILE["sentences"]), phrases(FILE["frames"])
LEVELS = ("sensible", "odd", "senseless")  # rated 1, 0.5 and 0


@dataclass(frozen=True)
class Scene:
    """Who may do what to what, with what and where."""

    verbs: tuple[str, ...]
    agents: tuple[str, ...]
    objects: tuple[str, ...]
    instruments: tuple[str, ...]
    places: tuple[str, ...]


SCENES = tuple(Scene(*block) for block in FILE["scenes"])


@dataclass(frozen=True)
class Event:
    """What a sentence says; `verb` holds the base form and the third person."""

    verb: str
    agent: str
    object: str
    instrument: str
    place: str

    @property
    def concepts(self) -> tuple[str, ...]:
        """The five concepts in alphabetical order, so that the order does not show their parts."""
        return tuple(sorted((self.verb.split("/")[0], self.agent, self.object, self.instrument, self.place)))


def generate_concept_sentences(n: int, seed: int, exclude: Collection[tuple[str, ...]] = ()) -> tuple[Example, ...]:
    """`n` different sensible sentences with their concepts as first turn; the same seed gives the same sentences.

    No sentence is the sensible one of a rated concept set, and no concept set is in `exclude`.

    >>> generate_concept_sentences(1, seed=0)[0].turns[0].count(", ")
    4
    """
    rng = random.Random(seed)
    found: dict[str, Example] = {}
    while len(found) < n:
        event = _random_event(rng)
        text = _sentence(event, rng)
        if not is_reserved(", ".join(event.concepts)) and event.concepts not in exclude:
            found.setdefault(text, _example(f"concepts-{seed}-{len(found)}", event.concepts, text))
    return tuple(found.values())


def rated_concept_sentences(n: int = 399, seed: int = 0) -> tuple[Example, ...]:
    """`n` sentences: for each concept set a sensible one (1), an odd one (0.5) and a senseless one (0).

    The three are written alike and have equally many words. `label` is the level, `group` the concept set.
    """
    rng = random.Random(seed)
    rated: list[Example] = []
    for event in islice(_reserved_events(rng), -(-n // len(LEVELS))):
        state = rng.getstate()
        for level, variant in zip(LEVELS, (event, _odd(event, rng), _senseless(event)), strict=True):
            rng.setstate(state)
            example = _example(f"concepts-rated-{seed}-{len(rated)}", event.concepts, _sentence(variant, rng))
            rating = 1 - LEVELS.index(level) / (len(LEVELS) - 1)
            rated.append(replace(example, label=level, ratings={"commonsense": rating}))
    return tuple(rated[:n])


def _random_event(rng: random.Random) -> Event:
    scene = rng.choice(SCENES)
    return Event(
        *(rng.choice(part) for part in (scene.verbs, scene.agents, scene.objects, scene.instruments, scene.places))
    )


def _reserved_events(rng: random.Random) -> Iterator[Event]:
    """Yields endless distinct events that are reserved for rated sentences."""
    seen: set[tuple[str, ...]] = set()
    while True:
        event = _random_event(rng)
        if is_reserved(", ".join(event.concepts)) and event.concepts not in seen:
            seen.add(event.concepts)
            yield event


def _odd(event: Event, rng: random.Random) -> Event:
    """Exchanges the parts of two nouns."""
    first, second = rng.choice((("object", "instrument"), ("instrument", "place"), ("object", "place")))
    return replace(event, **{first: getattr(event, second), second: getattr(event, first)})


def _senseless(event: Event) -> Event:
    """Exchanges agent and object, and instrument and place."""
    return Event(event.verb, event.object, event.agent, event.place, event.instrument)


def _sentence(event: Event, rng: random.Random) -> str:
    verb, verbs = event.verb.split("/")
    template, frame = rng.choice(SENTENCES), rng.choice(FRAMES)
    text = template.format(
        verb=verb, verbs=verbs, agent=event.agent, object=event.object, instrument=event.instrument, place=event.place
    )
    return f"{frame} {text}" if rng.random() < 0.5 else f"{text} {frame}"


def _example(name: str, concepts: tuple[str, ...], text: str) -> Example:
    joined = ", ".join(concepts)
    return Example(name, text=text, turns=(joined, text), group=joined)
