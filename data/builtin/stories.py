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
RESULTS = {name: clauses[-1] for name, clauses in GOALS.items()}
SOLUTIONS = {name: clauses[-1] for name, clauses in OBSTACLES.items()}
ALIKE = [set(line.split()) for line in SAID["alike"]]


class Ending(NamedTuple):
    """The ending of a story: the solution of an obstacle, the result of a goal, and the frame of the sentence."""

    solution: tuple[str, int]
    result: tuple[str, int]
    frame: str


class Story(NamedTuple):
    """The beginning of a story, with its goal and its obstacle; `words` are the name and pronouns of the person."""

    goal: str
    obstacle: str
    words: Mapping[str, str]
    context: str

    def write(self, ending: Ending) -> str:
        """Writes the last sentence, about the person of this story."""
        (obstacle, i), (goal, j), frame = ending
        solution = SOLUTIONS[obstacle][i].format(**self.words)
        result = RESULTS[goal][j].format(**self.words)
        return frame.format(solution=solution, result=result) + "."


def generate_stories(
    n: int,
    seed: int,
    exclude: Collection[str] = (),
) -> tuple[Example, ...]:
    """Generates stories as `text`, with their beginning as `context`."""
    rng = random.Random(seed)
    stories = drafts(random_story, rng, CONTEXT, reserved=False)

    def draw(_: int) -> Example:
        story = next(stories)
        ending = story.write(right_ending(story, rng))
        return Example("", text=f"{story.context} {ending}", context=story.context)

    return collect(f"builtin-story-{seed}", n, draw, exclude, CONTEXT)


def rated_stories(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """Generates three endings for each context: a right one (1.0), a half foreign (0.5), a wholly foreign one (0.0).

    The one reference is right, too, but its solution and its result differ from those of the three endings. `label`
    says which part is foreign, and `group` names the context. The three endings of a context have the same number of
    words, and share the same number of words with the reference and with the context.
    """
    rng = random.Random(seed)

    def damaged() -> Iterator[Damaged]:
        stories = drafts(random_story, rng, CONTEXT, reserved=True)
        for i, story in enumerate(distinct(stories, CONTEXT)):
            reference, *candidates = _reference_and_candidates(story, rng)
            for candidate in candidates:
                foreign = _name_foreign(story, candidate)
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


def _name_foreign(story: Story, ending: Ending) -> list[str]:
    """The parts of an ending that do not fit its story."""
    foreign: list[str] = []
    if ending.solution[0] != story.obstacle:
        foreign.append("solution")
    if ending.result[0] != story.goal:
        foreign.append("result")
    return foreign


def right_ending(story: Story, rng: random.Random) -> Ending:
    """Draws a solution of the obstacle and a result of the goal."""
    solution = rng.randrange(len(SOLUTIONS[story.obstacle]))
    result = rng.randrange(len(RESULTS[story.goal]))
    return Ending((story.obstacle, solution), (story.goal, result), rng.choice(SAID["endings"]))


def _reference_and_candidates(story: Story, rng: random.Random) -> tuple[Ending, ...]:
    """A reference, and an ending of each level of damage with equal length and equally many shared words."""
    while True:
        reference = right_ending(story, rng)
        right = right_ending(story, rng)
        if reference.solution == right.solution or reference.result == right.result:
            continue
        half = next(_foreign_endings(story, reference, right, rng, level=1), None)
        none = next(_foreign_endings(story, reference, right, rng, level=2), None)
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
    fitting = {name}.union(*(alike for alike in ALIKE if name in alike))
    return rng.choice([other for other in names if other not in fitting])


def _counts(
    story: Story,
    ending: Ending,
    reference: Ending,
) -> tuple[int, int, int]:
    """The number of words of an ending, and the numbers that it shares with the reference and with the context."""
    counts = word_counts(story.write(ending))
    with_reference = counts & word_counts(story.write(reference))
    with_context = counts & word_counts(story.context)
    return counts.total(), with_reference.total(), with_context.total()


def word_counts(text: str) -> Counter[str]:
    """Counts how often each word of a text occurs, without punctuation."""
    return Counter(word.strip(".,") for word in text.split())


def random_story(rng: random.Random) -> Story:
    """Draws the goal, the obstacle and the words of a story."""
    goal = rng.choice(tuple(GOALS))
    obstacle = rng.choice(tuple(OBSTACLES))
    name = rng.choice(WORDS["women"] + WORDS["men"])
    person = {
        "name": name,
        "kin": rng.choice(WORDS["kin"]),
        "season": rng.choice(WORDS["seasons"]),
        **pronouns(name, WORDS["women"]),
    }
    (aim,), preparations, _ = GOALS[goal]
    troubles, *_ = OBSTACLES[obstacle]
    clauses = {
        "preparation": rng.choice(preparations).format(**person),
        "trouble": rng.choice(troubles).format(**person),
        "aim": aim.format(**person),
    }
    frames = [rng.choice(SAID[part]) for part in ("openings", "preparations", "troubles")]
    if rng.random() < REACTION_SHARE:
        frames.append(rng.choice(SAID["reactions"]))
    sentences = [frame.format(**person, **clauses) + "." for frame in frames]
    return Story(goal, obstacle, person, " ".join(sentences))
