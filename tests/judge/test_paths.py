"""Every verb builds its metrics by one function, once, and scores texts on one path."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.data.sets.small_files import write

pytestmark = pytest.mark.filterwarnings("default")

WATCHED = """
import sys
import numpy as np
from core.scores import Scores

BUILT, SCORED = [], []


class Watched:
    requires = ()
    signature = "watched"

    def __init__(self, value: float = 1.0) -> None:
        BUILT.append(sys._getframe(1))

    def score(self, examples):
        SCORED.append(sys._getframe(1))
        return Scores({"quality": np.array([float(len(example.text)) for example in examples])}, self.signature)
"""
ROWS = [
    {"text": f"word {'and more ' * ((i + j) % 5)}{i}.", "system": system, "group": str(i), "ratings": {"fit": i + j}}
    for i in range(12)
    for j, system in enumerate(("old", "new"))
]
PREFERENCES = [{"group": str(i), "system_a": "old", "system_b": "new", "winner": "new"} for i in range(12)]
IN_MEMORY = {"score_all"}  # of a set that is read as a whole
IN_CHUNKS = {"score_chunk"}  # of a file that is written
DAMAGED = {"score_accepted"}  # of texts that a metric may refuse


def name_function(frame: FrameType) -> str:
    return frame.f_code.co_name


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        ("score in.jsonl", IN_MEMORY),
        ("score in.jsonl --output out.jsonl --chunk 5", IN_CHUNKS),
        ("score in.jsonl --output -", IN_CHUNKS),
        ("agree in.jsonl --resamples 50", IN_MEMORY),
        ("compare in.jsonl --resamples 50", IN_MEMORY),
        ("prefer pairs.jsonl --outputs in.jsonl --resamples 50", IN_MEMORY),
        ("audit in.jsonl", IN_MEMORY | DAMAGED),
    ],
)
@pytest.mark.parametrize("place", ["--metric", "--metrics"])
def test_a_verb_builds_a_metric_once_and_scores_on_one_path(
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    paths: set[str],
    place: str,
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "watched", raising=False)
    (tmp_path / "watched.py").write_text(WATCHED)
    (tmp_path / "mine.yaml").write_text("_target_: watched.Watched\nvalue: 1.0\n")
    write(tmp_path / "in.jsonl", *ROWS)
    write(tmp_path / "pairs.jsonl", *PREFERENCES)
    ended = run(*f"{words} {place} mine.yaml --allow watched --stages null".split())
    assert ended.returncode == 0, ended.stderr
    watched = sys.modules["watched"]
    builders = [(name_function(frame), frame.f_globals["__name__"]) for frame in watched.BUILT]
    assert builders == [("build", "judge.yaml_objects")]
    assert {name_function(frame) for frame in watched.SCORED} == paths
