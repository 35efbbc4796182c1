"""+exp=compare through the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Finish = Callable[..., dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("default")
FAST = ("resamples=100", "permutations=199")


def write_study(path: Path, rated: int) -> np.ndarray:
    """Three systems on 60 inputs; b is better than a, c as good as a. The first `rated` inputs have ratings."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=60) + np.array([[0.0], [1.0], [0.0]]) + 0.5 * rng.normal(size=(3, 60))
    with path.open("w") as file:
        for i in range(60):
            for s, system in enumerate("abc"):
                ratings = {"quality": float(np.round(2 * quality[s, i]))} if i < rated else {}
                scores = {"m": float(quality[s, i] + 0.2 * rng.normal())}
                line = {"id": f"{system}{i}", "text": "x y", "system": system, "group": f"i{i}"}
                file.write(json.dumps({**line, "ratings": ratings, "scores": scores}) + "\n")
    return quality


def test_systems_and_few_ratings(finish: Finish, tmp_path: Path) -> None:
    quality = write_study(tmp_path / "in.jsonl", rated=30)
    table = finish("+exp=compare", "data.path=in.jsonl", "metric=word_count", *FAST)["table"]
    assert "b scores higher than a and c" in (tmp_path / "here" / "report.html").read_text("utf-8")
    pairs = {(row["metric"], row["system_a"], row["system_b"]): row for row in table if "losses" in row}
    assert len(pairs) == 9  # two metrics and the ratings of people
    clear = pairs["m", "a", "b"]
    assert (clear["p_value"], clear["better"]) == (1 / 200, "b")
    assert clear["difference"] == pytest.approx((quality[0] - quality[1]).mean(), abs=0.15)
    assert clear["difference_interval"][1] < 0
    assert (pairs["m", "a", "c"]["better"], pairs["word_count", "a", "b"]["ties"]) == ("not separated", 60)
    means = {(row["metric"], row["system"]): row for row in table if "mean_by_ratings" in row}
    helped = means["m", "b"]
    assert (helped["rated"], helped["unrated"]) == (30, 30)
    assert helped["saved"] > 5
    assert np.diff(helped["mean_interval"]) < np.diff(helped["mean_by_ratings_interval"])
    assert helped["mean_interval"][0] < 2 * quality[1].mean() < helped["mean_interval"][1]
    assert means["word_count", "b"]["saved"] == 0  # a constant score says nothing
    differences = {(r["metric"], r["system_a"], r["system_b"]): r for r in table if "difference_by_ratings" in r}
    found = differences["m", "a", "b"]
    assert np.diff(found["difference_interval"]) < np.diff(found["difference_by_ratings_interval"])
    assert found["difference_interval"][0] < 2 * (quality[0] - quality[1]).mean() < found["difference_interval"][1]


def test_ratings_alone_compare_systems_of_a_table_with_names_of_its_own(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [f"q{i},{bot},words,{mark},{mark}" for i in range(6) for bot, mark in (("one", 5), ("two", 2))]
    (tmp_path / "in.csv").write_text("\n".join(["item,bot,answer,ann,ben", *rows]))
    asked = ["compare", "in.csv", "run_dir=here", "data.columns.ratings.quality=ann,ben", *FAST]
    named = (*asked, "data.columns.system=bot", "data.columns.group=item")
    said = "data.columns.system=COLUMN names its column; unread are item, bot"
    assert f'in.csv:2: "system" is needed here, found null: {said} (the first of 12' in run(*asked).stderr
    assert "! By human quality, one scores higher than two (p 0.031)." in run(*named).stdout
    ended = run(*named, "metrics=ter")
    assert ended.returncode == 2
    assert "in.csv:2: ter needs references, found none (the first of 12 lines" in ended.stderr


def test_full_or_no_ratings_need_no_prediction(finish: Finish, tmp_path: Path) -> None:
    for rated in (0, 60):
        write_study(tmp_path / "in.jsonl", rated)
        table = finish("+exp=compare", "data.path=in.jsonl", *FAST, folder=f"here{rated}", plots=False)["table"]
        assert not [row for row in table if "saved" in row]
