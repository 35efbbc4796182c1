"""Plans and loads metrics: by name with the settings of `configs/metric/NAME.yaml`, functions, and built ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeAlias

from core.errors import MissingModelError, SettingError, printable
from core.extras import suggest_extra
from core.hosts import set_network
from core.objects import find_object
from core.scores import Field, Metric, required_fields
from judge.function_metric import FunctionMetric, MetricFunction
from judge.registry import (
    REQUIRED,
    build,
    complete,
    find_config,
    named_settings,
    read_config,
)

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
    def made(self) -> Any:
        """The class of the metric, or the function that makes it."""
        target = find_object(self.config["_target_"])
        return getattr(target, "__self__", target)  # the class of `from_pretrained`

    @property
    def requires(self) -> tuple[Field, ...]:
        """The fields that the metric reads besides the text."""
        return required_fields(self.made, self.config)

    @property
    def scores_empty(self) -> bool:
        """Whether the metric is known to score an empty answer."""
        return getattr(self.made, "scores_empty", False)

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
    """Plans a metric, given by name, with these settings; a metric object is returned unchanged.

    Messages put `place` in front of its settings (`MetricPlan.place`). The metric may keep replies and references in
    `stages`. Raises errors as `load_metric` does, but loads no model.
    """
    given = dict(settings or {})
    if isinstance(metric, str) and "." in metric:
        metric = find_own(metric)
    if isinstance(metric, type) and hasattr(metric, "requires"):
        name = f"{metric.__module__}.{metric.__qualname__}"
        return MetricPlan(metric.__name__, complete(name, {"_target_": name}, given, place), place, network)
    if isinstance(metric, str):
        config = read_config(find_config(metric), None if stages is None else str(stages))
        set_network(network)
        with suggest_extra():
            completed = complete(metric, config, given, place)
        check_models(completed, place)
        return MetricPlan(metric, completed, place, network)
    if inspect.isroutine(metric):
        metric = FunctionMetric(metric)
    if isinstance(metric, type) or not isinstance(metric, Metric | MetricPlan):
        raise SettingError(f"a metric is a name, a metric or a function, but got {printable(repr(metric))}")
    if given:
        raise SettingError(f"functions and built metrics take no settings, but got {', '.join(given)}")
    return metric


def find_own(name: str) -> Any:
    """Finds the function or the class of metrics that `MODULE.NAME` names. Raises SettingError."""
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        rule = "must be a metric, or MODULE.FUNCTION on Python's path (PYTHONPATH)"
        raise SettingError(f"{printable(name)} {rule}: {error}") from error


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
    from models.folders import require_model

    for key in MODELS:
        value = config.get(key)
        for name in value if isinstance(value, list) else [value]:
            if not isinstance(name, str) or name in (*OWN_NAMES, REQUIRED):
                continue
            try:
                require_model(name)
            except MissingModelError as error:
                raise MissingModelError(name, error.what, error.fetchable, f"{place}{key}") from None


def load_metric(metric: AnyMetric, *, network: bool = False, **settings: Any) -> Metric:
    """Loads a metric by name with these settings; other settings come from `configs/metric/NAME.yaml`.

    `metric` may also be a function `f(examples)` that returns a score per example, `MODULE.FUNCTION`, or a metric,
    which is returned unchanged. Other machines, the model hub too, are asked only with `network`. A mapping changes
    some settings of an inner object. A value that refers to a run (`${stages_dir}`) is None here.

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
    metrics: Metrics,
    settings: Mapping[str, Any] | None = None,
    *,
    network: bool = False,
    stages: Path | None = None,
) -> dict[str, Planned]:
    """Plans metrics; returns them by name: the given name, or that of the configuration, function or signature.

    Raises SettingError for settings together with several metrics, for a name given twice, and as `plan_metric` does.
    """
    given = dict(settings or {})
    how: dict[str, Any] = {"network": given.pop("network", network), "stages": stages}
    is_several = isinstance(metrics, Sequence | Mapping) and not isinstance(metrics, str)
    several: Any = metrics if is_several else [metrics]
    if len(several) > 1 and given:
        raise SettingError(
            f"{', '.join(given)}: settings of several metrics are ambiguous: pass load_metric(NAME, SETTING=VALUE)"
        )
    found: dict[str, Planned] = {}
    for name, each in several.items() if isinstance(several, Mapping) else ((None, each) for each in several):
        planned = plan_metric(each, given, **how)
        called = name or name_metric(each, planned)
        if called in found:
            raise SettingError(f"each metric needs a name of its own, but two are called {called}")
        found[called] = planned
    return found


def name_metric(given: AnyMetric, planned: Planned) -> str:
    """Finds a name for a metric that was given without a name."""
    if isinstance(given, str):
        return given.rpartition(".")[2]
    if isinstance(planned, MetricPlan):
        return planned.name
    return getattr(given, "__name__", planned.signature.partition("|")[0])
