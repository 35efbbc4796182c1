"""Joint: what all jobs of a sweep found as one table, in the form of a paper's ablation."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from judge.agreement_tables import AGREEMENT
from meta_eval.bootstrap import Estimate


def varied_settings(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that differ between jobs."""
    return [key for key in jobs[0]["settings"] if len({str(job["settings"].get(key)) for job in jobs}) > 1]


def joint_rows(jobs: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> list[dict[str, Any]]:
    """One row per job, set and aspect: the varied settings, then the agreement of each metric by the job's statistic.

    A job without ratings has one row: the estimates of the first row of its tables that has some, else its figures. A
    job that failed has none.
    """
    rows: dict[tuple[int | str, ...], dict[str, Any]] = {}
    for number, job in enumerate(jobs):
        settings = {key: job["settings"].get(key, "") for key in varied}
        for place, name, estimate in _list_findings(job):
            rows.setdefault((number, *place.values()), {**place, **settings})[name] = estimate
    return list(rows.values())


def _list_findings(job: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], str, Estimate]]:
    """Set and aspect (nothing without ratings), name and estimate."""
    table = job.get("table", ())
    statistic = str(job["settings"].get("statistic", "spearman"))
    rated = [row for row in table if row["table"] == AGREEMENT and row.get("grouping", "global") == "global"]
    for row in rated:
        shown = _estimate(row, statistic if statistic in row else "spearman")
        yield {"set": row["set"], "aspect": row["aspect"]}, row["metric"], shown
    if rated:
        return
    estimates = ({name: _estimate(row, name) for name in row if f"{name}_interval" in row} for row in table)
    figures = {name: _estimate(job["figures"], name) for name in job.get("figures", ())}
    for name, estimate in next(filter(None, estimates), figures).items():
        yield {}, name, estimate


def _estimate(row: Mapping[str, Any], name: str) -> Estimate:
    cells = (row[name], *row.get(f"{name}_interval", (None, None)))
    value, low, high = (math.nan if cell is None else cell for cell in cells)
    return Estimate(value, low, high)


def seed_rows(rows: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> list[dict[str, Any]]:
    """Mean and standard deviation over seeds, for each place, choice of the other settings and metric or figure.

    `rows` are those of `joint_rows`. The rows of a set and aspect are sorted by their mean agreement.
    """
    others = ("set", "aspect", *(key for key in varied if key != "seed"))
    found: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for row in rows:
        shared = tuple((key, row[key]) for key in others if key in row)
        for name, cell in row.items():
            if isinstance(cell, Estimate) and not math.isnan(cell.value):
                found.setdefault((*shared, ("metric", name)), []).append(cell.value)
    means = [
        {**dict(key), "seeds": len(values), "mean": fmean(values), "spread": stdev(values)}
        for key, values in found.items()
        if len(values) > 1
    ]
    places = list(dict.fromkeys((row["set"], row["aspect"]) for row in means if "set" in row))
    return sorted(
        means, key=lambda row: (places.index((row["set"], row["aspect"])), -row["mean"]) if places else (0, 0)
    )
