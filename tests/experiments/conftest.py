"""The toy experiment, run in this process."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from core.progress import show_nothing as show_nothing
from core.stages import Stages
from experiments.contracts import Run
from experiments.run import main
from tests.commands import finish as finish
from tests.commands import run as run

TOY = Path(__file__).parent / "toy"


def add_toy(arguments: Sequence[str]) -> list[str]:
    """The arguments with the folder in which Hydra finds the toy."""
    return ["--config-dir", str(TOY), *arguments]


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
        with patch.object(sys, "argv", ["experiments/run.py", *add_toy(arguments)]):
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


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trains nothing: Lightning would start further processes by repeating the command, which is pytest's."""
    monkeypatch.setattr("pytorch_lightning.Trainer.fit", lambda *_, **__: pytest.fail("a training has begun"))


@pytest.fixture
def report_in() -> Callable[[str], tuple[str, ...]]:
    """The words that name the folder of a run."""
    return lambda folder: (f"hydra.run.dir={folder}",)


@pytest.fixture
def plain_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws no plots on the page, which takes a second each; the toy and MARS have theirs."""
    monkeypatch.setattr("report.page.draw_svg", lambda figure: "")


def list_stages(folder: Path) -> dict[str, int]:
    """The stages in an output folder, and when each was finished."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "stages").iterdir() if path.is_dir()}


@pytest.fixture
def kept(tmp_path: Path) -> Run:
    """A run without a trainer and loggers."""

    def nothing(*_: object, **__: object) -> Any:
        raise AssertionError("nothing is trained here")

    return Run("toy", tmp_path, Stages(tmp_path / "stages"), 0, nothing, lambda name: [], show_nothing)
