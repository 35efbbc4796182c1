"""Scores a set of texts by metrics: what every verb that runs metrics does first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from core.errors import InputError, fault
from core.progress import step
from core.scores import Field, Metric, Scores
from core.selection import describe_missing_fields, hint_field
from core.stages import Stages, check_writable
from data.scoring import score_set
from judge.metrics import (
    MetricPlan,
    Metrics,
    Planned,
    load_planned,
    plan_metrics,
)
from meta_eval.scored_set import ScoredSet


def plan_with(
    metrics: Metrics, stages: Path | str | None, settings: Mapping[str, Any] | None = None
) -> tuple[dict[str, Planned], Stages | None]:
    """Plans metrics (`plan_metrics`), and opens the stages that keep their scores and replies, if there is a folder.

    Raises SettingError if it is not writable.
    """
    kept = None
    if stages is not None:
        check_writable("stages", Path(stages))
        kept = Stages(Path(stages))
    return plan_metrics(metrics, settings, stages=kept and kept.root), kept


def load_all(metrics: Mapping[str, Planned]) -> dict[str, Metric]:
    """Loads the metrics with their models."""
    with step("loading"):
        return {name: load_planned(metric) for name, metric in metrics.items()}


def add_scores(scored: ScoredSet, metrics: Mapping[str, Planned], stages: Stages | None = None) -> ScoredSet:
    """Adds the scores of metrics to a set (`score_set`).

    Raises InputError for a metric whose scores the set already has, and, before models are loaded, if no example has
    the required fields.
    """
    for name, metric in metrics.items():
        if any(given == name or given.startswith(f"{name}/") for given in scored.scores):
            rule = f"a metric must have one score, but {name} is also in the file"
            raise InputError([fault(scored.locate(0)[0], 0, rule)])
        if isinstance(metric, MetricPlan):
            check_fields(scored, name, metric.requires)
    return score_set(scored, load_all(metrics), stages)


def check_fields(scored: ScoredSet, name: str, requires: Sequence[Field]) -> None:
    """Raises InputError, by file and line, if no example has the fields that a metric requires."""
    faults: list[str] = []
    for place, example in enumerate(scored.examples):
        reason = describe_missing_fields(
            example,
            requires,
            name,
            scores_empty=True,
        )
        if reason is None:
            return
        faults.append(fault(*scored.locate(place), f"{reason}{hint_field(example, requires)}"))
    if faults:
        raise InputError(faults)


def join_signatures(signatures: Mapping[str, str]) -> str:
    """Joins the signatures of several metrics into one line, each after its metric's name; one stays unchanged."""
    if len(signatures) == 1:
        return next(iter(signatures.values()))
    return "|".join(f"{name}: {signature}" for name, signature in signatures.items())


def collect_notes(scores: Mapping[str, Scores]) -> tuple[str, ...]:
    """Collects the metrics' notes on their scores, each sentence once."""
    notes = chain.from_iterable(of_metric.notes for of_metric in scores.values())
    return tuple(dict.fromkeys(notes))
