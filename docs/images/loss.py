"""Draws loss.svg: agreement of Discriminative CDM with people against the expert's held-out loss, on real dialogues.

RUN is the folder of a finished run of +exp=cdm_dialogue on FED and DSTC9: python docs/images/loss.py RUN [RUN ...]
Runs of one seed have the same held-out dialogues and are joined by a line. Every point is printed.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib import rcParams
from matplotlib.figure import Figure

SETS = {"fed": "FED, n = 125", "dstc9": "DSTC9 sample, n = 200"}
ASPECT = "coherence"
LINES = {"cdm_discriminative_sum": "contrast of both models", "expert_likelihood": "likelihood of the expert"}
AGREEMENTS = {"spearman": "agreement (Spearman)", "beyond_cues": "agreement beyond cheap cues"}
LOSS = "expert held-out NLL (nats per token)"


@dataclass(frozen=True, order=True)
class Point:
    """One metric of one run on one set: the held-out loss of the run's expert, an estimate and its interval."""

    seed: int
    loss: float
    value: float
    low: float
    high: float


def read_points(runs: Sequence[dict[str, Any]], name: str, metric: str, key: str) -> list[Point]:
    """The points of a metric on a set, by seed and loss."""
    rows = [
        (run, row)
        for run in runs
        for row in run["table"]
        if (row.get("set"), row.get("metric"), row.get("aspect")) == (name, metric, ASPECT) and key in row
    ]
    return sorted(Point(run["seed"], run["figures"][LOSS], row[key], *row[f"{key}_interval"]) for run, row in rows)


def draw(runs: Sequence[dict[str, Any]], picture: Path) -> None:
    """Writes the picture and prints its points."""
    rcParams["svg.hashsalt"], rcParams["svg.fonttype"] = "loss", "none"  # the same bytes every time, and small
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for row, (key, title) in zip(panels, AGREEMENTS.items(), strict=True):
        for panel, (name, described) in zip(row, SETS.items(), strict=True):
            for colour, (metric, label) in enumerate(LINES.items()):
                points = read_points(runs, name, metric, key)
                for i, (seed, of_seed) in enumerate(groupby(points, lambda point: point.seed)):
                    line = [*of_seed]
                    heights = [[p.value - p.low for p in line], [p.high - p.value for p in line]]
                    losses, values = [p.loss for p in line], [p.value for p in line]
                    style = {"color": f"C{colour}", "marker": "os^Dv"[i % 5], "linewidth": 1.2}
                    panel.errorbar(losses, values, heights, elinewidth=0.5, label="" if i else label, **style)
                    for p in line:
                        print(f"{name} {metric} {key}, seed {seed}: loss {p.loss:.2f}", show(p))
            panel.axhline(0, color="black", linewidth=0.6)
            panel.grid(linewidth=0.3)
            panel.set_title(f"{described}: {title}", fontsize=9)
    for panel in panels[1]:
        panel.set_xlabel("held-out loss of the expert (nats per token)")
    panels[0][0].invert_xaxis()
    panels[0][0].legend(fontsize=8)
    figure.savefig(picture, metadata={"Date": None}, facecolor="white")


def show(point: Point) -> str:
    """The value and its interval."""
    return f"{point.value:.3f} [{point.low:.3f}, {point.high:.3f}]"


if __name__ == "__main__":
    results = [json.loads((Path(run) / "results.json").read_text("utf-8")) for run in sys.argv[1:]]
    draw(results, Path(__file__).with_name("loss.svg"))
