"""The flags that name metrics: `--metric NAME`, `--metrics NAME NAME` and `--judge NAME`, with their settings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from core.errors import SettingError, suggest_similar
from judge.options import Named, flag
from judge.registry import find_config, list_configs

METRICS = (
    flag("metric", Named, "a metric; --metric.SETTING VALUE sets it, and --metric NAME --help lists its settings"),
    flag("metrics", Named, "several metrics; --metrics.NAME.SETTING VALUE sets one of them"),
)
JUDGE = (flag("judge", Named, "a judge that compares pairs, in both orders: llm_judge; --judge.SETTING VALUE sets it"),)


def split_name(word: str) -> tuple[str, str]:
    """Splits a word into what a metric is called and its name: `b2=bleu` is bleu, called b2.

    >>> split_name("b2=bleu"), split_name("my_module.count")
    (('b2', 'bleu'), ('count', 'my_module.count'))
    """
    called, is_pair, name = word.partition("=")
    return (called, name) if is_pair else (word.rpartition(".")[2], word)


def add_inner(named: Mapping[str, Any], inner: Mapping[str, Any], flag: str) -> dict[str, Any]:
    """Adds the settings that `--flag.SETTING` gives to what the flag names. Raises SettingError."""
    if not inner:
        return dict(named)
    if flag != "metrics":
        if len(named) != 1:
            raise SettingError(f"--{flag} NAME is needed beside --{flag}.{next(iter(inner))}")
        return {word: {**settings, **inner} for word, settings in named.items()}
    words = {split_name(word)[0]: word for word in named}
    for called, settings in inner.items():
        if called not in words:
            similar = suggest_similar(called, words)
            raise SettingError(f"--metrics.{called} belongs to no metric{similar}: --metrics names {', '.join(words)}")
        if not isinstance(settings, Mapping):
            raise SettingError(f"--metrics.{called} has settings: --metrics.{called}.SETTING VALUE")
    return {word: {**settings, **inner.get(split_name(word)[0], {})} for word, settings in named.items()}


def write_place(name: str, called: str) -> str:
    """Writes what stands before the settings of a metric: `--metric.`, or `--metrics.NAME.`."""
    return f"--metrics.{called}." if name == "metrics" else f"--{name}."


def plan_named(given: Mapping[str, Any], flags: Iterable[str], network: bool, stages: str | None) -> dict[str, Any]:
    """Plans the metrics that flags name, by what they are called; loads no model. Raises SettingError."""
    from judge.metrics import plan_metric

    folder = None if stages is None else Path(stages)
    planned: dict[str, Any] = {}
    for name_of_flag in flags:
        for word, settings in given.get(name_of_flag, {}).items():
            called, name = split_name(word)
            if called in planned:
                raise SettingError(f"metrics must name each metric once, but {called} is named twice")
            planned[called] = plan_metric(
                name,
                settings,
                place=write_place(name_of_flag, called),
                network=network,
                stages=folder,
            )
    return planned


def describe_metrics(given: Mapping[str, Any]) -> str:
    """Writes the help of the named metrics' settings; if no metric is named, a list of all metrics."""
    described: list[str] = []
    for name_of_flag, named in given.items():
        for called, name in map(split_name, named):
            text = find_config(name).read_text(encoding="utf-8")
            settings = re.sub(r"^ *_[a-z]+_:.*\n", "", text, flags=re.MULTILINE).strip()
            place = write_place(name_of_flag, called)
            described.append(f"{called}, set by {place}SETTING VALUE\n{textwrap.indent(settings, '  ')}")
    every = textwrap.fill(f"Metrics: {', '.join(list_configs('metric'))}", 100, subsequent_indent="  ")
    return "\n\n".join(described) or every
