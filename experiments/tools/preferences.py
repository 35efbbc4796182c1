"""Preferences of people or of a chat model: systems ranked, and metrics that prefer as they do (`judge prefer`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.faults import SettingFault
from core.scores import Metric
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run
from experiments.report.plots import plot_intervals
from judge.correcting import read_labels
from judge.preferring import Family, study_preferences
from judge.scoring import add_kept_scores
from meta_eval.intervals import Resampling
from meta_eval.preferences import Preferences


def preferences(
    run: Run,
    files: tuple[Preferences | None, ScoredFile | None],
    metrics: Mapping[str, Metric],
    metric: Any,
    resampling: Resampling,
    level: float,
    margin: float | None,
    family: Family | None,
    human_labels: str | int | None,
) -> Outcome:
    """Ranks systems by preferences; see `judge.preferring.study_preferences`.

    `metrics` run on the outputs; `metric` is a judge of pairs, or None; `human_labels` and `margin` are those of
    `judge.preferring.prefer`.
    """
    given, outputs = files
    if metrics and outputs is None:
        raise SettingFault("metrics score texts: pass the systems' outputs by data.outputs=FILE")
    with run.timed("scoring"):
        scored = None if outputs is None else add_kept_scores(outputs, metrics, run.stages)
    with run.timed("preferences"):
        found = study_preferences(
            given, scored, metric, resampling, level, margin, family or (), read_labels(human_labels)
        )
    strengths = {each.system: each.strength for each in found.ranking.systems}
    return Outcome(
        signature=found.signature,
        tables=found.tables,
        plots=plot_intervals({"strengths": (strengths, "strength of Bradley and Terry (log odds), 95 %")}),
        notes=found.notes,
    )
