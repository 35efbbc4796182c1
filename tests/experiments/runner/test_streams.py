"""Standard streams that nobody reads, or that cannot write every character."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.cli import main as judge
from report.terminal import StandardStream

ROOT = Path(__file__).parents[3]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def unread() -> Iterator[StandardStream]:
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    with StandardStream(os.fdopen(writer, "wb"), "utf-8") as stream:
        yield stream


def test_what_nobody_reads_is_dropped(unread: StandardStream) -> None:
    for _ in range(3):
        assert unread.write("x" * 100_000) == 100_000
        unread.flush()


def test_a_character_that_the_encoding_lacks_is_an_escape() -> None:
    code = "import sys; from report.terminal import open_streams; open_streams(); print('\\u2588')"
    environment = {**os.environ, **ASCII, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"\\u2588\n"), done.stderr


def test_tables_that_no_disk_holds_are_dropped_and_results_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"text": "a b"}\n')
    words = ("score", "in.jsonl", "--metric", "word_count", "--stages", "kept")
    with StandardStream(Path("/dev/full").open("wb", buffering=0), "utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert judge([*words, "--output", "out.jsonl", "--report", "run"]) == 0
    assert (tmp_path / "run" / "results.json").is_file()


def test_without_a_terminal_a_line_a_minute_says_where_a_run_is(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report.terminal.MINUTE", 0.001)
    ended = run("+exp=toy", "logger=none", "hydra.run.dir=here")
    assert "training, waiting 1 of 2" in ended.stderr
    assert "training, waiting 1 of 2" in Path("here/run.log").read_text("utf-8")
