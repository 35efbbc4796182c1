"""Intervals of grouped statistics over inputs.

The drawn units decide what an interval generalises to (Deutsch, Dror & Roth 2021). Inputs are drawn: an interval is
about these systems on other inputs. Single outputs are never drawn, because outputs for one input are not independent.

Between systems, the systems are drawn: an interval is about other systems. Drawn inputs would say nothing about the
systems, and means over drawn inputs are less alike than those over more inputs: in simulations with 8 to 16 systems
their percentiles cover .30 to .87 of the correlations between systems. Drawn systems cover .88 to .98, from
`FEWEST_SYSTEMS` on.

Intervals are percentile intervals, expanded as in `meta_eval.bootstrap`, and need `FEWEST_UNITS` units. Three other
intervals are used where percentiles fail: Student's t for the mean of few inputs; Tango's score interval for a share
(Wilson's interval, extended to ties); and the jackknife for means in standard deviations, for the mean of correlations
within systems or inputs, and between systems. A resample contains some outputs twice, and their ties lower every rank
correlation within a system: at 30 inputs of 8 systems and a rho of .97, percentiles cover .52 and the jackknife .95.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

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
from meta_eval.grouping import (
    Grouping,
    Layout,
    Statistic,
    average_by_system,
    explain_undefined,
    group,
    lay_out,
    restrict,
)

Weighted = Callable[[Floats], Floats]  # weights of inputs, of shape (resamples, inputs) -> one value per resample

UNDEFINED = "not defined on these examples"
FEWEST_FOR_MEAN = 5  # inputs, for intervals that need no resamples
BISECTIONS = 60  # halve [-1, 1] down to the precision of a float
FEWEST_SYSTEMS = 8  # for intervals of correlations between their means
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
        """The settings as a part of a run's signature."""
        return f"resamples={self.resamples}|seed={self.seed}"


USUAL_RESAMPLING = Resampling()


def grouped_estimate(
    statistic: Statistic,
    scores: ArrayLike,
    ratings: ArrayLike,
    layout: Layout,
    *,
    grouping: Grouping = "global",
    resampling: Resampling = USUAL_RESAMPLING,
) -> Estimate:
    """Estimates a statistic of `scores` with `ratings`, both of shape (n,), in a grouping; NaN scores are left out.

    Raises ValueError for arrays that do not have the layout's shape, infinite scores, and ratings that are not finite.
    """
    (x, y), kept = keep_scored(scores=scores, ratings=ratings)
    present = restrict(layout, kept)
    reason = explain_undefined(x, y, present, grouping)
    if reason is not None:
        return Estimate.undefined(reason)
    if grouping == "between_systems":
        return estimate_between(statistic, x, y, present)
    grouped = weigh_grouped(statistic, x, y, present, grouping)
    return estimate_grouped(grouped, present, grouping, resampling)


def estimate_between(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    layout: Layout,
) -> Estimate:
    """Estimates a statistic in [-1, 1] of the means of systems, with the jackknife interval over systems."""
    of_x = average_by_system(x, layout)
    of_y = average_by_system(y, layout)

    def correlate(systems: Floats) -> Floats:
        return statistic(of_x, of_y, systems)

    return _clip(jackknife_interval(correlate, lay_out(len(of_x)), "systems", FEWEST_SYSTEMS))


def weigh_grouped(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    layout: Layout,
    grouping: Grouping,
) -> Weighted:
    """Returns a function of weights of inputs that computes a statistic of x and y, (n,), over all or within groups."""

    def grouped(weights: Floats) -> Floats:
        return group(
            statistic,
            x,
            y,
            layout,
            grouping,
            weights=weights,
        )

    return grouped


def difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    ratings: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    statistic: Statistic = spearman,
) -> Estimate:
    """Estimates the correlation (default: Spearman) of metric a with `ratings` minus that of metric b; all are (n,).

    Both are computed on the same resamples of whole groups, so that what makes examples easy for both cancels. Only
    examples that both metrics scored count.
    """
    (a, b, y), kept = keep_scored(
        scores_a=scores_a,
        scores_b=scores_b,
        ratings=ratings,
    )
    layout = restrict(lay_out(len(kept), inputs=groups), kept)
    draws = []
    for x in (a, b):
        reason = explain_undefined(x, y, layout)
        if reason is not None:
            return Estimate.undefined(reason)
        correlation = weigh_grouped(statistic, x, y, layout, "global")
        draws.append(draw_grouped(correlation, layout, USUAL_RESAMPLING))
    of_a, of_b = draws
    return (of_a - of_b).estimate


def estimate_grouped(
    statistic: Weighted,
    layout: Layout,
    grouping: Grouping,
    resampling: Resampling,
    draws: "Draws | None" = None,
) -> Estimate:
    """Estimates a statistic in [-1, 1], over all or within groups, with its interval; known `draws` are reused.

    The mean of a statistic within systems or inputs has a jackknife interval, every other statistic a percentile
    interval.
    """
    if grouping in ("within_systems", "within_inputs"):
        return _clip(jackknife_interval(statistic, layout))
    if draws is None:
        draws = draw_grouped(statistic, layout, resampling)
    return draws.estimate


def _clip(estimate: Estimate) -> Estimate:
    """Clips the interval of a correlation to [-1, 1]."""
    return replace(
        estimate,
        low=max(estimate.low, -1.0),
        high=min(estimate.high, 1.0),
    )


@dataclass(frozen=True)
class Draws:
    """A statistic on all examples and on resamples. The draws of two statistics with one layout can be subtracted."""

    # on all examples; NaN if it is undefined
    value: float
    # on each resample, of shape (resamples,); NaN where it is undefined. Empty for too few units.
    values: Floats
    # the number of drawn units
    units: int
    # why there are no resamples, else None
    reason: str | None = None

    def __sub__(self, other: "Draws") -> "Draws":
        """The difference; it has no draws where either has none."""
        if not (len(self.values) and len(other.values)):
            reason = self.reason or other.reason or UNDEFINED
            return replace(self, value=self.value - other.value, values=np.empty(0), reason=reason)
        return replace(
            self,
            value=self.value - other.value,
            values=self.values - other.values,
        )

    @property
    def estimate(self) -> Estimate:
        """The value of the statistic with its interval.

        The interval is NaN if the statistic is undefined on too many resamples.
        """
        if math.isnan(self.value):
            return Estimate.undefined(self.reason or UNDEFINED)
        if self.reason is not None:
            return Estimate.undefined(self.reason, self.value)
        return estimate_from(self.value, self.values, self.units)


def draw_grouped(
    statistic: Weighted,
    layout: Layout,
    resampling: Resampling,
) -> Draws:
    """Computes a statistic and its values on resamples. Equal settings draw equal resamples of a layout."""
    value = _evaluate(statistic, layout)
    inputs = layout.input_count
    few = explain_few("inputs", inputs) if inputs < FEWEST_UNITS else None
    if math.isnan(value) or few:
        return Draws(value, np.empty(0), inputs, few)
    values = resample(
        statistic,
        inputs,
        len(layout.inputs),
        resamples=resampling.resamples,
        seed=resampling.seed,
    )
    return Draws(value, values, inputs)


def mean_interval(values: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """Estimates the mean of `values`, of shape (inputs,), with Student's t interval."""
    mean = float(values.mean())
    inputs = len(values)
    if inputs < FEWEST_FOR_MEAN:
        few = explain_few("inputs", inputs, FEWEST_FOR_MEAN)
        return Estimate.undefined(few, mean)
    if np.ptp(values) == 0:
        reason = f"all {inputs} values are {mean:g}: there is no spread"
        return Estimate.undefined(reason, mean)
    variance = float(values.var(ddof=1)) / inputs
    return t_interval(mean, variance, inputs - 1, confidence)


def mean_over_inputs(values: Floats, layout: Layout) -> Estimate:
    """Estimates the mean of `values`, of shape (n,), with Student's interval from the variance over inputs."""
    inputs = layout.input_count
    if inputs == len(values):
        return mean_interval(values)
    mean = float(values.mean())
    if inputs < FEWEST_FOR_MEAN:
        few = explain_few("inputs", inputs, FEWEST_FOR_MEAN)
        return Estimate.undefined(few, mean)
    return _bound_by_inputs(values, mean, layout)


def _bound_by_inputs(
    values: Floats,
    mean: float,
    layout: Layout,
) -> Estimate:
    """The mean of `values`, of shape (n,), with Student's interval by sums of deviations over inputs."""
    inputs = layout.input_count
    sums = np.bincount(layout.inputs, values - mean) / len(values)
    variance = float((sums**2).sum()) * inputs / (inputs - 1)
    return t_interval(mean, variance, inputs - 1)


def is_within_margin(
    values: Floats,
    margin: float,
    level: float,
    tests: int,
    largest: float = 0.0,
) -> bool:
    """Whether the mean of `values` (inputs,) is shown to lie within the margin of 0, at `level` over the tests.

    These are Schuirmann's two one-sided tests. They use Student's t if values have both signs and many sizes. They use
    Tango's score interval if values have one size or one sign, because t tests of rare differences declare too much
    equal. `largest` is the maximum size of a difference if it is known, else the largest observed one is taken. If all
    values are 0 and no maximum is known, they are equal.
    """
    inputs = len(values)
    sizes = np.abs(values)
    most = max(largest, float(sizes.max(initial=0.0)))
    if inputs < FEWEST_FOR_MEAN:
        return False
    if most == 0:
        return True
    confidence = 1 - 2 * level / tests
    rounded_sizes = np.round(sizes[sizes > 0] / most, 9)
    is_graded = len(np.unique(rounded_sizes)) > 2
    if is_graded and values.min() < 0 < values.max():
        interval = mean_interval(values, confidence)
        return bool(-margin < interval.low and interval.high < margin)
    # values of one size are wins and losses, whose share lies in [0, 1]
    low, high = score_interval(
        share=(1 + float(values.mean()) / most) / 2,
        untied=float(sizes.mean()) / most,
        n=inputs,
        confidence=confidence,
    )
    lowest = (2 * low - 1) * most
    highest = (2 * high - 1) * most
    return bool(-margin < lowest and highest < margin)


def share_interval(wins: Floats, layout: Layout) -> Estimate:
    """Estimates the mean of `wins` (n,), which are 1 for a win, 0.5 for a tie and 0 for a loss, with `score_interval`.

    If inputs repeat, n is divided by the design effect (Kish 1965), the ratio of the variances of the mean over inputs
    and over examples, and the quantile is Student's. If all values are equal, n is the number of inputs. Other values
    in [0, 1] get Student's interval from the variance over inputs.
    """
    share = float(wins.mean())
    inputs = layout.input_count
    if inputs < FEWEST_FOR_MEAN:
        few = explain_few("inputs", inputs, FEWEST_FOR_MEAN)
        return Estimate.undefined(few, share)
    if not np.isin(wins, (0.0, 0.5, 1.0)).all():
        return keep_share(_bound_by_inputs(wins, share, layout))
    repeats = inputs < len(wins)
    low, high = score_interval(
        share,
        untied=float((wins != 0.5).mean()),
        n=_count_independent(wins, share, layout) if repeats else len(wins),
        freedom=inputs - 1 if repeats else math.inf,
    )
    return Estimate(share, low, high)


def bound_difference(
    differences: Floats,
    layout: Layout,
    unit: float = 1.0,
) -> Estimate:
    """Estimates the mean of differences from -1 to 1, of shape (n,), times `unit`, with `share_interval`'s interval."""
    share = share_interval((1 + differences) / 2, layout)

    def to_difference(end: float) -> float:
        return unit * (2 * end - 1)

    return Estimate(
        value=to_difference(share.value),
        low=to_difference(share.low),
        high=to_difference(share.high),
        reason=share.reason,
    )


def _count_independent(
    wins: Floats,
    share: float,
    layout: Layout,
) -> float:
    """The number of independent outcomes that say as much: n over the design effect (Kish 1965).

    At most the number of inputs where the outputs of too few inputs contradict the majority.
    """
    n = len(wins)
    inputs = layout.input_count
    sums = np.bincount(layout.inputs, wins - share)  # linearised where inputs differ in size
    by_example = float(wins.var())
    by_input = float((sums**2).sum()) * inputs / (inputs - 1) / n
    independent = n * by_example / by_input if by_input > 0 else inputs
    with_wins = len(np.unique(layout.inputs[wins > 0]))
    with_losses = len(np.unique(layout.inputs[wins < 1]))
    if min(with_wins, with_losses) < FEWEST_CONTRARY:
        return min(independent, inputs)
    return independent


def keep_share(estimate: Estimate) -> Estimate:
    """Clips the interval of a share to [0, 1]."""
    return replace(
        estimate,
        low=max(estimate.low, 0.0),
        high=min(estimate.high, 1.0),
    )


def score_interval(
    share: float,
    untied: float,
    n: float,
    freedom: float = math.inf,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Computes Tango's score interval (1998) of a share of n values, ties counted half; without ties it is Wilson's.

    The share is (1 + d)/2, where d is the share of wins minus that of losses. The interval contains every d0 that is
    nearer to d than the quantile times the standard error under d0. The square of this error is (q - d0²)/n, with the q
    (the share of values that are no ties) that is likeliest under d0. `untied` is the q of the values. The quantile is
    that of Student's t with `freedom` degrees of freedom, by default the normal one.
    """
    d = 2 * share - 1
    quantile = t_quantile(freedom, confidence)
    untied = max(untied, abs(d))

    def is_inside(d0: float) -> bool:
        # q solves q² - slope q + product = 0
        slope = untied + d * d0
        product = d * d0 - (1 - untied) * d0**2
        root = math.sqrt(max(slope**2 - 4 * product, 0.0))
        q = (slope + root) / 2
        variance = max(q - d0**2, 0.0)
        return (d - d0) ** 2 < quantile**2 * variance / n

    def search(outside: float) -> float:
        inside = d
        for _ in range(BISECTIONS):
            middle = (inside + outside) / 2
            if is_inside(middle):
                inside = middle
            else:
                outside = middle
        return (1 + inside) / 2

    return search(-1.0), search(1.0)


def jackknife_interval(
    statistic: Weighted,
    layout: Layout,
    units: str = "inputs",
    fewest: int = FEWEST_UNITS,
) -> Estimate:
    """Estimates a statistic with its jackknife interval: Student's t on the values without one input at a time.

    `units` is what a reason calls the inputs of the layout.
    """
    inputs = layout.input_count
    value = _evaluate(statistic, layout)
    if math.isnan(value):
        return Estimate.undefined(UNDEFINED)
    if inputs < fewest:
        return Estimate.undefined(explain_few(units, inputs, fewest), value)
    without_one = _leave_one_out(statistic, layout)
    if np.isnan(without_one).any():
        reason = f"not defined without some of the {units}: too little variation"
        return Estimate.undefined(reason, value)
    variance = (inputs - 1) * float(without_one.var())
    return t_interval(value, variance, inputs - 1)


def _leave_one_out(statistic: Weighted, layout: Layout) -> Floats:
    """The statistic without each input in turn, of shape (inputs,)."""
    numbers = np.arange(layout.input_count)
    batch = max(1, BATCH // len(layout.inputs))
    blocks = []
    for start in range(0, len(numbers), batch):
        left_out = numbers[start : start + batch]
        is_kept = numbers != left_out[:, None]  # (batch, inputs)
        blocks.append(statistic(is_kept.astype(np.float64)))
    return np.concatenate(blocks)


def _evaluate(statistic: Weighted, layout: Layout) -> float:
    """The statistic of all examples."""
    once = np.ones((1, layout.input_count))
    return float(statistic(once)[0])
