"""The flags that name metrics: `--metric NAME`, `--metrics NAME NAME` and `--judge NAME`, with their settings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import SettingError, suggest_similar
from judge.flags import Given


@dataclass(frozen=True)
class MetricNames:
    """Metrics by name."""

    # a metric; --metric.SETTING VALUE sets it, and --metric NAME --help lists its settings
    metric: str | Mapping[str, Any] | None = None
    # several metrics; --metrics.NAME.SETTING VALUE sets one of them
    metrics: Sequence[str] | Mapping[str, Any] = ()


@dataclass(frozen=True)
class JudgeName:
    """A judge by name."""

    # a judge that compares pairs of outputs, in both orders: llm_judge; --judge.SETTING VALUE sets it
    judge: str | Mapping[str, Any] | None = None


@dataclass(frozen=True)
class NamedMetric:
    """A metric that the command names."""

    # what its scores are called
    name: str
    # its name in `configs/metric`, or its YAML file
    source: str
    # what its settings are called in messages: `--metric.` before their names
    place: str
    settings: Mapping[str, Any]


def list_metrics(given: Given) -> list[NamedMetric]:
    """The metrics that `--metric` and `--metrics` name. Raises SettingError."""
    named = [*list_one(given, "metric"), *list_several(given)]
    names = [metric.name for metric in named]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"metrics must name each metric once, but {name} is named twice")
    return named


def list_one(given: Given, flag: str) -> Iterator[NamedMetric]:
    """Yields the metric that `--metric` or `--judge` names."""
    word = given.values.get(flag)
    settings = given.inner(flag)
    if isinstance(word, str):
        name, source = split_name(word)
        yield NamedMetric(name, source, f"--{flag}.", settings)
    elif word is not None or settings:
        raise SettingError(f"--{flag} NAME is needed beside --{flag}.{next(iter(settings), 'SETTING')}")


def list_several(given: Given) -> Iterator[NamedMetric]:
    """Yields the metrics that `--metrics` names, and metrics for which the command has only settings."""
    settings = given.inner("metrics")
    words = given.values.get("metrics", [*settings])
    if isinstance(words, str):
        words = [words]
    named = [split_name(word) for word in words]
    names = [name for name, _ in named]
    for name, inner in settings.items():
        if name not in names:
            similar = suggest_similar(name, names)
            raise SettingError(f"--metrics.{name} belongs to no metric{similar}: --metrics names {', '.join(names)}")
        if not isinstance(inner, Mapping):
            raise SettingError(f"--metrics.{name} has settings: --metrics.{name}.SETTING VALUE")
    for name, source in named:
        yield NamedMetric(name, source, f"--metrics.{name}.", settings.get(name, {}))


def split_name(word: str) -> tuple[str, str]:
    """Splits a word into the name of a metric and the metric: `b2=bleu` is bleu, called b2.

    >>> split_name("b2=bleu"), split_name("mine/ours.yaml")
    (('b2', 'bleu'), ('ours', 'mine/ours.yaml'))
    """
    from judge.metrics import short_name

    name, is_pair, source = word.partition("=")
    return (name, source) if is_pair else (short_name(word), word)


def plan_given(given: Given, parameters: Sequence[str], network: bool, stages: str | None) -> dict[str, Any]:
    """Plans the metrics and the judge that the command names, by parameter of the verb. Raises SettingError."""
    from judge.metrics import plan_metric

    folder = None if stages is None else Path(stages)

    def plan(named: NamedMetric) -> Any:
        return plan_metric(named.source, named.settings, place=named.place, network=network, stages=folder)

    metrics = {named.name: plan(named) for named in list_metrics(given)}
    if "metric" in parameters:
        if not metrics:
            raise SettingError("--metric NAME is needed, or --metrics NAME NAME")
        return {"metric": metrics}
    judge = next(list_one(given, "judge"), None) if "judge" in parameters else None
    return {"metrics": metrics} if judge is None else {"metrics": metrics, "judge": plan(judge)}


def describe_metrics(given: Given) -> str:
    """Writes the help of the named metrics' settings; if no metric is named, a list of all metrics."""
    from judge.metrics import find_config, list_names

    named = [*list_metrics(given), *list_one(given, "judge")]
    if not named:
        return textwrap.fill(f"Metrics: {', '.join(list_names())}", 100, subsequent_indent="  ")
    described: list[str] = []
    for metric in named:
        text = find_config(metric.source).read_text(encoding="utf-8")
        settings = re.sub(r"^ *_[a-z]+_:.*\n", "", text, flags=re.MULTILINE).strip()
        described.append(f"{metric.name}, set by {metric.place}SETTING VALUE\n{textwrap.indent(settings, '  ')}")
    return "\n\n".join(described)
