"""The wheel: built, installed into an empty folder, and every room imported from there with its data files."""

import os
import subprocess
import sys
import tomllib
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
    site = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(built)], check=True)
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    command = [sys.executable, "-c", PROGRAM, str(site), *packages]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(site)}, check=True)
