"""Trust: which objects a configuration may name in `_target_`.

Hydra calls whatever `_target_` names, and a configuration may come from another person. It may therefore name only
what the repository's own configuration names, Hydra's installed launchers and sweepers, and objects of packages that
the command line allows (`--allow PACKAGE`). Names are compared before anything is imported.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper

from core.faults import SettingFault
from experiments.runner.listing import CONFIGS

BUILT, LOGGED = ("launcher", "sweeper", "callbacks"), ("job_logging", "hydra_logging")
BUILDING_PARTS = BUILT + LOGGED  # of the key `hydra`: those from which Hydra or Python's logging builds objects
LOGGING_OFF = {"version": 1, "root": None, "disable_existing_loggers": False}  # configs/run.yaml chooses it


def check_trusted(config: Any, allow: Collection[str] = ()) -> None:
    """Checks every target of a resolved configuration; `allow` holds further packages whose objects it may name.

    Raises SettingFault with all that is refused: a target, and a value that Hydra would resolve a second time.
    """
    if faults := list(_find_refused(config, "", frozenset(allow))):
        raise SettingFault("\n".join(faults))


def check_hydra_trusted(hydra: Mapping[str, Any], allow: Collection[str] = ()) -> None:
    """Checks what Hydra builds for itself in a sweep, from the resolved parts of the key `hydra`.

    Raises SettingFault, also for settings of Python's logging, which can call any function.
    """
    check_trusted({"hydra": {part: hydra[part] for part in BUILT}}, allow)
    for part in LOGGED:
        if hydra[part] != LOGGING_OFF:
            raise SettingFault(f"hydra.{part} must stay as it is, because the runner writes run.log itself")


@cache
def own_targets() -> frozenset[str]:
    """The objects that the repository's configuration names, and Hydra's installed launchers and sweepers."""
    texts = (file.read_text(encoding="utf-8") for file in CONFIGS.glob("**/*.yaml"))
    named = {name for text in texts for name in re.findall(r"\b_target_: *([\w.]+)", text)}
    plugins = Plugins.instance()
    built = [*plugins.discover(Launcher), *plugins.discover(Sweeper)]
    return frozenset(named | {f"{each.__module__}.{each.__qualname__}" for each in built})


def _find_refused(node: Any, path: str, allow: frozenset[str]) -> Iterator[str]:
    match node:
        case Mapping():
            if "_target_" in node and not _is_trusted(node["_target_"], allow):
                yield _refusal(path, node["_target_"])
            for key, value in node.items():
                yield from _find_refused(value, f"{path}.{key}" if path else str(key), allow)
        case list():
            for i, value in enumerate(node):
                yield from _find_refused(value, f"{path}[{i}]", allow)
        case str() if "${" in node:
            yield f"{path} must not hold ${{ after its references are resolved, but is {node!r}"
        case _:
            pass


def _is_trusted(target: object, allow: frozenset[str]) -> bool:
    return isinstance(target, str) and (target in own_targets() or any(target.startswith(f"{p}.") for p in allow))


def _refusal(path: str, target: object) -> str:
    where = f"{path}._target_" if path else "_target_"
    if not isinstance(target, str):
        return f"{where} must be a name, but is {target!r}"
    close = difflib.get_close_matches(target, own_targets(), n=1, cutoff=0.8)
    similar = f" (did you mean {close[0]}?)" if close else ""
    package = target.partition(".")[0]
    return (
        f"{where}={target} is refused{similar}: configs/ does not name it; --allow {package} would trust this package"
    )
