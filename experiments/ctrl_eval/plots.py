"""The plot of CTRLEval: agreement by the number of evaluators."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.report.plots import make_figure, styled, wrap


@styled
def plot_number_of_evaluators(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Figure 4: mean and deviation of Pearson's r by the number of evaluators, one line per pattern function."""
    figure = make_figure(6)
    axes = figure.subplots()
    for metric in dict.fromkeys(row["metric"] for row in rows):
        curve = [(row["evaluators"], row["pearson"], row["deviation"]) for row in rows if row["metric"] == metric]
        numbers, means, deviations = np.array(curve).T
        axes.plot(numbers, means, marker="o", label=wrap(metric))
        axes.fill_between(numbers, means - deviations, means + deviations, alpha=0.2)
    axes.set(xlabel="evaluators, drawn 20 times", ylabel="Pearson with attribute relevance")
    axes.legend()
    figure.set_label("Pearson by the number of evaluators: mean, one standard deviation.")
    return figure
