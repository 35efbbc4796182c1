"""Comparisons and preferences through the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.baselines.test_endpoint import Server, answer_with, completion, serve
from tests.data.sets.small_files import write

Finish = Callable[..., dict[str, Any]]
__all__ = ["serve"]  # a fixture
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def write_study(path: Path, rated: int) -> np.ndarray:
    """Three systems on 60 inputs; b is better than a, c as good as a. The first `rated` inputs have ratings."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=60) + np.array([[0.0], [1.0], [0.0]]) + 0.5 * rng.normal(size=(3, 60))
    rows = []
    for i in range(60):
        for s, system in enumerate("abc"):
            ratings = {"quality": float(np.round(2 * quality[s, i]))} if i < rated else {}
            scores = {"m": float(quality[s, i] + 0.2 * rng.normal())}
            row = {"id": f"{system}{i}", "text": "x y", "system": system, "group": f"i{i}"}
            rows.append({**row, "ratings": ratings, "scores": scores})
    write(path, *rows)
    return quality


@pytest.mark.filterwarnings("default")
def test_systems_and_few_ratings(finish: Finish, tmp_path: Path) -> None:
    quality = write_study(tmp_path / "in.jsonl", rated=30)
    table = finish("compare", "in.jsonl", "--metric", "word_count")["table"]
    assert "b scores higher than a and c" in (tmp_path / "here" / "report.html").read_text("utf-8")
    pairs = {(row["metric"], row["system_a"], row["system_b"]): row for row in table if "losses" in row}
    assert len(pairs) == 9  # two metrics and the ratings of people
    clear = pairs["m", "a", "b"]
    assert (clear["p_value"], clear["better"]) == (1 / 2000, "b")
    assert clear["difference"] == pytest.approx((quality[0] - quality[1]).mean(), abs=0.15)
    assert clear["difference_interval"][1] < 0
    assert (pairs["m", "a", "c"]["better"], pairs["word_count", "a", "b"]["ties"]) == ("not separated", 60)
    means = {(row["metric"], row["system"]): row for row in table if "by_people" in row}
    helped = means["m", "b"]
    assert helped["labels"] == 30
    assert helped["worth"] > 35
    assert np.diff(helped["corrected_interval"]) < np.diff(helped["by_people_interval"])
    assert helped["corrected_interval"][0] < 2 * quality[1].mean() < helped["corrected_interval"][1]
    assert means["word_count", "b"]["worth"] == 30  # a constant score says nothing
    found = means["m", "a minus b"]
    assert np.diff(found["corrected_interval"]) < np.diff(found["by_people_interval"])
    assert found["corrected_interval"][0] < 2 * (quality[0] - quality[1]).mean() < found["corrected_interval"][1]


@pytest.mark.filterwarnings("default")
def test_ratings_alone_compare_systems_of_a_table_with_names_of_its_own(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [f"q{i},{bot},words,{mark},{mark}" for i in range(6) for bot, mark in (("one", 5), ("two", 2))]
    (tmp_path / "in.csv").write_text("\n".join(["item,bot,answer,ann,ben", *rows]))
    asked = ["compare", "in.csv", "--columns.ratings.quality", "ann,ben"]
    named = (*asked, "--columns.system", "bot", "--columns.group", "item")
    said = "--columns.system COLUMN names its column; unread are item, bot"
    assert f'in.csv:2: "system" is needed here, found null: {said} (the first of 12' in run(*asked).stderr
    assert "! By human quality, one scores higher than two (p 0.031)." in run(*named).stdout
    ended = run(*named, "--metrics", "ter")
    assert ended.returncode == 2
    assert "in.csv:2: ter needs references, found none (the first of 12 lines" in ended.stderr


@pytest.mark.filterwarnings("default")
def test_a_chat_model_that_always_names_the_first_text(finish: Finish, serve: Callable[..., Server]) -> None:
    server = serve(answer_with(200, completion("A")))
    asked = ("--judge", "llm_judge", "--judge.model", "toy", "--judge.base_url", server.url)
    results, _ = (finish("prefer", f"{EXAMPLES}/summaries.jsonl", *asked, plots=False) for _ in range(2))
    questions = [request["messages"][0]["content"] for request in server.requests]
    assert len(questions) == 21  # ten pairs in both orders; the second run asks nothing
    assert questions[0] == "Answer with the number 1."
    (row,) = [row for row in results["table"] if row["table"] == "The judge"]
    assert (row["pairs"], row["unanswered"], row["same_in_both_orders"], row["position_effect"]) == (10, 0, 0, 0.5)
    assert any("reads first" in note for note in results["notes"])
