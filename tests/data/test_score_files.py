"""Files of scores: each form holds the same rows, and is read back."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from core.faults import InputFaults
from data.scored import ENDINGS, read_score_rows, write_score_rows

ROWS: list[dict[str, Any]] = [
    {"id": "a,\r1", "scores": {"coherence": 0.1, "x/y": -3.0}, "dropped_tokens": 0, "explanation": {"tokens": [1]}},
    {"id": "=b\n", "scores": {"coherence": None, "x/y": 1e-300}, "dropped_tokens": 7, "reason": 'too "long"'},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_are_read_back_as_they_were(rows: Path, tmp_path: Path, ending: str) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow.parquet")
    path = tmp_path / f"out{ending}"
    write_score_rows(rows, path, ["coherence", "x/y"])
    faults: list[str] = []
    found = [row for _, row in read_score_rows(path, faults)]
    assert faults == []
    assert [row.id for row in found] == [row["id"] for row in ROWS]
    known = [{aspect: score for aspect, score in row["scores"].items() if score is not None} for row in ROWS]
    assert [{a: score for a, score in row.scores.items() if score is not None} for row in found] == known


def test_a_csv_file_has_a_column_per_aspect(rows: Path, tmp_path: Path) -> None:
    write_score_rows(rows, tmp_path / "out.csv", ["coherence", "x/y"])
    assert (tmp_path / "out.csv").read_bytes().decode() == (
        "id,scores.coherence,scores.x/y,dropped_tokens,reason,explanation\n"
        '"a,\r1","0.1","-3.0","0","","{""tokens"": [1]}"\n'
        '"=b\n",,1e-300,7,"too ""long""",\n'
    )
    write_score_rows(rows, tmp_path / "out.csv.gz", ["coherence", "x/y"])
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == (tmp_path / "out.csv").read_bytes()


def test_a_jsonl_file_has_the_rows_as_they_are(rows: Path, tmp_path: Path) -> None:
    write_score_rows(rows, tmp_path / "out.jsonl", ["coherence", "x/y"])
    assert (tmp_path / "out.jsonl").read_bytes() == rows.read_bytes()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("id,score\na,1\n", '1: the header needs a column "id" and a column "scores.ASPECT", found ["id", "score"]'),
        ("id,scores.q\na,x\n", '2: "q" of "scores" must be a valid number, found "x"'),
        ("id,scores.q\na,1\na,2\n", '3: ids must be unique, but "a" is the id of line 2 too'),
    ],
)
def test_faults_of_a_csv_file(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text(content)
    faults: list[str] = []
    read_score_rows(path, faults)
    assert faults == [f"{path}:{expected}"]


def test_another_ending_is_refused(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(InputFaults, match=r'must end in one of .jsonl, .csv, .tsv, .parquet, found ".txt"'):
        write_score_rows(rows, tmp_path / "out.txt", ["coherence"])
    assert not (tmp_path / "out.txt").exists()
