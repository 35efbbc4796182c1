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

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure
from scipy.stats import rankdata

from core.scores import Scores
from data.sets.dialogues import load_dstc9, load_fed
from meta_eval.agreement import CHEAP_CUES, add_cheap_cues, agree, measure_aspect
from meta_eval.scored_set import ScoredSet

RESAMPLED = "cdm_resampled_amateur_bert"  # negatives of the amateur alone: the paper's baseline of Table 5, not CDM
NAMES = {
    RESAMPLED: "resampled amateur, BERT",
    "deam_like_bert": "negatives like DEAM's, BERT",
    "vakulenko_bert": "negatives of Vakulenko et al., BERT",
    "mesgar_bert": "negatives of Mesgar et al., BERT",
    "deam_published": "DEAM (355 M parameters)",
    CHEAP_CUES: "cheap cues alone",
}
COLOURS = {RESAMPLED: "C1", "deam_published": "C0", CHEAP_CUES: "C7"}
PANELS = {"spearman": "agreement (Spearman)", "beyond_cues": "agreement beyond cheap cues"}
PUBLISHED = {  # of the resampled amateur, T5-small (CDM, Table 5)
    ("fed", "coherence"): 0.31,
    ("fed", "overall"): 0.28,
    ("dstc9", "coherence"): 0.09,
    ("dstc9", "overall"): 0.08,
}


def read_scores(runs: Sequence[Path], name: str) -> dict[str, list[np.ndarray]]:
    """The scores of a set by metric, run after run, for what the runs learned of `NAMES`."""
    found: dict[str, list[np.ndarray]] = {}
    for run in runs:
        lines = [json.loads(line) for line in (run / "scores.jsonl").read_text("utf-8").splitlines()]
        rows = [line["scores"] for line in lines if line["set"] == name]
        for metric in NAMES:
            if rows and "quality" in rows[0].get(metric, ()):
                found.setdefault(metric, []).append(np.array([row[metric]["quality"] for row in rows]))
    return found


def measure(rated: ScoredSet, runs: Sequence[Path]) -> list[tuple[str, str, str, list[object]]]:
    """Set, aspect and metric of each line, with the row of the mean ranks and then those of the runs."""
    by_metric = read_scores(runs, rated.name)
    scores = {f"{name}_published": found for name, found in rated.scores.items()}
    for metric, several in by_metric.items():
        scores[metric] = Scores({"quality": np.mean([rankdata(values) for values in several], axis=0)}, "mean of ranks")
    together = add_cheap_cues(replace(rated, scores=scores))
    single = {
        f"{m}, {i}": Scores({"quality": v}, "") for m, several in by_metric.items() for i, v in enumerate(several)
    }
    alone = ScoredSet(rated.name, together.examples, single)
    return [
        (rated.name, aspect, row.metric, [row, *(agree(alone, f"{row.metric}, {i}", aspect) for i in range(count))])
        for aspect in together.aspects
        for row in sorted(measure_aspect(together, aspect), key=lambda row: [*NAMES].index(row.metric))
        for count in [len(by_metric.get(row.metric, ()))]
    ]


if __name__ == "__main__":
    rcParams["svg.hashsalt"], rcParams["svg.fonttype"] = "agreement", "none"  # the same bytes every time, and small
    lines = [line for load in (load_fed, load_dstc9) for line in measure(load(sys.argv[1]), [*map(Path, sys.argv[2:])])]
    figure = Figure(figsize=(9, 0.8 + 0.32 * len(lines)), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for place, (name, aspect, metric, (row, *seeds)) in enumerate(lines):
        for panel, key in zip(panels, PANELS, strict=True):
            each, own, colour = (
                getattr(row, key),
                [getattr(seed, key).value for seed in seeds],
                COLOURS.get(metric, "C2"),
            )
            print(name, aspect, metric, key, f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]", np.round(own, 3))
            panel.plot(own, [place] * len(own), "|", color=colour, markersize=9)
            panel.plot([each.low, each.high], [place, place], color=colour, linewidth=2.5)
            panel.plot(each.value, place, marker="o", color=colour)
        if metric == RESAMPLED:
            panels[0].plot(PUBLISHED[name, aspect], place, "D", markerfacecolor="white", color="black", markersize=5)
    for panel, title in zip(panels, PANELS.values(), strict=True):
        panel.axvline(0, color="black", linewidth=0.6)
        panel.grid(axis="x", linewidth=0.3)
        panel.set_title(title, fontsize=10)
    named = [f"{s}, {a}: {NAMES[m]}{f', {len(r) - 1} seeds' if len(r) > 1 else ''}" for s, a, m, r in lines]
    panels[0].set_yticks(range(len(lines)), named, fontsize=8)
    panels[0].set_ylim(len(lines) - 0.5, -0.5)
    figure.savefig(Path(__file__).with_name("agreement.svg"), metadata={"Date": None}, facecolor="white")
