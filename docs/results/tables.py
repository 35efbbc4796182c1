"""Measures the scores kept here, and writes every table and picture of agreement in the pages: `make tables`.

    python docs/results/tables.py [FOLDER]

FOLDER holds the public sets, as docs/cdm.md describes them. SET.jsonl (or SET-PART.jsonl) beside this file has a line
for each text that was scored: its `id`, and `scores` by metric and aspect (README.md says whose). `tables.toml` has the
names of metrics and the rows of tables. All figures go to `tables.json`; without FOLDER, pages and pictures are made
from there, and nothing is measured.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from core.scores import Scores
from data.sets.ctrleval import load_ctrleval
from data.sets.public import RATED
from meta_eval.agreement import NOT_METRICS, list_agreement
from meta_eval.correlation import spearman
from meta_eval.design import Grouping
from meta_eval.estimates import Estimate
from meta_eval.grouping import estimate_correlations
from meta_eval.scored_set import ScoredSet

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = (ROOT / "README.md", *sorted(HERE.parent.glob("*.md")), *sorted(HERE.glob("*.md")))
FIGURES = HERE / "tables.json"
SPEC = tomllib.loads((HERE / "tables.toml").read_text("utf-8"))
MARKED = re.compile(r"(<!-- (\w+): (\w+) -->)\n(?:(?!<!--).)*(<!-- end -->)", re.DOTALL)
OTHER = ("pandalm",)  # files that are no scores of texts
SEED = "_seed"  # in the names of scores whose mean is another metric
DIGITS = 4
MISSING = "–"
COLUMNS = {
    "spearman": "over all texts",
    "within_systems": "within systems",
    "between_systems": "between systems",
    "beyond_cues": "beyond cheap cues",
}
CLAIM = ["claim", "in the paper", "over all texts", "within systems", "n", "here"]
SYSTEMS = ["set, aspect", "systems", "name alone", "best metric", "over all texts", "within systems"]
DIAMOND: Mapping[str, Any] = {"markerfacecolor": "white", "color": "black", "markersize": 5}  # of a published figure

Interval = list[float | None]  # a value and both ends of its interval; None for what is not known
Row = Mapping[str, Any]  # `set`, `aspect`, `metric`, `minus`, `n`, `systems`, and a figure for each of `COLUMNS`
Figures = Mapping[tuple[str, ...], Row]  # by set, aspect, metric and minus
Cells = list[str]


def measure(name: str, root: str) -> Iterator[Row]:
    """Yields a row for each metric and aspect of a set, then for each difference of two metrics."""
    scored = read_scores(name, root)
    rows = list_agreement(scored)
    for row in rows:
        figures = {column: to_list(getattr(row, column)) for column in COLUMNS}
        yield {
            "set": name,
            "aspect": row.aspect,
            "metric": row.metric,
            "n": row.n,
            "systems": row.systems,
            **figures,
        }
    measured = {(row.metric, row.aspect) for row in rows}
    for metric, others in SPEC["minus"].items():
        for other, aspect in product(others, scored.aspects):
            if {(metric, aspect), (other, aspect)} <= measured:
                yield {
                    "set": name,
                    "aspect": aspect,
                    "metric": metric,
                    "minus": other,
                    **compare(scored, metric, other, aspect),
                }


def read_scores(name: str, root: str) -> ScoredSet:
    """Returns the texts of a set that were scored, with their kept scores and those that were published."""
    lines = (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
    kept = {line["id"]: line["scores"] for line in map(json.loads, lines)}
    whole = load_set(name.partition("-")[0], root)
    rated = whole.take([i for i, example in enumerate(whole.examples) if example.id in kept])
    rows = [kept[example.id] for example in rated.examples]
    scores = dict(rated.scores)
    for metric, aspects in rows[0].items():
        if SEED in metric:
            continue
        columns = {}
        for aspect in aspects:
            columns[aspect] = np.array([row[metric][aspect] for row in rows])
        scores[metric] = Scores(columns, metric)
    return replace(rated, scores=scores)


def load_set(name: str, root: str) -> ScoredSet:
    """Loads a rated set."""
    if name == "ctrleval_sentiment":
        return load_ctrleval(root, "sentiment")
    return RATED[name](root, False)


def compare(
    scored: ScoredSet,
    metric: str,
    other: str,
    aspect: str,
) -> Row:
    """Estimates Spearman's rho of one metric minus that of another on the same inputs."""
    rated = scored.rated(aspect)
    ratings = rated.ratings(aspect)
    layout = rated.layout

    values = [rated.values(name, aspect) for name in (metric, other)]

    def subtract(grouping: Grouping) -> Interval:
        both = estimate_correlations(spearman, values, ratings, layout, grouping)
        return to_list(both.subtract([0], [1]).only)

    systems = layout.system_count
    return {
        "n": len(rated),
        "systems": systems,
        "spearman": subtract("global"),
        "within_systems": subtract("within_systems") if systems > 1 else [None, None, None],
    }


def to_list(estimate: Estimate) -> Interval:
    """Rounds value and interval for JSON."""
    figures = (estimate.value, estimate.low, estimate.high)
    return [None if np.isnan(figure) else round(figure, DIGITS) for figure in figures]


def show(interval: Sequence[float | None]) -> str:
    """Writes a figure with its interval, if there is one, as pages do: `.60 [.48, .71]`."""
    value, low, high = interval
    if value is None:
        return MISSING
    if low is None or high is None:
        return show_figure(value)
    return f"{show_figure(value)} [{show_figure(low)}, {show_figure(high)}]"


def show_figure(figure: float) -> str:
    """Writes two digits without the zero in front of the point."""
    digits = f"{figure:.2f}".replace("-0.00", "0.00")
    return digits.replace("0.", ".", 1) if abs(figure) < 0.995 else digits


def write_table(name: str, figures: Figures) -> list[Cells]:
    """Writes the rows of a table of agreement, then those that are printed in the paper."""
    spec = SPEC["tables"][name]
    rows = [figures[spec["set"], spec["aspect"], metric, ""] for metric in spec["rows"]]
    columns = [column for column in COLUMNS if any(row[column][0] is not None for row in rows)]
    titles = [COLUMNS[column] for column in columns]
    lines = [["", "n", *titles]]
    for row in rows:
        cells = [show(row[column]) for column in columns]
        lines.append([SPEC["names"][row["metric"]], str(row["n"]), *cells])
    for title, value in spec.get("published", {}).items():
        empty = [""] * (len(columns) - 1)
        lines.append([title, "", value, *empty])
    return lines


def write_claims(name: str, figures: Figures) -> list[Cells]:
    """Writes the claims of a paper, each with the figure that speaks for or against it."""
    lines = [CLAIM]
    for claim in SPEC["claims"][name]:
        row = figures[tuple(claim["of"])]
        found = [show(row["spearman"]), show(row["within_systems"]), str(row["n"])]
        verdict = decide(row, is_below=claim.get("is_below", False))
        lines.append([claim["claim"], claim["paper"], *found, verdict])
    return lines


def decide(row: Row, *, is_below: bool) -> str:
    """Says whether the intervals of a figure show a claim, over all texts and within systems, or its reverse."""
    sides = [find_side(row[column]) for column in ("spearman", "within_systems")]
    over, within = (-side if is_below else side for side in sides)
    if not over:
        return "not shown"
    if over == within or row["within_systems"][0] is None:
        return "shown" if over > 0 else "reversed"
    return "over all texts alone" if over > 0 else "reversed over all texts alone"


def find_side(interval: Sequence[float | None]) -> int:
    """Returns the side of 0 on which an interval lies: 1 above, -1 below, 0 if it has 0 or is none."""
    _, low, high = interval
    if low is None or high is None:
        return 0
    return int(low > 0) - int(high < 0)


def write_systems(name: str, figures: Figures) -> list[Cells]:
    """Writes what the name of the system alone reaches, beside the best metric of each set."""
    lines = [SYSTEMS]
    for title, place in SPEC["systems"][name].items():
        alone = figures[*place, "system_alone", ""]
        best = max(list_metrics(place, figures), key=lambda row: row["spearman"][0])
        agreement = [show(best["spearman"]), show(best["within_systems"])]
        name_of_best = SPEC["names"][best["metric"]]
        lines.append([title, str(alone["systems"]), show(alone["spearman"]), name_of_best, *agreement])
    return lines


def list_metrics(place: Sequence[str], figures: Figures) -> list[Row]:
    """Lists the rows of all metrics for a set and an aspect."""
    rows = []
    for (of_set, aspect, metric, minus), row in figures.items():
        if [of_set, aspect] == place and metric not in NOT_METRICS and not minus:
            rows.append(row)
    return rows


WRITERS = {
    "table": write_table,
    "claims": write_claims,
    "systems": write_systems,
}


def fill_page(text: str, figures: Figures) -> str:
    """Writes every marked table of a page anew."""

    def write(found: re.Match[str]) -> str:
        start, kind, name, end = found.groups()
        titles, *rows = WRITERS[kind](name, figures)
        rule = ["---"] * len(titles)
        lines = ["| " + " | ".join(cells) + " |" for cells in (titles, rule, *rows)]
        return "\n".join((start, "", *lines, "", end))

    return MARKED.sub(write, text)


def draw(name: str, figures: Figures) -> Figure:
    """Draws rows of some tables with their intervals, a panel for each column; diamonds are printed in the paper."""
    spec = SPEC["pictures"][name]
    tables = [SPEC["tables"][table] for table in spec["tables"]]
    metrics = [[row for row in table["rows"] if row in KINDS] for table in tables]
    heights = [1 + len(rows) for rows in metrics]
    figure = Figure(figsize=(9.5, 1 + 0.25 * (sum(heights) + len(heights))), layout="constrained")
    grid = figure.subplots(
        len(tables),
        len(spec["columns"]),
        sharex=True,
        sharey="row",
        height_ratios=heights,
    )
    for table, drawn, panels in zip(tables, metrics, grid, strict=True):
        rows = [figures[table["set"], table["aspect"], metric, ""] for metric in drawn]
        for panel, column in zip(panels, spec["columns"], strict=True):
            draw_rows(panel, rows, column)
            panel.set_title(COLUMNS[column], fontsize=9)
        label(panels[0], table, rows)
    handles = []
    for kind in SPEC["kinds"]:
        colour = COLOURS[kind]
        handles.append(Line2D([], [], color=colour, marker="o", label=kind))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2,
        fontsize=8,
    )
    return figure


def label(panel: Axes, table: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Names the rows of a table in its first panel, and draws what is printed in the paper below them."""
    names = [SPEC["names"][row["metric"]].strip("*") for row in rows]
    published = [value for value in table.get("published", {}).values() if " " not in value]
    if published:
        names.append("printed in the paper")
    panel.set_yticks(range(len(names)), names, fontsize=8)
    panel.set_ylim(len(names) - 0.5, -0.5)
    title = f"{table['title']}, n {rows[-1]['n']}: {COLUMNS['spearman']}"
    panel.set_title(title, fontsize=9)
    for value in published:
        panel.plot(float(value), len(rows), "D", **DIAMOND)


def draw_rows(panel: Axes, rows: Sequence[Row], column: str) -> None:
    """Draws one figure of each row, with its interval."""
    for place, row in enumerate(rows):
        value, low, high = row[column]
        if value is not None:
            colour = COLOURS[KINDS[row["metric"]]]
            ends = [low, high]
            panel.plot(ends, [place, place], color=colour, linewidth=2.5)
            panel.plot(value, place, marker="o", color=colour)
    panel.axvline(0, color="black", linewidth=0.6)
    panel.grid(axis="x", linewidth=0.3)


def list_kinds() -> dict[str, str]:
    """Lists the kind of every metric of the pictures."""
    kinds = {}
    for kind, metrics in SPEC["kinds"].items():
        kinds |= dict.fromkeys(metrics, kind)
    return kinds


KINDS = list_kinds()
COLOURS = {kind: f"C{number}" for number, kind in enumerate(SPEC["kinds"])}


def read_figures() -> Figures:
    """Reads all measured figures."""
    figures = {}
    for row in json.loads(FIGURES.read_text("utf-8")):
        figures[row["set"], row["aspect"], row["metric"], row.get("minus", "")] = row
    return figures


def measure_all(root: str) -> None:
    """Measures every file of scores, and keeps the figures."""
    rows = []
    for path in sorted(HERE.glob("*.jsonl")):
        if path.stem not in OTHER:
            rows += [json.dumps(row) for row in measure(path.stem, root)]
    FIGURES.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")


def main(roots: Sequence[str]) -> None:
    """Measures if a folder is given; then writes pages and pictures."""
    for root in roots:
        measure_all(root)
    figures = read_figures()
    for page in PAGES:
        text = page.read_text("utf-8")
        page.write_text(fill_page(text, figures), "utf-8")
    for name in SPEC["pictures"]:
        path = HERE.parent / "images" / f"{name}.svg"
        draw(name, figures).savefig(path, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "tables"  # the same bytes every time
    rcParams["svg.fonttype"] = "none"
    main(sys.argv[1:])
