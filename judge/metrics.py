"""Metrics by name, with the settings of `configs/metric/NAME.yaml`, and functions of your own as metrics."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, cast

import numpy as np
import yaml
from numpy.typing import ArrayLike

from core.configs import CONFIGS
from core.errors import InputError, SettingError, check_names, printable, suggest_similar
from core.example import Example
from core.extras import named_extras
from core.scores import Metric, Scores, require
from core.selection import score_complete
from core.signature import signature
from core.stages import fingerprint

MetricFunction = Callable[..., "ArrayLike | Mapping[str, ArrayLike]"]
REQUIRED = "???"  # the value of a setting that has no default
# The packages of functions that a run's configuration may name; None in Python, where the caller names them
importable: ContextVar[Collection[str] | None] = ContextVar("importable", default=None)


def load_metric(metric: str | Metric | MetricFunction, *, network: bool = False, **settings: Any) -> Metric:
    """The metric of a name with these settings; other settings are those of `configs/metric/NAME.yaml`.

    `metric` may also be a function `f(examples, **settings)` that returns a score per example, or a metric, which is
    returned as it is. The first call of a process decides whether models may be fetched from the hub (`network`). A
    mapping changes some settings of an inner object. A value that refers to a run (`${stages_dir}`) is None here.

    Raises SettingError for an unknown metric, for an unknown or missing setting and for a wrong value;
    MissingModelError for a model that does not exist here.

    >>> load_metric("bleu", order=2).signature.partition("|")[0]
    'bleu2'
    """
    if isinstance(metric, str):
        config = read_config(metric)
        if not network:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the target imports the hub's library
        with named_extras():
            return build(complete_settings(metric, config, settings))
    if inspect.isroutine(metric):
        return FunctionMetric(metric, settings)
    if isinstance(metric, type) or not isinstance(metric, Metric):
        raise SettingError(f"a metric is a name, a metric or a function, but got {printable(repr(metric))}")
    if settings:
        raise SettingError(f"a metric that was built takes no settings, but got {', '.join(settings)}")
    return metric


def read_config(name: str) -> dict[str, Any]:
    """The settings of a metric as plain values, with `_target_`; None in place of references. Raises SettingError."""
    if name not in (names := sorted(file.stem for file in (CONFIGS / "metric").glob("*.yaml"))):
        similar = suggest_similar(name, names)
        raise SettingError(f"{printable(name)}: there is no such metric{similar}; allowed: {', '.join(names)}")
    return _drop_references(yaml.safe_load((CONFIGS / "metric" / f"{name}.yaml").read_text(encoding="utf-8")))


def _drop_references(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _drop_references(value) for key, value in node.items()}
    return None if isinstance(node, str) and "${" in node else node


def complete_settings(name: str, config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with some settings replaced. Raises SettingError for an unknown setting and a missing one."""
    parameters = inspect.signature(resolve_name(config["_target_"])).parameters.values()
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
    check_names(settings, sorted({key for key in config if not key.startswith("_")} | named), name)
    found = {**config, **settings}
    for key, default in config.items():
        if isinstance(default, Mapping) and "_target_" in default and isinstance(found[key], Mapping):
            found[key] = complete_settings(f"{name}.{key}", default, settings.get(key, {}))
    if missing := [key for key, value in found.items() if value == REQUIRED]:
        raise SettingError("\n".join(f"{name} needs {key}: pass {key}=VALUE" for key in missing))
    return found


def build(config: Any) -> Any:
    """The object that a configuration of plain values names by `_target_`; those inside it are built first."""
    if isinstance(config, Mapping):
        made = {key: build(value) for key, value in config.items() if key not in ("_target_", "_convert_")}
        return resolve_name(config["_target_"])(**made) if "_target_" in config else made
    return [build(value) for value in config] if isinstance(config, list) else config


@dataclass(frozen=True)
class FunctionMetric:
    """A plain function as a metric: its name, the hash of its source and its settings are the signature.

    The source is that of its module, or of the function itself where there is no such file (a notebook). Other modules
    that it imports are not part of the hash.

    Raises SettingError for a function without source, for settings that it does not take, and for a wrong result.
    """

    requires = require()
    # takes a list of Examples and the settings; returns an array of shape (n,), higher is better, or a mapping from
    # aspect to such arrays. NaN and infinity stand for examples without a score
    function: MetricFunction
    # keyword arguments
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self.signature
        try:
            inspect.signature(self.function).bind([], **self.settings)
        except TypeError as error:
            raise SettingError(f"{self.name} is called as f(examples, **settings), but {error}") from None

    @classmethod
    def from_name(cls, name: str, settings: Mapping[str, Any] | None = None) -> FunctionMetric:
        """The metric of `MODULE.FUNCTION`. Raises SettingError where there is none, and where it is not allowed."""
        allowed = importable.get()
        if allowed is not None and not any(name.startswith(f"{package}.") for package in allowed):
            raise SettingError(f"name={name} is refused: --allow {name.partition('.')[0]} would trust this package")
        try:
            found = resolve_name(name)
        except (ImportError, AttributeError, ValueError) as error:
            raise SettingError(f"name={name} must be MODULE.FUNCTION on Python's path (PYTHONPATH): {error}") from error
        if not inspect.isroutine(found):
            raise SettingError(f"name={name} must be a function, but is {printable(repr(found))}")
        return cls(cast(MetricFunction, found), settings or {})

    @property
    def name(self) -> str:
        """Module and name of the function."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def signature(self) -> str:
        """The name, the hash of the source and the settings."""
        module = inspect.getmodule(self.function)
        try:
            source = inspect.getsource(module if getattr(module, "__file__", None) and module else self.function)
        except (OSError, TypeError):
            what = f"the source of {self.name} is part of its signature, but cannot be read: write it in a file"
            raise SettingError(what) from None
        shown: dict[str, Any] = {f"settings.{key}": _as_setting(value) for key, value in self.settings.items()}
        try:
            return signature(self.name, source=fingerprint(source), **shown)
        except ValueError as error:
            raise SettingError(str(error)) from None

    def score(self, examples: Sequence[Example]) -> Scores:
        """The scores of the function; NaN and infinity are NaN with a reason. Raises RuntimeError where it fails.

        The function is not asked about empty answers, which have no score.
        """
        return score_complete(examples, (), self.name, self._call)

    def _call(self, examples: Sequence[Example]) -> Scores:
        try:
            found = self.function(list(examples), **self.settings)
        except (InputError, SettingError):
            raise
        except Exception as error:
            raise RuntimeError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        aspects = found if isinstance(found, Mapping) else {"score": found}
        if not aspects:
            raise SettingError(f"{self.name} must return scores, but returned an empty mapping")
        values = {str(aspect): self._check(column, len(examples)) for aspect, column in aspects.items()}
        reasons: list[str | None] = [None] * len(examples)
        for aspect, column in values.items():
            for i in np.flatnonzero(~np.isfinite(column)):
                said = f"{self.name} returned {column[i]}" + (f" for {aspect}" if len(values) > 1 else "")
                reasons[i] = said if reasons[i] is None else f"{reasons[i]}; {said}"
        known = {aspect: np.where(np.isfinite(column), column, np.nan) for aspect, column in values.items()}
        return Scores(known, self.signature, reasons)

    def _check(self, column: ArrayLike, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        try:
            values = np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            raise SettingError(
                f"{self.name} must return numbers, but returned {printable(repr(column))[:60]}"
            ) from None
        if values.shape != (n,):
            rule = f"{self.name} must return one number per example, an array of shape ({n},)"
            raise SettingError(f"{rule}, but returned the shape {values.shape}")
        return values


def _as_setting(value: Any) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
