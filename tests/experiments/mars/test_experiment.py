"""MARS through the command line, at toy size; its tables on sets whose numbers follow by hand."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from core.example import Example
from experiments.mars.experiment import ABLATIONS, damage
from experiments.mars.tables import MarsScores, list_falls, list_gains, list_lengths, measure_deviation
from mars.masking import Blank, Kept
from mars.metric import Compared
from mars.references import Augmented, AugmentedReference
from meta_eval.scored_set import ScoredSet
from tests.meta_eval.sets import make_set

TOY = """
model.language_model.model.hidden_size=16 model.language_model.model.num_hidden_layers=1
model.language_model.model.num_attention_heads=2
model.language_model.model.intermediate_size=32 model.language_model.schedule.epochs=1 logger=none
model.masked.model.hidden_size=16 model.masked.model.num_attention_heads=2 model.masked.model.num_hidden_layers=1
model.masked.model.intermediate_size=32 model.masked.schedule.epochs=1
"""
SMALLER = ("data.train=60", "data.held_out=8", "model.language_model.model.vocabulary=400")
VARIANTS = ("mars", *ABLATIONS, "mars_naive", "mars_static")
RATIOS = tuple(f"mars_to_{ratio}" for ratio in (0, 20, 40, 60, 80))
BASELINES = ("bleu1", "rouge_l", "meteor", "bertscore", "sentence_mover", "mover_score", "perplexity", "perplexity_raw")
BASELINES += ("word_count",)


def test_every_row_and_figure_is_there_and_references_are_kept(finish: Callable[..., Any], tmp_path: Path) -> None:
    sizes = (*SMALLER, "model.masked.model.vocabulary=400", "data.rated=8")
    results = finish("+exp=mars_story", *TOY.split(), *sizes, f"outputs={tmp_path}")
    rows = {(row["metric"], row["set"]): row for row in results["table"] if "synthetic" in row}
    # adversaries keep the ratings of their originals, so that agreement with these is no merit
    assert set(rows) == {(metric, "builtin_stories") for metric in (*VARIANTS, *RATIOS, *BASELINES)}
    scored = {json.loads(line)["set"] for line in (tmp_path / "here/scores.jsonl").read_text("utf-8").splitlines()}
    assert scored == {"builtin_stories", "builtin_stories_reorder", "builtin_stories_retrieve"}
    assert rows["mars", "builtin_stories"]["spearman"] == rows["mars_to_60", "builtin_stories"]["spearman"]
    assert {row["synthetic"] for row in rows.values()} == {True}
    falls = {(row["metric"], row["adversary"]): row for row in results["table"] if "adversary" in row}
    assert set(falls) == {(row, kind) for row in (*VARIANTS, *RATIOS, *BASELINES) for kind in ("reorder", "retrieve")}
    assert falls["bleu1", "reorder"]["below"] == 0  # the words are the same
    gains = {row["mars against"]: row for row in results["table"] if "mars against" in row}
    assert set(gains) == {*VARIANTS[1:], *BASELINES, "mars_to_0"}
    ratios = {row["largest ratio"]: row["mean deviation"] for row in results["table"] if "mean deviation" in row}
    assert list(ratios) == [0.0, 0.2, 0.4, 0.6, 0.8]
    own_tables = [row for row in results["table"] if "synthetic" not in row]
    assert [row["altered"] for row in own_tables if "largest ratio" in row] == [0, 1, 1, 1, 1]
    assert len([*(tmp_path / "stages").glob("augmented_references-*.values")]) == 5


def scored_texts(ratings: ArrayLike, systems: Sequence[str] | None = None, **values: ArrayLike) -> ScoredSet:
    """Texts with one reference, two of each input."""
    groups = [str(i // 2) for i in range(np.size(ratings))]
    texts = make_set(ratings, values, systems, groups, "mean")
    examples = tuple(replace(example, references=("y",)) for example in texts.examples)
    return replace(texts, name="news", examples=examples)


def test_gains_and_falls_are_paired_differences() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=200)
    good, bad = ratings + rng.normal(size=200), rng.normal(size=200)
    bad[0] = math.nan
    originals = scored_texts(ratings, mars=good, plain=bad)
    (gain,) = list_gains(MarsScores(originals, {}, (), ()))
    assert (gain["mars against"], gain["n"]) == ("plain", 199)
    expected = np.corrcoef(good[1:], ratings[1:])[0, 1] - np.corrcoef(bad[1:], ratings[1:])[0, 1]
    assert gain["pearson gain"].value == pytest.approx(expected)
    assert gain["pearson gain"].low > 0
    worse = scored_texts(ratings, mars=good - 1 + (np.arange(200) < 50) * 2, plain=bad * np.nan)
    fall, of_plain, same, _ = list_falls(MarsScores(originals, {"worse": worse, "same": originals}, (), ()))
    assert fall["n"] == 200
    assert fall["below"].value == pytest.approx(0.75)
    assert fall["below"].low < 0.75 < fall["below"].high
    assert fall["fall"].value == pytest.approx(
        np.corrcoef(good, ratings)[0, 1] - np.corrcoef(worse.values("mars", "mean"), ratings)[0, 1]
    )
    assert same["fall"].value == 0
    assert of_plain["below"].reason == "no text is scored in both forms"


def test_deviations_are_sample_deviations_of_all_references() -> None:
    """Of the human one too: Table 5 has a deviation at 20 %, where there is one augmented reference, and none at 0."""
    compared = [Compared((0.0, 0.2, 0.4), np.array([[0.5, 0.1, 0.3], [0.5, 0.5, 0.5], [0.9, np.nan, 0.5]]))]
    found = [measure_deviation(compared, ratios) for ratios in ((0.0,), (0.0, 0.2), (0.0, 0.2, 0.4))]
    assert found == pytest.approx([math.nan, 0.08**0.5 / 2, 0.1], nan_ok=True)


def altered(reference: str, blanks: Sequence[int]) -> tuple[AugmentedReference, ...]:
    """A reference at the ratios 0, .2, .4 with so many blanks each."""
    templates = [(*(Blank(1) for _ in range(count)), Kept("kept")) for count in blanks]
    return tuple(
        AugmentedReference("", reference, ratio, template, Augmented("", (), 0.0, 0))
        for ratio, template in zip((0.0, 0.2, 0.4), templates, strict=True)
    )


def test_the_share_of_references_with_a_blank_counts_each_reference_once() -> None:
    rows = altered("a", [0, 0, 1]), altered("b", [0, 1, 2]), altered("c", [0, 0, 0])
    ratios, nothing = (0.0, 0.2, 0.4), np.zeros((1, 3))
    compared = [Compared(ratios, nothing, (row,)) for row in (*rows, rows[1], rows[1])]
    texts = scored_texts([1.0, 2.0], ["a", "b"], mars=[0.1, 0.2])
    found = MarsScores(texts, {}, compared, ratios)
    assert found.altered == pytest.approx({0.0: 0, 0.2: 1 / 3, 0.4: 2 / 3})
    assert replace(found, compared=[]).altered[0.2] != replace(found, compared=[]).altered[0.2]  # NaN


def test_lengths_are_those_of_inputs() -> None:
    one = Example("a", "x", context="a b c d", references=("a.", "a b c d"), group="g")
    other = Example("c", "x", context="a b", references=("a b c",))
    texts = ScoredSet("r", (one, replace(one, id="b"), other), {})
    (found,) = list_lengths(MarsScores(texts, {}, (), ()))
    assert list(found.values()) == ["r", 3, 2, 3, 3, 1]


def test_without_contexts_nothing_is_retrieved() -> None:
    texts = scored_texts([1, 2, 3, 4, 5, 6], mars=[1, 2, 3, 4, 5, 6])
    assert list(damage(texts, seed=0)) == ["reorder"]
