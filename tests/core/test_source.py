"""Hashes of source: what changes them, and which files lie behind a function."""

import importlib
import io
import json
import sys
import tokenize
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from core import source
from core.configs import CONFIGS
from core.source import PACKAGES, hash_sources, read_lines

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
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "spaces": PLAIN.replace("z = [x, y]", "z  =  [ x,y ]"),
    "continued": PLAIN.replace(" - 1", " \\\n        - 1"),
    "no last line end": PLAIN.rstrip("\n"),
}
OTHER = {
    "number": PLAIN.replace("1", "2"),
    "operator": PLAIN.replace("- 1", "+ 1"),
    "name": PLAIN.replace("[x, y]", "[x, x]"),
    "indent": PLAIN.replace("    z =", "    if x:\n        z =").replace("    return", "        return"),
    "a string that is a value": PLAIN.replace("1", "'# 1'"),
    "a joined word": PLAIN.replace("return f", "returnf"),
}


def texts(code: str) -> list[tuple[str, str]]:
    return [(line.indent, line.text) for line in read_lines(code)]


@pytest.mark.parametrize("name", SAME)
def test_comments_docstrings_and_layout_change_nothing(name: str) -> None:
    assert texts(SAME[name]) == texts(PLAIN)


@pytest.mark.parametrize("name", OTHER)
def test_any_other_change_is_seen(name: str) -> None:
    assert texts(OTHER[name]) != texts(PLAIN)


def test_the_lines_of_a_module_are_literal() -> None:
    # a literal, because a stage kept today must be found by every version of Python
    code = '@cache\ndef f(a, *, b: int = 1) -> str:\n    "Doc."\n    return f"{a!r:>{b}}" + rb\'#\' \\\n  # the end\n'
    assert texts(code) == [
        ("", "@ cache"),
        ("", "def f ( a , * , b : int = 1 ) - > str :"),
        ("    ", """return f"{a!r:>{b}}" + rb'#'"""),
    ]
    # printf '%s' THE LINES | sha256sum
    assert source.Module("f", None, code).fingerprint == "aa7955f195a134f0"
    assert [line.number for line in read_lines('"""a\nb"""\nx = """\n"""\n\ny = (\n1)\nz')] == [3, 6, 8]


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("f(\n    a,\n)", "f(a)"),
        ("class A(\n    B,\n): ...", "class A(B): ..."),
        ("x = [\n    a,\n]", "x = [a]"),
        ("x = {\n    a: [b],\n}", "x = {a: [b]}"),
        ("x = (\n    a,\n    b,\n)", "x = (a, b)"),
        ("x[a][\n    b,\n    c,\n]", "x[a][b, c]"),
        ("from a import (\n    b,\n    c as d,\n)", "from a import b, c as d"),
    ],
)
def test_a_trailing_comma_that_layout_adds_changes_nothing(long: str, short: str) -> None:
    assert texts(long) == texts(short)


@pytest.mark.parametrize(
    ("one", "tuple_of_one"),
    [("x = (a)", "x = (a,)"), ("x[a]", "x[a,]"), ("return (f(a, b))", "return (f(a, b),)"), ("a()[0]", "a()[0,]")],
)
def test_a_comma_that_makes_a_tuple_counts(one: str, tuple_of_one: str) -> None:
    assert texts(one) != texts(tuple_of_one)


def list_tokens(code: str) -> list[str]:
    """The logical lines as Python's own tokenizer reads them, without lines of strings alone."""
    lines: list[list[tokenize.TokenInfo]] = [[]]
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NEWLINE:
            lines.append([])
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            lines[-1].append(token)
    kept = [line for line in lines if {token.type for token in line} - {tokenize.STRING, tokenize.ENDMARKER}]
    return [strip("".join(token.string for token in line)) for line in kept]


def strip(line: str) -> str:
    """Without what layout may change: spaces, and commas and parentheses at the end of lists."""
    return line.translate(str.maketrans("", "", " ,()"))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later tokenizers cut f-strings in parts")
def test_the_lines_of_this_project_are_those_of_the_tokenizer_of_python() -> None:
    for file, code in source.MODULE_SOURCES.items():
        assert [strip(line.text) for line in read_lines(code)] == list_tokens(code), file


# ---- which files lie behind a function -------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of a person's own, with a paper's equation behind two imports."""
    root = tmp_path / "my_paper"
    root.mkdir()
    files = {
        "__init__": "",
        "equation": "def momentum(a, b):\n    return a - b\n",
        "middle": "def mean(a, b):\n    from my_paper.equation import momentum\n    return momentum(a, b) / 2\n",
        "unused": "def draw():\n    return 1\n",
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
    source._find_module.cache_clear()
    source._read_module.cache_clear()
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
    middle = hash_sources([source.Module("a", None, "").trace])
    assert middle == hash_sources([source.Module])


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


def test_files_of_editors_are_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "steps.py").write_bytes(b"x = 1  # caf\xe9\n")
    (tmp_path / "core" / ".#steps.py").symlink_to("me@here.1:2")
    monkeypatch.setattr(source, "ROOT", tmp_path)
    assert [file.name for file in source._read_project()] == ["steps.py"]


def test_a_lambda_counts_by_its_line() -> None:
    pair = (lambda folder: folder.touch(), lambda folder: folder.touch())
    other: Callable[[Path], None] = lambda folder: folder.unlink()  # noqa: E731
    assert hash_sources([pair[0]]) == hash_sources([pair[1]]) != hash_sources([other])


def test_code_without_source_is_refused() -> None:
    scope: dict[str, Callable[[], None]] = {}
    exec("def f(): pass", {"__name__": "nowhere"}, scope)
    with pytest.raises(ValueError, match=r"nowhere\.f has no source: write it in a file"):
        hash_sources([scope["f"]])


def test_data_files_that_a_module_names_count() -> None:
    from baselines.rubrics import read_rubric
    from mars.masking import make_templates

    assert "mars/english.txt" in hash_sources([make_templates])
    assert "baselines/rubric.txt" in hash_sources([read_rubric])


def test_a_class_of_a_library_counts_without_what_it_imports() -> None:
    assert list(hash_sources([json.JSONEncoder])) == ["json/encoder.py"]


def test_the_packages_are_those_of_the_project() -> None:
    project = tomllib.loads((CONFIGS.parent / "pyproject.toml").read_text())
    assert sorted(project["tool"]["importlinter"]["root_packages"]) == sorted(PACKAGES)
