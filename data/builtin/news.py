"""Built-in news: synthetic English news on four topics, and a rated set of damaged ones.

A text begins with a prefix that names an occasion of no topic (a trial, a film), and tells in a fixed order what it is
about, how it came about, what was said at first and later, a quotation, what the crowd thought, and what comes next.
Its topic is said by the subject and its clauses alone.
"""

import random
from collections.abc import Collection
from dataclasses import replace

from core.example import Example
from data.builtin.controlled import MOST, Labels, Prompt, Sentence, World, generate, rated, slots
from data.builtin.news_world import (
    ADDITIONS,
    ASIDES,
    CITIES,
    DAYS,
    LABEL_WORDS,
    LAST_NAMES,
    MEN,
    MONTHS,
    OCCASIONS,
    OPENINGS,
    PLANS,
    QUOTES,
    SPANS,
    SUBJECTS,
    TOPICS,
    VERDICTS,
    WOMEN,
    Occasion,
)

LABELS = tuple(TOPICS)
SUBJECT_SHARE, PLAN_SHARE, SECOND_SHARE, QUOTE_SHARE, ADDITION_SHARE, CROWD_SHARE = 0.7, 0.5, 0.6, 0.6, 0.4, 0.5
ASIDE_SHARE = 0.2


def generate_news(n: int, seed: int, verdicts: float = 0.0, exclude: Collection[str] = ()) -> tuple[Example, ...]:
    """`n` different news texts with prefix and label, the four topics in turn; the same for the same seed everywhere.

    None of them begins as a text of `rated_news` does, whatever the seeds. With a larger `n` the first texts stay the
    same. A share `verdicts` of them has a sentence before or after it that says the topic ("It was about science."), so
    that a model learns to answer such prompts; `prefix` is None where the text no longer begins with it. No text is in
    `exclude`.

    >>> [text.label for text in generate_news(3, seed=0)]
    ['computers', 'politics', 'religion']
    """
    return generate(NEWS, n, seed, verdicts, exclude)


def rated_news(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """`n` news texts with ratings of coherence, consistency and attribute relevance (`data.builtin.controlled.rated`).

    Every text begins with its prefix; `label` is the topic asked for. Coherence falls with the sentences that are
    displaced or come from texts on another occasion and subject; consistency is 0.5 where the text is about an occasion
    of the same kind in another city, 0 where it is about another kind of occasion elsewhere; attribute relevance is 0.5
    where half of what is said is of another topic, 0 where all is.
    """
    return rated(NEWS, n, seed)


def _facts(rng: random.Random) -> dict[str, str]:
    first, last = rng.choice(WOMEN + MEN), rng.choice(LAST_NAMES)
    she = "she" if first in WOMEN else "he"
    return {
        "city": rng.choice(CITIES),
        "noun": rng.choice(tuple(OCCASIONS)),
        "day": rng.choice(DAYS),
        "full": f"{first} {last}",
        "last": last,
        "she": she,
        "She": she.capitalize(),
    }


def _tell(rng: random.Random, prompt: Prompt, labels: Labels) -> list[Sentence]:
    noun = prompt.facts["noun"]
    occasion = OCCASIONS[noun]
    facts = {**prompt.facts, "span": rng.choice(SPANS), "month": rng.choice(MONTHS)}
    opening_tells = "subject" in prompt.told
    stages = _stages(rng, occasion, opening_tells)
    topics = labels(sum(stage is not PLANS for stage in stages) + opening_tells)
    subjects = {topic: rng.choice(TOPICS[topic]) for topic in LABELS}
    clauses = {topic: iter(rng.sample(subject.clauses, len(subject.clauses))) for topic, subject in subjects.items()}

    def sentence(template: str, topic: str, *, carries: bool, **more: str) -> Sentence:
        used = slots(template)
        clause = next(clauses[topic]) if "clause" in used else ""
        text = template.format(**{**facts, "subject": subjects[topic].name, "clause": clause, **more})
        about = (noun, subjects[topic].name) if carries else (noun,)
        return Sentence(text, about, topic if carries else None, naming=bool(used & {"city", "last"}))

    remaining = iter(topics)
    topic = next(remaining) if opening_tells else topics[0]
    opening = sentence(prompt.rest, topic, carries=opening_tells)
    told = [replace(opening, text=prompt.prefix + opening.text, naming=True)]
    is_known = "full" in prompt.told
    for stage in stages:
        if stage is PLANS:
            plans = [plan for plan in PLANS if is_known or not slots(plan) & {"last", "She"}]
            told.append(sentence(rng.choice(plans), topics[0], carries=False))
        elif stage is QUOTES and not is_known:  # the first mention of a person is by the full name
            told.append(sentence(rng.choice(QUOTES), next(remaining), carries=True, last=facts["full"]))
        else:
            told.append(sentence(rng.choice(stage), next(remaining), carries=True))
    if len(set(topics)) == 1 and len(told) < MOST - 1 and rng.random() < ASIDE_SHARE:
        other = rng.choice([topic for topic in LABELS if topic != topics[0]])
        told.append(sentence(rng.choice(ASIDES), other, carries=True))
    told.append(sentence(rng.choice(occasion.endings), topics[0], carries=False))
    return told


def _stages(rng: random.Random, occasion: Occasion, opening_tells: bool) -> list[tuple[str, ...]]:
    """What comes between the opening and the ending, in order, with the phrases to choose from."""
    while True:
        stages = [SUBJECTS] * (not opening_tells and rng.random() < SUBJECT_SHARE)
        stages += [PLANS] * (rng.random() < PLAN_SHARE)
        stages += [occasion.firsts]
        stages += [occasion.seconds] * (rng.random() < SECOND_SHARE)
        if rng.random() < QUOTE_SHARE:
            stages += [QUOTES]
            stages += [ADDITIONS] * (rng.random() < ADDITION_SHARE)
        stages += [occasion.crowds] * (rng.random() < CROWD_SHARE)
        if len(stages) <= MOST - 2:
            return stages


NEWS = World("news", LABELS, _facts, OPENINGS, "city", ("noun",), _tell, LABEL_WORDS, VERDICTS)
