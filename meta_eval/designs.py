"""Labels of texts drawn by a known rule (a sampling design): which texts to label, and estimates for all texts.

Texts are drawn at random, or stratified by a judge's verdict so that rare verdicts are labelled too. Each text has a
known probability of being drawn, and counts by its inverse (Horvitz & Thompson 1952, in the form of Hajek, whose
weights sum to 1). The mean label of all texts is the judge's mean plus the weighted mean of labels minus verdicts, with
the factor on verdicts that minimises the variance (PPI++, `meta_eval.prediction_powered`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, Indices, explain_few, number_groups, t_interval
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import score_interval
from meta_eval.linearised import Linearised, linearise_mean
from meta_eval.prediction_powered import PoweredEstimate, no_estimate

FEWEST_RATED = 5


@dataclass(frozen=True, eq=False)
class DrawnTexts:
    """Which texts were drawn, in the order in which people see them, and with which probabilities."""

    places: Indices
    # the chance of each to be drawn, of shape (drawn,)
    probabilities: Floats


def draw_texts(
    n: int,
    total: int,
    strata: Sequence[str] | None,
    seed: int,
) -> DrawnTexts:
    """Draws n of all texts, in random order.

    Without `strata` every text has the same chance. `strata` has one name for each text: the same number of texts is
    drawn from each stratum, or all texts of a smaller one.
    """
    rng = np.random.default_rng(seed)
    numbers = np.zeros(total, dtype=np.intp)  # of the stratum of each text
    if strata is not None:
        numbers = number_groups(total, strata, "strata")
    sizes = np.bincount(numbers)
    counts = share_out(n, sizes)
    drawn: list[Indices] = []
    for stratum, count in enumerate(counts):
        members = rng.permutation(np.flatnonzero(numbers == stratum))
        drawn.append(members[:count])
    in_order = np.concatenate(drawn)
    probabilities = np.repeat(counts / sizes, counts)
    shuffled = rng.permutation(len(in_order))
    return DrawnTexts(in_order[shuffled], probabilities[shuffled])


def share_out(n: int, sizes: Indices) -> Indices:
    """Divides n texts among strata: the same number from each, but no more than a stratum has.

    >>> share_out(10, np.array([100, 3])), share_out(5, np.array([2, 2])), share_out(5, np.array([9, 9]))
    (array([7, 3]), array([2, 2]), array([3, 2]))
    """
    taken = np.zeros(len(sizes), dtype=np.intp)
    left = min(n, int(sizes.sum()))
    while left:
        with_texts_left = np.flatnonzero(taken < sizes)
        equal_share = max(1, left // len(with_texts_left))
        for stratum in with_texts_left:
            texts_left = int(sizes[stratum] - taken[stratum])
            more = min(equal_share, texts_left, left)
            taken[stratum] += more
            left -= more
    return taken


def estimate_drawn(
    labels: Floats,
    verdicts: Floats,
    probabilities: Floats,
    layout: Layout,
    *,
    is_rate: bool,
) -> PoweredEstimate:
    """Estimates the mean label of all texts from a drawn sample; all arrays have the shape (n,).

    `labels` and `verdicts` are NaN for texts without a label or verdict; a label counts without a verdict, too.
    `probabilities` has the probability with which each text was drawn; a text with a label has one. With `is_rate`,
    labels are 0 and 1: the estimate lies in [0, 1] and has a score interval.
    """
    is_labelled = ~np.isnan(labels)
    total = len(labels)
    n = int(is_labelled.sum())
    labelled = restrict(layout, is_labelled)
    if n < FEWEST_RATED or labelled.input_count < FEWEST_RATED:
        return no_estimate(n, total - n, f"the estimate needs at least {FEWEST_RATED} labels, but has {n}")
    y = labels[is_labelled]
    f = _fill_verdicts(verdicts)
    f_labelled = f[is_labelled]
    chances = probabilities[is_labelled]
    weights = 1 / chances
    shares = weights / weights.sum()
    by_people = linearise_mean(y, weights)
    variance_of_labels = _measure_variance(y, chances, shares, labelled, total)
    factor = _tune_factor(y, f_labelled, shares) if n < total else 0.0
    value = by_people.value + factor * float(f.mean() - shares @ f_labelled)
    parts = factor * (f - f.mean()) / total
    rectified = y - factor * f_labelled
    lost = math.sqrt(n / (n - 2))  # two figures are fitted
    parts[is_labelled] += shares * (rectified - float(shares @ rectified)) * lost
    variance = Linearised(value, parts).variance(layout)
    return PoweredEstimate(
        rated=n,
        unrated=total - n,
        estimate=bound_mean(
            value,
            variance,
            labelled,
            is_rate=is_rate,
        ),
        classical=bound_mean(
            by_people.value,
            variance_of_labels,
            labelled,
            is_rate=is_rate,
        ),
        effective_n=n * variance_of_labels / variance if variance > 0 else math.inf,
    )


def _fill_verdicts(verdicts: Floats) -> Floats:
    """Puts the mean verdict, which says nothing about a text, in place of a missing one."""
    is_missing = np.isnan(verdicts)
    mean = 0.0 if is_missing.all() else float(np.nanmean(verdicts))
    return np.where(is_missing, mean, verdicts)


def _average_strata(
    labels: Floats,
    probabilities: Floats,
    shares: Floats,
) -> tuple[Floats, Indices]:
    """The mean label of each text's stratum, and its number; texts drawn with one chance are one stratum."""
    _, strata = np.unique(np.round(probabilities, 9), return_inverse=True)
    sums = np.bincount(strata, shares * labels)
    means = sums / np.bincount(strata, shares)
    return means[strata], strata


def _measure_variance(
    labels: Floats,
    probabilities: Floats,
    shares: Floats,
    layout: Layout,
    total: float,
) -> float:
    """The variance of a weighted mean: of the draw within strata, and of the strata among so many texts in all."""
    within = _vary_within(labels, probabilities, shares, layout)
    between = _vary_between(labels, probabilities, shares) / total
    return within + between


def _vary_within(
    labels: Floats,
    probabilities: Floats,
    shares: Floats,
    layout: Layout,
) -> float:
    """The variance of a weighted mean that comes from the draw within strata, by sums over inputs."""
    means, strata = _average_strata(labels, probabilities, shares)
    sizes = np.bincount(strata)[strata]
    lost = np.sqrt(sizes / np.maximum(sizes - 1, 1))  # each stratum's mean is fitted
    parts = shares * (labels - means) * lost
    sums = np.bincount(layout.inputs, parts)
    return float((sums**2).sum())


def _vary_between(
    labels: Floats,
    probabilities: Floats,
    shares: Floats,
) -> float:
    """The variance of the mean labels of strata, of which all texts are a sample."""
    means, _ = _average_strata(labels, probabilities, shares)
    deviations = means - float(shares @ labels)
    return float(shares @ deviations**2)


def _tune_factor(
    labels: Floats,
    verdicts: Floats,
    shares: Floats,
) -> float:
    """The slope of labels on verdicts by weights that sum to 1; 0 for verdicts that do not vary."""
    centred = verdicts - float(shares @ verdicts)
    spread = float(shares @ centred**2)
    if not spread > 0:
        return 0.0
    return float(shares @ (labels * centred)) / spread


def bound_by_design(
    statistic: Linearised,
    probabilities: Floats,
    layout: Layout,
    *,
    is_rate: bool = False,
) -> Estimate:
    """Makes the estimate of a statistic of drawn texts, each weighted by the inverse of its probability.

    The variance comes from the draw within strata, and from the strata among all texts. `probabilities` have the shape
    (n,); texts with the same probability are a stratum.
    """
    if math.isnan(statistic.value):
        return Estimate.undefined(statistic.reason or "it is undefined")
    weights = 1 / probabilities
    total = float(weights.sum())  # an estimate of the number of all texts
    shares = weights / total
    influences = statistic.parts / shares
    variance = _measure_variance(influences, probabilities, shares, layout, total)
    return bound_mean(
        statistic.value,
        variance,
        layout,
        is_rate=is_rate,
    )


def bound_mean(
    value: float,
    variance: float,
    layout: Layout,
    *,
    is_rate: bool,
) -> Estimate:
    """Makes the estimate of a mean with Student's interval, or of a rate in [0, 1] with a score interval."""
    inputs = layout.input_count
    if inputs < FEWEST_UNITS:
        return Estimate.undefined(explain_few("labelled inputs", inputs), value)
    if variance == 0:
        return Estimate.undefined("all labels are the same: without variation there is no interval", value)
    if not is_rate:
        return t_interval(value, variance, inputs - 1)
    share = min(max(value, 0.0), 1.0)
    variance_of_label = share * (1 - share)
    worth = float(inputs)  # the number of independent labels with this variance
    if variance_of_label > 0:
        worth = variance_of_label / variance
    low, high = score_interval(
        share,
        untied=1.0,
        n=worth,
        freedom=inputs - 1,
    )
    return Estimate(share, low, high)


def are_unequal(probabilities: Mapping[str, float]) -> bool:
    """Whether texts were drawn with different probabilities."""
    chances = {round(probability, 9) for probability in probabilities.values()}
    return len(chances) > 1
