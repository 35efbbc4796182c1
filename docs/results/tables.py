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
from meta_eval.bootstrap import Estimate
from meta_eval.correlation import spearman
from meta_eval.grouping import Grouping
from meta_eval.intervals import USUAL_RESAMPLING, estimate_grouped, weigh_grouped
from meta_eval.scored_set import ScoredSet

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = (ROOT / "README.md", *sorted(HERE.parent.glob("*.md")), HERE / "README.md")
FIGURES = HERE / "tables.json"
SPEC = tomllib.loads((HERE / "tables.toml").read_text("utf-8"))
MARKED = re.compile(r"(<!-- (\w+): (\w+) -->)\n(?:(?!<!--).)*(<!-- end -->)", re.DOTALL)
DIGITS = 4
SEED = "_seed"  # in the names of scores whose mean is another metric
DIAMOND: Mapping[str, Any] = {"markerfacecolor": "white", "color": "black", "markersize": 5}  # of a published figure
UNKNOWN: list[float | None] = [None, None, None]
OTHER = ("pandalm",)  # files that are no scores of texts
COLUMNS = {
    "spearman": "over all texts",
    "within_systems": "within systems",
    "between_systems": "between systems",
    "beyond_cues": "beyond cheap cues",
}
Row = Mapping[str, Any]  # `set`, `aspect`, `metric`, `minus`, `n`, `systems`; value and interval of each column
Figures = Mapping[tuple[str, ...], Row]  # by set, aspect, metric and minus


def measure(name: str, root: str) -> Iterator[Row]:
    """Yields a row for each metric and aspect of a set, then for each difference of two metrics."""
    scored = read_scores(name, root)
    rows = list_agreement(scored)
    for row in rows:
        figures = {column: to_list(getattr(row, column)) for column in COLUMNS}
        yield {"set": name, "aspect": row.aspect, "metric": row.metric, "n": row.n, "systems": row.systems, **figures}
    measured = {(row.metric, row.aspect) for row in rows}
    for pair in SPEC["pairs"]:
        for aspect in scored.aspects:
            others = [other for other in pair["minus"] if {(pair["of"], aspect), (other, aspect)} <= measured]
            for other in others:
                yield {"set": name, "aspect": aspect, **compare(scored, pair["of"], other, aspect)}


def read_scores(name: str, root: str) -> ScoredSet:
    """Returns the texts of a set that were scored, with their kept scores and those that were published."""
    lines = (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
    kept = {line["id"]: line["scores"] for line in map(json.loads, lines)}
    rated = load_set(name.partition("-")[0], root)
    rated = rated.take([i for i, example in enumerate(rated.examples) if example.id in kept])
    rows = [kept[example.id] for example in rated.examples]
    scores = dict(rated.scores)
    for metric, aspects in rows[0].items():
        if SEED not in metric:
            columns = {aspect: np.array([row[metric][aspect] for row in rows]) for aspect in aspects}
            scores[metric] = Scores(columns, metric)
    return replace(rated, scores=scores)


def load_set(name: str, root: str) -> ScoredSet:
    """Loads a rated set."""
    if name == "ctrleval_sentiment":
        return load_ctrleval(root, "sentiment")
    return RATED[name](root, False)


def compare(scored: ScoredSet, metric: str, other: str, aspect: str) -> Row:
    """Estimates Spearman's rho of one metric minus that of another on the same draws of inputs."""
    rated = scored.rated(aspect)
    x = rated.values(metric, aspect)
    z = rated.values(other, aspect)
    y = rated.ratings(aspect)
    layout = rated.layout

    def subtract(grouping: Grouping) -> list[float | None]:
        first = weigh_grouped(spearman, x, y, layout, grouping)
        second = weigh_grouped(spearman, z, y, layout, grouping)
        gain = estimate_grouped(lambda weights: first(weights) - second(weights), layout, grouping, USUAL_RESAMPLING)
        return to_list(gain)

    within = subtract("within_systems") if layout.system_count > 1 else UNKNOWN
    gains = {"spearman": subtract("global"), "within_systems": within}
    return {"metric": metric, "minus": other, "n": len(rated), "systems": layout.system_count, **gains}


def to_list(estimate: Estimate) -> list[float | None]:
    """Rounds value and interval for JSON; None for what is not known."""
    figures = (estimate.value, estimate.low, estimate.high)
    return [None if np.isnan(figure) else round(figure, DIGITS) for figure in figures]


def show(figures: Sequence[float | None] | float | str | None) -> str:
    """Writes a figure, with its interval if there is one, as pages do: `.60 [.48, .71]`."""
    if isinstance(figures, str):
        return re.sub(r"\b0\.", ".", figures)
    if not isinstance(figures, Sequence):
        figures = (figures,)
    shown = ["–" if figure is None else re.sub(r"^(-?)0\.", r"\1.", f"{figure:.2f}") for figure in figures]
    value, *ends = [".00" if text == "-.00" else text for text in shown]
    return value if "–" in ends or not ends else f"{value} [{ends[0]}, {ends[1]}]"


def write_table(name: str, figures: Figures) -> str:
    """Writes a table of agreement in Markdown."""
    spec = SPEC["tables"][name]
    rows = [figures[spec["set"], spec["aspect"], metric, ""] for metric in spec["rows"]]
    columns = [column for column in COLUMNS if any(row[column][0] is not None for row in rows)]
    lines = [["", "n", *(COLUMNS[column] for column in columns)], ["---"] * (2 + len(columns))]
    for row in rows:
        lines.append([SPEC["names"][row["metric"]], str(row["n"]), *(show(row[column]) for column in columns)])
    for title, value in spec.get("published", {}).items():
        lines.append([title, "", show(value), *[""] * (len(columns) - 1)])
    return join_lines(lines)


def join_lines(lines: Sequence[Sequence[str]]) -> str:
    """Joins the cells of a table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_claims(name: str, figures: Figures) -> str:
    """Writes the claims of a paper in Markdown, each with the figure that speaks for or against it."""
    lines = [["claim", "in the paper", "over all texts", "within systems", "n", "here"], ["---"] * 6]
    for claim in SPEC["claims"][name]:
        row = figures[tuple(claim["of"])]
        lines.append(
            [
                claim["claim"],
                claim["paper"],
                show(row["spearman"]),
                show(row["within_systems"]),
                str(row["n"]),
                claim["here"],
            ]
        )
    return join_lines(lines)


def write_systems(name: str, figures: Figures) -> str:
    """Writes what the name of the system alone reaches, beside the best metric, in Markdown."""
    lines = [["set, aspect", "systems", "name alone", "best metric", "over all texts", "within systems"], ["---"] * 6]
    for title, (of_set, aspect) in SPEC["systems"][name].items():
        alone = figures[of_set, aspect, "system_alone", ""]
        rows = [row for row in figures.values() if (row["set"], row["aspect"]) == (of_set, aspect)]
        metrics = [row for row in rows if "minus" not in row and row["metric"] not in NOT_METRICS]
        best = max(metrics, key=lambda row: row["spearman"][0])
        cells = (show(alone["spearman"]), SPEC["names"][best["metric"]])
        lines.append([title, str(alone["systems"]), *cells, show(best["spearman"]), show(best["within_systems"])])
    return join_lines(lines)


def draw(name: str, figures: Figures) -> Figure:
    """Draws the rows of some tables with their intervals, a panel for each column; diamonds are the papers' figures."""
    spec = SPEC["pictures"][name]
    tables = [SPEC["tables"][table] for table in spec["tables"]]
    kinds = {metric: kind for kind, metrics in SPEC["kinds"].items() for metric in metrics}
    drawn = [[row for row in table["rows"] if row in kinds] for table in tables]
    sizes = [len(rows) for rows in drawn]
    figure = Figure(figsize=(9.5, 1 + 0.25 * (sum(sizes) + 2 * len(sizes))), layout="constrained")
    grid = figure.subplots(len(tables), len(spec["columns"]), sharex=True, sharey="row", height_ratios=sizes)
    for table, metrics, panels in zip(tables, drawn, grid, strict=True):
        rows = [figures[table["set"], table["aspect"], metric, ""] for metric in metrics]
        for panel, column in zip(panels, spec["columns"], strict=True):
            draw_rows(panel, rows, column, kinds)
            panel.set_title(COLUMNS[column], fontsize=9)
        published = [value for value in table.get("published", {}).values() if not isinstance(value, str)]
        panels[0].plot(published, [len(rows)] * len(published), "D", **DIAMOND)
        names = [SPEC["names"][metric].replace("*", "") for metric in metrics]
        panels[0].set_yticks(range(len(rows) + 1), [*names, "printed in the paper"], fontsize=8)
        panels[0].set_ylim(len(rows) + 0.5, -0.5)
        panels[0].set_title(f"{table['title']}, n {rows[-1]['n']}: {COLUMNS['spearman']}", fontsize=9)
    handles = [Line2D([], [], color=f"C{number}", marker="o", label=kind) for number, kind in enumerate(SPEC["kinds"])]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8)
    return figure


def draw_rows(
    panel: Axes,
    rows: Sequence[Row],
    column: str,
    kinds: Mapping[str, str],
) -> None:
    """Draws one figure of each row, with its interval."""
    colours = list(SPEC["kinds"])
    for place, row in enumerate(rows):
        value, low, high = row[column]
        if value is not None:
            colour = f"C{colours.index(kinds[row['metric']])}"
            panel.plot([low, high], [place, place], color=colour, linewidth=2.5)
            panel.plot(value, place, marker="o", color=colour)
    panel.axvline(0, color="black", linewidth=0.6)
    panel.grid(axis="x", linewidth=0.3)


WRITERS = {"table": write_table, "claims": write_claims, "systems": write_systems}


def fill_page(text: str, figures: Figures) -> str:
    """Writes every marked table of a page anew."""

    def write(found: re.Match[str]) -> str:
        start, kind, name, end = found.groups()
        return f"{start}\n\n{WRITERS[kind](name, figures)}\n\n{end}"

    return MARKED.sub(write, text)


def read_figures() -> Figures:
    """Reads all measured figures."""
    rows = json.loads(FIGURES.read_text("utf-8"))
    return {(row["set"], row["aspect"], row["metric"], row.get("minus", "")): row for row in rows}


def main(roots: Sequence[str]) -> None:
    """Measures every file of scores if a folder is given; then writes pages and pictures."""
    for root in roots:
        names = sorted(path.stem for path in HERE.glob("*.jsonl") if path.stem not in OTHER)
        rows = [json.dumps(row) for name in names for row in measure(name, root)]
        FIGURES.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")
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
