"""Files that change while a run scores them: the next run scores the file as it is then."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.data.sets.small_files import write

Finish = Callable[..., dict[str, Any]]
MODULE = """
from pathlib import Path


def count(examples):
    Path("in.jsonl").write_text(Path("new.jsonl").read_text())  # as an editor does while a model scores
    return [len(example.text.split()) for example in examples]
"""
METRIC = ("--metrics", "changing.count")
PREFERENCES = [{"group": str(i), "system_a": "a", "system_b": "b", "winner": "a" if i % 4 else "b"} for i in range(16)]
COMMANDS = {
    "compare": ("compare", "in.jsonl"),
    "prefer": ("prefer", "prefs.jsonl", "--outputs", "in.jsonl"),
}


def write_systems(path: Path, better: str) -> None:
    """Texts of two systems, of which one writes more words; people like long texts."""
    rows = []
    for system in "ab":
        for i in range(16):
            words = 2 + i % 5 + 3 * (system == better)
            rating = {"quality": float(words + i % 3)}
            text = " ".join(f"w{j}" for j in range(words))
            rows.append({"id": f"{system}{i}", "system": system, "group": str(i), "text": text, "ratings": rating})
    write(path, *rows)


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_second_run_scores_what_the_file_has_become(
    finish: Finish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write_systems(tmp_path / "in.jsonl", better="a")
    write_systems(tmp_path / "new.jsonl", better="b")
    write(tmp_path / "prefs.jsonl", *PREFERENCES)
    (tmp_path / "changing.py").write_text(MODULE)
    before = (tmp_path / "in.jsonl").read_text()

    def run(folder: str, *settings: str) -> str:
        sys.modules.pop("changing", None)
        results = finish(*COMMANDS[verb], *METRIC, *settings, folder=folder, plots=False)
        return json.dumps(results["table"])

    first = run("first")
    assert (tmp_path / "in.jsonl").read_text() != before
    second, fresh = run("second"), run("fresh", "--stages", "fresh_stages")
    assert second == fresh
    assert second != first
