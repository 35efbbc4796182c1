"""Budgets: how many labels of people, and how many verdicts of a judge, say something surely enough.

n labels, and verdicts on N texts with these n among them, estimate a mean label with the variance rest/n + told/N
(PPI++ of Angelopoulos, Duchi & Zrnic 2023, with the lambda of least variance). Of the variance of one label, told = r²
is what the verdicts tell, where r is their correlation with labels, and rest the remainder. At the cost c of a label
and d of a verdict, c n + d N is least where N/n is the root of (told/d)/(rest/c), as in double sampling (Neyman 1938).
Where N is not above n, or costs more than labels alone, verdicts are not worth their cost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import FEWEST_UNITS, Floats, Indices, t_quantile
from meta_eval.grouping import Layout
from meta_eval.intervals import Weighted, jackknife_interval, score_interval
from meta_eval.planning import LARGEST, find_least, paired_power


@dataclass(frozen=True)
class Variation:
    """How much an estimate varies: its variance from n labels is alone/n, with N verdicts rest/n + told/N."""

    value: float
    alone: float
    rest: float = math.nan
    told: float = 0.0
    # the share of labels that are no ties, where labels are 0, .5 and 1: the interval is then a score interval
    untied: float | None = None

    def variance(self, labels: int, verdicts: int) -> float:
        """The variance of the estimate; that of labels alone unless there are more verdicts. lambda costs 2 labels."""
        is_helped = verdicts > labels and self.told > 0
        return self.rest / (labels - 2) + self.told / verdicts if is_helped else self.alone / labels

    def half_width(self, labels: int, verdicts: int = 0) -> float:
        """Half of the expected width of the interval."""
        variance = self.variance(labels, verdicts)
        if self.untied is None:
            return t_quantile(labels - 2) * math.sqrt(variance)
        one_label = self.untied / 4 - (self.value - 0.5) ** 2
        low, high = score_interval(self.value, self.untied, one_label / variance)
        return (high - low) / 2


Enough = Callable[[int, int], bool]  # labels, verdicts -> whether they say it surely enough


def is_within(variation: Variation, half_width: float) -> Enough:
    """Whether the interval is expected to be so narrow."""
    return lambda labels, verdicts: variation.half_width(labels, verdicts) <= half_width


def has_power(variation: Variation, difference: float, power: float, level: float) -> Enough:
    """Whether the two-sided t-test shows such a difference from 0 with this power."""

    def is_enough(labels: int, verdicts: int) -> bool:
        spread = math.sqrt(variation.variance(labels, verdicts) * labels)
        return paired_power(difference, spread, labels, level) >= power

    return is_enough


@dataclass(frozen=True)
class Budget:
    """Labels and verdicts that are enough, or the reason why none are; no verdicts where labels alone cost less."""

    labels: float
    verdicts: float
    cost: float
    reason: str | None = None


def plan_budget(
    variation: Variation, is_enough: Enough, label_cost: float, verdict_cost: float, texts: int | None = None
) -> tuple[Budget, Budget]:
    """The cheapest labels and verdicts that are enough, and the labels that are enough alone.

    `texts` is how many there are; at most so many are labelled and judged. At least `FEWEST_UNITS` are labelled, which
    intervals need. Verdicts without cost are limited by `texts` only.
    """
    most = texts or LARGEST
    n = find_least(lambda labels: is_enough(labels, 0), FEWEST_UNITS, most)
    few = f"more than {most:,} labels are needed"
    alone = Budget(math.nan, math.nan, math.inf, few) if n is None else Budget(n, 0, n * label_cost)
    if not variation.told > 0:
        return alone, alone
    prices = variation.told * label_cost, variation.rest * verdict_cost
    ratio = math.sqrt(prices[0] / prices[1]) if prices[1] > 0 else math.inf

    def count_verdicts(labels: int) -> int:
        return math.ceil(min(ratio * labels, most))

    labels = find_least(lambda each: is_enough(each, count_verdicts(each)), FEWEST_UNITS, most)
    if labels is None or ratio <= 1:
        return alone, alone
    verdicts = find_least(lambda each: is_enough(labels, each), labels + 1, count_verdicts(labels))
    if verdicts is None:
        return alone, alone
    helped = Budget(labels, verdicts, labels * label_cost + verdicts * verdict_cost)
    return min(helped, alone, key=lambda each: each.cost), alone


def vary_mean(labels: Floats, verdicts: Floats, layout: Layout, centre: float | None = None) -> Variation:
    """How the mean of a pilot's labels varies, with verdicts or scores of a judge; all have the shape (n,), no NaN.

    Labels vary around the mean of their system, and those of one system and input together. `centre` is the mean of
    labels and of verdicts where it is known. The variance of too few labels is 0, as of equal ones.
    """
    units = np.unique(np.stack([layout.systems, layout.inputs]), axis=1, return_inverse=True)[1]
    y, f = (_centre(each, layout) if centre is None else each - centre for each in (labels, verdicts))
    freedom = len(labels) - (layout.system_count if centre is None else 0)
    alone = _vary(y, units, freedom) if freedom > 1 else 0.0
    weight = float(y @ f) / square if (square := float(f @ f)) > 0 else 0.0
    rest = min(_vary(y - weight * f, units, freedom - 1), alone) if freedom > 1 else 0.0
    is_share = bool(np.isin(labels, (0.0, 0.5, 1.0)).all())
    untied = float((labels != 0.5).mean()) if is_share else None
    return Variation(float(labels.mean()) if centre is None else centre, alone, rest, alone - rest, untied)


def _centre(values: Floats, layout: Layout) -> Floats:
    return values - (np.bincount(layout.systems, values) / np.bincount(layout.systems))[layout.systems]


def _vary(deviations: Floats, units: Indices, freedom: int) -> float:
    """n times the variance of the mean of n deviations."""
    return float((np.bincount(units, deviations) ** 2).sum()) / freedom


def vary_statistic(statistic: Weighted, layout: Layout, labels: int) -> Variation | str:
    """How a statistic of a pilot of so many labels varies, by the jackknife over inputs; else why it is not known."""
    found = jackknife_interval(statistic, layout)
    if found.reason is not None:
        return found.reason
    deviation = (found.high - found.low) / 2 / t_quantile(layout.input_count - 1)
    return Variation(found.value, labels * deviation**2)


def vary_kappa(kappa: float, rate: float) -> Variation:
    """How Cohen's kappa of two labels varies, given by both sides at one rate (Bloch & Kraemer 1989).

    >>> vary_kappa(0.0, 0.5).alone, vary_kappa(0.6, 0.5).alone
    (1.0, 0.64)
    """
    alone = (1 - kappa) * ((1 - kappa) * (1 - 2 * kappa) + kappa * (2 - kappa) / (2 * rate * (1 - rate)))
    return Variation(kappa, alone)
