"""Hashes of the source behind a function: a kept result is made anew only if code that makes it has changed.

Comments, docstrings and layout do not count.
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
from pathlib import Path
from typing import Any, TypeAlias

Code: TypeAlias = Callable[..., Any] | Mapping[str, str]  # a function, a class, or what `hash_sources` returned

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTION = "judging-generated-text"
DATA = (".txt", ".toml", ".yaml")  # files that a module reads beside itself
INSTALLED = {Path(folder) for folder in sysconfig.get_paths().values()}  # of Python and of packages
UNUSED = ("TYPE_CHECKING", "__name__ == '__main__'")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


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

    @cached_property
    def root(self) -> Path | None:
        """The folder in which the top-level package lies; None for a module without a file."""
        if self.file is None:
            return None
        is_package = self.file.name == "__init__.py"
        return self.file.parents[self.name.count(".") + is_package]

    @cached_property
    def label(self) -> str:
        """The path of the module's file, relative to the folder in which the top-level package lies."""
        if self.file is None or self.root is None:
            return self.name
        return self.file.relative_to(self.root).as_posix()

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
    def hash(self) -> str:
        """The hash of the whole module."""
        return _hash(ast.unparse(self.tree))

    @cached_property
    def data(self) -> dict[str, str]:
        """Hashes by file: of the data files in the module's folder that it names, or that have its own name."""
        if self.file is None:
            return {}
        beside = [file for file in self.file.parent.iterdir() if file.suffix in DATA and file.is_file()]
        read = [file for file in beside if file.name in self.source or file.stem == self.file.stem]
        return {Path(self.label).with_name(file.name).as_posix(): _hash(_read(file)) for file in read}

    @cached_property
    def imports(self) -> list[tuple[str, "Module"]]:
        """The modules that this one imports, also inside functions: (local name, module)."""
        return list(self._find_imports())

    def _find_imports(self) -> Iterator[tuple[str, "Module"]]:
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            origin = self._find_origin(node) if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                imported = self._find(f"{origin}{alias.name}")
                if imported is not None:
                    yield alias.asname or alias.name.partition(".")[0], imported

    def _find_origin(self, node: ast.ImportFrom) -> str:
        """The absolute name of the module from which names are imported, and a dot."""
        package = self.name.split(".")
        if self.label.endswith("__init__.py"):
            package.append("__init__")
        above = package[: len(package) - node.level] if node.level else []
        return "".join(f"{part}." for part in [*above, *filter(None, [node.module])])

    def _find(self, target: str) -> "Module | None":
        """The module that an import names; None if it is outside this project and this module's package."""
        top = target.partition(".")[0]
        root = ROOT if top in PACKAGES else self.root
        is_own = top == self.name.partition(".")[0] and root not in INSTALLED
        if root is None or not (top in PACKAGES or is_own):
            return None
        return _find_module(root, target) or _find_module(root, target.rpartition(".")[0])

    @cached_property
    def closure(self) -> dict[str, str]:
        """Hashes by file: of this module, of all modules that it imports in turn, and of their data files."""
        modules: dict[str, Module] = {self.label: self}
        waiting: list[Module] = [self]
        while waiting:
            module = waiting.pop()
            for _, imported in module.imports:
                if imported.label not in modules:
                    modules[imported.label] = imported
                    waiting.append(imported)
        hashes = {label: module.hash for label, module in modules.items()}
        for module in modules.values():
            hashes |= module.data
        return hashes

    def trace(self, name: str) -> tuple[set[str], list["Module"]]:
        """Follows the names that a top-level statement uses; returns the statements reached, and what they import."""
        defined: dict[str, list[ast.stmt]] = {}
        used = [statement for statement in self.tree.body if not isinstance(statement, ast.Import | ast.ImportFrom)]
        for statement in used:
            for defined_name in _find_names(statement) or [""]:
                defined.setdefault(defined_name, []).append(statement)
        waiting = {name if name in defined else "", ""}  # "": what runs for its effect, such as a block
        known: set[str] = set()
        while waiting:
            known |= waiting
            statements = [statement for name in waiting for statement in defined.get(name, [])]
            words = {node.id for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)}
            waiting = words - known
        texts = {ast.unparse(statement) for name in known for statement in defined.get(name, [])}
        return texts, [imported for name, imported in self.imports if name in known | {"*"}]


def _find_names(statement: ast.stmt) -> list[str]:
    """The names that a top-level statement defines; none for a block and for a call."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        targets = [node for target in statement.targets for node in ast.walk(target)]
        return [node.id for node in targets if isinstance(node, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


@cache
def _find_module(root: Path, name: str) -> Module | None:
    folder = root.joinpath(*name.split("."))
    for file in (folder.with_suffix(".py"), folder / "__init__.py"):
        if file in SOURCES:
            return Module(name, file, SOURCES[file])
        if name.partition(".")[0] not in PACKAGES and file.is_file():
            return Module(name, file, _read(file))
    return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hash_sources(code: Iterable[Code]) -> dict[str, str]:
    """Computes hashes, by file, of the source behind functions and classes.

    In the module of a function or class, the hash covers what the function uses there, by name; a nested function
    counts with the outer one. Modules of this project that the function uses count as a whole, and so do the modules
    that they import in turn, with the data files that they name. For a function outside this project, the modules of
    its own package count too.

    Calls of methods are not followed where no class is named: give the class as well.

    Raises ValueError for code without source.
    """
    texts: dict[str, set[str]] = {}
    hashes: dict[str, str] = {}
    for part in code:
        if isinstance(part, Mapping):
            hashes |= part
            continue
        for root in _list_roots(part):
            module = _find_module_of(root)
            used, imported = module.trace(root.__qualname__.partition(".")[0])
            texts.setdefault(module.label, set()).update(used)
            hashes |= module.data
            for other in imported:
                hashes |= other.closure
    own = {label: _hash("\n".join(sorted(parts))) for label, parts in texts.items()}
    return dict(sorted((own | hashes).items()))


def _list_roots(code: Any) -> Iterator[Callable[..., Any]]:
    """The functions and classes behind code: of a partial also those in its arguments, of a method its class."""
    if isinstance(code, partial):
        yield from _list_roots(code.func)
        for value in [*code.args, *code.keywords.values()]:
            function = value.func if isinstance(value, partial) else value
            if callable(function) and str(getattr(function, "__module__", "")).partition(".")[0] in PACKAGES:
                yield from _list_roots(value)
    elif inspect.ismethod(code):
        owner = code.__self__
        yield owner if isinstance(owner, type) else type(owner)
    elif inspect.isfunction(code):
        yield inspect.unwrap(code)
    else:
        yield code if isinstance(code, type) else type(code)


def _find_module_of(root: Callable[..., Any]) -> Module:
    """The module of a function or a class; in a notebook, the cell."""
    name = root.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    if name.partition(".")[0] in PACKAGES and (module := _find_module(ROOT, name)):
        return module
    if file is not None:
        return _read_module(name, Path(file))
    methods = vars(root).values() if isinstance(root, type) else [root]
    function = next(filter(inspect.isfunction, methods), root)
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError):
        rule = "a result is kept under a hash of the code that makes it"
        raise ValueError(f"{rule}, but {name}.{root.__qualname__} has no source: write it in a file") from None
    return Module(name, None, "".join(lines))


@cache
def _read_module(name: str, file: Path) -> Module:
    """A module outside this project, as it is when a process first asks."""
    return Module(name, file, _read(file))
