"""Built-in concept sentences: synthetic English sentences about five concepts each, and a rated set of misused ones.

In an odd sentence two nouns have exchanged their roles ("The ball kicked the boy"); in a senseless one all four have.
"""

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TypeAlias

from core.example import Example, Examples
from data.builtin import damage
from data.builtin.grammar import collect, distinct, draw_reserved, is_reserved, read_world

FILE, SAID, _ = read_world("concepts")
PARTS = ("verb", "agent", "object", "instrument", "place")
LEVELS = ("sensible", "odd", "senseless")

Event: TypeAlias = Mapping[str, str]  # what a sentence says: a word for each part; for a verb, base form/third person

SCENES = tuple(dict(zip(PARTS, block, strict=True)) for block in FILE["scenes"])


def generate_concept_sentences(n: int, seed: int, exclude: Collection[str] = ()) -> Examples:
    """Generates sensible sentences: each example has two turns, the concepts and the sentence."""
    rng = random.Random(seed)

    def draw(_: int) -> Example | None:
        example = write_sentence(random_event(rng), rng)
        return None if is_reserved(str(example.group)) else example

    return collect(
        f"concepts-{seed}",
        n,
        draw,
        exclude,
        attrgetter("group"),
    )


def rated_concept_sentences(n: int = 399, seed: int = 0) -> Examples:
    """Generates for each concept set a sensible sentence (rated 1), an odd one (0.5) and a senseless one (0).

    The three have one form and the same number of words. `label` is the level, `group` the concept set.
    """
    rng = random.Random(seed)

    def damaged() -> Iterator[Example]:
        events = draw_reserved(random_event, rng, name_concepts)
        for event in distinct(events, name_concepts):
            state = rng.getstate()
            variants = [event, make_odd(event, rng), make_senseless(event)]
            for level, variant in enumerate(variants):
                rng.setstate(state)  # so that the three are written alike
                ratings = {"commonsense": 1 - level / 2}
                yield replace(write_sentence(variant, rng), label=LEVELS[level], ratings=ratings)

    return damage.number(f"concepts-rated-{seed}", n, damaged())


def random_event(rng: random.Random) -> Event:
    """Draws a scene, and an event that fits it."""
    scene = rng.choice(SCENES)
    return {part: rng.choice(options) for part, options in scene.items()}


def name_concepts(event: Event) -> str:
    """Lists the five concepts of an event in alphabetical order, so that the order does not show their roles."""
    concepts = [event[part].split("/")[0] for part in PARTS]
    return ", ".join(sorted(concepts))


def make_odd(event: Event, rng: random.Random) -> Event:
    """Exchanges the roles of two nouns."""
    one, other = rng.choice((("object", "instrument"), ("instrument", "place"), ("object", "place")))
    return _exchange(event, one, other)


def make_senseless(event: Event) -> Event:
    """Exchanges agent and object, and instrument and place."""
    exchanged = _exchange(event, "agent", "object")
    return _exchange(exchanged, "instrument", "place")


def _exchange(event: Event, one: str, other: str) -> Event:
    return {
        **event,
        one: event[other],
        other: event[one],
    }


def write_sentence(event: Event, rng: random.Random) -> Example:
    """Makes the example of an event: its concepts as the first turn, a sentence about it as the second."""
    concepts = name_concepts(event)
    verb, verbs = event["verb"].split("/")
    template = rng.choice(SAID["sentences"])
    frame = rng.choice(SAID["frames"])
    sentence = template.format(**{**event, "verb": verb, "verbs": verbs})
    text = f"{frame} {sentence}" if rng.random() < 0.5 else f"{sentence} {frame}"
    return Example(
        "",
        text=text,
        turns=(concepts, text),
        group=concepts,
    )
