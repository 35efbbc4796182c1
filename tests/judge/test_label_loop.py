"""The way of a user: draw a sheet, fill it in, read it back; every label must reach its text."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from judge.verdict_files import read_verdicts

RNG = np.random.default_rng(4)
TRUTH = RNG.random(120) < 0.7
VERDICTS = np.where(RNG.random(120) < 0.85, TRUTH, ~TRUTH)
FEW: dict[str, Any] = {"cues": False}


def write_inspect(folder: Path) -> Path:
    """60 samples in two epochs."""
    samples = []
    for i, verdict in enumerate(VERDICTS.tolist()):
        sample = {
            "id": i % 60,
            "epoch": 1 + i // 60,
            "input": f"Question {i % 60}?",
            "target": "",
            "output": {"choices": [{"message": {"content": f"Answer {i}."}}]},
            "scores": {"grader": {"value": "C" if verdict else "I"}},
        }
        samples.append(sample)
    path = folder / "log.json"
    path.write_text(json.dumps({"status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}))
    return path


def write_systems(folder: Path) -> Path:
    """60 questions, each answered by two systems."""
    rows = [["question_id", "model", "response", "judge"]]
    for i, verdict in enumerate(VERDICTS.tolist()):
        rows.append([f"q{i // 2}", "ab"[i % 2], f"Answer {i}.", ("no", "yes")[verdict]])
    return write_rows(folder / "systems.csv", rows)


def write_unnamed(folder: Path) -> Path:
    """Texts without ids."""
    rows = [["response", "judge"]]
    rows += [[f"Answer {i}.", ("no", "yes")[verdict]] for i, verdict in enumerate(VERDICTS.tolist())]
    return write_rows(folder / "texts.csv", rows)


def write_rows(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def find_truth(text: str) -> bool:
    return bool(TRUTH[int(text.removeprefix("Answer ").removesuffix("."))])


def fill(sheet: Path) -> Path:
    """The sheet with the label of each text, as a script fills it in."""
    with sheet.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    for row in rows:
        row["label"] = ("no", "yes")[find_truth(row["text"])]
    filled = [[*rows[0]], *([*row.values()] for row in rows)]
    return write_rows(sheet.with_name("filled.csv"), filled)


SOURCES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "Inspect": (write_inspect, "grader"),
    "two systems": (write_systems, "judge"),
    "no ids": (write_unnamed, "judge"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_labels_of_a_sheet_reach_their_texts(name: str, tmp_path: Path) -> None:
    write, grader = SOURCES[name]
    source = write(tmp_path)
    judge.label(source, n=80, output=tmp_path / "sheet")
    labels = fill(tmp_path / "sheet.csv")
    texts = read_verdicts(source, labels=labels)
    labelled = [example for example in texts.examples if example.ratings]
    assert len(labelled) == 80
    assert [example.ratings["label"] for example in labelled] == [find_truth(str(example.text)) for example in labelled]
    assert grader in texts.scores
    study = judge.agree(source, labels=labels, **FEW)
    truth = np.array([find_truth(str(example.text)) for example in labelled])
    for rates in (row for table in study.tables for row in table.rows if "corrected" in row):
        is_in = np.array([rates["system"] in ("all", example.system) for example in labelled])
        assert rates["by_people"].value == pytest.approx(truth[is_in].mean())
        everybody = [
            find_truth(str(example.text)) for example in texts.examples if rates["system"] in ("all", example.system)
        ]
        assert rates["corrected"].low <= np.mean(everybody) <= rates["corrected"].high
