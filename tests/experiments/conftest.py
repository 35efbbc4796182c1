"""The toy experiment, run in this process or by the real command line."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from experiments.run import main

TOY = Path(__file__).parent / "toy"
RUN = Path(__file__).parents[2] / "experiments" / "run.py"


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """`main` in this process and an empty working folder; the environment is put back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(TOY)
    with patch.dict(os.environ):
        yield lambda *arguments: main(["--config-dir", str(TOY), *arguments])


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts the real command line in an empty working folder."""
    environment = {**os.environ, "PYTHONPATH": str(TOY), "OMP_NUM_THREADS": "1"}

    def started(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(RUN), "--config-dir", str(TOY), *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started
