"""Trust: checks which objects a configuration names, because Hydra calls whatever `_target_` names.

The experiment, its logger and its trainer can name only objects that `configs/` names, and those of packages that the
command line allows (`allow=[PACKAGE]`). Names are compared before anything is imported. Hydra builds launchers and
callbacks from its own key, `hydra`, before any check here. So treat a configuration of another person like code.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from core.configs import CONFIGS
from core.errors import SettingError, suggest_similar
from core.settings import refuse_in_file


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields `node` and every value inside it, each with its dotted path.

    >>> list(walk({"a": [2]}))
    [('', {'a': [2]}), ('a', [2]), ('a[0]', 2)]
    """
    yield path, node
    if isinstance(node, Mapping):
        start = f"{path}." if path else ""
        for key, value in node.items():
            yield from walk(value, f"{start}{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from walk(value, f"{path}[{number}]")


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every value at or below `node`, with its dotted path, except mappings and lists that are not empty."""
    for place, value in walk(node, path):
        has_content = isinstance(value, Mapping | list) and len(value) > 0
        if not has_content:
            yield place, value


def check_typed(settings: Mapping[str, Any], overrides: Sequence[str]) -> None:
    """Raises SettingError if a file sets `allow` or `network`, or if `allow` is no list of packages."""
    allow = settings["allow"]
    is_list = isinstance(allow, list) and all(isinstance(name, str) for name in allow)
    if not is_list:
        raise SettingError(f"allow must be a list of packages, allow=[PACKAGE], but is {allow!r}")
    typed = {override.lstrip("+").partition("=")[0] for override in overrides}
    refuse_in_file(name for name in settings if settings[name] and name not in typed)


def check_trusted(config: Any, allow: Collection[str] = ()) -> None:
    """Checks every target of a resolved configuration; `allow` lists further allowed packages.

    Raises SettingError with all refused targets and positional arguments, which have no names.
    """
    faults: list[str] = []
    for place, node in walk(config):
        if not isinstance(node, Mapping):
            continue
        start = f"{place}." if place else ""
        if "_target_" in node:
            faults += _refuse_target(f"{start}_target_", node["_target_"], allow)
        if "_args_" in node:
            faults.append(f"{start}_args_ is refused: write the arguments of {node.get('_target_')} by name")
    if faults:
        raise SettingError("\n".join(faults))


def _refuse_target(place: str, target: object, allow: Collection[str]) -> list[str]:
    if not isinstance(target, str):
        return [f"{place} must be a name, but is {target!r}"]
    if target in own_targets() or any(target.startswith(f"{package}.") for package in allow):
        return []
    why = f"configs/ does not name it; allow=[{target.partition('.')[0]}] would trust this package"
    return [f"{place}={target} is refused{suggest_similar(target, own_targets())}: {why}"]


@cache
def own_targets() -> frozenset[str]:
    """Lists the objects that the repository's own configuration names."""
    texts = (file.read_text(encoding="utf-8") for file in CONFIGS.glob("**/*.yaml"))
    return frozenset(name for text in texts for name in re.findall(r"\b_target_: *([\w.]+)", text))
