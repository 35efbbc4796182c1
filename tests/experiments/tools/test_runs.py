"""+exp=runs through the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_runs_of_a_folder_are_linked_and_compared(
    run_here: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = f"data.path={ROOT / 'examples' / 'summaries.jsonl'}"
    for seed in (0, 1):
        assert run_here("+exp=meta_eval", file, "metrics=[word_count]", f"seed={seed}", f"run_dir=mine/{seed}") == 0
    assert run_here("+exp=runs", "folder=mine", "run_dir=all") == 0
    table = json.loads((tmp_path / "all" / "results.json").read_text("utf-8"))["table"]
    listed = [row for row in table if row["table"] == "Runs"]
    assert [(row["run"], row["experiment"], row["seed"]) for row in listed] == [
        ("../mine/0/report.html", "meta_eval", "0"),
        ("../mine/1/report.html", "meta_eval", "1"),
    ]
    joint = [row for row in table if row["table"] == "Agreement with ratings: meta_eval"]
    assert [row["run"] for row in joint] == ["0", "1"]
    assert all(isinstance(row["word_count"], float) for row in joint)
    assert 'href="../mine/0/report.html"' in (tmp_path / "all" / "report.html").read_text("utf-8")
