"""Types of settings: what they are in Python, and what cyclopts makes of the words of a command or of a file."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from inspect import Parameter, signature
from itertools import zip_longest
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
)

import cyclopts

from core.errors import SettingError, check_names
from core.settings import check

PLAIN = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
}
COMMA = re.compile(r"(?<=[^\s,]),(?=[^\s,])")  # of a list, without a space beside it
FILE = "FILE"  # the words before all flags
PLOTS = ("png",)  # the kinds in a report
INNER = "inner"  # the hidden flag of settings of what other flags name
NAMING = re.compile(r"^--(metrics?|judge|data)\.(?=.)")  # before such a setting


def spell_out(words: Sequence[str]) -> list[str]:
    """Rewrites words for cyclopts: a switch takes its value by `=`, and a setting of what a flag names is one of INNER.

    >>> spell_out(["in.csv", "--cues", "false", "--metric", "bleu", "--metric.order", "2", "--data.download"])
    ['in.csv', '--cues=false', '--metric', 'bleu', '--inner.metric.order', '2', '--inner.data.download=true']
    """
    spelled: list[str] = []
    for word, following in zip_longest(words, words[1:], fillvalue="--"):
        if word.lower() in ("true", "false") and spelled and re.fullmatch(r"--\w+", spelled[-1]):
            spelled[-1] += f"={word.lower()}"
            continue
        is_alone = following.startswith("--") and re.fullmatch(r"--[\w.]+\.[\w.]+", word)
        spelled.append(NAMING.sub(rf"--{INNER}.\1.", f"{word}=true" if is_alone else word))
    return spelled


def read_word(word: str) -> Any:
    """Reads a word as a number, a truth value or None; returns any other word as it is.

    >>> [read_word(word) for word in ("2", ".5", "1e-3", "true", "null", "a.txt")]
    [2, 0.5, 0.001, True, None, 'a.txt']
    """
    for kind in (int, float):
        with suppress(ValueError):
            return kind(word)
    return PLAIN.get(word.lower(), word)


def list_words(tokens: Sequence[cyclopts.Token]) -> list[str]:
    """Lists the words of tokens. A comma between two words is a space."""
    return [part for token in tokens for part in COMMA.split(token.value)]


def read_keyed(_: Any, tokens: Any) -> Any:
    """Reads the settings of a flag by key, or else its words: one as its value, several as a list."""
    if isinstance(tokens, Mapping):
        return {key: read_keyed(None, inner) for key, inner in tokens.items()}
    values = [read_word(word) for word in list_words(tokens)]
    return values if len(values) > 1 else values[0]


def read_list(kind: Any, tokens: Sequence[cyclopts.Token]) -> list[Any]:
    """Reads words as a list of the type that the flag has."""
    return [find_item(kind)(word) for word in list_words(tokens)]


def find_item(kind: Any) -> Any:
    """The type of the items of a list, without their rules."""
    item, *_ = get_args(kind)
    return getattr(item, "__origin__", item)


def read_named(_: Any, tokens: Sequence[cyclopts.Token]) -> dict[str, Any]:
    """Reads names, each once; returns them with no settings yet. Raises SettingError."""
    words = [word for word in list_words(tokens) if word != "null"]
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise SettingError(f"metrics must name each metric once, but {twice[0]} is named twice")
    return {word: {} for word in words}


def make_type(kind: Any, read: Callable[..., Any], **how: Any) -> Any:
    """Makes the type of a flag that takes several words."""
    return Annotated[kind, cyclopts.Parameter(converter=read, **how)]


Keyed = make_type(
    dict | list | str | float,
    read_keyed,
    accepts_keys=True,
    n_tokens=-1,
)  # words, or settings by key
Named = make_type(
    dict,
    read_named,
    accepts_keys=True,
    n_tokens=-1,
)  # what is looked up by name
Strings = make_type(Sequence[str], read_list)
Place = Annotated[str, cyclopts.Parameter(allow_leading_hyphen=True)]  # a file, or - for a standard stream
if TYPE_CHECKING:
    from data.rating_words import GivenLevels
    from discriminators.discriminator import Discriminator
    from judge.inputs import (
        Columns,
        GivenScores,
        References,
        Source,
    )
    from judge.metrics import MetricPlan, Metrics
    from judge.pair_inputs import Pairs
    from judge.pair_judging import PairJudge
    from judge.ray_actors import Ray
    from judge.verdict_files import Labels
    from models.causal import CausalLM

    File = Path | str
    Judge = str | MetricPlan | PairJudge
    Names = str | Sequence[str]
else:  # as a command line gives them
    Columns = GivenLevels = GivenScores = Labels = Pairs = Ray = Keyed
    Names = Strings
    File = Place
    Metrics = Judge = Named
    Source = References = CausalLM = Discriminator = str


def list_names(names: str | Sequence[str]) -> list[str]:
    """Lists names that are given in a list, or in one text with commas."""
    return names.split(",") if isinstance(names, str) else list(names)


P = ParamSpec("P")
R = TypeVar("R")


def verb(declared: Callable[P, R]) -> Callable[P, R]:
    """Makes the function of a verb, which checks its arguments by the rules of their types.

    It raises SettingError for a value that breaks a rule, such as a `Fraction` of 1.5, and for an unknown setting.
    """
    parameters = signature(declared).parameters
    is_open = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    ruled = {name: each.annotation for name, each in parameters.items() if has_rule(each.annotation)}

    @wraps(declared)
    def call(*args: P.args, **settings: P.kwargs) -> R:
        if not is_open:
            check_names(settings, parameters, declared.__name__)
        given = signature(declared).bind(*args, **settings).arguments
        for name in ruled.keys() & given.keys():
            check(ruled[name], **{name: given[name]})
        return declared(*args, **settings)

    return call


def has_rule(hint: Any) -> bool:
    """Whether a type, or a part of it, has a rule beside what cyclopts reads: one of some words, or a range."""
    if get_origin(hint) is Literal:
        return True
    notes = getattr(hint, "__metadata__", ())
    return not all(isinstance(note, cyclopts.Parameter) for note in notes) or any(map(has_rule, get_args(hint)))


def flag(name: str, kind: Any, meaning: str, default: Any = None, **how: Any) -> Parameter:
    """Makes a flag of a command that is no parameter of a verb's function."""
    about = cyclopts.Parameter(help=meaning, **how)
    taken = kind | None if default is None else kind
    return Parameter(
        name,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[taken, about],
    )


def declare_command(
    verb: Callable[..., Any],
    flags: Sequence[Parameter],
    file: str,
    defaults: Mapping[str, Any],
) -> Callable[..., None]:
    """Makes a command with the parameters of a verb's function and more flags, which only declares what it takes.

    `file` is the parameter that FILE gives; "" for none.
    """
    named = {each.name for each in flags}
    parameters = [Parameter(FILE, Parameter.VAR_POSITIONAL, annotation=Place)] if file else []
    for name, own in signature(verb).parameters.items():
        if name not in (file, *named) and own.kind is not Parameter.VAR_KEYWORD:
            parameters.append(own.replace(kind=Parameter.KEYWORD_ONLY, default=defaults.get(name, own.default)))
    parameters += [
        *flags,
        flag(
            INNER,
            Keyed,
            "",
            show=False,
        ),
    ]

    def command(*_: Any, **__: Any) -> None: ...

    command.__signature__ = signature(command).replace(  # pyright: ignore[reportFunctionMemberAccess]
        parameters=[each.replace(annotation=annotate(each)) for each in parameters]
    )
    command.__doc__ = re.sub(r"\n {12}(?=\S)", " ", verb.__doc__ or "")  # a line for each parameter
    return command


def annotate(parameter: Parameter) -> Any:
    """The annotation of a parameter, with the notes of `Annotated[...] | None` outside, where they are read.

    Its help shows no default that is None or empty.
    """
    annotation = parameter.annotation
    notes = getattr(annotation, "__metadata__", ())
    kind = get_args(annotation)[0] if notes else annotation
    for each in get_args(kind):
        inner = getattr(each, "__metadata__", ())
        notes = (*(note for note in inner if isinstance(note, cyclopts.Parameter)), *notes)
    if get_origin(kind) is Sequence and find_item(kind) is not str:  # a text may hold a comma
        notes = (cyclopts.Parameter(converter=read_list, n_tokens=-1), *notes)
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
