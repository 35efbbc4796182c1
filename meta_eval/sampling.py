"""Whether the labelled part of a set may be a random sample, judged by properties of all its texts.

Labels can correct a judge only if they are a random sample of all texts. Labels of texts for which the judge said "a",
or of one pair of systems, are visibly no such sample: the judge's verdicts, or the systems, differ between the labelled
part and the rest. If people chose texts by what they think of them, this cannot be found out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import Floats, Mask
from meta_eval.chance import gather, permute_inputs
from meta_eval.grouping import Layout

LEVEL = 0.01  # of a difference that is told
FEWEST = 5  # labelled examples, and others
ROUNDING = 1e-9  # relative: sums in another order are equal


@dataclass(frozen=True)
class SampleDifference:
    """One difference between the judged examples that people labelled and those that they did not."""

    # what differs: verdicts, or the name of a cell (a system, a pair of systems)
    what: str
    # the mean verdict of the labelled part and of the rest; or the shares that are labelled, of this cell and of others
    labelled: float
    others: float
    # of a permutation test that keeps inputs together
    p_value: float


def compare_verdicts(
    is_labelled: Mask,
    verdicts: Floats,
    layout: Layout,
) -> SampleDifference | None:
    """Compares a judge's verdicts (n,) on examples that people labelled with those on the others.

    Returns None if the difference is not significant at LEVEL, or if too few verdicts are known.
    """
    is_known = ~np.isnan(verdicts)
    labelled = is_labelled & is_known
    others = ~is_labelled & is_known
    known = verdicts[is_known]
    if min(labelled.sum(), others.sum()) < FEWEST or np.ptp(known) == 0:
        return None
    centred = np.where(is_known, verdicts - known.mean(), 0.0)

    def sum_verdicts(masks: Floats) -> Floats:
        return np.abs(masks @ centred)

    p_value = _test_mask(is_labelled, layout, sum_verdicts)
    if p_value >= LEVEL:
        return None
    return SampleDifference(
        what="verdicts",
        labelled=float(verdicts[labelled].mean()),
        others=float(verdicts[others].mean()),
        p_value=p_value,
    )


def compare_cells(
    is_labelled: Mask,
    cells: Sequence[str],
    layout: Layout,
) -> SampleDifference | None:
    """Finds the cell of examples with the most unusual share of labels; None if no share is unusual.

    `cells` names the cell of each example, such as its pair of systems. The statistic is Pearson's chi-squared.
    """
    as_text = np.asarray(cells, dtype=object).astype(str)
    names, numbers = np.unique(as_text, return_inverse=True)
    total = len(cells)
    labelled = int(is_labelled.sum())
    if min(labelled, total - labelled) < FEWEST or len(names) < 2:
        return None
    membership = np.eye(len(names))[numbers]  # (n, cells)
    expected = membership.sum(axis=0) * labelled / total

    def measure_distances(masks: Floats) -> Floats:
        """Computes what each cell adds to chi-squared, of shape (..., cells)."""
        counts = masks @ membership
        return (counts - expected) ** 2 / expected

    def sum_distances(masks: Floats) -> Floats:
        return measure_distances(masks).sum(axis=-1)

    p_value = _test_mask(is_labelled, layout, sum_distances)
    if p_value >= LEVEL:
        return None
    most = int(np.argmax(measure_distances(is_labelled.astype(np.float64))))
    is_in_cell = membership[:, most] > 0
    return SampleDifference(
        what=str(names[most]),
        labelled=float(is_labelled[is_in_cell].mean()),
        others=float(is_labelled[~is_in_cell].mean()),
        p_value=p_value,
    )


def _test_mask(
    is_labelled: Mask,
    layout: Layout,
    statistic: Callable[[Floats], Floats],
) -> float:
    """The one-sided p-value of a statistic of the mask, whose inputs, and texts within them, change places."""
    by_input = gather(layout.inputs)
    place_of_text = np.empty(len(by_input), dtype=np.intp)
    place_of_text[by_input] = np.arange(len(by_input))
    observed = float(statistic(is_labelled.astype(np.float64)))
    limit = observed - ROUNDING * max(1.0, abs(observed))
    reached = 0
    drawn = 0
    for orders in permute_inputs(layout.inputs, seed=0):
        masks = is_labelled[orders][:, place_of_text]
        values = statistic(masks.astype(np.float64))
        reached += int((values >= limit).sum())
        drawn += len(orders)
    return (1 + reached) / (1 + drawn)
