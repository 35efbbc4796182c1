"""Slices: how a judge agrees with people in each part of the texts, and whether a part differs from the rest.

The tests hold each slice against all other texts. The statistic is the difference of kappa, or of harshness, in
standard errors over inputs; its distribution is that of slices whose names change places between inputs, or within
inputs that have texts in several slices. All slices and both statistics share the permutations, so that p-values are
adjusted for all of them. Statistics in standard errors keep the level where slices differ in other ways, such as the
shares of labels (Chung & Romano 2013). A slice with fewer than `FEWEST_UNITS` inputs has no interval and no test.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import BATCH, FEWEST_UNITS, Estimate, Floats, Indices, Mask, explain_few
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import USUAL, Resampling
from meta_eval.labels import estimate_kappa
from meta_eval.linearised import NEAR, linearise_mean
from meta_eval.step_down import step_down

TESTED = ("kappa", "harshness")
PERMUTATIONS = 999


@dataclass(frozen=True)
class SliceAgreement:
    """How well a judge agrees with people on the texts of one slice."""

    slice: str
    # the texts that both labelled
    n: int
    kappa: Estimate
    harshness: Estimate
    # two-sided, that the slice differs from all others, adjusted for all slices and both statistics; NaN without a test
    p_kappa: float
    p_harshness: float
    # why there is no test, else None
    reason: str | None = None


def measure_slices(
    names: Sequence[str],
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
    *,
    resampling: Resampling = USUAL,
) -> list[SliceAgreement]:
    """The agreement of a judge with people by slice; labels have the shape (n,), with NaN for no label.

    Of more than two labels kappa is the weighted one. An input may have texts in several slices.
    """
    both = ~np.isnan(people + judge)
    own = restrict(layout, both)
    x, y = people[both], judge[both]
    named = [name for name, kept in zip(names, both, strict=True) if kept]
    order = list(dict.fromkeys(named))
    numbers = np.array([order.index(name) for name in named], dtype=np.intp)
    counts = np.array([_count_inputs(own, numbers == slice_) for slice_ in range(len(order))])
    others = np.array([_count_inputs(own, numbers != slice_) for slice_ in range(len(order))])
    tested = np.flatnonzero(np.minimum(counts, others) >= FEWEST_UNITS)
    p_values = np.full((len(order), len(TESTED)), math.nan)
    if len(tested):
        adjusted = _test_slices(numbers, tested, x, y, labels, own, resampling.seed)
        p_values[tested] = adjusted
    found: list[SliceAgreement] = []
    for number, name in enumerate(order):
        inside = numbers == number
        part = restrict(own, inside)
        kappa = estimate_kappa([(x[inside], y[inside])], labels, part, resampling, is_weighted=len(labels) > 2)
        harshness = linearise_mean((y - x)[inside]).estimate(part)
        few = explain_few("inputs", int(counts[number])) if counts[number] < FEWEST_UNITS else None
        p_kappa, p_harshness = (float(p) for p in p_values[number])
        found.append(SliceAgreement(name, int(inside.sum()), kappa, harshness, p_kappa, p_harshness, few))
    return found


def _test_slices(
    numbers: Indices,
    tested: Indices,
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
    seed: int,
) -> Floats:
    """Adjusted p-values of the tested slices, of shape (slices, statistics)."""
    cells = np.searchsorted(labels, people) * len(labels) + np.searchsorted(labels, judge)

    def measure(orders: Indices) -> Floats:
        """The statistics of slices in these orders, of shape (orders, slices x statistics)."""
        by_slice = [standardise_gaps(orders == number, cells, labels, layout) for number in tested]
        return np.abs(np.stack(by_slice, axis=1)).reshape(len(orders), -1)

    rng = np.random.default_rng(seed)
    rows = max(1, BATCH // (len(numbers) * len(labels)))
    null: list[Floats] = []
    for start in range(0, PERMUTATIONS, rows):
        drawn = range(start, min(start + rows, PERMUTATIONS))
        null.append(measure(np.stack([_exchange(numbers, layout, rng) for _ in drawn])))
    return step_down(measure(numbers[None])[0], np.concatenate(null)).reshape(len(tested), len(TESTED))


def _exchange(numbers: Indices, layout: Layout, rng: np.random.Generator) -> Indices:
    """The slices of texts after those of inputs change places; where an input has several, those within inputs do."""
    first = np.zeros(layout.input_count, dtype=np.intp)
    first[layout.inputs] = numbers
    if (first[layout.inputs] == numbers).all():
        return rng.permutation(first)[layout.inputs]
    order = np.argsort(layout.inputs, kind="stable")
    shuffled = np.lexsort((rng.random(len(numbers)), layout.inputs))
    exchanged = np.empty_like(numbers)
    exchanged[order] = numbers[shuffled]
    return exchanged


def _count_inputs(layout: Layout, kept: Mask) -> int:
    return len(np.unique(layout.inputs[kept]))


def standardise_gaps(inside: Mask, cells: Indices, labels: Floats, layout: Layout) -> Floats:
    """Kappa and harshness of the texts inside minus those of the others, in standard errors, of shape (rows, 2).

    `inside` has the shape (rows, n), `cells` number the pairs of labels of people and judge, of shape (n,). NaN where a
    difference is undefined, 0 where nothing varies.
    """
    size = len(labels)
    is_cell = np.eye(size * size)[cells]
    tables = inside @ is_cell
    kinds = zip(_linearise_tables(tables, labels), _linearise_tables(is_cell.sum(axis=0) - tables, labels), strict=True)
    found: list[Floats] = []
    for (value, parts), (other_value, other_parts) in kinds:
        of_texts = np.where(inside, parts[:, cells], -other_parts[:, cells])
        sums = _sum_inputs(of_texts, layout)
        inputs = layout.input_count
        errors = np.sqrt((sums**2).sum(axis=1) * inputs / (inputs - 1))
        gaps = value - other_value
        found.append(np.divide(gaps, errors, out=np.where(np.isnan(gaps), np.nan, 0.0), where=errors > 0))
    return np.stack(found, axis=1)


def _linearise_tables(tables: Floats, labels: Floats) -> list[tuple[Floats, Floats]]:
    """Kappa and harshness of confusion tables, of shape (rows, labels x labels), with the part of a text of each cell.

    As `linearise_kappa` and `linearise_mean` have them, for many tables at once.
    """
    size = len(labels)
    apart = np.subtract.outer(labels, labels) ** 2 if size > 2 else 1.0 - np.eye(size)
    counts = tables.sum(axis=1)
    shares = (tables / counts[:, None]).reshape(-1, size, size)
    of_people = shares.sum(axis=2)
    of_judge = shares.sum(axis=1)
    observed = (shares * apart).sum(axis=(1, 2))
    expected = np.einsum("ri,ij,rj->r", of_people, apart, of_judge)
    expected = np.where(expected < NEAR, np.nan, expected)[:, None, None]
    wrong = observed[:, None, None]
    by_chance = (of_judge @ apart.T)[:, :, None] + (of_people @ apart)[:, None, :] - 2 * expected
    changes = (apart - wrong) / expected - wrong * by_chance / expected**2
    kappa = 1 - observed / expected[:, 0, 0]
    distances = np.subtract.outer(-labels, -labels)
    harshness = (shares * distances).sum(axis=(1, 2))
    parts = [-changes, distances - harshness[:, None, None]]
    of_cells = [each.reshape(len(tables), -1) / counts[:, None] for each in parts]
    return [(kappa, np.nan_to_num(of_cells[0])), (harshness, of_cells[1])]


def _sum_inputs(of_texts: Floats, layout: Layout) -> Floats:
    """Sums over the texts of each input, of shape (rows, inputs), of values of shape (rows, n)."""
    order = np.argsort(layout.inputs, kind="stable")
    starts = np.flatnonzero(np.diff(layout.inputs[order], prepend=-1))
    return np.add.reduceat(of_texts[:, order], starts, axis=1)
