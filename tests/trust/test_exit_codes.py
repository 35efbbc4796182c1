"""A name or a place that cannot be written is bad input before anything is scored, and says so in one line."""

import os
from pathlib import Path

import pytest

from core.stages import Stages
from judge.cli import main

SCORE = ("score", "in.jsonl", "--metric", "word_count")


@pytest.fixture(autouse=True)
def links(here: Path) -> None:
    """A ring of links, a link and a pipe in the working folder."""
    (here / "ring").symlink_to("ring")
    (here / "link.jsonl").symlink_to("in.jsonl")
    os.mkfifo(here / "pipe.jsonl")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--output", f"{'a' * 244}.jsonl"], "output cannot be aaa"),
        (["--output", f"{'a' * 300}.jsonl"], "aaa.jsonl: File name too long"),
        (["--output", "/proc/out.jsonl"], "output cannot be /proc/out.jsonl"),
        (["--output", "ring/out.jsonl"], "there is no ring"),
        (["--output", "ring"], "found the link ring"),
        (["--output", "link.jsonl"], "output must be a regular file, found the link link.jsonl"),
        (["--output", "pipe.jsonl"], "found the device or pipe pipe.jsonl"),
        (["--output", "o.jsonl", "--report", "a" * 300], "report cannot be"),
        (["--output", "o.jsonl", "--report", "ring"], "report cannot be"),
        (["--output", "o.jsonl", "--report", "in.jsonl/x"], "report cannot be"),
        (["--output", "o.jsonl", "--stages", "ring"], "stages cannot be ring"),
        (["--output", "o.jsonl", "--stages", "in.jsonl"], "stages must be a folder"),
        (["--output", "o.jsonl", "--stages", "/sys/stages"], "stages must be a folder that can be written"),
        (["--output", "o\udcff.jsonl"], "must be UTF-8"),
        (["--output", "o.jsonl", "--report", "o\udcff"], "must be UTF-8"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_written_is_refused_before_scoring(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.setattr(Stages, "get", lambda *_: pytest.fail("something was scored"))
    assert main([*SCORE, *words]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "--help` lists" not in line]
    assert len(lines) == 1
    assert said in lines[0]
    assert {path.name for path in Path().iterdir()} == {"in.jsonl", "link.jsonl", "pipe.jsonl", "ring"}
    assert Path("in.jsonl").read_text("utf-8") == '{"text": "a b"}\n'


def test_an_input_whose_name_is_too_long_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", f"{'a' * 300}.jsonl", "--metric", "word_count"]) == 2
    assert "aaa.jsonl: " in capsys.readouterr().err
