"""Loads metrics by name, with the settings of `configs/metric/NAME.yaml`, and wraps your functions as metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError, MissingModelError, SettingError, fault, printable, suggest_similar
from core.example import Example
from core.extras import suggest_extra
from core.hosts import set_network
from core.objects import find_object
from core.scores import Field, Metric, NamedByModel, Scores, name_models, require, required_fields
from core.selection import score_complete
from core.signature import signature
from core.stages import fingerprint
from judge.yaml_objects import (
    REQUIRED,
    build,
    check_targets,
    complete_settings,
    fill_references,
    importable,
    list_configs,
    named_settings,
    read_object,
)

MetricFunction = Callable[..., "ArrayLike | Mapping[str, ArrayLike]"]
MODELS = ("model", "language_model", "encoder", "amateur", "expert")  # settings that name one, or several
OWN_NAMES = ("offline", "naive")  # of models that are no folders and no names of the hub
AnyMetric: TypeAlias = "str | Metric | MetricFunction | MetricPlan"
Metrics: TypeAlias = "AnyMetric | Sequence[AnyMetric] | Mapping[str, AnyMetric]"


@dataclass(frozen=True)
class MetricPlan:
    """The complete configuration of a metric, before its models are loaded."""

    # as it was named
    name: str
    # plain values; `_target_` names the object, also of the objects inside it
    config: Mapping[str, Any]
    # how its settings are called in messages: `--metric.` before their names
    place: str = ""
    # whether other machines may be asked
    network: bool = False

    @property
    def requires(self) -> tuple[Field, ...]:
        """The fields that the metric reads besides the text."""
        target = find_object(self.config["_target_"])
        return required_fields(getattr(target, "__self__", target), self.config)  # the class of `from_pretrained`

    def build(self) -> Metric:
        """Builds the metric.

        Raises SettingError for a wrong value, MissingModelError for a model that is not on this machine.
        """
        set_network(self.network)
        with suggest_extra():
            return build(self.config, self.place)


Planned = Metric | MetricPlan


def plan_metric(
    metric: AnyMetric,
    settings: Mapping[str, Any] | None = None,
    *,
    network: bool = False,
    stages: Path | None = None,
    place: str = "",
) -> Planned:
    """Plans a metric, given by name or YAML file, with these settings; a metric object is returned unchanged.

    Messages put `place` in front of its settings (`MetricPlan.place`). The metric may keep replies and references in
    `stages`. Raises errors as `load_metric` does, but loads no model.
    """
    given = dict(settings or {})
    if isinstance(metric, str):
        config = fill_references(read_config(metric), None if stages is None else str(stages))
        set_network(network)
        if holds_names(config, given):  # else the names are the fault, which the metric itself knows
            check_models({**config, **given}, place)
        with suggest_extra():
            plan = MetricPlan(metric, complete_settings(metric, config, given, place), place, network)
        check_targets(plan.config)
        return plan
    if inspect.isroutine(metric):
        return FunctionMetric(metric, given)
    if isinstance(metric, type) or not isinstance(metric, Metric | MetricPlan):
        raise SettingError(f"a metric is a name, a metric or a function, but got {printable(repr(metric))}")
    if given:
        raise SettingError(f"a metric that was built takes no settings, but got {', '.join(given)}")
    return metric


def holds_names(config: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a configuration has all these settings, also settings of inner objects."""
    pairs = [(config.get(name), value) for name, value in settings.items()]
    inner = [(own, value) for own, value in pairs if isinstance(own, Mapping) and isinstance(value, Mapping)]
    return set(settings) <= set(config) and all(holds_names(own, value) for own, value in inner)


def check_models(config: Mapping[str, Any], place: str = "") -> None:
    """Raises MissingModelError for a model that is not on this machine, before slow libraries are imported.

    Raises SettingError for an endpoint that must not be asked.
    """
    if config.get("base_url") is not None:
        from baselines.endpoint import split_url

        with named_settings(place):
            split_url(str(config["base_url"]))
        return  # an endpoint knows its models
    if find_spec("torch") is None:
        return  # without libraries no model is read
    for key in MODELS:
        value = config.get(key)
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name not in (*OWN_NAMES, REQUIRED):
                check_model(name, f"{place}{key}")


def check_model(name: str, setting: str) -> None:
    """Raises MissingModelError if the model is not on this machine; the error names the setting of the model."""
    from models.folders import require_model

    try:
        require_model(name)
    except MissingModelError as error:
        raise MissingModelError(name, error.what, error.fetchable, setting) from None


def load_metric(metric: AnyMetric, *, network: bool = False, **settings: Any) -> Metric:
    """Loads a metric by name with these settings; other settings come from `configs/metric/NAME.yaml`.

    `metric` may also be a YAML file of the same form, a function `f(examples, **settings)` that returns a score per
    example, or a metric, which is returned unchanged. Other machines, the model hub too, are asked only with `network`.
    A mapping changes some settings of an inner object. A value that refers to a run
    (`${stages_dir}`) is None here.

    Raises SettingError for an unknown metric, for an unknown or missing setting and for a wrong value;
    MissingModelError for a model that does not exist here.

    >>> load_metric("bleu", order=2).signature.partition("|")[0]
    'bleu2'
    """
    return load_planned(plan_metric(metric, settings, network=network))


def load_planned(planned: Planned) -> Metric:
    """Builds the metric of a plan; a metric object is returned unchanged."""
    return planned.build() if isinstance(planned, MetricPlan) else planned


def plan_metrics(
    metrics: Metrics, settings: Mapping[str, Any] | None = None, *, network: bool = False, stages: Path | None = None
) -> dict[str, Planned]:
    """Plans metrics; returns them by name: the given name, or that of the configuration, function or signature.

    Raises SettingError for settings together with several metrics, for a name given twice, and as `plan_metric` does.
    """
    is_one = isinstance(metrics, str | MetricPlan) or not isinstance(metrics, Sequence | Mapping)
    several: Sequence[AnyMetric] = [metrics] if is_one else list(metrics)  # pyright: ignore
    given = dict(settings or {})
    network = given.pop("network", network)
    if len(several) > 1 and given:
        raise SettingError(
            f"{', '.join(given)}: settings of several metrics are ambiguous: pass load_metric(NAME, SETTING=VALUE)"
        )
    how: dict[str, Any] = {"network": network, "stages": stages}
    if isinstance(metrics, Mapping):
        planned_by_name = {name: plan_metric(each, given, **how) for name, each in metrics.items()}
        return {call_judge(name, planned): planned for name, planned in planned_by_name.items()}
    found: dict[str, Planned] = {}
    for each in several:
        planned = plan_metric(each, given, **how)
        name = call_judge(name_metric(each, planned), planned)
        if name in found:
            raise SettingError(f"each metric needs a name of its own, but two are called {name}")
        found[name] = planned
    return found


JUDGE = "llm_judge"  # the metric that asks a chat model


def name_metric(given: AnyMetric, planned: Planned) -> str:
    """Finds a name for a metric that was given without a name."""
    if isinstance(given, str):
        return short_name(given)
    if isinstance(planned, MetricPlan):
        return planned.name
    return getattr(given, "__name__", planned.signature.partition("|")[0])


def call_judge(name: str, planned: Planned) -> str:
    """Names a metric in tables. A judge that the user did not name is called by the name of its model, or "panel"."""
    if name != JUDGE:
        return name
    if isinstance(planned, NamedByModel):
        return planned.called
    if not isinstance(planned, MetricPlan) or planned.name != JUDGE:
        return name
    model = planned.config["model"]
    return name_models([model] if isinstance(model, str) else model)


def short_name(name: str) -> str:
    """Returns the name of a metric, or the name of its YAML file without folder and ending.

    >>> short_name("bleu"), short_name("mine/ours.yaml")
    ('bleu', 'ours')
    """
    return Path(name).stem if is_file_name(name) else name


def is_file_name(name: str) -> bool:
    """Whether a metric is named by a YAML file."""
    return name.endswith((".yaml", ".yml"))


def list_names() -> list[str]:
    """Lists the names of the metrics of this project."""
    return [*list_configs("metric")]


def find_config(name: str) -> Path:
    """Finds the YAML file of a metric. Raises SettingError for an unknown name, InputError for a missing file."""
    if is_file_name(name):
        if not Path(name).is_file():
            raise InputError([fault(name, 0, "no such file")])
        return Path(name)
    configs = list_configs("metric")
    if name not in configs:
        similar = suggest_similar(name, configs)
        raise SettingError(f"{printable(name)}: there is no such metric{similar}; allowed: {', '.join(configs)}")
    return configs[name]


def read_config(name: str) -> dict[str, Any]:
    """Reads the settings of a metric as plain values, with `_target_`.

    Raises errors as `find_config` does, and InputError for a file that names no metric.
    """
    return read_object(find_config(name))


@dataclass(frozen=True)
class FunctionMetric:
    """Wraps a plain function as a metric.

    The signature has the function's name, a hash of its source, and its settings. The hash is that of the module, or of
    the function itself if there is no file (in a notebook). Imported modules are not part of the hash. Raises
    SettingError for a function without source, for settings that the function does not take, and for a wrong result.
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
        """Makes the metric of `MODULE.FUNCTION`.

        Raises SettingError if there is no such function or it is not allowed.
        """
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
        """The module and the name of the function, with a dot between them."""
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
        """Scores by the function; NaN and infinity become NaN with a reason.

        Raises RuntimeError if the function fails. Empty answers get no score, and the function is not called for them.
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
