"""The scores of metrics on one file: those that stand in it and those of metrics that run now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.faults import ExampleFaults, InputFaults, SettingFault, fault
from core.scores import Metric, Scores
from data.scored import ScoredFile
from experiments.contracts import Run
from meta_eval.intervals import Resampling
from meta_eval.scored_set import ScoredSet


def name_metrics(metrics: Mapping[str, Metric], metric: Metric | None, name: str | None) -> dict[str, Metric]:
    """The metrics to run by name: `metric=NAME` and `metrics=[...]`. Raises SettingFault for a name given twice."""
    single = {} if metric is None else {name or "metric": metric}
    if twice := [name for name in single if name in metrics]:
        raise SettingFault(f"metrics must name each metric once, but metric={twice[0]} is in metrics too")
    return {**single, **metrics}


def check_scored(file: ScoredFile, metric: str | None, metrics: Iterable[str]) -> None:
    """Checks the names of the metrics to run, `metric` and `metrics`, before one is loaded.

    Raises InputFaults for a file without scores if no metric runs, and for a metric that is in the file already.
    """
    names = [*([] if metric is None else [metric]), *metrics]
    if not file.scores and not names:
        rule = 'scores are needed: "scores" in the lines, +scores.NAME=FILE or metrics=[NAME]'
        raise InputFaults([fault(file.path, 0, f"{rule}, found none")])
    for name in names:
        if any(given == name or given.startswith(f"{name}/") for given in file.scores):
            raise InputFaults([fault(file.path, 0, f"a metric must have one score, but {name} is also in the file")])


def score_file(run: Run, file: ScoredFile, metrics: Mapping[str, Metric]) -> ScoredSet:
    """The file with its scores, then those of the metrics that it runs. Raises InputFaults by file and line."""
    found = dict(file.scores)
    for name, metric in metrics.items():
        with run.timed(f"scoring {name}"):
            try:
                found[name] = metric.score(file.examples)
            except ExampleFaults as faults:
                raise faults.located(file.path, file.lines) from None
    return ScoredSet(file.name, file.examples, found)


def show_signatures(scores: Mapping[str, Scores]) -> str:
    """The signatures of all metrics, as a part of the signature of a run."""
    return "|".join(f"{name}: {scored.signature}" for name, scored in scores.items())


def show_resampling(resampling: Resampling) -> str:
    """The settings of intervals, as a part of the signature of a run."""
    return resampling.signature
