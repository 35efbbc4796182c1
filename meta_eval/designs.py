"""Labels of a drawn sample whose drawing is known: which texts to label, and what the labels say of all texts.

Texts are drawn at random, or stratified by a judge's verdict so that rare verdicts are labelled too. Each text has a
known probability of being drawn, and counts by its inverse (Horvitz & Thompson 1952, in the form of Hajek, whose
weights sum to 1). The mean label of all texts is the judge's mean plus the weighted mean of labels minus verdicts, with
the factor on verdicts that minimises the variance (PPI++, `meta_eval.prediction_powered`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, Indices, explain_few, t_interval
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import score_interval
from meta_eval.linearised import Linearised, linearise_mean
from meta_eval.prediction_powered import PoweredEstimate

FEWEST_RATED = 5


@dataclass(frozen=True, eq=False)
class DrawnTexts:
    """Texts that were drawn, in the order in which people see them."""

    places: Indices
    # the chance of each to be drawn, of shape (drawn,)
    probabilities: Floats


def draw_texts(n: int, total: int, strata: Sequence[str] | None, seed: int) -> DrawnTexts:
    """Draws n of all texts, in random order.

    Without `strata`, one name for each text, every text has the same chance. With them each stratum gives equally many
    texts, or all it has.
    """
    rng = np.random.default_rng(seed)
    names = np.zeros(total, dtype=np.intp)
    if strata is not None:
        order = list(dict.fromkeys(strata))
        names = np.array([order.index(name) for name in strata], dtype=np.intp)
    sizes = np.bincount(names)
    shares = share_out(n, sizes)
    places: list[int] = []
    probabilities: list[float] = []
    for stratum, count in enumerate(shares):
        members = rng.permutation(np.flatnonzero(names == stratum))
        places += members[:count].tolist()
        probabilities += [count / int(sizes[stratum])] * int(count)
    shuffled = rng.permutation(len(places))
    return DrawnTexts(np.array(places, dtype=np.intp)[shuffled], np.array(probabilities)[shuffled])


def share_out(n: int, sizes: Indices) -> Indices:
    """How many of n to take of each stratum: equally many, but no more than it has.

    >>> share_out(10, np.array([100, 3])), share_out(5, np.array([2, 2])), share_out(5, np.array([9, 9]))
    (array([7, 3]), array([2, 2]), array([3, 2]))
    """
    taken = np.zeros(len(sizes), dtype=np.intp)
    left = min(n, int(sizes.sum()))
    while left:
        open_ = np.flatnonzero(taken < sizes)
        each = max(1, left // len(open_))
        for stratum in open_:
            more = min(each, int(sizes[stratum] - taken[stratum]), left)
            taken[stratum] += more
            left -= more
    return taken


def estimate_drawn(
    labels: Floats, verdicts: Floats, probabilities: Floats, layout: Layout, *, is_rate: bool
) -> PoweredEstimate:
    """The mean label of all texts from a drawn sample; all arrays have the shape (n,).

    `labels` are NaN where there is none, `verdicts` where the judge gave none, which then says nothing. A text with a
    label has a probability. `is_rate` is for labels 0 and 1, whose estimate lies in [0, 1] and has a score interval.
    """
    known = ~np.isnan(labels)
    total = len(labels)
    n = int(known.sum())
    own = restrict(layout, known)
    if n < FEWEST_RATED or own.input_count < FEWEST_RATED:
        none = Estimate.undefined(f"this needs at least {FEWEST_RATED} labels, but has {n}")
        return PoweredEstimate(n, total - n, none, none, math.nan)
    mean_verdict = float(np.nanmean(verdicts)) if not np.isnan(verdicts).all() else 0.0
    f = np.where(np.isnan(verdicts), mean_verdict, verdicts)
    y = labels[known]
    weights = 1 / probabilities[known]
    shares = weights / weights.sum()
    factor = _tune_factor(y, f[known], shares) if n < total else 0.0
    alone = linearise_mean(y, weights)
    value = alone.value + factor * float(f.mean() - shares @ f[known])
    parts = factor * (f - f.mean()) / total
    rectified = y - factor * f[known]
    lost = math.sqrt(n / (n - 2))  # two figures are fitted
    parts[known] += shares * (rectified - float(shares @ rectified)) * lost
    powered = Linearised(value, parts)
    variance = powered.variance(layout)
    of_people = (
        _vary_within(y, probabilities[known], shares, own) + _vary_between(y, probabilities[known], shares) / total
    )
    classical = bound_mean(alone.value, of_people, own, is_rate=is_rate)
    estimate = bound_mean(value, variance, own, is_rate=is_rate)
    worth = n * of_people / variance if variance > 0 else math.inf
    return PoweredEstimate(n, total - n, estimate, classical, worth)


def _center(labels: Floats, probabilities: Floats, shares: Floats) -> tuple[Floats, Indices]:
    """The mean label of each text's stratum, and its number; texts drawn with one chance are one stratum."""
    _, strata = np.unique(np.round(probabilities, 9), return_inverse=True)
    means = np.bincount(strata, shares * labels) / np.bincount(strata, shares)
    return means[strata], strata


def _vary_within(labels: Floats, probabilities: Floats, shares: Floats, layout: Layout) -> float:
    """The variance of a weighted mean that comes from the draw within strata, by sums over inputs."""
    means, strata = _center(labels, probabilities, shares)
    counts = np.bincount(strata)[strata]
    lost = np.sqrt(counts / np.maximum(counts - 1, 1))
    sums = np.bincount(layout.inputs, shares * (labels - means) * lost)
    return float((sums**2).sum())


def _vary_between(labels: Floats, probabilities: Floats, shares: Floats) -> float:
    """The variance of the mean labels of strata, of which all texts are a sample."""
    means, _ = _center(labels, probabilities, shares)
    return float(shares @ (means - float(shares @ labels)) ** 2)


def _tune_factor(labels: Floats, verdicts: Floats, shares: Floats) -> float:
    """The slope of labels on verdicts by weights that sum to 1; 0 for verdicts that do not vary."""
    above = verdicts - float(shares @ verdicts)
    spread = float(shares @ above**2)
    return float(shares @ (labels * above)) / spread if spread > 0 else 0.0


def bound_by_design(statistic: Linearised, probabilities: Floats, layout: Layout, *, is_rate: bool = False) -> Estimate:
    """A statistic of drawn texts, each counted by the inverse of its probability, with its interval.

    Its variance is that of the draw within strata, and of the strata among all texts. `probabilities` have the shape
    (n,), and texts with the same one are a stratum.
    """
    if math.isnan(statistic.value):
        return Estimate.undefined(statistic.reason or "it is undefined")
    shares = (1 / probabilities) / float((1 / probabilities).sum())
    influences = statistic.parts / shares
    total = float((1 / probabilities).sum())
    variance = _vary_within(influences, probabilities, shares, layout)
    variance += _vary_between(influences, probabilities, shares) / total
    return bound_mean(statistic.value, variance, layout, is_rate=is_rate)


def bound_mean(value: float, variance: float, layout: Layout, *, is_rate: bool) -> Estimate:
    """A mean of labelled texts with its interval: Student's, or of a rate, which lies in [0, 1], a score interval."""
    inputs = layout.input_count
    if inputs < FEWEST_UNITS:
        return Estimate.undefined(explain_few("labelled inputs", inputs), value)
    if variance == 0:
        return Estimate.undefined("all labels are the same: without variation there is no interval", value)
    if not is_rate:
        return t_interval(value, variance, inputs - 1)
    share = min(max(value, 0.0), 1.0)
    alone = share * (1 - share)
    worth = alone / variance if alone > 0 else float(inputs)
    return Estimate(share, *score_interval(share, 1.0, worth, inputs - 1))


def are_unequal(probabilities: Mapping[str, float]) -> bool:
    """Whether texts were drawn with different chances."""
    return len({round(each, 9) for each in probabilities.values()}) > 1
