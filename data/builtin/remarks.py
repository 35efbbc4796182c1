"""Built-in remarks: synthetic English texts of two to five short sentences on a meal, a film, a hotel or a concert.

A remark is positive or negative throughout and keeps to its topic. It begins with what people did or with a part of the
thing ("The soup"); beginnings fit both sentiments. Small models learn these texts in minutes, so the examples use them.
"""

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import count, islice, product
from typing import Literal, NamedTuple

from core.example import Example
from core.settings import check
from data.builtin import damage
from data.builtin.controlled import Labels, name_label, read_openings, repeat_label
from data.builtin.grammar import TEXT, collect, draw_reserved, is_reserved, read_world
from data.builtin.reviews import LABELS as SENTIMENTS

OPENED_SHARE = 0.5  # of remarks with an opening
FURTHER_SHARES = (0.7, 0.6)  # of remarks with a second and with a third statement
DRAWS = 4  # remarks drawn for a wanted length; the nearest is taken

Kind = Literal["sentiment", "topic"]


class Part(NamedTuple):
    """A part of a thing, such as the soup of a meal, and the phrases about it by sentiment."""

    name: str
    was: str
    said: Mapping[str, tuple[str, ...]]


FILE, SAID, WORDS = read_world("remarks")
TOPICS = WORDS["topics"]
ORDER = [(sentiment, topic) for topic, sentiment in product(TOPICS, SENTIMENTS)]  # of the remarks, again and again
OPENINGS = [opening for (opening,) in read_openings(FILE["openings"])]


def _read_parts(topic: str) -> Iterator[Part]:
    for block in FILE[f"{topic} parts"]:
        for name, was, good, bad in block:
            said = {"positive": tuple(good.split(", ")), "negative": tuple(bad.split(", "))}
            yield Part(name, was, said)


PARTS: Mapping[str, tuple[Part, ...]] = {topic: tuple(_read_parts(topic)) for topic in TOPICS}


def generate_remarks(
    n: int,
    seed: int,
    labels: Kind = "sentiment",
    verdicts: float = 0.0,
    exclude: Collection[str] = (),
) -> tuple[Example, ...]:
    """Generates remarks with prefix and label; sentiments and topics alternate. `verdicts` as in `generate_texts`."""
    check(Kind, labels=labels)
    rng = random.Random(f"remark {seed}")

    def draw(i: int) -> Example | None:
        sentiment, topic = ORDER[i % len(ORDER)]
        drawn = _compose(rng, topic, repeat_label(sentiment))
        remark = drawn
        if rng.random() < verdicts:
            remark = name_label(
                replace(drawn, label=sentiment),
                rng,
                SAID["verdicts"],
                WORDS,
            )
        if is_reserved(drawn.text):
            return None
        return replace(remark, label=sentiment if labels == "sentiment" else topic)

    return collect(
        f"builtin-remark-{seed}",
        n,
        draw,
        exclude,
    )


def rated_remarks(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """Generates remarks of known quality, with their prefix; `label` is the sentiment that was asked for.

    The rating `attribute_relevance` is 1 if all sentences after the opening have this sentiment, 0.5 if half of them
    have it, and 0 if none has it. Each rating is equally frequent for both sentiments, all topics and all lengths.
    """
    rng = random.Random(f"rated remark {seed}")

    lengths: dict[tuple[str, str], int] = {}

    def draw(place: int) -> Example:
        round_number, i = divmod(place, len(ORDER))
        level = round_number % 3
        asked, topic = ORDER[i]
        (other,) = {*SENTIMENTS} - {asked}
        labels = damage.damage_labels(
            level,
            asked,
            other,
            rng,
        )
        drawn = draw_reserved(lambda rng: _compose(rng, topic, labels), rng, TEXT)
        wanted = lengths.get(ORDER[i], 0) if level else 0
        remark = min(islice(drawn, DRAWS if level else 1), key=lambda remark: abs(remark.word_count - wanted))
        lengths[ORDER[i]] = wanted or remark.word_count
        return replace(remark, label=asked, ratings={"attribute_relevance": 1 - level / 2})

    return damage.number(f"builtin-rated-remark-{seed}", n, map(draw, count()))


def _compose(rng: random.Random, topic: str, sentiments: Labels) -> Example:
    """A text that begins with its prefix, which fits every sentiment."""
    parts = iter(rng.sample(PARTS[topic], 5))
    statements = 1 + sum(rng.random() < share for share in FURTHER_SHARES)
    first, *others, last = sentiments(statements + 1)
    template = rng.choice(SAID["firsts"])
    sentences = [
        _say(
            rng,
            template,
            first,
            next(parts),
            next(parts),
        )
    ]
    prefix = " ".join(sentences[0].split()[:2])
    if rng.random() < OPENED_SHARE:
        opening, rest = rng.choice(OPENINGS)
        prefix = opening.format(who=rng.choice(SAID["who"]))
        visit = rng.choice(SAID[f"{topic} visits"])
        sentences.insert(0, prefix + rest.format(visit=visit))
    for sentiment in others:
        part = next(parts)
        template = rng.choice(SAID[f"nexts {sentiment}"])
        sentences.append(
            _say(
                rng,
                template,
                sentiment,
                part,
                part,
            )
        )
    ending = rng.choice(SAID[f"endings {last}"] + SAID[f"{topic} endings {last}"])
    return Example("", text=" ".join([*sentences, ending]), prefix=prefix)


def _say(
    rng: random.Random,
    template: str,
    sentiment: str,
    part: Part,
    other: Part,
) -> str:
    said, also = rng.sample(part.said[sentiment], 2)
    more = rng.choice(other.said[sentiment])
    one = rng.choice(SAID["relatives"])
    return template.format(
        Part=part.name.capitalize(),
        part=part.name,
        was=part.was,
        said=said,
        also=also,
        other=other.name,
        were=other.was,
        more=more,
        one=one,
    )
