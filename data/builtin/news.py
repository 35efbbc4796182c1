"""Built-in news: synthetic English news on four topics, and a rated set of damaged ones.

The prefix of a text names an occasion without a topic (a trial, a film); only the subject and its clauses show the
topic.
"""

import random
from collections.abc import Mapping
from typing import NamedTuple

from data.builtin.controlled import MOST, Labels, Prompt, Sentence, World, read_openings
from data.builtin.grammar import pronouns, read_world

SUBJECT_SHARE, PLAN_SHARE, SECOND_SHARE, QUOTE_SHARE, ADDITION_SHARE, CROWD_SHARE = 0.7, 0.5, 0.6, 0.6, 0.4, 0.5
ASIDE_SHARE = 0.2


class Occasion(NamedTuple):
    """The phrases for a kind of occasion, in the order of the text."""

    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    crowds: tuple[str, ...]
    endings: tuple[str, ...]


class Subject(NamedTuple):
    """A subject of an occasion: a noun phrase, and clauses about it."""

    name: str
    clauses: tuple[str, ...]


FILE, SAID, WORDS = read_world("news")
OCCASIONS: Mapping[str, Occasion] = {noun: Occasion(*stages) for (noun,), *stages in FILE["occasions"]}
TOPICS: Mapping[str, tuple[Subject, ...]] = {
    topic: tuple(Subject(name, tuple(clauses)) for name, *clauses in lines) for (topic,), *lines in FILE["topics"]
}
PLANS, QUOTES = SAID["plans"], SAID["quotes"]


def _facts(rng: random.Random) -> dict[str, str]:
    first, last = rng.choice(WORDS["women"] + WORDS["men"]), rng.choice(WORDS["last names"])
    return {
        "city": rng.choice(WORDS["cities"]),
        "noun": rng.choice(tuple(OCCASIONS)),
        "day": rng.choice(WORDS["days"]),
        "full": f"{first} {last}",
        "last": last,
        **pronouns(first, WORDS["women"]),
    }


def _compose(
    rng: random.Random,
    prompt: Prompt,
    labels: Labels,
) -> list[Sentence]:
    noun = prompt.facts["noun"]
    occasion = OCCASIONS[noun]
    facts = {**prompt.facts, "span": rng.choice(SAID["spans"]), "month": rng.choice(WORDS["months"])}
    names_subject = prompt.mentions("subject")
    stages = _stages(rng, occasion, names_subject)
    topics = labels(sum(stage is not PLANS for stage in stages) + names_subject)
    subjects = {topic: rng.choice(TOPICS[topic]) for topic in TOPICS}
    clauses = {topic: iter(rng.sample(subject.clauses, len(subject.clauses))) for topic, subject in subjects.items()}

    def sentence(
        template: str,
        topic: str,
        *,
        carries: bool = True,
        **more: str,
    ) -> Sentence:
        clause = next(clauses[topic]) if "{clause}" in template else ""
        text = template.format(**{**facts, "subject": subjects[topic].name, "clause": clause, **more})
        about = (noun, subjects[topic].name) if carries else (noun,)
        return Sentence(text, about, topic if carries else None, naming="{city}" in template or "{last}" in template)

    remaining = iter(topics)
    opening = sentence(prompt.rest, next(remaining) if names_subject else topics[0], carries=names_subject)
    sentences = [opening._replace(text=prompt.prefix + opening.text, naming=True)]
    knows_person = prompt.mentions("full")
    for stage in stages:
        if stage is PLANS:
            plans = [plan for plan in PLANS if knows_person or not ("{last}" in plan or "{She}" in plan)]
            sentences.append(sentence(rng.choice(plans), topics[0], carries=False))
        elif stage is QUOTES and not knows_person:  # the first mention of a person is by the full name
            sentences.append(sentence(rng.choice(QUOTES), next(remaining), last=facts["full"]))
        else:
            sentences.append(sentence(rng.choice(stage), next(remaining)))
    if len(set(topics)) == 1 and len(sentences) < MOST - 1 and rng.random() < ASIDE_SHARE:
        other = rng.choice([topic for topic in TOPICS if topic != topics[0]])
        sentences.append(sentence(rng.choice(SAID["asides"]), other))
    sentences.append(sentence(rng.choice(occasion.endings), topics[0], carries=False))
    return sentences


def _stages(
    rng: random.Random,
    occasion: Occasion,
    names_subject: bool,
) -> list[tuple[str, ...]]:
    """The parts between the opening and the ending, in order, with the phrases to choose from."""
    while True:
        stages = [SAID["subjects"]] * (not names_subject and rng.random() < SUBJECT_SHARE)
        stages += [PLANS] * (rng.random() < PLAN_SHARE)
        stages += [occasion.firsts]
        stages += [occasion.seconds] * (rng.random() < SECOND_SHARE)
        if rng.random() < QUOTE_SHARE:
            stages += [QUOTES]
            stages += [SAID["additions"]] * (rng.random() < ADDITION_SHARE)
        stages += [occasion.crowds] * (rng.random() < CROWD_SHARE)
        if len(stages) <= MOST - 2:
            return stages


NEWS = World(
    "news",
    labels=tuple(TOPICS),
    facts=_facts,
    openings=read_openings(FILE["openings"]),
    identity=("city", "noun"),
    compose=_compose,
    label_words={topic: (topic,) for topic in TOPICS},
    verdicts=SAID["verdicts"],
)
