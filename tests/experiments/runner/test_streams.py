"""Standard streams that nobody reads, or that cannot write every character."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from judge.cli import main as judge
from report.terminal import StandardStream
from tests.experiments.conftest import TOY

RUN = Path(__file__).parents[3] / "experiments" / "run.py"
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
    environment = {**os.environ, **ASCII, "PYTHONPATH": str(RUN.parents[1])}
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


def test_the_first_line_comes_before_the_heavy_imports(tmp_path: Path) -> None:
    """Importing PyTorch, Lightning and scikit-learn takes seconds: a run says so first."""
    code = (
        "import sys; import report.terminal as terminal; import experiments.run as program; "
        "terminal.say = lambda line: print(line, 'torch' in sys.modules, 'numpy' in sys.modules) or sys.exit(0); "
        "sys.argv[1:] = ['+exp=cdm_dialogue', 'hydra.run.dir=here']; program.main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(RUN.parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    first, *_ = done.stdout.splitlines()
    assert first == "cdm_dialogue: loading PyTorch and other libraries, which takes seconds False False"


def test_without_a_terminal_a_line_a_minute_says_where_a_run_is(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report.terminal.MINUTE", 0.001)
    ended = run("+exp=toy", "logger=none", "hydra.run.dir=here")
    assert "training, waiting 1 of 2" in ended.stderr
    assert "training, waiting 1 of 2" in Path("here/run.log").read_text("utf-8")


def test_a_terminal_shows_bars_and_no_librarys_noise(tmp_path: Path) -> None:
    primary, secondary = pty.openpty()
    command = [sys.executable, str(RUN), "--config-dir", str(TOY), "+exp=toy", "logger=csv", "hydra.run.dir=here"]
    environment = {**os.environ, "PYTHONPATH": str(TOY), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=secondary, stderr=secondary)
    os.close(secondary)
    seen = b""
    with suppress(OSError):  # the terminal is closed at the other end
        while part := os.read(primary, 10_000):
            seen += part
    assert process.wait() == 0
    shown = seen.decode()
    assert "waiting" in shown
    assert "training with gamma" in shown
    assert not [noise for noise in ("v_num", "Epoch", "GPU available", "it/s", "Writing") if noise in shown]
