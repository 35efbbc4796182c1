"""Rows of agreement: within and between systems, and the rows that are no metric; public sets with kept scores."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from data.scored import mark_missing
from data.sets.ctrleval import load_ctrleval
from data.sets.dialogues import load_dstc9, load_fed
from meta_eval.agreement import Agreement, list_agreement, measure_system_alone
from meta_eval.scored_set import ScoredSet
from tests.meta_eval.sets import make_set, rho

KEPT = Path(__file__).parents[2] / "docs/results"


def find_row(rows: Sequence[Agreement], metric: str, aspect: str = "q") -> Agreement:
    (row,) = [row for row in rows if (row.metric, row.aspect) == (metric, aspect)]
    return row


def draw_systems(sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Systems of these sizes that differ, ratings of their texts, and a metric that only knows the system."""
    rng = np.random.default_rng(0)
    systems = np.repeat(np.arange(len(sizes)), sizes)
    ratings = np.round(systems + rng.normal(size=len(systems)), 1)
    return systems, ratings, systems + 0.01 * rng.normal(size=len(systems))


def test_a_metric_that_knows_the_system_alone_has_nothing_within() -> None:
    systems, ratings, metric = draw_systems([20, 30, 40, 9])
    rows = list_agreement(make_set(ratings, {"m": metric}, systems.tolist()))
    row = find_row(rows, "m")
    assert row.spearman.value == pytest.approx(rho(metric, ratings))
    parts = [rho(metric[systems == system], ratings[systems == system]) for system in range(3)]
    assert row.within_systems.value == pytest.approx(np.average(parts, weights=[20, 30, 40]))
    assert row.within_systems.low < 0 < row.within_systems.high < row.spearman.low
    assert (row.between_systems.value, row.systems) == (pytest.approx(1), 4)
    assert row.between_systems.reason == "an interval needs at least 10 systems, but there are 4"


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_the_interval_of_the_system_alone_covers_that_of_many_texts(spread: float) -> None:
    rng = np.random.default_rng(0)

    def draw(texts: int) -> ScoredSet:
        systems = np.repeat(np.arange(4), texts)
        return make_set(spread * systems + rng.normal(size=4 * texts), {}, systems.tolist())

    truth = math.sqrt(max(0.0, ratio(draw(20_000).ratings("q"), np.repeat(np.arange(4), 20_000))))
    found = [measure_system_alone(draw(20), "q").spearman for _ in range(200)]
    covered = [estimate.low - 1e-3 <= truth <= estimate.high + 1e-3 for estimate in found]
    assert np.mean(covered) >= 0.9


def ratio(ratings: np.ndarray, systems: np.ndarray) -> float:
    """1 - (1 - eta²)(n - 1)/(n - k) of the ranks."""
    ranks = stats.rankdata(ratings)
    parts = [ranks[systems == system] for system in set(systems.tolist())]
    within = sum(((part - part.mean()) ** 2).sum() for part in parts)
    whole = ((ranks - ranks.mean()) ** 2).sum()
    return float(1 - within / whole * (len(ranks) - 1) / (len(ranks) - len(parts)))


def test_the_system_alone_is_the_root_of_the_adjusted_correlation_ratio() -> None:
    """Its interval is the jackknife's of the ratio over inputs, whose ends are clipped at 0."""
    systems, ratings, _ = draw_systems([20, 30, 40, 9])
    row = find_row(list_agreement(make_set(ratings, {}, systems.tolist())), "system_alone")
    value = ratio(ratings, systems)
    assert (row.n, row.systems, row.spearman.value) == (99, 4, pytest.approx(math.sqrt(value)))
    left_out = np.array([ratio(np.delete(ratings, i), np.delete(systems, i)) for i in range(99)])
    half = stats.t.ppf(0.975, 98) * math.sqrt(98 * left_out.var())
    assert (row.spearman.low, row.spearman.high) == pytest.approx((math.sqrt(value - half), math.sqrt(value + half)))
    shuffled = np.random.default_rng(1).permutation(ratings)
    alone = find_row(list_agreement(make_set(shuffled, {}, systems.tolist())), "system_alone").spearman
    assert ratio(shuffled, systems) < 0
    assert (alone.value, alone.low) == (0, 0)


@pytest.mark.parametrize(
    ("systems", "ratings", "expected"),
    [
        (None, [1.0, 2, 3, 4], None),
        (["a"] * 4, [1.0, 2, 3, 4], None),
        (["a", "b", "c", "d"], [1.0, 2, 3, 4], "do not vary enough"),
        (["a", "a", "b", "b"], [1.0] * 4, "do not vary enough"),
        (["a", "a", "b", "b"], [1.0, 2, 3, 4], "needs at least 10"),
    ],
)
def test_few_systems_and_texts_have_reasons(systems: list[str] | None, ratings: list[float], expected: str | None):
    rows = list_agreement(make_set(ratings, {"m": [4.0, 2, 3, 1]}, systems))
    alone = [row.spearman.reason for row in rows if row.metric == "system_alone"]
    assert [expected in str(reason) for reason in alone if expected] == [True] * (expected is not None)
    row = find_row(rows, "m")
    assert math.isnan(row.within_systems.value)
    assert row.systems == len(set(systems or ()))
    few = "the scored and rated texts name fewer than 2 systems"
    assert (row.within_systems.reason == few) == (expected is None)
    assert (row.between_systems.reason == few) == (expected is None)


def test_the_ceiling_within_systems_is_that_of_raters_who_see_texts() -> None:
    """Four raters agree on the systems only (a), or on the texts of each system, too (b): Spearman-Brown of their r."""
    rng = np.random.default_rng(0)
    systems = np.repeat([0, 1], 60)
    found = {}
    for name, spread in (("a", 0.0), ("b", 1.0)):
        quality = 3 * systems + spread * rng.normal(size=120)
        raters = quality + rng.normal(size=(4, 120))
        scored = make_set(raters.mean(axis=0), {}, systems.tolist())
        row = find_row(list_agreement(replace(scored, raters={"q": raters})), "ceiling")
        found[name] = row.within_systems
        r = np.mean([[rho(x[part], y[part]) for part in (slice(60), slice(60, 120))] for x, y in pairs(raters)])
        expected = math.sqrt(4 * r / (1 + 3 * r)) if r > 0 else math.nan
        assert row.within_systems.value == pytest.approx(expected, nan_ok=True)
        assert row.spearman.value > 0.9
    assert not found["a"].value > 0.5
    assert found["b"].low < math.sqrt(0.8) < found["b"].high


def pairs(raters: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(raters[i], raters[k]) for i in range(len(raters)) for k in range(i)]


def read_kept(rated: ScoredSet, file: str, *metrics: str) -> ScoredSet:
    """The set with these metrics of a file of kept scores."""
    lines = (KEPT / f"{file}.jsonl").read_text("utf-8").splitlines()
    kept = {line["id"]: line["scores"] for line in map(json.loads, lines)}
    scores = {}
    for metric in metrics:
        rows = [kept[example.id][metric] for example in rated.examples]
        scores[metric] = replace(
            mark_missing(np.zeros(len(rows)), "kept"),
            values={aspect: np.array([row[aspect] for row in rows]) for aspect in rows[0]},
        )
    return replace(rated, scores={**rated.scores, **scores})


FED = {  # over all texts and within systems
    "coherence": {
        "generative_contrast_mpnet": (0.60, 0.18),
        "generative_amateur_mpnet": (0.53, 0.17),
        "deam_like_mpnet": (0.47, 0.18),
        "contrast_average": (0.36, 0.04),
        "expert_likelihood": (0.32, 0.21),
        "deam": (0.47, 0.09),
    },
    "overall": {
        "generative_contrast_mpnet": (0.56, 0.11),
        "generative_amateur_mpnet": (0.47, 0.09),
        "deam_like_mpnet": (0.43, 0.14),
        "contrast_average": (0.34, 0.00),
        "expert_likelihood": (0.24, 0.15),
        "deam": (0.55, 0.17),
    },
}
RELEVANCE = {"fill_in_the_middle": (0.31, 0.30), "fill_in_the_middle_1.5b": (0.32, 0.31)}


@pytest.mark.parametrize(
    ("load", "file", "aspect", "figures", "alone"),
    [
        (load_fed, "fed", "coherence", FED["coherence"], 0.705),
        (load_fed, "fed", "overall", FED["overall"], 0.719),
        (load_dstc9, "dstc9", "coherence", {"expert_likelihood": (0.23, 0.02), "deam": (0.19, 0.05)}, 0.316),
        (
            lambda root: load_ctrleval(root, "sentiment"),
            "ctrleval_sentiment",
            "attribute_relevance",
            RELEVANCE,
            0.035,
        ),
    ],
)
def test_public_sets(
    shared_data: Path,
    load: Callable[[Path], ScoredSet],
    file: str,
    aspect: str,
    figures: dict[str, tuple[float, float]],
    alone: float,
) -> None:
    kept = [metric for metric in figures if metric != "deam"]
    rows = list_agreement(read_kept(load(shared_data), file, *kept), has_cues=False)
    found = {}
    for metric in figures:
        row = find_row(rows, metric, aspect)
        found[metric] = (row.spearman.value, row.within_systems.value)
    assert np.array([*found.values()]) == pytest.approx(np.array([*figures.values()]), abs=0.0051)
    assert find_row(rows, "system_alone", aspect).spearman.value == pytest.approx(alone, abs=5e-4)
