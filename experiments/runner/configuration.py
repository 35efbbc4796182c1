"""Configuration: checks the names of the settings that Hydra composed, before libraries are loaded.

Their values are checked by the objects that are built of them.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from core.errors import SettingError, causes, suggest_similar
from core.objects import leaves, walk
from core.settings import Seed, Several, Text, check, check_arguments
from core.source import Module, find_module

COMMON: dict[str, Any] = {  # settings of every experiment
    "seed": Seed,
    "cues": Literal["ridge", "none"],
    "plots": Several[Literal["png", "svg", "pdf"]],
    "network": bool,
    "dry_run": bool,
    "stages_dir": Text,
}
BUILT = ("experiment", "logger")  # settings that the runner builds objects of
REFERENCE = re.compile(r"\$\{([\w.]+)\}")
PLACE = re.compile(r"full_key: (\S+)")  # in Hydra's message


def resolve(config: DictConfig, typed: Sequence[str] = ()) -> dict[str, Any]:
    """Resolves a configuration in place; returns its plain values. `typed` has the settings of the command line.

    Raises SettingError for missing required settings, references to unknown settings, wrong values of common settings,
    settings that no target takes, and a network that the command line does not allow.
    """
    unresolved: Any = OmegaConf.to_container(config)
    missing = sorted(key for key, value in leaves(unresolved) if value == MISSING)
    if missing:
        raise SettingError("\n".join(f"{key} must be given: {key}=VALUE" for key in missing))
    try:
        OmegaConf.resolve(config)
    except OmegaConfBaseException as error:
        raise SettingError(" ".join(str(error).split())) from error
    plain: Any = OmegaConf.to_container(config)
    for name, kind in COMMON.items():
        check(kind, **{name: plain[name]})
    is_typed = any(word.lstrip("+").startswith("network=") for word in typed)
    if config.network and not is_typed:
        raise SettingError("network must be set on the command line, not in a file")
    built = {name: plain.get(name) for name in BUILT}
    faults = [
        name_line(line, place, unresolved)
        for place, node in walk(built)
        if isinstance(node, Mapping) and isinstance(node.get("_target_"), str)
        for line in list_faults(node)
    ]
    if faults:
        raise SettingError("\n".join(dict.fromkeys(faults)))
    return plain


def list_faults(node: Mapping[str, Any]) -> list[str]:
    """Lists the settings that a target does not take. Reads code without importing it."""
    target = node["_target_"]
    names = list_arguments(target)
    if names is None:
        return []
    called = target.rpartition(".")[2]
    unknown = [key for key in node if key not in names and not key.startswith("_")]
    return [f"{key} is no setting of {called}{suggest_similar(key, names)}" for key in unknown]


def list_arguments(target: str) -> list[str] | None:
    """Lists the arguments of a function or class of this project; None where the source alone does not tell."""
    first, *inner = target.split(".")
    module = find_module(first)
    while module is not None and module.is_package and inner:
        first = f"{first}.{inner.pop(0)}"
        module = find_module(first)
    return _find_arguments(module, *inner) if module is not None and inner else None


def _find_arguments(module: Module, name: str, method: str = "__init__") -> list[str] | None:
    """The arguments of what a module defines or imports under a name."""
    for statement in module.defined.get(name, ()):
        match statement:
            case ast.FunctionDef():
                return _list_parameters(statement)
            case ast.ClassDef():
                return _list_fields(module, statement, method)
            case ast.ImportFrom():
                for origin, inner in module.find_imported(statement):
                    return _find_arguments(origin, inner, method)
    return None


def _list_parameters(function: ast.FunctionDef) -> list[str] | None:
    """The arguments of a function or a method; None if it takes any."""
    arguments = function.args
    return None if arguments.kwarg else [each.arg for each in (*arguments.args, *arguments.kwonlyargs)]


def _list_fields(module: Module, kind: ast.ClassDef, method: str) -> list[str] | None:
    """The arguments of a method, or the fields of a dataclass, also of those that it extends."""
    names: list[str] = []
    for statement in kind.body:
        match statement:
            case ast.FunctionDef() if statement.name == method:
                return _list_parameters(statement)
            case ast.AnnAssign(target=ast.Name(name)):
                names.append(name)
    for base in kind.bases:
        above = _find_arguments(module, base.id) if isinstance(base, ast.Name) else None
        if above is None:
            return None
        names += above
    return names if kind.decorator_list and method == "__init__" else None


def build_experiment(config: DictConfig, unresolved: Mapping[str, Any]) -> Any:
    """Builds the experiment's function with its arguments; the runner passes the Run.

    Raises SettingError, with the whole key, for a setting that an argument refuses.
    """
    place = "experiment"
    try:
        experiment = instantiate(config.experiment, _convert_="all", _partial_=True)
        for found in list_calls(experiment, place):
            place, call = found
            check_arguments(call)
        return experiment
    except (InstantiationException, SettingError) as error:
        fault = next((cause for cause in causes(error) if isinstance(cause, SettingError)), None)
        if fault is None:
            raise
        if named := PLACE.search(str(error)):
            place = named[1]
        lines = [name_line(line, place, unresolved) for line in str(fault).splitlines()]
        raise SettingError("\n".join(lines)) from error


def list_calls(value: Any, place: str) -> Iterator[tuple[str, partial[Any]]]:
    """Yields the functions inside a value that are called later, with their arguments, each with its place."""
    if isinstance(value, partial):
        yield place, value
        value = value.keywords
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from list_calls(inner, f"{place}.{name}")


def name_line(line: str, place: str, unresolved: Mapping[str, Any]) -> str:
    """Rewrites an error of an argument at `place`, so that the error names the setting that the user types.

    >>> config = {"experiment": {"plan": "${model.negatives}"}, "model": {"negatives": {"dialogues": 0}}}
    >>> name_line("dialogues must be positive", "experiment.plan", config)
    'model.negatives.dialogues must be positive'
    >>> name_line("either of both", "experiment.plan", config)
    'model.negatives: either of both'
    """
    name = re.match(r"\w*", line)[0]  # pyright: ignore[reportOptionalSubscript] # it matches nothing too
    setting = find_setting(f"{place}.{name}", unresolved)
    if setting is not None:
        return f"{setting}{line.removeprefix(name)}"
    return f"{find_setting(place, unresolved) or place}: {line}"


def find_setting(place: str, unresolved: Mapping[str, Any]) -> str | None:
    """Finds the setting from which a place of the configuration takes its value; None for an unknown place."""
    keys: list[str] = []
    for key in place.split("."):
        keys.append(key)
        while reference := REFERENCE.fullmatch(str(_select(keys, unresolved))):
            keys = reference[1].split(".")
    return None if _select(keys, unresolved) == MISSING else ".".join(keys)


def _select(keys: Sequence[str], unresolved: Mapping[str, Any]) -> Any:
    """The value at a place of the configuration; MISSING if there is none."""
    node: Any = unresolved
    for key in keys:
        node = node.get(key, MISSING) if isinstance(node, Mapping) else MISSING
    return node


def name_settings(unresolved: Mapping[str, Any], value: str) -> list[str]:
    """Lists the settings whose value is this model, without settings that refer to another setting."""
    chosen = {name: node for name, node in unresolved.items() if name != "logger"}  # whose mode may be offline too
    return [place for place, leaf in leaves(chosen) if leaf == value]
