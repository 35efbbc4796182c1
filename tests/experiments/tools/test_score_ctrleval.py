"""+exp=score metric=ctrleval through the command line: the released program's values, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Here = Callable[..., int]
pytestmark = pytest.mark.filterwarnings("default")


def settings(released_ctrleval: Path, shared_data: Path) -> list[str]:
    pattern = json.loads((released_ctrleval / "scores_published_tokenizer.json").read_text("utf-8"))[
        "sentence_split_pattern"
    ]
    return [
        "+exp=score",
        "metric=ctrleval",
        f"metric.model={released_ctrleval}/model",
        f"metric.iwf={shared_data}/ctrleval/iwf_full.txt",
        f"metric.sentence_split='{pattern}'",
        "data.path=in.jsonl",
        "output=out.jsonl",
        "run_dir=here",
    ]


def test_the_released_programs_values(
    run_here: Here, tmp_path: Path, released_ctrleval: Path, shared_data: Path
) -> None:
    expected = json.loads((released_ctrleval / "scores_published_tokenizer.json").read_text("utf-8"))
    lines = (shared_data / "ctrleval/data_senti.txt").read_text("utf-8").split("\n")
    with (tmp_path / "in.jsonl").open("w", encoding="utf-8") as file:
        for i, row in enumerate(expected["rows_of_data_senti"]):
            label, prefix, text, *_ = lines[row].split("\t")
            file.write(json.dumps({"id": str(i), "label": label, "prefix": prefix, "text": text}) + "\n")
    assert run_here(*settings(released_ctrleval, shared_data)) == 0
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    for aspect in ("coherence", "consistency", "attribute_relevance"):
        assert [line["scores"][aspect] for line in written] == pytest.approx(expected[aspect], abs=1e-5)
