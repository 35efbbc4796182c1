"""Built-in stories: synthetic English stories of a goal, an obstacle and one of several endings, and a rated set.

Every context of three or four sentences has many right endings that share hardly any words, so that a metric with one
reference cannot rely on shared words.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from core.example import Example, Examples
from data.builtin import damage
from data.builtin.grammar import collect, distinct, draw_facts, draw_reserved, is_reserved, read_world

REACTION_SHARE = 0.5  # the share of contexts with a fourth sentence
ATTEMPTS = 100  # number of worse endings to draw before another right ending is tried

CONTEXT = attrgetter("context")
FILE, SAID, WORDS = read_world("stories")
# Goal -> its aim, which follows "wanted to", preparations and results; obstacle -> ways to say it and solutions.
GOALS = {name: clauses for (name,), *clauses in FILE["goals"]}
OBSTACLES = {name: clauses for (name,), *clauses in FILE["obstacles"]}
CAUSES = {"solution": OBSTACLES, "result": GOALS}  # what the parts of an ending belong to
ALIKE = [set(line.split()) for line in SAID["alike"]]

Clause: TypeAlias = tuple[str, int]  # an obstacle or a goal, and the number of its solution or its result


class Ending(NamedTuple):
    """The ending of a story: the solution of an obstacle, the result of a goal, and the frame of the sentence."""

    parts: Mapping[str, Clause]
    frame: str

    def differs(self, other: "Ending") -> bool:
        """Whether neither part is the same."""
        return all(self.parts[part] != other.parts[part] for part in CAUSES)


class Story(NamedTuple):
    """The beginning of a story, with its obstacle and its goal; `words` are the name and pronouns of the person."""

    causes: Mapping[str, str]
    words: Mapping[str, str]
    context: str

    def write(self, ending: Ending) -> str:
        """Writes the last sentence, about the person of this story."""
        clauses = {part: list_clauses(part, name)[i] for part, (name, i) in ending.parts.items()}
        return f"{ending.frame}.".format_map(clauses).format_map(self.words)


def list_clauses(part: str, cause: str) -> tuple[str, ...]:
    """Lists the solutions of an obstacle, or the results of a goal."""
    return CAUSES[part][cause][-1]


def generate_stories(n: int, seed: int, exclude: Collection[str] = ()) -> Examples:
    """Generates stories as `text`, with their beginning as `context`."""
    rng = random.Random(seed)

    def draw(_: int) -> Example | None:
        story = random_story(rng)
        if is_reserved(story.context):
            return None
        ending = story.write(right_ending(story, rng))
        return Example("", text=f"{story.context} {ending}", context=story.context)

    return collect(
        f"builtin-story-{seed}",
        n,
        draw,
        exclude,
        CONTEXT,
    )


def rated_stories(n: int = 400, seed: int = 0) -> Examples:
    """Generates three endings for each context: a right one (1.0), a half foreign (0.5), a wholly foreign one (0.0).

    The one reference is right, too, but its solution and its result differ from those of the three endings. `label`
    says which part is foreign, and `group` names the context. The three endings of a context have the same number of
    words, and share the same number of words with the reference and with the context.
    """
    rng = random.Random(seed)

    def damaged() -> Iterator[Example]:
        stories = draw_reserved(random_story, rng, CONTEXT)
        for i, story in enumerate(distinct(stories, CONTEXT)):
            reference, *candidates = _reference_and_candidates(story, rng)
            for level, candidate in enumerate(candidates):
                foreign = [part for part, (name, _) in candidate.parts.items() if name != story.causes[part]]
                yield Example(
                    "",
                    text=story.write(candidate),
                    context=story.context,
                    label="+".join(foreign) or None,
                    references=(story.write(reference),),
                    group=f"builtin-context-{seed}-{i}",
                    ratings={"quality": 1 - level / 2},
                )

    return damage.number(f"builtin-ending-{seed}", n, damaged())


def right_ending(story: Story, rng: random.Random) -> Ending:
    """Draws a solution of the obstacle and a result of the goal."""
    parts = {part: (name, rng.randrange(len(list_clauses(part, name)))) for part, name in story.causes.items()}
    return Ending(parts, rng.choice(SAID["endings"]))


def _reference_and_candidates(story: Story, rng: random.Random) -> list[Ending]:
    """A reference, and an ending of each level of damage with equal length and equally many shared words."""
    while True:
        reference = right_ending(story, rng)
        endings = [reference, right_ending(story, rng)]
        if endings[1].differs(reference):
            for level in (1, 2):
                endings += islice(
                    _foreign_endings(
                        story,
                        *endings[:2],
                        rng,
                        level,
                    ),
                    1,
                )
            if len(endings) == 4:
                return endings


def _foreign_endings(
    story: Story,
    reference: Ending,
    right: Ending,
    rng: random.Random,
    level: int,
) -> Iterator[Ending]:
    """Endings with `level` foreign parts, without a part of the reference, and with the counts of the right ending."""
    wanted = _counts(story, right, reference)
    for _ in range(ATTEMPTS):
        parts = {**right_ending(story, rng).parts}
        drawn = rng.choice(("solution", "result"))
        for part, causes in CAUSES.items():
            name, i = parts[part]
            if level == 2 or part == drawn:
                parts[part] = (foreign_name(name, causes, rng), i)
        ending = Ending(parts, right.frame)
        if ending.differs(reference) and _counts(story, ending, reference) == wanted:
            yield ending


def foreign_name(name: str, names: Collection[str], rng: random.Random) -> str:
    """Draws another goal or obstacle, one whose endings do not fit the given one."""
    fitting = {name}.union(*(alike for alike in ALIKE if name in alike))
    return rng.choice([other for other in names if other not in fitting])


def _counts(story: Story, ending: Ending, reference: Ending) -> list[int]:
    """The number of words of an ending, and the numbers that it shares with the reference and with the context."""
    counts = word_counts(story.write(ending))
    others = (word_counts(story.write(reference)), word_counts(story.context))
    return [counts.total(), *((counts & other).total() for other in others)]


def word_counts(text: str) -> Counter[str]:
    """Counts how often each word of a text occurs, without punctuation."""
    return Counter(word.strip(".,") for word in text.split())


def random_story(rng: random.Random) -> Story:
    """Draws the goal, the obstacle and the words of a story."""
    goal = rng.choice(tuple(GOALS))
    obstacle = rng.choice(tuple(OBSTACLES))
    words = draw_facts(
        rng,
        WORDS,
        "name",
        kin="kin",
        season="seasons",
    )
    (aim,), preparations, _ = GOALS[goal]
    troubles, *_ = OBSTACLES[obstacle]
    clauses = {
        **words,
        "preparation": rng.choice(preparations),
        "trouble": rng.choice(troubles),
        "aim": aim,
    }
    frames = [rng.choice(SAID[part]) for part in ("openings", "preparations", "troubles")]
    if rng.random() < REACTION_SHARE:
        frames.append(rng.choice(SAID["reactions"]))
    context = ". ".join([*frames, ""]).rstrip()
    return Story({"solution": obstacle, "result": goal}, words, context.format_map(clauses).format_map(words))
