"""Plots of results, as matplotlib figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from cdm.discriminative import Steps
from core.example import Example
from ctrl_eval.metric import Evaluations
from data.rated import RatedSet
from experiments.runner.contracts import ScoredSet
from meta_eval.agreement import Estimate

SYSTEMS = 6  # so many at most have a colour each
PER_LEVEL = 5  # texts of a rating, on average, below which their mean is not drawn


def training_curves(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Held-out and training NLL (nats per token, lower is better) of every model by training step."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for i, (name, points) in enumerate(curves.items()):
        held_out = [(p["step"], p["held_out_nll"]) for p in points if "held_out_nll" in p]
        training = [(p["step"], p["train_nll"]) for p in points if "train_nll" in p]
        if training:
            axes.plot(*zip(*training, strict=True), color=f"C{i}", alpha=0.4, label=f"{name}, training")
        axes.plot(*zip(*held_out, strict=True), marker="o", color=f"C{i}", label=f"{name}, held out")
    axes.set(xlabel="training step", ylabel="nats per token (lower is better)", title="Training")
    axes.legend()
    return figure


def scores_against_ratings(scored: ScoredSet) -> Figure:
    """One panel per metric: scores by rating, points jittered sideways, a colour for each of a few systems.

    A line joins the mean scores of the ratings, where a rating has five texts or more on average.
    """
    aspect = next(iter(scored.rated.examples[0].ratings))
    ratings = np.array([example.ratings.get(aspect, np.nan) for example in scored.rated.examples])
    columns = min(4, len(scored.scores))
    rows = -(-len(scored.scores) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.6 * rows), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    spread = (np.nanmax(ratings) - np.nanmin(ratings)) * 0.02
    jitter = np.random.default_rng(0).uniform(-spread, spread, len(ratings))
    levels, counts = np.unique(ratings[~np.isnan(ratings)].round(6), return_counts=True)
    named = np.array([example.system or "" for example in scored.rated.examples])
    systems = list(dict.fromkeys(named)) if len(set(named)) <= SYSTEMS else [""]
    for panel, (metric, scores) in zip(panels, scored.scores.items(), strict=False):
        values = next(iter(scores.values.values()))
        for i, system in enumerate(systems):
            at = named == system if len(systems) > 1 else np.full(len(named), True)
            label, size = (system or "no system", 10) if len(systems) > 1 else (None, 6)
            panel.scatter(
                ratings[at] + jitter[at], values[at], s=size, alpha=0.35, linewidths=0, color=f"C{i}", label=label
            )
        if counts.mean() >= PER_LEVEL:
            means = [np.nanmean(values[ratings.round(6) == level]) for level in levels]
            panel.plot(levels, means, color="black" if len(systems) > 1 else "C1")
        panel.set_title(metric, fontsize=9)
        panel.tick_params(labelsize=7)
    for panel in panels[len(scored.scores) :]:
        panel.set_visible(False)
    if len(systems) > 1:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=SYSTEMS, fontsize=7)
    kind = "known quality (synthetic)" if scored.rated.synthetic else f"human rating of {aspect}"
    figure.supxlabel(kind, fontsize=10)
    figure.supylabel("score", fontsize=10)
    return figure


def momentum_along_dialogues(rated: RatedSet, steps: Sequence[Steps]) -> Figure:
    """Momentum (nats, higher is better) token by token along a well and a badly rated dialogue of like length."""
    aspect = next(iter(rated.examples[0].ratings))
    ratings = np.array([example.ratings.get(aspect, np.nan) for example in rated.examples])
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


def quality_drift(drift: Mapping[str, Sequence[float]], aspect: str) -> Figure:
    """Pearson's correlation on four subsets, from mostly bad to mostly good texts (CTRLEval, Figure 3)."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for metric, values in drift.items():
        axes.plot(range(len(values)), values, marker="o", label=metric)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xticks(range(4), [f"{j}" for j in range(4)])
    axes.set(
        xlabel="biased subset (0: mostly badly rated, 3: mostly well rated)",
        ylabel=f"Pearson with {aspect}",
        title="Quality drift",
    )
    axes.legend(fontsize=8)
    return figure


def model_drift(drift: Mapping[str, Mapping[str, float]], aspect: str) -> Figure:
    """Pearson's correlation among the texts of each system, a bar per metric (CTRLEval, Figure 2)."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    systems = list(next(iter(drift.values())))
    width = 0.8 / len(drift)
    for m, (metric, by_system) in enumerate(drift.items()):
        places = np.arange(len(systems)) + (m - (len(drift) - 1) / 2) * width
        axes.bar(places, [by_system[system] for system in systems], width, label=metric)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xticks(range(len(systems)), systems)
    axes.set(ylabel=f"Pearson with {aspect}", title="Model drift")
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def number_of_evaluators(curve: Mapping[int, tuple[float, float]]) -> Figure:
    """Mean and standard deviation of Pearson's correlation by the number of evaluators drawn (CTRLEval, Figure 4)."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    numbers = list(curve)
    means, deviations = (np.array([curve[n][k] for n in numbers]) for k in (0, 1))
    axes.plot(numbers, means, marker="o")
    axes.fill_between(numbers, means - deviations, means + deviations, alpha=0.2)
    axes.set(
        xlabel="evaluators, drawn 20 times",
        ylabel="Pearson with attribute relevance",
        title="Number of evaluators (mean, one standard deviation)",
    )
    return figure


def evaluators(shown: Evaluations, example: Example) -> Figure:
    """Score and weight of every evaluator of one text (CTRLEval, Figure 5)."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    places = np.arange(len(shown.scores))
    upper.bar(places, shown.scores, color="C0")
    upper.axhline(1 / len(shown.patterns[0]["words"]), color="black", linewidth=0.6, linestyle=":")
    upper.set(ylabel="score (dotted: chance)", ylim=(0, 1))
    lower.bar(places, shown.weights / max(shown.weights.sum(), 1e-300), color="C1")
    lower.set(ylabel="weight", xlabel="pattern evaluator (prompts, one verbalizer after the other)")
    figure.suptitle(f"{example.id}: asked for {example.label}", fontsize=10)
    return figure


def adversaries(correlations: Mapping[str, Mapping[str, float]], name: str) -> Figure:
    """Pearson's correlation of every metric with texts and with adversaries in their place (MARS, Table 4)."""
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
    axes.set(xlabel="Pearson with the ratings of the originals", title=f"Adversaries in place of texts ({name})")
    axes.legend(fontsize=8)
    return figure


def intervals(estimates: Mapping[str, Estimate], title: str) -> Figure:
    """One estimate per line with its interval, the highest first; one that is not defined has no mark."""
    figure = Figure(figsize=(7, 1.2 + 0.35 * len(estimates)), layout="constrained")
    axes = figure.subplots()
    names = sorted(estimates, key=lambda name: -np.nan_to_num(estimates[name].value, nan=-np.inf))
    for place, name in enumerate(names):
        estimate = estimates[name]
        axes.plot([estimate.low, estimate.high], [place, place], color="C0", linewidth=2)
        axes.plot(estimate.value, place, marker="o", color="C0")
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_title(title, fontsize=10)
    return figure
