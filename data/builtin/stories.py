"""Built-in stories: synthetic English stories of a goal, an obstacle and one of several endings, and a rated set.

Every context of three or four sentences has many right endings that share hardly any words, so that a metric with one
reference cannot rely on shared words.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

from core.example import Example
from data.builtin import damage
from data.builtin.damage import Damaged
from data.builtin.grammar import collect, distinct, drafts, pronouns, read_world

REACTION_SHARE = 0.5  # the share of contexts with a fourth sentence
ATTEMPTS = 100  # number of worse endings to draw before another right ending is tried

CONTEXT = attrgetter("context")
FILE, SAID, WORDS = read_world("stories")
# Goal -> its aim, which follows "wanted to", preparations and results; obstacle -> ways to say it and solutions.
GOALS = {name: clauses for (name,), *clauses in FILE["goals"]}
OBSTACLES = {name: clauses for (name,), *clauses in FILE["obstacles"]}
RESULTS, SOLUTIONS = ({name: clauses[-1] for name, clauses in each.items()} for each in (GOALS, OBSTACLES))
ALIKE = [set(line.split()) for line in SAID["alike"]]


class Ending(NamedTuple):
    """The ending of a story: an obstacle with the number of its solution, a goal with that of its result, a frame."""

    solution: tuple[str, int]
    result: tuple[str, int]
    frame: str


class Story(NamedTuple):
    """A context with its goal and obstacle; `words` fill the slots of the person."""

    goal: str
    obstacle: str
    words: Mapping[str, str]
    context: str

    def write(self, ending: Ending) -> str:
        """Writes the last sentence, about the person of this story."""
        (obstacle, i), (goal, j), frame = ending
        clauses = {"solution": SOLUTIONS[obstacle][i], "result": RESULTS[goal][j]}
        return frame.format(**{slot: clause.format(**self.words) for slot, clause in clauses.items()}) + "."


def generate_stories(
    n: int,
    seed: int,
    exclude: Collection[str] = (),
) -> tuple[Example, ...]:
    """Stories as `text`, with their beginning as `context`."""
    rng = random.Random(seed)
    stories = drafts(random_story, rng, CONTEXT, reserved=False)

    def draw(_: int) -> Example:
        story = next(stories)
        return Example("", text=f"{story.context} {story.write(right_ending(story, rng))}", context=story.context)

    return collect(f"builtin-story-{seed}", n, draw, exclude, CONTEXT)


def rated_stories(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """Endings of known quality, three for each context: right (1.0), half foreign (0.5), all foreign (0.0).

    The one reference is right too, but has another solution and another result than the candidates. `label` says which
    part is foreign, and `group` names the context. The three candidates of a context have the same number of words, and
    share the same number of words with the reference and with the context.
    """
    rng = random.Random(seed)

    def damaged() -> Iterator[Damaged]:
        for i, story in enumerate(distinct(drafts(random_story, rng, CONTEXT, reserved=True), CONTEXT)):
            reference, *candidates = _reference_and_candidates(story, rng)
            for candidate in candidates:
                foreign = ["solution"] * (candidate.solution[0] != story.obstacle)
                foreign += ["result"] * (candidate.result[0] != story.goal)
                example = Example(
                    "",
                    text=story.write(candidate),
                    context=story.context,
                    label="+".join(foreign) or None,
                    references=(story.write(reference),),
                    group=f"builtin-context-{seed}-{i}",
                )
                yield example, {"quality": len(foreign)}

    return damage.rate(f"builtin-ending-{seed}", n, damaged(), {"quality": 2})


def right_ending(story: Story, rng: random.Random) -> Ending:
    """A solution of the obstacle and a result of the goal."""
    solution = rng.randrange(len(SOLUTIONS[story.obstacle]))
    result = rng.randrange(len(RESULTS[story.goal]))
    return Ending((story.obstacle, solution), (story.goal, result), rng.choice(SAID["endings"]))


def _reference_and_candidates(story: Story, rng: random.Random) -> tuple[Ending, ...]:
    """A reference, and an ending of each level of damage with equal length and equally many shared words."""
    while True:
        reference, right = right_ending(story, rng), right_ending(story, rng)
        if reference.solution == right.solution or reference.result == right.result:
            continue
        half, none = (next(_foreign_endings(story, reference, right, rng, level), None) for level in (1, 2))
        if half is not None and none is not None:
            return reference, right, half, none


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
        (obstacle, i), (goal, j), _ = right_ending(story, rng)
        foreign = rng.choice(("solution", "result"))
        if level == 2 or foreign == "solution":
            obstacle = foreign_name(obstacle, OBSTACLES, rng)
        if level == 2 or foreign == "result":
            goal = foreign_name(goal, GOALS, rng)
        ending = Ending((obstacle, i), (goal, j), right.frame)
        differs = ending.solution != reference.solution and ending.result != reference.result
        if differs and _counts(story, ending, reference) == wanted:
            yield ending


def foreign_name(
    name: str,
    names: Collection[str],
    rng: random.Random,
) -> str:
    """Draws another goal or obstacle, one whose endings do not fit the given one."""
    return rng.choice([n for n in names if n != name and not any({n, name} <= alike for alike in ALIKE)])


def _counts(
    story: Story,
    ending: Ending,
    reference: Ending,
) -> tuple[int, int, int]:
    """The number of words of an ending, and the numbers that it shares with the reference and with the context."""
    counts = word_counts(story.write(ending))
    shared = [(counts & word_counts(text)).total() for text in (story.write(reference), story.context)]
    return counts.total(), shared[0], shared[1]


def word_counts(text: str) -> Counter[str]:
    """How often each word occurs, without punctuation."""
    return Counter(word.strip(".,") for word in text.split())


def random_story(rng: random.Random) -> Story:
    """A random context."""
    goal, obstacle = rng.choice(tuple(GOALS)), rng.choice(tuple(OBSTACLES))
    name = rng.choice(WORDS["women"] + WORDS["men"])
    person = {"name": name, "kin": rng.choice(WORDS["kin"]), "season": rng.choice(WORDS["seasons"])}
    person |= pronouns(name, WORDS["women"])
    (aim,), preparations, _ = GOALS[goal]
    clauses = {"preparation": rng.choice(preparations), "trouble": rng.choice(OBSTACLES[obstacle][0]), "aim": aim}
    filled = {slot: clause.format(**person) for slot, clause in clauses.items()}
    frames = [rng.choice(SAID[part]) for part in ("openings", "preparations", "troubles")]
    frames += [rng.choice(SAID["reactions"])] if rng.random() < REACTION_SHARE else []
    return Story(goal, obstacle, person, " ".join(f"{frame.format(**person, **filled)}." for frame in frames))
