"""The flags that name metrics: `--metric NAME`, `--metrics NAME NAME` and `--judge NAME`, with their settings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import SettingError, suggest_similar
from judge.options import NamedWords
from judge.registry import find_config, list_configs, short_name

SEVERAL = "--metrics"  # the flag that names several


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


def list_metrics(named: Sequence[NamedWords]) -> list[NamedMetric]:
    """The metrics that flags name, each once. Raises SettingError."""
    metrics = [
        metric for words in named for metric in (list_several(words) if words.flag == SEVERAL else list_one(words))
    ]
    names = [metric.name for metric in metrics]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"metrics must name each metric once, but {name} is named twice")
    return metrics


def list_one(named: NamedWords) -> Iterator[NamedMetric]:
    """Yields the metric that `--metric` or `--judge` names; none for `null`."""
    if not named.words:
        raise SettingError(f"{named.flag} NAME is needed beside {named.flag}.{next(iter(named.settings))}")
    word, *others = named.words
    if others:
        raise SettingError(f"{named.flag} names one, but got {', '.join(named.words)}: --metrics names several")
    if word != "null":
        name, source = split_name(word)
        yield NamedMetric(name, source, f"{named.flag}.", named.settings)


def list_several(named: NamedWords) -> Iterator[NamedMetric]:
    """Yields the metrics that `--metrics` names, or those for which there are only settings."""
    pairs = [split_name(word) for word in named.words or named.settings]
    names = [name for name, _ in pairs]
    for name, inner in named.settings.items():
        if name not in names:
            similar = suggest_similar(name, names)
            raise SettingError(f"--metrics.{name} belongs to no metric{similar}: --metrics names {', '.join(names)}")
        if inner is not True and not isinstance(inner, Mapping):
            raise SettingError(f"--metrics.{name} has settings: --metrics.{name}.SETTING VALUE")
    for name, source in pairs:
        inner = named.settings.get(name, {})
        yield NamedMetric(name, source, f"--metrics.{name}.", {} if inner is True else inner)


def split_name(word: str) -> tuple[str, str]:
    """Splits a word into the name of a metric and the metric: `b2=bleu` is bleu, called b2.

    >>> split_name("b2=bleu"), split_name("mine/ours.yaml")
    (('b2', 'bleu'), ('ours', 'mine/ours.yaml'))
    """
    name, is_pair, source = word.partition("=")
    return (name, source) if is_pair else (short_name(word), word)


def plan_named(named: Sequence[NamedWords], network: bool, stages: str | None) -> dict[str, Any]:
    """Plans the metrics that flags name, by name; loads no model. Raises SettingError."""
    from judge.metrics import plan_metric

    folder = None if stages is None else Path(stages)
    return {
        metric.name: plan_metric(metric.source, metric.settings, place=metric.place, network=network, stages=folder)
        for metric in list_metrics(named)
    }


def describe_metrics(named: Sequence[NamedWords]) -> str:
    """Writes the help of the named metrics' settings; if no metric is named, a list of all metrics."""
    if not named:
        return textwrap.fill(f"Metrics: {', '.join(list_configs('metric'))}", 100, subsequent_indent="  ")
    described: list[str] = []
    for metric in list_metrics(named):
        text = find_config(metric.source).read_text(encoding="utf-8")
        settings = re.sub(r"^ *_[a-z]+_:.*\n", "", text, flags=re.MULTILINE).strip()
        described.append(f"{metric.name}, set by {metric.place}SETTING VALUE\n{textwrap.indent(settings, '  ')}")
    return "\n\n".join(described)
