"""The wheel: built and installed into an empty environment, where every room and the command `judge` work."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


@pytest.mark.slow
def test_the_wheel_holds_every_room_and_its_data(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet"]
    source = tmp_path / "source"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, files)):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source)]
    subprocess.run(wheel, check=True)
    (built,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
    python = tmp_path / "empty/bin/python"
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(built)], check=True)
    site = next((tmp_path / "empty").glob("lib/*/site-packages"))
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")  # theirs, not this repository
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    rooms = [package for package in packages if package != "configs"]
    subprocess.run([python, "-c", PROGRAM, str(site), *rooms], cwd=tmp_path, env=environment, check=True)
    (tmp_path / "mine/data").mkdir(parents=True)
    (tmp_path / "mine/data/x.jsonl").write_text(TEXTS)

    def judge(*words: str) -> str:
        command = [tmp_path / "empty/bin/judge", *words]
        return subprocess.run(
            command, cwd=tmp_path / "mine", env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert judge("--version").split() == [version("judging-generated-text")]
    assert "data.path=" in judge("score", "--help")
    judge("score", "metric=bleu", "data.path=data/x.jsonl", "output=out.jsonl")
    expected = {"id": "a", "domain": "news", "scores": {"quality": pytest.approx(1.0)}, "dropped_tokens": 0}
    assert json.loads((tmp_path / "mine/out.jsonl").read_text()) == expected
