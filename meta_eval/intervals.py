"""Intervals of grouped statistics over inputs.

The drawn units decide what an interval generalises to (Deutsch, Dror & Roth 2021). Inputs are drawn: an interval is
about these systems on other inputs. Single outputs are never drawn, because outputs for one input are not independent.

Intervals are percentile intervals, expanded as in `meta_eval.bootstrap`, and need `FEWEST_UNITS` units. Three further
intervals hold where percentiles fail: Student's t for the mean of few inputs, Tango's score interval for a share
(Wilson's interval, which it extends to ties), and the jackknife for means in standard deviations and for the mean of
correlations within systems or inputs. A resample holds some outputs twice, and their ties lower every rank correlation
within a system: at 30 inputs of 8 systems and a rho of .97, percentiles cover .52 and the jackknife .95.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from core.settings import Count, Seed, checked_dataclass
from meta_eval.bootstrap import (
    BATCH,
    CONFIDENCE,
    FEWEST_UNITS,
    Estimate,
    Floats,
    estimate_from,
    explain_few,
    resample,
    t_interval,
    t_quantile,
)
from meta_eval.correlation import keep_scored, spearman
from meta_eval.grouping import Grouping, Layout, Statistic, explain_undefined, group, lay_out, restrict

Weighted = Callable[[Floats], Floats]  # weights of inputs, of shape (resamples, inputs) -> one value per resample

UNDEFINED = "not defined on these examples"
FEWEST_FOR_MEAN = 5  # inputs, for intervals that need no resamples
FEWEST_SYSTEMS = 10  # for intervals of correlations between their means
FEWEST_CONTRARY = 5  # inputs whose outputs contradict the majority, to tell how alike outputs for one input are


@checked_dataclass
class Resampling:
    """The settings of intervals."""

    # of the inputs, for intervals
    resamples: Count = 1000
    # of what is drawn
    seed: Seed = 0

    @property
    def signature(self) -> str:
        """The settings, as a part of the signature of a run."""
        return f"resamples={self.resamples}|seed={self.seed}"


USUAL = Resampling()


def grouped_estimate(
    statistic: Statistic,
    scores: ArrayLike,
    ratings: ArrayLike,
    layout: Layout,
    *,
    grouping: Grouping = "global",
    resampling: Resampling = USUAL,
) -> Estimate:
    """A statistic of `scores` with `ratings`, both of shape (n,), and its interval; a NaN score is left out.

    Raises ValueError for arrays that do not have the layout's shape, infinite scores, and ratings that are not finite.
    """
    (x, y), kept = keep_scored(scores=scores, ratings=ratings)
    present = restrict(layout, kept)
    if (reason := explain_undefined(x, y, present, grouping)) is not None:
        return Estimate.undefined(reason)
    of = partial(group, statistic, x, y, present, grouping)
    return estimate_grouped(of, present, grouping, resampling)


def difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    ratings: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    statistic: Statistic = spearman,
) -> Estimate:
    """Spearman, or another correlation, of metric a minus that of metric b with the same `ratings`, all of shape (n,).

    Both are computed on the same resamples of whole groups, so that what makes examples easy for both cancels. Only
    examples that both metrics scored count.
    """
    (a, b, y), kept = keep_scored(scores_a=scores_a, scores_b=scores_b, ratings=ratings)
    layout = restrict(lay_out(len(kept), inputs=groups), kept)
    for x in (a, b):
        if (reason := explain_undefined(x, y, layout)) is not None:
            return Estimate.undefined(reason)
    one, other = (draw_grouped(partial(group, statistic, x, y, layout, "global"), layout, USUAL) for x in (a, b))
    return (one - other).estimate


def estimate_grouped(
    statistic: Weighted, layout: Layout, grouping: Grouping, resampling: Resampling, draws: "Draws | None" = None
) -> Estimate:
    """The value of a grouped statistic in [-1, 1] with its interval, from `draws` where they are known.

    The mean of a statistic within systems or inputs has a jackknife interval, every other statistic percentiles.
    Between the means of fewer than `FEWEST_SYSTEMS` systems there is no interval: Spearman's rho of 4 systems has few
    values, and percentiles cover .78.
    """
    if grouping in ("per_system", "per_input"):
        estimate = jackknife_interval(statistic, layout)
        return replace(estimate, low=max(estimate.low, -1.0), high=min(estimate.high, 1.0))
    estimate = (draws or draw_grouped(statistic, layout, resampling)).estimate
    systems = layout.system_count
    if grouping == "system_means" and systems < FEWEST_SYSTEMS:
        rule = f"an interval between means needs at least {FEWEST_SYSTEMS} systems"
        return Estimate.undefined(f"{rule}, but there are {systems}", estimate.value)
    return estimate


@dataclass(frozen=True)
class Draws:
    """A statistic on all examples and on resamples; the draws of two statistics with one layout can be subtracted."""

    # on all examples; NaN if it is undefined
    value: float
    # on each resample, of shape (resamples,); NaN where it is undefined. Empty for too few units.
    values: Floats
    # the number of drawn units
    units: int
    # why there are no resamples, else None
    reason: str | None = None

    def __sub__(self, other: "Draws") -> "Draws":
        return replace(self, value=self.value - other.value, values=self.values - other.values)

    @property
    def estimate(self) -> Estimate:
        """The value with its interval; NaN where the statistic is undefined on too many resamples."""
        if math.isnan(self.value):
            return Estimate.undefined(self.reason or UNDEFINED)
        if self.reason is not None:
            return Estimate.undefined(self.reason, self.value)
        return estimate_from(self.value, self.values, self.units)


def draw_grouped(statistic: Weighted, layout: Layout, resampling: Resampling) -> Draws:
    """The value of a statistic, and its values on resamples. The same settings draw the same units of a layout."""
    value, units = _value(statistic, layout), layout.input_count
    few = explain_few("inputs", units) if units < FEWEST_UNITS else None
    if math.isnan(value) or few:
        return Draws(value, np.empty(0), units, few)
    values = resample(statistic, units, len(layout.inputs), resampling.resamples, resampling.seed)
    return Draws(value, values, units)


def mean_interval(values: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of `values`, of shape (inputs,), and its Student's t interval."""
    mean, inputs = float(values.mean()), len(values)
    if inputs < FEWEST_FOR_MEAN:
        return Estimate.undefined(explain_few("inputs", inputs, FEWEST_FOR_MEAN), mean)
    if np.ptp(values) == 0:
        return Estimate.undefined(f"all {inputs} values are {mean:g}: there is no spread", mean)
    return t_interval(mean, float(values.var(ddof=1)) / inputs, inputs - 1, confidence)


def mean_over_inputs(values: Floats, layout: Layout) -> Estimate:
    """The mean of `values`, of shape (n,), and Student's interval by its variance over inputs."""
    inputs = layout.input_count
    if inputs == len(values):
        return mean_interval(values)
    mean = float(values.mean())
    if inputs < FEWEST_FOR_MEAN:
        return Estimate.undefined(explain_few("inputs", inputs, FEWEST_FOR_MEAN), mean)
    sums = np.bincount(layout.inputs, values - mean) / len(values)
    return t_interval(mean, float((sums**2).sum()) * inputs / (inputs - 1), inputs - 1)


def is_within_margin(values: Floats, margin: float, level: float, tests: int, largest: float = 0.0) -> bool:
    """Whether the mean of `values`, of shape (inputs,), lies within the margin of 0, at `level` over the tests.

    Schuirmann's two one-sided tests: by Student's t where values are above 0 and below 0 and of many sizes; by Tango's
    score interval where values have one size or one sign, because t tests of rare differences call too much equal.
    `largest` is the size that one difference has at most, where that is known: else the largest that was found. Values
    that are all 0 are equal where nothing bounds them.
    """
    inputs = len(values)
    sizes = np.abs(values)
    most = max(largest, float(sizes.max(initial=0.0)))
    if inputs < FEWEST_FOR_MEAN:
        return False
    if most == 0:
        return True
    confidence = 1 - 2 * level / tests
    is_graded = len(np.unique(np.round(sizes[sizes > 0] / most, 9))) > 2
    if is_graded and values.min() < 0 < values.max():
        interval = mean_interval(values, confidence)
        return bool(-margin < interval.low and interval.high < margin)
    share = (1 + float(values.mean()) / most) / 2
    low, high = score_interval(share, float(sizes.mean()) / most, inputs, confidence=confidence)
    return bool(-margin < (2 * low - 1) * most and (2 * high - 1) * most < margin)


def share_interval(wins: Floats, layout: Layout) -> Estimate:
    """The mean of `wins`, of shape (n,) with 1 for a win, 0.5 for a tie and 0 for a loss, and `score_interval`.

    Where inputs repeat, n is divided by the design effect (Kish 1965), the ratio of the variances of the mean over
    inputs and over examples, and the quantile is Student's. If all values are equal, n is the number of inputs. Other
    values in [0, 1] have Student's interval of their mean, by the variance over inputs.
    """
    share, n, inputs = float(wins.mean()), len(wins), layout.input_count
    if inputs < FEWEST_FOR_MEAN:
        return Estimate.undefined(explain_few("inputs", inputs, FEWEST_FOR_MEAN), share)
    if not np.isin(wins, (0.0, 0.5, 1.0)).all():
        sums = np.bincount(layout.inputs, wins - share) / n
        found = t_interval(share, float((sums**2).sum()) * inputs / (inputs - 1), inputs - 1)
        return keep_share(found)
    untied, freedom = float((wins != 0.5).mean()), math.inf
    if inputs < n:
        sums = np.bincount(layout.inputs, wins - share)  # linearised where inputs differ in size
        alone, clustered = float(wins.var()), float((sums**2).sum()) * inputs / (inputs - 1) / n
        contrary = min(len(np.unique(layout.inputs[at])) for at in (wins > 0, wins < 1))
        n = n * alone / clustered if clustered > 0 else inputs
        n = min(n, inputs) if contrary < FEWEST_CONTRARY else n
        freedom = inputs - 1
    return Estimate(share, *score_interval(share, untied, n, freedom))


def keep_share(estimate: Estimate) -> Estimate:
    """The estimate of a share, with the ends of its interval in [0, 1]."""
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def score_interval(
    share: float, untied: float, n: float, freedom: float = math.inf, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Tango's score interval (1998) of a share of n values that counts ties half; without ties it is Wilson's (1927).

    The share is (1 + d)/2, where d is the share of wins minus that of losses. The interval holds every d0 whose
    distance from d is below the quantile of standard errors, (q - d0²)/n with the q, the share without ties, that is
    likeliest under d0. `untied` is the q of the values. The quantile is Student's, by default the normal one.
    """
    d, quantile = 2 * share - 1, t_quantile(freedom, confidence)
    untied = max(untied, abs(d))

    def is_inside(d0: float) -> bool:
        slope = untied + d * d0
        q = (slope + math.sqrt(max(slope**2 - 4 * (d * d0 - (1 - untied) * d0**2), 0.0))) / 2
        return (d - d0) ** 2 < quantile**2 * max(q - d0**2, 0.0) / n

    def search(end: float) -> float:
        inside, outside = d, end
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
        return (1 + inside) / 2

    return search(-1.0), search(1.0)


def jackknife_interval(statistic: Weighted, layout: Layout) -> Estimate:
    """The value of a statistic and its jackknife interval: Student's t on the values without one input."""
    inputs, value = layout.input_count, _value(statistic, layout)
    if math.isnan(value):
        return Estimate.undefined(UNDEFINED)
    if inputs < FEWEST_UNITS:
        return Estimate.undefined(explain_few("inputs", inputs), value)
    batch = max(1, BATCH // len(layout.inputs))
    rows = (np.arange(start, min(start + batch, inputs)) for start in range(0, inputs, batch))
    left_out = np.concatenate([statistic((np.arange(inputs) != each[:, None]).astype(np.float64)) for each in rows])
    if np.isnan(left_out).any():
        return Estimate.undefined("not defined without some of the inputs: too little variation", value)
    return t_interval(value, (inputs - 1) * float(left_out.var()), inputs - 1)


def _value(statistic: Weighted, layout: Layout) -> float:
    return float(statistic(np.ones((1, layout.input_count)))[0])
