"""The way of a user: draw a sheet, fill it in, read it back; every label must reach its text."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import judge
from judge.verdict_files import read_verdicts
from tests.data.sets.small_files import write
from tests.judge.tables import read_csv, write_csv

RNG = np.random.default_rng(4)
TRUTH = RNG.random(120) < 0.7
VERDICTS = np.where(RNG.random(120) < 0.85, TRUTH, ~TRUTH)
SAID = [("no", "yes")[verdict] for verdict in VERDICTS.tolist()]


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
    log = {"status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}
    return write(folder / "log.json", log)


def write_systems(folder: Path) -> Path:
    """60 questions, each answered by two systems."""
    rows = [
        {"question_id": f"q{i // 2}", "model": "ab"[i % 2], "response": f"Answer {i}.", "judge": said}
        for i, said in enumerate(SAID)
    ]
    return write_csv(folder / "systems.csv", rows)


def write_unnamed(folder: Path) -> Path:
    """Texts without ids."""
    rows = [
        {"response": f"Answer {i}.", "judge": ("no", "yes")[verdict]} for i, verdict in enumerate(VERDICTS.tolist())
    ]
    return write_csv(folder / "texts.csv", rows)


def find_truth(text: str) -> bool:
    return bool(TRUTH[int(text.removeprefix("Answer ").removesuffix("."))])


def fill(sheet: Path) -> Path:
    """The sheet with the label of each text, as a script fills it in."""
    rows = [{**row, "label": ("no", "yes")[find_truth(row["text"])]} for row in read_csv(sheet)]
    return write_csv(sheet.with_name("filled.csv"), rows)


SOURCES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "Inspect": (write_inspect, "grader"),
    "two systems": (write_systems, "judge"),
    "no ids": (write_unnamed, "judge"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_labels_of_a_sheet_reach_their_texts(name: str, tmp_path: Path) -> None:
    write_source, grader = SOURCES[name]
    source = write_source(tmp_path)
    judge.label(source, n=80, output=tmp_path / "sheet")
    labels = fill(tmp_path / "sheet.csv")
    texts = read_verdicts(source, labels=labels)
    labelled = [example for example in texts.examples if example.ratings]
    assert len(labelled) == 80
    assert [example.ratings["label"] for example in labelled] == [find_truth(str(example.text)) for example in labelled]
    assert grader in texts.scores
