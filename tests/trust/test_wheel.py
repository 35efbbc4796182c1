"""The wheel: built and installed into an empty environment, where every room and the command `judge` work."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "--quiet"]
PROGRAM = """
import importlib, sys
for name in sys.argv[2:]:
    module = importlib.import_module(name)
    assert module.__file__.startswith(sys.argv[1]), (name, module.__file__)
from ctrl_eval.prompts import load_prompts
from data.builtin.stories import generate_stories
assert load_prompts("sentiment") and generate_stories(2, seed=0)
"""
TEXTS = '{"id": "a", "mt": "a cat", "ref": "a cat", "domain": "news"}\n'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, files)):
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(folder / "source")]
    subprocess.run([*PIP, *build], check=True)
    return next(folder.glob("*.whl"))


def environment() -> dict[str, str]:
    """This environment without the repository on Python's path."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.mark.slow
def test_the_wheel_holds_every_room_and_its_data(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
    python = tmp_path / "empty/bin/python"
    subprocess.run(
        [*PIP, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)], env=environment(), check=True
    )
    site = next((tmp_path / "empty").glob("lib/*/site-packages"))
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")  # theirs, not this repository
    rooms = [".".join(file.parent.relative_to(ROOT).parts) for file in ROOT.glob("[a-z]*/**/__init__.py")]
    assert {"ctrl_eval", "configs", "judge.verbs"} <= {*rooms}
    subprocess.run([python, "-c", PROGRAM, str(site), *rooms], cwd=tmp_path, env=environment(), check=True)
    (tmp_path / "mine/data").mkdir(parents=True)
    (tmp_path / "mine/data/x.jsonl").write_text(TEXTS)

    def judge(*words: str) -> str:
        command = [tmp_path / "empty/bin/judge", *words]
        return subprocess.run(
            command, cwd=tmp_path / "mine", env=environment(), check=True, capture_output=True, text=True
        ).stdout

    assert judge("--version").split() == [version("judging-generated-text")]
    assert "--metric" in judge("score", "--help")
    judge("score", "data/x.jsonl", "--metric", "bleu", "--output", "out.jsonl", "--stages", "null")
    read = {"id": "a", "text": "a cat", "references": ["a cat"], "domain": "news"}
    expected = {**read, "scores": {"quality": pytest.approx(1.0)}, "dropped_tokens": 0}
    assert json.loads((tmp_path / "mine/out.jsonl").read_text()) == expected


@pytest.mark.slow
@pytest.mark.network
def test_a_light_installation_judges_and_names_the_extra_that_it_lacks(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "light")], check=True)
    subprocess.run([tmp_path / "light/bin/pip", "install", "--quiet", str(wheel)], env=environment(), check=True)
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "examples")

    def judge(command: str) -> subprocess.CompletedProcess[str]:
        words = [tmp_path / "light/bin/judge", *command.split()]
        return subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)

    installed = {path.name for path in (tmp_path / "light").glob("lib/*/site-packages/*")}
    assert not installed & {"hydra", "omegaconf", "torch", "wandb", "pandas"}
    texts = "examples/summaries.jsonl"
    for command in (
        f"score {texts} --metric rouge_l --output scores.jsonl",
        f"agree {texts} --metrics rouge_l bleu chrf ter word_count --report agreement",
        f"compare {texts} --metrics rouge_l",
        f"audit {texts} --metric rouge_l",
        "prefer examples/preferences.jsonl",
        f"plan {texts} --aspect quality --systems new old",
    ):
        found = judge(command)
        assert found.returncode == 0, (command, found.stderr)
    for command, module, extra in (
        (f"score {texts} --metric bertscore --output s.jsonl", "bert_score", "models"),
        ("demo", "gradio", "demo"),
    ):
        found = judge(command)
        fault = f"{module} is not installed: pip install 'judging-generated-text[{extra}]'"
        assert (found.returncode, found.stderr.splitlines()[0]) == (2, fault)
