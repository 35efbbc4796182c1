"""The design of a study: which example is of which system, and answers which input, numbered once.

Estimates rest on units: inputs, or where there are many `MOST_UNITS` groups of them. Inputs are numbered by a checksum
of their names, so that the order of rows changes no group and no random draw.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Grouping = Literal["global", "within_systems", "between_systems"]

FEWEST_TEXTS = 10  # of a system, for a correlation within it
MOST_UNITS = 200  # groups of inputs that are left out, or flipped, at once
LEAST_COMMON = 0.5  # share of the fullest row's columns that a compared row must leave in common
LARGEST = 1e150  # in size; larger scores have no finite square


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
        """Lists the indices of the examples of each system; for other groupings, one group has all.

        Systems with fewer than `FEWEST_TEXTS` examples are left out.
        """
        if grouping != "within_systems":
            return [np.arange(len(self.inputs))]
        groups = [np.flatnonzero(self.systems == system) for system in range(self.system_count)]
        return [members for members in groups if len(members) >= FEWEST_TEXTS]


def lay_out(n: int, systems: Sequence[Hashable] | None = None, inputs: Sequence[Hashable] | None = None) -> Layout:
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


def to_columns(**columns: ArrayLike) -> list[Floats]:
    """Turns the columns into arrays of one shape (n,).

    Raises ValueError for other shapes, and for a value that is infinite or beyond `LARGEST` in size; NaN is allowed.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in columns.values()]
    names = " and ".join(columns)
    different_shapes = {values.shape for values in arrays}
    if arrays[0].ndim != 1 or len(different_shapes) > 1:
        shapes = " and ".join(str(values.shape) for values in arrays)
        raise ValueError(f"{names} must have one shape (n,), but have {shapes}")
    refuse_large(names, *arrays)
    return arrays


def refuse_large(names: str, *arrays: Floats) -> None:
    """Raises ValueError for a value that is infinite or beyond `LARGEST` in size."""
    is_large = [(np.abs(values) > LARGEST).any() for values in arrays]
    if any(is_large):
        raise ValueError(f"{names} must be finite and at most {LARGEST:g} in size, or NaN where there is none")


def number_groups(n: int, groups: Sequence[Hashable] | None, what: str = "groups") -> Indices:
    """Numbers the groups of examples; returns the number of each example's group.

    Without `groups`, each example has a group of its own. Raises ValueError unless there is one name per example and no
    name is None; the message calls the groups `what`.
    """
    if groups is None:
        return np.arange(n)
    if len(groups) != n:
        raise ValueError(f"{what} must hold one name per example ({n}), but has {len(groups)}")
    if None in groups:
        raise ValueError(f"each example needs a name in {what}, but {what}[{list(groups).index(None)}] is None")
    number_of: dict[Hashable, int] = {}
    numbers = [number_of.setdefault(name, len(number_of)) for name in groups]
    return np.array(numbers, dtype=np.intp)
