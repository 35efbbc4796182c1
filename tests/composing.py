"""Configurations as Hydra composes them for a command line, without a run."""

import inspect
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from core.configs import CONFIGS
from core.objects import walk

VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def compose_all(settings: Sequence[str], folder: Path | None = None) -> DictConfig:
    """The configuration with the key `hydra`, before values are resolved; `folder` is that of --config-dir."""
    more = [] if folder is None else [f"hydra.searchpath=[file://{folder}]"]
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose("run", [*settings, *more], return_hydra_config=True)


def compose_run(settings: Sequence[str], folder: Path | None = None) -> DictConfig:
    """The resolved configuration of a run."""
    config = compose_all(settings, folder)
    HydraConfig.instance().set_config(config)
    try:
        run = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        OmegaConf.resolve(run)
    finally:
        HydraConfig.instance().cfg = None
    return run


def expand_sweep(settings: Sequence[str], folder: Path | None = None) -> list[list[str]]:
    """The settings of each job of a sweep, the last setting varying fastest, as Hydra's own sweeper expands them."""
    parser = OverridesParser.create()
    given = parser.parse_overrides(list(settings))
    single = [override.input_line or "" for override in given if not override.is_sweep_override()]
    named = compose_all(single, folder).hydra.sweeper.params or {}
    swept = parser.parse_overrides([f"{key}={value}" for key, value in named.items()])
    keys = {override.key_or_group for override in given}
    overrides = [override for override in swept if override.key_or_group not in keys] + given
    return [list(job) for job in product(*map(list_values, overrides))]


def list_values(override: Override) -> list[str]:
    """An override, or one for each value of a sweep."""
    if not override.is_sweep_override():
        return [override.input_line or ""]
    return [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]


def list_misfits(config: Mapping[str, Any]) -> list[str]:
    """The settings that the target around them does not take, and those that a target lacks."""
    found: list[str] = []
    for place, node in walk(config):
        if not isinstance(node, Mapping) or "_target_" not in node:
            continue
        parameters = inspect.signature(get_object(node["_target_"])).parameters.values()
        names = {parameter.name for parameter in parameters}
        takes_all = any(parameter.kind in VARIABLE for parameter in parameters)
        given = {key for key in node if not key.startswith("_")}
        found += [f"{place}.{key} is unknown" for key in given - names if not takes_all]
        is_partial = node.get("_partial_", False) or place == "experiment"  # whose Run the runner passes
        needed = {p.name for p in parameters if p.default is p.empty and p.kind not in VARIABLE}
        found += [f"{place} lacks {key}" for key in needed - given if not is_partial]
    return found
