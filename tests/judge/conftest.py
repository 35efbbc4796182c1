"""The command `judge` in this process, and the small generator and guide of the tests of guidance."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from judge.cli import main
from judge.report.plots import save_figure
from tests.oumg.conftest import guide as guide
from tests.oumg.conftest import lm as lm


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """`main` in this process and an empty working folder, with a cache of its own; the environment is put back."""
    monkeypatch.chdir(tmp_path)
    with patch.dict(os.environ, {"XDG_CACHE_HOME": str(tmp_path / "cache")}):
        yield lambda *words: main(words)


class Ended(NamedTuple):
    """How a command ended: its exit code, and what it wrote."""

    returncode: int
    stderr: str
    stdout: str


@pytest.fixture
def run(run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`run_here`, with what it wrote."""

    def run_and_read(*words: str) -> Ended:
        code, printed = run_here(*words), capsys.readouterr()
        return Ended(code, printed.err, printed.out)

    return run_and_read


@pytest.fixture
def finish(run: Callable[..., Ended], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs a command to its end with a report; returns its results.

    Without `plots` these files are empty, which saves time where the same plots are drawn elsewhere.
    """

    def run_to_the_end(*words: str, folder: str = "here", plots: bool = True) -> dict[str, Any]:
        draw = save_figure if plots else lambda figure, path: path.touch()
        with patch("judge.report.plots.save_figure", draw):
            ended = run(*words, "--report", f"{tmp_path}/{folder}")
        assert ended.returncode == 0, ended.stderr
        return json.loads((tmp_path / folder / "results.json").read_text("utf-8"))

    return run_to_the_end
