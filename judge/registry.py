"""What the YAML files of `configs/` name: `_target_` is what is called, and the other keys are its settings.

Experiments build the same files by Hydra's `instantiate`; a test compares both.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.configs import CONFIGS
from core.errors import SettingError, check_names, printable, suggest_similar
from core.objects import find_object

REQUIRED = "???"  # the value of a setting that has no default
OF_HYDRA = ("_target_", "_convert_")
MADE_BY = re.compile(r"^_target_: data\.(sets\.builtin|sets\.judged_pairs)\b", re.MULTILINE)


def list_configs(group: str) -> dict[str, Path]:
    """Lists the YAML files of a folder of `configs/` by name."""
    return {file.stem: file for file in sorted((CONFIGS / group).glob("*.yaml"))}


def find_config(name: str) -> Path:
    """Finds the YAML file of a metric. Raises SettingError for an unknown name."""
    return find_named("metric", name, list_configs("metric"))


def find_set(name: str) -> Path:
    """Finds the YAML file of a set: rated built-in texts, or public preferences. Raises SettingError."""
    files = list_configs("data").items()
    return find_named("set", name, {each: file for each, file in files if MADE_BY.search(file.read_text("utf-8"))})


def find_named(kind: str, name: str, files: Mapping[str, Path]) -> Path:
    """Finds a file by its name. Raises SettingError for an unknown name."""
    if name not in files:
        similar = suggest_similar(name, files)
        raise SettingError(f"{printable(name)}: there is no such {kind}{similar}; allowed: {', '.join(files)}")
    return files[name]


def read_config(path: Path, of_run: Any = None) -> dict[str, Any]:
    """Reads the plain values of a file of `configs/`; `of_run` stands for values of a run (`${stages_dir}`)."""
    import yaml  # help does without

    return fill(yaml.safe_load(path.read_text(encoding="utf-8")), of_run)


def fill(node: Any, of_run: Any) -> Any:
    """Replaces values of a run in a configuration."""
    if isinstance(node, list):
        return [fill(value, of_run) for value in node]
    if isinstance(node, dict):
        return {key: fill(value, of_run) for key, value in node.items()}
    return of_run if isinstance(node, str) and "${" in node else node


def complete(name: str, config: Mapping[str, Any], settings: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Replaces some settings of a configuration, also those of inner objects and mappings; loads no model.

    Messages put `place` in front of the settings, as in `--metric.`. Raises SettingError for an unknown setting and for
    a missing one.
    """
    known = {key for key in config if key not in OF_HYDRA}
    if "_target_" in config and not known.issuperset(settings):  # of what is called, which is imported for it
        known |= {*inspect.signature(find_object(config["_target_"])).parameters}
    check_names(
        settings,
        sorted(known),
        name,
        place,
    )
    completed = {**config, **settings}
    for key, default in config.items():
        given = completed[key]
        if isinstance(default, list) and isinstance(given, str | int | float):
            completed[key] = [given]
        elif isinstance(default, Mapping) and default and isinstance(given, Mapping):
            changed = {} if given is default else given
            completed[key] = complete(
                name,
                default,
                changed,
                f"{place}{key}.",
            )
        elif given is not default and names_object(given):
            raise SettingError(f"{place}{key} must not name an object")
    missing = [key for key, value in completed.items() if value == REQUIRED]
    value = " VALUE" if place.startswith("--") else "=VALUE"
    if missing:
        raise SettingError("\n".join(f"{name} needs {key}: pass {place}{key}{value}" for key in missing))
    return completed


def names_object(value: Any) -> bool:
    """Whether a value would be built, or has a part that would."""
    if isinstance(value, Mapping):
        return "_target_" in value or any(names_object(part) for part in value.values())
    return isinstance(value, list | tuple) and any(names_object(part) for part in value)


def build(config: Any, place: str = "") -> Any:
    """Builds the object that a configuration names by `_target_`; inner objects are built first.

    Messages put `place` before the settings.
    """
    if isinstance(config, list):
        return [build(value, place) for value in config]
    if not isinstance(config, Mapping):
        return config
    made = {key: build(value, f"{place}{key}.") for key, value in config.items() if key not in OF_HYDRA}
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
        said = re.sub(
            r"^(?=[\w\[\]']+ must )",
            place,
            str(error),
            flags=re.MULTILINE,
        )
        raise SettingError(said) from error
