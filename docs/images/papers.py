"""Draws the pictures of the papers' pages: python docs/images/papers.py

The numbers that go in are made up; what is done to them is done by the functions of the metrics.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cdm.momentum import contrastive_momentum
from ctrl_eval.frequency import normalised_isf
from mars.score import mars, ratio_weights
from oumg.guidance import add_to_scores, normalise_scores

AMATEUR, EXPERT, GOOD, BAD = "#f28a3c", "#58a8e0", "#58a8e0", "#f28a3c"


def draw_cdm(first: Axes, second: Axes) -> None:
    """The log-probabilities of a turn under both models, and their difference."""
    tokens = ["Not", "yet", ",", "it", "is", "purple", "."]
    amateur = np.log([0.20, 0.25, 0.5, 0.30, 0.4, 0.020, 0.6])
    expert = np.log([0.35, 0.45, 0.6, 0.35, 0.5, 0.004, 0.7])
    momentum = contrastive_momentum(torch.tensor(expert), torch.tensor(amateur)).numpy()
    places = np.arange(len(tokens))
    first.bar(places - 0.2, amateur, 0.4, color=AMATEUR, label="amateur")
    first.bar(places + 0.2, expert, 0.4, color=EXPERT, label="expert")
    first.legend(frameon=False, fontsize=8)
    first.set_title("log-probability of each token", fontsize=10)
    second.bar(places, momentum, color=[GOOD if value > 0 else BAD for value in momentum])
    second.axhline(0, color="black", linewidth=0.6)
    second.set_title("momentum: expert minus amateur", fontsize=10)
    for axes in (first, second):
        axes.set_xticks(places, tokens, rotation=30)


def draw_ctrl_eval(first: Axes, second: Axes) -> None:
    """The gaps of a text of three sentences, and the weights of their scores."""
    sentences = ["The soup was hot.", "I saw a comet.", "So I ate it all."]
    for row, gap in enumerate(sentences):
        for column, sentence in enumerate(sentences):
            shown, color = ("___", BAD) if sentence == gap else (sentence, "#eeeeee")
            first.text(column, -row, shown, ha="center", va="center", fontsize=7, bbox={"facecolor": color, "pad": 3})
    first.set(xlim=(-0.6, 2.6), ylim=(-2.5, 0.5))
    first.axis("off")
    first.set_title("each sentence in turn is a gap to fill", fontsize=10)
    weights = normalised_isf(np.array([1.2, 2.6, 0.7]))
    second.barh(range(3), weights, color=GOOD)
    second.set_yticks(range(3), sentences, fontsize=8)
    second.invert_yaxis()
    second.set_title("rarer words weigh more", fontsize=10)


def draw_mars(first: Axes, second: Axes) -> None:
    """The augmented references of one reference, and what their cosines count."""
    ratios, texts = ["0 %", "20 %", "40 %"], ["She called a locksmith.", "She called a friend.", "He found a friend."]
    for row, (ratio, text) in enumerate(zip(ratios, texts, strict=True)):
        first.text(0.02, 1 - (row + 0.5) / 3, f"{ratio}: {text}", fontsize=9, va="center", transform=first.transAxes)
    first.axis("off")
    first.set_title("references with more and more words rewritten", fontsize=10)
    cosines, weights = np.array([0.35, 0.80, 0.55]), ratio_weights(3, 0.8)
    second.bar(np.arange(3) - 0.2, cosines, 0.4, color=GOOD, label="cosine with the text")
    second.bar(np.arange(3) + 0.2, weights, 0.4, color=BAD, label="weight")
    second.axhline(float(mars(cosines, 0.8)), color="black", linewidth=1, linestyle=":", label="score")
    second.set_xticks(range(3), ratios)
    second.legend(frameon=False, fontsize=8)
    second.set_title("score: weighted mean of the cosines", fontsize=10)


def draw_oumg(first: Axes, second: Axes) -> None:
    """The candidates of a step under the guide, and their probabilities before and after."""
    words, guide = ["bad", "cold", "fine", "great"], torch.tensor([[-2.0, -1.0, 0.5, 2.0]])
    before = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
    after = add_to_scores(before, normalise_scores(guide, alpha=2.0))
    first.barh(words, guide[0].tolist(), color=[GOOD if value > 0 else BAD for value in guide[0]])
    first.axvline(0, color="black", linewidth=0.6)
    first.set_title("the guide's logit of each candidate", fontsize=10)
    places = np.arange(4)
    second.barh(places + 0.2, before[0].exp().tolist(), 0.4, color="#bbbbbb", label="before")
    second.barh(places - 0.2, after[0].exp().tolist(), 0.4, color=GOOD, label="after, alpha 2")
    second.set_yticks(places, words)
    second.set_xlim(0, 0.65)  # room for the legend
    second.legend(frameon=False, fontsize=8)
    second.set_title("probability of each candidate", fontsize=10)


PICTURES: dict[str, Callable[[Axes, Axes], None]] = {
    "cdm": draw_cdm,
    "ctrl_eval": draw_ctrl_eval,
    "mars": draw_mars,
    "oumg": draw_oumg,
}


def draw_pictures(folder: Path) -> None:
    """Writes a picture for each paper."""
    rcParams["svg.hashsalt"], rcParams["svg.fonttype"] = "papers", "none"  # the same bytes every time, and small
    for name, draw in PICTURES.items():
        figure = Figure(figsize=(8, 2.6), layout="constrained")
        draw(*figure.subplots(1, 2))
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    draw_pictures(Path(__file__).parent)
