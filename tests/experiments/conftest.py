"""The toy experiment, run in this process or by the real command line."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from core.stages import Stages
from experiments.contracts import Run
from experiments.run import main
from judge.report.plots import save_figure

TOY = Path(__file__).parent / "toy"
ALLOWED = ("--config-dir", str(TOY), "allow=[toy]")
RUN = Path(__file__).parents[2] / "experiments" / "run.py"


def allow_toy(arguments: Sequence[str]) -> list[str]:
    """The arguments with what lets them name the toy; Hydra takes settings in one piece."""
    start = next((i for i, word in enumerate(arguments) if "=" in word), len(arguments))
    return [*ALLOWED[:2], *arguments[:start], ALLOWED[2], *arguments[start:]]


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The command line in this process and an empty working folder; returns its exit code.

    Environment, arguments and logging are put back.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(TOY)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def run(*arguments: str) -> int:
        with patch.object(sys, "argv", ["experiments/run.py", *allow_toy(arguments)]):
            try:
                main()
            except SystemExit as end:
                return int(end.code or 0)
        return 0

    # Hydra closes all handlers that there are; that of absl would close pytest's own stream
    with patch.dict(os.environ), patch.object(logging, "_handlerList", []):
        yield run
    for handler in set(root.handlers) - set(handlers):
        handler.close()
    root.handlers = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


class Ended(NamedTuple):
    """How a run ended: its exit code, and what it wrote."""

    returncode: int
    stderr: str
    stdout: str


@pytest.fixture
def run(run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`run_here`, with what it wrote."""

    def run_and_read(*arguments: str) -> Ended:
        code, printed = run_here(*arguments), capsys.readouterr()
        return Ended(code, printed.err, printed.out)

    return run_and_read


@pytest.fixture
def finish(run: Callable[..., Ended], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs a command to its end in a run folder; returns its results.

    Without `plots` these files are empty, which saves time where the same plots are drawn elsewhere.
    """

    def run_to_the_end(*arguments: str, folder: str = "here", plots: bool = True) -> dict[str, Any]:
        draw = save_figure if plots else lambda figure, path: path.touch()
        with patch("judge.report.plots.save_figure", draw):
            ended = run(*arguments, f"hydra.run.dir={tmp_path}/{folder}")
        assert ended.returncode == 0, ended.stderr
        return json.loads((tmp_path / folder / "results.json").read_text("utf-8"))

    return run_to_the_end


def list_stages(folder: Path) -> dict[str, int]:
    """The stages in an output folder, and when each was finished."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "stages").iterdir() if path.is_dir()}


@pytest.fixture
def kept(tmp_path: Path) -> Run:
    """A run without a trainer and loggers."""

    def nothing(*_: object, **__: object) -> Any:
        raise AssertionError("nothing is trained here")

    return Run("toy", tmp_path, Stages(tmp_path / "stages"), 0, nothing, lambda name: [], show_nothing)


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts the real command line in an empty working folder.

    A shell's background jobs ignore Ctrl-C, and so would their children: here they heed it, wherever the tests run.
    """
    environment = {**os.environ, "PYTHONPATH": str(TOY), "OMP_NUM_THREADS": "1"}

    def started(*arguments: str) -> subprocess.Popen[str]:
        heeded = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                [sys.executable, str(RUN), *allow_toy(arguments)],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        finally:
            signal.signal(signal.SIGINT, heeded)

    return started


@contextmanager
def show_nothing(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress that nobody sees."""
    yield lambda steps: None
