"""Published scores of real sets through the statistics of judge.agree: the figures of docs/which_metric.md."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from baselines.word_count import WordCount
from data.sets.commongen import load_trinity
from data.sets.dialogues import load_dstc9, load_fed
from meta_eval.agreement import agree
from meta_eval.correlation import spearman
from meta_eval.estimates import FLIPS
from meta_eval.grouping import estimate_correlation
from meta_eval.ranking import RankingSettings, compare_metrics, rank_metrics
from meta_eval.scored_set import ScoredSet

PUBLISHED = RankingSettings("spearman", 0.05)


def take(rated: ScoredSet) -> ScoredSet:
    """The published scores and the word counts of a set."""
    return replace(rated, scores={**rated.scores, "word_count": WordCount().score(rated.examples)})


@pytest.mark.parametrize(
    ("load", "aspect", "deam", "words", "p_value"),
    [
        (load_fed, "coherence", 0.4682, 0.2053, 0.0079),
        (load_fed, "overall", 0.5472, 0.2666, 0.0025),
        (load_dstc9, "coherence", 0.1881, 0.1342, 0.468),
        (load_dstc9, "overall", 0.1200, 0.0703, 0.492),
    ],
)
def test_deam_against_word_count(
    shared_data: Path,
    load: Callable[[Path], ScoredSet],
    aspect: str,
    deam: float,
    words: float,
    p_value: float,
) -> None:
    sample = take(load(shared_data))
    (pair,) = compare_metrics(sample, rank_metrics(sample, aspect, PUBLISHED))
    found = {name: agree(sample, name, aspect).spearman.value for name in sample.scores}
    assert found == pytest.approx({"deam": deam, "word_count": words}, abs=5e-5)
    assert (pair.metric_a, pair.metric_b) == ("deam", "word_count")
    assert pair.difference.value == pytest.approx(deam - words, abs=1e-4)
    error = (p_value * (1 - p_value) / FLIPS) ** 0.5  # of the draws
    assert pair.p_value == pytest.approx(p_value, abs=3 * error)


def test_g_eval_on_trinity(shared_data: Path) -> None:
    """The check values in the README of the set, and the word count."""
    asked = {
        "trinity_raw": {"gpt4": 0.8117, "flan_t5": 0.6081, "vicuna": 0.3699, "word_count": 0.2301},
        "trinity_binarized": {"gpt4": 0.6781, "flan_t5": 0.5228, "vicuna": 0.3273, "word_count": 0.1637},
    }
    for rated in load_trinity(shared_data):
        scored = take(rated)
        ratings = scored.ratings("commonsense")
        found = {
            name.removeprefix("g_eval_"): estimate_correlation(
                spearman, scored.values(name, "commonsense"), ratings, scored.layout
            ).value
            for name in scored.scores
        }
        assert found == pytest.approx(asked[rated.name], abs=5e-5)
