"""ScoredSet and its agreement, against scipy and values worked by hand."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from core.example import Example
from core.scores import Scores
from data.corpus import score_published
from meta_eval.agreement import NOT_MEASURED, Agreement, add_cheap_cues, list_agreement, note_cues
from meta_eval.cues import ARE_CUES
from meta_eval.scored_set import ScoredSet


def rated(ratings: Sequence[Mapping[str, float]], groups: list[str | None] | None = None) -> ScoredSet:
    examples = tuple(
        Example(f"e{i}", "word " * (i + 1), ratings=r, group=groups[i] if groups else None)
        for i, r in enumerate(ratings)
    )
    return ScoredSet("toys", examples)


def evaluate(scores: Mapping[str, Scores], rated: ScoredSet) -> list[Agreement]:
    return list_agreement(replace(rated, scores=scores))


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
    assert row.spearman.reason == "an interval needs at least 10 inputs, but there are 5"
    assert "cues need at least" in (row.beyond_cues.reason or "")


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


def test_a_missing_group_leaves_the_other_groups_as_they_are() -> None:
    groups: list[str | None] = [f"g{i // 2}" for i in range(8)]
    scored = rated([{"q": i} for i in range(9)], groups=[*groups, None])
    first, second = scored.layout.inputs[:8].reshape(4, 2).T
    assert (first.tolist(), scored.layout.input_count) == (second.tolist(), 5)
    assert len({*scored.layout.inputs.tolist()}) == 5
    assert rated([{"q": 1}, {"q": 2}]).groups is None


def test_published_scores_keep_the_order_and_explain_what_is_missing() -> None:
    found = score_published("toys", {"deam": [np.nan, 0.5]})["deam"]
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


def make_long_and_good(n: int = 200) -> ScoredSet:
    """Texts that are rated by their length and by a quality that no cue shows, and three metrics of them."""
    rng = np.random.default_rng(0)
    words, quality = rng.integers(5, 60, n), rng.standard_normal(n)
    texts = [" ".join(rng.choice(["red", "green", "blue", "cat", "dog", "sun", "moon", "is"], k)) for k in words]
    examples = tuple(
        Example(str(i), text, ratings={"q": float(words[i] / 20 + quality[i])}) for i, text in enumerate(texts)
    )
    metrics = {
        "length": words + rng.standard_normal(n) * 8,
        "quality": quality + rng.standard_normal(n),
        "noise": rng.standard_normal(n),
    }
    return ScoredSet("toys", examples, {name: Scores({"s": values}, name) for name, values in metrics.items()})


def test_agreement_beyond_cues_is_that_of_what_no_cue_shows() -> None:
    found = {row.metric: row for row in list_agreement(add_cheap_cues(make_long_and_good()))}
    assert found["length"].spearman.low > 0.2
    assert found["length"].beyond_cues.low < 0 < found["length"].beyond_cues.high
    assert 0.5 < found["quality"].beyond_cues.value < 0.9
    assert found["quality"].beyond_cues.low > found["quality"].spearman.value
    assert found["cheap_cues"].spearman.low > 0.4
    assert found["cheap_cues"].beyond_cues.reason == ARE_CUES
    assert note_cues([*found.values()]) == [
        "toys: no agreement beyond additive effects of cheap cues (length, repetition, overlap) is shown for length (q)"
    ]
    many = [replace(found["length"], metric=f"m{i}") for i in range(95)]
    assert note_cues(many)[0].endswith("shown for m0 (q), m1 (q), m2 (q), m3 (q), m4 (q), m5 (q) and 89 more")


def test_sets_without_cues_have_no_row_of_them() -> None:
    scored = make_long_and_good()
    few = scored.take(range(20))
    assert add_cheap_cues(few) is few
    same = replace(scored, examples=tuple(replace(e, text="word") for e in scored.examples))
    assert add_cheap_cues(same) is same
    unrated = replace(scored, examples=tuple(replace(e, ratings={}) for e in scored.examples))
    assert add_cheap_cues(unrated) is unrated
    assert {row.beyond_cues.reason for row in list_agreement(scored, has_cues=False)} == {NOT_MEASURED.reason}


def test_unrated_examples_have_no_part_in_cheap_cues() -> None:
    scored = make_long_and_good()
    part = replace(
        scored, examples=tuple(e if i < 150 else replace(e, ratings={}) for i, e in enumerate(scored.examples))
    )
    values = add_cheap_cues(part).values("cheap_cues", "q")
    assert np.flatnonzero(np.isnan(values)).tolist() == list(range(150, 200))
    np.testing.assert_array_equal(values[:150], add_cheap_cues(scored.take(range(150))).values("cheap_cues", "q"))
