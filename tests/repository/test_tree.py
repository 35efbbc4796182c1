"""The tree and what is installed: every room is packaged, checked, drawn and locked; no file speaks of one machine."""

import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOL, PROJECT = PYPROJECT["tool"], PYPROJECT["project"]


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files are tracked is not known")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def packages() -> list[str]:
    """Every folder with an `__init__.py`, dotted, other than tests."""
    inits = [path.relative_to(ROOT).parent for path in tracked() if path.name == "__init__.py"]
    return sorted(".".join(folder.parts) for folder in inits if folder.parts and folder.parts[0] != "tests")


def test_every_data_file_is_installed():
    """Each file of a room that is not Python matches a pattern of package data."""
    rooms = {package.split(".")[0] for package in packages()}
    data = {path.relative_to(ROOT) for path in tracked() if path.suffix != ".py"}
    expected = {path for path in data if path.parts[0] in rooms}
    patterns = TOOL["setuptools"]["package-data"]
    assert set(patterns) <= set(packages())
    folders = {package: ROOT.joinpath(*package.split(".")) for package in patterns}
    installed = {path for package, globs in patterns.items() for glob in globs for path in folders[package].glob(glob)}
    assert {path.relative_to(ROOT) for path in installed} & data == expected
    assert Path("data/builtin/worlds/dialogues/small_talk.txt") in expected


def test_every_room_is_known_to_the_import_linter():
    rooms = {package.split(".")[0] for package in packages()} - {"configs"}
    assert rooms == set(TOOL["importlinter"]["root_packages"])


def list_imports(path: Path) -> set[str]:
    """The rooms that a module imports, at its head or in a function."""
    pattern = r"^ *(?:import (\w+)|from (\w+)[\w.]* import)"
    return {a or b for a, b in re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)}


def test_the_house_is_drawn_as_it_is_built():
    """The picture in docs/extend.md: the floors of the contracts, and imports that point downward only."""
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    drawing = page.split("## The house\n\n```\n")[1].split("```")[0]
    floors = [names.split(" | ") for names in re.findall(r"^[ v] (\S.*?) {2,}", drawing, re.MULTILINE)]
    rooms, inside, *_ = (contract["layers"] for contract in TOOL["importlinter"]["contracts"] if "layers" in contract)
    assert [floor for floor in floors if floor != ["meta_eval"]] == [floor.split(" | ") for floor in rooms]
    assert " ".join(re.findall(r"^ {3,}(.*)", drawing, re.MULTILINE)) == " -> ".join(
        dict.fromkeys(re.sub(r"experiments\.(\w+)[.\w]*", r"\1", layer) for layer in inside)
    )
    height = {room: floor for floor, names in enumerate(floors) for room in names}
    assert set(height) == set(TOOL["importlinter"]["root_packages"])
    for path in (path for room in height for path in (ROOT / room).rglob("*.py")):
        room = path.relative_to(ROOT).parts[0]
        upward = {other for other in list_imports(path) & set(height) - {room} if height[other] <= height[room]}
        assert not upward, f"{path.relative_to(ROOT)} imports {upward}"


MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home|Users|mnt)/[\w.-]+")


def test_no_file_names_a_path_of_one_machine():
    found = []
    for path in tracked():
        content = path.read_bytes()
        if b"\0" not in content:
            for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
                if match := MACHINE_PATH.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]}")
    assert not found


EXTRAS = PROJECT["optional-dependencies"]


def read_lock() -> tuple[dict[str, str], dict[str, str]]:
    """Versions by name in both parts of the lock, torch in the first; asserts that every release has a hash."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    running, _, development = text.partition("\n# Development")
    return read_releases(running), read_releases(f"# Development{development}")


def read_releases(part: str) -> dict[str, str]:
    lines = [line for line in part.splitlines() if not line.startswith("#")]
    versions = {}
    for release in re.split(r"\n(?=\S)", "\n".join(lines)):
        match = re.fullmatch(r"(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)", release)
        assert match, f"a release must be name==version with its hashes, but is {release!r}"
        name = canonicalize_name(match[1])
        assert name not in versions, f"{name} is locked twice"
        versions[name] = match[2]
    return versions


def locked() -> dict[str, str]:
    running, development = read_lock()
    return running | development


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


RUNNING = "papers", "offline"  # the extras that `make run` installs
# the project itself, what every environment has, and what only some builds of torch need
UNLOCKED = (PROJECT["name"], "setuptools", "nvidia-", "cuda-", "triton")


def collect_dependencies(requirements: Iterable[str], extras: Iterable[str]) -> set[str]:
    """The names that `requirements` need on this machine, directly or through others."""
    needed: set[tuple[str, str]] = set()
    waiting = [(line, extra) for line in requirements for extra in extras]
    while waiting:
        line, extra = waiting.pop()
        requirement = Requirement(line)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        name = canonicalize_name(requirement.name)
        if not applies or (name, line) in needed:
            continue
        needed.add((name, line))
        if not name.startswith(UNLOCKED):
            waiting += [(inner, asked) for inner in requires(name) or () for asked in requirement.extras or {""}]
    return {name for name, _ in needed if not name.startswith(UNLOCKED)}


def test_the_first_part_of_the_lock_is_what_running_needs():
    requirements = [*PROJECT["dependencies"], *(line for extra in (*RUNNING, "models") for line in EXTRAS[extra])]
    running, _ = read_lock()
    assert running.keys() == collect_dependencies(requirements, extras=[""])


def test_no_release_stands_in_both_parts_of_the_lock():
    running, development = read_lock()
    assert not running.keys() & development.keys()


def test_conda_environment():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    packages = environment["dependencies"]
    assert environment["name"] == PROJECT["name"]
    assert "pip" in packages
    python = next(p for p in packages if p.startswith("python="))
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python.removeprefix("python="))


def test_conda_installs_by_the_commands_of_the_readme():
    """conda cannot install the lock itself, so a comment of its file says how."""
    environment = (ROOT / "environment.yml").read_text(encoding="utf-8")
    comment = " ".join(line.lstrip("# ") for line in environment.splitlines() if line.startswith("#"))
    in_comment = re.findall(r"pip install (?:-|torch)[^&]*?(?= &&| name:|$)", comment)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    of_readme = next(line for line in readme.split("\n\n") if "`environment.yml`" in line)
    in_readme = re.findall(r"`(pip install [^`]+)`", of_readme)
    assert len(in_readme) == 3
    assert in_comment == in_readme
