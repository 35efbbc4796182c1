"""Sets by the name of their file in `configs/data`: rated built-in texts, and public preferences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from core.configs import CONFIGS
from core.errors import SettingError, check_names, printable, suggest_similar
from judge.metrics import REQUIRED, build, fill_references

PLACES = ("data.sets.builtin.", "data.sets.judged_pairs.", "data.corpus.join_rated")  # what makes such a set


def load_set(name: Any, settings: Mapping[str, Any], seed: int) -> Any:
    """A corpus with rated sets, or preferences with the outputs where the set has them.

    Raises SettingError for an unknown name or setting, and for one that is missing.
    """
    config = fill_references(read_config(str(name)), seed)
    merge(config, settings, "data")
    if missing := [key for key, value in config.items() if value == REQUIRED]:
        raise SettingError("\n".join(f"data={name} needs {key}: data.{key}=FOLDER" for key in missing))
    return build(config)


def read_config(name: str) -> dict[str, Any]:
    """The settings of a set as plain values."""
    configs = {
        file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in (CONFIGS / "data").glob("*.yaml")
    }
    known = sorted(each for each, config in configs.items() if config.get("_target_", "").startswith(PLACES))
    if name not in known:
        similar = suggest_similar(name, known)
        raise SettingError(f"{printable(name)}: there is no such set{similar}; allowed: {', '.join(known)}")
    return configs[name]


def merge(config: dict[str, Any], settings: Mapping[str, Any], place: str) -> None:
    """Replaces some settings of a configuration. Raises SettingError for an unknown one."""
    check_names(settings, [key for key in config if not key.startswith("_")], place)
    for key, value in settings.items():
        if isinstance(config[key], dict) and isinstance(value, Mapping):
            merge(config[key], value, f"{place}.{key}")
        else:
            config[key] = value
