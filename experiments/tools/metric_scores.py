"""The scores of metrics on one file: those that stand in it and those of metrics that run now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from core.faults import InputFaults, SettingFault, fault
from core.scores import CorpusMetric, Metric
from data.scored import ScoredFile, read_kept_scores
from experiments.contracts import Run
from experiments.tools.engines import score_chunk

M = TypeVar("M")
STAGE, ROWS = "scores", "rows.jsonl"  # a stage has the scores of one metric on one file, a line per example
NOTES = "notes.txt"  # what the metric says about them, a line per sentence
VERSION = 5


def name_metrics(metrics: Mapping[str, M], metric: M | None, name: str | None) -> dict[str, M]:
    """The metrics to run, or their configurations, by name: `metric=NAME` and `metrics=[...]`.

    Raises SettingFault for a name given twice.
    """
    single = {} if metric is None else {name or "metric": metric}
    if twice := [name for name in single if name in metrics]:
        raise SettingFault(f"metrics must name each metric once, but metric={twice[0]} is in metrics too")
    return {**single, **metrics}


def check_scored(
    file: ScoredFile, check: Callable[[ScoredFile], None], metric: str | None, metrics: Iterable[str]
) -> ScoredFile:
    """Checks the file, and the names of the metrics to run, `metric` and `metrics`, before one is loaded.

    Raises InputFaults as `check` does, for a file without scores if no metric runs, and for a metric that is in the
    file already.
    """
    check(file)
    names = [*([] if metric is None else [metric]), *metrics]
    if not file.scores and not names:
        rule = 'scores are needed: "scores" in the lines, +scores.NAME=FILE or metrics=[NAME]'
        raise InputFaults([fault(file.path, 0, f"{rule}, found none")])
    for name in names:
        if any(given == name or given.startswith(f"{name}/") for given in file.scores):
            raise InputFaults([fault(file.path, 0, f"a metric must have one score, but {name} is also in the file")])
    return file


def score_file(run: Run, file: ScoredFile, metrics: Mapping[str, Metric]) -> ScoredFile:
    """The file with its scores, then those of the metrics that it runs; these are kept as `+exp=score` keeps them.

    Raises InputFaults by file and line.
    """
    found = dict(file.scores)
    sha256 = file.source.sha256() if metrics else ""
    for name, metric in metrics.items():
        with run.timed(f"scoring {name}"):
            prepared = metric.with_corpus(file.examples) if isinstance(metric, CorpusMetric) else metric
            depends = {"input": sha256, "signature": prepared.signature}
            kept = run.stages.get(STAGE, depends, partial(_write_scores, file, prepared), version=VERSION)
            found[name] = replace(read_kept_scores(kept / ROWS, prepared.signature), notes=read_notes(kept))
    return replace(file, scores=found)


def _write_scores(file: ScoredFile, metric: Metric, folder: Path) -> None:
    lines = (line for _, line in file.places)
    rows, notes = score_chunk(metric, file.path, list(zip(lines, file.examples, strict=True)))
    (folder / ROWS).write_text(rows, encoding="utf-8", newline="\n")
    add_notes(folder, notes)


def add_notes(folder: Path, notes: Iterable[str]) -> None:
    """Writes notes on scores into the folder of their stage, behind those that are there."""
    with (folder / NOTES).open("a", encoding="utf-8") as file:
        file.writelines(f"{note}\n" for note in notes)


def read_notes(folder: Path) -> tuple[str, ...]:
    """The notes in the folder of a stage, each once."""
    return tuple(dict.fromkeys((folder / NOTES).read_text(encoding="utf-8").splitlines()))
