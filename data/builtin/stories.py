"""Built-in stories: synthetic English stories of a goal, an obstacle and one of several endings, and a rated set.

A context of three or four sentences names a goal and an obstacle; the ending says how the obstacle was overcome and
what followed from the goal. Every context has many right endings that share hardly any words, so that a metric with one
reference cannot rely on shared words.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from core.example import Example
from data.builtin.reserved import is_reserved
from data.builtin.world_files import phrases, read_world, words

REACTION_SHARE = 0.5  # the share of contexts with a fourth sentence
ATTEMPTS = 100  # number of worse endings to draw before another right ending is tried
FULL, HALF, NONE = QUALITIES = (1.0, 0.5, 0.0)


class Goal(NamedTuple):
    """A goal: `aim` follows "wanted to"; a preparation and a result are clauses."""

    aim: str
    preparations: tuple[str, ...]
    results: tuple[str, ...]


class Obstacle(NamedTuple):
    """An obstacle: several ways to say it, and clauses that solve it."""

    troubles: tuple[str, ...]
    solutions: tuple[str, ...]


FILE = read_world("stories")
GOALS: Mapping[str, Goal] = {name: Goal(aim, *clauses) for (name,), (aim,), *clauses in FILE["goals"]}
OBSTACLES: Mapping[str, Obstacle] = {name: Obstacle(*clauses) for (name,), *clauses in FILE["obstacles"]}
ALIKE = [set(line.split()) for line in phrases(FILE["alike"])]
OPENINGS, PREPARATIONS, TROUBLES, REACTIONS, ENDINGS = (
    phrases(FILE[name]) for name in ("openings", "preparations", "troubles", "reactions", "endings")
)
WOMEN, MEN, KIN, SEASONS = (words(FILE[name]) for name in ("women", "men", "kin", "seasons"))


@dataclass(frozen=True)
class Ending:
    """The ending of a story: an obstacle with the number of its solution, a goal with that of its result, a frame."""

    obstacle: str
    solution: int
    goal: str
    result: int
    frame: int


@dataclass(frozen=True)
class Story:
    """A context with its goal and obstacle; `words` fill the slots of the person."""

    goal: str
    obstacle: str
    words: dict[str, str]
    context: str

    def write(self, ending: Ending) -> str:
        """Writes the last sentence, about the person of this story."""
        solution = OBSTACLES[ending.obstacle].solutions[ending.solution].format(**self.words)
        result = GOALS[ending.goal].results[ending.result].format(**self.words)
        return ENDINGS[ending.frame].format(solution=solution, result=result) + "."


def generate_stories(n: int, seed: int, exclude: Collection[str] = ()) -> tuple[Example, ...]:
    """`n` different stories as `text`, with their beginning as `context`; the same seed gives the same stories.

    For any seeds, no context is that of a story of `rated_stories`, and none is in `exclude`. With a larger `n` the
    first stories stay the same.

    >>> generate_stories(1, seed=0)[0].text.count(".") in (4, 5)
    True
    """
    rng = random.Random(seed)
    stories = random_stories(rng, reserved=False)
    found: dict[str, str] = {}
    while len(found) < n:
        story = next(stories)
        text = f"{story.context} {story.write(right_ending(story, rng))}"
        if story.context not in exclude:
            found.setdefault(text, story.context)
    return tuple(
        Example(f"builtin-story-{seed}-{i}", text=text, context=context)
        for i, (text, context) in enumerate(found.items())
    )


def rated_stories(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """`n` endings of known quality, three for each context: right (1.0), half foreign (0.5), all foreign (0.0).

    The one reference is right too, but has another solution and another result than the candidates. `label` says which
    part is foreign ("solution", "result", "solution+result", None), and `group` names the context. The three candidates
    of a context have the same number of words, and share the same number of words with the reference and with the
    context. So neither length nor shared words say anything about quality.
    """
    rng = random.Random(seed)
    stories = random_stories(rng, reserved=True)
    rated: list[Example] = []
    contexts: set[str] = set()
    while len(rated) < n:
        story = next(stories)
        if story.context in contexts:
            continue
        contexts.add(story.context)
        reference, candidates = _reference_and_candidates(story, rng)
        for candidate, quality in zip(candidates, QUALITIES, strict=True):
            foreign = ["solution"] * (candidate.obstacle != story.obstacle)
            foreign += ["result"] * (candidate.goal != story.goal)
            rated.append(
                Example(
                    f"builtin-ending-{seed}-{len(rated)}",
                    text=story.write(candidate),
                    context=story.context,
                    label="+".join(foreign) or None,
                    references=(story.write(reference),),
                    group=f"builtin-context-{seed}-{len(contexts) - 1}",
                    ratings={"quality": quality},
                )
            )
    return tuple(rated[:n])


def right_ending(story: Story, rng: random.Random) -> Ending:
    """A solution of the obstacle and a result of the goal."""
    return Ending(
        story.obstacle,
        rng.randrange(len(OBSTACLES[story.obstacle].solutions)),
        story.goal,
        rng.randrange(len(GOALS[story.goal].results)),
        rng.randrange(len(ENDINGS)),
    )


def _reference_and_candidates(story: Story, rng: random.Random) -> tuple[Ending, tuple[Ending, Ending, Ending]]:
    """A reference, and a candidate of each quality; the candidates have equal length and equally many shared words."""
    while True:
        reference, right = right_ending(story, rng), right_ending(story, rng)
        if reference.solution == right.solution or reference.result == right.result:
            continue
        wanted = _counts(story, right, reference)
        half, none = (
            next(
                (
                    e
                    for e in _worse_endings(story, reference, right.frame, rng, q)
                    if _counts(story, e, reference) == wanted
                ),
                None,
            )
            for q in (HALF, NONE)
        )
        if half is not None and none is not None:
            return reference, (right, half, none)


def _worse_endings(story: Story, reference: Ending, frame: int, rng: random.Random, quality: float) -> Iterator[Ending]:
    """Endings with one foreign part, or two for quality 0, and without a part of the reference."""
    for _ in range(ATTEMPTS):
        ending = replace(right_ending(story, rng), frame=frame)
        foreign = rng.choice(("solution", "result"))
        if quality == NONE or foreign == "solution":
            ending = replace(ending, obstacle=foreign_name(story.obstacle, OBSTACLES, rng))
        if quality == NONE or foreign == "result":
            ending = replace(ending, goal=foreign_name(story.goal, GOALS, rng))
        repeats_solution = (ending.obstacle, ending.solution) == (reference.obstacle, reference.solution)
        repeats_result = (ending.goal, ending.result) == (reference.goal, reference.result)
        if not repeats_solution and not repeats_result:
            yield ending


def foreign_name(name: str, names: Collection[str], rng: random.Random) -> str:
    """Draws another goal or obstacle, one whose endings do not fit the given one."""
    return rng.choice([n for n in names if n != name and not any({n, name} <= alike for alike in ALIKE)])


def _counts(story: Story, ending: Ending, reference: Ending) -> tuple[int, int, int]:
    """The number of words of an ending, and the numbers that it shares with the reference and with the context."""
    counts = word_counts(story.write(ending))
    shared = [(counts & word_counts(text)).total() for text in (story.write(reference), story.context)]
    return counts.total(), shared[0], shared[1]


def word_counts(text: str) -> Counter[str]:
    """How often each word occurs, without punctuation.

    >>> word_counts("so, so.")
    Counter({'so': 2})
    """
    return Counter(word.strip(".,") for word in text.split())


def random_stories(rng: random.Random, reserved: bool) -> Iterator[Story]:
    """Yields endless stories, all with contexts from the reserved part or all from the rest."""
    while True:
        story = _random_story(rng)
        if is_reserved(story.context) == reserved:
            yield story


def _random_story(rng: random.Random) -> Story:
    goal, obstacle = rng.choice(tuple(GOALS)), rng.choice(tuple(OBSTACLES))
    name = rng.choice(WOMEN + MEN)
    she, her, obj = ("she", "her", "her") if name in WOMEN else ("he", "his", "him")
    person = {"name": name, "kin": rng.choice(KIN), "season": rng.choice(SEASONS), "she": she, "her": her, "obj": obj}
    clauses = {
        "aim": GOALS[goal].aim,
        "preparation": rng.choice(GOALS[goal].preparations).format(**person),
        "trouble": rng.choice(OBSTACLES[obstacle].troubles).format(**person),
    }
    frames = [rng.choice(part) for part in (OPENINGS, PREPARATIONS, TROUBLES)]
    if rng.random() < REACTION_SHARE:
        frames.append(rng.choice(REACTIONS))
    context = " ".join(f"{frame.format(**person, **clauses)}." for frame in frames)
    return Story(goal, obstacle, person, context)
