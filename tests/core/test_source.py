"""Hashes of source: what changes them, and which files lie behind a function."""

import importlib
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from core import source
from core.source import Module, hash_sources

PLAIN = """
def step(x, y):
    z = [x, y]
    return f(z, x) - 1
"""
SAME = {
    "comment": PLAIN.replace("1\n", "1  # one less\n").replace("    z", "    # both\n    z"),
    "docstring": PLAIN.replace(":\n", ':\n    """A step (Eq. 4).\n\n    From x to y.\n    """\n'),
    "raw docstring": PLAIN.replace(":\n", ":\n    r'\\a'\n"),
    "module docstring": f'"""Steps."""\n{PLAIN}',
    "text in brackets": PLAIN.replace("f(z, x)", "f(\n        z,  # both\n        x,\n    )"),
}
OTHER = {
    "number": PLAIN.replace("1", "2"),
    "operator": PLAIN.replace("- 1", "+ 1"),
    "a string that is a value": PLAIN.replace("1", "'# 1'"),
}


def hash_module(code: str) -> dict[str, str]:
    module = Module("f", None, code)
    return module.hash(module.defined)


@pytest.mark.parametrize("name", SAME)
def test_comments_docstrings_and_layout_change_nothing(name: str) -> None:
    assert hash_module(SAME[name]) == hash_module(PLAIN)


@pytest.mark.parametrize("name", OTHER)
def test_any_other_change_is_seen(name: str) -> None:
    assert hash_module(OTHER[name]) != hash_module(PLAIN)


# ---- which files lie behind a function -------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of a person's own, with a paper's equation behind two imports."""
    root = tmp_path / "my_paper"
    root.mkdir()
    files = {
        "__init__": "",
        "equation": "def momentum(a, b):\n    return a - b\n",
        "middle": (
            "from .unused import drop\n"
            "def mean(a, b):\n    from my_paper.equation import momentum\n    return momentum(a, b) / 2\n"
            "def spread(a):\n    return 1 + drop()\n"
        ),
        "unused": "def draw():\n    return 1\n\ndef drop():\n    return 1\n",
        "typed": "class Shown:\n    pass\n",
        "steps": (
            "from typing import TYPE_CHECKING\n"
            "from . import unused\n"
            "from .middle import mean\n"
            "if TYPE_CHECKING:\n    from my_paper.typed import Shown\n"
            "WEIGHT = 2\n"
            "def plot(x):\n    return unused.draw()\n"
            "def total(x):\n    return WEIGHT * mean(x, 1)\n"
            "def keep(n):\n"
            "    def inner(x):\n        return x\n"
            "    def build(folder):\n        return total(inner(n))\n"
            "    return build\n"
        ),
    }
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return root


def load(name: str = "my_paper.steps") -> ModuleType:
    """Imports the package as a new process does."""
    for known in [known for known in sys.modules if known.partition(".")[0] == "my_paper"]:
        del sys.modules[known]
    source.find_module.cache_clear()
    source._open_module.cache_clear()
    importlib.invalidate_caches()
    return importlib.import_module(name)


def hash_total() -> dict[str, str]:
    return hash_sources([load().total])


def test_a_function_has_the_modules_that_it_imports_in_turn(package: Path) -> None:
    assert list(hash_total()) == ["my_paper/equation.py", "my_paper/middle.py", "my_paper/steps.py"]


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("equation", "a - b", "a + b", ["my_paper/equation.py"]),
        ("equation", "a - b", "a - b  # Eq. 4", []),
        ("middle", "/ 2", "/ 3", ["my_paper/middle.py"]),
        ("steps", "WEIGHT = 2", "WEIGHT = 3", ["my_paper/steps.py"]),
        ("steps", "return unused.draw()", "return 2", []),
        ("unused", "return 1", "return 2", []),
        ("middle", "def spread(a):\n    return 1", "def spread(a):\n    return 2", []),
        ("typed", "pass", "x = 1", []),
    ],
)
def test_only_a_change_of_what_a_function_uses_is_seen(
    package: Path, file: str, old: str, new: str, changed: list[str]
) -> None:
    before = hash_total()
    path = package / f"{file}.py"
    path.write_text(path.read_text().replace(old, new))
    after = hash_total()
    assert [name for name in before | after if before.get(name) != after.get(name)] == changed


def test_a_function_inside_another_one_counts_with_those_beside_it(package: Path) -> None:
    before = hash_sources([load().keep(1)])
    assert list(before) == ["my_paper/equation.py", "my_paper/middle.py", "my_paper/steps.py"]
    path = package / "steps.py"
    path.write_text(path.read_text().replace("return x\n", "return -x\n"))
    assert hash_sources([load().keep(1)]) != before


def test_a_partial_counts_by_its_function_and_a_method_by_its_class(package: Path) -> None:
    steps = load()
    assert hash_sources([partial(partial(steps.total), x=1)]) == hash_sources([steps.total])
    assert hash_sources([Module("a", None, "").follow]) == hash_sources([Module])


def test_functions_that_use_one_another_end(tmp_path: Path) -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n > 0 and even(n - 1)

    assert hash_sources([even]) == hash_sources([odd])


def test_a_class_inside_an_if_counts_with_its_module(package: Path) -> None:
    (package / "choice.py").write_text("if True:\n    class Step:\n        x = 1\n")
    before = hash_sources([load("my_paper.choice").Step])
    (package / "choice.py").write_text("if True:\n    class Step:\n        x = 2\n")
    assert hash_sources([load("my_paper.choice").Step]) != before


def test_code_without_source_is_refused() -> None:
    scope: dict[str, Callable[[], None]] = {}
    exec("def f(): pass", {"__name__": "nowhere"}, scope)
    with pytest.raises(ValueError, match=r"nowhere\.f has no source: write it in a file"):
        hash_sources([scope["f"]])


def test_data_files_that_a_module_names_count() -> None:
    from baselines.rubrics import read_rubric
    from mars.masking import make_templates

    assert "mars/english.txt" in hash_sources([make_templates])
    assert "baselines/rubric.yaml" in hash_sources([read_rubric])


def test_a_class_of_a_library_counts_without_what_it_imports() -> None:
    assert list(hash_sources([json.JSONEncoder])) == ["json/encoder.py"]
