"""Built-in reviews and news: what is true in them, what each damage does, and what does not tell the quality."""

import random
import re
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from data.builtin.controlled import SYSTEMS, World, rated_texts
from data.builtin.damage import damage_labels
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from tests.data.builtin.kinds import rate

ASPECTS = ("coherence", "consistency", "attribute_relevance")
WORLDS = pytest.mark.parametrize(("name", "world"), [("builtin_reviews", REVIEWS), ("builtin_news", NEWS)])


@WORLDS
def test_rated_texts_begin_with_their_prefix_and_are_answers_of_four_systems(name: str, world: World) -> None:
    examples = rate(name, 0)
    assert len({e.text for e in examples}) == len({e.id for e in examples}) == 400
    for start in range(0, 400, 4):
        four = examples[start : start + 4]
        assert [e.system for e in four] == list(SYSTEMS)
        assert len({(e.prefix, e.label, e.group) for e in four}) == 1
        assert four[0].group == f"{four[0].label}: {four[0].prefix}"
        assert four[0].label == world.labels[start // 4 % len(world.labels)]
    assert len({e.group for e in examples}) == 100
    for e in examples:
        assert e.prefix is not None
        assert e.text.startswith(e.prefix)
        assert 4 <= len(re.findall(r'[.!]"?(?: |$)', e.text)) <= 7
    assert rated_texts(world, 6, 0)[5].system == "fluent"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@WORLDS
def test_no_aspect_tells_the_quality_in_another(name: str, world: World, seed: int) -> None:
    for a, b in combinations(ASPECTS, 2):
        one, other = ([e.ratings[aspect] for e in rate(name, seed)] for aspect in (a, b))
        assert abs(float(np.asarray(spearmanr(one, other))[0])) < 0.15


def test_labels_by_hand() -> None:
    drawn = [
        {tuple(sorted(damage_labels(level, "a", "b", random.Random(i))(n))) for i in range(9)}
        for level, n in ((0, 3), (2, 3), (1, 4), (1, 3))
    ]
    assert drawn == [{("a",) * 3}, {("b",) * 3}, {("a", "a", "b", "b")}, {("a", "a", "b"), ("a", "b", "b")}]
