"""Trust: what a configuration may name, and what the files of `--config-dir` may say.

Hydra calls whatever `_target_` names. A configuration can therefore name only the objects that `configs/` names, and
those of packages that the command line allows (`--allow PACKAGE`); names are compared before anything is imported.

A file of `--config-dir` may come from another person. It chooses numbers, words, models and files that are read. What
names a host, a key, the network, a launcher or a path that is written is the command line's alone; a file may only
repeat what `configs/` says of it. Hydra reads each file through `CheckedFolder`, so none takes part without a check.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hydra._internal.core_plugins.file_config_source import FileConfigSource  # has no public name
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig, OmegaConf
from omegaconf.resolvers import oc

from core.configs import CONFIGS
from core.errors import SettingError, format_value, suggest_similar
from core.hosts import is_this_machine
from experiments.runner.redaction import referenced

# The closed list: what is the command line's alone, unless `configs/` says the same.
ASKED = frozenset(("network", "download", "address", "base_url", "host", "hosts", "key_variable", "allow"))
WRITTEN = frozenset(("run_dir", "stages_dir", "output", "cache", "kept", "card", "cards"))
ALONE = ASKED | WRITTEN  # keys, wherever they stand
ALONE_THERE = frozenset(("logger", "logger.mode", "logger.entity", "trainer"))  # whole places
ALONE_AT_ROOT = frozenset(("name", "outputs", "hydra"))
RUNNERS = ("hydra/", "scale/")  # groups
BUILDING = frozenset(("_args_", "_partial_", "_recursive_", "_convert_"))  # keys that say how Hydra builds an object
RESOLVERS = frozenset(("oc.select", "oc.dict.keys", "oc.dict.values", "hydra", "now"))  # those that a file may use
REFERENCE = re.compile(r"\$\{([^:}$]*)(?=(.?))", re.DOTALL)  # up to the end of its name, or of its resolver's
ELSEWHERE = re.compile("://")  # another machine

FUNCTION = "judge.metrics.FunctionMetric.from_name"  # its setting `name` names an object too
COPIES = ("experiment.", "engine.")  # these groups repeat settings of other groups


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """`node` and every value below it, with their dotted paths.

    >>> list(walk({"a": [2]}))
    [('', {'a': [2]}), ('a', [2]), ('a[0]', 2)]
    """
    yield path, node
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from walk(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from walk(value, f"{path}[{i}]")


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value at or below `node` that is neither a mapping nor a list with values in it."""
    return ((place, value) for place, value in walk(node, path) if not (isinstance(value, Mapping | list) and value))


def check_trusted(config: Any, allow: Collection[str] = (), more: Collection[str] = ()) -> None:
    """Checks every target and URL of a resolved configuration.

    `allow` holds packages that targets may lie in, `more` further targets.

    Raises SettingError with all that is refused: also positional arguments, which have no names to check, and a value
    that Hydra would resolve a second time.
    """
    has_network = isinstance(config, Mapping) and config.get("network") is True
    faults: list[str] = []
    for place, node in walk(config):
        if isinstance(node, Mapping):
            start = f"{place}." if place else ""
            for key in ("_target_", *(["name"] if node.get("_target_") == FUNCTION else [])):
                faults += _refuse_target(f"{start}{key}", node[key], allow, more) if key in node else []
            if "_args_" in node:
                faults.append(f"{start}_args_ is refused: write the arguments of {node.get('_target_')} by name")
        elif isinstance(node, str) and "${" in node:
            faults.append(f"{place} must not hold ${{ after its references are resolved, but is {node!r}")
        elif isinstance(node, str) and not (has_network or place == "description" or _is_here(node)):
            faults.append(f"{place}: {format_value(node)} is not this machine; network=true allows to ask it")
    if faults:
        raise SettingError("\n".join(faults))


def _refuse_target(place: str, target: object, allow: Collection[str], more: Collection[str]) -> list[str]:
    if not isinstance(target, str):
        return [f"{place} must be a name, but is {target!r}"]
    if target in own_targets() or target in more or any(target.startswith(f"{each}.") for each in allow):
        return []
    why = f"configs/ does not name it; --allow {target.partition('.')[0]} would trust this package"
    return [f"{place}={target} is refused{suggest_similar(target, own_targets())}: {why}"]


def _is_here(text: str) -> bool:
    """Whether a text is no URL, or one of this machine."""
    if not re.match(r"\s*https?:", text, re.IGNORECASE):
        return True
    try:
        return is_this_machine(urlsplit(text.strip()).hostname or "")
    except ValueError:
        return False


@cache
def own_targets() -> frozenset[str]:
    """The objects that the repository's configuration names."""
    texts = (file.read_text(encoding="utf-8") for file in CONFIGS.glob("**/*.yaml"))
    return frozenset(name for text in texts for name in re.findall(r"\b_target_: *([\w.]+)", text))


def launcher_targets() -> frozenset[str]:
    """Hydra's installed launchers."""
    return frozenset(f"{each.__module__}.{each.__qualname__}" for each in Plugins.instance().discover(Launcher))


class CheckedFolder(FileConfigSource):
    """A folder of configurations. A file outside `configs/` is checked when Hydra reads it."""

    def load_config(self, config_path: str) -> ConfigResult:
        """Reads a file. Raises SettingError for one outside the folder, and for what it must not say."""
        file = Path(os.path.normpath(Path(self.path, config_path)))
        if not file.is_relative_to(self.path):
            raise SettingError(f"{config_path} lies outside the folder {self.path}")
        found = super().load_config(config_path)
        if not file.is_relative_to(CONFIGS):
            if config_path.startswith(RUNNERS):
                raise SettingError(f"{config_path} of --config-dir is refused: its group is the runner's alone")
            check_content(OmegaConf.to_container(found.config), f"{config_path} of --config-dir")
        return found


CheckedFolder.__name__ = FileConfigSource.__name__  # where a job's process registers Hydra's own again, this one stays
Plugins.instance()  # registers Hydra's own classes first
SourcesRegistry.instance().types["file"] = CheckedFolder


def check_content(content: Any, file: str) -> None:
    """Checks in a file's content what does not depend on its place in the configuration.

    Raises SettingError for what is not a mapping, and for values that say how objects are built, refer to more than
    settings, or name other machines.
    """
    if not isinstance(content, Mapping):
        raise SettingError(f"{file} must hold settings, but holds {format_value(content)}")
    faults: list[str] = []
    for place, node in walk(content):
        if isinstance(node, Mapping):
            said = (name for name in BUILDING & node.keys() if _how_built(node, name) not in _said())
            faults += [f"{name}: {format_value(node[name])} says how an object is built" for name in sorted(said)]
        elif isinstance(node, str):
            if ELSEWHERE.search(node) and place.rpartition(".")[2] != "description":
                faults.append(f"{place}: {format_value(node)} is not a file or a setting of this machine")
            for name, end in REFERENCE.findall(node):
                if end in ("$", "") or (end == ":" and name.strip() not in RESOLVERS):
                    faults.append(f"{place}: {format_value(node)} refers to more than settings")
    if faults:
        raise SettingError("\n".join(f"{file}: {fault}" for fault in faults))


def check_places(config: Any, given: Collection[str]) -> None:
    """Checks an unresolved configuration: that no file sets what is the command line's alone.

    `given` holds the places of the values that the command line gives. Raises SettingError.
    """
    refused = [place for place, value in leaves(config) if place not in given and _is_refused(place, value)]
    if refused:
        raise SettingError("\n".join(f"{place} must be set on the command line, not in a file" for place in refused))


def given_places(overrides: Iterable[Override], groups: Iterable[str]) -> set[str]:
    """The places of the values that settings of the command line give; a choice of a group gives none."""
    named = {group.partition("@")[0] for group in groups}
    values = (override for override in overrides if override.key_or_group not in named)
    return {place for override in values for place, _ in leaves(override.value(), override.key_or_group)}


def list_reads(config: DictConfig, settings: Iterable[str]) -> list[str]:
    """The files and folders of this machine that a resolved configuration names and the command line does not."""
    typed = "\n".join(settings)
    texts = ((place, value) for place, value in leaves(OmegaConf.to_container(config)) if isinstance(value, str))
    others = ((place, text) for place, text in texts if _place_alone(place) is None and not place.startswith(COPIES))
    return [f"{place}={text}" for place, text in others if text not in typed and os.path.exists(text)]  # noqa: PTH110


def _is_refused(place: str, value: Any) -> bool:
    """Whether a value at this place is the command line's alone, and not one that configs/ gives there.

    An empty value is none, except at the root, where `outputs: null` would be a folder of this name.
    """
    alone = _place_alone(place)
    is_empty = value == "???" or (value is None and place not in ALONE_AT_ROOT)
    return alone is not None and not is_empty and ("", alone, repr(value)) not in _said()


def _place_alone(place: str) -> str | None:
    """The end of a place from the first key that is the command line's alone; None if there is none.

    >>> _place_alone("experiment.output.path"), _place_alone("metric.model")
    ('output.path', None)
    """
    parts = re.split(r"[.\[\]]+", place)
    for i, part in enumerate(parts):
        if part in ALONE:
            return ".".join(parts[i:])
    is_other = parts[0] == "trainer" and parts[1:2] != [] and parts[1] not in _trainer_settings()
    return place if place in ALONE_THERE or parts[0] in ALONE_AT_ROOT or is_other else None


@cache
def _said() -> frozenset[tuple[str, str, str]]:
    """What configs/ says: (target, key, value) of the keys that build, ("", place, value) of the command line's."""
    found: set[tuple[str, str, str]] = set()
    for file in CONFIGS.glob("**/*.yaml"):
        content = OmegaConf.to_container(OmegaConf.load(file))
        is_global = file.parent == CONFIGS or "# @package _global_" in file.read_text(encoding="utf-8")
        group = "" if is_global else file.parent.relative_to(CONFIGS).as_posix().replace("/", ".")
        for place, node in walk(content, group):
            if isinstance(node, Mapping):
                found.update(_how_built(node, key) for key in BUILDING & node.keys())
            elif (alone := _place_alone(place)) is not None:
                found.add(("", alone, repr(node)))
    return frozenset(found)


def _how_built(node: Mapping[str, Any], key: str) -> tuple[str, str, str]:
    return str(node.get("_target_")), key, repr(node[key])


@cache
def _trainer_settings() -> frozenset[str]:
    return frozenset(str(key) for key in OmegaConf.load(CONFIGS / "trainer" / "auto.yaml"))


def _read_variable(name: str, *default: str | None) -> str | None:
    """OmegaConf's `oc.env`; the values of the variables that are read are redacted from then on."""
    referenced.add(name)
    return oc.env(name, *default)


OmegaConf.register_new_resolver("oc.env", _read_variable, replace=True)
