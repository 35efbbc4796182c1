"""Draws agreement.svg: two metrics of dialogues against human ratings of FED and DSTC9.

FOLDER holds the public sets as docs/cdm.md describes them: python docs/images/agreement.py FOLDER
"""

import sys
from pathlib import Path

from matplotlib import rcParams

from baselines.word_count import WordCount
from data.sets.dialogues import load_dstc9, load_fed
from experiments.report.plots import intervals
from meta_eval.scored_set import ScoredSet

NAMES = {"deam": "DEAM (its published scores)", "word_count": "word count"}


def draw_agreement(root: Path, picture: Path) -> None:
    """Writes the picture; prints the figures."""
    estimates = {}
    for rated in (load_fed(root), load_dstc9(root)):
        scores = {**rated.published_scores(), "word_count": WordCount().score(rated.examples)}
        for row in ScoredSet.of(rated, scores).agreement:
            estimates[f"{rated.name}, {row.aspect} (n = {row.n}): {NAMES[row.metric]}"] = row.spearman
            print(rated.name, row.aspect, row.metric, row.n, row.spearman)
    rcParams["svg.hashsalt"], rcParams["svg.fonttype"] = "agreement", "none"  # the same bytes every time, and small
    figure = intervals(estimates, "Spearman correlation with human ratings, 95 % bootstrap intervals")
    figure.savefig(picture, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    draw_agreement(Path(sys.argv[1]), Path(__file__).with_name("agreement.svg"))
