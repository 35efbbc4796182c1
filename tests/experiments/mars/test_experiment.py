"""MARS's experiments through the command line, at toy size."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.scores import Scores
from experiments.mars.experiment import ABLATIONS, to_raw_perplexity

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
    sets = ("builtin_stories", "builtin_stories_reorder", "builtin_stories_retrieve")
    rows = {(row["metric"], row["set"]): row for row in results["table"] if "synthetic" in row}
    assert set(rows) == {(metric, name) for metric in (*VARIANTS, *RATIOS, *BASELINES) for name in sets}
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
    assert len([*(tmp_path / "stages").glob("augmented_references-*/values.tsv")]) == 5


def test_raw_perplexity() -> None:
    scores = Scores({"quality": np.array([-math.log(75.0), math.nan])}, "perplexity", [None, "blank"])
    raw = to_raw_perplexity(scores)
    assert raw.values["quality"] == pytest.approx([75.0, math.nan], nan_ok=True)
    assert raw.reasons == (None, "blank")
