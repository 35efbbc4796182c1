"""Built-in stories and rated endings: what is true in them, and what does not tell their quality."""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, islice

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.example import Example
from data.builtin.stories import (
    ALIKE,
    ENDINGS,
    GOALS,
    KIN,
    MEN,
    OBSTACLES,
    SEASONS,
    WOMEN,
    Ending,
    Story,
    foreign_name,
    generate_stories,
    random_stories,
    rated_stories,
    right_ending,
    word_counts,
)

Rated = Callable[[str, int], tuple[Example, ...]]
FUNCTION_WORDS = "a an the in on of to and it its was were at by with her his him he she all up"
SLOT = re.compile(r"\{(\w+)\}")


@cache
def annotated() -> tuple[Story, ...]:
    return tuple(islice(random_stories(random.Random(5), reserved=False), 3000))


def rho(a: Sequence[float], b: Sequence[float]) -> float:
    return float(np.asarray(spearmanr(a, b))[0])


def shared(a: str, b: str) -> int:
    return sum(min(n, word_counts(b)[word]) for word, n in word_counts(a).items())


# ---- generation ----------------------------------------------------------------------------------------------------


def test_a_story_is_its_context_and_one_more_sentence() -> None:
    for e in generate_stories(300, 2):
        assert e.context is not None
        assert e.text.startswith(f"{e.context} ")
        assert e.context.count(".") in (3, 4)
        assert e.text.count(".") == e.context.count(".") + 1
        assert not e.references
        assert not e.ratings


# ---- the world -----------------------------------------------------------------------------------------------------


def test_the_world_is_whole() -> None:
    assert (len(GOALS), len(OBSTACLES)) == (16, 14)
    assert all(len(goal.preparations) == 3 and len(goal.results) == 4 for goal in GOALS.values())
    assert all(len(obstacle.troubles) == 3 and len(obstacle.solutions) == 4 for obstacle in OBSTACLES.values())
    assert set.union(*map(set, ALIKE)) <= {*GOALS, *OBSTACLES}
    clauses = [c for goal in GOALS.values() for c in (goal.aim, *goal.preparations, *goal.results)]
    clauses += [c for obstacle in OBSTACLES.values() for c in (*obstacle.troubles, *obstacle.solutions)]
    assert len(set(clauses)) == len(clauses)
    assert {slot for clause in clauses for slot in SLOT.findall(clause)} == {"she", "her", "obj"}


@pytest.mark.parametrize(
    "variants",
    [goal.results for goal in GOALS.values()] + [obstacle.solutions for obstacle in OBSTACLES.values()],
    ids=[*GOALS, *OBSTACLES],
)
def test_right_variants_share_function_words_only(variants: tuple[str, ...]) -> None:
    for a, b in combinations([set(SLOT.sub("", variant).split()) for variant in variants], 2):
        assert a & b <= set(FUNCTION_WORDS.split())


def test_pronouns_fit_the_person() -> None:
    rng = random.Random(0)
    for story in annotated()[:1000]:
        words = set(word_counts(f"{story.context} {story.write(right_ending(story, rng))}"))
        assert not words & ({"he", "him", "his"} if story.words["name"] in WOMEN else {"she", "her"})
        assert len(words & {*WOMEN, *MEN}) == 1
        assert len(words & set(KIN)) <= 1
        # "winter" and "spring" also come in clauses of their own
        assert len(words & set(SEASONS)) <= 3
        assert not re.search(r"\ba [aeiou]", story.context)


def test_every_goal_meets_every_obstacle() -> None:
    assert len({(story.goal, story.obstacle) for story in annotated()}) == 16 * 14


def test_a_written_ending_by_hand() -> None:
    story = Story("cake", "dark", {"she": "he", "her": "his", "obj": "him"}, "tom wanted to bake a cake. it was dark.")
    frame = ENDINGS.index("luckily {solution}, so in the end {result}")
    assert story.write(Ending("dark", 2, "cake", 3, frame)) == (
        "luckily he found a torch with batteries, so in the end the guests emptied their plates."
    )


def test_foreign_parts_do_not_pass_for_right_ones() -> None:
    drawn = {foreign_name("storm", OBSTACLES, random.Random(i)) for i in range(300)}
    assert drawn == set(OBSTACLES) - {"storm", "dark", "freezing"}


# ---- the rated set -------------------------------------------------------------------------------------------------


def test_rated_levels_and_labels(rated: Rated) -> None:
    assert rated_stories(10, 3) == rated_stories(20, 3)[:10]
    examples = rated("stories", 0)
    assert [e.ratings["quality"] for e in examples[:6]] == [1.0, 0.5, 0.0] * 2
    assert len(examples) == 400
    assert [e.id for e in examples[:2]] == ["builtin-ending-0-0", "builtin-ending-0-1"]
    assert [e.group for e in examples[:4]] == ["builtin-context-0-0"] * 3 + ["builtin-context-0-1"]
    assert len({e.context for e in examples}) == len({e.group for e in examples}) == 134
    labels = Counter((e.ratings["quality"], e.label) for e in examples)
    assert set(labels) == {(1.0, None), (0.5, "solution"), (0.5, "result"), (0.0, "solution+result")}
    assert min(labels.values()) >= 50


def pattern(clause: str) -> str:
    """A regular expression for a clause about whichever person."""
    return r"\b" + SLOT.sub("[a-z]+", clause) + r"\b"


def clauses(example: Example, kind: str) -> set[tuple[str, int]]:
    """Which solutions (or results) of the world a text tells, for whichever person."""
    table = (
        {name: obstacle.solutions for name, obstacle in OBSTACLES.items()}
        if kind == "solution"
        else {name: goal.results for name, goal in GOALS.items()}
    )
    return {
        (name, i)
        for name, variants in table.items()
        for i, variant in enumerate(variants)
        if re.search(pattern(variant), example.text)
    }


@pytest.mark.parametrize("seed", range(2))
def test_rated_endings_are_what_their_labels_say(seed: int, rated: Rated) -> None:
    for e in rated("stories", seed):
        context = Example("c", text=str(e.context))
        reference = Example("r", text=e.references[0])
        for kind in ("solution", "result"):
            ((told, variant),) = clauses(e, kind)
            ((right, other),) = clauses(reference, kind)
            is_foreign = kind in (e.label or "").split("+")
            assert (told != right) == is_foreign
            assert (told, variant) != (right, other)
            if kind == "result":
                assert GOALS[right].aim in context.text
            else:
                assert any(re.search(pattern(trouble), context.text) for trouble in OBSTACLES[right].troubles)


@pytest.mark.parametrize("seed", range(2))
def test_shared_words_do_not_tell_the_quality(seed: int, rated: Rated) -> None:
    examples = rated("stories", seed)
    quality = [e.ratings["quality"] for e in examples]
    lengths = [word_counts(e.text).total() for e in examples]
    overlap = [shared(e.text, e.references[0]) / n for e, n in zip(examples, lengths, strict=True)]
    with_context = [shared(e.text, str(e.context)) / n for e, n in zip(examples, lengths, strict=True)]
    assert abs(rho(overlap, quality)) < 0.05
    assert abs(rho(with_context, quality)) < 0.05
    assert np.mean(overlap) < 0.3


def test_candidates_of_a_context_are_alike_in_length_and_overlap(rated: Rated) -> None:
    for start in range(0, 399, 3):
        three = rated("stories", 1)[start : start + 3]
        assert len({(e.context, e.references) for e in three}) == 1
        assert len({word_counts(e.text).total() for e in three}) == 1
        assert len({shared(e.text, e.references[0]) for e in three}) == 1
        assert len({shared(e.text, str(e.context)) for e in three}) == 1
