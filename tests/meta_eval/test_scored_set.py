"""ScoredSet and its agreement, against scipy and values worked by hand."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import stats

from core.example import Example
from core.scores import Scores
from data.corpus import RatedSet
from meta_eval.agreement import Agreement
from meta_eval.scored_set import ScoredSet


def rated(ratings: Sequence[Mapping[str, float]], groups: list[str | None] | None = None, **more: object) -> RatedSet:
    examples = tuple(
        Example(f"e{i}", "word " * (i + 1), ratings=r, group=groups[i] if groups else None)
        for i, r in enumerate(ratings)
    )
    return RatedSet("toys", examples, synthetic=False, **more)  # pyright: ignore[reportArgumentType]


def evaluate(scores: Mapping[str, Scores], rated: RatedSet) -> tuple[Agreement, ...]:
    return ScoredSet.of(rated, scores).agreement


def test_a_row_has_the_correlations_of_the_scored_and_rated_examples() -> None:
    ratings = [0.1, 0.4, 0.2, 0.9, 0.5, 0.7]
    values = np.array([1.0, 2.0, math.nan, 8.0, 3.0, 9.0])
    scores = Scores({"quality": values}, "m", [None, None, "too long", None, None, None], [0, 0, 9, 0, 2, 0])
    (row,) = evaluate({"m": scores}, rated([{"quality": r} for r in ratings]))
    x, y = [1.0, 2.0, 8.0, 3.0, 9.0], [0.1, 0.4, 0.9, 0.5, 0.7]
    assert (row.metric, row.set, row.aspect, row.n, row.unscored, row.truncated) == ("m", "toys", "quality", 5, 1, 2)
    assert row.pearson.value == pytest.approx(stats.pearsonr(x, y)[0])
    assert row.spearman.value == pytest.approx(0.9) == pytest.approx(stats.spearmanr(x, y)[0])
    assert row.kendall.value == pytest.approx(0.8) == pytest.approx(stats.kendalltau(x, y)[0])
    assert row.spearman.reason == "an interval over inputs needs at least 30 of them, but there are 5"
    lengths = [1, 2, 4, 5, 6]
    xy, xz, yz = (float(np.asarray(stats.spearmanr(*pair))[0]) for pair in ((x, y), (x, lengths), (y, lengths)))
    assert row.word_count_spearman == pytest.approx(xz)
    assert row.spearman_given_length == pytest.approx((xy - xz * yz) / ((1 - xz**2) * (1 - yz**2)) ** 0.5)


def test_one_score_meets_every_rated_aspect_and_several_meet_their_namesakes() -> None:
    ratings = [{"coherence": i, "overall": -i} for i in range(4)] + [{"overall": -4.0}]
    one = Scores({"score": np.arange(5.0)}, "one")
    two = Scores({"overall": np.arange(5.0), "fluency": np.arange(5.0)}, "two")
    rows = evaluate({"one": one, "two": two}, rated(ratings))
    assert [(r.metric, r.aspect, r.n, round(r.spearman.value, 6)) for r in rows] == [
        ("one", "coherence", 4, 1.0),
        ("one", "overall", 5, -1.0),
        ("two", "overall", 5, -1.0),
    ]


def test_scores_that_cannot_be_compared_are_refused() -> None:
    two = Scores({"fluency": np.zeros(1), "style": np.zeros(1)}, "two")
    with pytest.raises(
        ValueError, match="two must score a rated aspect, but it scores fluency, style and toys is rated for overall"
    ):
        evaluate({"two": two}, rated([{"overall": 1}]))
    with pytest.raises(ValueError, match="two has 1 for 2 of toys"):
        evaluate({"two": two}, rated([{"overall": 1}, {"overall": 2}]))


def test_examples_of_one_group_are_drawn_together() -> None:
    ratings = [{"q": float(i % 4)} for i in range(120)]
    scores = {"m": Scores({"q": np.sin(np.arange(120.0))}, "m")}
    alone = evaluate(scores, rated(ratings))[0]
    together = evaluate(scores, rated(ratings, groups=[f"g{i // 4}" for i in range(120)]))[0]
    assert alone.spearman.value == together.spearman.value
    assert (alone.spearman.low, alone.spearman.high) != (together.spearman.low, together.spearman.high)


def test_published_scores_keep_the_order_and_explain_what_is_missing() -> None:
    found = rated([{"q": 1}, {"q": 2}], published={"deam": {"e1": 0.5}}).published_scores()["deam"]
    assert math.isnan(found.values["published"][0])
    assert found.values["published"][1] == 0.5
    assert found.reasons == ("no published score", None)


def test_parts_of_a_set_keep_scores_ratings_and_reasons() -> None:
    examples = tuple(
        Example(str(i), "a b" if i else "a", system="xyx"[i], group="g", ratings={"q": i} if i else {})
        for i in range(3)
    )
    two = Scores({"q": np.array([1.0, math.nan, 3.0]), "r": np.zeros(3)}, "two", [None, "blank", None], [0, 1, 2])
    whole = ScoredSet("toy", examples, {"two": two})
    assert (whole.systems, whole.groups, whole.aspects) == (["x", "y", "x"], ["g"] * 3, ("q",))
    assert whole.word_counts.tolist() == [1, 2, 2]
    assert whole.scored("two", aspect="q").tolist() == [True, False, True]
    rated = whole.rated("q")
    assert [example.id for example in rated.examples] == ["1", "2"]
    assert (rated.scores["two"].reasons, rated.scores["two"].dropped_tokens) == (("blank", None), (1, 2))
    assert [(part.name, len(part)) for part in whole.by_system()] == [("x", 2), ("y", 1)]
    assert list(rated.take([0]).by_system()) == []
    assert list(whole.split_aspects().scores) == ["two/q", "two/r"]
    assert whole.split_aspects().values("two/r", "q").tolist() == [0, 0, 0]
    assert np.isnan(whole.ratings("other")).all()
    assert whole.choose(["one"]).scores == {}
