"""Joint: what all jobs of a sweep found as one table and one plot, in the form of a paper's ablation.

Agreement with ratings: a column holds one metric. A metric whose name depends on the settings is a column under several
names. Other findings: two columns of the jobs' tables, one against the other.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from experiments.report.plots import trade_off
from meta_eval.bootstrap import Estimate

MARKERS, LINES = "os^D", ("-", "--", ":", "-.")

Columns = Mapping[str, Sequence[str]]  # the names of a metric in results.json by column


def joint_rows(
    jobs: Sequence[Mapping[str, Any]], varied: Sequence[str], columns: Columns | None
) -> list[dict[str, Any]]:
    """One row per job, set and aspect: the varied settings, then the Spearman correlation of every column.

    Without `columns` every metric is one. Jobs that failed have no row.
    """
    rows: list[dict[str, Any]] = []
    for job in jobs:
        found = [row for row in job.get("table", ()) if "spearman" in row]
        names = columns or {row["metric"]: [row["metric"]] for row in found}
        for place in dict.fromkeys((row["set"], row["aspect"]) for row in found):
            here = {row["metric"]: row for row in found if (row["set"], row["aspect"]) == place}
            cells = {column: next((here[m] for m in metrics if m in here), None) for column, metrics in names.items()}
            rows.append(
                {
                    "set": place[0],
                    "aspect": place[1],
                    **{key: job["settings"].get(key, "") for key in varied},
                    **{
                        column: _estimate(row["spearman"], row["spearman_interval"])
                        for column, row in cells.items()
                        if row is not None
                    },
                }
            )
    return rows


def trade_off_rows(
    jobs: Sequence[Mapping[str, Any]], varied: Sequence[str], columns: Sequence[str]
) -> list[dict[str, Any]]:
    """One row per job: the varied settings, then the columns from the first row of its table that has all of them.

    Jobs without such a row have none.
    """
    firsts = (
        (job, row)
        for job in jobs
        for row in [next((row for row in job.get("table", ()) if {*columns} <= {*row}), None)]
        if row is not None
    )
    return [
        {
            **{key: job["settings"].get(key, "") for key in varied},
            **{name: _estimate(row[name], row.get(f"{name}_interval", (None, None))) for name in columns},
        }
        for job, row in firsts
    ]


def plot_trade_off(rows: Sequence[Mapping[str, Any]], varied: Sequence[str], columns: Sequence[str]) -> Figure:
    """The second column against the first, a point for each row of `trade_off_rows`."""
    x, y = columns
    points = [(", ".join(f"{key.rsplit('.', 1)[-1]} {row[key]}" for key in varied), row[x], row[y]) for row in rows]
    return trade_off({"": points}, x.replace("_", " "), y.replace("_", " "))


def plot_joint(rows: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> Figure:
    """A panel per set and aspect: Spearman with its interval against the first varied setting.

    Every column and every choice of the other varied settings has a line; a column has a colour, a choice has a style.
    """
    places = list(dict.fromkeys((row["set"], row["aspect"]) for row in rows))
    first, *others = varied
    levels = sorted({str(row[first]) for row in rows}, key=_in_order)
    figure = Figure(figsize=(10, 4.2 * len(places)), layout="constrained")
    for panel, place in zip(figure.subplots(len(places), squeeze=False)[:, 0], places, strict=True):
        lines: dict[tuple[str, str], list[tuple[int, Estimate]]] = {}
        for row in rows:
            if (row["set"], row["aspect"]) == place:
                choice = ", ".join(f"{key.rsplit('.', 1)[-1]} {row[key]}" for key in others)
                for column, cell in row.items():
                    if isinstance(cell, Estimate):
                        lines.setdefault((column, choice), []).append((levels.index(str(row[first])), cell))
        columns = list(dict.fromkeys(column for column, _ in lines))
        choices = list(dict.fromkeys(choice for _, choice in lines))
        for i, ((column, choice), points) in enumerate(lines.items()):
            points.sort(key=lambda point: point[0])
            x = [at + (i / len(lines) - 0.5) * 0.2 for at, _ in points]
            y = [estimate.value for _, estimate in points]
            errors = [[e.value - e.low for _, e in points], [e.high - e.value for _, e in points]]
            hue = columns.index(column)
            style = (hue // 10 + choices.index(choice)) % len(MARKERS)  # there are ten colours
            panel.errorbar(
                x,
                y,
                yerr=errors,
                capsize=2,
                linewidth=1,
                color=f"C{hue % 10}",
                marker=MARKERS[style],
                linestyle=LINES[style],
                label=f"{column}, {choice}" if choice else column,
            )
        panel.set_xticks(range(len(levels)), levels)
        panel.set(xlabel=first, ylabel="Spearman (95 % interval)", title=" · ".join(place))
        panel.axhline(0, color="black", linewidth=0.6)
        panel.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure


def _estimate(value: float | None, interval: Sequence[float | None]) -> Estimate:
    number, low, high = (math.nan if each is None else each for each in (value, *interval))
    return Estimate(number, low, high)


def _in_order(level: str) -> tuple[float, str]:
    """Numbers by their value, then texts."""
    try:
        return float(level), ""
    except ValueError:
        return math.inf, level
