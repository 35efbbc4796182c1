"""Built-in news: synthetic English news on four topics, and a rated set of damaged ones.

The prefix of a text does not show its topic: it names an occasion (a trial, a film) that fits every topic. The subject
and its clauses show the topic.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from data.builtin.controlled import MOST, Labels, Prompt, Sentence, World, read_openings
from data.builtin.grammar import pronouns, read_world

# Shares of the texts that have each part.
SUBJECT_SHARE = 0.7
PLAN_SHARE = 0.5
SECOND_SHARE = 0.6
QUOTE_SHARE = 0.6
ADDITION_SHARE = 0.4
CROWD_SHARE = 0.5
ASIDE_SHARE = 0.2


class Occasion(NamedTuple):
    """The phrases for a kind of occasion, in the order of the text."""

    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    crowds: tuple[str, ...]
    endings: tuple[str, ...]


FILE, SAID, WORDS = read_world("news")
OCCASIONS: Mapping[str, Occasion] = {noun: Occasion(*stages) for (noun,), *stages in FILE["occasions"]}
# by topic its subjects: a noun phrase, and clauses about it
TOPICS: Mapping[str, Sequence[Sequence[str]]] = {topic: lines for (topic,), *lines in FILE["topics"]}
PLANS = SAID["plans"]
QUOTES = SAID["quotes"]


def _facts(rng: random.Random) -> dict[str, str]:
    first = rng.choice(WORDS["women"] + WORDS["men"])
    last = rng.choice(WORDS["last names"])
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
    facts = {
        **prompt.facts,
        "span": rng.choice(SAID["spans"]),
        "month": rng.choice(WORDS["months"]),
    }
    names_subject = prompt.mentions("subject")
    stages = _stages(rng, occasion, names_subject)
    topics = labels(sum(stage is not PLANS for stage in stages) + names_subject)
    subjects = {topic: rng.choice(lines) for topic, lines in TOPICS.items()}
    clauses = {topic: iter(rng.sample(said, len(said))) for topic, (_, *said) in subjects.items()}

    def write(
        template: str,
        topic: str,
        *,
        carries: bool = True,
        **more: str,
    ) -> Sentence:
        """Fills a template with the facts and a clause about the topic; `carries` says that it shows the topic."""
        subject, *_ = subjects[topic]
        slots = {
            **facts,
            "subject": subject,
            "clause": next(clauses[topic]) if "{clause}" in template else "",
            **more,
        }
        return Sentence(
            text=template.format(**slots),
            about=(noun, subject) if carries else (noun,),
            label=topic if carries else None,
            naming="{city}" in template or "{last}" in template,
        )

    remaining = iter(topics)
    topic_of_opening = next(remaining) if names_subject else topics[0]
    opening = write(prompt.rest, topic_of_opening, carries=names_subject)
    sentences = [opening._replace(text=prompt.prefix + opening.text, naming=True)]
    knows_person = prompt.mentions("full")
    for stage in stages:
        if stage is PLANS:
            of_no_person = [plan for plan in PLANS if "{last}" not in plan and "{She}" not in plan]
            plans = PLANS if knows_person else of_no_person
            sentences.append(write(rng.choice(plans), topics[0], carries=False))
        elif stage is QUOTES and not knows_person:  # the first mention of a person is by the full name
            quote = rng.choice(QUOTES)
            sentences.append(write(quote, next(remaining), last=facts["full"]))
        else:
            sentences.append(write(rng.choice(stage), next(remaining)))
    may_have_aside = len(set(topics)) == 1 and len(sentences) < MOST - 1
    if may_have_aside and rng.random() < ASIDE_SHARE:
        other = rng.choice([topic for topic in TOPICS if topic != topics[0]])
        sentences.append(write(rng.choice(SAID["asides"]), other))
    sentences.append(write(rng.choice(occasion.endings), topics[0], carries=False))
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
