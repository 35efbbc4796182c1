"""Plots of CTRLEval: drift, the number of evaluators, the evaluators of one text (Figures 2 to 5)."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from core.example import Example
from ctrl_eval.metric import Evaluations


def plot_quality_drift(drift: Mapping[str, Sequence[float]], aspect: str) -> Figure:
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


def plot_model_drift(drift: Mapping[str, Mapping[str, float]], aspect: str) -> Figure:
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


def plot_number_of_evaluators(curve: Mapping[int, tuple[float, float]]) -> Figure:
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


def plot_evaluators(shown: Evaluations, example: Example) -> Figure:
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
