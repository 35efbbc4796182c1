"""Built-in stories and rated endings: what is true in them, and what does not tell their quality."""

import re

import numpy as np
import pytest
from scipy.stats import spearmanr

from data.builtin.stories import GOALS, OBSTACLES, RESULTS, SOLUTIONS, Ending, Story, word_counts
from tests.data.builtin.kinds import rate


def shared(a: str, b: str) -> int:
    return (word_counts(a) & word_counts(b)).total()


def test_a_written_ending_by_hand() -> None:
    story = Story("cake", "dark", {"she": "he", "her": "his", "obj": "him"}, "tom wanted to bake a cake. it was dark.")
    assert story.write(Ending(("dark", 2), ("cake", 3), "luckily {solution}, so in the end {result}")) == (
        "luckily he found a torch with batteries, so in the end the guests emptied their plates."
    )


def find_clause(text: str, variants: dict[str, tuple[str, ...]]) -> tuple[str, int]:
    """The one solution (or result) of the world that a text tells, for whichever person."""
    patterns = {
        (n, i): re.sub(r"\{\w+\}", "[a-z]+", each) for n, some in variants.items() for i, each in enumerate(some)
    }
    (found,) = (key for key, pattern in patterns.items() if re.search(rf"\b{pattern}\b", text))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_rated_endings_are_what_their_labels_say(seed: int) -> None:
    for e in rate("builtin_stories", seed)[:150]:
        for kind, variants in (("solution", SOLUTIONS), ("result", RESULTS)):
            told, right = find_clause(e.text, variants), find_clause(e.references[0], variants)
            assert (told[0] != right[0]) == (kind in (e.label or ""))
            assert told != right
            said = GOALS[right[0]][0] if kind == "result" else OBSTACLES[right[0]][0]
            assert any(re.search(re.sub(r"\{\w+\}", "[a-z]+", each), str(e.context)) for each in said)


@pytest.mark.parametrize("seed", range(2))
def test_shared_words_do_not_tell_the_quality(seed: int) -> None:
    examples = rate("builtin_stories", seed)
    quality = [e.ratings["quality"] for e in examples]
    for others in ([e.references[0] for e in examples], [str(e.context) for e in examples]):
        overlap = [shared(e.text, other) / e.word_count for e, other in zip(examples, others, strict=True)]
        assert abs(float(np.asarray(spearmanr(overlap, quality))[0])) < 0.05
        assert np.mean(overlap) < 0.3
