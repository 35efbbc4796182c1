"""Plots of MARS: adversaries in place of texts (Table 4 as a figure)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from meta_eval.agreement import agree
from meta_eval.scored_set import ScoredSet


def plot_adversaries(originals: ScoredSet, adversaries: Mapping[str, ScoredSet]) -> Figure:
    """Pearson's correlation of every metric, without those of Table 5, with texts and with their adversaries."""
    aspect = originals.aspects[0]
    metrics = [metric for metric in originals.scores if not metric.startswith("mars_to_")]
    agreement = {
        kind: {metric: agree(texts, metric, aspect).pearson.value for metric in metrics}
        for kind, texts in {"original": originals, **adversaries}.items()
    }
    places = np.arange(len(metrics))
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for kind, marker in zip(agreement, ("o", "v", "s"), strict=False):
        values = [agreement[kind][metric] for metric in metrics]
        axes.scatter(values, places, marker=marker, label=kind)
    for place, metric in zip(places, metrics, strict=True):
        values = [rows[metric] for rows in agreement.values()]
        axes.plot([min(values), max(values)], [place, place], color="grey", linewidth=0.6, zorder=0)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_yticks(places, metrics, fontsize=8)
    axes.invert_yaxis()
    axes.set(
        xlabel="Pearson with the ratings of the originals", title=f"Adversaries in place of texts ({originals.name})"
    )
    axes.legend(fontsize=8)
    return figure
