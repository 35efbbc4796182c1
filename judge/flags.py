"""Flags: `--name value ...` of a command line as settings, by the signatures and field comments of what they are for.

A flag is a parameter of a verb, or a field of a dataclass of settings. Its default is that of the signature; what it
means is in the docstring of the verb (`Args:`), or in the comment of the field.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from core.errors import InputError, SettingError, blame_file, fault, printable

SELF = ""  # the key of a flag's own words, beside those of `--flag.key`
SEVERAL = re.compile(r"Sequence|Several|tuple|list|Metrics|Levels|Family|Prompts|Any")
OPEN = re.compile(r"Mapping|Metric|Margins|Levels|Family|Columns|Scores|Ray|Any")  # `--flag.key value`
TEXT = re.compile(r"(str|Path|Text|Source|None|[\s|])+")  # its words stay words
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
PLAIN = {"true": True, "false": False, "null": None, "none": None}
ALIKE = 0.6  # of difflib, from which a name is taken for a misspelt flag
LIST = re.compile(r"[^\s,]+(,[^\s,]+)+")


@dataclass(frozen=True)
class Flag:
    """A setting that the command line names."""

    name: str
    # inspect.Parameter.empty where it must be given
    default: Any
    # its type as the source writes it
    kind: str
    # what it means
    comment: str

    @property
    def is_needed(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def is_list(self) -> bool:
        """Whether one word is a list too."""
        return isinstance(self.default, tuple | list) or self.kind in ("Sequence[str]", "Prompts")

    @property
    def is_open(self) -> bool:
        """Whether it has settings of its own, whose names are open: `--columns.text answer`."""
        return OPEN.search(self.kind) is not None

    @property
    def is_switch(self) -> bool:
        """Whether it may stand without a word, for true."""
        return self.kind == "bool"

    @property
    def form(self) -> str:
        """How it is written.

        >>> Flag("margin", None, "float | Margins | None", "").form, Flag("network", False, "bool", "").form
        ('--margin VALUE, --margin.NAME VALUE', '--network')
        """
        several = " ..." if SEVERAL.search(self.kind) or self.is_list else ""
        value = "" if self.is_switch else f" VALUE{several}"
        if "Mapping" in self.kind or self.kind.startswith(("Columns", "GivenScores", "Ray")):
            return f"--{self.name}.NAME VALUE"
        return f"--{self.name}{value}" + (f", --{self.name}.NAME VALUE" if self.is_open else "")


# ---- where flags come from ------------------------------------------------------------------------------------------


def list_parameters(function: Callable[..., Any]) -> Iterator[Flag]:
    """The parameters of a function; what they mean is in its docstring."""
    meanings = read_meanings(inspect.getdoc(function) or "")
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            kind = write_type(parameter.annotation)
            yield Flag(name, parameter.default, kind, meanings.get(name, ""))


def read_meanings(text: str) -> dict[str, str]:
    """What a docstring says about each parameter, below `Args:`.

    >>> read_meanings("What it does.\\n\\nArgs:\\n    a: one\\n        thing.\\n    b: two.\\n\\nRaises nothing.")
    {'a': 'one thing.', 'b': 'two.'}
    """
    section = text.partition("Args:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def list_fields(kind: Any) -> Iterator[Flag]:
    """The fields of a dataclass; what they mean is in the comments on their lines, or above."""
    comments = read_comments(inspect.getsource(kind))
    for field in fields(kind):
        default = field.default
        if default is MISSING and field.default_factory is not MISSING:
            default = field.default_factory()
        needed = inspect.Parameter.empty if default is MISSING else default
        yield Flag(field.name, needed, write_type(field.type), comments.get(field.name, ""))


def read_comments(source: str) -> dict[str, str]:
    """The comment of each field in the source of a class.

    >>> read_comments("class A:\\n    # how\\n    # many\\n    n: int = 1\\n    m: int = 2  # more\\n")
    {'n': 'how many', 'm': 'more'}
    """
    found: dict[str, str] = {}
    above: list[str] = []
    for line in source.splitlines():
        stripped = line.strip()
        field = re.match(r" {4}(\w+): [^#]*(?:# (.*))?", line)
        if stripped.startswith("# "):
            above.append(stripped.removeprefix("# "))
            continue
        if field:
            found[field[1]] = field[2] or " ".join(above)
        above = []
    return found


def write_type(annotation: Any) -> str:
    """The type of a setting as the source writes it."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


# ---- what a command line says ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """The words of a command line behind the verb, read by its flags."""

    called: str
    flags: Mapping[str, Flag]
    # by name; of an open flag by key, `SELF` for its own words
    settings: dict[str, Any]
    # words before the first flag, and behind flags that take one word
    others: tuple[str, ...]

    @classmethod
    def read(cls, called: str, words: Sequence[str], flags: Sequence[Flag]) -> Words:
        """Reads the words. Raises SettingError for a flag that is none, for `key=value`, and for a wrong file."""
        reader = Reader(called, {each.name: each for each in flags})
        reader.read([*words])
        return cls(called, reader.flags, reader.settings, tuple(reader.others))

    def get(self, name: str) -> Any:
        """The value of a setting, or its default."""
        return self.settings.get(name, self.flags[name].default)


class Reader:
    """Reads the words of a command line one after the other."""

    def __init__(self, called: str, flags: Mapping[str, Flag]) -> None:
        self.called, self.flags = called, flags
        self.settings: dict[str, Any] = {}
        self.others: list[str] = []

    def read(self, words: list[str]) -> None:
        """Reads all words, then the settings of the file that `--config` names."""
        while words:
            word = words.pop(0)
            if not word.startswith("--"):
                self.refuse_pair(word)
                self.others.append(word)
                continue
            name, has_value, value = word.removeprefix("--").partition("=")
            behind = [value] if has_value else self.take(name, words)
            self.set(name, behind)
        if config := self.settings.get("config"):
            self.add_file(Path(config))

    def take(self, name: str, words: list[str]) -> list[str]:
        """The words that belong to a flag: all up to the next flag, or one where it takes one."""
        flag = self.find(name)
        count = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
        is_one = not (flag.is_list or SEVERAL.search(flag.kind) or "." in name)
        if flag.is_switch and words[:1] and words[0].lower() not in PLAIN:
            count = 0
        taken = words[: min(count, 1) if is_one else count]
        del words[: len(taken)]
        for word in taken:
            self.refuse_pair(word, behind=name)
        return taken

    def find(self, name: str) -> Flag:
        """The flag of a name, or of the first part of `flag.key`."""
        first, _, key = name.partition(".")
        flag = self.flags.get(first)
        if flag is None:
            similar = suggest_flag(first, [*self.flags])
            raise SettingError(f"--{printable(name)} is no flag of {self.called}{similar}")
        if key and not flag.is_open:
            raise SettingError(f"--{first} has no settings of its own, but got --{printable(name)}")
        return flag

    def set(self, name: str, words: Sequence[str]) -> None:
        """Sets a flag to its words."""
        flag = self.find(name)
        is_setting_of_set = flag.name == "data" and "." in name  # as --data.download
        if not words and not (flag.is_switch or is_setting_of_set):
            raise SettingError(f"--{name} needs a value")
        path = name.split(".")
        value = read_words(flag, words, is_inner=len(path) > 1)
        if flag.is_open and len(path) == 1:
            path = [*path, SELF]
        place = self.settings
        for part in path[:-1]:
            place = place.setdefault(part, {})
        if path[-1] in place:
            raise SettingError(f"--{name} is given twice")
        place[path[-1]] = value

    def add_file(self, path: Path) -> None:
        """Adds the settings of a YAML file, by the names of flags, that the command line does not give."""
        for name, value in read_file(path).items():
            flag = self.find(name)
            if flag.is_open:
                inner = value if isinstance(value, Mapping) else {SELF: value}
                self.settings[name] = {**inner, **self.settings.get(name, {})}
            else:
                self.settings.setdefault(name, value)

    def refuse_pair(self, word: str, behind: str = "") -> None:
        """Raises SettingError for `key=value`, with the flag that was meant."""
        key, is_pair, value = word.partition("=")
        name = re.sub(r"^(data|pilot|demo|engine)\.", "", key.lstrip("+").partition("@")[0])
        if not is_pair or Path(word).exists() or (behind.partition(".")[0] == "systems"):
            return
        if name == "path":
            raise SettingError(f"{printable(word)}: write the file itself, {printable(value)}, behind the verb")
        if name.partition(".")[0] in self.flags and self.flags[name.partition(".")[0]].name != behind:
            raise SettingError(f"{printable(word)}: write --{printable(name)} {printable(value)}")
        if not behind:
            similar = suggest_flag(name.partition(".")[0], [*self.flags])
            raise SettingError(f"{printable(word)} is neither a file nor a flag{similar}: settings are --NAME VALUE")


def read_file(path: Path) -> Mapping[str, Any]:
    """The settings of a YAML file, by name. Raises InputError."""
    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    with blame_file(path):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping):
            raise SettingError("settings must be NAME: VALUE")
    return {str(name): value for name, value in content.items()}


def suggest_flag(name: str, names: Sequence[str]) -> str:
    """The flags that are spelled alike, as the end of a sentence.

    >>> suggest_flag("colums", ["columns", "metric"])
    ' (did you mean --columns?)'
    """
    close = get_close_matches(name, names, n=2, cutoff=ALIKE)
    return f" (did you mean {' or '.join(f'--{each}' for each in close)}?)" if close else ""


def read_words(flag: Flag, words: Sequence[str], is_inner: bool = False) -> Any:
    """The value of the words of a flag.

    >>> read_words(Flag("differences", (0.1,), "Several[Positive]", ""), ["0.1,0.2"])
    [0.1, 0.2]
    >>> read_words(Flag("levels", None, "GivenLevels | None", ""), ["poor", "very fair"])
    ['poor', 'very fair']
    """
    if not words:
        return True
    has_commas = flag.kind != "Prompts" and (is_inner or flag.is_list or SEVERAL.search(flag.kind))
    parts = [part for word in words for part in (word.split(",") if has_commas and LIST.fullmatch(word) else [word])]
    is_text = not is_inner and TEXT.fullmatch(flag.kind) is not None
    if flag.kind.startswith("GivenLevels") and len(words) == 1 and words[0][:1] not in "[{":
        parts = words[0].split(",")
    if len(parts) == 1 and (is_inner or not flag.is_list):
        return read_word(parts[0], is_text, "None" in flag.kind)
    if len(parts) == 1 and parts[0][:1] == "[":
        return read_word(parts[0])
    return [part if flag.kind in ("Sequence[str]", "Prompts") else read_word(part) for part in parts]


def read_word(word: str, is_text: bool = False, may_lack: bool = True) -> Any:
    """The number, truth value, list or mapping that a word is; else the word.

    >>> [read_word(word) for word in ("2", "1e-3", "true", "null", "[a, 1]", "a.txt")]
    [2, 0.001, True, None, ['a', 1], 'a.txt']
    """
    if is_text:
        return None if may_lack and word in ("null", "none") else word
    if word.lower() in PLAIN:
        return PLAIN[word.lower()]
    if NUMBER.fullmatch(word):
        return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)
    if word[:1] in ("[", "{"):
        try:
            return yaml.safe_load(word)
        except yaml.YAMLError as error:
            raise SettingError(f"{printable(word)} is neither a list nor a mapping: {error}") from None
    return word
