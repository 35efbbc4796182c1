"""Built-in stories and rated endings: what is true in them, and what does not tell their quality."""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.example import Example
from data.builtin.stories import ENDINGS, GOALS, OBSTACLES, Ending, Story, foreign_name, rated_stories, word_counts

Rated = Callable[[str, int], tuple[Example, ...]]
SLOT = re.compile(r"\{(\w+)\}")


def rho(a: Sequence[float], b: Sequence[float]) -> float:
    return float(np.asarray(spearmanr(a, b))[0])


def shared(a: str, b: str) -> int:
    return sum(min(n, word_counts(b)[word]) for word, n in word_counts(a).items())


# ---- generation ----------------------------------------------------------------------------------------------------


# ---- the world -----------------------------------------------------------------------------------------------------


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
