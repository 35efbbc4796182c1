"""Measures the scores kept here, and writes every table and picture of agreement in the pages: `make tables`.

    python docs/results/tables.py [FOLDER]

FOLDER holds the public sets, as docs/cdm.md describes them. SET.jsonl (or SET-PART.jsonl) beside this file has a line
for each text that was scored: its `id`, and `scores` by metric and aspect (README.md says whose). `tables.toml` has the
names of metrics and the rows of tables. All figures go to `tables.json`; without FOLDER, pages and pictures are made
from there, and nothing is measured. NAME.csv holds a small table as it stands in a page, or the
logits of two systems.
"""

import csv
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.scores import Scores
from data.sets.ctrleval import load_ctrleval
from data.sets.public import RATED
from meta_eval.agreement import list_agreement
from meta_eval.estimates import Estimate
from meta_eval.grouping import difference
from meta_eval.scored_set import ScoredSet
from oumg.relative import relative_scores

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDERS = (ROOT, HERE.parent, HERE)
PAGES = tuple(page for folder in FOLDERS for page in sorted(folder.glob("*.md")))
FIGURES = HERE / "tables.json"
PICTURE = HERE.parent / "images" / "overview.svg"
SPEC = tomllib.loads((HERE / "tables.toml").read_text("utf-8"))
MARKED = re.compile(r"(<!-- (\w+): (\w+) -->)\n(?:(?!<!--).)*(<!-- end -->)", re.DOTALL)
OTHER = ("pandalm",)  # files that are no scores of texts
SEED = "_seed"  # in the names of scores whose mean is another metric
DIGITS = 4
COLUMNS = {
    "spearman": "over all texts",
    "within_systems": "within systems",
    "between_systems": "between systems",
    "beyond_cues": "beyond cheap cues",
}
COMPARED: Mapping[str, Any] = {"spearman": "global", "within_systems": "within_systems"}  # the grouping of a column
CLAIM = ["claim", "in the paper", "over all texts", "within systems", "n", "here"]
RELATIVE = {
    "accuracy": "accuracy",
    "hsr_1": "HSR of G1",
    "hsr_2": "HSR of G2",
    "hsrd": "HSRD",
    "ur": "UR",
}
SHIFT = 0.15  # of a bar from its row
DIAMOND: Mapping[str, Any] = {"markerfacecolor": "white", "color": "black", "markersize": 5}  # of a published figure

Interval = Sequence[float | None]  # a value and both ends of its interval; None for what is not known
Row = Mapping[str, Any]  # `n`, `systems`, and a figure for each of `COLUMNS`
Figures = Mapping[str, Row]  # by SET/ASPECT/METRIC, or SET/ASPECT/METRIC - OTHER for a difference
Cells = Sequence[str]


def measure(name: str, root: str) -> Iterator[tuple[str, Row]]:
    """Yields the figures of each metric and aspect of a set, then of each difference of two metrics."""
    scored = read_scores(name, root)
    measured: set[str] = set()
    for row in list_agreement(scored):
        key = f"{name}/{row.aspect}/{row.metric}"
        measured.add(key)
        figures = {column: to_list(getattr(row, column)) for column in COLUMNS}
        yield key, {"n": row.n, "systems": row.systems, **figures}
    for aspect, compared in product(scored.aspects, SPEC["minus"]):
        metric, other = compared.split(" - ")
        place = f"{name}/{aspect}"
        if {f"{place}/{metric}", f"{place}/{other}"} <= measured:
            yield f"{place}/{compared}", compare(scored.rated(aspect), metric, other, aspect)


def compare(
    rated: ScoredSet,
    metric: str,
    other: str,
    aspect: str,
) -> Row:
    """Estimates Spearman's rho of one metric minus that of another on the same texts; None without systems."""
    row: dict[str, Any] = {"n": len(rated), "systems": rated.layout.system_count}
    for column, grouping in COMPARED.items():
        found = difference(
            rated.values(metric, aspect),
            rated.values(other, aspect),
            rated.ratings(aspect),
            rated.layout,
            grouping=grouping,
        )
        row[column] = to_list(found)
    return row


def read_scores(name: str, root: str) -> ScoredSet:
    """Returns the texts of a set that were scored, with their kept scores and those that were published."""
    kept = {line["id"]: line["scores"] for line in read_lines(HERE / f"{name}.jsonl")}
    whole = load_set(name.partition("-")[0], root)
    places = [place for place, example in enumerate(whole.examples) if example.id in kept]
    rated = whole.take(places)
    rows = [kept[example.id] for example in rated.examples]
    scores = dict(rated.scores)
    for metric, aspects in rows[0].items():
        if SEED in metric:
            continue
        columns = {}
        for aspect in aspects:
            values = [row[metric][aspect] for row in rows]
            columns[aspect] = np.array(values)
        scores[metric] = Scores(columns, metric)
    return replace(rated, scores=scores)


def read_lines(path: Path) -> list[Any]:
    """Reads a file of one JSON value a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def load_set(name: str, root: str) -> ScoredSet:
    """Loads a rated set."""
    if name == "ctrleval_sentiment":
        return load_ctrleval(root, "sentiment")
    return RATED[name](root, False)


def to_list(estimate: Estimate) -> Interval:
    """Rounds value and interval for JSON."""
    figures = (estimate.value, estimate.low, estimate.high)
    return [None if np.isnan(figure) else round(figure, DIGITS) for figure in figures]


def show(interval: Interval) -> str:
    """Writes a figure with its interval, if there is one, as pages do: `.60 [.48, .71]`."""
    value, *ends = [show_figure(figure) for figure in interval if figure is not None] or ["–"]
    if not ends:
        return value
    return f"{value} [{', '.join(ends)}]"


def show_figure(figure: float) -> str:
    """Writes two digits without the zero in front of the point."""
    digits = f"{figure:.2f}".replace("-0.00", "0.00")
    return digits.replace("0.", ".", 1) if abs(figure) < 0.995 else digits


def write_table(name: str, figures: Figures) -> Iterator[Cells]:
    """Writes the rows of a table of agreement."""
    spec = SPEC["tables"][name]
    rows = list_rows(spec, figures)
    columns = []
    for column in COLUMNS:
        if any(row[column][1] is not None for row in rows.values()):  # an interval
            columns.append(column)
    yield ["", "n", *[COLUMNS[column] for column in columns]]
    for title, row in rows.items():
        cells = [show(row[column]) for column in columns]
        yield [title, str(row["n"]), *cells]


def list_rows(spec: Mapping[str, Any], figures: Figures) -> dict[str, Row]:
    """Lists the measured rows of a table by their titles."""
    rows = {}
    for metric in spec["rows"]:
        title = SPEC["names"][metric]
        rows[title] = figures[f"{spec['of']}/{metric}"]
    return rows


def write_claims(name: str, figures: Figures) -> Iterator[Cells]:
    """Writes the claims of a paper, each with the figure that speaks for or against it."""
    yield CLAIM
    for claim in SPEC["claims"][name]:
        row = figures[claim["of"]]
        yield [
            claim["claim"],
            claim["paper"],
            show(row["spearman"]),
            show(row["within_systems"]),
            str(row["n"]),
            decide(row, is_below=claim.get("is_below", False)),
        ]


def decide(row: Row, *, is_below: bool) -> str:
    """Says whether the intervals of a figure show a claim, over all texts and within systems, or its reverse."""
    sign = -1 if is_below else 1
    over = sign * find_side(row["spearman"])
    within = sign * find_side(row["within_systems"])
    if not over:
        return "not shown"
    verdict = "shown" if over > 0 else "reversed"
    if over == within or row["within_systems"][0] is None:
        return verdict
    return f"{verdict} over all texts alone".removeprefix("shown ")


def find_side(interval: Interval) -> int:
    """Returns the side of 0 on which an interval lies: 1 above, -1 below, 0 if it has 0 or is none."""
    _, low, high = interval
    if low is None or high is None:
        return 0
    return int(low > 0) - int(high < 0)


def write_file(name: str, figures: Figures) -> Iterator[Cells]:
    """Writes a table that is kept as a CSV file."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file)


def write_relative(name: str, figures: Figures) -> Iterator[Cells]:
    """Writes the relative scores of two systems from the kept logits of each input; a column is ORIGIN_SEED."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        titles, *rows = csv.reader(file)
    columns = dict(zip(titles, zip(*rows, strict=True), strict=True))
    inputs = columns.pop("input")
    logits: dict[str, list[list[float]]] = {}
    for title, values in columns.items():
        origin = title.partition("_")[0]
        of_seed = [float(value) for value in values]
        logits.setdefault(origin, []).append(of_seed)
    scores = relative_scores(logits["human"], logits["g1"], logits["g2"], inputs, inputs)
    yield ["inputs", *RELATIVE.values()]
    shown = [show(to_list(getattr(scores, score))) for score in RELATIVE]
    yield [str(scores.inputs), *shown]


WRITERS: Mapping[str, Callable[[str, Figures], Iterator[Cells]]] = {
    "table": write_table,
    "claims": write_claims,
    "file": write_file,
    "relative": write_relative,
}


def fill_page(text: str, figures: Figures) -> str:
    """Writes every marked table of a page anew."""

    def write(found: re.Match[str]) -> str:
        start, kind, name, end = found.groups()
        lines = []
        for cells in WRITERS[kind](name, figures):
            lines.append(f"| {' | '.join(cells)} |")
            if len(lines) == 1:
                lines.append("| --- " * len(cells) + "|")
        return "\n".join((start, "", *lines, "", end))

    return MARKED.sub(write, text)


def draw(figures: Figures) -> Figure:
    """Draws the rows of some tables, over all texts and within systems; diamonds are printed in the paper."""
    tables = [SPEC["tables"][name] for name in SPEC["picture"]]
    heights = [len(table["rows"]) + 1 for table in tables]
    figure = Figure(figsize=(8, 0.3 * sum(heights)))
    # fixed, because a layout that is solved differs in its last bits between two runs
    figure.subplots_adjust(
        left=0.3,
        right=0.98,
        bottom=0.06,
        top=0.94,
        hspace=0.12,
    )
    panels = figure.subplots(len(tables), sharex=True, height_ratios=heights)
    for table, panel in zip(tables, panels, strict=True):
        draw_table(panel, table, figures)
    colours, names = panels[0].get_legend_handles_labels()
    figure.legend(colours, names, loc="upper center", ncols=2, fontsize=8)
    panels[-1].set_xlabel("Spearman's correlation with people, 95 % interval")
    return figure


def draw_table(panel: Axes, table: Mapping[str, Any], figures: Figures) -> None:
    """Draws the rows of a table, each with its intervals."""
    rows = list_rows(table, figures)
    titles = [title.strip("*") for title in rows]
    for column, shift in (("spearman", -SHIFT), ("within_systems", SHIFT)):
        bars = []
        for place, row in enumerate(rows.values()):
            value, low, high = row[column]
            if low is not None:
                bars.append((value, place + shift, value - low, high - value))
        values, places, *errors = np.transpose(bars)
        panel.errorbar(
            values,
            places,
            xerr=errors,
            fmt="o",
            markersize=4,
            linewidth=2,
            label=COLUMNS[column],
        )
    below = len(titles)  # the row of what is printed
    panel.set_yticks(range(below + 1), [*titles, "printed in the paper"], fontsize=8)
    panel.set_ylim(below + 0.5, -0.5)
    for value in table["published"].values():
        if " " not in value:  # a range has no place
            panel.plot(float(value), below, "D", **DIAMOND)
    n = max(row["n"] for row in rows.values())
    panel.set_title(f"{table['title']}, n {n}", fontsize=9)
    panel.axvline(0, color="black", linewidth=0.6)
    panel.grid(axis="x", linewidth=0.3)


def measure_all(root: str) -> None:
    """Measures every file of scores, and keeps the figures."""
    lines = []
    for path in sorted(HERE.glob("*.jsonl")):
        if path.stem in OTHER:
            continue
        for key, row in measure(path.stem, root):
            lines.append(f"{json.dumps(key)}: {json.dumps(row)}")
    text = ",\n".join(lines)
    FIGURES.write_text(f"{{\n{text}\n}}\n", "utf-8")


def read_figures() -> Figures:
    """Reads all measured figures."""
    return json.loads(FIGURES.read_text("utf-8"))


def main(roots: Sequence[str]) -> None:
    """Measures if a folder is given; then writes pages and the picture."""
    for root in roots:
        measure_all(root)
    figures = read_figures()
    for page in PAGES:
        text = page.read_text("utf-8")
        page.write_text(fill_page(text, figures), "utf-8")
    picture = draw(figures)
    picture.savefig(PICTURE, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    rcParams["svg.hashsalt"] = "tables"  # the same bytes every time
    rcParams["svg.fonttype"] = "none"
    main(sys.argv[1:])
