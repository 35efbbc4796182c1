"""Joint: what all jobs of a sweep found as one table, in the form of a paper's ablation.

Everything is read from the run folders of the jobs: agreement from `results.json`, scores from `scores.jsonl`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from rich.cells import cell_len

from judge.agreement_tables import AGREEMENT
from judge.report.plots import plot_settings, save_figure
from judge.report.results import name_files
from judge.tables import GAP, PAPER, Row, Table, format_cell
from meta_eval.bootstrap import Estimate, Floats
from meta_eval.correlation import CORRELATIONS
from meta_eval.intervals import difference

Place: TypeAlias = tuple[tuple[str, str], ...]  # (("set", NAME), ("aspect", NAME)); () for jobs without ratings

CAPTION = "{statistic}. Higher is better. Intervals: 95 %, drawn over inputs."
DIFFERENCE_CAPTION = (
    "Each job minus the first one ({first}) on the same texts. Intervals: 95 %, paired bootstrap over inputs, not "
    "adjusted for the number of differences."
)
FOLDERS = ("hydra.run.dir", "hydra.sweep.dir", "outputs", "stages_dir")  # settings of this machine
CHANCE = 0.05  # share of intervals without 0 where no job differs


@dataclass(frozen=True)
class ScoredTexts:
    """The texts of one set in one job: lines of `scores.jsonl`."""

    lines: Sequence[Mapping[str, Any]]

    def rated(self, aspect: str) -> ScoredTexts:
        """The texts that are rated for an aspect."""
        return ScoredTexts([line for line in self.lines if aspect in line["ratings"]])

    def identify(self, aspect: str) -> list[tuple[Any, ...]]:
        """What must be equal in two jobs whose scores are compared: texts, inputs and ratings, in their order."""
        return [(line["id"], line["text_hash"], line["group"], line["ratings"][aspect]) for line in self.lines]

    @property
    def inputs(self) -> list[str]:
        """The input of each text; a text that names none has one of its own."""
        names = [line["group"] for line in self.lines]
        return [f"\0{i}" if name is None else name for i, name in enumerate(names)]

    def get_ratings(self, aspect: str) -> Floats:
        """The ratings of an aspect, of shape (texts,)."""
        return np.array([line["ratings"][aspect] for line in self.lines], dtype=np.float64)

    def has_scores(self, metric: str) -> bool:
        """Whether the metric scored these texts; agreement with cheap cues has no scores of its own."""
        return all(metric in line["scores"] for line in self.lines)

    def get_scores(self, metric: str, aspect: str) -> Floats:
        """The scores of a metric for an aspect, or for its first one; NaN where there is none; of shape (texts,)."""
        by_aspect = (line["scores"][metric] for line in self.lines)
        values = [scores.get(aspect, next(iter(scores.values()))) for scores in by_aspect]
        return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True)
class Job:
    """A job of a sweep that ended well, as its run folder tells it."""

    # those of its command line, as they were typed
    settings: Mapping[str, str]
    # the content of results.json
    results: Mapping[str, Any]
    # the content of scores.jsonl, by set
    sets: Mapping[str, ScoredTexts]

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, str]) -> Job:
        """Reads the run folder of a job; the scores only where they are compared with ratings."""
        results = json.loads((folder / "results.json").read_text("utf-8"))
        lines: dict[str, list[Mapping[str, Any]]] = {}
        has_ratings = any(row["table"] == AGREEMENT for row in results["table"])
        scores = (folder / "scores.jsonl").read_text("utf-8") if has_ratings else ""
        for text in filter(None, scores.split("\n")):  # a text may hold other line breaks
            line = json.loads(text)
            del line["explanations"]  # most of the file
            lines.setdefault(line["set"], []).append(line)
        return cls(settings, results, {name: ScoredTexts(found) for name, found in lines.items()})

    def get_rated(self, name: str, aspect: str) -> ScoredTexts:
        """The texts of a set that are rated for an aspect; none where the job has no such set."""
        return self.sets.get(name, ScoredTexts(())).rated(aspect)

    @property
    def statistic(self) -> str:
        """The correlation that the table shows: the job's setting `statistic`, or Spearman's."""
        named = self.settings.get("statistic", "")
        return named if named in CORRELATIONS else "spearman"

    def list_findings(self) -> Iterator[tuple[Place, str, Estimate]]:
        """Each agreement over all texts with its place and metric.

        A job without ratings has the estimates of the first row of its tables that has some, else its figures.
        """
        table = self.results.get("table", ())
        rated = [row for row in table if row["table"] == AGREEMENT and row.get("grouping", "global") == "global"]
        for row in rated:
            place = (("set", row["set"]), ("aspect", row["aspect"]))
            yield place, row["metric"], read_estimate(row, self.statistic if self.statistic in row else "spearman")
        if rated:
            return
        row = next((row for row in table if list_measured(row)), {})
        for name in list_measured(row):
            yield (), name, read_estimate(row, name)
        if row:
            return
        figures = self.results.get("figures", {})
        for name in figures:
            yield (), name, read_estimate(figures, name)


@dataclass(frozen=True)
class Joint:
    """The jobs of a sweep side by side."""

    # those to show: agreement, its differences from the first job, means over seeds
    tables: Sequence[Table]
    # a row for each job with all metrics, their differences and all settings that vary, for further computation
    whole: Table
    # what is the same in all jobs, and what the tables leave out
    notes: Sequence[str]
    # by the name of the file
    plots: Mapping[str, Figure]

    def fit_tables(self, width: int) -> Iterator[Table]:
        """The tables in parts of at most `width` characters, each with the settings that name the jobs."""
        for table in self.tables:
            yield from split_columns(table, width)

    def write(self, folder: Path) -> None:
        """Writes `joint.md`, `joint.csv`, `joint.tex` and the plots as PNG."""
        parts = [part for table in self.tables for part in describe_table(table)]
        parts += [f"![{figure.get_label()}]({name}.png)" for name, figure in self.plots.items()]
        parts += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        (folder / "joint.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        with (folder / "joint.csv").open("w", encoding="utf-8", newline="") as file:
            self.whole.write_csv(file)
        written = [f"% {table.title}\n{table.to_latex()}" for table in self.fit_tables(PAPER)]
        (folder / "joint.tex").write_text("\n".join(written), encoding="utf-8")
        for name, figure in self.plots.items():
            save_figure(figure, folder / f"{name}.png")


def describe_table(table: Table) -> list[str]:
    """The paragraphs of a table in Markdown."""
    _, below = table.arrange()
    return [f"## {table.title}", table.to_markdown().rstrip(), " ".join([table.caption, *below])]


def split_columns(table: Table, width: int) -> Iterator[Table]:
    """Tables of at most `width` characters with all columns of texts and some of the estimates, at least one."""
    texts = table.texts
    sizes = {name: GAP + measure_column(table, name) for name in table.columns}
    room = width - 1 - sum(sizes[name] for name in texts)
    parts: list[list[str]] = []
    used = 0
    for name in [name for name in table.columns if name not in texts]:
        if not parts or used + sizes[name] > room:
            parts.append([])
            used = 0
        parts[-1].append(name)
        used += sizes[name]
    for names in parts:
        rows = [choose_cells(row, [*texts, *names]) for row in table.rows]
        yield Table(table.title, table.caption, rows)


def measure_column(table: Table, name: str) -> int:
    """The characters of the widest cell of a column, or of its name."""
    cells = [format_cell(row.get(name, "")) for row in table.rows]
    return max(map(cell_len, [name, *cells]))


def choose_cells(row: Row, names: Collection[str]) -> Row:
    """The cells of a row in these columns."""
    return {name: cell for name, cell in row.items() if name in names}


def join_jobs(jobs: Sequence[Job]) -> Joint:
    """The jobs of a sweep as one table, their differences from the first job, and their plots.

    One column for each metric, one row for each job, named by the settings that vary. Metrics and settings that are the
    same in all jobs are notes.
    """
    varied = varied_settings([job.settings for job in jobs])
    rows = joint_rows(jobs, varied)
    places = list(dict.fromkeys(locate_row(row) for row in rows))
    same = list_same(rows, places) if len(jobs) > 1 else []
    if all(name in same for row in rows for name in list_estimates(row)):
        same = []
    apart, others = list_differences(jobs, places, varied, same)
    first = name_job(jobs[0].settings, varied)
    short = shorten_names(varied)
    hidden = {*same, *(("set", "aspect") if len(places) == 1 else ())}

    def show(row: Row) -> Row:
        return {short.get(name, name): cell for name, cell in row.items() if name not in hidden}

    shown = [show(row) for row in rows]
    found = [show(row) for row in apart]
    tables = [Table(name_results(jobs, places), caption_results(jobs, places), shown)]
    if found:
        tables.append(Table(f"Differences from {first}", DIFFERENCE_CAPTION.format(first=first), found))
    if "seed" in varied and (means := seed_rows(rows, varied)):
        tables.append(Table("Over seeds", "mean and spread (standard deviation)", means))
    notes = [*note_same(rows, places, same), *note_settings(jobs, varied), *others, *count_found(found, first)]
    return Joint(tables, Table("Jobs", "", merge_differences(rows, apart)), notes, draw_jobs(jobs, rows, varied, same))


def varied_settings(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """The settings that differ between jobs.

    >>> varied_settings([{"gamma": "0", "seed": "1"}, {"gamma": "1", "seed": "1"}])
    ['gamma']
    """
    names = dict.fromkeys(name for of_job in settings for name in of_job)
    first, *others = settings
    return [name for name in names if any(of_job.get(name) != first.get(name) for of_job in others)]


def shorten_names(names: Sequence[str]) -> dict[str, str]:
    """The shortest ending of each dotted name that no other one has.

    >>> shorten_names(["model.negatives.sampling.gamma", "data.seed", "seed"])
    {'model.negatives.sampling.gamma': 'gamma', 'data.seed': 'data.seed', 'seed': 'seed'}
    """
    return {name: _shorten(name, {*names} - {name}) for name in names}


def _shorten(name: str, others: Collection[str]) -> str:
    parts = name.split(".")
    for start in range(len(parts) - 1, 0, -1):
        ending = ".".join(parts[start:])
        is_taken = any(f".{other}".endswith(f".{ending}") for other in (*others, "set", "aspect"))
        if not is_taken:
            return ending
    return name


def name_job(settings: Mapping[str, str], varied: Sequence[str]) -> str:
    """The settings of a job that vary.

    >>> name_job({"model.gamma": "0.5", "seed": "1"}, ["model.gamma", "seed"])
    'gamma=0.5, seed=1'
    """
    short = shorten_names(varied)
    return ", ".join(f"{short[name]}={settings[name]}" for name in varied if name in settings)


def joint_rows(jobs: Sequence[Job], varied: Sequence[str]) -> list[dict[str, Any]]:
    """One row per set, aspect and job: the varied settings, then the agreement of each metric by the job's statistic.

    A job without ratings has one row (see `Job.list_findings`).
    """
    rows: dict[tuple[Place, int], dict[str, Any]] = {}
    for number, job in enumerate(jobs):
        settings = {name: job.settings.get(name, "") for name in varied}
        for place, name, estimate in job.list_findings():
            row = rows.setdefault((place, number), {**dict(place), **settings})
            row[name] = estimate
    places = list(dict.fromkeys(place for place, _ in rows))
    return [rows[key] for key in sorted(rows, key=lambda key: (places.index(key[0]), key[1]))]


def locate_row(row: Row) -> Place:
    """The set and the aspect of a row."""
    return tuple((name, row[name]) for name in ("set", "aspect") if name in row)


def list_estimates(row: Row) -> list[str]:
    """The columns of a row that hold estimates."""
    return [name for name, cell in row.items() if isinstance(cell, Estimate)]


def list_measured(row: Mapping[str, Any]) -> list[str]:
    """The columns of a row of results.json that have intervals."""
    return [name for name in row if f"{name}_interval" in row]


def read_estimate(row: Mapping[str, Any], name: str) -> Estimate:
    """An estimate of results.json, where NaN is null."""
    cells = (row[name], *row.get(f"{name}_interval", (None, None)))
    value, low, high = (math.nan if cell is None else cell for cell in cells)
    return Estimate(value, low, high)


def list_same(rows: Sequence[Row], places: Sequence[Place]) -> list[str]:
    """The metrics whose estimates all jobs share at every place."""
    names = dict.fromkeys(name for row in rows for name in list_estimates(row))
    return [name for name in names if all(is_same(rows, place, name) for place in places)]


def is_same(rows: Sequence[Row], place: Place, name: str) -> bool:
    """Whether all jobs have one estimate of a metric at a place."""
    cells = [row.get(name) for row in rows if locate_row(row) == place]
    return len(set(map(repr, cells))) == 1  # NaN equals itself here


def list_differences(
    jobs: Sequence[Job], places: Sequence[Place], varied: Sequence[str], same: Collection[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for each job and place but those of the first job: its correlations minus those of the first job.

    Both are computed on the same resamples of inputs. Metrics that are the same in all jobs have none. Jobs whose
    texts, inputs or ratings differ from those of the first one have no row; a note says so.
    """
    first, *others = jobs
    found: list[dict[str, Any]] = []
    different: dict[str, list[str]] = {}
    for place in filter(None, places):
        (_, name), (_, aspect) = place
        base = first.get_rated(name, aspect)
        for job in others:
            texts = job.get_rated(name, aspect)
            if texts.identify(aspect) != base.identify(aspect) or job.statistic != first.statistic:
                different.setdefault(name, []).append(name_job(job.settings, varied))
                continue
            settings = {key: job.settings.get(key, "") for key in varied}
            metrics = [metric for where, metric, _ in job.list_findings() if where == place and metric not in same]
            compared = [metric for metric in metrics if texts.has_scores(metric) and base.has_scores(metric)]
            cells = {metric: subtract(texts, base, metric, aspect, job.statistic) for metric in compared}
            if cells:
                found.append({**dict(place), **settings, **cells})
    notes = [
        f"no differences on {name} for {'; '.join(dict.fromkeys(names))}: the first job has other texts or ratings"
        for name, names in different.items()
    ]
    return found, notes


def subtract(texts: ScoredTexts, base: ScoredTexts, metric: str, aspect: str, statistic: str) -> Estimate:
    """The correlation of a metric in one job minus that in another one, which scores the same texts."""
    return difference(
        texts.get_scores(metric, aspect),
        base.get_scores(metric, aspect),
        base.get_ratings(aspect),
        groups=base.inputs,
        statistic=CORRELATIONS[statistic],
    )


def merge_differences(rows: Sequence[Row], apart: Sequence[Row]) -> list[Row]:
    """The rows with the differences of their jobs as further columns, `METRIC difference`."""
    by_job = {_name_row(row): row for row in apart}
    merged: list[Row] = []
    for row in rows:
        differences = by_job.get(_name_row(row), {})
        more = {f"{name} difference": differences[name] for name in list_estimates(differences)}
        merged.append({**row, **more})
    return merged


def _name_row(row: Row) -> tuple[Any, ...]:
    return tuple((name, cell) for name, cell in row.items() if not isinstance(cell, Estimate))


def name_results(jobs: Sequence[Job], places: Sequence[Place]) -> str:
    """The title of the table of results."""
    if places == [()]:
        return f"{len(jobs)} jobs"
    one = dict(places[0]) if len(places) == 1 else None
    return f"Agreement of {len(jobs)} jobs" + (f" with {one['aspect']} of {one['set']}" if one else "")


def caption_results(jobs: Sequence[Job], places: Sequence[Place]) -> str:
    """What the numbers of the table are."""
    if places == [()]:
        return "Estimates of each job with their 95 % intervals."
    names = dict.fromkeys(job.statistic.title() for job in jobs)
    return CAPTION.format(statistic=f"{' or '.join(names)} correlation of scores with ratings, from -1 to 1")


def note_same(rows: Sequence[Row], places: Sequence[Place], same: Sequence[str]) -> list[str]:
    """The metrics that are the same in all jobs, with their estimates."""
    notes: list[str] = []
    for place in places if same else ():
        row = next(row for row in rows if locate_row(row) == place)
        cells = [f"{name} {format_cell(row[name])}" for name in same if name in row]
        where = f" ({' '.join(value for _, value in place)})" if len(places) > 1 else ""
        notes.append(f"the same in all jobs{where}: {', '.join(cells)}")
    return notes


def note_settings(jobs: Sequence[Job], varied: Sequence[str]) -> list[str]:
    """The settings of the command that all jobs share."""
    hidden = {*varied, *FOLDERS}
    shared = [f"{name}={value}" for name, value in jobs[0].settings.items() if name not in hidden]
    return [f"settings of all jobs: {', '.join(shared)}"] if shared else []


def count_found(apart: Sequence[Row], first: str) -> list[str]:
    """How many differences have an interval without 0, and how many would have one by chance."""
    cells = [row[name] for row in apart for name in list_estimates(row)]
    known = [cell for cell in cells if not math.isnan(cell.low)]
    away = [cell for cell in known if cell.low > 0 or cell.high < 0]
    if not known:
        return []
    return [
        f"{len(away)} of {len(known)} differences from {first} have an interval without 0; about "
        f"{CHANCE * len(known):.1f} would by chance"
    ]


def draw_jobs(
    jobs: Sequence[Job], rows: Sequence[Row], varied: Sequence[str], same: Collection[str]
) -> dict[str, Figure]:
    """A plot of each set and aspect, by the name of its file: a panel for each metric that varies, a line per job."""
    places = list(dict.fromkeys(locate_row(row) for row in rows))
    drawn: dict[str, Figure] = {}
    for place in places:
        at = [row for row in rows if locate_row(row) == place]
        names = dict.fromkeys(name for row in at for name in list_estimates(row) if name not in same)
        labels = [", ".join(choose_cells(row, varied).values()) for row in at]
        panels = {name: get_column(at, name) for name in names}
        if len(at) < 2 or not panels:
            continue
        key = " ".join(["joint", *(value for _, value in place)]) if len(places) > 1 else "joint"
        title = caption_results(jobs, [place]).partition(". ")[0]
        about = f" ({dict(place)['aspect']} of {dict(place)['set']})" if place else ""
        drawn[key] = plot_settings(panels, labels, ", ".join(shorten_names(varied).values()), f"{title}{about}")
    files = name_files(drawn)
    return {files[key]: figure for key, figure in drawn.items()}


def get_column(rows: Sequence[Row], name: str) -> list[Estimate | None]:
    """The cells of a column; None where a row lacks it."""
    return [row.get(name) for row in rows]


def seed_rows(rows: Sequence[Row], varied: Iterable[str]) -> list[dict[str, Any]]:
    """Mean and standard deviation over seeds, for each place, choice of the other settings and metric or figure.

    `rows` are those of `joint_rows`. The rows of a set and aspect are sorted by their mean agreement.
    """
    others = ("set", "aspect", *(key for key in varied if key != "seed"))
    found: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for row in rows:
        shared = tuple((key, row[key]) for key in others if key in row)
        for name in list_estimates(row):
            if not math.isnan(row[name].value):
                found.setdefault((*shared, ("metric", name)), []).append(row[name].value)
    means = [
        {**dict(key), "seeds": len(values), "mean": fmean(values), "spread": stdev(values)}
        for key, values in found.items()
        if len(values) > 1
    ]
    places = list(dict.fromkeys(locate_row(row) for row in means))
    return sorted(means, key=lambda row: (places.index(locate_row(row)), -row["mean"] if locate_row(row) else 0))
