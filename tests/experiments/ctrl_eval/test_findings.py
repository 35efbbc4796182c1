"""Findings of CTRLEval: agreement by system and on biased subsets, and the pair of texts that is shown."""

import pytest

from experiments.ctrl_eval.findings import agreement_by_quality, agreement_by_system, pick_cases
from meta_eval.scored_set import ScoredSet
from tests.meta_eval.sets import make_set


def rate(ratings: list[float], systems: list[str] | None = None, groups: int = 8, **scores: list[float]) -> ScoredSet:
    return make_set(ratings, scores, systems, [f"g{i % groups}" for i in range(len(ratings))], "coherence")


def test_agreement_by_system_is_within_each_system() -> None:
    ratings = [float(i) for i in range(40)] * 2
    scores = [*ratings[:40], *(-10 * r for r in ratings[40:])]
    found = agreement_by_system(rate(ratings, ["a"] * 40 + ["b"] * 40, groups=40, metric=scores))
    assert [(each.aspect, each.set, each.n) for each in found] == [("coherence", "a", 40), ("coherence", "b", 40)]
    assert [each.pearson.value for each in found] == pytest.approx([1.0, -1.0])
    assert all(each.pearson.low == pytest.approx(each.pearson.value) for each in found)
    assert agreement_by_system(rate(ratings, metric=ratings)) == []  # no system is named
    assert agreement_by_system(rate(ratings[:6], ["a", "b"] * 3, metric=ratings[:6])) == []  # too few


def test_agreement_by_quality_counts_the_texts_of_each_rating() -> None:
    ratings = [float(i % 4) for i in range(200)]
    found = agreement_by_quality(rate(ratings, same=ratings, reversed=[-r for r in ratings]), "coherence", 0)
    assert found is not None
    assert list(found.counts) == [0.0, 1.0, 2.0, 3.0]
    for j in range(4):
        sizes = [found.counts[level][j] for level in found.counts]
        assert sizes[j] == 50  # its own quartile is taken whole
        assert {each.n for each in found.agreements if each.set == str(j)} == {sum(sizes)}
    assert [each.pearson.value for each in found.agreements] == pytest.approx([1.0] * 4 + [-1.0] * 4)
    assert agreement_by_quality(rate(ratings[:15], same=ratings[:15]), "coherence", 0) is None


def test_the_cases_are_the_two_texts_of_one_group_that_people_tell_apart_best() -> None:
    rated = rate([3.0, 5.0, 2.0, 1.0], groups=2, metric=[0.1, 0.4, float("nan"), 0.2])  # g0: 3 and 2, g1: 5 and 1
    best, worst = pick_cases(rated, "coherence")
    assert (best.example.id, best.rank, best.scores) == ("1", 1, {"metric": (0.4, 1)})
    assert (worst.example.id, worst.rank, worst.scores) == ("3", 4, {"metric": (0.2, 2)})
    assert pick_cases(rate([3.0, 3.0], groups=1), "coherence") == []
    assert pick_cases(rate([3.0, 1.0], groups=2), "coherence") == []
