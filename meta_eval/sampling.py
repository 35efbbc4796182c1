"""Whether the labelled part of a set may be a random sample of it, by what is known of all of it.

A correction of a judge by some labels holds if these are a random sample. Labels where a judge said "a", or of one pair
of systems, are visibly none: the judge's verdicts, or the systems, differ between the labelled part and the rest.
Labels that people chose by what they think cannot be found so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import Floats, Mask
from meta_eval.chance import gather, permute_inputs
from meta_eval.grouping import Layout

LEVEL = 0.01  # of a difference that is told
FEWEST = 5  # labelled examples, and others


@dataclass(frozen=True)
class SampleDifference:
    """How the labelled part differs from the rest."""

    # what differs: verdicts, or the name of a cell (a system, a pair of systems)
    what: str
    # the mean verdict of the labelled part and of the rest; or the shares that are labelled, of this cell and of others
    labelled: float
    others: float
    # of a permutation test that keeps inputs together
    p_value: float


def compare_verdicts(is_labelled: Mask, verdicts: Floats, layout: Layout) -> SampleDifference | None:
    """The difference of a judge's verdicts, of shape (n,), between the labelled part and the rest; None if small."""
    known = ~np.isnan(verdicts)
    labelled = is_labelled & known
    others = ~is_labelled & known
    if min(labelled.sum(), others.sum()) < FEWEST or np.ptp(verdicts[known]) == 0:
        return None
    centred = np.where(known, verdicts - verdicts[known].mean(), 0.0)
    p_value = _test(is_labelled, layout, lambda mask: np.abs(mask @ centred))
    if p_value >= LEVEL:
        return None
    return SampleDifference("verdicts", float(verdicts[labelled].mean()), float(verdicts[others].mean()), p_value)


def compare_cells(is_labelled: Mask, cells: Sequence[str], layout: Layout) -> SampleDifference | None:
    """The cell, of one name for each example, whose labelled share differs most from that of the others; None if small.

    The statistic is Pearson's chi-squared.
    """
    names, numbers = np.unique(np.asarray(cells, dtype=object).astype(str), return_inverse=True)
    number = int(is_labelled.sum())
    if min(number, len(cells) - number) < FEWEST or len(names) < 2:
        return None
    is_in = np.eye(len(names))[numbers]
    expected = is_in.sum(axis=0) * number / len(cells)
    p_value = _test(is_labelled, layout, lambda mask: ((mask @ is_in - expected) ** 2 / expected).sum(axis=-1))
    if p_value >= LEVEL:
        return None
    counts = is_labelled @ is_in
    most = int(np.argmax((counts - expected) ** 2 / expected))
    there = is_in[:, most] > 0
    return SampleDifference(
        str(names[most]), float(is_labelled[there].mean()), float(is_labelled[~there].mean()), p_value
    )


def _test(is_labelled: Mask, layout: Layout, statistic: Callable[[Floats], Floats]) -> float:
    """The one-sided p-value of a statistic of the mask, whose inputs, and texts within them, change places."""
    start = gather(layout.inputs)
    observed = float(statistic(is_labelled.astype(np.float64)))
    place = np.empty(len(start), dtype=np.intp)
    place[start] = np.arange(len(start))
    reached = drawn = 0
    for orders in permute_inputs(layout.inputs, seed=0):
        masks = is_labelled[orders][:, place].astype(np.float64)
        reached += int((statistic(masks) >= observed - 1e-9 * max(1.0, abs(observed))).sum())
        drawn += len(orders)
    return (1 + reached) / (1 + drawn)
