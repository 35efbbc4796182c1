"""+exp=score through the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Here = Callable[..., int]
pytestmark = pytest.mark.filterwarnings("default")


def test_scores_are_written_in_the_order_of_the_input(run_here: Here, tmp_path: Path) -> None:
    lines = [{"id": "b", "text": "one two three"}, {"id": "a", "turns": ["Hi there!", "Hello."]}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_here("+exp=score", "metric=word_count", "data.path=in.jsonl", "output=out.jsonl", "run_dir=here") == 0
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(line["id"], list(line["scores"].values())) for line in written] == [("b", [3.0]), ("a", [3.0])]
    assert json.loads((tmp_path / "out.jsonl.meta.json").read_text())["signature"].startswith("word_count")
    results = json.loads((tmp_path / "here" / "results.json").read_text())
    assert results["figures"]["examples"] == 2
    assert results["files"] == ["out.jsonl"]


def test_all_faults_of_the_input_are_told_and_nothing_is_written(
    run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": ""}\n{"id": "b"\n{"id": "c", "text": 3}\n')
    assert run_here("+exp=score", "metric=word_count", "data.path=in.jsonl", "output=out.jsonl", "run_dir=here") == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1] for line in told] == ["1", "2", "3"]
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("output", "fault"), [(".", "found the folder"), ("in.jsonl", "another file"), ("no/out.jsonl", "found no no")]
)
def test_a_place_that_cannot_be_written_is_told_before_scoring(
    run_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str, fault: str
) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "x"}\n')
    assert run_here("+exp=score", "metric=word_count", "data.path=in.jsonl", f"output={output}") == 2
    assert fault in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
