"""docs/extend.md, followed to the letter: its files are written, its tests pass and its commands run."""

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

import judge
from experiments.run import main

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^File `([^`]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS = re.findall(r"^python experiments/run\.py (.+)$", PAGE, re.MULTILINE)


@pytest.fixture
def extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, whose modules are part of the packages that the page puts them in."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    for folder in {Path(name).parent for name in FILES if name.endswith(".py") and not name.startswith("tests/")}:
        package = import_module(".".join(folder.parts))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / folder)])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments/run.py"])
    return tmp_path


def test_the_page_adds_a_metric_a_data_set_and_an_experiment(extended: Path) -> None:
    written = {name for name in FILES if name.endswith((".py", ".yaml"))}
    assert len(written) == 7
    for name in FILES:
        if name.startswith("tests/"):
            found: dict[str, object] = {}
            exec(compile(FILES[name], name, "exec"), found)
            for test in (each for key, each in found.items() if key.startswith("test_") and callable(each)):
                test()
    judge.score("in.jsonl", import_module("baselines.unique_words").UniqueWords())  # in Python, without configuration
    assert len(COMMANDS) == 3
    here = ["--config-dir", str(extended / "configs")]  # the page adds to configs/ itself, which is trusted
    trusted = [word for package in ("baselines", "data", "experiments") for word in ("--allow", package)]
    for number, command in enumerate(COMMANDS):
        assert main([*here, *trusted, *shlex.split(command), f"run_dir=run{number}", "logger=none"]) == 0
    assert '"id": "a"' in (extended / "out.jsonl").read_text(encoding="utf-8")
    assert "unique_words" in (extended / "run2" / "results.json").read_text(encoding="utf-8")
