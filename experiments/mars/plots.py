"""Plots of MARS: adversaries in place of texts (Table 4 as a figure)."""

import numpy as np
from matplotlib.figure import Figure

from experiments.mars.findings import MarsFindings


def plot_adversaries(found: MarsFindings) -> Figure:
    """Pearson's correlation of every metric, without those of Table 5, with texts and with their adversaries."""
    aspect = found.originals.aspects[0]
    correlations = {
        kind: {
            metric: row.pearson.value
            for metric, row in texts.by_metric(aspect).items()
            if not metric.startswith("mars_to_")
        }
        for kind, texts in {"original": found.originals, **found.adversaries}.items()
    }
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    metrics = list(correlations["original"])
    places = np.arange(len(metrics))
    for kind, marker in zip(correlations, ("o", "v", "s"), strict=False):
        axes.scatter([correlations[kind][metric] for metric in metrics], places, marker=marker, label=kind)
    for place, metric in zip(places, metrics, strict=True):
        values = [correlations[kind][metric] for kind in correlations]
        axes.plot([min(values), max(values)], [place, place], color="grey", linewidth=0.6, zorder=0)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_yticks(places, metrics, fontsize=8)
    axes.invert_yaxis()
    axes.set(
        xlabel="Pearson with the ratings of the originals",
        title=f"Adversaries in place of texts ({found.originals.name})",
    )
    axes.legend(fontsize=8)
    return figure
