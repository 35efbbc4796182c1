"""Groupings: computes a statistic over all examples, within systems, within inputs, or between the means of systems.

The four groupings of meta-evaluation (Deutsch, Dror & Roth 2021, "A Statistical Analysis of Summarization Evaluation
Metrics using Resampling Methods"; mt-metrics-eval calls the first three none, sys and item):

- `global`: all outputs together;
- `within_systems`: within each system of at least `FEWEST_TEXTS` examples, then the mean over systems;
- `within_inputs`: within each input, over the systems' outputs, then the mean over inputs;
- `between_systems`: between systems, whose scores and ratings are means over their inputs.

Means are weighted by the sizes of the groups.

A group with equal ratings, or with one output, says nothing about any metric and is left out of the mean. A group in
which only the metric's scores are equal counts as a correlation of 0. If it were left out, a metric that is constant on
30 hard inputs and as good as another on 30 easy ones would seem the better one (a permutation test confirmed this in 8
of 8 simulated studies). A mean over the groups that both metrics order would hide that the other one orders the hard
inputs.
"""

from collections.abc import Callable

import numpy as np

from meta_eval.correlation import varies
from meta_eval.design import FEWEST_TEXTS, Floats, Grouping, Layout
from meta_eval.ties import merge_ties

Statistic = Callable[[Floats, Floats, Floats], Floats]  # (n,), (n,), (resamples, n) -> (resamples,)

NO_SYSTEMS = "the texts name fewer than 2 systems"


def group(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    layout: Layout,
    grouping: Grouping,
    weights: Floats,
) -> Floats:
    """Computes the statistic of x and y, both (n,), over all or within groups for each resample, (resamples,).

    The weights, of shape (resamples, inputs), say how often each resample contains each input.
    """
    if grouping == "global":
        return statistic(x, y, weights[:, layout.inputs])
    total = np.zeros(len(weights))
    count = np.zeros(len(weights))
    for members in layout.groups(grouping):
        drawn = weights[:, layout.inputs[members]]
        size = drawn.sum(axis=1)
        if grouping == "within_inputs":
            # the outputs of an input are drawn together, so the statistic is the same in all resamples
            drawn = np.ones((1, len(members)))
        values = statistic(x[members], y[members], drawn)
        is_defined = ~np.isnan(values) | varies(y[members], drawn)
        share = is_defined * size
        total += share * np.nan_to_num(values)
        count += share
    undefined = np.full(len(total), np.nan)
    return np.divide(
        total,
        count,
        out=undefined,
        where=count > 0,
    )


def explain_undefined(
    x: Floats,
    y: Floats,
    layout: Layout,
    grouping: Grouping = "global",
) -> str | None:
    """Returns the reason why no correlation of scores `x` with ratings `y` is defined in this grouping, or None."""
    units = "examples"
    if grouping in ("within_systems", "between_systems") and layout.system_count < 2:
        return NO_SYSTEMS
    if len(x) and grouping == "between_systems":
        x = average_by_system(x, layout)
        y = average_by_system(y, layout)
        units = "systems"
    if len(x) < 3:
        return f"a correlation needs at least 3 scored and rated {units}, but there are {len(x)}"
    for name, values in (("scores", x), ("ratings", y)):
        if np.ptp(values) == 0:
            return f"all {len(values)} {name} of {units} are {values[0]:g}: a constant has no correlation"
    if grouping == "between_systems":
        return None
    groups = layout.groups(grouping)
    if not groups:
        return f"no system has {FEWEST_TEXTS} scored and rated examples"
    both_vary = [np.ptp(x[members]) > 0 and np.ptp(y[members]) > 0 for members in groups]
    if any(both_vary):
        return None
    several = "systems" if grouping == "within_systems" else "inputs"
    return f"scores and ratings do not both vary within any of the {len(groups)} {several}"


def average_by_system(x: Floats, layout: Layout) -> Floats:
    """Computes the means of x, of shape (n,), by system, of shape (systems,)."""
    sizes = np.bincount(layout.systems)
    sums = np.bincount(layout.systems, x)
    return merge_ties(sums / sizes, x)
