"""Built-in reviews: synthetic English reviews of things, positive or negative, and a rated set of damaged ones.

The prefix names a thing; the statements fit its kind, and hundreds of phrases show the sentiment.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from data.builtin.controlled import MOST, Labels, Prompt, Sentence, World, read_openings
from data.builtin.grammar import draw_facts, read_world

LABELS: tuple[str, ...] = ("negative", "positive")
# Shares of the texts that have each part.
PLAN_SHARE = 0.6
SECOND_SHARE = 0.7
RELATIVE_SHARE = 0.6
LATER_SHARE = 0.6
CONCESSION_SHARE = 0.3


class Kind(NamedTuple):
    """A kind of thing to review: the phrases of "I `got` it to `use`", and the good and bad sides of its parts."""

    got: str
    uses: Sequence[str]
    parts: Sequence[Sequence[str]]  # the name, two good sides, two bad sides


FILE, SAID, WORDS = read_world("reviews")


KINDS: Mapping[str, Kind] = {noun: Kind(got, uses, lines) for (noun, got, *uses), *lines in FILE["kinds"]}


def _facts(rng: random.Random) -> dict[str, str]:
    noun = rng.choice(tuple(KINDS))
    drawn = draw_facts(
        rng,
        WORDS,
        "kin",
        name="names",
        city="cities",
        month="months",
    )
    return {
        **drawn,
        "noun": noun,
        "got": KINDS[noun].got,
    }


def _compose(rng: random.Random, prompt: Prompt, labels: Labels) -> list[Sentence]:
    kind = KINDS[prompt.facts["noun"]]
    facts = {
        **prompt.facts,
        "use": rng.choice(kind.uses),
        "span": rng.choice(SAID["spans"]),
    }
    opinions = _opinions(kind, rng)

    def sentence(template: str, label: str | None = None, *, opinion: bool = False) -> Sentence:
        fact = next(opinions)[label] if opinion and label else ""
        text = template.format(**facts, fact=fact)
        return Sentence(
            text,
            (facts["noun"],),
            label,
            naming="{name}" in template,
        )

    stages = ["firsts"]
    stages += ["seconds {label}"] * (rng.random() < SECOND_SHARE)
    stages += ["relatives {label}"] * (prompt.mentions("kin") and rng.random() < RELATIVE_SHARE)
    stages += ["laters"] * (rng.random() < LATER_SHARE)
    *sides, last = labels(len(stages) + 1)
    sentences = [Sentence(prompt.first, (facts["noun"],), naming=True)]
    if rng.random() < PLAN_SHARE:
        sentences.append(sentence(rng.choice(SAID["plans"])))
    for stage, side in zip(stages, sides, strict=True):
        template = rng.choice(SAID[stage.format(label=side)])
        sentences.append(sentence(template, side, opinion=True))
    may_concede = {*sides} == {last} and 3 <= len(sentences) <= MOST - 2
    if may_concede and rng.random() < CONCESSION_SHARE:
        other = LABELS[1 - LABELS.index(last)]
        concession = rng.choice(SAID[f"concessions {last}"])
        sentences.append(sentence(concession, other, opinion=True))
    ending = rng.choice(SAID[f"endings {last}"])
    sentences.append(sentence(ending, last))
    return sentences


def _opinions(kind: Kind, rng: random.Random) -> Iterator[Mapping[str, str]]:
    """Statements about the parts of a thing by sentiment: each part once, and then again in other words."""
    parts = rng.sample(kind.parts, len(kind.parts))
    variants = [rng.randrange(2) for _ in parts]
    for chosen in (variants, [1 - variant for variant in variants]):
        for (part, *phrases), variant in zip(parts, chosen, strict=True):
            yield {"positive": f"{part} {phrases[variant]}", "negative": f"{part} {phrases[2 + variant]}"}


REVIEWS = World(
    "review",
    labels=LABELS,
    facts=_facts,
    openings=read_openings(FILE["openings"]),
    identity=("name", "noun", "got"),
    compose=_compose,
    label_words={label: WORDS[label] for label in LABELS},
    verdicts=SAID["verdicts"],
)
