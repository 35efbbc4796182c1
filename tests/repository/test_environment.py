"""Lock file and conda environment: what a fresh machine installs."""

import re
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
        yield from (each for each in requirements if not each.startswith(PROJECT["name"]))


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


def test_conda_environment():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *packages, pip = environment["dependencies"]
    assert environment["name"] == PROJECT["name"]
    assert "pip" in packages
    python = next(p for p in packages if p.startswith("python="))
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python.removeprefix("python="))
    assert pip["pip"] == ["-r requirements.lock", "-e ."]
