"""Draws agreement.svg: agreement of metrics of dialogues with people, and what cheap cues leave of it.

FOLDER holds the public sets as docs/cdm.md describes them; RUN is the folder of a finished run of +exp=cdm_dialogue on
FED and DSTC9, one for each seed: python docs/images/agreement.py FOLDER [RUN ...]

Several runs count as one metric (the mean of their ranks); a run by itself is a stroke. Every figure is printed.
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
PANELS = {"spearman": "agreement (Spearman)", "beyond_cues": "agreement beyond cheap cues"}
# of the paper: Mixed-Multi, our strategy, with T5-small and -large (Table 3); the amateur alone, T5-small (Table 5)
PUBLISHED = {
    GENERATIVE: {"fed": {"coherence": 0.42, "overall": 0.40}, "dstc9": {"coherence": 0.17, "overall": 0.18}},
    BASELINE: {"fed": {"coherence": 0.31, "overall": 0.28}, "dstc9": {"coherence": 0.09, "overall": 0.08}},
}


class Row(NamedTuple):
    """The agreement of one metric with one aspect: of the mean ranks over the runs, and of each run."""

    together: Agreement
    seeds: list[Agreement]


def read_runs(rated: ScoredSet, runs: Sequence[Path]) -> dict[str, list[np.ndarray]]:
    """The scores of the texts of a set in each run, by metric of `NAMES`."""
    by_metric: dict[str, list[np.ndarray]] = {}
    for run in runs:
        lines = [json.loads(line) for line in (run / "scores.jsonl").read_text("utf-8").splitlines()]
        rows = [line["scores"] for line in lines if line["set"] == rated.name]
        scored = [metric for metric in NAMES if rows and "quality" in rows[0].get(metric, ())]
        for metric in scored:
            values = np.array([row[metric]["quality"] for row in rows])
            by_metric.setdefault(metric, []).append(values)
    return by_metric


def measure(rated: ScoredSet, runs: Sequence[Path]) -> list[Row]:
    """The agreement by aspect and metric of `NAMES`."""
    scores = {f"{name}_published": published for name, published in rated.scores.items()}
    single: dict[str, Scores] = {}
    seeds: dict[str, list[str]] = {}
    for metric, several in read_runs(rated, runs).items():
        mean_ranks = np.mean([rankdata(values) for values in several], axis=0)
        scores[metric] = Scores({"quality": mean_ranks}, "mean of ranks")
        for i, values in enumerate(several):
            name = f"{metric}, {i}"
            single[name] = Scores({"quality": values}, "")
            seeds.setdefault(metric, []).append(name)
    together = add_cheap_cues(replace(rated, scores=scores))
    alone = replace(rated, scores=single)
    order = list(NAMES)
    rows: list[Row] = []
    for aspect in together.aspects:
        agreements = measure_aspect(together, aspect)
        for agreement in sorted(agreements, key=lambda row: order.index(row.metric)):
            of_seeds = [agree(alone, name, aspect) for name in seeds.get(agreement.metric, ())]
            rows.append(Row(agreement, of_seeds))
    return rows


def draw_row(panel: Axes, key: str, height: int, row: Row) -> None:
    """Draws an estimate with its interval and a stroke for each run, and prints them."""
    estimate = getattr(row.together, key)
    of_seeds = [getattr(seed, key).value for seed in row.seeds]
    metric = row.together.metric
    colour = COLOURS.get(metric, "C2")
    shown = f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
    about = (row.together.set, row.together.aspect, metric, key)
    print(*about, shown, np.round(of_seeds, 3))
    panel.plot(of_seeds, [height] * len(of_seeds), "|", color=colour, markersize=9)
    panel.plot([estimate.low, estimate.high], [height, height], color=colour, linewidth=2.5)
    panel.plot(estimate.value, height, marker="o", color=colour)


def name_row(row: Row) -> str:
    """The label of a row."""
    label = f"{row.together.set}, {row.together.aspect}: {NAMES[row.together.metric]}"
    if row.seeds:
        label += f", {len(row.seeds)} seeds"
    return label


def draw(rows: Sequence[Row]) -> Figure:
    """Draws both panels; a diamond is the paper's figure."""
    figure = Figure(figsize=(9, 0.8 + 0.32 * len(rows)), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for height, row in enumerate(rows):
        for panel, key in zip(panels, PANELS, strict=True):
            draw_row(panel, key, height, row)
        published = PUBLISHED.get(row.together.metric)
        if published is not None:
            value = published[row.together.set][row.together.aspect]
            panels[0].plot(value, height, "D", markerfacecolor="white", color="black", markersize=5)
    for panel, title in zip(panels, PANELS.values(), strict=True):
        panel.axvline(0, color="black", linewidth=0.6)
        panel.grid(axis="x", linewidth=0.3)
        panel.set_title(title, fontsize=10)
    panels[0].set_yticks(range(len(rows)), list(map(name_row, rows)), fontsize=8)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    return figure


def main(root: str, runs: Sequence[str]) -> None:
    """Measures both sets and draws the picture."""
    rcParams["svg.hashsalt"] = "agreement"  # the same bytes every time
    rcParams["svg.fonttype"] = "none"  # a small file
    folders = [Path(run) for run in runs]
    rows = measure(load_fed(root), folders) + measure(load_dstc9(root), folders)
    path = Path(__file__).with_name("agreement.svg")
    draw(rows).savefig(path, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
