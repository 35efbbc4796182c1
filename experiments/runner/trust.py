"""Trust: which objects, environment variables and hosts a configuration may name.

A configuration may come from another person. Hydra calls whatever `_target_` names, `${oc.env:NAME}` reads a variable,
which may be a secret, and a URL may send it away. A configuration may therefore name only

- objects that the repository's own configuration names, Hydra's installed launchers and sweepers, and objects of
  packages that the command line allows (`--allow PACKAGE`); names are compared before anything is imported;
- variables that the repository's own configuration names, and those that the command line names, in a setting or as
  `--allow env:NAME`;
- hosts on this machine, and with `network=true` those that the command line names, in a setting or as
  `--allow host:NAME`.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from omegaconf import OmegaConf
from omegaconf.resolvers import oc

from core.configs import CONFIGS
from core.faults import SettingFault
from experiments.runner.redaction import referenced

BUILT, LOGGED = ("launcher", "sweeper", "callbacks"), ("job_logging", "hydra_logging")
BUILDING_PARTS = BUILT + LOGGED  # of the key `hydra`: those from which Hydra or Python's logging builds objects
LOGGING_OFF = {"version": 1, "root": None, "disable_existing_loggers": False}  # configs/run.yaml chooses it


def check_trusted(config: Any, allow: Collection[str] = ()) -> None:
    """Checks every target, key variable and URL of a resolved configuration.

    `allow` holds what it may name besides: packages, `env:NAME` and `host:NAME` (see `names_in`).

    Raises SettingFault with all that is refused, also for a value that Hydra would resolve a second time.
    """
    has_network = isinstance(config, Mapping) and config.get("network") is True
    if faults := list(_find_refused(config, "", frozenset(allow), has_network)):
        raise SettingFault("\n".join(faults))


def check_hydra_trusted(hydra: Mapping[str, Any], allow: Collection[str] = ()) -> None:
    """Checks what Hydra builds for itself in a sweep, from the resolved parts of the key `hydra`.

    Raises SettingFault, also for settings of Python's logging, which can call any function, and for environment
    variables that a job would get: they choose servers, proxies and libraries.
    """
    check_trusted({"hydra": {part: hydra[part] for part in BUILT}}, allow)
    if hydra["job"]["env_copy"]:
        raise SettingFault("hydra.job.env_copy must stay empty: jobs have the environment of the sweep")
    for name in hydra["job"]["env_set"]:
        if f"env:{name}" not in allow:
            raise SettingFault(f"hydra.job.env_set.{name} is refused: {_how_to_allow('env', name)}")
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


@cache
def own_variables() -> frozenset[str]:
    """The environment variables that the repository's configuration reads, and the usual one of a chat model's key."""
    texts = (file.read_text(encoding="utf-8") for file in CONFIGS.glob("**/*.yaml"))
    return frozenset({"OPENAI_API_KEY", *(name for text in texts for name in re.findall(r"\boc\.env: *(\w+)", text))})


def names_in(settings: Iterable[str]) -> list[str]:
    """The environment variables and hosts that settings of the command line name, as `--allow` takes them.

    >>> names_in(["ending=${oc.env:HOME}", "metric.key_variable=MY_KEY", "metric.base_url=https://api.example/v1"])
    ['env:HOME', 'env:MY_KEY', 'host:api.example']
    """
    named: list[str] = []
    for setting in settings:
        found = re.findall(r"\boc\.env: *(\w+)|\bkey_variable['\"]?[=:] *['\"]?(\w+)|\benv_set[.={]+(\w+)", setting)
        named += [f"env:{name}" for names in found for name in names if name]
        urls = re.findall(r"https?://[^\s'\",\]}]+", setting, re.IGNORECASE)
        named += [f"host:{host}" for url in urls if (host := urlsplit(url).hostname)]
    return named


@contextmanager
def reading_environment(allow: Collection[str]) -> Iterator[None]:
    """Within it, `${oc.env:NAME}` reads the variables that `allow` names as `env:NAME`, besides `own_variables`."""
    token = _allowed.set(frozenset(allow))
    try:
        yield
    finally:
        _allowed.reset(token)


_allowed: ContextVar[frozenset[str]] = ContextVar("allowed", default=frozenset())


def _read_variable(name: str, *default: str | None) -> str | None:
    """OmegaConf's `oc.env`, for variables that a configuration may read; their values are redacted from then on."""
    if name not in own_variables():
        if f"env:{name}" not in _allowed.get():
            raise SettingFault(f"the environment variable {name} is refused: {_how_to_allow('env', name)}")
        referenced.add(name)
    return oc.env(name, *default)


OmegaConf.register_new_resolver("oc.env", _read_variable, replace=True)


def _how_to_allow(kind: str, name: str) -> str:
    return f"neither configs/ nor the command line names it; --allow {kind}:{name} would allow it"


def _find_refused(
    node: Any, path: str, allow: frozenset[str], has_network: bool, is_built: bool = False
) -> Iterator[str]:
    """What is refused at or below `node`; `is_built` says whether an object is built from it."""
    match node:
        case Mapping():
            if "_target_" in node and not _is_trusted(node["_target_"], allow):
                yield _refusal(path, node["_target_"])
            variable = node.get("key_variable")
            if variable is not None and variable not in own_variables() and f"env:{variable}" not in allow:
                yield f"{path}.key_variable={variable} is refused: {_how_to_allow('env', variable)}"
            for key, value in node.items():
                where = f"{path}.{key}" if path else str(key)
                yield from _find_refused(value, where, allow, has_network, is_built or "_target_" in node)
        case list():
            for i, value in enumerate(node):
                yield from _find_refused(value, f"{path}[{i}]", allow, has_network, is_built)
        case str() if "${" in node:
            yield f"{path} must not hold ${{ after its references are resolved, but is {node!r}"
        case str() if is_built and re.match(r"\s*https?:", node, re.IGNORECASE):
            yield from _find_refused_host(node, path, allow, has_network)
        case _:
            pass


def _find_refused_host(url: str, path: str, allow: frozenset[str], has_network: bool) -> Iterator[str]:
    try:
        host = urlsplit(url.strip()).hostname
    except ValueError:
        host = None
    if host is None:
        yield f"{path} must be a URL with a host, but is {url!r}"
    elif not _is_here(host):
        if f"host:{host}" not in allow:
            yield f"{path}: the host {host} is refused: {_how_to_allow('host', host)}"
        elif not has_network:
            yield f"{path}: the host {host} is not this machine; network=true allows to ask it"


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


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
