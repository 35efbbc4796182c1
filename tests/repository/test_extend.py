"""docs/extend.md, followed to the letter in a copy of the repository: its files, its tests and its commands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^File `([^`]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS = re.findall(r"^(python experiments/run\.py|judge) ([^=].*)$", PAGE, re.MULTILINE)
JUDGE = (sys.executable, "-c", "from judge.cli import console; raise SystemExit(console())")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with what the page adds."""
    folder = tmp_path_factory.mktemp("extended") / "repository"
    leave_out = shutil.ignore_patterns(".*", "outputs", "mutants", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, folder, ignore=leave_out)
    made = {"ead/__init__.py": '"""EAD."""\n', "experiments/ead/__init__.py": '"""Experiments of EAD."""\n'}
    for name, content in {**FILES, **made}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = re.sub(r'"((?:experiments\.)?)mars"', r'"\1mars", "\1ead"', settings)
    settings = re.sub(r"\| ((?:experiments\.)?)mars \|", r"| \1mars | \1ead |", settings)
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    return folder


def run(folder: Path, *command: str) -> str:
    """What the command prints; it must end with 0."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command}:\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
    return ended.stdout


def test_the_page_adds_a_metric_a_data_set_an_experiment_and_a_paper(extended: Path) -> None:
    assert len([name for name in FILES if name.endswith((".py", ".yaml"))]) == 7
    tools = Path(sys.executable).parent
    ours = [name for name in FILES if name.endswith(".py")]
    run(extended, str(tools / "ruff"), "check", *ours)
    run(extended, str(tools / "ruff"), "format", "--check", *ours)
    run(extended, str(tools / "lint-imports"))
    run(extended, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "ead", "tests/ead")
    assert [program for program, _ in COMMANDS] == ["judge", *["python experiments/run.py"] * 2]
    printed = [run_command(extended, program, words) for program, words in COMMANDS]
    assert '"id": "a"' in (extended / "out.jsonl").read_text(encoding="utf-8")
    assert all("ead" in text for text in printed[1:])


def run_command(folder: Path, program: str, words: str) -> str:
    start = JUDGE if program == "judge" else (sys.executable, "experiments/run.py")
    return run(folder, *start, *shlex.split(words))


def test_the_paper_trains_once_and_again_after_a_change_of_its_equation(extended: Path) -> None:
    command = partial(run_command, extended, "python", f"{COMMANDS[1][1]} logger=none")

    def list_stages() -> list[str]:
        return sorted(path.name for path in (extended / "outputs" / "stages").glob("ead-*[0-9a-f]"))

    command()
    kept = list_stages()
    assert len(kept) == 1
    file = extended / "ead" / "metric.py"
    file.write_text(f"# a comment\n{FILES['ead/metric.py']}", encoding="utf-8")
    command()
    assert list_stages() == kept
    changed = FILES["ead/metric.py"].replace("** words)", "** (words + 1))")
    assert changed != FILES["ead/metric.py"]
    file.write_text(changed, encoding="utf-8")
    command()
    assert len(list_stages()) == 2
    log = max((extended / "outputs").rglob("run.log"), key=lambda path: path.stat().st_mtime)
    assert "These files differ: ead/metric.py" in log.read_text("utf-8")
