"""The command `judge` in this process, and the small generator and guide of the tests of guidance."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from judge.cli import main
from tests.commands import finish as finish
from tests.commands import run as run
from tests.oumg.conftest import guide as guide
from tests.oumg.conftest import lm as lm


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """`main` in this process and an empty working folder, with a cache of its own; the environment is put back."""
    monkeypatch.chdir(tmp_path)
    with patch.dict(os.environ, {"XDG_CACHE_HOME": str(tmp_path / "cache")}):
        yield lambda *words: main(words)


@pytest.fixture
def report_in() -> Callable[[str], tuple[str, ...]]:
    """The words that name the folder of a report."""
    return lambda folder: ("--report", folder)
