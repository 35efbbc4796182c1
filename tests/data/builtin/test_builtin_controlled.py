"""Built-in reviews and news: what is true in them, what each damage does, and what does not tell the quality."""

import random
import re
from collections import Counter
from itertools import combinations, islice

import numpy as np
import pytest
from scipy.stats import spearmanr

from data.builtin.controlled import (
    ABLE,
    CARELESS,
    LEAST_RATED,
    SYSTEMS,
    World,
    damage_coherence,
    damage_consistency,
    draw_foreign_sentences,
    generate_texts,
    random_prompts,
    rated_texts,
    repeat_label,
)
from data.builtin.damage import damage_labels
from data.builtin.grammar import is_reserved
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from tests.data.builtin.kinds import rate

ASPECTS = ("coherence", "consistency", "attribute_relevance")
WORLDS = pytest.mark.parametrize("world", [REVIEWS, NEWS], ids=["reviews", "news"])


@WORLDS
def test_verdicts_say_the_label_before_or_after_the_same_texts(world: World) -> None:
    plain, said = generate_texts(world, 1000, 6), generate_texts(world, 1000, 6, verdicts=0.5)
    places = Counter()
    for a, b in zip(plain, said, strict=True):
        assert (a.id, a.label) == (b.id, b.label)
        before, after = b.text.split(a.text)
        places[bool(before), bool(after)] += 1
        assert b.prefix == (None if before else a.prefix)
        said_words = set(re.findall(r"\w+", f"{before} {after}".lower()))
        assert bool(said_words & set(world.label_words[str(b.label)])) == bool(before or after)
    assert set(places) == {(False, False), (True, False), (False, True)}
    assert 400 < places[False, False] < 600
    assert all(b.prefix for b in plain)


@WORLDS
def test_rated_texts_begin_with_their_prefix_and_are_answers_of_four_systems(world: World) -> None:
    examples = rate(world.name, 0)
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


@WORLDS
def test_systems_have_the_levels_of_their_shares(world: World) -> None:
    found: Counter[tuple[str | None, str, float]] = Counter()
    found.update((e.system, a, round(e.ratings[a], 2)) for e in rate(world.name, 0) for a in ASPECTS)
    for system, able in SYSTEMS.items():
        for aspect in ASPECTS:
            shares = (ABLE if aspect in able else CARELESS)[aspect]
            for level in set(shares):
                rating = round(1 - level / max(shares), 2)
                assert found[system, aspect, rating] / 100 == pytest.approx(shares.count(level) / 8, abs=0.05)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@WORLDS
def test_no_aspect_tells_the_quality_in_another(world: World, seed: int) -> None:
    for a, b in combinations(ASPECTS, 2):
        one, other = ([e.ratings[aspect] for e in rate(world.name, seed)] for aspect in (a, b))
        assert abs(float(np.asarray(spearmanr(one, other))[0])) < 0.15


@WORLDS
def test_consistency_is_a_matter_of_what_the_rest_names(world: World) -> None:
    rng = random.Random(3)
    for prompt in islice(random_prompts(world, rng, reserved=True), 60):
        assert is_reserved(prompt.prefix + prompt.rest)
        name, kind = (prompt.facts[slot] for slot in world.identity[:2])
        for level in (0, 1, 2):
            sentences = damage_consistency(world, rng, prompt, level, repeat_label(world.labels[0]), 50)
            assert sentences[0].text.startswith(prompt.prefix)
            assert (name in sentences[-1].text) == (level == 0)
            assert {s.about[0] for s in sentences} == {sentences[0].about[0]}
            assert (sentences[0].about[0] == kind) == (level < 2)


def test_labels_by_hand() -> None:
    drawn = [
        {tuple(sorted(damage_labels(level, "a", "b", random.Random(i))(n))) for i in range(9)}
        for level, n in ((0, 3), (2, 3), (1, 4), (1, 3))
    ]
    assert drawn == [{("a",) * 3}, {("b",) * 3}, {("a", "a", "b", "b")}, {("a", "a", "b"), ("a", "b", "b")}]


@WORLDS
def test_incoherent_texts_have_foreign_and_displaced_sentences(world: World) -> None:
    rng = random.Random(9)
    lenders = draw_foreign_sentences(world, rng)
    kinds: Counter[str] = Counter()
    for prompt in islice(random_prompts(world, rng, reserved=False), 150):
        assert not is_reserved(prompt.prefix + prompt.rest)
        sentences = world.compose(rng, prompt, repeat_label(world.labels[1]))
        if len(sentences) < LEAST_RATED:
            continue
        before = tuple(s.text for s in sentences)
        assert damage_coherence(sentences, 0, rng, lenders) == before
        for level in (1, 2, 3):
            after = damage_coherence(sentences, level, rng, lenders)
            assert after[0] == before[0]
            foreign = [text for text in after if text not in before]
            displaced = sum(a != b and b in before for a, b in zip(before, after, strict=True))
            wanted = round((len(sentences) - 1) * level / 3)
            assert displaced in (0, 2)
            assert len(foreign) == min(wanted - displaced, sum(not s.naming for s in sentences[1:]))
            kinds.update(foreign=len(foreign), displaced=displaced)
            assert all(s.text in after for s in sentences if s.naming)
            here = {thing for s in sentences for thing in s.about}
            assert all(any(here.isdisjoint(s.about) for s in lenders if s.text == text) for text in foreign)
    assert kinds["foreign"] > kinds["displaced"] > 50
