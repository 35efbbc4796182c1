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

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meta_eval.bootstrap import Floats, Indices, Mask, number_groups
from meta_eval.correlation import varies
from meta_eval.ties import merge_ties

Statistic = Callable[[Floats, Floats, Floats], Floats]  # (n,), (n,), (resamples, n) -> (resamples,)
Grouping = Literal["global", "within_systems", "within_inputs", "between_systems"]

FEWEST_TEXTS = 10  # of a system, for a correlation within it
NO_SYSTEMS = "the scored and rated texts name fewer than 2 systems"
LEAST_COMMON = 0.5  # share of the fullest row's columns that a compared row must leave in common


@dataclass(frozen=True)
class Layout:
    """The layout of a study: the number of the system that wrote each example, and of the input that it answers.

    Both have the shape (n,) and count from 0.
    """

    systems: Indices
    inputs: Indices

    @property
    def system_count(self) -> int:
        return int(self.systems.max(initial=-1)) + 1

    @property
    def input_count(self) -> int:
        return int(self.inputs.max(initial=-1)) + 1

    def to_grid(self, values: Floats) -> Floats:
        """Arranges values of shape (n,) by system and input, shape (systems, inputs); NaN where there is no example."""
        grid = np.full((self.system_count, self.input_count), np.nan)
        grid[self.systems, self.inputs] = values
        return grid

    def groups(self, grouping: Grouping) -> list[Indices]:
        """Lists the indices of the examples of each system or of each input; for other groupings, one group has all.

        Systems with fewer than `FEWEST_TEXTS` examples are left out.
        """
        if grouping not in ("within_systems", "within_inputs"):
            return [np.arange(len(self.inputs))]
        fewest = FEWEST_TEXTS if grouping == "within_systems" else 1
        numbers = self.systems if grouping == "within_systems" else self.inputs
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order])) + 1
        return [members for members in np.split(order, starts) if len(members) >= fewest]


def lay_out(
    n: int,
    systems: Sequence[Hashable] | None = None,
    inputs: Sequence[Hashable] | None = None,
) -> Layout:
    """Makes the layout of n examples: numbers their systems and inputs.

    Without `systems` all examples belong to one system; without `inputs` each example has a separate input. Raises
    ValueError unless there is one name per example and no name is None.
    """
    system_numbers = np.zeros(n, dtype=np.intp)
    if systems is not None:
        system_numbers = number_groups(n, systems, "systems")
    return Layout(system_numbers, number_groups(n, inputs, "inputs"))


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


def restrict(layout: Layout, kept: Mask) -> Layout:
    """Makes the layout of the examples in the mask `kept`, of shape (n,), with new numbers for systems and inputs."""
    if kept.shape != layout.systems.shape:
        raise ValueError(f"the layout has {len(layout.systems)} examples, but there are {len(kept)} scores")
    _, systems = np.unique(layout.systems[kept], return_inverse=True)
    _, inputs = np.unique(layout.inputs[kept], return_inverse=True)
    return Layout(systems, inputs)


def find_common(values: Floats, names: Sequence[str] | None = None) -> tuple[Mask, Mask]:
    """Chooses rows (systems) of `values`, and the columns (inputs) for which all of them have a value that is not NaN.

    The common columns are at least `LEAST_COMMON` of those of the fullest row. Starting from each row, the set grows by
    the row that leaves the most columns. The largest set wins (most rows, then most columns). `names` break ties, so
    that the order of rows decides nothing.
    """
    is_known = ~np.isnan(values)
    fullest = is_known.sum(axis=1).max(initial=0)
    least = max(1, LEAST_COMMON * fullest)
    order = sorted(range(len(values)), key=lambda row: names[row] if names else row)
    best_rows = np.zeros(len(values), dtype=np.bool_)
    best_columns = np.ones(values.shape[1], dtype=np.bool_)
    largest = (0, 0)
    for first in order:
        rows, columns = _grow(is_known, first, order, least)
        size = (int(rows.sum()), int(columns.sum()))
        if size > largest:
            largest = size
            best_rows = rows
            best_columns = columns
        if rows.all():
            break
    return best_rows, best_columns


def _grow(
    is_known: Mask,
    first: int,
    order: Sequence[int],
    least: float,
) -> tuple[Mask, Mask]:
    """The rows that can be compared with the row `first`, each time the one that keeps most columns."""
    rows = np.zeros(len(is_known), dtype=np.bool_)
    columns = np.ones(is_known.shape[1], dtype=np.bool_)
    candidates = [first]
    while candidates:
        kept = {row: int((columns & is_known[row]).sum()) for row in candidates}
        chosen = max(candidates, key=lambda row: kept[row])
        if kept[chosen] < least:
            break
        rows[chosen] = True
        columns = columns & is_known[chosen]
        candidates = [row for row in order if not rows[row]]
    return rows, columns


def average_by_system(x: Floats, layout: Layout) -> Floats:
    """Computes the means of x, of shape (n,), by system, of shape (systems,)."""
    sizes = np.bincount(layout.systems)
    sums = np.bincount(layout.systems, x)
    return merge_ties(sums / sizes, x)
