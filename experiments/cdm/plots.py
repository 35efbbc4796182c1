"""Plots of CDM: momentum along dialogues, and agreement by the weight of the amateur."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from cdm.discriminative import Steps
from experiments.report.plots import draw_line
from meta_eval.scored_set import ScoredSet


def plot_momentum(rated: ScoredSet, steps: Sequence[Steps]) -> Figure:
    """Momentum (nats, higher is better) token by token along a well and a badly rated dialogue of like length."""
    aspect = rated.aspects[0]
    ratings = rated.ratings(aspect)
    lengths = np.array([len(s.turn) for s in steps])
    good = int(np.flatnonzero((ratings == np.nanmax(ratings)) & (lengths > 0))[0])
    worst = np.flatnonzero((ratings == np.nanmin(ratings)) & (lengths > 0))
    bad = int(worst[np.argmin(abs(lengths[worst] - lengths[good]))])
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    panels = figure.subplots(2, 1, sharey=True)
    for panel, i, color in zip(panels, (good, bad), ("C0", "C3"), strict=True):
        momentum, turns = steps[i].momentum, steps[i].turn
        panel.bar(range(len(momentum)), momentum, width=1.0, color=color)
        panel.axhline(0, color="black", linewidth=0.6)
        for start in np.flatnonzero(np.diff(turns)) + 1:
            panel.axvline(start - 0.5, color="grey", linewidth=0.5, linestyle=":")
        panel.set_title(f"{rated.examples[i].id}: {aspect} {ratings[i]:g}, mean {momentum.mean():.2f}", fontsize=10)
        panel.set_ylabel("log p_e - log p_a (nats)")
    panels[-1].set_xlabel("token, each turn infilled in view of the others (dotted: next turn)")
    return figure


def plot_contrasts(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Agreement, and that beyond cheap cues, by the weight of the amateur: a panel per aspect, a line per pooling."""
    kinds = [kind for kind in ("spearman", "beyond_cues") if kind in rows[0]]
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))
    figure = Figure(figsize=(4.5 * len(kinds), 3.2 * len(aspects) + 0.6), layout="constrained")
    panels = figure.subplots(len(aspects), len(kinds), squeeze=False, sharex=True, sharey=True)
    for (aspect, kind), panel in zip(itertools.product(aspects, kinds), panels.ravel(), strict=True):
        for i, pooling in enumerate(dict.fromkeys(row["pooling"] for row in rows)):
            line = [row for row in rows if (row["aspect"], row["pooling"]) == (aspect, pooling)]
            places = [row["beta"] + 0.01 * i for row in line]  # keeps intervals apart
            draw_line(panel, places, [row[kind] for row in line], marker="o", label=pooling.replace("_", " "))
        panel.axhline(0, color="black", linewidth=0.6)
        panel.set_title(f"{aspect}: {'Spearman' if kind == 'spearman' else 'beyond cheap cues'}", fontsize=10)
    for panel in panels[-1]:
        panel.set_xlabel("beta: weight of the amateur (1: Eq. 1)")
    panels[0][0].legend(fontsize=8)
    figure.set_label(f"{rows[0]['set']}: agreement of log p_e - beta log p_a by beta and pooling.")
    return figure
