"""The toy experiment, run in this process or by the real command line."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from experiments.run import main

TOY = Path(__file__).parent / "toy"
RUN = Path(__file__).parents[2] / "experiments" / "run.py"


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """`main` in this process and an empty working folder; environment, arguments and logging are put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(TOY)
    monkeypatch.setattr(logging.root, "handlers", logging.root.handlers[:])  # Hydra's --info adds one
    with patch.dict(os.environ), patch.object(sys, "argv", ["experiments/run.py"]):
        yield lambda *arguments: main(["--config-dir", str(TOY), *arguments])


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, and what it wrote to stderr."""

    returncode: int
    stderr: str


@pytest.fixture
def run(run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`run_here`, with what it wrote to stderr."""
    return lambda *arguments: Ended(run_here(*arguments), capsys.readouterr().err)


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
                [sys.executable, str(RUN), "--config-dir", str(TOY), *arguments],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        finally:
            signal.signal(signal.SIGINT, heeded)

    return started
