"""Draws agreement.svg: how metrics of dialogues agree with people, and how much of this agreement cheap cues leave.

FOLDER holds the public sets as docs/cdm.md describes them; RUN is the folder of a finished run of +exp=cdm_dialogue on
FED and DSTC9, one for each seed:

    python docs/images/agreement.py FOLDER [RUN ...]

Several runs count as one metric, with the mean of their ranks; a stroke shows each single run. Every figure is printed.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import rankdata

from core.scores import Scores
from data.sets.dialogues import load_dstc9, load_fed
from meta_eval.agreement import CHEAP_CUES, Agreement, add_cheap_cues, agree, measure_aspect
from meta_eval.scored_set import ScoredSet

GENERATIVE = "cdm_generative_bert"
BASELINE = "baseline_amateur_alone_bert"  # negatives of the amateur alone: the paper's baseline of Table 5, not CDM
NAMES = {
    GENERATIVE: "Generative CDM, BERT",
    BASELINE: "baseline: amateur alone, BERT",
    "deam_like_bert": "negatives like DEAM's, BERT",
    "vakulenko_bert": "negatives of Vakulenko et al., BERT",
    "mesgar_bert": "negatives of Mesgar et al., BERT",
    "deam_published": "DEAM (355 M parameters)",
    CHEAP_CUES: "cheap cues alone",
}
COLOURS = {GENERATIVE: "C3", BASELINE: "C1", "deam_published": "C0", CHEAP_CUES: "C7"}
DIAMOND = {"markerfacecolor": "white", "color": "black", "markersize": 5}  # of a published value
PANELS = {"spearman": "agreement (Spearman)", "beyond_cues": "agreement beyond cheap cues"}
# of the paper: Mixed-Multi, our strategy, with T5-small and -large (Table 3); the amateur alone, T5-small (Table 5)
PUBLISHED = {
    GENERATIVE: {
        "fed": {"coherence": 0.42, "overall": 0.40},
        "dstc9": {"coherence": 0.17, "overall": 0.18},
    },
    BASELINE: {
        "fed": {"coherence": 0.31, "overall": 0.28},
        "dstc9": {"coherence": 0.09, "overall": 0.08},
    },
}


class Line(NamedTuple):
    """A line of the picture: one metric and one aspect."""

    # of the mean ranks over the runs
    agreement: Agreement
    # of each run by itself
    seeds: list[Agreement]


def read_runs(rated: ScoredSet, runs: Sequence[Path]) -> dict[str, list[np.ndarray]]:
    """Reads the scores of a set by metric of `NAMES`: for each run that has scores, an array of shape (n,)."""
    by_metric: dict[str, list[np.ndarray]] = {}
    for run in runs:
        lines = (run / "scores.jsonl").read_text("utf-8").splitlines()
        texts = [json.loads(line) for line in lines]
        rows = [text["scores"] for text in texts if text["set"] == rated.name]
        if not rows:
            continue
        for metric in NAMES:
            if "quality" in rows[0].get(metric, ()):
                values = [row[metric]["quality"] for row in rows]
                by_metric.setdefault(metric, []).append(np.array(values))
    return by_metric


def measure(rated: ScoredSet, runs: Sequence[Path]) -> list[Line]:
    """Returns the lines of a set: aspect by aspect, each metric of `NAMES`."""
    scores = {f"{name}_published": published for name, published in rated.scores.items()}
    single_runs: dict[str, Scores] = {}
    for metric, columns in read_runs(rated, runs).items():
        ranks = [rankdata(values) for values in columns]
        mean_ranks = np.mean(ranks, axis=0)
        scores[metric] = Scores({"quality": mean_ranks}, "mean of ranks")
        for i, values in enumerate(columns):
            single_runs[f"{metric}, {i}"] = Scores({"quality": values}, "")
    together = add_cheap_cues(replace(rated, scores=scores))
    alone = replace(rated, scores=single_runs)
    order = [*NAMES]
    lines = []
    for aspect in together.aspects:
        rows = measure_aspect(together, aspect)
        rows.sort(key=lambda row: order.index(row.metric))
        for row in rows:
            names = [name for name in single_runs if name.startswith(f"{row.metric}, ")]
            seeds = [agree(alone, name, aspect) for name in names]
            lines.append(Line(row, seeds))
    return lines


def draw_line(
    panel: Axes,
    place: int,
    line: Line,
    key: str,
) -> None:
    """Draws and prints one figure of a line: the value, its interval, and a stroke for each single run."""
    row = line.agreement
    estimate = getattr(row, key)
    values = [getattr(seed, key).value for seed in line.seeds]
    colour = COLOURS.get(row.metric, "C2")
    shown = f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
    described = f"{row.set} {row.aspect} {row.metric} {key}"
    print(described, shown, np.round(values, 3))
    places = [place] * len(values)
    panel.plot(values, places, "|", color=colour, markersize=9)
    ends = [estimate.low, estimate.high]
    panel.plot(ends, [place, place], color=colour, linewidth=2.5)
    panel.plot(estimate.value, place, marker="o", color=colour)


def name_line(line: Line) -> str:
    """Returns the text beside a line."""
    row = line.agreement
    name = f"{row.set}, {row.aspect}: {NAMES[row.metric]}"
    if line.seeds:
        return f"{name}, {len(line.seeds)} seeds"
    return name


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draws all lines in two panels: the agreement, and what cheap cues leave of it."""
    height = 0.8 + 0.32 * len(lines)
    figure = Figure(figsize=(9, height), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for place, line in enumerate(lines):
        for panel, key in zip(panels, PANELS, strict=True):
            draw_line(panel, place, line, key)
        row = line.agreement
        if row.metric in PUBLISHED:
            published = PUBLISHED[row.metric][row.set][row.aspect]
            panels[0].plot(published, place, "D", **DIAMOND)
    for panel, title in zip(panels, PANELS.values(), strict=True):
        panel.axvline(0, color="black", linewidth=0.6)
        panel.grid(axis="x", linewidth=0.3)
        panel.set_title(title, fontsize=10)
    names = [name_line(line) for line in lines]
    panels[0].set_yticks(range(len(lines)), names, fontsize=8)
    panels[0].set_ylim(len(lines) - 0.5, -0.5)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


def main(folder: str, runs: Sequence[Path]) -> None:
    """Measures both sets and draws them."""
    rcParams["svg.hashsalt"] = "agreement"  # the same bytes every time
    rcParams["svg.fonttype"] = "none"  # text as text, which is small
    lines = measure(load_fed(folder), runs)
    lines += measure(load_dstc9(folder), runs)
    draw(lines, Path(__file__).with_name("agreement.svg"))


if __name__ == "__main__":
    _, folder_of_sets, *folders_of_runs = sys.argv
    main(folder_of_sets, [Path(run) for run in folders_of_runs])
