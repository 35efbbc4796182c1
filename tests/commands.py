"""How a command ended, for the fixtures `run` and `finish` of both programs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from report.plots import save_figure


class Ended(NamedTuple):
    """How a command ended: its exit code, and what it wrote."""

    returncode: int
    stderr: str
    stdout: str


@pytest.fixture
def run(run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`run_here`, with what it wrote."""

    def run_and_read(*words: str) -> Ended:
        code = run_here(*words)
        printed = capsys.readouterr()
        return Ended(code, printed.err, printed.out)

    return run_and_read


@pytest.fixture
def finish(
    run: Callable[..., Ended], report_in: Callable[[str], tuple[str, ...]], tmp_path: Path
) -> Callable[..., Any]:
    """Runs a command to its end with a report; returns its results.

    `report_in` gives the words that name the folder of the report. Without `plots` these files are empty, which saves
    time where the same plots are drawn elsewhere.
    """

    def run_to_the_end(*words: str, folder: str = "here", plots: bool = True) -> dict[str, Any]:
        draw = save_figure if plots else lambda figure, path: path.touch()
        with patch("report.plots.save_figure", draw):
            ended = run(*words, *report_in(f"{tmp_path}/{folder}"))
        assert ended.returncode == 0, ended.stderr
        return json.loads((tmp_path / folder / "results.json").read_text("utf-8"))

    return run_to_the_end
