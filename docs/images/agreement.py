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


def measure(rated: ScoredSet, runs: Sequence[Path]) -> list[tuple[Agreement, list[Agreement]]]:
    """By aspect and metric of `NAMES`, the agreement of the mean ranks over the runs, and that of each run."""
    by_metric: dict[str, list[np.ndarray]] = {}
    for run in runs:
        lines = [json.loads(line) for line in (run / "scores.jsonl").read_text("utf-8").splitlines()]
        rows = [line["scores"] for line in lines if line["set"] == rated.name]
        for metric in [name for name in NAMES if rows and "quality" in rows[0].get(name, ())]:
            by_metric.setdefault(metric, []).append(np.array([row[metric]["quality"] for row in rows]))
    scores = {f"{name}_published": found for name, found in rated.scores.items()}
    single: dict[str, Scores] = {}
    for metric, several in by_metric.items():
        scores[metric] = Scores({"quality": np.mean([rankdata(values) for values in several], axis=0)}, "mean of ranks")
        single |= {f"{metric}, {i}": Scores({"quality": values}, "") for i, values in enumerate(several)}
    together, alone = add_cheap_cues(replace(rated, scores=scores)), replace(rated, scores=single)
    return [
        (row, [agree(alone, name, aspect) for name in single if name.rpartition(", ")[0] == row.metric])
        for aspect in together.aspects
        for row in sorted(measure_aspect(together, aspect), key=lambda row: [*NAMES].index(row.metric))
    ]


if __name__ == "__main__":
    rcParams["svg.hashsalt"], rcParams["svg.fonttype"] = "agreement", "none"  # the same bytes every time, and small
    lines = [line for load in (load_fed, load_dstc9) for line in measure(load(sys.argv[1]), [*map(Path, sys.argv[2:])])]
    figure = Figure(figsize=(9, 0.8 + 0.32 * len(lines)), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for place, (row, seeds) in enumerate(lines):
        for panel, key in zip(panels, PANELS, strict=True):
            each, own = getattr(row, key), [getattr(seed, key).value for seed in seeds]
            colour, shown = COLOURS.get(row.metric, "C2"), f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]"
            print(row.set, row.aspect, row.metric, key, shown, np.round(own, 3))
            panel.plot(own, [place] * len(own), "|", color=colour, markersize=9)
            panel.plot([each.low, each.high], [place, place], color=colour, linewidth=2.5)
            panel.plot(each.value, place, marker="o", color=colour)
        if row.metric in PUBLISHED:
            style = {"markerfacecolor": "white", "color": "black", "markersize": 5}
            panels[0].plot(PUBLISHED[row.metric][row.set][row.aspect], place, "D", **style)
    for panel, title in zip(panels, PANELS.values(), strict=True):
        panel.axvline(0, color="black", linewidth=0.6)
        panel.grid(axis="x", linewidth=0.3)
        panel.set_title(title, fontsize=10)
    named = [f"{r.set}, {r.aspect}: {NAMES[r.metric]}{f', {len(own)} seeds' if own else ''}" for r, own in lines]
    panels[0].set_yticks(range(len(lines)), named, fontsize=8)
    panels[0].set_ylim(len(lines) - 0.5, -0.5)
    figure.savefig(Path(__file__).with_name("agreement.svg"), metadata={"Date": None}, facecolor="white")
