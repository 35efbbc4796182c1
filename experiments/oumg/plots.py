"""Plots of OUMG: the logits of human texts and of two systems."""

import numpy as np
from matplotlib.figure import Figure

from experiments.oumg.findings import KindFindings, SystemFindings


def plot_logits(found: SystemFindings) -> dict[str, Figure]:
    """By kind of discriminator: logits of human texts and both systems, and of each pair of outputs.

    The left panel has the logits of all seeds, the right one means over seeds.
    """
    return {f"logits_{kind}": _plot_kind(each, found.names) for kind, each in found.kinds.items()}


def _plot_kind(found: KindFindings, names: tuple[str, str]) -> Figure:
    judged = found.judged
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    bins = np.histogram_bin_edges(judged.logits, 40).tolist()
    for name, logits in {"human": judged.human, names[0]: judged.first, names[1]: judged.second}.items():
        left.hist(logits.ravel(), bins=bins, histtype="step", density=True, label=name)
    left.axvline(0, color="grey", linewidth=0.8)
    left.set(xlabel="logit (above 0: taken for human)", ylabel="density")
    left.legend()
    first, second = judged.first.mean(axis=0), judged.second.mean(axis=0)
    right.plot(second, first, ".", alpha=0.5)
    ends = (min(first.min(), second.min()), max(first.max(), second.max()))
    right.plot(ends, ends, color="grey", linewidth=0.8)
    right.set(xlabel=f"logit of {names[1]}", ylabel=f"logit of {names[0]}", title=f"above the line: {names[0]} wins")
    return figure
