"""Draws agreement.svg: agreement of metrics of dialogues with people, and what cheap cues leave of it.

FOLDER holds the public sets as docs/cdm.md describes them; RUN is the folder of a finished run of +exp=cdm_dialogue on
FED and DSTC9, one for each seed: python docs/images/agreement.py FOLDER [RUN ...]

Several runs count as one metric, which gives the mean of their ranks; each run by itself is a stroke. The differences
between CDM and each other metric are printed, for each set and for both together.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure
from scipy.stats import rankdata

from core.scores import Scores
from data.corpus import RatedSet
from data.sets.dialogues import load_dstc9, load_fed
from meta_eval.agreement import CHEAP_CUES
from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, bootstrap
from meta_eval.correlation import spearman
from meta_eval.cues import correlate_beyond
from meta_eval.scored_set import ScoredSet

CDM = "cdm_resampled_amateur_bert"
NAMES = {
    CDM: "CDM's negatives, BERT (22 M)",
    "deam_like_bert": "negatives like DEAM's, BERT",
    "vakulenko_bert": "negatives of Vakulenko et al., BERT",
    "mesgar_bert": "negatives of Mesgar et al., BERT",
    "deam_published": "DEAM (355 M parameters)",
    CHEAP_CUES: "cheap cues alone",
}
COLOURS = {CDM: "C1", "deam_published": "C0", CHEAP_CUES: "C7"}
PANELS = {"spearman": "agreement (Spearman)", "beyond_cues": "agreement beyond cheap cues"}


@dataclass(frozen=True)
class Line:
    """A line of the picture: a metric on an aspect of a set, both estimates, and the values of single runs."""

    metric: str
    name: str
    estimates: dict[str, Estimate]
    seeds: dict[str, list[float]]


def read_scores(run: Path, name: str) -> dict[str, Floats]:
    """The scores of a set by metric from a run's scores.jsonl, for what the run learned of `NAMES`."""
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text("utf-8").splitlines()]
    rows = [line["scores"] for line in lines if line["set"] == name]
    learned = [metric for metric in NAMES if rows and "quality" in rows[0].get(metric, ())]
    return {metric: np.array([row[metric]["quality"] for row in rows]) for metric in learned}


def gather(rated: RatedSet, runs: Sequence[Path]) -> tuple[ScoredSet, dict[str, list[Floats]]]:
    """A set with published scores, the mean ranks of each metric over the runs, and cues; then the scores by run."""
    by_metric: dict[str, list[Floats]] = {}
    for run in runs:
        for metric, values in read_scores(run, rated.name).items():
            by_metric.setdefault(metric, []).append(values)
    found = {f"{name}_published": scores for name, scores in rated.published_scores().items()}
    for metric, several in by_metric.items():
        mean = np.mean([rankdata(values) for values in several], axis=0)
        found[metric] = Scores({"quality": mean}, f"mean of the ranks of {len(several)} seeds")
    return ScoredSet.of(rated, found).add_cheap_cues(), by_metric


def measure(scored: ScoredSet, by_metric: dict[str, list[Floats]]) -> list[Line]:
    """The lines of a set."""
    alone = {
        f"{metric}, {i}": Scores({"quality": v}, "") for metric, runs in by_metric.items() for i, v in enumerate(runs)
    }
    single = ScoredSet(scored.name, scored.examples, alone)
    lines: list[Line] = []
    for aspect in scored.aspects:
        rows, seeds = scored.by_metric(aspect), single.by_metric(aspect) if alone else {}
        for metric in sorted(rows, key=[*NAMES].index):
            own = [seeds[f"{metric}, {i}"] for i in range(len(by_metric.get(metric, ())))]
            number = f", {len(own)} seeds" if len(own) > 1 else ", one seed" if own else ""
            lines.append(
                Line(
                    metric,
                    f"{scored.name}, {aspect}: {NAMES[metric]}{number}",
                    {key: getattr(rows[metric], key) for key in PANELS},
                    {key: [getattr(row, key).value for row in own] for key in PANELS},
                )
            )
    return lines


def compare(sets: Sequence[ScoredSet], other: str) -> dict[str, Estimate]:
    """CDM's agreement minus that of another metric; the dialogues of all sets are drawn together.

    The value of a set is the mean over its aspects; sets weigh by their numbers of dialogues.
    """
    ends = np.cumsum([0, *map(len, sets)])

    def differences(weights: Floats) -> dict[str, Floats]:
        total = {key: np.zeros(len(weights)) for key in PANELS}
        for scored, (start, end) in zip(sets, pairwise(ends), strict=True):
            drawn, share = weights[:, start:end], len(scored) / ends[-1] / len(scored.aspects)
            for aspect in scored.aspects:
                x = np.stack([scored.values(metric, aspect) for metric in (CDM, other)], axis=-1)
                y = scored.ratings(aspect)
                first, second = (spearman(column, y, drawn) for column in x.T)
                total["spearman"] += share * (first - second)
                total["beyond_cues"] += share * -np.diff(correlate_beyond(x, y, scored.cues.values, drawn))[:, 0]
        return total

    return bootstrap(differences, np.arange(ends[-1]), resamples=2000, fewest=FEWEST_UNITS)


def draw(lines: Sequence[Line], picture: Path) -> None:
    """Writes the picture."""
    rcParams["svg.hashsalt"], rcParams["svg.fonttype"] = "agreement", "none"  # the same bytes every time, and small
    figure = Figure(figsize=(9, 0.8 + 0.32 * len(lines)), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for panel, (key, title) in zip(panels, PANELS.items(), strict=True):
        for place, line in enumerate(lines):
            each, colour = line.estimates[key], COLOURS.get(line.metric, "C2")
            panel.plot(line.seeds[key], [place] * len(line.seeds[key]), "|", color=colour, markersize=9)
            panel.plot([each.low, each.high], [place, place], color=colour, linewidth=2.5)
            panel.plot(each.value, place, marker="o", color=colour)
        panel.axvline(0, color="black", linewidth=0.6)
        panel.grid(axis="x", linewidth=0.3)
        panel.set_title(title, fontsize=10)
    panels[0].set_yticks(range(len(lines)), [line.name for line in lines], fontsize=8)
    panels[0].set_ylim(len(lines) - 0.5, -0.5)
    figure.savefig(picture, metadata={"Date": None}, facecolor="white")


def show(estimate: Estimate) -> str:
    """The value and its interval."""
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


if __name__ == "__main__":
    gathered = [gather(rated, [*map(Path, sys.argv[2:])]) for rated in (load_fed(sys.argv[1]), load_dstc9(sys.argv[1]))]
    found = [line for scored, by_metric in gathered for line in measure(scored, by_metric)]
    for line in found:
        print(line.name, *(f"{key} {show(line.estimates[key])} {np.round(line.seeds[key], 3)}" for key in PANELS))
    sets = [scored for scored, _ in gathered]
    for other in NAMES:
        if other not in (CDM, CHEAP_CUES) and all({CDM, other} <= {*scored.scores} for scored in sets):
            for some in ([sets[0]], [sets[1]], sets):
                where = " and ".join(scored.name for scored in some)
                print(f"CDM minus {other}, {where}:", *(f"{key} {show(v)}" for key, v in compare(some, other).items()))
    draw(found, Path(__file__).with_name("agreement.svg"))
