"""Hashes of the code behind a function: a kept result is made anew only if code that makes it has changed.

Comments, docstrings and layout do not count. What a function does not use, by name, does not count either.
"""

import ast
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib.metadata import distribution
from importlib.util import find_spec, resolve_name
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

Code: TypeAlias = Callable[..., Any] | Mapping[str, str]  # a function, a class, or what `hash_sources` returned

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTION = "judging-generated-text"
DATA = (
    ".txt",
    ".toml",
    ".yaml",
)  # files that a module reads beside itself
INSTALLED = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
UNUSED = ("TYPE_CHECKING", "__name__ == '__main__'")
DOCUMENTED = (
    ast.Module,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
)
EFFECT = ""  # in place of a name: the statements that run for their effect, such as a block
ALL = "*"  # in place of a name: all of a module


def _list_packages() -> list[str]:
    """The packages of this project: those beside `core`, or where it is installed, those of its distribution."""
    if ROOT in INSTALLED:
        return (distribution(DISTRIBUTION).read_text("top_level.txt") or "").split()
    return [file.parent.name for file in ROOT.glob("*/__init__.py")]


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


PACKAGES = _list_packages()
# The sources as they are when the process starts: the text of a file that changes later is not the code that runs.
# Editors keep files of their own beside it, such as links to nowhere.
SOURCES = {
    file: _read(file)
    for package in PACKAGES
    for file in (ROOT / package).rglob("*.py")
    if file.stem.isidentifier() and file.is_file()
}


@dataclass(frozen=True, eq=False)
class Module:
    """The source of a module."""

    name: str
    file: Path | None  # None for a cell of a notebook
    source: str = field(repr=False)

    @property
    def is_package(self) -> bool:
        """Whether the module is the `__init__.py` of a package."""
        return self.file is not None and self.file.name == "__init__.py"

    @property
    def label(self) -> str:
        """The path of the module's file, from the folder in which the top-level package lies."""
        path = self.name.replace(".", "/")
        return f"{path}/__init__.py" if self.is_package else f"{path}.py"

    @cached_property
    def tree(self) -> ast.Module:
        """The module's syntax tree, without docstrings and blocks that only type checkers or scripts run."""
        tree = ast.parse(self.source)
        tree.body = [part for part in tree.body if not (isinstance(part, ast.If) and ast.unparse(part.test) in UNUSED)]
        for node in ast.walk(tree):
            if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        return tree

    @cached_property
    def defined(self) -> dict[str, list[ast.stmt]]:
        """The top-level statements by the names that they define or import; an import has one name."""
        statements: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name, part in _name_parts(statement):
                statements.setdefault(name, []).append(part)
        return statements

    def follow(self, name: str) -> Iterator[tuple["Module", str]]:
        """Yields what a name of this module uses, by module and name."""
        yield self, EFFECT
        if name == ALL:
            for inner in self.defined:
                yield self, inner
        for statement in self.defined.get(name, ()):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    yield self, node.id
                elif isinstance(node, ast.Import | ast.ImportFrom):
                    yield from self.find_imported(node)

    def find_imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple["Module", str]]:
        """Yields what an import takes from this project or the user's code, by module and name."""
        package = self.name if self.is_package else self.name.rpartition(".")[0]
        for alias in node.names:
            if isinstance(node, ast.Import):
                module, name = find_module(alias.name), ALL
            else:
                origin = resolve_name("." * node.level + (node.module or ""), package)
                module, name = find_module(origin), alias.name
                inner = find_module(f"{origin}.{name}") if module is not None and module.is_package else None
                if inner is not None:
                    module, name = inner, ALL
            if module is not None:
                yield module, name

    def hash(self, names: Iterable[str]) -> dict[str, str]:
        """Hashes what defines these names, and the data files that the module names or that have its own name."""
        statements = {_unparse(statement) for name in names for statement in self.defined.get(name, ())}
        hashes = {self.label: _hash("\n".join(sorted(statements)))}
        beside = [] if self.file is None else self.file.parent.iterdir()
        for file in beside:
            is_read = file.name in self.source or file.stem == self.name.rpartition(".")[2]
            if file.suffix in DATA and is_read and file.is_file():
                hashes[Path(self.label).with_name(file.name).as_posix()] = _hash(_read(file))
        return hashes


def _name_parts(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a top-level statement defines, each with what defines it: of an import, this name's part."""
    match statement:
        case ast.Import(names):
            for alias in names:
                yield (
                    alias.asname or alias.name.partition(".")[0],
                    ast.Import([alias]),
                )
        case ast.ImportFrom(module, names, level):
            for alias in names:
                name = EFFECT if alias.name == ALL else alias.asname or alias.name
                yield name, ast.ImportFrom(module, [alias], level)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name, statement
        case ast.Assign() | ast.AnnAssign():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for node in chain.from_iterable(map(ast.walk, targets)):
                if isinstance(node, ast.Name):
                    yield node.id, statement
        case _:
            yield EFFECT, statement


@cache
def find_module(name: str) -> Module | None:
    """Finds a module of this project or of the user's code; None for one of Python, of a library, and for no module.

    The source is as it was when the process first asked.
    """
    top, _, inner = name.partition(".")
    if inner and find_module(top) is None:
        return None
    spec = find_spec(name) if top else None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    file = Path(spec.origin)
    is_installed = any(file.is_relative_to(folder) for folder in INSTALLED)
    if is_installed and top not in PACKAGES:
        return None
    return _open_module(name, file)


@cache
def _open_module(name: str, file: Path) -> Module:
    return Module(name, file, SOURCES.get(file) or _read(file))


_unparse = cache(ast.unparse)  # a process hashes the same code for many stages


@cache
def _follow(module: Module, name: str) -> list[tuple[Module, str]]:
    return [*module.follow(name)]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hash_sources(code: Iterable[Code]) -> dict[str, str]:
    """Computes hashes, by file, of the source behind functions and classes, with the data files that it names.

    Names are followed: what a function uses, and what this uses in turn, in every module outside Python and libraries.
    A nested function counts with the outer one, a class as a whole. Calls of methods are not followed where no class
    is named: give the class as well.

    Raises ValueError for code without source.
    """
    hashes: dict[str, str] = {}
    waiting: list[tuple[Module, str]] = []
    for part in code:
        if isinstance(part, Mapping):
            hashes |= part
        else:
            waiting.append(_find_origin(part))
    reached: dict[Module, set[str]] = {}
    while waiting:
        module, name = waiting.pop()
        names = reached.setdefault(module, set())
        if name not in names:
            names.add(name)
            waiting += _follow(module, name)
    for module, names in reached.items():
        for label, own in module.hash(names).items():
            hashes[label] = _hash(f"{hashes[label]} {own}") if label in hashes else own
    return dict(sorted(hashes.items()))


def _find_origin(code: Any) -> tuple[Module, str]:
    """The module of code and its name there; of a method or an object, those of its class."""
    while isinstance(code, partial):
        code = code.func
    if inspect.ismethod(code):
        code = code.__self__
    if inspect.isfunction(code):
        code = inspect.unwrap(code)
    elif not isinstance(code, type):
        code = type(code)
    module = _find_module_of(code)
    name = code.__qualname__.partition(".")[0]
    return module, name if name in module.defined else EFFECT


def _find_module_of(code: Callable[..., Any]) -> Module:
    """The module of a function or a class; in a notebook, the cell."""
    name = code.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is not None:
        return _open_module(name, Path(file))
    methods = vars(code).values() if isinstance(code, type) else [code]
    function = next(filter(inspect.isfunction, methods), code)
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError):
        rule = "a result is kept under a hash of the code that makes it"
        raise ValueError(f"{rule}, but {name}.{code.__qualname__} has no source: write it in a file") from None
    return Module(name, None, "".join(lines))
