"""Joint results: all jobs of a sweep in one table, in the form of a paper's ablation.

The jobs are read from their run folders: settings, agreement (`results.json`) and scores (`scores.jsonl`). One long
table has a row for each job, set, aspect and metric; tables to show are made of it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeAlias

import numpy as np
from rich.cells import cell_len

from meta_eval.design import Floats
from meta_eval.estimates import Estimate
from meta_eval.grouping import difference
from report.agreement_tables import AGREEMENT
from report.tables import GAP, PAPER, Row, Table, list_reasons

CAPTION = "{measured}. Higher is better. Intervals: 95 %, drawn over inputs."
DIFFERENCE_CAPTION = (
    "Each job minus the first one on the same texts. Intervals: 95 %, paired over inputs, not "
    "adjusted for the number of differences."
)
FOLDERS = ("hydra.run.dir", "hydra.sweep.dir", "outputs", "stages_dir")  # settings of this machine
Place: TypeAlias = tuple[str, ...]  # a set and an aspect; () for jobs without ratings


@dataclass(frozen=True)
class Job:
    """A successful job of a sweep, read from its run folder."""

    # those of its command line, as they were typed
    settings: Mapping[str, str]
    # the content of results.json
    results: Mapping[str, Any]
    # the lines of scores.jsonl
    lines: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, str]) -> Job:
        """Reads the run folder of a job. Scores are read only if they are compared with ratings."""
        results = json.loads((folder / "results.json").read_text("utf-8"))
        lines: list[Mapping[str, Any]] = []
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
            yield {**named, "value": read_estimate(row, "spearman")}
        if agreements:
            return
        figures = self.results.get("figures", {})
        measured = next((row for row in table if list_measured(row)), figures)
        for name in list_measured(measured) or figures:
            yield {"metric": name, "value": read_estimate(measured, name)}

    def list_rated(self, place: Place) -> list[Mapping[str, Any]]:
        """Lists the texts of a set that are rated for an aspect."""
        name, aspect = place
        return [line for line in self.lines if line["set"] == name and aspect in line["ratings"]]

    def identify(self, place: Place) -> list[tuple[Any, ...]]:
        """Lists what must be equal in two jobs to compare their scores: texts, inputs and ratings, in order."""
        _, aspect = place
        rated = self.list_rated(place)
        return [
            (
                line["id"],
                line["text_hash"],
                line["group"],
                line["ratings"][aspect],
            )
            for line in rated
        ]

    def get_scores(self, place: Place, metric: str) -> Floats | None:
        """Returns a metric's scores, NaN for a missing score; None if it has none, such as agreement with cheap cues.

        If the metric does not score this aspect, the scores of its first aspect are returned.
        """
        _, aspect = place
        values: list[float | None] = []
        for line in self.list_rated(place):
            by_aspect = line["scores"].get(metric)
            if by_aspect is None:
                return None
            values.append(by_aspect.get(aspect, next(iter(by_aspect.values()))))
        return np.array(values, dtype=np.float64)


def list_measured(row: Mapping[str, Any]) -> list[str]:
    """Lists the columns of a row of results.json that have intervals."""
    return [name for name in row if f"{name}_interval" in row]


def read_estimate(row: Mapping[str, Any], name: str) -> Estimate:
    """Reads an estimate of results.json, where NaN is written as null."""
    ends = row.get(f"{name}_interval", (None, None))
    numbers = np.array([row[name], *ends], dtype=np.float64)
    return Estimate(*numbers.tolist())


def subtract(
    job: Job,
    first: Job,
    place: Place,
    metric: str,
) -> Estimate | None:
    """Estimates the correlation of a metric in one job minus that in the first one, on the same texts."""
    scores = job.get_scores(place, metric)
    others = first.get_scores(place, metric)
    if scores is None or others is None:
        return None
    _, aspect = place
    base = first.list_rated(place)
    ratings = np.array([line["ratings"][aspect] for line in base], dtype=np.float64)
    groups: list[str] = []
    for number, line in enumerate(base):
        groups.append(f"\0{number}" if line["group"] is None else line["group"])
    return difference(
        scores,
        others,
        ratings,
        groups=groups,
    )


def varied_settings(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Lists the settings that differ between jobs.

    >>> varied_settings([{"gamma": "0", "seed": "1"}, {"gamma": "1", "seed": "1"}])
    ['gamma']
    """
    values: dict[str, list[str]] = {}
    for of_job in settings:
        for name, value in of_job.items():
            values.setdefault(name, []).append(value)
    varied: list[str] = []
    for name, found in values.items():
        if len({*found}) > 1 or len(found) < len(settings):
            varied.append(name)
    return varied


def shorten_names(names: Sequence[str]) -> dict[str, str]:
    """Finds the last part of each dotted name, or the whole name if another one ends alike.

    >>> shorten_names(["model.negatives.sampling.gamma", "data.seed", "seed"])
    {'model.negatives.sampling.gamma': 'gamma', 'data.seed': 'data.seed', 'seed': 'seed'}
    """
    ends = {name: name.rpartition(".")[2] for name in names}
    taken = Counter([*ends.values(), "set", "aspect"])
    return {name: end if taken[end] == 1 else name for name, end in ends.items()}


def name_settings(settings: Mapping[str, str], varied: Sequence[str]) -> str:
    """Writes the values of the settings of a job that vary.

    >>> name_settings({"model.gamma": "0.5", "seed": "1"}, ["model.gamma", "seed"])
    'gamma=0.5, seed=1'
    """
    short = shorten_names(varied)
    return ", ".join(f"{short[name]}={settings[name]}" for name in varied if name in settings)


@dataclass(frozen=True)
class Joint:
    """The jobs of a sweep in joint tables."""

    # those to show: agreement, its differences from the first job, means over seeds
    tables: Sequence[Table]
    # a row for each job, set, aspect and metric, for further computation
    whole: Table
    # what is the same in all jobs, and what the tables leave out
    notes: Sequence[str]

    def fit_tables(self, width: int) -> Iterator[Table]:
        """Yields the tables in parts of at most `width` characters, each with the settings that name the jobs."""
        for table in self.tables:
            yield from split_columns(table, width)

    def write(self, folder: Path) -> None:
        """Writes `joint.md`, `joint.csv` (the long table) and `joint.tex`."""
        parts: list[str] = []
        for table in self.tables:
            below = " ".join([table.caption, *list_reasons([table])])
            parts += [f"## {table.title}", table.to_markdown().rstrip(), below]
        parts.append("\n".join(f"- {note}" for note in self.notes))
        (folder / "joint.md").write_text("\n\n".join(parts).rstrip() + "\n", encoding="utf-8")
        with (folder / "joint.csv").open("w", encoding="utf-8", newline="") as file:
            self.whole.write_csv(file)
        written = [f"% {table.title}\n{table.to_latex()}" for table in self.fit_tables(PAPER)]
        (folder / "joint.tex").write_text("\n".join(written), encoding="utf-8")


def split_columns(table: Table, width: int) -> Iterator[Table]:
    """Splits a table into tables of at most `width` characters.

    Each has all columns of texts and some columns of estimates, at least one.
    """
    sizes: dict[str, int] = {}
    for name in table.columns:
        cells = [name, *table.format_column(name)]
        sizes[name] = GAP + max(map(cell_len, cells))
    texts = table.texts
    room = width - 1 - sum(sizes[name] for name in texts)
    parts: list[list[str]] = [[]]
    for name in table.columns:
        if name in texts:
            continue
        used = sum(sizes[each] for each in parts[-1])
        if parts[-1] and used + sizes[name] > room:
            parts.append([])
        parts[-1].append(name)
    for part in parts:
        hidden = {*table.columns} - {*texts, *part}
        rows = [drop_cells(row, hidden) for row in table.rows]
        yield Table(table.title, table.caption, rows)


def drop_cells(row: Row, names: Collection[str]) -> Row:
    """Returns the row without the cells of these columns."""
    return {name: cell for name, cell in row.items() if name not in names}


def join_jobs(jobs: Sequence[Job]) -> Joint:
    """Joins the jobs of a sweep into one table, with their differences from the first job.

    The table to show has one column for each metric and one row for each job, named by the settings that vary. Metrics
    and settings that are the same in all jobs become notes.
    """
    varied = varied_settings([job.settings for job in jobs])
    first = name_settings(jobs[0].settings, varied)
    rows, notes = list_rows(jobs, varied)
    by_place = group(rows, locate)
    same = list_same(rows, len(jobs))
    if same:
        notes.append(f"the same in all jobs: {', '.join(same)}")
    hidden = (*varied, *FOLDERS)
    typed = jobs[0].settings
    shared = [f"{name}={value}" for name, value in typed.items() if name not in hidden]
    if shared:
        notes.append(f"settings of all jobs: {', '.join(shared)}")
    shown = [row for row in rows if row["metric"] not in same]
    measured = describe_measured(rows)
    title = f"Agreement of {len(jobs)} jobs" if any(by_place) else f"{len(jobs)} jobs"
    if len(by_place) == 1:
        title += "".join(f" with {aspect} of {name}" for name, aspect in filter(None, by_place))
    tables = [
        Table(title, CAPTION.format(measured=measured), pivot(shown, "value", varied)),
        Table(f"Differences from {first}", DIFFERENCE_CAPTION, pivot(shown, "difference", varied)),
        Table("Over seeds", "mean and spread (standard deviation)", average_seeds(rows, varied)),
    ]
    return Joint(
        tables=[table for table in tables if table.rows],
        whole=Table("Jobs", "", rows),
        notes=notes,
    )


def list_rows(jobs: Sequence[Job], varied: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Lists a row for each set, aspect, job and metric: settings that vary, the value, its difference from the first.

    A job whose texts, inputs or ratings differ from those of the first job has no differences; a note says so.
    """
    first, *_ = jobs
    rows: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    for job in jobs:
        settings = {name: job.settings.get(name, "") for name in varied}
        for row in job.measure():
            rows.append(row | settings)
            place = locate(row)
            if job is first or not place:
                continue
            if job.identify(place) != first.identify(place):
                named = name_settings(job.settings, varied)
                notes[f"no differences on {place[0]} for {named}: the first job has other texts or ratings"] = None
            elif change := subtract(job, first, place, row["metric"]):
                rows[-1]["difference"] = change
    by_place = group(rows, locate)
    return [*chain.from_iterable(by_place.values())], [*notes]


def locate(row: Row) -> Place:
    """Returns the set and the aspect of a row."""
    return tuple(row[name] for name in ("set", "aspect") if name in row)


def group(rows: Sequence[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Groups rows by a key, in the order of their first occurrence."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def pivot(rows: Sequence[Row], cell: str, varied: Sequence[str]) -> list[Row]:
    """Makes a row for each set, aspect and job, with a column for each metric that has the cell."""
    short = shorten_names(varied)
    names = short
    if len(group(rows, locate)) > 1:
        names = {"set": "set", "aspect": "aspect", **short}
    known = [row for row in rows if cell in row]
    wide: list[Row] = []
    for key, of_job in group(known, choose_cells(names)).items():
        named = dict(zip(names.values(), key, strict=True))
        cells = {row["metric"]: row[cell] for row in of_job}
        wide.append(named | cells)
    return wide


def choose_cells(names: Iterable[str]) -> Callable[[Row], tuple[Any, ...]]:
    """Returns a function that gets these cells of a row, "" for those that it lacks."""
    return lambda row: tuple(row.get(name, "") for name in names)


def list_same(rows: Sequence[Row], jobs: int) -> list[str]:
    """Lists the metrics whose values are equal in all jobs, for every set and aspect; none if that holds for all."""
    varies: dict[str, bool] = {}
    by_metric = group(rows, choose_cells(["metric", "set", "aspect"]))
    for (metric, *_), of_metric in by_metric.items():
        values = {repr(row["value"]) for row in of_metric}  # NaN equals itself here
        differs = len(values) > 1 or len(of_metric) < jobs
        varies[metric] = differs or varies.get(metric, False)
    same = [metric for metric, does in varies.items() if not does]
    return same if jobs > 1 and len(same) < len(varies) else []


def describe_measured(rows: Sequence[Row]) -> str:
    """Says what the numbers are, and of how many texts."""
    counts = sorted({row["n"] for row in rows if "n" in row})
    if not counts:
        return "Estimates of each job"
    texts = str(counts[0])
    if len(counts) > 1:
        texts = f"{texts} to {counts[-1]}"
    return f"Spearman correlation of scores with ratings, from -1 to 1; n = {texts}"


def average_seeds(rows: Sequence[Row], varied: Sequence[str]) -> list[Row]:
    """Computes means and standard deviations over seeds, for each set and aspect, other settings, and metric or figure.

    The rows of a set and aspect are sorted by their mean agreement.
    """
    names = [name for name in ("set", "aspect", *varied, "metric") if name != "seed"]
    means: list[Row] = []
    for key, of_seeds in group(rows, choose_cells(names)).items():
        every = [row["value"].value for row in of_seeds]
        values = [value for value in every if not math.isnan(value)]
        if "seed" in varied and len(values) > 1:
            row = {"seeds": len(values), "mean": fmean(values), "spread": stdev(values)}
            named = dict(zip(names, key, strict=True))
            known = {name: cell for name, cell in named.items() if cell != ""}
            means.append(known | row)
    ranked: list[Row] = []
    for place, of_place in group(means, locate).items():
        if place:
            of_place.sort(key=lambda row: -row["mean"])
        ranked += of_place
    return ranked
