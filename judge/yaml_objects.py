"""Builds objects that YAML files of `configs/` describe: `_target_` is what is called, other keys are its settings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core.configs import CONFIGS
from core.errors import SettingError, blame_file, check_names
from core.objects import find_object

REQUIRED = "???"  # the value of a setting that has no default
# The packages whose objects a command may name beside those of this project; None in Python
importable: ContextVar[Collection[str] | None] = ContextVar("importable", default=None)


def list_configs(group: str) -> dict[str, Path]:
    """Lists the YAML files of a folder of `configs/` by name."""
    return {file.stem: file for file in sorted((CONFIGS / group).glob("*.yaml"))}


def read_object(path: Path) -> dict[str, Any]:
    """Reads the plain values of a file, with `_target_`. Raises InputError for a file that names no object."""
    with blame_file(path):
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(config, dict) or not isinstance(config.get("_target_"), str):
            raise SettingError(f"a {path.parent.name} needs _target_: MODULE.CLASS and its settings")
    return config


def fill_references(node: Any, value: Any) -> Any:
    """Replaces references to a run (`${stages_dir}`) in a configuration by `value`."""
    if isinstance(node, dict):
        return {key: fill_references(inner, value) for key, inner in node.items()}
    return value if isinstance(node, str) and "${" in node else node


def complete_settings(
    name: str,
    config: Mapping[str, Any],
    settings: Mapping[str, Any],
    place: str = "",
) -> dict[str, Any]:
    """Replaces some settings of a configuration, also those of inner objects.

    Messages put `place` in front of the settings, as in `--metric.`. Raises SettingError for an unknown setting, a
    missing one, and a target that is not allowed.
    """
    check_target(config["_target_"])
    check_names(settings, _list_settings(config), name, place)
    completed = {**config, **settings}
    for key, default in config.items():
        completed[key] = _complete_value(name, default, settings.get(key, default), f"{place}{key}.")
    missing = [key for key, value in completed.items() if value == REQUIRED]
    if missing:
        value = " VALUE" if place.startswith("--") else "=VALUE"
        needed = [f"{name} needs {key}: pass {place}{key}{value}" for key in missing]
        raise SettingError("\n".join(needed))
    return completed


def _list_settings(config: Mapping[str, Any]) -> list[str]:
    """The settings of a configuration, and the parameters of its target."""
    known = {key for key in config if not key.startswith("_")}
    signature = inspect.signature(find_object(config["_target_"]))
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            known.add(parameter.name)
    return sorted(known)


def _complete_value(
    name: str,
    default: Any,
    given: Any,
    place: str,
) -> Any:
    """The value of a setting: one word is a list of one, and inner objects and mappings keep their other keys."""
    if isinstance(default, list) and isinstance(given, str | int | float):
        return [given]
    if not (isinstance(default, Mapping) and default and isinstance(given, Mapping)):
        return given
    if given is default:
        given = {}
    if "_target_" in default:
        return complete_settings(name, default, given, place)
    check_names(given, sorted(default), name, place)
    completed: dict[str, Any] = {}
    for key, inner in default.items():
        completed[key] = _complete_value(name, inner, given.get(key, inner), f"{place}{key}.")
    return completed


@cache
def list_targets() -> frozenset[str]:
    """Lists the objects that this project's metrics and sets name."""
    files = [*list_configs("metric").values(), *list_configs("data").values()]
    texts = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return frozenset(re.findall(r"_target_: *([\w.]+)", texts))


def check_target(target: str) -> None:
    """Raises SettingError for an object that neither this project names nor an allowed package contains."""
    if target in list_targets():
        return
    allowed = importable.get() or ()
    if not any(target.startswith(f"{package}.") for package in allowed):
        raise SettingError(f"{target} is refused: --allow {target.partition('.')[0]} would trust this package")


def check_targets(node: Any) -> None:
    """Checks every `_target_` in a configuration.

    Raises SettingError as `check_target` does, and for other hidden keys.
    """
    inner: Collection[Any] = node if isinstance(node, list) else ()
    if isinstance(node, Mapping):
        other = [key for key in node if str(key).startswith("_") and key not in ("_target_", "_convert_")]
        if other:
            raise SettingError(f"{other[0]} is not a setting of a metric")
        if "_target_" in node:
            check_target(str(node["_target_"]))
        inner = node.values()
    for value in inner:
        check_targets(value)


def build(config: Any, place: str = "") -> Any:
    """Builds the object that a configuration names by `_target_`; inner objects are built first.

    Messages put `place` before the settings.
    """
    if isinstance(config, list):
        return [build(value, place) for value in config]
    if not isinstance(config, Mapping):
        return config
    settings = {key: value for key, value in config.items() if key not in ("_target_", "_convert_")}
    made = {key: build(value, f"{place}{key}.") for key, value in settings.items()}
    if "_target_" not in config:
        return made
    with named_settings(place):
        return find_object(config["_target_"])(**made)


@contextmanager
def named_settings(place: str) -> Iterator[None]:
    """Puts `place` before the names of settings in a SettingError of the block.

    >>> with named_settings("--metric."):
    ...     raise SettingError("order must be 1, but is 0")
    Traceback (most recent call last):
    core.errors.SettingError: --metric.order must be 1, but is 0
    """
    try:
        yield
    except SettingError as error:
        if not place:
            raise
        said = re.sub(r"^(?=[\w\[\]']+ must )", place, str(error), flags=re.MULTILINE)
        raise SettingError(said) from error
