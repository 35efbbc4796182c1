"""MARS's experiments through the command line, at toy size."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.example import Example
from core.scores import Scores
from experiments.mars.experiment import ABLATIONS, change_setting, count_shared_texts, to_raw_perplexity
from mars.augmentation import SelfPlanningAugmenter
from mars.metric import MARS
from mars.references import Augmentation
from mars.tagging import load_tagger

TOY = """
model.language_model.model.n_embd=16 model.language_model.model.n_layer=1 model.language_model.model.n_head=2
model.language_model.model.n_inner=32 model.language_model.schedule.epochs=1 logger=none
model.masked.model.hidden_size=16 model.masked.model.num_attention_heads=2 model.masked.model.num_hidden_layers=1
model.masked.model.intermediate_size=32 model.masked.schedule.epochs=1
"""
SMALLER = ("data.train=60", "data.held_out=8", "model.language_model.model.vocabulary=400")
VARIANTS = ("mars", *ABLATIONS, "mars_naive", "mars_static")
RATIOS = tuple(f"mars_to_{ratio}" for ratio in (0, 20, 40, 60, 80))
BASELINES = ("bleu1", "rouge_l", "meteor", "bertscore", "sentence_mover", "mover_score", "perplexity", "perplexity_raw")
BASELINES += ("word_count",)


def test_every_row_and_figure_is_there_and_references_are_kept(run: Callable[..., Any], tmp_path: Path) -> None:
    sizes = (*SMALLER, "model.masked.model.vocabulary=400", "data.rated=8")
    first = run("+exp=mars_story", *TOY.split(), *sizes, f"outputs={tmp_path}", f"run_dir={tmp_path}/first")
    assert first.returncode == 0, first.stderr
    results = json.loads((tmp_path / "first/results.json").read_text("utf-8"))
    sets = ("builtin_stories", "builtin_stories_reorder", "builtin_stories_retrieve")
    rows = {(row["metric"], row["set"]): row for row in results["table"] if "synthetic" in row}
    assert set(rows) == {(metric, name) for metric in (*VARIANTS, *RATIOS, *BASELINES) for name in sets}
    assert rows["mars", "builtin_stories"]["spearman"] == rows["mars_to_60", "builtin_stories"]["spearman"]
    assert {row["synthetic"] for row in rows.values()} == {True}
    falls = {(row["metric"], row["adversary"]): row for row in results["table"] if "adversary" in row}
    assert set(falls) == {(row, kind) for row in (*VARIANTS, *RATIOS, *BASELINES) for kind in ("reorder", "retrieve")}
    assert falls["bleu1", "reorder"]["fall"] == 0
    gains = {row["mars against"]: row for row in results["table"] if "mars against" in row}
    assert set(gains) == {*VARIANTS[1:], *BASELINES, "mars_to_0"}
    difference = rows["mars", sets[0]]["spearman"] - rows["mars_without_planning", sets[0]]["spearman"]
    assert gains["mars_without_planning"]["spearman gain"] == pytest.approx(difference)
    assert results["notes"][0].startswith("builtin_stories: planning ")
    ratios = {row["largest ratio"]: row["mean deviation"] for row in results["table"] if "mean deviation" in row}
    assert list(ratios) == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert "builtin_stories: references with a blank: 100 % at .2, 100 % at .4, 100 % at .6" in results["notes"]
    assert rows["bleu1", sets[1]]["spearman"] == pytest.approx(rows["bleu1", sets[0]]["spearman"])  # Reorder
    assert {path.stem for path in (tmp_path / "first/plots").iterdir()} == {
        *("scores_builtin_stories", "adversaries_builtin_stories", "training_curves")
    }
    assert len([*(tmp_path / "stages").glob("augmented_references-*/values.tsv")]) == 5


def test_one_setting_changes_and_the_others_stay() -> None:
    augmenter = SelfPlanningAugmenter(None, Augmentation())  # type: ignore[arg-type]
    usual = MARS(augmenter, None, load_tagger("builtin"), {})  # type: ignore[arg-type]
    assert change_setting(usual, "q", 1.25) == replace(usual, q=1.25)
    assert change_setting(usual, "largest_ratio", 0.4).ratios == (0.0, 0.2, 0.4)
    changed = change_setting(usual, "max_guess", 5)
    assert changed == replace(usual, augmenter=replace(augmenter, settings=Augmentation(max_guess=5)))


def test_the_table_and_the_plot_have_every_value(run: Callable[..., Any], tmp_path: Path) -> None:
    found = run(
        *("+exp=mars_planning", *(setting for setting in TOY.split() if "masked" not in setting), *SMALLER),
        *("data.rated=0", "development.rated=8", "varied.kl=[0.05,0.5]"),
        *("varied.planning_steps=[1]", "varied.max_guess=[0]", "varied.q=[1.0]", "varied.largest_ratio=[0.2]"),
        *(f"outputs={tmp_path}", f"run_dir={tmp_path}/run"),
    )
    assert found.returncode == 0, found.stderr
    rows = json.loads((tmp_path / "run/results.json").read_text("utf-8"))["table"]
    assert [(row["setting"], row["value"]) for row in rows] == [
        *(("kl", 0.05), ("kl", 0.5), ("planning_steps", 1), ("max_guess", 0)),
        *(("q", 1.0), ("largest_ratio", 0.2)),
    ]
    assert [row["KL"] for row in rows[:2]] == pytest.approx([0.05, 0.5], rel=0.02)
    assert (tmp_path / "run/plots/settings.png").is_file()


def test_raw_perplexity_and_shared_texts() -> None:
    scores = Scores({"quality": np.array([-math.log(75.0), math.nan])}, "perplexity", [None, "blank"])
    raw = to_raw_perplexity(scores)
    assert raw.values["quality"] == pytest.approx([75.0, math.nan], nan_ok=True)
    assert raw.reasons == (None, "blank")
    examples = [Example(str(i), text, group=str(i // 2)) for i, text in enumerate("yxxxxx")]
    assert count_shared_texts(examples) == (2, 3)
