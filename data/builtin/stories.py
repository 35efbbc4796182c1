"""Built-in stories: synthetic English stories of a goal, an obstacle and one of several endings, and a rated set.

A context of three or four sentences tells a goal and an obstacle; the ending tells how the obstacle was overcome and
what came of the goal. For every context many endings are right that hardly share a word, so that a metric with one
reference has to see beyond words.
"""

import random
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from core.example import Example
from data.builtin.story_world import (
    ALIKE,
    ENDINGS,
    GOALS,
    KIN,
    MEN,
    OBSTACLES,
    OPENINGS,
    PREPARATIONS,
    REACTIONS,
    SEASONS,
    TROUBLES,
    WOMEN,
)

RESERVED_SHARE = 8  # one possible context in so many is kept for the rated set
REACTION_SHARE = 0.5  # how many contexts have a fourth sentence
ATTEMPTS = 100  # draws of a worse ending before another right one is tried
FULL, HALF, NONE = QUALITIES = (1.0, 0.5, 0.0)


@dataclass(frozen=True)
class Ending:
    """What ends a story: an obstacle and the number of its solution, a goal and the number of its result, a frame."""

    obstacle: str
    solution: int
    goal: str
    result: int
    frame: int


@dataclass(frozen=True)
class Story:
    """A context with what is known about it; `words` fill the slots of the person."""

    goal: str
    obstacle: str
    words: dict[str, str]
    context: str

    def told(self, ending: Ending) -> str:
        """The last sentence, about the person of this story."""
        solution = OBSTACLES[ending.obstacle].solutions[ending.solution].format(**self.words)
        result = GOALS[ending.goal].results[ending.result].format(**self.words)
        return ENDINGS[ending.frame].format(solution=solution, result=result) + "."


def generate_stories(n: int, seed: int, exclude: Collection[str] = ()) -> tuple[Example, ...]:
    """`n` different stories as `text`, with their beginning as `context`, the same for the same seed everywhere.

    None of them has the context of a story of `rated_stories`, whatever the seeds, nor a context in `exclude`. With a
    larger `n` the first stories stay the same.

    >>> generate_stories(1, seed=0)[0].text.count(".") in (4, 5)
    True
    """
    rng = random.Random(seed)
    found: dict[str, str] = {}
    for story in _stories(rng, reserved=False):
        if len(found) >= n:
            break
        text = f"{story.context} {story.told(right_ending(story, rng))}"
        if story.context not in exclude:
            found.setdefault(text, story.context)
    return tuple(
        Example(f"builtin-story-{seed}-{i}", text=text, context=context)
        for i, (text, context) in enumerate(found.items())
    )


def rated_stories(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """`n` endings of known quality, three for each context: right 1.0, half of it foreign 0.5, all of it foreign 0.0.

    The one reference is right too, but tells another solution and another result than the candidates do. `label` says
    which part is foreign ("solution", "result", "solution+result", None), and `group` names the context. The three
    candidates of a context have equally many words, equally many in common with the reference and equally many in
    common with the context, so that neither length nor the overlap of words tells the quality.
    """
    rng = random.Random(seed)
    rated: list[Example] = []
    contexts: set[str] = set()
    for story in _stories(rng, reserved=True):
        if len(rated) >= n:
            break
        if story.context in contexts:
            continue
        contexts.add(story.context)
        group = f"builtin-context-{seed}-{len(contexts) - 1}"
        reference, candidates = _matched(story, rng)
        for candidate, quality in zip(candidates, QUALITIES, strict=True):
            foreign = [
                part
                for part, other in (
                    ("solution", candidate.obstacle != story.obstacle),
                    ("result", candidate.goal != story.goal),
                )
                if other
            ]
            rated.append(
                Example(
                    f"builtin-ending-{seed}-{len(rated)}",
                    text=story.told(candidate),
                    context=story.context,
                    label="+".join(foreign) or None,
                    references=(story.told(reference),),
                    group=group,
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


def _matched(story: Story, rng: random.Random) -> tuple[Ending, tuple[Ending, Ending, Ending]]:
    """A reference, and candidates of the three qualities that are alike in length and overlap."""
    while True:
        reference, right = right_ending(story, rng), right_ending(story, rng)
        if reference.solution == right.solution or reference.result == right.result:
            continue
        wanted = _counts(story, right, reference)
        worse = [
            next((e for e in drawn if _counts(story, e, reference) == wanted), None)
            for drawn in (_worse(story, reference, right.frame, rng, quality) for quality in (HALF, NONE))
        ]
        if worse[0] is not None and worse[1] is not None:
            return reference, (right, worse[0], worse[1])


def _worse(story: Story, reference: Ending, frame: int, rng: random.Random, quality: float) -> Iterator[Ending]:
    """Endings with one foreign part, or two for quality 0; what is not foreign is not what the reference tells."""
    for _ in range(ATTEMPTS):
        ending = replace(right_ending(story, rng), frame=frame)
        foreign = rng.choice(("solution", "result"))
        if quality == NONE or foreign == "solution":
            ending = replace(ending, obstacle=_foreign(story.obstacle, tuple(OBSTACLES), rng))
        if quality == NONE or foreign == "result":
            ending = replace(ending, goal=_foreign(story.goal, tuple(GOALS), rng))
        repeats_solution = (ending.obstacle, ending.solution) == (reference.obstacle, reference.solution)
        repeats_result = (ending.goal, ending.result) == (reference.goal, reference.result)
        if not repeats_solution and not repeats_result:
            yield ending


def _foreign(name: str, names: tuple[str, ...], rng: random.Random) -> str:
    """Another goal or obstacle, whose endings do not pass for those of the given one."""
    return rng.choice([n for n in names if n != name and not any({n, name} <= alike for alike in ALIKE)])


def _counts(story: Story, ending: Ending, reference: Ending) -> tuple[int, int, int]:
    """Words of an ending, and how many of them it shares with the reference and with the context."""
    words = word_counts(story.told(ending))
    shared = [(words & word_counts(text)).total() for text in (story.told(reference), story.context)]
    return words.total(), shared[0], shared[1]


def word_counts(text: str) -> Counter[str]:
    """How often each word occurs, without punctuation.

    >>> word_counts("so, so.")
    Counter({'so': 2})
    """
    return Counter(word.strip(".,") for word in text.split())


def _stories(rng: random.Random, reserved: bool) -> Iterator[Story]:
    """Stories without end, all with contexts from the reserved part or all from the rest."""
    while True:
        story = _story(rng)
        if (zlib.crc32(story.context.encode()) % RESERVED_SHARE == 0) == reserved:
            yield story


def _story(rng: random.Random) -> Story:
    goal = rng.choice(tuple(GOALS))
    obstacle = rng.choice(tuple(OBSTACLES))
    name = rng.choice(WOMEN + MEN)
    woman = name in WOMEN
    words = {
        "name": name,
        "kin": rng.choice(KIN),
        "season": rng.choice(SEASONS),
        "she": "she" if woman else "he",
        "her": "her" if woman else "his",
        "obj": "her" if woman else "him",
    }
    clauses = {
        "aim": GOALS[goal].aim,
        "preparation": rng.choice(GOALS[goal].preparations).format(**words),
        "trouble": rng.choice(OBSTACLES[obstacle].troubles).format(**words),
    }
    frames = [rng.choice(part) for part in (OPENINGS, PREPARATIONS, TROUBLES)]
    if rng.random() < REACTION_SHARE:
        frames.append(rng.choice(REACTIONS))
    context = " ".join(f"{frame.format(**words, **clauses)}." for frame in frames)
    return Story(goal, obstacle, words, context)
