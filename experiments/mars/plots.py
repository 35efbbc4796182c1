"""Plots of MARS: adversaries in place of texts (Table 4 as a figure), what the settings do, and gains by loss."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.report.plots import draw_line
from meta_eval.scored_set import ScoredSet


def plot_adversaries(originals: ScoredSet, adversaries: Mapping[str, ScoredSet]) -> Figure:
    """Pearson's correlation of every metric, without those of Table 5, with texts and with their adversaries."""
    aspect = originals.aspects[0]
    agreement = {kind: texts.by_metric(aspect) for kind, texts in {"original": originals, **adversaries}.items()}
    metrics = [metric for metric in originals.scores if not metric.startswith("mars_to_")]
    places = np.arange(len(metrics))
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for kind, marker in zip(agreement, ("o", "v", "s"), strict=False):
        values = [agreement[kind][metric].pearson.value for metric in metrics]
        axes.scatter(values, places, marker=marker, label=kind)
    for place, metric in zip(places, metrics, strict=True):
        values = [rows[metric].pearson.value for rows in agreement.values()]
        axes.plot([min(values), max(values)], [place, place], color="grey", linewidth=0.6, zorder=0)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_yticks(places, metrics, fontsize=8)
    axes.invert_yaxis()
    axes.set(
        xlabel="Pearson with the ratings of the originals", title=f"Adversaries in place of texts ({originals.name})"
    )
    axes.legend(fontsize=8)
    return figure


def plot_settings(name: str, rows: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel per setting: the agreement above, and below it what planning adds, both with 95 % intervals."""
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    figure = Figure(figsize=(2.6 * len(settings), 5), layout="constrained")
    panels = figure.subplots(2, len(settings), sharey="row", squeeze=False)
    for column, setting in zip(panels.T, settings, strict=True):
        chosen = [row for row in rows if row["setting"] == setting]
        for panel, shown in zip(column, ("agreement (spearman)", "planning gain"), strict=True):
            values = np.array([row[shown].value for row in chosen])
            ends = np.array([[row[shown].low, row[shown].high] for row in chosen]).T
            panel.errorbar(range(len(chosen)), values, yerr=np.abs(ends - values), marker="o", capsize=3)
            panel.set_xticks(range(len(chosen)), [f"{row['value']:g}" for row in chosen], fontsize=8)
            panel.grid(axis="y", linewidth=0.3)
        column[1].axhline(0, color="black", linewidth=0.6)
        column[0].set_title(setting, fontsize=9)
    panels[0][0].set_ylabel("Spearman with the ratings", fontsize=9)
    panels[1][0].set_ylabel("gain by planning", fontsize=9)
    figure.suptitle(f"Settings of MARS on {name} (development data)", fontsize=10)
    return figure


def plot_gains(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel for each set and aspect: gains of `mars` and of the noise control against the held-out loss."""
    places = list(dict.fromkeys((row["set"], row["aspect"]) for row in rows))
    figure = Figure(figsize=(3 * len(places), 3.2), layout="constrained")
    for panel, place in zip(figure.subplots(1, len(places), squeeze=False)[0], places, strict=True):
        chosen = [row for row in rows if (row["set"], row["aspect"]) == place]
        for line, style in (("mars", "-"), ("other context", "--")):
            draw_line(panel, [row["loss"] for row in chosen], [row[line] for row in chosen], ls=style, label=line)
        panel.axhline(0, color="black", linewidth=0.6)
        panel.set_title(" ".join(place), fontsize=8)
        panel.set_xlabel("held-out loss (nats per token)", fontsize=8)
        panel.invert_xaxis()
        panel.legend(fontsize=7)
    figure.supylabel("gain over the human reference alone (Spearman)", fontsize=8)
    figure.set_label("Gain over the human reference alone against held-out loss; a better model is further right.")
    return figure
