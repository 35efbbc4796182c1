"""Joint results: all jobs of a sweep in one table, a row for each job, set, aspect and metric.

The jobs are read from their run folders: settings, agreement (`results.json`) and scores (`scores.jsonl`).
"""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import (
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from meta_eval.design import Floats, lay_out
from meta_eval.estimates import Estimate
from meta_eval.grouping import difference
from report.agreement_tables import AGREEMENT
from report.study import Study
from report.tables import Row, Table

CAPTION = (
    "spearman: correlation of scores with ratings over all texts, from -1 to 1; higher is better. difference: the job "
    "minus the first one on the same texts, paired over inputs and not adjusted for the number of differences. "
    "Intervals: 95 %, over inputs."
)
FIGURES = ("spearman", "value", "n", "difference")  # the columns that do not name a row
OTHERS = "the first job has other texts or ratings"
Line = Mapping[str, Any]  # of scores.jsonl


@dataclass(frozen=True)
class Job:
    """A successful job of a sweep, read from its run folder."""

    # those of its command line, as they were typed
    settings: Mapping[str, str]
    # the content of results.json
    results: Mapping[str, Any]
    # the lines of scores.jsonl
    lines: Sequence[Line]

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, str]) -> Job:
        """Reads the run folder of a job. Scores are read only if they are compared with ratings."""
        results = json.loads((folder / "results.json").read_text("utf-8"))
        lines: list[Line] = []
        if any(row["table"] == AGREEMENT for row in results["table"]):
            content = (folder / "scores.jsonl").read_text("utf-8")
            lines += map(json.loads, filter(None, content.split("\n")))  # a text may hold other line breaks
        return cls(settings, results, lines)

    def measure(self) -> Iterator[dict[str, Any]]:
        """Yields a row for each set, aspect and metric: Spearman's correlation over all texts, and their number.

        A job without ratings has the estimates of the first row of its tables that has estimates, or else its figures.
        """
        table = self.results.get("table", ())
        agreements = [row for row in table if row["table"] == AGREEMENT]
        for row in agreements:
            named = {name: row[name] for name in ("set", "aspect", "metric", "n") if name in row}
            yield {**named, "spearman": read_estimate(row, "spearman")}
        if agreements:
            return
        figures = self.results.get("figures", {})
        measured = next((row for row in table if list_measured(row)), figures)
        for name in list_measured(measured) or figures:
            yield {"metric": name, "value": read_estimate(measured, name)}

    def list_rated(self, row: Row) -> list[Line]:
        """Lists the texts that are rated for the set and the aspect of a row."""
        return [line for line in self.lines if line["set"] == row["set"] and row["aspect"] in line["ratings"]]


def list_measured(row: Mapping[str, Any]) -> list[str]:
    """Lists the columns of a row of results.json that have intervals."""
    return [name for name in row if f"{name}_interval" in row]


def read_estimate(row: Mapping[str, Any], name: str) -> Estimate:
    """Reads an estimate of results.json, where NaN is written as null."""
    ends = row.get(f"{name}_interval", (None, None))
    numbers = np.array([row[name], *ends], dtype=np.float64)
    return Estimate(*numbers.tolist())


def subtract(job: Job, first: Job, row: Row) -> Estimate | None:
    """Estimates the correlation of a row of a job minus that of the first job, if both scored the same texts.

    None for what has no scores, such as agreement with cheap cues.
    """
    texts = job.list_rated(row)
    base = first.list_rated(row)
    aspect = row["aspect"]
    if [identify(line, aspect) for line in texts] != [identify(line, aspect) for line in base]:
        return Estimate.undefined(OTHERS)
    scores = get_scores(texts, row)
    others = get_scores(base, row)
    if scores is None or others is None:
        return None
    ratings = np.array([line["ratings"][aspect] for line in base], dtype=np.float64)
    groups = [f"\0{i}" if line["group"] is None else line["group"] for i, line in enumerate(base)]
    return difference(
        scores,
        others,
        ratings,
        lay_out(len(ratings), inputs=groups),
    )


def identify(line: Line, aspect: str) -> tuple[Any, ...]:
    """Returns what must be equal in two jobs to compare their scores of a text."""
    return (line["id"], line["text_hash"], line["group"], line["ratings"][aspect])


def get_scores(lines: Sequence[Line], row: Row) -> Floats | None:
    """Returns the scores by the metric of a row, NaN for a missing score; None if it has none.

    If the metric does not score this aspect, the scores of its first aspect are returned.
    """
    values: list[float | None] = []
    for line in lines:
        by_aspect = line["scores"].get(row["metric"])
        if by_aspect is None:
            return None
        values.append(by_aspect.get(row["aspect"], next(iter(by_aspect.values()))))
    return np.array(values, dtype=np.float64)


def varied_settings(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Lists the settings that differ between jobs.

    >>> varied_settings([{"gamma": "0", "seed": "1"}, {"gamma": "1", "seed": "1"}])
    ['gamma']
    """
    names = dict.fromkeys(name for of_job in settings for name in of_job)
    return [name for name in names if len({of_job.get(name) for of_job in settings}) > 1]


def shorten_names(names: Sequence[str]) -> dict[str, str]:
    """Finds the last part of each dotted name, or the whole name if another column is called so.

    >>> shorten_names(["model.negatives.sampling.gamma", "data.seed", "seed"])
    {'model.negatives.sampling.gamma': 'gamma', 'data.seed': 'data.seed', 'seed': 'seed'}
    """
    ends = {name: name.rpartition(".")[2] for name in names}
    taken = Counter([*ends.values(), "set", "aspect", "metric", *FIGURES])
    return {name: end if taken[end] == 1 else name for name, end in ends.items()}


def name_settings(settings: Mapping[str, str], varied: Sequence[str]) -> str:
    """Writes the values of the settings of a job that vary.

    >>> name_settings({"model.gamma": "0.5", "seed": "1"}, ["model.gamma", "seed"])
    'gamma=0.5, seed=1'
    """
    short = shorten_names(varied)
    return ", ".join(f"{short[name]}={settings[name]}" for name in varied if name in settings)


def join_jobs(jobs: Sequence[Job], command: Sequence[str]) -> Study:
    """Joins the jobs of a sweep into one table with the settings that vary, and differences from the first job."""
    first, *_ = jobs
    varied = varied_settings([job.settings for job in jobs])
    short = shorten_names(varied)
    rows: list[Row] = []
    for job in jobs:
        settings = {short[name]: job.settings.get(name, "") for name in varied}
        for row in job.measure():
            change = subtract(job, first, row) if "set" in row and job is not first else None
            rows.append(settings | row | ({"difference": change} if change else {}))
    metrics = [*dict.fromkeys(map(name_metric, rows))]
    rows.sort(key=lambda row: metrics.index(name_metric(row)))
    shown = (*short.values(), "metric", *FIGURES[:2], "difference", "n", "aspect", "set")
    table = Table(f"{len(jobs)} jobs", CAPTION, rows, shown, key="joint")
    return Study(
        tables=[
            table,
            Table("Over seeds", "spread: standard deviation", average_seeds(rows)),
        ],
        notes=[f"again: {shlex.join(command)}"],
    )


def name_metric(row: Row) -> tuple[str, ...]:
    """Returns the set, the aspect and the metric of a row."""
    return tuple(row.get(name, "") for name in ("set", "aspect", "metric"))


def get_value(row: Row) -> Estimate:
    """Returns the correlation of a row, or another value."""
    return row["spearman"] if "spearman" in row else row["value"]


def average_seeds(rows: Sequence[Row]) -> list[Row]:
    """Computes means and standard deviations over seeds, for each set and aspect, other settings, and metric or figure.

    >>> [*map(dict, average_seeds([{"seed": s, "metric": "m", "value": Estimate(s, s, s)} for s in (1.0, 3.0)]))]
    [{'metric': 'm', 'seeds': 2, 'mean': 2.0, 'spread': 1.4142135623730951}]
    """
    values: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for row in rows:
        others = tuple((name, cell) for name, cell in row.items() if name not in ("seed", *FIGURES))
        value = get_value(row).value
        if "seed" in row and not math.isnan(value):
            values.setdefault(others, []).append(value)
    means: list[Row] = []
    for others, known in values.items():
        if len(known) > 1:
            means.append(
                {
                    **dict(others),
                    "seeds": len(known),
                    "mean": fmean(known),
                    "spread": stdev(known),
                }
            )
    return means
