"""Statistics of labels as sums of one part for each text, so that paired tests, slices and designs share one variance.

A smooth statistic differs from its true value by about a sum of one part per text, its influence (Hampel 1974). The
parts of one input are summed, because its texts may depend on one another, and the sums of inputs are independent. So
the variance of any difference of statistics is that of the difference of their sums. The statistics are kappa, the
share of equal labels, the mean difference of labels (harshness) and its change with length.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, Mask, explain_few, t_interval
from meta_eval.grouping import Layout

NEAR = 1e-9  # an expected disagreement below this is none
NO_CHANCE = "all labels are the same: kappa is not defined"
FEWEST_SIDE = 5  # texts on either side of the median length


@dataclass(frozen=True, eq=False)
class Linearised:
    """A statistic and the part of each text in its error."""

    # NaN where it is undefined
    value: float
    # of shape (n,); they sum to 0
    parts: Floats
    # why it is undefined, else None
    reason: str | None = None

    def __sub__(self, other: "Linearised") -> "Linearised":
        return Linearised(self.value - other.value, self.parts - other.parts, self.reason or other.reason)

    def over_inputs(self, layout: Layout) -> Floats:
        """The sums of the parts of each input, of shape (inputs,)."""
        return np.bincount(layout.inputs, self.parts, minlength=layout.input_count).astype(np.float64)

    def estimate(self, layout: Layout, confidence: float = 0.95) -> Estimate:
        """The value with Student's interval by its variance over inputs; it needs `FEWEST_UNITS` of them."""
        if math.isnan(self.value):
            return Estimate.undefined(self.reason or NO_CHANCE)
        inputs = layout.input_count
        if inputs < FEWEST_UNITS:
            return Estimate.undefined(explain_few("inputs", inputs), self.value)
        return t_interval(self.value, self.variance(layout), inputs - 1, confidence)

    def variance(self, layout: Layout) -> float:
        """The variance of the value, by sums over inputs."""
        sums = self.over_inputs(layout)
        inputs = layout.input_count
        return float((sums**2).sum()) * inputs / (inputs - 1)


def undefined(n: int, reason: str) -> Linearised:
    """A statistic of n texts that is undefined."""
    return Linearised(math.nan, np.zeros(n), reason)


def linearise_mean(values: Floats, weights: Floats | None = None) -> Linearised:
    """The mean of values of shape (n,), by weights of the same shape."""
    if not len(values):
        return undefined(0, "no text has both labels")
    shares = _to_shares(len(values), weights)
    mean = float(shares @ values)
    return Linearised(mean, shares * (values - mean))


def linearise_kappa(
    people: Floats, judge: Floats, labels: Floats, *, is_weighted: bool = False, weights: Floats | None = None
) -> Linearised:
    """Cohen's kappa of two columns of labels without gaps, or the one of squared distances, 1 - O/E.

    O is the observed disagreement and E that of independent labels with the same shares.
    """
    n = len(people)
    if not n:
        return undefined(0, "no text has both labels")
    apart = np.subtract.outer(labels, labels) ** 2 if is_weighted else 1.0 - np.eye(len(labels))
    shares = _to_shares(n, weights)
    i = np.searchsorted(labels, people)
    j = np.searchsorted(labels, judge)
    of_people = np.bincount(i, shares, minlength=len(labels))
    of_judge = np.bincount(j, shares, minlength=len(labels))
    disagreements = apart[i, j]
    observed = float(shares @ disagreements)
    expected = float(of_people @ apart @ of_judge)
    if expected < NEAR:
        return undefined(n, NO_CHANCE)
    by_chance = (apart @ of_judge)[i] + (of_people @ apart)[j] - 2 * expected
    changes = (disagreements - observed) / expected - observed * by_chance / expected**2
    return Linearised(1 - observed / expected, -shares * changes)


def linearise_length_effect(differences: Floats, is_long: Mask) -> Linearised:
    """The mean of differences of labels on long texts minus that on the others, all of shape (n,).

    `differences` are a judge's labels minus people's: above 0 the judge is milder where texts are long.
    """
    n = len(differences)
    if min(int(is_long.sum()), int((~is_long).sum())) < FEWEST_SIDE:
        return undefined(n, f"fewer than {FEWEST_SIDE} texts are longer than the median, or are not")
    parts = np.zeros(n)
    means = []
    for side, sign in ((is_long, 1.0), (~is_long, -1.0)):
        mean = float(differences[side].mean())
        parts[side] = sign * (differences[side] - mean) / int(side.sum())
        means.append(mean)
    return Linearised(means[0] - means[1], parts)


def find_long(lengths: Floats) -> Mask:
    """Whether each length lies above the median."""
    return lengths > np.median(lengths)


def spread_evenly(several: Sequence[Linearised], layout: Layout) -> Floats:
    """The statistics as differences of inputs, of shape (inputs, statistics), for tests by sign flips.

    A column sums to the value of its statistic, of which each input has an equal share beside its own part.
    """
    inputs = layout.input_count
    return np.stack([each.over_inputs(layout) + each.value / inputs for each in several], axis=1)


def _to_shares(n: int, weights: Floats | None) -> Floats:
    return np.full(n, 1 / n) if weights is None else weights / weights.sum()
