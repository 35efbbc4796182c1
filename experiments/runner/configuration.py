"""Configuration: checks the settings that Hydra composed, and finds their names for messages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from core.errors import SettingError, causes
from core.settings import Seed, Several, Text, check, one_of
from experiments.runner.trust import leaves
from report.results import ENDINGS

LOGGER = "logger."  # whose mode may be offline, as an encoder
CUES = ("ridge", "none")
REFERENCE = re.compile(r"\$\{([\w.]+)\}")
PLACE = re.compile(r"full_key: (\S+)")  # in Hydra's message


def resolve(config: DictConfig) -> dict[str, Any]:
    """Resolves a configuration in place; returns its plain values.

    Raises SettingError for missing required settings, references to unknown settings, and wrong values of common
    settings.
    """
    given = leaves(OmegaConf.to_container(config))
    missing = sorted(key for key, value in given if value == MISSING)
    if missing:
        raise SettingError("\n".join(f"{key} must be given: {key}=VALUE" for key in missing))
    try:
        OmegaConf.resolve(config)
    except OmegaConfBaseException as error:
        raise SettingError(" ".join(str(error).split())) from error
    check(Seed, seed=config.seed)
    check(one_of(CUES), cues=config.cues)
    check(Several[one_of(ENDINGS)], plots=[*config.plots])
    check(bool, network=config.network, dry_run=config.dry_run)
    check(Text, stages_dir=config.stages_dir)
    return OmegaConf.to_container(config)  # pyright: ignore[reportReturnType]


def build_experiment(config: DictConfig, unresolved: Mapping[str, Any]) -> Any:
    """Builds the experiment's function with its arguments; the runner passes the Run.

    Raises SettingError, with the whole key, for a setting that an argument refuses.
    """
    try:
        return instantiate(config.experiment, _convert_="all", _partial_=True)
    except InstantiationException as error:
        fault = next((cause for cause in causes(error) if isinstance(cause, SettingError)), None)
        place = PLACE.search(str(error))
        if fault is None or place is None:
            raise
        lines = (name_line(line, place[1], unresolved) for line in str(fault).splitlines())
        raise SettingError("\n".join(lines)) from error


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
    node: Any = unresolved
    keys: list[str] = []
    for key in place.split("."):
        if not isinstance(node, Mapping) or key not in node:
            return None
        node = node[key]
        keys.append(key)
        while isinstance(node, str) and (reference := REFERENCE.fullmatch(node)):
            keys = reference[1].split(".")
            node = _select(keys, unresolved)
    return ".".join(keys)


def _select(keys: Sequence[str], unresolved: Mapping[str, Any]) -> Any:
    node: Any = unresolved
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def name_settings(unresolved: Mapping[str, Any], value: str) -> list[str]:
    """Lists the settings whose value is this model, without settings that refer to another setting."""
    places = [place for place, leaf in leaves(unresolved) if leaf == value]
    return [place for place in places if not place.startswith(LOGGER)]
