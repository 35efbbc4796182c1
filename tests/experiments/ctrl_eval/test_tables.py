"""Tables of CTRLEval: agreement by system and on biased subsets."""

import pytest

from experiments.ctrl_eval.tables import draw_biased_subsets, list_agreement_by_system
from experiments.presentation import list_agreement_of_parts
from meta_eval.scored_set import ScoredSet
from tests.meta_eval.sets import make_set


def rate(ratings: list[float], systems: list[str] | None = None, groups: int = 8, **scores: list[float]) -> ScoredSet:
    return make_set(ratings, scores, systems, [f"g{i % groups}" for i in range(len(ratings))], "coherence")


def test_agreement_by_system_is_within_each_system() -> None:
    ratings = [float(i) for i in range(40)] * 2
    scores = [*ratings[:40], *(-10 * r for r in ratings[40:])]
    found = list_agreement_by_system(rate(ratings, ["a"] * 40 + ["b"] * 40, groups=40, metric=scores))
    assert [(row["aspect"], row["system"], row["n"]) for row in found] == [("coherence", s, 40) for s in "ab"]
    assert [row["pearson"].value for row in found] == pytest.approx([1.0, -1.0])
    assert all(row["pearson"].low == pytest.approx(row["pearson"].value) for row in found)
    assert list_agreement_by_system(rate(ratings, metric=ratings)) == []  # no system is named
    assert list_agreement_by_system(rate(ratings[:6], ["a", "b"] * 3, metric=ratings[:6])) == []  # too few


def test_agreement_by_quality_is_that_of_subsets_with_their_own_quartile() -> None:
    ratings = [float(i % 4) for i in range(200)]
    scored = rate(ratings, same=ratings, reversed=[-r for r in ratings])
    parts = draw_biased_subsets(scored, "coherence", 0)
    assert [(part.ratings("coherence") == j).sum() for j, part in enumerate(parts)] == [50] * 4
    found = list_agreement_of_parts(draw_biased_subsets(scored, "coherence", 0), "coherence", "subset")
    assert [(row["subset"], row["n"]) for row in found] == [(part.name, len(part)) for part in parts] * 2
    assert [row["pearson"].value for row in found] == pytest.approx([1.0] * 4 + [-1.0] * 4)
    assert draw_biased_subsets(rate(ratings[:15], same=ratings[:15]), "coherence", 0) == []
