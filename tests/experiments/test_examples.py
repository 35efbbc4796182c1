"""The commands of the README that use examples/ run as they stand."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from data.files import read_examples
from tests.repository.test_docs import commands

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "command", [command for command in commands() if "examples/" in command and "outputs/tiny" not in command]
)
def test_a_command_on_the_examples_runs(run_here: Callable[..., int], tmp_path: Path, command: str) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert run_here(*command.split(), "run_dir=here") == 0
    assert (tmp_path / "here" / "report.html").is_file()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_example_file_can_be_read_and_is_described(path: Path) -> None:
    assert read_examples(path)
    assert f"`{path.name}`" in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
