"""Configuration: the settings of a run, composed by Hydra and checked before anything is loaded or written.

An error message names the key, similar names, and the allowed ones.
"""

import inspect
import logging
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper  # has no public name
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import RunMode
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError

from core.configs import CONFIGS
from core.errors import SettingError, causes, suggest_similar
from core.settings import Text, check
from experiments.runner.trust import check_places, check_trusted, given_places, launcher_targets, leaves, walk
from experiments.runner.words import SCALES, SEVERAL_METRICS, group_options, quote

ROOT = "run"
LONGEST_REASON = 300  # characters of what Hydra says about a setting that it cannot read
LAUNCHER = ("hydra/launcher", "hydra.launcher.")  # what a command line may set of the key `hydra`
OF_A_RUN = ("runtime", "overrides", "searchpath", "sweeper.params", "job.override_dirname")  # not chosen by a file
logging.getLogger("hydra.utils").disabled = True  # what it logs, it raises too
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

# The config group `scale` exists in memory only. Experiments use its name in `override /model: cdm/${scale}`, and
# `from_scratch` where data are needed only to train the small models.
for scale in SCALES:
    node = {"scale": scale, "from_scratch": scale == "tiny"}
    ConfigStore.instance().store(group="scale", name=scale, node=node, package="_global_")


def compose_run(
    settings: Sequence[str], folders: Sequence[Path] = (CONFIGS,), allow: Collection[str] = ()
) -> DictConfig:
    """The whole configuration of one run with every value resolved, without the key `hydra`.

    Raises SettingError, also for a required value that is missing, for a reference to a value that does not exist, and
    for what is not trusted; `allow` holds further names that are (see `trust`).
    """
    config = compose_settings(settings, folders)
    run = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    if run.get("metrics") and OmegaConf.is_missing(run, "metric"):
        run.metric = None  # metrics=[NAME] takes its place
    missing = [key for key, value in leaves(OmegaConf.to_container(run, resolve=False)) if value == "???"]
    if missing:
        raise SettingError("\n".join(_missing(key, folders) for key in sorted(missing)))
    try:
        with _hydra_references(config):
            OmegaConf.resolve(run)
    except OmegaConfBaseException as error:
        raise explain(error, folders) from error
    check(Text, run_dir=run.run_dir, stages_dir=run.stages_dir)
    check(bool, dry_run=run.dry_run)
    check_trusted(OmegaConf.to_container(run), allow)
    return run


def compose_settings(settings: Sequence[str], folders: Sequence[Path] = (CONFIGS,)) -> DictConfig:
    """The configuration as Hydra composes it: with the key `hydra`, and before values are resolved.

    `settings` are as `as_settings` gives them, without sweeps; the first of the folders has `run.yaml`.

    Raises SettingError.
    """
    with _explained(folders):
        config, parsed = _load(settings, folders, RunMode.RUN)
        _check_added_keys(parsed, config, folders)
    return config


@contextmanager
def _explained(folders: Sequence[Path]) -> Iterator[None]:
    """Hydra's start, and its errors as SettingError."""
    with initialize_config_dir(str(folders[0]), version_base="1.3"):
        try:
            yield
        except SettingError:
            raise
        except (HydraException, OmegaConfBaseException, YAMLError, ValueError, RecursionError) as error:
            raise explain(error, folders) from error


def _load(settings: Sequence[str], folders: Sequence[Path], mode: RunMode) -> tuple[DictConfig, list[Override]]:
    """The composed configuration, with everything checked but the targets of the experiment; and the parsed settings.

    Hydra's own compose would build Hydra's callbacks.
    """
    parsed = OverridesParser.create().parse_overrides(list(settings))
    own: list[str] = []
    for override in parsed:
        line, key = override.input_line or "", override.key_or_group
        if "hydra" in (re.split(r"[./]", place)[0] for place in (key, override.package or "")):
            if not key.startswith(LAUNCHER):
                instead = "run_dir=FOLDER, -m and --config-dir=FOLDER are for the rest"
                raise SettingError(f"{line} is refused: hydra/launcher alone can be set; {instead}")
            own.append(line)
    config = _compose([*settings, *search_path(folders)], mode)
    with _hydra_references(config):
        launcher = OmegaConf.to_container(config.hydra.launcher, resolve=True)
    check_trusted({"hydra.launcher": launcher}, more=launcher_targets())
    if folders[1:]:
        given = given_places(parsed, config.hydra.runtime.choices)
        check_places({key: node for key, node in _plain(config).items() if key != "hydra"}, given)
        for place, value in _sweep_values(config):
            check_places({place: value}, given)
        if _hydra_settings(config) != _hydra_settings(_compose(own, mode)):
            raise SettingError("of the key hydra, a file of --config-dir may set hydra.sweeper.params alone")
    return config, parsed


def _compose(settings: Sequence[str], mode: RunMode = RunMode.RUN) -> DictConfig:
    return GlobalHydra.instance().config_loader().load_configuration(ROOT, list(settings), mode, from_shell=False)


def _plain(config: DictConfig) -> dict[str, Any]:
    return OmegaConf.to_container(config, resolve=False)  # pyright: ignore[reportReturnType]


def _hydra_settings(config: DictConfig) -> dict[str, Any]:
    """What Hydra is set to, but for the settings of a sweep and what it knows about this run."""
    return {place: value for place, value in leaves(_plain(config.hydra)) if not place.startswith(OF_A_RUN)}


def _sweep_params(config: DictConfig) -> list[str]:
    return [f"{key}={value}" for key, value in (config.hydra.sweeper.get("params") or {}).items()]


def _sweep_values(config: DictConfig) -> Iterator[tuple[str, Any]]:
    for override in OverridesParser.create().parse_overrides(_sweep_params(config)):
        is_drawn = override.is_sweep_override() and override.is_discrete_sweep()
        values = list(override.sweep_iterator() if is_drawn else [override.value()])
        places = (override.key_or_group.replace("/", "."), override.package)
        yield from ((place, value) for place in places if place for value in values)


def list_files(settings: Sequence[str], folders: Sequence[Path] = (CONFIGS,)) -> list[tuple[str, str, str]]:
    """The config files of a run: name (`metric/bleu`), package (`metric`) and text; the experiment's first.

    Raises SettingError as `compose_settings` does.
    """
    compose_settings(settings, folders)
    with initialize_config_dir(str(folders[0]), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        given = [*settings, *search_path(folders)]
        files = loader.compute_defaults_list(ROOT, given, RunMode.RUN).defaults
    named = [(str(file.config_path), file.package or "") for file in files]
    named.sort(key=lambda file: (not file[0].startswith("exp/"), file[0] == ROOT))
    paths = [(*file, folder / f"{file[0]}.yaml") for file in named for folder in folders]
    return [(name, package, path.read_text(encoding="utf-8")) for name, package, path in paths if path.is_file()]


def _check_added_keys(parsed: Sequence[Override], config: DictConfig, folders: Sequence[Path]) -> None:
    """Raises SettingError for `+key=value` where the configuration has no such key at its root."""
    roots = [(override.package or override.key_or_group).partition(".")[0] for override in parsed]
    added = {
        key
        for key, override in zip(roots, parsed, strict=True)
        if (override.is_add() or override.is_force_add()) and "." not in override.key_or_group
        if key not in config.hydra.runtime.choices
    }
    others = [override.input_line or "" for key, override in zip(roots, parsed, strict=True) if key not in added]
    known = [str(key) for key in (_compose([*others, *search_path(folders)]) if added else ()) if key != "hydra"]
    for key in added.difference(known):
        raise SettingError(f"{_unknown_key(key, known, folders)}\n{SEVERAL_METRICS}")


@contextmanager
def _hydra_references(config: DictConfig) -> Iterator[None]:
    """Lets references such as ${hydra:job.num} read this configuration."""
    HydraConfig.instance().set_config(config)
    try:
        yield
    finally:
        HydraConfig.instance().cfg = None


def expand_sweep(settings: Sequence[str], folders: Sequence[Path] = (CONFIGS,)) -> list[list[str]]:
    """The settings of every job of a sweep: all combinations; the last setting varies fastest.

    Raises SettingError.
    """
    with _explained(folders):
        config, parsed = _load(settings, folders, RunMode.MULTIRUN)
        parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
        own = [override.input_line or "" for override in parsed if not override.is_hydra_override()]
        return BasicSweeper.split_arguments(parser.parse_overrides([*_sweep_params(config), *own]), None)[0]


def search_path(folders: Sequence[Path]) -> list[str]:
    """The Hydra override that adds the config folders after the first."""
    more = ",".join(quote(f"file://{folder}") for folder in folders[1:])
    return [f"hydra.searchpath=[{more}]"] if more else []


def complete_experiment(config: Mapping[str, Any]) -> dict[str, Any]:
    """The node `experiment` of a resolved configuration with all arguments of its function, for Hydra to build.

    An argument that the node lacks is the setting of its name: at the top level, or in `model` where that is missing
    or null. A dataclass that has no such setting is built in the same way from the settings named as its fields.

    Raises SettingError for a function that does not exist, for an unknown argument and for a missing one.
    """
    given = config["experiment"]
    if not isinstance(given, Mapping) or not isinstance(given.get("_target_"), str):
        raise SettingError(f"experiment._target_ must name a function, but experiment is {given!r}")
    model = config.get("model") or {}
    if not isinstance(model, Mapping):
        raise SettingError(f"model must hold settings, but is {model!r}")
    settings = {**config, **{name: value for name, value in model.items() if config.get(name) is None}}
    function = _find_target(given["_target_"], "experiment")
    check_targets(config.get("data"), "data")  # named as it is typed
    run, *parameters = inspect.signature(function).parameters.values()  # the runner passes the Run
    node = _complete(given, function, parameters, settings)
    check_targets({**node, run.name: None}, "experiment")
    return {**node, "_convert_": "all", "_partial_": True}


def _complete(
    given: Mapping[str, Any], owner: Any, parameters: Iterable[inspect.Parameter], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The given arguments and those that the settings have, in the order of the parameters."""
    found: dict[str, Any] = {}
    for parameter in parameters:
        name, kind = parameter.name, parameter.annotation
        if isinstance(kind, str):  # of a module with `from __future__ import annotations`, which may lack other names
            kind = vars(sys.modules[owner.__module__]).get(kind)
        is_set = name in given or name in settings or parameter.default is not parameter.empty
        fields = given.get(name, {}) if name in given or not is_set else None
        if isinstance(kind, type) and is_dataclass(kind) and isinstance(fields, Mapping) and "_target_" not in fields:
            own = inspect.signature(kind).parameters.values()
            target = f"{kind.__module__}.{kind.__qualname__}"
            found[name] = {"_target_": target, **_complete(fields, kind, own, settings)}
        elif name in given or name in settings:
            found[name] = given[name] if name in given else settings[name]
    return {**found, **{name: value for name, value in given.items() if name not in found}}


def check_targets(node: Any, path: str = "") -> None:
    """Imports every `_target_` at or below `node` and checks its settings against the signature.

    Raises SettingError for a target that does not exist, for an unknown setting and for a missing one.
    """
    for where, block in walk(node, path):
        if not (isinstance(block, Mapping) and "_target_" in block):
            continue
        parameters = inspect.signature(_find_target(block["_target_"], where)).parameters
        kinds = {parameter.kind for parameter in parameters.values()}
        unknown = [key for key in block if not key.startswith("_") and key not in parameters]
        if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise _unknown_key(f"{where}.{unknown[0]}", list(parameters))
        required = [p.name for p in parameters.values() if p.default is p.empty and p.kind not in VARIABLE]
        lacking = ", ".join(name for name in required if name not in block)
        if lacking and not block.get("_partial_", False):
            raise SettingError(f"{where} needs {lacking} ({block['_target_']}), which the configuration lacks")


def _find_target(target: str, where: str) -> Any:
    try:
        return get_object(target)
    except (ImportError, AttributeError, HydraException) as error:
        raise SettingError(f"{where}._target_={target} cannot be imported: {_root_cause(error)}") from error


def explain(error: Exception, folders: Sequence[Path]) -> SettingError:
    """Turns an error of Hydra into a fault of one line that says what is allowed."""
    cause = error.__cause__
    if isinstance(error, RecursionError):
        return SettingError("a setting has too many brackets inside one another to be read")
    if isinstance(cause, SettingError):
        return cause
    if isinstance(error, OverrideParseException):
        rule = "write settings as key=value, or as 'key=\"value\"' if the value has special or non-ASCII characters"
        found = _one_line(error)
        return SettingError(f"{rule}: {found[:LONGEST_REASON]}{'…' * (len(found) > LONGEST_REASON)}")
    if isinstance(error, MissingConfigException) and error.missing_cfg_file is not None:
        return _unknown_choice(error.missing_cfg_file, folders, error.options or ())
    if isinstance(cause, ConfigAttributeError | ConfigKeyError) and cause.parent_node is not None:
        siblings = [str(key) for key in cause.parent_node] if isinstance(cause.parent_node, DictConfig) else []
        return _unknown_key(str(cause.full_key), siblings, folders)
    return SettingError(_one_line(error) or _root_cause(error))


def _unknown_choice(file: str, folders: Sequence[Path], options: Sequence[str]) -> SettingError:
    """The fault for an unknown option of a config group; `file` is GROUP/NAME, such as `model/cdm/huge`."""
    group, _, name = file.rpartition("/") if file.startswith("hydra/") else file.partition("/")
    names = list(options) if group.startswith("hydra/") else group_options(folders).get(group, list(options))
    return SettingError(
        f"{group}={name}: there is no such {group}{suggest_similar(name, names)}; allowed: {', '.join(names)}"
    )


def _unknown_key(key: str, siblings: Sequence[str], folders: Sequence[Path] = ()) -> SettingError:
    parent = key.rpartition(".")[0]
    groups = group_options(folders) if not parent else ()  # a group may have no choice yet, as in `data=NAME`
    inside = [f"{parent}.{name}" if parent else name for name in siblings if not name.startswith("_")]
    names = sorted({*inside, *groups} - {"exp", "sweep", "hydra", "hydra/launcher"})
    if key in names:  # an empty group, of which a setting is given
        return SettingError(_missing(key, folders))
    more = f" (+{key}=VALUE adds another argument of its target)" if "_target_" in siblings else ""
    if not names:
        more = "" if siblings else f" (+{key}=VALUE adds one)"
        return SettingError(f"{key} is not a setting; {parent} has no settings of its own{more}")
    return SettingError(f"{key} is not a setting{suggest_similar(key, names)}; allowed there: {', '.join(names)}{more}")


def _missing(key: str, folders: Sequence[Path]) -> str:
    """The message for a missing value, with the options of the group of this name."""
    names = group_options(folders).get(key)
    return f"{key} must be given: {key}=" + (f"NAME, one of {', '.join(names)}" if names else "VALUE")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _root_cause(error: BaseException) -> str:
    *_, root = causes(error)
    return _one_line(root)
