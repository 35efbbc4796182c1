"""Flags of a command: the parameters of a function and the fields of settings, read by argparse.

The default of a flag is that of the signature. What it means is in the docstring of the function (`Args:`), or in the
comment of the field. `--flag.key value` sets a key of a flag whose type is a mapping, or a dataclass.
"""

from __future__ import annotations

import argparse
import builtins
import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from core.errors import InputError, SettingError, blame_file, fault, printable, suggest_similar
from core.settings import refuse_in_file

NEEDED = inspect.Parameter.empty  # the default of a flag that must be given
NUMBERS = {int, float, bool, Any}
PLAIN = {"true": True, "false": False, "null": None, "none": None}
WITH_COMMAS = ("prompts",)  # flags of texts, whose commas are their own
COMMA = re.compile(r"(?<=[^\s,]),(?=[^\s,])")  # of a list, without a space beside it
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
        """The classes of the flag's type: one or several (`int | str`)."""
        return list_classes(self.kind)

    @property
    def takes_several(self) -> bool:
        """Whether the flag takes several words."""
        return bool({Sequence, tuple, list, Any} & self.kinds)

    @property
    def word_count(self) -> str | None:
        """How many words follow the flag, in argparse's notation; None for one word."""
        if Any in self.kinds:
            return "*"
        return "+" if self.takes_several else None

    @property
    def is_list(self) -> bool:
        """Whether the setting is a list, so that even a single word makes a list."""
        return isinstance(self.default, tuple | list) or (self.takes_several and self.default is NEEDED)

    @property
    def is_mapping(self) -> bool:
        """Whether the flag takes named settings and nothing else."""
        return self.kinds <= {Mapping, type(None)}

    @property
    def is_open(self) -> bool:
        """Whether the flag takes named settings: `--columns.text answer`."""
        return Mapping in self.kinds or self.settings is not None

    @property
    def settings(self) -> Any:
        """The dataclass that defines the flag's settings; None if there is none."""
        return next((kind for kind in self.kinds if is_dataclass(kind)), None)

    def make(self, settings: Mapping[str, Any]) -> Any:
        """Makes the value of the flag from its named settings."""
        return dict(settings) if self.settings is None else self.settings(**settings)

    @property
    def is_switch(self) -> bool:
        """Whether the flag alone means true."""
        return self.kinds == {bool}

    def read(self, word: str) -> Any:
        """Parses a word as a number, a truth value or None; returns any other word as it is.

        >>> [Flag("k", Any, None, "").read(word) for word in ("2", ".5", "1e-3", "true", "null", "a.txt")]
        [2, 0.5, 0.001, True, None, 'a.txt']
        >>> Flag("output", str, None, "").read("2")
        '2'
        """
        is_text = str in self.kinds and not NUMBERS & self.kinds
        if is_text:
            return None if word in ("null", "none") and type(None) in self.kinds else word
        for kind in (int, float):
            with suppress(ValueError):
                return kind(word)
        return PLAIN.get(word.lower(), word)

    @property
    def help(self) -> str:
        """The meaning of the flag and its default, for argparse."""
        parts = [self.comment]
        if self.is_open and f"--{self.name}." not in self.comment:
            keys = "NAME" if self.settings is None else "|".join(field.name for field in fields(self.settings))
            parts.append(f"(by name: --{self.name}.{keys} VALUE)")
        if self.default is NEEDED:
            parts.append("(needed)")
        elif self.default not in (None, (), ""):
            parts.append(f"(default: {write_default(self.default)})")
        return " ".join(parts).replace("%", "%%")


def write_default(default: Any) -> str:
    """Writes a default as a user would type it.

    >>> write_default(True), write_default((0.5, 1))
    ('true', '0.5 1')
    """
    if isinstance(default, tuple | list):
        return " ".join(map(write_default, default))
    word = str(default)
    return word.lower() if isinstance(default, bool) else word


def list_classes(kind: Any) -> set[Any]:
    """Returns the classes of a type and of the items of a sequence.

    >>> sorted(each.__name__ for each in list_classes(Sequence[float] | str | None))
    ['NoneType', 'Sequence', 'float', 'str']
    """
    origin = get_origin(kind)
    inner = get_args(kind)
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


def read_types(owner: Any) -> dict[str, Any]:
    """Returns the types of the parameters of a function, or of the fields of a dataclass, by name."""
    module = inspect.getmodule(owner)
    names = Names({**vars(builtins), **vars(module)})
    return get_type_hints(owner, localns=names)


def list_parameters(function: Callable[..., Any]) -> Iterator[Flag]:
    """Yields a flag for each parameter of a function; meanings come from its docstring."""
    types = read_types(function)
    meanings = read_meanings(inspect.getdoc(function) or "")
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield Flag(name, types[name], parameter.default, meanings.get(name, ""))


def read_meanings(text: str) -> dict[str, str]:
    """Reads the description of each parameter in a docstring, below `Args:`.

    >>> read_meanings("What it does.\\n\\nArgs:\\n    a: one\\n        thing.\\n    b: two.\\n\\nRaises nothing.")
    {'a': 'one thing.', 'b': 'two.'}
    """
    section = text.partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in entries}


def list_fields(kind: Any) -> Iterator[Flag]:
    """Yields a flag for each field of a dataclass.

    The meaning of a flag is the comment on the field's line, or above it.
    """
    comments = read_comments(inspect.getsource(kind))
    types = read_types(kind)
    for field in fields(kind):
        default = NEEDED if field.default is MISSING else field.default
        yield Flag(field.name, types[field.name], default, comments.get(field.name, ""))


def read_comments(source: str) -> dict[str, str]:
    """Reads the comment of each field in the source of a class, on the field's line or above it.

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


class Once(argparse.Action):
    """Keeps the value of a flag. Raises SettingError if the flag is given twice."""

    def __init__(self, flag: Flag, **about: Any) -> None:
        super().__init__(default=argparse.SUPPRESS, **about)
        self.flag = flag

    def __call__(self, parser: Any, namespace: argparse.Namespace, words: Any, *_: Any) -> None:
        if self.flag.name in namespace:
            raise SettingError(f"--{self.flag.name} is given twice")
        setattr(namespace, self.flag.name, read_value(self.flag, words))


def add_flags(group: argparse._ActionsContainer, flags: Iterable[Flag]) -> None:
    """Adds flags to a parser, or to one of its groups."""
    for flag in flags:
        group.add_argument(
            f"--{flag.name}", action=Once, flag=flag, nargs=flag.word_count, metavar="VALUE", help=flag.help
        )


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
        """Returns the settings of a flag by key.

        With `--metrics.bleu.order 2`, `metrics` has `{"bleu": {"order": 2}}`.
        """
        settings: dict[str, Any] = {}
        for path, value in self.values.items():
            first, *outer, key = path.split(".") if "." in path else ("", "")
            if first == name:
                place = settings
                for outer_key in outer:
                    place = place.setdefault(outer_key, {})
                place[key] = value
        return settings

    def has(self, name: str) -> bool:
        """Whether the command line gives a flag, or a key of the flag."""
        return name in self.values or bool(self.inner(name))

    def get(self, name: str) -> Any:
        """Returns the value of a flag: the given one (by key if keys are given), or its default.

        Raises SettingError.
        """
        flag = self.flags[name]
        inner = self.inner(name)
        if not inner:
            return self.values.get(name, flag.default)
        if name in self.values:
            raise SettingError(f"--{name} has either a value or settings by name, not both: {', '.join(inner)}")
        return flag.make(inner)


def read_flags(parser: argparse.ArgumentParser, words: Sequence[str], flags: Mapping[str, Flag]) -> Given:
    """Reads the words of a command by a parser that has the flags.

    Raises SettingError for an unknown flag and for `key=value`, InputError for a faulty file of `--config`.
    """
    names = [name_flag(word) for word in words if word.startswith("--")]
    typed = {name: find_flag(name, flags, parser.prog) for name in names}
    add_flags(parser, [flag for name, flag in typed.items() if name not in flags])
    parsed, others = parser.parse_known_args(spell_out(words, {**flags, **typed}))
    values = vars(parsed)
    if config := values.get("config"):
        values = read_config(Path(config), flags, parser.prog) | values
    return Given(parser.prog, flags, values, tuple(others))


def name_flag(word: str) -> str:
    """Finds the name of the flag in a word such as `--name` or `--name=value`.

    >>> name_flag("--columns.text=answer")
    'columns.text'
    """
    return word.removeprefix("--").partition("=")[0]


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
    before = ""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word.startswith("--"):
            before = name_flag(word)
            is_bare = flags[before].is_switch and "=" not in word and following.lower() not in ("true", "false")
            yield f"{word}=true" if is_bare else word
        else:
            refuse_pair(word, before, flags)
            yield word


def refuse_pair(word: str, before: str, flags: Mapping[str, Flag]) -> None:
    """Raises SettingError for `key=value`; the message names the flag that was meant.

    `before` is the flag in front of the word.
    """
    key, is_pair, value = word.partition("=")
    name = key.lstrip("+").removeprefix("data.")
    first = name.partition(".")[0]
    if not is_pair or Path(word).exists() or before == "systems":
        return
    if before and flags[before].is_mapping:
        name = f"{before}.{key}"
    elif name == "path":
        raise SettingError(f"{printable(word)}: write the file itself, {printable(value)}, behind the verb")
    elif first not in flags or first == before:
        return
    if value.startswith("{"):
        raise SettingError(f"{printable(word)}: write --{printable(name)}.KEY VALUE for each key")
    raise SettingError(f"{printable(word)}: write --{printable(name)} {printable(value)}")


def read_config(path: Path, flags: Mapping[str, Flag], called: str) -> dict[str, Any]:
    """Reads the settings of a YAML file, by flag and by `flag.key`. Raises InputError for a faulty file."""
    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    with blame_file(path):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping):
            raise SettingError("settings must be NAME: VALUE")
        settings = flatten_settings(content)
        refuse_in_file(settings)
        for name in settings:
            find_flag(name, flags, called)
    return settings


def flatten_settings(settings: Mapping[Any, Any]) -> dict[str, Any]:
    """Flattens nested settings.

    >>> flatten_settings({"metrics": {"bleu": {"order": 1}, "ter": {}}})
    {'metrics.bleu.order': 1, 'metrics.ter': {}}
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            flat |= {f"{name}.{key}": inner for key, inner in flatten_settings(value).items()}
        else:
            flat[str(name)] = value
    return flat


def read_value(flag: Flag, words: str | Sequence[str]) -> Any:
    """Returns the value that the words after a flag give.

    >>> read_value(Flag("differences", Sequence[float], (0.1,), ""), ["0.1,0.2"])
    [0.1, 0.2]
    """
    listed = [words] if isinstance(words, str) else [*words]
    if not listed:
        return True
    if flag.takes_several and flag.name not in WITH_COMMAS:
        listed = [part for word in listed for part in COMMA.split(word)]
    values = [flag.read(word) for word in listed]
    return values if len(values) > 1 or flag.is_list else values[0]


# ---- settings in messages -------------------------------------------------------------------------------------------


def write_flag(name: str, values: Sequence[str]) -> str:
    """Writes a setting as the command line takes it.

    >>> write_flag("columns.text", ["my column"]), write_flag("data.download", ["true"]), write_flag("path", ["FILE"])
    ("--columns.text 'my column'", '--data.download', 'FILE')
    """
    words = [] if [*values] == ["true"] else [*values]
    if name == "path":
        return shlex.join(words or ["FILE"])
    return shlex.join([f"--{name}", *words])
