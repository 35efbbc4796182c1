"""Slices: how a judge agrees with people in each part of the texts, and whether a part differs from the rest.

The tests compare each slice with all other texts. The statistic is the difference of kappa, or of harshness, divided by
its standard error over inputs. Its distribution comes from permutations: the names of slices are exchanged between
inputs, or within inputs that have texts in several slices. All slices and both statistics share the permutations, so
that p-values are adjusted for all of them. Division by the standard error keeps the level if slices differ in other
ways, such as the shares of labels (Chung & Romano 2013). A slice with fewer than `FEWEST_UNITS` inputs has no interval
and no test.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import BATCH, FEWEST_UNITS, Estimate, Floats, Indices, Mask, explain_few, number_groups
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import USUAL_RESAMPLING, Resampling
from meta_eval.labels import estimate_kappa
from meta_eval.linearised import NEAR, linearise_mean, measure_distances
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
    resampling: Resampling = USUAL_RESAMPLING,
) -> list[SliceAgreement]:
    """Measures how a judge agrees with people in each slice; labels have the shape (n,), with NaN for no label.

    For more than two labels, kappa is weighted. An input may have texts in several slices.
    """
    has_both = ~np.isnan(people + judge)
    present = restrict(layout, has_both)
    x = people[has_both]
    y = judge[has_both]
    names_of_texts = [names[i] for i in np.flatnonzero(has_both).tolist()]
    slice_names = list(dict.fromkeys(names_of_texts))
    numbers = number_groups(len(x), names_of_texts, "slices")
    p_values = _test_slices(
        numbers,
        x,
        y,
        labels,
        present,
        seed=resampling.seed,
    )
    rows: list[SliceAgreement] = []
    for number, name in enumerate(slice_names):
        inside = numbers == number
        part = restrict(present, inside)
        inputs = part.input_count
        kappa = estimate_kappa(
            [(x[inside], y[inside])],
            labels,
            part,
            resampling,
            is_weighted=len(labels) > 2,
        )
        rows.append(
            SliceAgreement(
                slice=name,
                n=int(inside.sum()),
                kappa=kappa,
                harshness=linearise_mean((y - x)[inside]).estimate(part),
                p_kappa=float(p_values[number, 0]),
                p_harshness=float(p_values[number, 1]),
                reason=explain_few("inputs", inputs) if inputs < FEWEST_UNITS else None,
            )
        )
    return rows


def _test_slices(
    numbers: Indices,
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
    seed: int,
) -> Floats:
    """Adjusted p-values of the slices of texts, of shape (slices, statistics); NaN if a slice is not tested.

    A slice is tested if it has `FEWEST_UNITS` inputs, and the other texts have as many.
    """
    count = int(numbers.max(initial=-1)) + 1
    p_values = np.full((count, len(TESTED)), math.nan)
    tested = []
    for number in range(count):
        inputs = _count_inputs(layout, numbers == number)
        other_inputs = _count_inputs(layout, numbers != number)
        if min(inputs, other_inputs) >= FEWEST_UNITS:
            tested.append(number)
    if not tested:
        return p_values
    of_people = np.searchsorted(labels, people)
    of_judge = np.searchsorted(labels, judge)
    cells = of_people * len(labels) + of_judge

    def measure(orders: Indices) -> Floats:
        """The statistics of slices in these orders, of shape (orders, slices x statistics)."""
        by_slice = [standardise_gaps(orders == number, cells, labels, layout) for number in tested]
        sizes = np.abs(np.stack(by_slice, axis=1))
        return sizes.reshape(len(orders), -1)

    observed = measure(numbers[None])[0]
    orders_at_once = max(1, BATCH // (len(numbers) * len(labels)))
    blocks = [measure(orders) for orders in _draw_orders(numbers, layout, orders_at_once, seed)]
    adjusted = step_down(observed, np.concatenate(blocks))
    p_values[tested] = adjusted.reshape(len(tested), len(TESTED))
    return p_values


def _draw_orders(
    numbers: Indices,
    layout: Layout,
    rows: int,
    seed: int,
) -> Iterator[Indices]:
    """Blocks of the slices of texts after they changed places, of shape (up to `rows`, n)."""
    rng = np.random.default_rng(seed)
    for start in range(0, PERMUTATIONS, rows):
        drawn = min(rows, PERMUTATIONS - start)
        yield np.stack([_exchange(numbers, layout, rng) for _ in range(drawn)])


def _exchange(
    numbers: Indices,
    layout: Layout,
    rng: np.random.Generator,
) -> Indices:
    """The slices of texts after those of inputs change places; where an input has several, those within inputs do."""
    slice_of_input = np.zeros(layout.input_count, dtype=np.intp)
    slice_of_input[layout.inputs] = numbers
    has_one_slice = (slice_of_input[layout.inputs] == numbers).all()
    if has_one_slice:
        return rng.permutation(slice_of_input)[layout.inputs]
    by_input = np.argsort(layout.inputs, kind="stable")
    keys = rng.random(len(numbers))
    shuffled_within = np.lexsort((keys, layout.inputs))
    exchanged = np.empty_like(numbers)
    exchanged[by_input] = numbers[shuffled_within]
    return exchanged


def _count_inputs(layout: Layout, kept: Mask) -> int:
    return len(np.unique(layout.inputs[kept]))


def standardise_gaps(
    inside: Mask,
    cells: Indices,
    labels: Floats,
    layout: Layout,
) -> Floats:
    """Computes kappa and harshness of the texts inside minus those of the others, in standard errors; shape (rows, 2).

    `inside` has the shape (rows, n), `cells` number the pairs of labels of people and judge, of shape (n,). NaN if a
    difference is undefined, 0 if nothing varies.
    """
    size = len(labels)
    membership = np.eye(size * size)[cells]  # (n, cells)
    tables = inside @ membership
    other_tables = membership.sum(axis=0) - tables
    standardised: list[Floats] = []
    for linearise in (_linearise_kappas, _linearise_harshness):
        values, parts = linearise(tables, labels)
        other_values, other_parts = linearise(other_tables, labels)
        of_texts = np.where(inside, parts[:, cells], -other_parts[:, cells])
        errors = _measure_errors(of_texts, layout)
        gaps = values - other_values
        without_error = np.where(np.isnan(gaps), np.nan, 0.0)
        in_errors = np.divide(
            gaps,
            errors,
            out=without_error,
            where=errors > 0,
        )
        standardised.append(in_errors)
    return np.stack(standardised, axis=1)


def _measure_errors(of_texts: Floats, layout: Layout) -> Floats:
    """Standard errors of sums of parts of texts, of shape (rows, n), by the variance over inputs; of shape (rows,)."""
    inputs = layout.input_count
    sums = _sum_inputs(of_texts, layout)
    variances = (sums**2).sum(axis=1) * inputs / (inputs - 1)
    return np.sqrt(variances)


def _linearise_kappas(tables: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Kappa of confusion tables, of shape (rows,), and the part of a text of each cell, of shape (rows, cells).

    As `linearise_kappa` has them, for many tables of shape (rows, cells) at once; a cell is a pair of labels.
    """
    size = len(labels)
    distances = measure_distances(labels, is_weighted=size > 2)
    counts = tables.sum(axis=1)
    shares = (tables / counts[:, None]).reshape(-1, size, size)
    of_people = shares.sum(axis=2)
    of_judge = shares.sum(axis=1)
    observed = (shares * distances).sum(axis=(1, 2))
    expected = np.einsum("ri,ij,rj->r", of_people, distances, of_judge)
    expected = np.where(expected < NEAR, np.nan, expected)
    kappas = 1 - observed / expected
    observed = observed[:, None, None]
    expected = expected[:, None, None]
    from_judge = (of_judge @ distances.T)[:, :, None]
    from_people = (of_people @ distances)[:, None, :]
    change_of_expected = from_judge + from_people - 2 * expected
    change_of_observed = distances - observed
    changes = change_of_observed / expected - observed * change_of_expected / expected**2
    parts = -changes.reshape(len(tables), -1) / counts[:, None]
    return kappas, np.nan_to_num(parts)


def _linearise_harshness(tables: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """The mean label of the judge minus that of people, as `linearise_mean` has it; see `_linearise_kappas`."""
    size = len(labels)
    counts = tables.sum(axis=1)
    shares = (tables / counts[:, None]).reshape(-1, size, size)
    differences = np.subtract.outer(-labels, -labels)
    harshness = (shares * differences).sum(axis=(1, 2))
    deviations = differences - harshness[:, None, None]
    parts = deviations.reshape(len(tables), -1) / counts[:, None]
    return harshness, parts


def _sum_inputs(of_texts: Floats, layout: Layout) -> Floats:
    """Sums over the texts of each input, of shape (rows, inputs), of values of shape (rows, n)."""
    by_input = np.argsort(layout.inputs, kind="stable")
    steps = np.diff(layout.inputs[by_input], prepend=-1)
    starts = np.flatnonzero(steps)
    return np.add.reduceat(of_texts[:, by_input], starts, axis=1)
