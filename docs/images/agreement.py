"""Draws agreement.svg: agreement of metrics of dialogues with people, and what cheap cues leave of it.

FOLDER holds the public sets as docs/cdm.md describes them; RUN is the folder of a finished run of +exp=cdm_dialogue on
FED and DSTC9, one for each seed: python docs/images/agreement.py FOLDER [RUN ...]
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

from data.sets.dialogues import load_dstc9, load_fed
from meta_eval.bootstrap import Estimate
from meta_eval.scored_set import ScoredSet

NAMES = {"deam_published": "DEAM (355 M parameters)", "cheap_cues": "cheap cues alone"}
CDM = "cdm_resampled_amateur_bert"
PANELS = {"spearman": "agreement (Spearman)", "beyond_cues": "agreement beyond cheap cues"}


def measure(root: Path, runs: Sequence[Path]) -> dict[str, dict[str, Estimate]]:
    """Both estimates by the name of the line."""
    found: dict[str, dict[str, Estimate]] = {}
    for rated in (load_fed(root), load_dstc9(root)):
        for row in (
            ScoredSet.of(rated, {f"{k}_published": v for k, v in rated.published_scores().items()})
            .add_cheap_cues()
            .agreement
        ):
            found[f"{rated.name}, {row.aspect}: {NAMES[row.metric]}"] = {
                "spearman": row.spearman,
                "beyond_cues": row.beyond_cues,
            }
        for i, run in enumerate(runs):
            for row in json.loads((run / "results.json").read_text("utf-8"))["table"]:
                if (row["table"], row.get("set"), row.get("metric")) == ("agreement", rated.name, CDM):
                    name = f"{rated.name}, {row['aspect']}: CDM's negatives, BERT (22 M)" + f", seed {i}" * (
                        len(runs) > 1
                    )
                    found[name] = {key: read_estimate(row, key) for key in PANELS}
    return dict(sorted(found.items(), key=lambda item: item[0].split(":")[0]))


def read_estimate(row: dict, key: str) -> Estimate:
    """A cell of results.json with its interval."""
    return Estimate(*(np.nan if each is None else each for each in (row[key], *row[f"{key}_interval"])))


def draw(found: dict[str, dict[str, Estimate]], picture: Path) -> None:
    """Writes the picture; prints the figures."""
    rcParams["svg.hashsalt"], rcParams["svg.fonttype"] = "agreement", "none"  # the same bytes every time, and small
    figure = Figure(figsize=(9, 0.8 + 0.32 * len(found)), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for panel, (key, title) in zip(panels, PANELS.items(), strict=True):
        for place, (name, estimates) in enumerate(found.items()):
            each = estimates[key]
            print(name, key, each)
            colour = "C7" if "cues" in name else "C0" if "DEAM" in name else "C1"
            panel.plot([each.low, each.high], [place, place], color=colour, linewidth=2.5)
            panel.plot(each.value, place, marker="o", color=colour)
        panel.axvline(0, color="black", linewidth=0.6)
        panel.grid(axis="x", linewidth=0.3)
        panel.set_title(title, fontsize=10)
    panels[0].set_yticks(range(len(found)), list(found), fontsize=8)
    panels[0].set_ylim(len(found) - 0.5, -0.5)
    figure.savefig(picture, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    draw(measure(Path(sys.argv[1]), list(map(Path, sys.argv[2:]))), Path(__file__).with_name("agreement.svg"))
