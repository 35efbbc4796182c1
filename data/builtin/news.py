"""Built-in news: synthetic English news on four topics, and a rated set of damaged ones.

The prefix of a text does not show its topic: it names an occasion (a trial, a film) that fits every topic. The subject
and its clauses show the topic.
"""

import random
from collections.abc import Mapping, Sequence

from data.builtin.controlled import MOST, Labels, Prompt, Sentence, World, read_openings
from data.builtin.grammar import draw_facts, read_world

# Shares of the texts that have each part.
SUBJECT_SHARE = 0.7
PLAN_SHARE = 0.5
SECOND_SHARE = 0.6
QUOTE_SHARE = 0.6
ADDITION_SHARE = 0.4
CROWD_SHARE = 0.5
ASIDE_SHARE = 0.2


FILE, SAID, WORDS = read_world("news")
STAGES = ("firsts", "seconds", "crowds", "endings")  # of an occasion, in the order of the text
OCCASIONS = {noun: dict(zip(STAGES, stages, strict=True)) for (noun,), *stages in FILE["occasions"]}
# by topic its subjects: a noun phrase, and clauses about it
TOPICS: Mapping[str, Sequence[Sequence[str]]] = {topic: lines for (topic,), *lines in FILE["topics"]}


def _facts(rng: random.Random) -> dict[str, str]:
    drawn = draw_facts(
        rng,
        WORDS,
        "first",
        last="last names",
        city="cities",
    )
    return {
        **drawn,
        "noun": rng.choice(tuple(OCCASIONS)),
        "day": rng.choice(WORDS["days"]),
        "full": f"{drawn['first']} {drawn['last']}",
        "subject": "{subject}",
    }


def _compose(rng: random.Random, prompt: Prompt, labels: Labels) -> list[Sentence]:
    noun = prompt.facts["noun"]
    said = {**SAID, **OCCASIONS[noun]}
    facts = {
        **prompt.facts,
        "span": rng.choice(SAID["spans"]),
        "month": rng.choice(WORDS["months"]),
    }
    if not prompt.mentions("full"):  # the first mention of a person is by the full name
        facts["last"] = facts["full"]
        said["plans"] = tuple(plan for plan in said["plans"] if "{last}" not in plan and "{She}" not in plan)
    names_subject = prompt.mentions("subject")
    stages = _stages(rng, names_subject)
    topics = labels(len(stages) - stages.count("plans") + names_subject)
    subjects = {topic: rng.choice(lines) for topic, lines in TOPICS.items()}
    clauses = {topic: iter(rng.sample(said, len(said))) for topic, (_, *said) in subjects.items()}

    def write(template: str, topic: str, carries: bool = True) -> Sentence:
        """Fills a template with the facts and a clause about the topic; `carries` says that it shows the topic."""
        subject, *_ = subjects[topic]
        clause = next(clauses[topic]) if "{clause}" in template else ""
        return Sentence(
            text=template.format_map(
                {
                    **facts,
                    "subject": subject,
                    "clause": clause,
                }
            ),
            about=(noun, subject) if carries else (noun,),
            label=topic if carries else None,
            naming="{city}" in template or "{last}" in template,
        )

    remaining = iter(topics)
    opening = write(prompt.first, next(remaining) if names_subject else topics[0], names_subject)
    sentences = [opening._replace(naming=True)]
    for stage in stages:
        template = rng.choice(said[stage])
        is_plan = stage == "plans"
        sentences.append(write(template, topics[0] if is_plan else next(remaining), not is_plan))
    may_have_aside = len(set(topics)) == 1 and len(sentences) < MOST - 1
    if may_have_aside and rng.random() < ASIDE_SHARE:
        other = rng.choice([topic for topic in TOPICS if topic != topics[0]])
        sentences.append(write(rng.choice(SAID["asides"]), other))
    sentences.append(write(rng.choice(said["endings"]), topics[0], carries=False))
    return sentences


def _stages(rng: random.Random, names_subject: bool) -> list[str]:
    """The parts between the opening and the ending, in order."""
    while True:
        stages = ["subjects"] * (not names_subject and rng.random() < SUBJECT_SHARE)
        stages += ["plans"] * (rng.random() < PLAN_SHARE)
        stages += ["firsts"]
        stages += ["seconds"] * (rng.random() < SECOND_SHARE)
        if rng.random() < QUOTE_SHARE:
            stages += ["quotes"]
            stages += ["additions"] * (rng.random() < ADDITION_SHARE)
        stages += ["crowds"] * (rng.random() < CROWD_SHARE)
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
