"""Joint results: all jobs of a sweep in one table, in the form of a paper's ablation."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.figure import Figure
from rich.cells import cell_len

from meta_eval.correlation import CORRELATIONS
from meta_eval.estimates import Estimate
from meta_eval.grouping import difference
from report.jobs import Job, Place, ScoredTexts, name_settings, shorten_names, varied_settings
from report.plots import plot_settings, save_figure
from report.results import name_files
from report.tables import GAP, PAPER, Row, Table, list_reasons
from report.wording import format_cell

CAPTION = "{statistic}. Higher is better. Intervals: 95 %, drawn over inputs."
DIFFERENCE_CAPTION = (
    "Each job minus the first one ({first}) on the same texts. Intervals: 95 %, paired over inputs, not "
    "adjusted for the number of differences."
)
FOLDERS = ("hydra.run.dir", "hydra.sweep.dir", "outputs", "stages_dir")  # settings of this machine
CHANCE = 0.05  # share of intervals without 0 where no job differs


@dataclass(frozen=True)
class Joint:
    """The jobs of a sweep in joint tables and plots."""

    # those to show: agreement, its differences from the first job, means over seeds
    tables: Sequence[Table]
    # a row for each job with all metrics, their differences and all settings that vary, for further computation
    whole: Table
    # what is the same in all jobs, and what the tables leave out
    notes: Sequence[str]
    # by the name of the file
    plots: Mapping[str, Figure]

    def fit_tables(self, width: int) -> Iterator[Table]:
        """Yields the tables in parts of at most `width` characters, each with the settings that name the jobs."""
        for table in self.tables:
            yield from split_columns(table, width)

    def write(self, folder: Path) -> None:
        """Writes `joint.md`, `joint.csv`, `joint.tex` and the plots as PNG."""
        (folder / "joint.md").write_text(self._to_markdown(), encoding="utf-8")
        with (folder / "joint.csv").open("w", encoding="utf-8", newline="") as file:
            self.whole.write_csv(file)
        written = [f"% {table.title}\n{table.to_latex()}" for table in self.fit_tables(PAPER)]
        (folder / "joint.tex").write_text("\n".join(written), encoding="utf-8")
        for name, figure in self.plots.items():
            save_figure(figure, folder / f"{name}.png")

    def _to_markdown(self) -> str:
        """The tables, the plots and the notes."""
        parts: list[str] = []
        for table in self.tables:
            parts += describe_table(table)
        for name, figure in self.plots.items():
            parts.append(f"![{figure.get_label()}]({name}.png)")
        if self.notes:
            parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts) + "\n"


def describe_table(table: Table) -> list[str]:
    """Writes a table as paragraphs of Markdown."""
    return [
        f"## {table.title}",
        table.to_markdown().rstrip(),
        " ".join([table.caption, *list_reasons([table])]),
    ]


def split_columns(table: Table, width: int) -> Iterator[Table]:
    """Splits a table into tables of at most `width` characters.

    Each has all columns of texts and some columns of estimates.
    """
    texts = table.texts
    sizes = {name: GAP + measure_column(table, name) for name in table.columns}
    room = width - 1 - sum(sizes[name] for name in texts)
    estimates = [name for name in table.columns if name not in texts]
    for names in fill_parts(estimates, sizes, room):
        rows = [choose_cells(row, [*texts, *names]) for row in table.rows]
        yield Table(table.title, table.caption, rows)


def fill_parts(
    names: Sequence[str],
    sizes: Mapping[str, int],
    room: int,
) -> list[list[str]]:
    """Divides names, in their order, into parts that fit into `room`. A part has at least one name.

    >>> fill_parts("abc", {"a": 2, "b": 2, "c": 9}, room=4)
    [['a', 'b'], ['c']]
    """
    parts: list[list[str]] = []
    used = 0
    for name in names:
        if not parts or used + sizes[name] > room:
            parts.append([])
            used = 0
        parts[-1].append(name)
        used += sizes[name]
    return parts


def measure_column(table: Table, name: str) -> int:
    """Returns the width, in characters, of the widest cell of a column, or of its name if that is wider."""
    cells = [format_cell(row.get(name, "")) for row in table.rows]
    return max(map(cell_len, [name, *cells]))


def choose_cells(row: Row, names: Collection[str]) -> Row:
    """Returns the cells of a row that are in these columns."""
    return {name: cell for name, cell in row.items() if name in names}


def join_jobs(jobs: Sequence[Job]) -> Joint:
    """Joins the jobs of a sweep into one table, with their differences from the first job, and plots.

    The table has one column for each metric and one row for each job, named by the settings that vary. Metrics and
    settings that are the same in all jobs become notes.
    """
    varied = varied_settings([job.settings for job in jobs])
    rows = joint_rows(jobs, varied)
    places = list_places(rows)
    same: list[str] = []
    if len(jobs) > 1:
        same = list_same(rows, places)
    if {*same} == {*list_metrics(rows)}:
        same = []
    differences, further = list_differences(jobs, places, varied, same)
    first = name_settings(jobs[0].settings, varied)
    hidden = {*same}
    if len(places) == 1:
        hidden |= {"set", "aspect"}
    shown = hide_columns(rows, varied, hidden)
    shown_differences = hide_columns(differences, varied, hidden)
    title = name_results(jobs, places)
    tables = [Table(title, caption_results(jobs, places), shown)]
    if shown_differences:
        caption = DIFFERENCE_CAPTION.format(first=first)
        tables.append(Table(f"Differences from {first}", caption, shown_differences))
    if "seed" in varied:
        means = seed_rows(rows, varied)
        if means:
            tables.append(Table("Over seeds", "mean and spread (standard deviation)", means))
    notes = [
        *note_same(rows, places, same),
        *note_settings(jobs, varied),
        *further,
        *count_clear(shown_differences, first),
    ]
    whole = Table("Jobs", "", merge_differences(rows, differences))
    return Joint(
        tables=tables,
        whole=whole,
        notes=notes,
        plots=draw_jobs(jobs, rows, varied, same),
    )


def list_places(rows: Sequence[Row]) -> list[Place]:
    """Lists the pairs of set and aspect of rows, each once."""
    return list(dict.fromkeys(locate_row(row) for row in rows))


def hide_columns(
    rows: Sequence[Row],
    varied: Sequence[str],
    hidden: Collection[str],
) -> list[Row]:
    """Removes the `hidden` columns from rows, and gives the settings that vary their short names."""
    short = shorten_names(varied)
    shown: list[Row] = []
    for row in rows:
        cells: dict[str, Any] = {}
        for name, cell in row.items():
            if name not in hidden:
                cells[short.get(name, name)] = cell
        shown.append(cells)
    return shown


def joint_rows(jobs: Sequence[Job], varied: Sequence[str]) -> list[dict[str, Any]]:
    """Makes a row per set, aspect and job: the settings that vary, then each metric's agreement.

    The agreement is the job's statistic. A job without ratings has one row (see `Job.list_estimates`).
    """
    by_place: dict[Place, dict[int, dict[str, Any]]] = {}
    for number, job in enumerate(jobs):
        settings = {name: job.settings.get(name, "") for name in varied}
        for place, name, estimate in job.list_estimates():
            rows = by_place.setdefault(place, {})
            row = rows.setdefault(number, {**dict(place), **settings})
            row[name] = estimate
    return [row for rows in by_place.values() for row in rows.values()]


def locate_row(row: Row) -> Place:
    """Returns the set and the aspect of a row."""
    return tuple((name, row[name]) for name in ("set", "aspect") if name in row)


def list_estimates(row: Row) -> list[str]:
    """Lists the columns of a row that have estimates."""
    return [name for name, cell in row.items() if isinstance(cell, Estimate)]


def list_metrics(rows: Sequence[Row]) -> list[str]:
    """Lists the columns, of any row, that have estimates."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(list_estimates(row))
    return [*names]


def list_same(rows: Sequence[Row], places: Sequence[Place]) -> list[str]:
    """Lists the metrics whose estimates are equal in all jobs, for every set and aspect."""
    same: list[str] = []
    for name in list_metrics(rows):
        if all(is_same(rows, place, name) for place in places):
            same.append(name)
    return same


def is_same(rows: Sequence[Row], place: Place, name: str) -> bool:
    """Whether the estimate of a metric for a set and aspect is equal in all jobs."""
    cells = [row.get(name) for row in rows if locate_row(row) == place]
    return len(set(map(repr, cells))) == 1  # NaN equals itself here


def list_differences(
    jobs: Sequence[Job],
    places: Sequence[Place],
    varied: Sequence[str],
    same: Collection[str],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Lists a row for each job but the first, by set and aspect: its correlations minus those of the first job.

    Both correlations are of the same inputs. Metrics that are the same in all jobs get no
    difference. A job whose texts, inputs or ratings differ from those of the first job gets no row; a note says so.
    """
    first, *others = jobs
    rows: list[dict[str, Any]] = []
    different: dict[str, list[str]] = {}
    for place in filter(None, places):
        for job in others:
            if not have_same_texts(job, first, place):
                named = name_settings(job.settings, varied)
                different.setdefault(dict(place)["set"], []).append(named)
                continue
            settings = {key: job.settings.get(key, "") for key in varied}
            differences = subtract_metrics(job, first, place, same)
            if differences:
                rows.append({**dict(place), **settings, **differences})
    notes: list[str] = []
    for name, names in different.items():
        named = "; ".join(dict.fromkeys(names))
        notes.append(f"no differences on {name} for {named}: the first job has other texts or ratings")
    return rows, notes


def have_same_texts(job: Job, first: Job, place: Place) -> bool:
    """Whether two jobs scored the same texts with the same ratings, and show the same statistic."""
    (_, name), (_, aspect) = place
    texts = job.get_rated(name, aspect)
    base = first.get_rated(name, aspect)
    if job.statistic != first.statistic:
        return False
    return texts.identify(aspect) == base.identify(aspect)


def subtract_metrics(
    job: Job,
    first: Job,
    place: Place,
    same: Collection[str],
) -> dict[str, Estimate]:
    """Subtracts, for each metric that differs, its correlation in the first job from that in another job."""
    (_, name), (_, aspect) = place
    texts = job.get_rated(name, aspect)
    base = first.get_rated(name, aspect)
    differences: dict[str, Estimate] = {}
    for where, metric, _ in job.list_estimates():
        if where != place or metric in same:
            continue
        if texts.has_scores(metric) and base.has_scores(metric):
            differences[metric] = subtract(
                texts,
                base,
                metric=metric,
                aspect=aspect,
                statistic=job.statistic,
            )
    return differences


def subtract(
    texts: ScoredTexts,
    base: ScoredTexts,
    metric: str,
    aspect: str,
    statistic: str,
) -> Estimate:
    """Estimates the correlation of a metric in one job minus that in another job with the same texts."""
    return difference(
        texts.get_scores(metric, aspect),
        base.get_scores(metric, aspect),
        base.get_ratings(aspect),
        groups=base.inputs,
        statistic=CORRELATIONS[statistic],
    )


def merge_differences(rows: Sequence[Row], differences: Sequence[Row]) -> list[Row]:
    """Adds the differences of jobs to their rows, as columns `METRIC difference`."""
    by_job = {_name_row(row): row for row in differences}
    merged: list[Row] = []
    for row in rows:
        of_job = by_job.get(_name_row(row), {})
        whole = dict(row)
        for name in list_estimates(of_job):
            whole[f"{name} difference"] = of_job[name]
        merged.append(whole)
    return merged


def _name_row(row: Row) -> tuple[Any, ...]:
    return tuple((name, cell) for name, cell in row.items() if not isinstance(cell, Estimate))


def name_results(jobs: Sequence[Job], places: Sequence[Place]) -> str:
    """Writes the title of the table of results."""
    if places == [()]:
        return f"{len(jobs)} jobs"
    title = f"Agreement of {len(jobs)} jobs"
    if len(places) != 1:
        return title
    place = dict(places[0])
    return f"{title} with {place['aspect']} of {place['set']}"


def caption_results(jobs: Sequence[Job], places: Sequence[Place]) -> str:
    """Writes the caption of the table of results, which says what the numbers are."""
    if places == [()]:
        return "Estimates of each job with their 95 % intervals."
    names = " or ".join(dict.fromkeys(job.statistic.title() for job in jobs))
    statistic = f"{names} correlation of scores with ratings, from -1 to 1"
    return CAPTION.format(statistic=statistic)


def note_same(
    rows: Sequence[Row],
    places: Sequence[Place],
    same: Sequence[str],
) -> list[str]:
    """Notes the metrics that are the same in all jobs, with their estimates."""
    if not same:
        return []
    notes: list[str] = []
    for place in places:
        row = next(row for row in rows if locate_row(row) == place)
        cells = [f"{name} {format_cell(row[name])}" for name in same if name in row]
        where = ""
        if len(places) > 1:
            where = f" ({' '.join(dict(place).values())})"
        notes.append(f"the same in all jobs{where}: {', '.join(cells)}")
    return notes


def note_settings(jobs: Sequence[Job], varied: Sequence[str]) -> list[str]:
    """Notes the settings of the command that all jobs share."""
    hidden = {*varied, *FOLDERS}
    shared = [f"{name}={value}" for name, value in jobs[0].settings.items() if name not in hidden]
    return [f"settings of all jobs: {', '.join(shared)}"] if shared else []


def count_clear(differences: Sequence[Row], first: str) -> list[str]:
    """Notes how many differences have an interval without 0, and how many would be expected by chance."""
    estimates = [row[name] for row in differences for name in list_estimates(row)]
    known = [estimate for estimate in estimates if not math.isnan(estimate.low)]
    if not known:
        return []
    clear = [estimate for estimate in known if estimate.low > 0 or estimate.high < 0]
    by_chance = CHANCE * len(known)
    return [
        f"{len(clear)} of {len(known)} differences from {first} have an interval without 0; about "
        f"{by_chance:.1f} would by chance"
    ]


def draw_jobs(
    jobs: Sequence[Job],
    rows: Sequence[Row],
    varied: Sequence[str],
    same: Collection[str],
) -> dict[str, Figure]:
    """Draws a plot of each set and aspect, by file name: a panel for each metric that varies, a line per job."""
    places = list_places(rows)
    drawn: dict[str, Figure] = {}
    for place in places:
        placed = [row for row in rows if locate_row(row) == place]
        panels = {name: get_column(placed, name) for name in list_metrics(placed) if name not in same}
        if len(placed) < 2 or not panels:
            continue
        key = "joint"
        if len(places) > 1:
            key = " ".join(["joint", *dict(place).values()])
        drawn[key] = plot_settings(
            panels,
            labels=[", ".join(choose_cells(row, varied).values()) for row in placed],
            named=", ".join(shorten_names(varied).values()),
            title=title_plot(jobs, place),
        )
    files = name_files(drawn)
    return {files[key]: figure for key, figure in drawn.items()}


def title_plot(jobs: Sequence[Job], place: Place) -> str:
    """Writes the title of a plot: what its numbers are, and to which set and aspect they belong."""
    measured = caption_results(jobs, [place]).partition(". ")[0]
    if not place:
        return measured
    where = dict(place)
    return f"{measured} ({where['aspect']} of {where['set']})"


def get_column(rows: Sequence[Row], name: str) -> list[Estimate | None]:
    """Returns the cells of a column, with None for a row that lacks it."""
    return [row.get(name) for row in rows]


def seed_rows(rows: Sequence[Row], varied: Iterable[str]) -> list[dict[str, Any]]:
    """Computes means and standard deviations over seeds, for each set and aspect, other settings, and metric or figure.

    `rows` are those of `joint_rows`. The rows of a set and aspect are sorted by their mean agreement.
    """
    others = [key for key in ("set", "aspect", *varied) if key != "seed"]
    values_by_row: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for row in rows:
        shared = tuple((key, row[key]) for key in others if key in row)
        for name in list_estimates(row):
            value = row[name].value
            if not math.isnan(value):
                values = values_by_row.setdefault((*shared, ("metric", name)), [])
                values.append(value)
    means: list[dict[str, Any]] = []
    for key, values in values_by_row.items():
        if len(values) > 1:
            of_seeds = {"seeds": len(values), "mean": fmean(values), "spread": stdev(values)}
            means.append({**dict(key), **of_seeds})
    places = list_places(means)

    def rank(row: Row) -> tuple[int, float]:
        place = locate_row(row)
        return places.index(place), -row["mean"] if place else 0

    return sorted(means, key=rank)
