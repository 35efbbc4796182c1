"""Built-in reviews: synthetic English reviews of things, positive or negative, and a rated set of damaged ones.

A review begins with a prefix that names a thing, and tells in a fixed order what happened: the plan, a first and a
second impression, what a relative thought of it, how it went on, a point for the other side, and a last word that names
the thing again. What is said fits the kind of the thing, and its sentiment is said by hundreds of different phrases.
"""

import random
from collections.abc import Collection, Iterator, Mapping

from core.example import Example
from data.builtin.controlled import MOST, Labels, Prompt, Sentence, World, generate, rated
from data.builtin.review_world import (
    CITIES,
    CONCESSIONS,
    ENDINGS,
    FIRSTS,
    KINDS,
    LABEL_WORDS,
    LATERS,
    MEN,
    MONTHS,
    NAMES,
    OPENINGS,
    PLANS,
    RELATIVES,
    SECONDS,
    SPANS,
    VERDICTS,
    WOMEN,
    Kind,
)

LABELS = ("negative", "positive")
PLAN_SHARE, SECOND_SHARE, RELATIVE_SHARE, LATER_SHARE, CONCESSION_SHARE = 0.6, 0.7, 0.6, 0.6, 0.3


def generate_reviews(n: int, seed: int, verdicts: float = 0.0, exclude: Collection[str] = ()) -> tuple[Example, ...]:
    """`n` different reviews with prefix and label, negative and positive in turn; for one seed the same everywhere.

    None of them begins as a text of `rated_reviews` does, whatever the seeds. With a larger `n` the first reviews stay
    the same. A share `verdicts` of them has a sentence before or after it that says the sentiment ("It was great."), so
    that a model learns to answer such prompts; `prefix` is None where the text no longer begins with it. No review is
    in `exclude`.

    >>> [review.label for review in generate_reviews(3, seed=0)]
    ['negative', 'positive', 'negative']
    """
    return generate(REVIEWS, n, seed, verdicts, exclude)


def rated_reviews(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """`n` reviews with ratings of coherence, consistency and attribute relevance; see `data.builtin.controlled.rated`.

    Every text begins with its prefix; `label` is the sentiment asked for. Coherence falls with the sentences that are
    displaced or come from reviews of other things; consistency is 0.5 where the review is about a thing of the same
    kind with another name, 0 where it is about another kind of thing; attribute relevance is 0.5 where half of what is
    said is of the other sentiment, 0 where all is.
    """
    return rated(REVIEWS, n, seed)


def _facts(rng: random.Random) -> dict[str, str]:
    noun = rng.choice(tuple(KINDS))
    kin = rng.choice(WOMEN + MEN)
    return {
        "name": rng.choice(NAMES),
        "noun": noun,
        "got": KINDS[noun].got,
        "city": rng.choice(CITIES),
        "month": rng.choice(MONTHS),
        "kin": kin,
        "she": "she" if kin in WOMEN else "he",
        "her": "her" if kin in WOMEN else "his",
    }


def _tell(rng: random.Random, prompt: Prompt, labels: Labels) -> list[Sentence]:
    kind = KINDS[prompt.facts["noun"]]
    facts = {**prompt.facts, "use": rng.choice(kind.uses), "span": rng.choice(SPANS)}
    said = _said(kind, rng)

    def sentence(template: str, label: str | None = None, said_as: str | None = None) -> Sentence:
        fact = next(said)[said_as] if said_as else ""
        text = template.format(**facts, fact=fact)
        return Sentence(text, (facts["noun"],), label, naming="{name}" in template)

    stages = ["first"]
    stages += ["second"] * (rng.random() < SECOND_SHARE)
    stages += ["relative"] * ("kin" in prompt.told and rng.random() < RELATIVE_SHARE)
    stages += ["later"] * (rng.random() < LATER_SHARE)
    sides = labels(len(stages) + 1)
    phrases = {
        "first": dict.fromkeys(LABELS, FIRSTS),
        "second": SECONDS,
        "relative": RELATIVES,
        "later": dict.fromkeys(LABELS, LATERS),
    }
    told = [Sentence(prompt.prefix + prompt.rest, (facts["noun"],), naming=True)]
    if rng.random() < PLAN_SHARE:
        told.append(sentence(rng.choice(PLANS)))
    told += [sentence(rng.choice(phrases[stage][s]), s, s) for stage, s in zip(stages, sides, strict=False)]
    if len(set(sides)) == 1 and 3 <= len(told) <= MOST - 2 and rng.random() < CONCESSION_SHARE:
        other = LABELS[1 - LABELS.index(sides[0])]
        told.append(sentence(rng.choice(CONCESSIONS[sides[0]]), other, other))
    told.append(sentence(rng.choice(ENDINGS[sides[-1]]), sides[-1]))
    return told


def _said(kind: Kind, rng: random.Random) -> Iterator[Mapping[str, str]]:
    """What to say of the parts of a thing by sentiment: each part once, and then once more in other words."""
    parts = rng.sample(tuple(kind.parts), len(kind.parts))
    first = [rng.randrange(2) for _ in parts]
    for again in (0, 1):
        for part, variant in zip(parts, first, strict=True):
            yield {label: f"{part} {said[(variant + again) % 2]}" for label, said in kind.parts[part].items()}


REVIEWS = World("review", LABELS, _facts, OPENINGS, "name", ("noun", "got"), _tell, LABEL_WORDS, VERDICTS)
