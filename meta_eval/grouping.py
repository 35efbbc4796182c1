"""A statistic over all examples, within each system, within each input, or between the systems' means.

The four groupings of meta-evaluation (Deutsch, Dror & Roth 2021, "A Statistical Analysis of Summarization Evaluation
Metrics using Resampling Methods"; mt-metrics-eval calls the first three none, sys and item):

- `global`: all outputs together;
- `per_system`: within each system, over its inputs, then the mean over systems;
- `per_input`: within each input, over the systems' outputs, then the mean over inputs;
- `system_means`: between systems, whose scores and ratings are means over their inputs.

A group whose ratings are equal, or that has one output, tells nothing of any metric and is left out of the mean. A
group in which a metric alone does not vary counts as a correlation of 0. Left out, a metric that is constant on 30 hard
inputs and as good as another on 30 easy ones would seem the better one, which a permutation test confirmed in 8 of 8
simulated studies; means over the groups that both metrics order would hide that the other one orders the hard inputs.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from meta_eval.bootstrap import Floats, number_groups
from meta_eval.correlation import varies
from meta_eval.ties import merge_ties

Statistic = Callable[[Floats, Floats, Floats], Floats]  # (n,), (n,), (resamples, n) -> (resamples,)
Grouping = Literal["global", "per_system", "per_input", "system_means"]

LEAST_COMMON = 0.5  # share of the fullest row's columns that a compared row must leave in common


@dataclass(frozen=True)
class Layout:
    """Which system wrote each example, and which input it answers: numbers from 0, of shape (n,)."""

    systems: NDArray[np.intp]
    inputs: NDArray[np.intp]

    @property
    def system_count(self) -> int:
        return int(self.systems.max(initial=-1)) + 1

    @property
    def input_count(self) -> int:
        return int(self.inputs.max(initial=-1)) + 1

    def to_grid(self, values: Floats) -> Floats:
        """Values of shape (n,) by system and input, of shape (systems, inputs); NaN where there is no example."""
        grid = np.full((self.system_count, self.input_count), np.nan)
        grid[self.systems, self.inputs] = values
        return grid

    def groups(self, grouping: Grouping) -> list[NDArray[np.intp]]:
        """The indices of the examples of each system or of each input; else all of them as one group."""
        if grouping not in ("per_system", "per_input"):
            return [np.arange(len(self.inputs))]
        numbers = self.systems if grouping == "per_system" else self.inputs
        order = np.argsort(numbers, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def lay_out(n: int, systems: Sequence[Hashable] | None = None, inputs: Sequence[Hashable] | None = None) -> Layout:
    """Numbers the systems and inputs of n examples.

    Without `systems` all examples belong to one system; without `inputs` each example has a separate input. Raises
    ValueError unless there is one name per example and no name is None.
    """
    return Layout(
        systems=np.zeros(n, dtype=np.intp) if systems is None else number_groups(n, systems, "systems"),
        inputs=number_groups(n, inputs, "inputs"),
    )


def group(statistic: Statistic, x: Floats, y: Floats, layout: Layout, grouping: Grouping, weights: Floats) -> Floats:
    """The statistic of x and y, both of shape (n,), in this grouping for each resample, of shape (resamples,).

    The weights of inputs, of shape (resamples, inputs), say how often a resample holds each.
    """
    if grouping == "system_means":
        return _between_means(statistic, x, y, layout, weights)
    if grouping == "global":
        return statistic(x, y, weights[:, layout.inputs])
    total, count = np.zeros(len(weights)), np.zeros(len(weights))
    for members in layout.groups(grouping):
        is_input = grouping == "per_input"  # its outputs are drawn together: the statistic is the same in all resamples
        drawn = np.ones((1, len(members))) if is_input else weights[:, layout.inputs[members]]
        found = statistic(x[members], y[members], drawn)
        defined = ~np.isnan(found) | varies(y[members], drawn)
        share = defined * (weights[:, layout.inputs[members[0]]] if is_input else 1.0)
        total += share * np.nan_to_num(found)
        count += share
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


def explain_undefined(x: Floats, y: Floats, layout: Layout, grouping: Grouping = "global") -> str | None:
    """The reason why no correlation of scores `x` with ratings `y` is defined in this grouping, or None."""
    of = "examples"
    if len(x) and grouping == "system_means":
        ones = np.ones((1, layout.input_count))
        x, y, of = _means(x, layout, ones)[0], _means(y, layout, ones)[0], "systems"
    if len(x) < 3:
        return f"a correlation needs at least 3 scored and rated {of}, but there are {len(x)}"
    for name, values in (("scores", x), ("ratings", y)):
        if np.ptp(values) == 0:
            return f"all {len(values)} {name} of {of} are {values[0]:g}: a constant has no correlation"
    within = [] if grouping == "system_means" else layout.groups(grouping)
    if within and not any(np.ptp(x[at]) > 0 and np.ptp(y[at]) > 0 for at in within):
        several = "systems" if grouping == "per_system" else "inputs"
        return f"scores and ratings do not both vary within any of the {len(within)} {several}"
    return None


def restrict(layout: Layout, kept: NDArray[np.bool_]) -> Layout:
    """The layout of the examples in the mask `kept`, of shape (n,), with new numbers for systems and inputs."""
    if kept.shape != layout.systems.shape:
        raise ValueError(f"the layout has {len(layout.systems)} examples, but there are {len(kept)} scores")
    return Layout(*(np.unique(v[kept], return_inverse=True)[1] for v in (layout.systems, layout.inputs)))


def find_common(values: Floats, names: Sequence[str] | None = None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows and which columns of `values` (NaN where one is missing) are compared with one another.

    The columns in common are at least `LEAST_COMMON` of those that the fullest row has values for. Of the sets that
    grow from each row, by the one that keeps most columns, the largest counts: most rows, then most columns. Rows of
    equal worth come in the order of their `names`, so that the order of rows decides nothing.
    """
    known = ~np.isnan(values)
    least = max(1, LEAST_COMMON * known.sum(axis=1).max(initial=0))
    order = sorted(range(len(values)), key=lambda row: names[row] if names else row)
    best = (np.zeros(len(values), dtype=np.bool_), np.ones(values.shape[1], dtype=np.bool_))
    largest = (0, 0)
    for first in order:
        rows, columns = _grow(known, first, order, least)
        size = (int(rows.sum()), int(columns.sum()))
        if size > largest:
            best, largest = (rows, columns), size
        if rows.all():
            break
    return best


def _grow(
    known: NDArray[np.bool_], first: int, order: Sequence[int], least: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows that can be compared with the row `first`, each time the one that keeps most columns."""
    rows = np.zeros(len(known), dtype=np.bool_)
    columns = np.ones(known.shape[1], dtype=np.bool_)
    candidates = [first]
    while candidates:
        kept = {row: int((columns & known[row]).sum()) for row in candidates}
        chosen = max(candidates, key=lambda row: kept[row])
        if kept[chosen] < least:
            break
        rows[chosen] = True
        columns = columns & known[chosen]
        candidates = [row for row in order if not rows[row]]
    return rows, columns


def _between_means(statistic: Statistic, x: Floats, y: Floats, layout: Layout, weights: Floats) -> Floats:
    x_means, y_means = _means(x, layout, weights), _means(y, layout, weights)
    found, ones = np.full(len(x_means), np.nan), np.ones((1, layout.system_count))
    for r in np.flatnonzero(~np.isnan(x_means).any(axis=-1)):
        found[r] = statistic(x_means[r], y_means[r], ones)[0]
    return found


def _means(x: Floats, layout: Layout, input_weights: Floats) -> Floats:
    """Weighted means per system, of shape (resamples, systems); NaN if a resample has no output of a system."""
    membership = np.equal.outer(layout.systems, np.arange(layout.system_count)).astype(np.float64)
    weights = input_weights[:, layout.inputs]
    total = weights @ membership
    return merge_ties(
        np.divide((weights * x) @ membership, total, out=np.full(total.shape, np.nan), where=total > 0), x
    )
