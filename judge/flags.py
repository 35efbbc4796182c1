"""Flags of a command: the parameters of a function and the fields of settings, read by argparse.

The default of a flag is that of the signature. What it means is in the docstring of the function (`Args:`), or in the
comment of the field. `--flag.key value` sets a key of a flag whose type is a mapping, or a dataclass.
"""

from __future__ import annotations

import argparse
import builtins
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml

from core.errors import InputError, SettingError, blame_file, fault, printable, suggest_similar

NEEDED = inspect.Parameter.empty  # the default of a flag that must be given
NUMBERS = {int, float, bool, Any}
PLAIN = {"true": True, "false": False, "null": None, "none": None}
WITH_COMMAS = ("prompts",)  # flags of texts, whose commas are their own
INDENT = 6  # of what a flag means


@dataclass(frozen=True)
class Flag:
    """A setting that the command line names."""

    name: str
    # its type
    kind: Any
    # `NEEDED` where it must be given
    default: Any
    # what it means
    comment: str

    @cached_property
    def kinds(self) -> set[Any]:
        """The classes of its type, one or several (`int | str`)."""
        return list_classes(self.kind)

    @property
    def takes_several(self) -> bool:
        """Whether the flag takes several words."""
        return bool({Sequence, tuple, list, Any} & self.kinds)

    @property
    def is_list(self) -> bool:
        """Whether the setting is a list, so that even a single word makes a list."""
        return isinstance(self.default, tuple | list) or (self.takes_several and self.default is NEEDED)

    @property
    def is_open(self) -> bool:
        """Whether the flag takes named settings: `--columns.text answer`."""
        return Mapping in self.kinds or bool(self.keys)

    @property
    def keys(self) -> list[str]:
        """The names of its settings, if a dataclass defines them."""
        return [field.name for each in self.kinds if is_dataclass(each) for field in fields(each)]

    @property
    def is_switch(self) -> bool:
        """Whether the flag alone means true."""
        return self.kinds == {bool}

    @property
    def is_text(self) -> bool:
        """Whether its words are kept as texts."""
        return str in self.kinds and not NUMBERS & self.kinds

    def read(self, word: str) -> Any:
        """Parses a word as a number, a truth value or None; else returns the word.

        >>> [Flag("k", Any, None, "").read(word) for word in ("2", ".5", "1e-3", "true", "null", "a.txt")]
        [2, 0.5, 0.001, True, None, 'a.txt']
        >>> Flag("output", str, None, "").read("2")
        '2'
        """
        if self.is_text:
            return None if word in ("null", "none") and type(None) in self.kinds else word
        for kind in (int, float):
            with suppress(ValueError):
                return kind(word)
        return PLAIN.get(word.lower(), word)

    @property
    def help(self) -> str:
        """The meaning of the flag and its default, for argparse."""
        said = [self.comment]
        if self.is_open and f"--{self.name}." not in self.comment:
            said.append(f"(by name: --{self.name}.{'|'.join(self.keys) or 'NAME'} VALUE)")
        if self.default is NEEDED:
            said.append("(needed)")
        elif self.default not in (None, (), ""):
            shown = self.default if isinstance(self.default, tuple | list) else [self.default]
            words = [str(each).lower() if isinstance(each, bool) else str(each) for each in shown]
            said.append(f"(default: {' '.join(words)})")
        return " ".join(said).replace("%", "%%")


def list_classes(kind: Any) -> set[Any]:
    """The classes of a type and of the items of a sequence.

    >>> sorted(each.__name__ for each in list_classes(Sequence[float] | str | None))
    ['NoneType', 'Sequence', 'float', 'str']
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return list_classes(inner[0])
    if origin is Literal:
        return {type(value) for value in inner}
    if origin in (Union, UnionType):
        return set().union(*map(list_classes, inner))
    if origin in (Sequence, tuple, list):
        return {origin}.union(*map(list_classes, inner))
    return {origin or kind}


# ---- where flags come from ------------------------------------------------------------------------------------------


class Names(dict[str, Any]):
    """The names of a module, in which those imported only for type checkers are `object`."""

    def __missing__(self, name: str) -> type:
        return object


def read_type(annotation: Any, module: Any) -> Any:
    """Evaluates an annotation of a module to a type."""
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, {}, Names({**vars(builtins), **vars(module)}))


def list_parameters(function: Callable[..., Any]) -> Iterator[Flag]:
    """Yields a flag for each parameter of a function; meanings come from its docstring."""
    module = inspect.getmodule(function)
    meanings = read_meanings(inspect.getdoc(function) or "")
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            kind = read_type(parameter.annotation, module)
            yield Flag(name, kind, parameter.default, meanings.get(name, ""))


def read_meanings(text: str) -> dict[str, str]:
    """The description of each parameter in a docstring, below `Args:`.

    >>> read_meanings("What it does.\\n\\nArgs:\\n    a: one\\n        thing.\\n    b: two.\\n\\nRaises nothing.")
    {'a': 'one thing.', 'b': 'two.'}
    """
    section = text.partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in entries}


def list_fields(kind: Any) -> Iterator[Flag]:
    """Yields a flag for each field of a dataclass; meanings come from the comments on their lines, or above."""
    module = inspect.getmodule(kind)
    comments = read_comments(inspect.getsource(kind))
    for field in fields(kind):
        default = field.default
        if default is MISSING:
            default = NEEDED if field.default_factory is MISSING else field.default_factory()
        yield Flag(field.name, read_type(field.type, module), default, comments.get(field.name, ""))


def read_comments(source: str) -> dict[str, str]:
    """The comment of each field in the source of a class.

    >>> read_comments("class A:\\n    # how\\n    # many\\n    n: int = 1\\n    m: int = 2  # more\\n")
    {'n': 'how many', 'm': 'more'}
    """
    field = re.compile(r"((?: {4}# .*\n)*) {4}(\w+): [^#\n]*(?:# (.*))?")
    comments: dict[str, str] = {}
    for above, name, behind in field.findall(source):
        comments[name] = behind or " ".join(line.strip().removeprefix("# ") for line in above.splitlines())
    return comments


# ---- what a command line says ---------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """A parser of flags; its faults are SettingErrors."""

    def __init__(self, **about: Any) -> None:
        layout = partial(argparse.RawDescriptionHelpFormatter, max_help_position=INDENT)
        super().__init__(add_help=False, allow_abbrev=False, formatter_class=layout, **about)

    def error(self, message: str) -> Any:
        raise SettingError(message)


def add_flags(group: argparse._ActionsContainer, flags: Iterable[Flag]) -> None:
    """Adds flags to a parser, or to one of its groups."""
    for flag in flags:
        count = "*" if Any in flag.kinds else "+" if flag.takes_several else None
        group.add_argument(f"--{flag.name}", action="append", nargs=count, metavar="VALUE", help=flag.help)


@dataclass(frozen=True)
class Given:
    """The settings that a command line gives."""

    # the command, for messages
    called: str
    flags: Mapping[str, Flag]
    # by the names of flags, and by `flag.key`
    values: Mapping[str, Any]
    # words that belong to no flag
    others: tuple[str, ...]

    def inner(self, name: str) -> dict[str, Any]:
        """The settings of a flag by key: with `--metrics.bleu.order 2`, `metrics` has `{"bleu": {"order": 2}}`."""
        settings: dict[str, Any] = {}
        for path, value in self.values.items():
            first, *keys = path.split(".")
            if first != name or not keys:
                continue
            place = settings
            for key in keys[:-1]:
                place = place.setdefault(key, {})
            place[keys[-1]] = value
        return settings

    def has(self, name: str) -> bool:
        """Whether a flag, or a key of it, is given."""
        return name in self.values or bool(self.inner(name))

    def get(self, name: str) -> Any:
        """The value of a flag: the given one (by key if keys are given), or its default. Raises SettingError."""
        flag, inner = self.flags[name], self.inner(name)
        if not inner:
            return self.values.get(name, flag.default)
        if name in self.values:
            raise SettingError(f"--{name} has either a value or settings by name, not both: {', '.join(inner)}")
        made: Any = next((each for each in flag.kinds if is_dataclass(each)), dict)
        return made(**inner)


def read_flags(parser: argparse.ArgumentParser, words: Sequence[str], flags: Mapping[str, Flag]) -> Given:
    """Reads the words of a command by a parser that has the flags.

    Raises SettingError for an unknown flag and for `key=value`, InputError for a faulty file of `--config`.
    """
    keys = {name: find_flag(name, flags, parser.prog) for name in list_named(words)}
    inner = {name: flag for name, flag in keys.items() if name not in flags}
    add_flags(parser, inner.values())
    read, others = parser.parse_known_args(spell_out(words, {**flags, **keys}))
    values: dict[str, Any] = {}
    for name, occurrences in vars(read).items():
        if occurrences is None:
            continue
        if len(occurrences) > 1:
            raise SettingError(f"--{name} is given twice")
        values[name] = read_value({**flags, **inner}[name], occurrences[0])
    if config := values.get("config"):
        values = {**flatten_settings(read_file(Path(config)), flags, parser.prog), **values}
    return Given(parser.prog, flags, values, tuple(others))


def list_named(words: Sequence[str]) -> list[str]:
    """The names of the flags among words."""
    return [word.removeprefix("--").partition("=")[0] for word in words if word.startswith("--")]


def find_flag(name: str, flags: Mapping[str, Flag], called: str) -> Flag:
    """Finds a flag by name; `flag.key` is a flag of any type. Raises SettingError."""
    first, _, key = name.partition(".")
    if first not in flags:
        similar = suggest_similar(first, flags, "--")
        raise SettingError(f"--{printable(name)} is no flag of {called}{similar}")
    if not key:
        return flags[first]
    if not flags[first].is_open:
        raise SettingError(f"--{first} has no settings of its own, but got --{printable(name)}")
    return Flag(name, Any, None, "")


def spell_out(words: Sequence[str], flags: Mapping[str, Flag]) -> Iterator[str]:
    """Rewrites the words for argparse: a switch gets a value. Raises SettingError for `key=value`."""
    behind = ""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if not word.startswith("--"):
            refuse_pair(word, behind, flags)
            yield word
            continue
        behind, has_value, _ = word.removeprefix("--").partition("=")
        is_bare = flags[behind].is_switch and not has_value and following.lower() not in ("true", "false")
        yield f"{word}=true" if is_bare else word


def refuse_pair(word: str, behind: str, flags: Mapping[str, Flag]) -> None:
    """Raises SettingError for `key=value`; the message has the flag that was meant."""
    key, is_pair, value = word.partition("=")
    name = key.lstrip("+").removeprefix("data.")
    first = name.partition(".")[0]
    if not is_pair or Path(word).exists() or behind == "systems":
        return
    if name == "path":
        raise SettingError(f"{printable(word)}: write the file itself, {printable(value)}, behind the verb")
    if first in flags and first != behind:
        raise SettingError(f"{printable(word)}: write --{printable(name)} {printable(value)}")


def flatten_settings(settings: Mapping[str, Any], flags: Mapping[str, Flag], called: str) -> dict[str, Any]:
    """Flattens nested settings to `flag.key`. Raises SettingError for an unknown flag."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        find_flag(name, flags, called)
        if isinstance(value, Mapping) and value:
            inner = {f"{name}.{key}": each for key, each in value.items()}
            flat |= flatten_settings(inner, flags, called)
        else:
            flat[name] = value
    return flat


def read_file(path: Path) -> Mapping[str, Any]:
    """The settings of a YAML file, by name. Raises InputError."""
    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    with blame_file(path):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping):
            raise SettingError("settings must be NAME: VALUE")
    return {str(name): value for name, value in content.items()}


def read_value(flag: Flag, words: str | Sequence[str]) -> Any:
    """The value that the words after a flag give.

    >>> read_value(Flag("differences", Sequence[float], (0.1,), ""), ["0.1,0.2"])
    [0.1, 0.2]
    """
    listed = [words] if isinstance(words, str) else [*words]
    if not listed:
        return True
    if flag.takes_several and flag.name not in WITH_COMMAS:
        listed = [part for word in listed for part in split_commas(word)]
    values = [flag.read(word) for word in listed]
    return values if len(values) > 1 or flag.is_list else values[0]


def split_commas(word: str) -> list[str]:
    """The parts of a list with commas.

    >>> [split_commas(word) for word in ("a,very good", "one, and")]
    [['a', 'very good'], ['one, and']]
    """
    return re.split(r"(?<=[^\s,]),(?=[^\s,])", word)


# ---- messages of other rooms ----------------------------------------------------------------------------------------

SETTING = re.compile(
    r"(?<![\w.-])(?:data\.(?!root|download)([a-z][\w.]*)(?:=([\w.]+))?"
    r"|([a-z_]+(?:\.[a-z_]+)*)=(-|true|drop|[A-Z]+\b|bleu,rouge_l|llm_judge))"
)


def write_flags(text: str) -> str:
    """Rewrites a message: flags in place of `key=VALUE`.

    >>> write_flags("data.columns.system=COLUMN names it; data.root=FOLDER and data.download=true")
    '--columns.system COLUMN names it; --data.root FOLDER and --data.download'
    >>> write_flags("incomplete=drop leaves such inputs out")
    '--incomplete drop leaves such inputs out'
    """
    return SETTING.sub(_as_flag, text)


def _as_flag(setting: re.Match[str]) -> str:
    name, value = (setting[1], setting[2]) if setting[1] else (setting[3], setting[4])
    if name == "path":
        return value or "FILE"
    return f"--{name}" if value in (None, "true") else f"--{name} {value}"
