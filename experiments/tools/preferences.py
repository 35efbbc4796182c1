"""Preferences of people or of a chat model: systems ranked, and metrics that prefer as they do (`judge prefer`)."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.errors import SettingError
from core.scores import Metric
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run
from judge.report.plots import plot_intervals
from judge.streaming import add_kept_scores
from judge.verbs import prefer as prefer_verb
from judge.verbs.prefer import Family
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
    """Ranks systems by preferences, as `judge.prefer` says; `files` are preferences and the systems' outputs."""
    if not isinstance(files, tuple):
        rule = "data must be preferences: data.path=FILE, or data=pandalm or alpaca_eval with data.root=FOLDER"
        raise SettingError(rule)
    given, outputs = files
    if metrics and outputs is None:
        raise SettingError("metrics score texts: pass the systems' outputs by data.outputs=FILE")
    with run.timed("scoring"):
        scored = None if outputs is None else add_kept_scores(outputs, metrics, run.stages)
    with run.timed("preferences"):
        how = {"family": family or (), "level": level, "margin": margin, **asdict(resampling)}
        found = prefer_verb.prefer(given, outputs=scored, judge=metric, human_labels=human_labels, **how)
    strengths = {each.system: each.strength for each in found.ranking.systems}
    plots = plot_intervals({"strengths": (strengths, "strength of Bradley and Terry (log odds), 95 %")})
    return Outcome(found.signature, tables=found.tables, plots=plots, notes=found.notes)
