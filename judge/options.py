"""What a command line makes of the words behind a flag.

`--flag.key value` sets a key of a flag: `fold` gathers such words in one word of JSON, which `read_keyed` reads.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_args

import cyclopts

from core.errors import InputError, SettingError, blame_file, fault, printable, suggest_similar

PLAIN = {"true": True, "false": False, "null": None, "none": None}
COMMA = re.compile(r"(?<=[^\s,]),(?=[^\s,])")  # of a list, without a space beside it
KEYED = "="  # before a word of JSON
FILE = "FILE"  # the words before all flags


@dataclass(frozen=True)
class NamedWords:
    """What stands behind a flag that names metrics or a set, before the names are looked up."""

    # with its dashes
    flag: str
    words: tuple[str, ...]
    # by key
    settings: Mapping[str, Any]


# ---- words of a command ---------------------------------------------------------------------------------------------


def group_words(words: Sequence[str]) -> dict[str, list[str]]:
    """Groups words by the flag before them; those before all flags by "". Raises SettingError for a flag given twice.

    >>> group_words(["in.csv", "--metrics", "bleu", "ter", "--seed=3"])
    {'': ['in.csv'], 'metrics': ['bleu', 'ter'], 'seed': ['3']}
    """
    groups: dict[str, list[str]] = {"": []}
    name = ""
    for word in words:
        if not word.startswith("--"):
            groups[name].append(word)
            continue
        name, is_pair, value = word.removeprefix("--").partition("=")
        if name in groups:
            raise SettingError(f"--{printable(name)} is given twice")
        groups[name] = [value] if is_pair else []
    return groups


def check_flags(names: Collection[str], known: Collection[str], called: str) -> None:
    """Raises SettingError for a flag that a command does not have."""
    for name in names:
        flag = name.partition(".")[0]
        if flag not in known:
            similar = suggest_similar(flag, known, "--")
            raise SettingError(f"--{printable(name)} is no flag of {called}{similar}")


def read_config(path: Path, known: Collection[str], called: str) -> dict[str, list[str]]:
    """Reads the settings of a YAML file as words by flag. Raises InputError for a faulty file."""
    import yaml  # not for help

    from core.settings import refuse_in_file

    if not path.is_file():
        raise InputError([fault(path, 0, "no such file")])
    with blame_file(path):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping):
            raise SettingError("settings must be NAME: VALUE")
        settings = dict(flatten_settings(content))
        refuse_in_file(settings)
        check_flags(settings, known, called)
    return settings


def flatten_settings(settings: Mapping[Any, Any], place: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yields nested settings as words by flag.

    >>> dict(flatten_settings({"metrics": {"bleu": {"order": 1}, "ter": {}}, "cues": False}))
    {'metrics.bleu.order': ['=1'], 'metrics.ter': ['={}'], 'cues': ['false']}
    """
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from flatten_settings(value, f"{place}{name}.")
        elif place:
            yield f"{place}{name}", [KEYED + json.dumps(value, default=str)]
        else:
            yield f"{name}", [write_word(word) for word in (value if isinstance(value, list) else [value])]


def write_word(value: Any) -> str:
    """Writes a value as a word that `read_word` reads."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)


def fold(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yields the words of a command with one word of JSON for all `--flag.key value` of a flag.

    >>> [*fold({"": ["in.csv"], "metrics": ["bleu"], "metrics.bleu.order": ["2"], "cues": ["false"]})]
    ['in.csv', '--metrics', 'bleu', '--cues=false', '--metrics', '={"bleu": {"order": 2}}']
    """
    settings: dict[str, dict[str, Any]] = {}
    for name, words in groups.items():
        flag, *keys = name.split(".")
        if keys:
            set_inner(settings.setdefault(flag, {}), keys, read_words(words), name)
        elif words and words[0].lower() in ("true", "false"):  # a switch takes its value by =
            yield from (f"--{flag}={words[0].lower()}", *words[1:])
        else:
            yield from (f"--{flag}", *words) if flag else words
    for flag, inner in settings.items():
        yield from (f"--{flag}", KEYED + json.dumps(inner))


def set_inner(settings: dict[str, Any], keys: Sequence[str], value: Any, name: str) -> None:
    """Sets a key of nested settings."""
    *outer, last = keys
    for key in outer:
        settings = settings.setdefault(key, {})
        if not isinstance(settings, dict):
            raise SettingError(f"--{name.rpartition('.')[0]} has either a value or settings by name, not both: {last}")
    settings[last] = value


# ---- words of a flag ------------------------------------------------------------------------------------------------


def read_word(word: str) -> Any:
    """Reads a word as a number, a truth value or None; returns any other word as it is.

    >>> [read_word(word) for word in ("2", ".5", "1e-3", "true", "null", "a.txt")]
    [2, 0.5, 0.001, True, None, 'a.txt']
    """
    for kind in (int, float):
        with suppress(ValueError):
            return kind(word)
    return PLAIN.get(word.lower(), word)


def read_words(words: Sequence[str]) -> Any:
    """Reads words: none as True, one as its value, several as a list. A comma between words is a space.

    >>> read_words([]), read_words(["2"]), read_words(["poor,fair", "good"])
    (True, 2, ['poor', 'fair', 'good'])
    """
    if len(words) == 1 and words[0].startswith(KEYED):  # of a file of settings
        return json.loads(words[0].removeprefix(KEYED))
    values = [read_word(part) for word in words for part in COMMA.split(word)]
    return values if len(values) > 1 else values[0] if values else True


def read_keyed(_: Any, tokens: Sequence[cyclopts.Token]) -> Any:
    """Reads the settings of a flag by key, or else its words. Raises SettingError for both."""
    words, settings = split_tokens(tokens)
    if words and settings:
        name = tokens[0].keyword
        raise SettingError(f"{name} has either a value or settings by name, not both: {', '.join(settings)}")
    return settings or read_words(words)


def read_list(kind: Any, tokens: Sequence[cyclopts.Token]) -> list[Any]:
    """Reads words as a list of the type that the flag has."""
    words, _ = split_tokens(tokens)
    item, *_ = get_args(kind)
    return [item(part) for word in words for part in COMMA.split(word)]


def read_named(_: Any, tokens: Sequence[cyclopts.Token]) -> list[NamedWords]:
    """Reads names with their settings, of each spelling of the flag."""
    named: list[NamedWords] = []
    for flag in dict.fromkeys(str(token.keyword) for token in tokens):
        words, settings = split_tokens([token for token in tokens if token.keyword == flag])
        named.append(NamedWords(flag, tuple(part for word in words for part in COMMA.split(word)), settings))
    return named


def split_tokens(tokens: Sequence[cyclopts.Token]) -> tuple[list[str], dict[str, Any]]:
    """The words of a flag, and its settings by key."""
    words = [token.value for token in tokens]
    plain = [word for word in words if not word.startswith(KEYED)]
    settings = [json.loads(word.removeprefix(KEYED)) for word in words if word.startswith(KEYED)]
    return plain, settings[0] if settings else {}


# ---- types of flags -------------------------------------------------------------------------------------------------

Keyed = Annotated[Any, cyclopts.Parameter(converter=read_keyed, n_tokens=-1)]  # words, or settings by key
Strings = Annotated[Sequence[str], cyclopts.Parameter(converter=read_list)]
Numbers = Annotated[Sequence[float], cyclopts.Parameter(converter=read_list)]
Counts = Annotated[Sequence[int], cyclopts.Parameter(converter=read_list)]
NamedMetrics = Annotated[
    Any, cyclopts.Parameter(name=("--metrics", "--metric"), converter=read_named, n_tokens=-1)
]  # of either name
NamedOne = Annotated[Any, cyclopts.Parameter(converter=read_named, n_tokens=-1)]
Place = Annotated[str, cyclopts.Parameter(allow_leading_hyphen=True)]  # a file, or - for a standard stream


def flag(name: str, kind: Any, meaning: str, default: Any = None, **how: Any) -> Parameter:
    """Makes a flag of a command that is no parameter of a verb's function."""
    about = cyclopts.Parameter(help=meaning, **how)
    taken = kind | None if default is None else kind
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[taken, about])


def declare_command(
    verb: Callable[..., Any], flags: Sequence[Parameter], file: str, defaults: Mapping[str, Any]
) -> Callable[..., None]:
    """Makes a command with the parameters of a verb's function and more flags, which only declares what it takes.

    `file` is the parameter that FILE gives; "" for none.
    """
    named = {each.name for each in flags}
    parameters: list[Parameter] = []
    if file:
        parameters.append(Parameter(FILE, Parameter.VAR_POSITIONAL, annotation=Place))
    for name, own in signature(verb).parameters.items():
        if name not in (file, *named) and own.kind is not Parameter.VAR_KEYWORD:
            default = defaults.get(name, own.default)
            parameters.append(own.replace(kind=Parameter.KEYWORD_ONLY, default=default))

    def command(*_: Any, **__: Any) -> None: ...

    shown = [*parameters, *flags]
    command.__signature__ = signature(command).replace(  # pyright: ignore[reportFunctionMemberAccess]
        parameters=[each.replace(annotation=annotate(each)) for each in shown]
    )
    command.__doc__ = re.sub(r"\n {12}(?=\S)", " ", verb.__doc__ or "")  # a line for each parameter
    return command


def list_names(command: Any) -> list[str]:
    """Lists the flags of a command that `declare_command` made."""
    names: list[str] = []
    for parameter in signature(command).parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            spelled = [name for note in parameter.annotation.__metadata__ for name in note.name or ()]
            names += [name.removeprefix("--") for name in spelled] or [parameter.name]
    return names


def annotate(parameter: Parameter) -> Any:
    """The annotation of a parameter, with the notes of `Annotated[...] | None` outside, where they are read.

    Its help shows no default that is None or empty.
    """
    annotation = parameter.annotation
    notes = getattr(annotation, "__metadata__", ())
    kind = get_args(annotation)[0] if notes else annotation
    for each in get_args(kind):
        notes = (*getattr(each, "__metadata__", ()), *notes)
    is_shown = parameter.default not in (None, (), "", parameter.empty)
    shown = cyclopts.Parameter(show_default=write_default if is_shown else False)
    return Annotated[kind, *notes, shown]


def write_default(default: Any) -> str:
    """Writes a default as a user would type it.

    >>> write_default(True), write_default((0.5, 1))
    ('true', '0.5 1')
    """
    if isinstance(default, tuple):
        return " ".join(map(write_default, default))
    return str(default).lower() if isinstance(default, bool) else str(default)
