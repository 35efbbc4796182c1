"""Joint: what all jobs of a sweep found as one table and one plot, in the form of a paper's ablation."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from matplotlib import colormaps
from matplotlib.figure import Figure

from experiments.report.plots import TITLE, draw_line, make_figure, styled, trade_off, wrap
from judge.agreement_tables import AGREEMENT
from meta_eval.bootstrap import Estimate

LINES = ("-", "--", ":", "-.")


def varied_settings(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that differ between jobs."""
    return [key for key in jobs[0]["settings"] if len({str(job["settings"].get(key)) for job in jobs}) > 1]


def joint_rows(
    jobs: Sequence[Mapping[str, Any]], varied: Sequence[str], columns: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One row per job, set and aspect: the varied settings, then the agreement of each metric by the job's statistic.

    A job without ratings has one row: the `columns` (default: all estimates) of the first row of its tables that has
    them, else its figures. A job that failed has none.
    """
    rows: dict[tuple[int | str, ...], dict[str, Any]] = {}
    for number, job in enumerate(jobs):
        settings = {key: job["settings"].get(key, "") for key in varied}
        for place, name, estimate in _list_findings(job, columns):
            rows.setdefault((number, *place.values()), {**place, **settings})[name] = estimate
    return list(rows.values())


def _list_findings(job: Mapping[str, Any], columns: Sequence[str]) -> Iterator[tuple[dict[str, str], str, Estimate]]:
    """Set and aspect (nothing without ratings), name and estimate."""
    table = job.get("table", ())
    statistic = str(job["settings"].get("statistic", "spearman"))
    rated = [row for row in table if row["table"] == AGREEMENT and row.get("grouping", "global") == "global"]
    for row in rated:
        yield (
            {"set": row["set"], "aspect": row["aspect"]},
            row["metric"],
            _estimate(row, statistic if statistic in row else "spearman"),
        )
    if rated:
        return
    estimates = ({name: _estimate(row, name) for name in row if f"{name}_interval" in row} for row in table)
    first = next((row for row in estimates if row and {*columns} <= {*row}), {})
    figures = {name: _estimate(job["figures"], name) for name in job.get("figures", ())}
    for name, estimate in (first or figures).items():
        if not columns or name in columns:
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


def plot_trade_off(rows: Sequence[Mapping[str, Any]], varied: Sequence[str], columns: Sequence[str]) -> Figure:
    """The second column against the first, a point for each row of `joint_rows`."""
    x, y = columns
    points = [(_name_choice(row, varied), row[x], row[y]) for row in rows]
    return trade_off({"": points}, x.replace("_", " "), y.replace("_", " "))


@styled
def plot_joint(rows: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> Figure:
    """A panel per set and aspect: agreement with its interval against the first varied setting.

    Every metric and every choice of the other varied settings has a line; a metric has a colour, a choice has dashes.
    """
    places = list(dict.fromkeys((row["set"], row["aspect"]) for row in rows))
    first, *others = varied
    levels = sorted({str(row[first]) for row in rows}, key=_in_order)
    choices = list(dict.fromkeys(_name_choice(row, others) for row in rows))
    metrics = list(dict.fromkeys(name for row in rows for name, cell in row.items() if isinstance(cell, Estimate)))
    lines = list(itertools.product(enumerate(metrics), enumerate(choices)))
    figure = make_figure(1 + 4.5 * len(places) + 0.35 * len(lines))
    for panel, place in zip(figure.subplots(len(places), squeeze=False)[:, 0], places, strict=True):
        here = [row for row in rows if (row["set"], row["aspect"]) == place]
        for i, ((hue, metric), (dashes, choice)) in enumerate(lines):
            line = [row for row in here if metric in row and _name_choice(row, others) == choice]
            line.sort(key=lambda row: levels.index(str(row[first])))
            shift = (i / len(lines) - 0.5) * 0.2  # keeps intervals apart
            if line:
                draw_line(
                    panel,
                    [levels.index(str(row[first])) + shift for row in line],
                    [row[metric] for row in line],
                    marker="o",
                    color=colormaps["tab20"](hue % 20),
                    linestyle=LINES[dashes % len(LINES)],
                    label=wrap(f"{metric}, {choice}" if choice else metric, TITLE),
                )
        panel.set_xticks(range(len(levels)), levels)
        panel.set(xlabel=first, ylabel="agreement (95 % interval)", title=wrap(" · ".join(place), TITLE))
        panel.axhline(0, color="black", linewidth=0.6)
    handles = [panel.get_legend_handles_labels() for panel in figure.axes]
    labelled = {name: line for each in handles for line, name in zip(*each, strict=True)}
    figure.legend(labelled.values(), labelled.keys(), loc="outside lower center")
    return figure


def _name_choice(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(f"{key.rsplit('.', 1)[-1]} {row[key]}" for key in keys)


def _in_order(level: str) -> tuple[float, str]:
    """Numbers by their value, then texts."""
    try:
        return float(level), ""
    except ValueError:
        return math.inf, level
