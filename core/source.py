"""Hashes of the source files behind a function: a kept result is made anew only if the code that makes it has changed.

Comments, docstrings, blank lines, spaces, line breaks inside brackets and trailing commas do not count. Other changes
of form do: quotes, parentheses, the width of an indent. Python's own parser is not used, so every version of Python
gives the same hashes. An f-string ends at its next quote, as in Python 3.11.
"""

import hashlib
import inspect
import keyword
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from types import CellType
from typing import Any, NamedTuple, TypeAlias

Code: TypeAlias = Callable[..., Any] | Mapping[str, str]  # a function, a class, or what `hash_sources` returned

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "baselines",
    "cdm",
    "core",
    "ctrl_eval",
    "data",
    "discriminators",
    "experiments",
    "judge",
    "mars",
    "meta_eval",
    "models",
    "oumg",
)
DATA = (".txt", ".toml")  # files that a module reads beside itself
INSTALLED = {Path(folder) for folder in sysconfig.get_paths().values()}  # of Python and of packages

TOKEN = re.compile(
    r"""
    [rRbBuUfF]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |\#[^\n]*  # a comment
    |\\\n  # a line that goes on
    |\n[ \t]*  # the end of a line, and the indent of the next one
    |\w+
    |[^\w\s]
    """,
    re.VERBOSE | re.DOTALL,
)
WORD = re.compile(r"\w+")
QUOTES = ('"', "'")
OPENING = ("(", "[", "{")
CLOSING = (")", "]", "}")
COMMENT_OR_CONTINUED = ("#", "\\")
OPERATORS = frozenset([*keyword.kwlist, "match", "case"])  # words before a bracket that neither calls nor indexes
IMPORT = re.compile(r"(?:^|[;:] )(?:from ([\w .]+) )?import ([\w ., *]+)")
ASSIGNED = re.compile(r"(?:\w+(?: , \w+)* = (?!= ))+|\w+ :")
DEFINED = re.compile(r"(?:async )?(?:def|class) (\w+)")
CONTINUED = ("else ", "elif ", "except ", "finally ")
UNUSED = ("import ", "from ", "if TYPE_CHECKING :", "if __name__ = =")  # no part of what a function uses by name


def _read_project() -> dict[Path, str]:
    """The sources of this project as they are now.

    They are read when the process starts: the text of a file that changes later is not the code that runs. Editors keep
    files of their own beside it, such as links to nowhere.
    """
    files: list[Path] = []
    for package in PACKAGES:
        files += (ROOT / package).rglob("*.py")
    return {file: _read(file) for file in files if file.stem.isidentifier() and file.is_file()}


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


MODULE_SOURCES = _read_project()


class Line(NamedTuple):
    """A logical line of Python: it may span several lines inside brackets."""

    number: int  # of its first line in the file
    indent: str
    text: str  # its tokens, joined by spaces


class Statement(NamedTuple):
    """A top-level statement of a module, or a function inside another one."""

    names: tuple[str, ...]  # that it defines; empty for what runs for its effect
    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """The lines of the statement with their indents."""
        return "\n".join(line.indent + line.text for line in self.lines)


def read_lines(source: str) -> list[Line]:
    """Lists the logical lines of a module, without comments, docstrings and other lines that are only strings.

    >>> [line.text for line in read_lines("def f(\\n    a,  # the first\\n):\\n    'Returns a.'\\n    return a")]
    ['def f ( a ) :', 'return a']
    """
    lines: list[Line] = []
    tokens: list[str] = []
    opened: list[int] = []  # where the brackets that are open stand in `tokens`
    indent = ""
    start = 1
    number = 1
    for token in TOKEN.findall(f"{source}\n"):
        first = token[0]
        if first == "\n":
            number += 1
            if not opened:
                if not all(written.endswith(QUOTES) for written in tokens):
                    text = " ".join(_drop_parentheses(tokens))
                    lines.append(Line(start, indent, text))
                tokens = []
                indent = token[1:]
                start = number
        elif first in OPENING:
            opened.append(len(tokens))
            tokens.append(token)
        elif first in CLOSING and opened:
            _drop_trailing_comma(tokens, opened.pop())
            tokens.append(token)
        elif first not in COMMENT_OR_CONTINUED:
            tokens.append(token)
            if token.endswith(QUOTES):
                number += token.count("\n")
        elif first == "\\":
            number += 1
    return lines


def _drop_parentheses(tokens: list[str]) -> list[str]:
    """The names of an import without the parentheses around them; any other line as it is."""
    if tokens[0] != "from":
        return tokens
    plain = [token for token in tokens if token not in ("(", ")")]
    return plain[:-1] if plain[-1] == "," else plain


def _drop_trailing_comma(tokens: list[str], opening: int) -> None:
    """Drops a comma before a closing bracket, except from `(a,)` and `x[a,]`, which are tuples by it."""
    if tokens[-1] != ",":
        return
    before = tokens[opening - 1] if opening else "="
    is_operand = before.endswith((*CLOSING, *QUOTES)) or (before.isidentifier() and before not in OPERATORS)
    may_be_tuple = is_operand if tokens[opening] == "[" else tokens[opening] == "(" and not is_operand
    if not may_be_tuple or _has_comma(tokens[opening + 1 : -1]):
        tokens.pop()


def _has_comma(tokens: Iterable[str]) -> bool:
    """Whether a comma stands outside inner brackets."""
    depth = 0
    for token in tokens:
        if token in OPENING:
            depth += 1
        elif token in CLOSING:
            depth -= 1
        elif token == "," and not depth:
            return True
    return False


@dataclass(frozen=True, eq=False)
class Module:
    """The source of a module."""

    name: str
    # None for a cell of a notebook
    file: Path | None
    source: str = field(repr=False)

    @property
    def top(self) -> str:
        """The name of the module's top-level package; for a module outside a package, its own name."""
        return self.name.partition(".")[0]

    @property
    def is_package(self) -> bool:
        """Whether the module is the `__init__.py` of a package."""
        return self.file is not None and self.file.name == "__init__.py"

    @cached_property
    def root(self) -> Path | None:
        """The folder in which the top-level package lies; None for a module without a file."""
        if self.file is None:
            return None
        depth = self.name.count(".") + self.is_package
        return self.file.parents[depth]

    @cached_property
    def label(self) -> str:
        """The path of the module's file, relative to the folder in which the top-level package lies."""
        if self.file is None or self.root is None:
            return self.name
        return self.file.relative_to(self.root).as_posix()

    @cached_property
    def lines(self) -> list[Line]:
        """The logical lines of the module."""
        return read_lines(self.source)

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the module's logical lines."""
        return _hash(Statement((), tuple(self.lines)).text)

    @cached_property
    def statements(self) -> list[Statement]:
        """The top-level statements, except imports and blocks that only type checkers or scripts run."""
        groups: list[list[Line]] = []
        is_decorated = False
        for line in self.lines:
            if line.indent or is_decorated or line.text.startswith(CONTINUED):
                groups[-1].append(line)
            else:
                groups.append([line])
            is_decorated = line.text.startswith("@")
        used = [lines for lines in groups if not lines[0].text.startswith(UNUSED)]
        return [Statement(_find_names(lines), tuple(lines)) for lines in used]

    @cached_property
    def imports(self) -> list[tuple[str, str]]:
        """The module's imports, also inside functions, but not those for type checkers: (local name, `module.name`)."""
        imported: list[tuple[str, str]] = []
        checked: str | None = None  # the indent of the block for type checkers that a line stands in
        for line in self.lines:
            if checked is not None and len(line.indent) > len(checked):
                continue
            checked = line.indent if line.text.startswith("if TYPE_CHECKING :") else None
            if "import " in line.text:
                for origin, names in IMPORT.findall(line.text):
                    imported += self._resolve(origin.replace(" ", ""), names.split(" , "))
        return imported

    def _resolve(self, origin: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The imported names, with those of relative imports made absolute."""
        module = origin.lstrip(".")
        level = len(origin) - len(module)
        package = self.name.split(".")
        if level:
            package = package[: len(package) + self.is_package - level]
            module = ".".join([*package, module] if module else package)
        for imported in names:
            full, _, alias = imported.partition(" as ")
            name = full.replace(" ", "")
            top, *_ = name.split(".")
            target = f"{module}.{name}" if module else name
            yield alias.strip() or top, target

    def find(self, target: str) -> "Module | None":
        """Returns the module that an import names; None if it is outside this project and this module's package."""
        top = target.partition(".")[0]
        root = ROOT if top in PACKAGES else self.root
        is_followed = top in PACKAGES or (top == self.top and root not in INSTALLED)
        if root is None or not is_followed:
            return None
        return _find_module(root, target) or _find_module(root, target.rpartition(".")[0])

    @cached_property
    def closure(self) -> dict[str, str]:
        """Returns hashes by file: of this module, of all modules that it imports in turn, and of their data files."""
        modules: dict[str, Module] = {self.label: self}
        waiting: list[Module] = [self]
        while waiting:
            module = waiting.pop()
            for _, target in module.imports:
                imported = module.find(target)
                if imported is not None and imported.label not in modules:
                    modules[imported.label] = imported
                    waiting.append(imported)
        hashes = {label: module.fingerprint for label, module in modules.items()}
        for module in modules.values():
            hashes |= module.data
        return hashes

    @cached_property
    def data(self) -> dict[str, str]:
        """Returns hashes by file: of the data files in the module's folder that it names, or that have its own name."""
        if self.file is None:
            return {}
        beside = [file for file in self.file.parent.iterdir() if file.suffix in DATA and file.is_file()]
        read = [file for file in beside if file.name in self.source or file.stem == self.file.stem]
        return {Path(self.label).with_name(file.name).as_posix(): _hash(_read(file)) for file in read}

    def trace(self, start: Statement) -> tuple[set[str], set[str]]:
        """Follows the names that a statement uses; returns the texts of all statements reached, and their imports."""
        defined: dict[str, list[Statement]] = {}
        for statement in self.statements:
            for name in statement.names:
                defined.setdefault(name, []).append(statement)
        waiting = [start, *(statement for statement in self.statements if not statement.names)]
        texts: set[str] = set()
        targets = {target for name, target in self.imports if name == "*"}
        while waiting:
            statement = waiting.pop()
            if statement.text in texts:
                continue
            texts.add(statement.text)
            words = set(WORD.findall(statement.text))
            targets |= {target for name, target in self.imports if name in words}
            waiting += [used for name in words & defined.keys() for used in defined[name]]
        return texts, targets


def _find_names(lines: list[Line]) -> tuple[str, ...]:
    first = next(line.text for line in lines if not line.text.startswith("@"))
    defined = DEFINED.match(first)
    if defined:
        return (defined[1],)
    assigned = ASSIGNED.match(first)
    names = WORD.findall(assigned[0]) if assigned else []
    return () if set(names) & OPERATORS else tuple(names)


@cache
def _find_module(root: Path, name: str) -> Module | None:
    *folders, last = name.split(".")
    folder = root.joinpath(*folders)
    for file in (folder / f"{last}.py", folder / last / "__init__.py"):
        if file in MODULE_SOURCES:
            return Module(name, file, MODULE_SOURCES[file])
        if folders and folders[0] not in PACKAGES and file.is_file():
            return Module(name, file, _read(file))
    return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hash_sources(code: Iterable[Code]) -> dict[str, str]:
    """Computes hashes, by file, of the source behind functions and classes.

    In the module of a function or class, the hash covers what the function uses there, by name; a nested function
    counts without the outer one. Modules of this project that these lines import count as a whole, and so do the
    modules that they import in turn, with the data files that they name. For a function outside this project, the
    modules of its own package count too.

    Calls of methods are not followed where no class is named: give the class as well.

    Raises ValueError for code without source.
    """
    given = list(code)
    texts: dict[str, set[str]] = {}
    whole: dict[str, str] = {}
    for root in _list_roots(given):
        module = _find_module_of(root)
        used, targets = module.trace(_find_statement(module, root))
        texts.setdefault(module.label, set()).update(used)
        whole |= module.data
        for target in targets:
            imported = module.find(target)
            if imported is not None:
                whole |= imported.closure
            texts[module.label].add(target)
    for hashed in given:
        if isinstance(hashed, Mapping):
            whole |= hashed
    hashes = {label: _hash("\n".join(sorted(parts))) for label, parts in texts.items()}
    return dict(sorted((hashes | whole).items()))


def _list_roots(code: Iterable[Code]) -> Iterator[Callable[..., Any]]:
    """The functions and classes themselves: of a partial also those in its arguments, of a method its class."""
    for used in code:
        if isinstance(used, partial):
            arguments = [*used.args, *used.keywords.values()]
            yield from _list_roots([used.func, *_list_ours(arguments)])
        elif inspect.ismethod(used):
            owner = used.__self__
            yield owner if isinstance(owner, type) else type(owner)
        elif inspect.isfunction(used):
            yield from _list_functions(inspect.unwrap(used), set())
        elif isinstance(used, type):
            yield used
        elif not isinstance(used, Mapping):
            yield type(used)


def _list_functions(function: Any, known: set[Any]) -> Iterator[Callable[..., Any]]:
    """A function, and the functions beside it inside the same outer one that it uses."""
    known.add(function)
    yield function
    cells = [cell for cell in function.__closure__ or () if cell != CellType()]
    for inner in [cell.cell_contents for cell in cells]:
        if inspect.isfunction(inner) and inner not in known:
            yield from _list_functions(inner, known)


def _list_ours(values: Iterable[Any]) -> Iterator[Callable[..., Any]]:
    """Those of the values that are functions or classes of this project, or partials of them."""
    for value in values:
        function = value.func if isinstance(value, partial) else value
        top, *_ = str(getattr(function, "__module__", "")).split(".")
        if callable(function) and top in PACKAGES:
            yield value


def _find_module_of(root: Callable[..., Any]) -> Module:
    """The module of a function or a class; in a notebook, the cell."""
    name = root.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    top, *_ = name.split(".")
    own_module = _find_module(ROOT, name) if top in PACKAGES else None
    if own_module:
        return own_module
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


def _find_statement(module: Module, root: Callable[..., Any]) -> Statement:
    """The lines of a class, or of a function without those around it."""
    if inspect.isfunction(root) and "<" in root.__qualname__:  # <locals> or <lambda>
        return _find_block(module.lines, root.__code__.co_firstlineno)
    name = root.__qualname__.partition(".")[0]
    everything = Statement((), tuple(module.lines))  # for what is defined inside an `if`
    return next((statement for statement in module.statements if name in statement.names), everything)


def _find_block(lines: list[Line], number: int) -> Statement:
    """The logical line that a line of the file belongs to, and the block under it."""
    place = max(i for i, line in enumerate(lines) if line.number <= number)
    end = place + 1
    while lines[end - 1].text.startswith("@"):
        end += 1
    indent = len(lines[place].indent)
    while end < len(lines) and len(lines[end].indent) > indent:
        end += 1
    return Statement((), tuple(lines[place:end]))
