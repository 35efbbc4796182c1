"""Loads sets by the name of their file in `configs/data`: rated built-in texts, and public preferences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import SettingError, printable, suggest_similar
from judge.registry import build, complete, list_configs, read_config

MADE_BY = re.compile(r"^_target_: data\.(sets\.builtin|sets\.judged_pairs|corpus\.join_rated)\b", re.MULTILINE)
PLACE = "--data."  # before its settings in messages


def load_set(name: Any, settings: Mapping[str, Any], seed: int) -> Any:
    """Loads a corpus with rated sets, or preferences with their outputs if the set has them.

    Raises SettingError for an unknown name, and for an unknown or missing setting.
    """
    config = read_config(find_set(str(name)), seed)
    return build(
        complete(
            str(name),
            config,
            settings,
            PLACE,
        ),
        PLACE,
    )


def find_set(name: str) -> Path:
    """Finds the YAML file of a set. Raises SettingError for an unknown name."""
    configs = list_configs("data")
    known = [each for each, file in configs.items() if MADE_BY.search(file.read_text(encoding="utf-8"))]
    if name not in known:
        similar = suggest_similar(name, known)
        raise SettingError(f"{printable(name)}: there is no such set{similar}; allowed: {', '.join(known)}")
    return configs[name]
