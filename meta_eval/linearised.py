"""Linearised statistics of labels: one term per text, so that paired tests and slices share one variance.

The error of a smooth statistic is about a sum of one term per text, the text's influence (Hampel 1974). The terms of
one input are summed, because its texts may depend on one another; the sums of different inputs are independent. So the
variance of any difference of statistics is that of the difference of their sums. The statistics are kappa, the share of
equal labels, the mean difference of labels (harshness) and its change with length.
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
    """A statistic and the contribution of each text to its error (influence values)."""

    # NaN where it is undefined
    value: float
    # of shape (n,); they sum to 0
    parts: Floats
    # why it is undefined, else None
    reason: str | None = None

    def __sub__(self, other: "Linearised") -> "Linearised":
        return Linearised(
            value=self.value - other.value,
            parts=self.parts - other.parts,
            reason=self.reason or other.reason,
        )

    def over_inputs(self, layout: Layout) -> Floats:
        """Sums the contributions by input; returns shape (inputs,)."""
        sums = np.bincount(layout.inputs, self.parts, minlength=layout.input_count)
        return sums.astype(np.float64)

    def estimate(self, layout: Layout, confidence: float = 0.95) -> Estimate:
        """Makes the estimate: the value with Student's interval over inputs, of which it needs `FEWEST_UNITS`."""
        if math.isnan(self.value):
            return Estimate.undefined(self.reason or NO_CHANCE)
        inputs = layout.input_count
        if inputs < FEWEST_UNITS:
            few = explain_few("inputs", inputs)
            return Estimate.undefined(few, self.value)
        variance = self.variance(layout)
        return t_interval(self.value, variance, inputs - 1, confidence)

    def variance(self, layout: Layout) -> float:
        """Computes the variance of the value from the sums over inputs."""
        sums = self.over_inputs(layout)
        inputs = layout.input_count
        return float((sums**2).sum()) * inputs / (inputs - 1)


def undefined(n: int, reason: str) -> Linearised:
    """Makes the undefined statistic of n texts; `reason` says why it is undefined."""
    return Linearised(math.nan, np.zeros(n), reason)


def linearise_mean(values: Floats) -> Linearised:
    """Linearises the mean of values of shape (n,)."""
    n = len(values)
    if not n:
        return undefined(0, "no text has both labels")
    mean = float(values.mean())
    return Linearised(mean, (values - mean) / n)


def linearise_kappa(
    people: Floats,
    judge: Floats,
    labels: Floats,
    *,
    is_weighted: bool = False,
) -> Linearised:
    """Linearises Cohen's kappa (1 - O/E) of two columns of labels without NaN, or the kappa with squared distances.

    O is the observed disagreement and E that of independent labels with the same shares. A text changes O/E by
    1/n times (dO E - O dE)/E², where dO and dE are the text's values of O and E less their means.
    """
    n = len(people)
    if not n:
        return undefined(0, "no text has both labels")
    distances = measure_distances(labels, is_weighted=is_weighted)
    i = np.searchsorted(labels, people)
    j = np.searchsorted(labels, judge)
    of_people = np.bincount(i, minlength=len(labels)) / n
    of_judge = np.bincount(j, minlength=len(labels)) / n
    disagreements = distances[i, j]
    observed = float(disagreements.mean())
    expected = float(of_people @ distances @ of_judge)
    if expected < NEAR:
        return undefined(n, NO_CHANCE)
    from_judge = (distances @ of_judge)[i]
    from_people = (of_people @ distances)[j]
    change_of_expected = from_judge + from_people - 2 * expected
    change_of_observed = disagreements - observed
    changes = change_of_observed / expected - observed * change_of_expected / expected**2
    return Linearised(1 - observed / expected, -changes / n)


def measure_distances(labels: Floats, *, is_weighted: bool) -> Floats:
    """Measures the disagreement of each pair of labels (labels, labels): 1 unless equal, or the squared distance.

    >>> measure_distances(np.array([1.0, 2.0, 4.0]), is_weighted=True)[0].tolist()
    [0.0, 1.0, 9.0]
    """
    if is_weighted:
        return np.subtract.outer(labels, labels) ** 2
    return 1.0 - np.eye(len(labels))


def linearise_length_effect(differences: Floats, is_long: Mask) -> Linearised:
    """Linearises the mean difference of labels on long texts minus that on other texts; all of shape (n,).

    `differences` are a judge's labels minus people's: above 0, the judge is milder on long texts.
    """
    n = len(differences)
    long_texts = int(is_long.sum())
    other_texts = int((~is_long).sum())
    if min(long_texts, other_texts) < FEWEST_SIDE:
        return undefined(n, f"fewer than {FEWEST_SIDE} texts are longer than the median, or are not")
    of_long = differences[is_long]
    of_others = differences[~is_long]
    mean_long = float(of_long.mean())
    mean_others = float(of_others.mean())
    parts = np.zeros(n)
    parts[is_long] = (of_long - mean_long) / long_texts
    parts[~is_long] = -(of_others - mean_others) / other_texts
    return Linearised(mean_long - mean_others, parts)


def find_long(lengths: Floats) -> Mask:
    """Returns a mask of the texts whose length is above the median."""
    return lengths > np.median(lengths)


def spread_evenly(several: Sequence[Linearised], layout: Layout) -> Floats:
    """Turns statistics into one difference per input, of shape (inputs, statistics), for tests by sign flips.

    Each input gets an equal share of the value, plus its contribution, so that a column sums to the value.
    """
    inputs = layout.input_count
    columns = [statistic.over_inputs(layout) + statistic.value / inputs for statistic in several]
    return np.stack(columns, axis=1)
