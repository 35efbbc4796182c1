"""Lock file, conda environment, CI and pre-commit: what a fresh machine installs and runs."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins: dict[str, str] = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([^\s;#]+)(\s*;[^#]*)?(\s+#.*)?", line)
            assert match, f"a lock line must be name==version, but is {line!r}"
            name = canonicalize_name(match[1])
            assert name not in pins, f"{name} is locked twice"
            pins[name] = match[2]
    return pins


def declared() -> Iterator[str]:
    yield from PROJECT["dependencies"]
    for requirements in EXTRAS.values():
        yield from requirements


@pytest.mark.parametrize("declaration", sorted(declared()))
def test_the_lock_file_pins_every_dependency(declaration):
    requirement = Requirement(declaration)
    pin = locked().get(canonicalize_name(requirement.name))
    assert pin is not None, f"{requirement.name} is in pyproject.toml and not in requirements.lock"
    assert requirement.specifier.contains(pin, prereleases=True), f"{declaration}, but locked at {pin}"


def test_every_locked_release_has_its_hashes():
    """All but torch, whose builds differ between machines."""
    releases = re.split(r"\n(?=\S)", (ROOT / "hashes.lock").read_text(encoding="utf-8").strip())[1:]
    found = [re.fullmatch(r"(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)", each) for each in releases]
    assert all(found), releases[found.index(None)]
    hashed = {match[1]: match[2] for match in found if match}
    assert hashed == {name: pin for name, pin in locked().items() if name != "torch"}


def test_extras_of_the_readme_exist():
    assert {"offline", "dev"} <= set(EXTRAS)


def test_conda_environment():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *packages, pip = environment["dependencies"]
    assert environment["name"] == PROJECT["name"]
    assert "pip" in packages
    python = next(p for p in packages if p.startswith("python="))
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python.removeprefix("python="))
    assert pip["pip"] == ["-r requirements.lock", "-e ."]


def test_ci_runs_the_checks_and_the_tests():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    assert {"make check", "make test"} <= set(lines)


def make_targets() -> dict[str, list[str]]:
    """Target -> its command lines."""
    targets: dict[str, list[str]] = {}
    commands: list[str] = []
    for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            commands.append(line.strip())
        elif (match := re.match(r"([\w./-]+):(?!=)", line)) and not line.startswith("."):
            commands = targets.setdefault(match[1], [])
    return targets


def test_make_has_the_promised_commands():
    targets = make_targets()
    assert {"run", "test", "check", "bench"} <= set(targets)
    assert any("+exp=cdm_dialogue" in command for command in targets["run"])
    assert any("pytest" in command for command in targets["test"])


def test_pre_commit_and_make_check_run_the_same_tools_without_network():
    configured = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in configured["repos"]] == ["local"]
    hooks = configured["repos"][0]["hooks"]
    assert all(hook["language"] == "system" and hook["entry"].startswith(".venv/bin/") for hook in hooks)
    tools = {hook["entry"].removeprefix(".venv/bin/").split(" --")[0] for hook in hooks}
    checks = {command.removeprefix("$(BIN)/").split(" --")[0].removesuffix(" .") for command in make_targets()["check"]}
    assert tools == checks == {"ruff check", "ruff format", "basedpyright", "lint-imports", "vulture"}


def test_pre_commit_reads_its_configuration():
    checked = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", ROOT / ".pre-commit-config.yaml"],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
