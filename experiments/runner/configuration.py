"""Configuration: the settings of a run, composed and checked before anything is imported, loaded or written.

What is wrong is told with the key, what comes close to it and what is allowed there.
"""

import difflib
import inspect
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from core.faults import SettingFault
from experiments.runner.listing import CONFIGS, SCALES, group_options

ROOT = "run"

# A group without files: experiments choose their models by its name, as in `override /model: cdm/${scale}`.
for scale in SCALES:
    ConfigStore.instance().store(group="scale", name=scale, node={"scale": scale}, package="_global_")


def compose_run(overrides: Sequence[str], folders: Sequence[Path] = (CONFIGS,)) -> DictConfig:
    """The whole configuration of one run, every value resolved and given.

    Args:
        overrides: as on the command line, no sweeps.
        folders: the config folders, the one with `run.yaml` first.

    Raises SettingFault.
    """
    options = group_options(folders)
    with initialize_config_dir(str(folders[0]), version_base="1.3"):
        parsed = _parse(overrides)
        _check_choices(parsed, options)
        groups = [o for o in parsed if _is_choice(o, options)]
        known = _compose(groups, folders)
        _check_keys([o for o in parsed if not _is_choice(o, options)], known, options)
        config = _compose(parsed, folders)
    unknown = sorted({str(key) for key in config} - {str(key) for key in known})
    if unknown:
        raise _unknown_key(unknown[0], [str(k) for k in known if k != "hydra"], options)
    return resolved(config, options, folders)


def resolved(config: DictConfig, options: Mapping[str, list[str]], folders: Sequence[Path]) -> DictConfig:
    """The configuration without Hydra's own part, every value resolved.

    Raises SettingFault where one must be given and is not, or refers to one that does not exist.
    """
    run = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    missing = sorted(_missing_keys(OmegaConf.to_container(run, resolve=False)))
    if missing:
        chosen = config.hydra.runtime.choices
        raise SettingFault("\n".join(_missing(key, options, chosen, folders) for key in missing))
    HydraConfig.instance().set_config(config)  # ${hydra:...} reads it
    try:
        OmegaConf.resolve(run)
    except OmegaConfBaseException as error:
        raise SettingFault(_one_line(error)) from error
    finally:
        HydraConfig.instance().cfg = None
    return run


def expand_sweep(overrides: Sequence[str], folders: Sequence[Path] = (CONFIGS,)) -> list[list[str]]:
    """The overrides of every job of a sweep: all combinations, the last setting varying fastest.

    Raises SettingFault.
    """
    options = group_options(folders)
    with initialize_config_dir(str(folders[0]), version_base="1.3"):
        given = _parse(overrides)
        _check_choices(given, options)
        single = [o for o in given if _is_choice(o, options) and not o.is_sweep_override()]
        params = _compose(single, folders).hydra.sweeper.params or {}
        parsed = [*_parse([f"{key}={value}" for key, value in params.items()]), *given]
    values: dict[str, list[str]] = {}
    for override in parsed:
        key = override.get_key_element()
        if override.is_sweep_override():
            values[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            values[key] = [override.input_line or ""]
    return [list(job) for job in itertools.product(*values.values())]


def check_targets(node: Any, path: str = "") -> None:
    """Imports every `_target_` below `node` and checks its settings against the signature.

    Raises SettingFault for a target that does not exist, a setting that it does not take and one that it lacks.
    """
    for where, block in _targets(node, path):
        target = block["_target_"]
        try:
            built = get_object(target)
        except (ImportError, AttributeError, HydraException) as error:
            raise SettingFault(f"{where}._target_={target} cannot be imported: {_root_cause(error)}") from error
        parameters = inspect.signature(built).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        for key in block:
            if not key.startswith("_") and key not in parameters and not takes_any:
                raise _unknown_key(f"{where}.{key}", [f"{where}.{p}" for p in parameters], {})
        lacking = [
            name
            for name, p in parameters.items()
            if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and name not in block
        ]
        if lacking and not block.get("_partial_", False) and not block.get("_args_"):
            raise SettingFault(f"{where} needs {', '.join(lacking)} ({target}), which the configuration lacks")


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value at or below `node` that is no mapping and no list, with its dotted path.

    >>> list(leaves({"a": {"b": 1, "c": [2, 3]}}))
    [('a.b', 1), ('a.c[0]', 2), ('a.c[1]', 3)]
    """
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from leaves(value, f"{path}[{i}]")
    else:
        yield path, node


def _targets(node: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping with a `_target_` at or below `node`, with its dotted path."""
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield path, node
        for key, value in node.items():
            yield from _targets(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from _targets(value, f"{path}[{i}]")


def _parse(overrides: Sequence[str]) -> list[Override]:
    try:
        return OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as error:
        rule = "settings are written key=value, or 'key=\"value\"' for a value with marks or letters beyond a to z"
        raise SettingFault(f"{rule}: {_one_line(error)}") from error


def _compose(overrides: Sequence[Override], folders: Sequence[Path]) -> DictConfig:
    lines = [o.input_line or "" for o in overrides]
    try:
        return compose(ROOT, [*lines, *search_path(folders)], return_hydra_config=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise SettingFault(_one_line(error)) from error


def search_path(folders: Sequence[Path]) -> list[str]:
    """The Hydra override that makes the config folders after the first known."""
    more = ",".join(f"file://{folder}" for folder in folders[1:])
    return [f"hydra.searchpath=[{more}]"] if more else []


def _is_choice(override: Override, options: Mapping[str, list[str]]) -> bool:
    return override.key_or_group in options or override.key_or_group.startswith("hydra/")


def _check_choices(overrides: Iterable[Override], options: Mapping[str, list[str]]) -> None:
    """Raises where a name is not in its group, or a group is not chosen as it must be."""
    for override in overrides:
        key = override.key_or_group
        if key not in options or override.is_delete():
            continue
        if key in ("exp", "sweep") and not override.is_add():
            raise SettingFault(f"{key} is written with a plus: +{override.input_line}")
        raw = list(override.sweep_iterator()) if override.is_sweep_override() else [override.value()]
        for name in itertools.chain.from_iterable(n if isinstance(n, list) else [n] for n in raw):
            if name is not None and str(name) not in options[key]:
                raise SettingFault(
                    f"{key}={name}: there is no such {key}{_closest(str(name), options[key])}; "
                    f"allowed: {', '.join(options[key])}"
                )


def _check_keys(overrides: Iterable[Override], known: DictConfig, options: Mapping[str, list[str]]) -> None:
    """Raises where a changed setting is not in the configuration; `+key=value` adds one."""
    for override in overrides:
        if override.is_add() or override.is_force_add() or override.package is not None:
            continue
        path = override.key_or_group.split(".")
        node: Any = known
        for depth, key in enumerate(path):
            if not isinstance(node, DictConfig) or key not in node.keys():  # noqa: SIM118 (`in` is False for ???)
                parent = ".".join(path[:depth])
                there = [str(k) for k in node] if isinstance(node, DictConfig) else []
                siblings = [f"{parent}.{k}" if parent else k for k in there if k != "hydra" and not k.startswith("_")]
                raise _unknown_key(".".join(path), siblings, options if depth == 0 else {})
            if depth < len(path) - 1:
                node = OmegaConf.select(known, ".".join(path[: depth + 1]), throw_on_missing=False)


def _unknown_key(key: str, siblings: Sequence[str], options: Mapping[str, list[str]]) -> SettingFault:
    names = sorted({*siblings, *options} - {"exp", "sweep"})
    allowed = f"allowed there: {', '.join(names)}" if names else f"{key.rpartition('.')[0]} has no settings of its own"
    more = f" (+{key}=VALUE adds what its target takes besides)" if names and "." in key and not options else ""
    return SettingFault(f"{key} is not a setting{_closest(key, names)}; {allowed}{more}")


def _closest(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _missing_keys(node: Any, path: str = "") -> Iterator[str]:
    """The dotted paths of values that are ???; OmegaConf.missing_keys stumbles over interpolations of such values."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _missing_keys(value, f"{path}.{key}" if path else str(key))
    elif node == "???":
        yield path


def _missing(key: str, options: Mapping[str, list[str]], chosen: DictConfig, folders: Sequence[Path]) -> str:
    """What to say of a value that must be given: the choices of a group, or the comment beside its ???."""
    if key in options:
        return f"{key} must be given: {key}=NAME, one of {', '.join(options[key])}"
    files = [f"{ROOT}.yaml", *(f"{group}/{name}.yaml" for group, name in chosen.items() if name is not None)]
    own = [file for file in files if file.split("/")[0] == key.split(".")[0]] or files
    comment = re.compile(rf"^\s*{re.escape(key.split('.')[-1])}: *\?\?\? *# *(.+)$", re.MULTILINE)
    texts = [
        (folder / file).read_text(encoding="utf-8") for folder in folders for file in own if (folder / file).is_file()
    ]
    found = next((match.group(1).strip() for text in texts if (match := comment.search(text))), None)
    return f"{key} must be given: {key}=VALUE" + (f", {found}" if found else "")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return _one_line(error)
