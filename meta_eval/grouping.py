"""Groupings: computes a statistic over all examples, within each system, within each input, or between systems' means.

The four groupings of meta-evaluation (Deutsch, Dror & Roth 2021, "A Statistical Analysis of Summarization Evaluation
Metrics using Resampling Methods"; mt-metrics-eval calls the first three none, sys and item):

- `global`: all outputs together;
- `per_system`: within each system, over its inputs, then the mean over systems;
- `per_input`: within each input, over the systems' outputs, then the mean over inputs;
- `system_means`: between systems, whose scores and ratings are means over their inputs.

A group with equal ratings, or with one output, says nothing about any metric and is left out of the mean. A group in
which only the metric's scores are equal counts as a correlation of 0. If it were left out, a metric that is constant on
30 hard inputs and as good as another on 30 easy ones would seem the better one (a permutation test confirmed this in 8
of 8 simulated studies). A mean over the groups that both metrics order would hide that the other one orders the hard
inputs.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from zlib import crc32

import numpy as np

from meta_eval.bootstrap import Floats, Indices, Mask, number_groups
from meta_eval.correlation import varies
from meta_eval.ties import merge_ties

Statistic = Callable[[Floats, Floats, Floats], Floats]  # (n,), (n,), (resamples, n) -> (resamples,)
Grouping = Literal["global", "per_system", "per_input", "system_means"]

MOST_UNITS = 200  # groups of inputs that are left out, or flipped, at once
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

    @property
    def unit_count(self) -> int:
        """The number of units that estimates rest on: the inputs, or `MOST_UNITS` groups of them."""
        return min(self.input_count, MOST_UNITS)

    @cached_property
    def units(self) -> Indices:
        """The unit of each example, of shape (n,)."""
        return self.inputs % max(self.unit_count, 1)

    def to_grid(self, values: Floats) -> Floats:
        """Arranges values of shape (n,) by system and input, shape (systems, inputs); NaN where there is no example."""
        grid = np.full((self.system_count, self.input_count), np.nan)
        grid[self.systems, self.inputs] = values
        return grid

    def groups(self, grouping: Grouping) -> list[Indices]:
        """Lists the indices of the examples of each system or of each input; for other groupings, one group has all."""
        if grouping not in ("per_system", "per_input"):
            return [np.arange(len(self.inputs))]
        numbers = self.systems if grouping == "per_system" else self.inputs
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order])) + 1
        return np.split(order, starts)


def lay_out(
    n: int,
    systems: Sequence[Hashable] | None = None,
    inputs: Sequence[Hashable] | None = None,
) -> Layout:
    """Makes the layout of n examples: numbers their systems and inputs.

    Without `systems` all examples belong to one system; without `inputs` each example has a separate input. Inputs are
    numbered by a checksum of their names, so that the order of rows does not change a random draw. Raises
    ValueError unless there is one name per example and no name is None.
    """
    system_numbers = np.zeros(n, dtype=np.intp)
    if systems is not None:
        system_numbers = number_groups(n, systems, "systems")
    numbers = number_groups(n, inputs, "inputs")
    if inputs is not None:
        numbers = _number_by_hash([*dict.fromkeys(inputs)])[numbers]
    return Layout(system_numbers, numbers)


def _number_by_hash(names: Sequence[Hashable]) -> Indices:
    """Numbers names by their checksums, so that the order of rows does not change which inputs make a unit."""
    checksums = [crc32(str(name).encode()) for name in names]
    order = sorted(range(len(names)), key=lambda place: (checksums[place], str(names[place])))
    numbers = np.empty(len(names), dtype=np.intp)
    numbers[order] = np.arange(len(names))
    return numbers


def group(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    layout: Layout,
    grouping: Grouping,
    weights: Floats,
) -> Floats:
    """Computes the statistic of x and y, both (n,), in this grouping for each resample; returns shape (resamples,).

    The weights, of shape (resamples, inputs), say how often each resample contains each input.
    """
    if grouping == "system_means":
        return _correlate_means(statistic, x, y, layout, weights)
    if grouping == "global":
        return statistic(x, y, weights[:, layout.inputs])
    total = np.zeros(len(weights))
    count = np.zeros(len(weights))
    for members in layout.groups(grouping):
        inputs = layout.inputs[members]
        if grouping == "per_input":
            # the outputs of an input are drawn together, so the statistic is the same in all resamples
            drawn = np.ones((1, len(members)))
            times_counted = weights[:, inputs[0]]
        else:
            drawn = weights[:, inputs]
            times_counted = 1.0
        values = statistic(x[members], y[members], drawn)
        is_defined = ~np.isnan(values) | varies(y[members], drawn)
        share = is_defined * times_counted
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
    if len(x) and grouping == "system_means":
        once = np.ones((1, layout.input_count))
        x = _average_by_system(x, layout, once)[0]
        y = _average_by_system(y, layout, once)[0]
        units = "systems"
    if len(x) < 3:
        return f"a correlation needs at least 3 scored and rated {units}, but there are {len(x)}"
    for name, values in (("scores", x), ("ratings", y)):
        if np.ptp(values) == 0:
            return f"all {len(values)} {name} of {units} are {values[0]:g}: a constant has no correlation"
    if grouping == "system_means":
        return None
    groups = layout.groups(grouping)
    both_vary = [np.ptp(x[members]) > 0 and np.ptp(y[members]) > 0 for members in groups]
    if any(both_vary):
        return None
    several = "systems" if grouping == "per_system" else "inputs"
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


def _correlate_means(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    layout: Layout,
    weights: Floats,
) -> Floats:
    """The statistic of the means of systems, of shape (resamples,)."""
    x_means = _average_by_system(x, layout, weights)
    y_means = _average_by_system(y, layout, weights)
    once = np.ones((1, layout.system_count))
    values = np.full(len(x_means), np.nan)
    has_all_systems = ~np.isnan(x_means).any(axis=-1)
    for row in np.flatnonzero(has_all_systems):
        values[row] = statistic(x_means[row], y_means[row], once)[0]
    return values


def _average_by_system(
    x: Floats,
    layout: Layout,
    input_weights: Floats,
) -> Floats:
    """Weighted means per system, of shape (resamples, systems); NaN if a resample has no output of a system."""
    numbers = np.arange(layout.system_count)
    membership = np.equal.outer(layout.systems, numbers).astype(np.float64)  # (n, systems)
    weights = input_weights[:, layout.inputs]
    total = weights @ membership
    sums = (weights * x) @ membership
    undefined = np.full(total.shape, np.nan)
    means = np.divide(
        sums,
        total,
        out=undefined,
        where=total > 0,
    )
    return merge_ties(means, x)
