"""Budgets: how many labels of people, and verdicts of a judge, a study needs for its precision or power.

A mean label is estimated from n labels and from verdicts on N texts, among them these n. Its variance is residual/n +
explained/N (PPI++ of Angelopoulos, Duchi & Zrnic 2023, with the lambda of least variance). Verdicts explain the share
r² of the variance of one label, where r is their correlation with labels; the residual remains. If a label costs c and
a verdict d, c n + d N is smallest if N/n is the root of (explained/d)/(residual/c), as in double sampling (Neyman
1938). If N is not above n, or if labels alone cost less, verdicts are not worth their cost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from meta_eval.design import Floats, Indices, Layout
from meta_eval.estimates import FEWEST, PRIOR, t_quantile
from meta_eval.planning import LARGEST, find_least, paired_power


@dataclass(frozen=True)
class Variation:
    """How much an estimate varies with n labels, or with n labels and N verdicts; see the module."""

    value: float
    # of one label, without verdicts, and what they do not explain and explain of it
    variance: float
    residual: float = math.nan
    explained: float = 0.0
    # the share of labels that are no ties, where labels are 0, .5 and 1
    untied: float | None = None

    def variance_from(self, labels: int, verdicts: int) -> float:
        """Computes the variance of the estimate, from labels alone unless there are more verdicts than labels.

        Fitting lambda costs 2 labels.
        """
        if verdicts > labels and self.explained > 0:
            return self.residual / (labels - 2) + self.explained / verdicts
        return self.variance / labels

    def half_width(self, labels: int, verdicts: int = 0) -> float:
        """Computes half of the expected width of the interval."""
        variance = self.variance_from(labels, verdicts)
        if self.untied is None:
            return t_quantile(labels - 2) * math.sqrt(variance)
        # with the pseudo-units of a share
        variance_of_label = self.untied / 4 - (self.value - 0.5) ** 2
        worth = variance_of_label / variance
        share = (worth * self.value + PRIOR) / (worth + 2 * PRIOR)
        untied = (worth * self.untied + 2 * PRIOR) / (worth + 2 * PRIOR)
        shrunk = (untied / 4 - (share - 0.5) ** 2) / (worth + 2 * PRIOR)
        return t_quantile(math.inf) * math.sqrt(shrunk)


Enough = Callable[[int, int], bool]  # labels, verdicts -> whether they say it surely enough


def is_within(variation: Variation, half_width: float) -> Enough:
    """Makes the condition that half the interval is expected to be at most this wide."""
    return lambda labels, verdicts: variation.half_width(labels, verdicts) <= half_width


def has_power(
    variation: Variation,
    difference: float,
    power: float,
    level: float,
) -> Enough:
    """Makes the condition that the two-sided t-test shows a difference from 0 of this size with this power."""

    def is_enough(labels: int, verdicts: int) -> bool:
        variance = variation.variance_from(labels, verdicts)
        spread = math.sqrt(variance * labels)
        return paired_power(difference, spread, labels, level) >= power

    return is_enough


@dataclass(frozen=True)
class Budget:
    """Numbers of labels and verdicts that are enough, or the reason why there are none.

    No verdicts are needed if labels alone cost less.
    """

    labels: float
    verdicts: float
    cost: float
    reason: str | None = None


def plan_budget(
    variation: Variation,
    is_enough: Enough,
    label_cost: float,
    verdict_cost: float,
    texts: int | None = None,
) -> tuple[Budget, Budget]:
    """Finds the cheapest numbers of labels and verdicts that are enough, and the labels needed without a judge.

    `texts` is the number of texts; at most so many are labelled or judged. At least `FEWEST` are labelled,
    because intervals need them. If verdicts cost nothing, only `texts` limits their number.
    """
    most = texts or LARGEST
    without_judge = _plan_labels(is_enough, label_cost, most)
    if not variation.explained > 0:
        return without_judge, without_judge
    gain = variation.explained * label_cost
    price = variation.residual * verdict_cost
    ratio = math.sqrt(gain / price) if price > 0 else math.inf  # N/n

    def count_verdicts(labels: int) -> int:
        return math.ceil(min(ratio * labels, most))

    def is_enough_at_ratio(labels: int) -> bool:
        return is_enough(labels, count_verdicts(labels))

    labels = find_least(is_enough_at_ratio, FEWEST, most)
    if labels is None or ratio <= 1:
        return without_judge, without_judge
    verdicts = find_least(
        partial(is_enough, labels),
        first=labels + 1,
        most=count_verdicts(labels),
    )
    if verdicts is None:
        return without_judge, without_judge
    with_judge = Budget(
        labels=labels,
        verdicts=verdicts,
        cost=labels * label_cost + verdicts * verdict_cost,
    )
    cheapest = min(with_judge, without_judge, key=lambda budget: budget.cost)
    return cheapest, without_judge


def _plan_labels(
    is_enough: Enough,
    label_cost: float,
    most: int,
) -> Budget:
    """The labels that are enough without verdicts."""
    labels = find_least(lambda n: is_enough(n, 0), FEWEST, most)
    if labels is None:
        return Budget(
            labels=math.nan,
            verdicts=math.nan,
            cost=math.inf,
            reason=f"more than {most:,} labels are needed",
        )
    return Budget(labels, verdicts=0, cost=labels * label_cost)


def vary_mean(
    labels: Floats,
    verdicts: Floats,
    layout: Layout,
    centre: float | None = None,
) -> Variation:
    """Estimates how the mean of a pilot's labels varies, with verdicts or scores of a judge; all of shape (n,), no NaN.

    Labels vary around the mean of their system. Labels of one system and input are not independent. `centre` is the
    known mean of labels and of verdicts, if there is one. If labels are too few or all equal, the variance is 0.
    """
    systems_and_inputs = np.stack([layout.systems, layout.inputs])
    _, units = np.unique(systems_and_inputs, axis=1, return_inverse=True)
    if centre is None:
        value = float(labels.mean())
        freedom = len(labels) - layout.system_count
        y = _centre_systems(labels, layout)
        f = _centre_systems(verdicts, layout)
    else:
        value = centre
        freedom = len(labels)
        y = labels - centre
        f = verdicts - centre
    squares = float(f @ f)
    weight = float(y @ f) / squares if squares > 0 else 0.0
    variance = residual = 0.0
    if freedom > 1:
        variance = _measure_variance(y, units, freedom)
        residual = min(_measure_variance(y - weight * f, units, freedom - 1), variance)
    is_share = bool(np.isin(labels, (0.0, 0.5, 1.0)).all())
    return Variation(
        value=value,
        variance=variance,
        residual=residual,
        explained=variance - residual,
        untied=float((labels != 0.5).mean()) if is_share else None,
    )


def _centre_systems(values: Floats, layout: Layout) -> Floats:
    """Values of shape (n,) without the mean of their system."""
    sums = np.bincount(layout.systems, values)
    means = sums / np.bincount(layout.systems)
    return values - means[layout.systems]


def _measure_variance(
    deviations: Floats,
    units: Indices,
    freedom: int,
) -> float:
    """n times the variance of the mean of n deviations, which may depend on each other within units."""
    sums = np.bincount(units, deviations)
    return float((sums**2).sum()) / freedom


def vary_kappa(kappa: float, rate: float) -> Variation:
    """Computes the variation of Cohen's kappa of two labels with equal rates on both sides (Bloch & Kraemer 1989).

    >>> vary_kappa(0.0, 0.5).variance, vary_kappa(0.6, 0.5).variance
    (1.0, 0.64)
    """
    of_equal_rates = (1 - kappa) * (1 - 2 * kappa)
    of_rare_label = kappa * (2 - kappa) / (2 * rate * (1 - rate))
    return Variation(kappa, variance=(1 - kappa) * (of_equal_rates + of_rare_label))
