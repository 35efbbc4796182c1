"""Bootstrap intervals of grouped statistics over inputs, over systems, or over both.

The drawn units decide what an interval generalises to (Deutsch, Dror & Roth 2021). Drawing inputs: these systems on
other inputs. Drawing systems: other systems on these inputs. Drawing both: other systems on other inputs. Single
outputs are never drawn, because outputs for one input, or of one system, are not independent.

Intervals are percentile or BCa intervals (Efron 1987). BCa corrects bias by the share of resamples below the value, and
acceleration by a jackknife over the drawn units. There is no jackknife for drawing both, so BCa needs inputs or systems
alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr

from meta_eval.agreement import keep_scored
from meta_eval.bootstrap import BATCH, Estimate, Floats, percentile_interval, resample
from meta_eval.grouping import Grouping, Layout, Statistic, group, system_means, undefined_groups

Drawn = Literal["inputs", "systems", "both"]
Method = Literal["percentile", "bca"]
Weighted = Callable[[Floats, Floats], Floats]  # weights of systems and of inputs -> one value per resample

FEWEST_UNITS = 5  # with fewer units there are too few different resamples for an interval


@dataclass(frozen=True)
class Resampling:
    """The settings of intervals.

    Attributes:
        over: the units to draw with replacement.
        method: percentile, or BCa for inputs or systems alone.
    """

    over: Drawn = "inputs"
    method: Method = "percentile"
    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, but is {self.confidence}")
        if self.resamples < 1:
            raise ValueError(f"resamples must be at least 1, but is {self.resamples}")
        if self.method == "bca" and self.over == "both":
            raise ValueError("BCa intervals need over=inputs or over=systems: use method=percentile for both")


@dataclass(frozen=True)
class Grouped:
    """A grouped statistic of scores and ratings.

    Attributes:
        n: number of scored and rated examples.
        groups: number of groups that they form (1 for `global` and `system_means`).
        undefined: number of groups in which the statistic is undefined; they are left out of the mean.
    """

    estimate: Estimate
    n: int
    groups: int
    undefined: int


def grouped_estimate(
    statistic: Statistic,
    scores: ArrayLike,
    ratings: ArrayLike,
    layout: Layout,
    *,
    grouping: Grouping = "global",
    resampling: Resampling | None = None,
) -> Grouped:
    """A statistic of `scores` with `ratings`, both of shape (n,), and its interval.

    Examples with a NaN score are left out. Raises ValueError for arrays that do not have the layout's shape, infinite
    scores, and ratings that are not finite.
    """
    (x, y), kept = keep_scored(scores=scores, ratings=ratings)
    present = restrict(layout, kept)
    reason = explain_undefined_groups(x, y, present, grouping)
    if reason is not None:
        return Grouped(Estimate.undefined(reason), len(x), 0, 0)
    groups, undefined = undefined_groups(x, y, present, grouping)
    estimate, _ = grouped_bootstrap(
        lambda systems, inputs: group(statistic, x, y, present, grouping, systems, inputs),
        present,
        resampling or Resampling(),
    )
    return Grouped(estimate, len(x), groups, undefined)


def grouped_bootstrap(statistic: Weighted, layout: Layout, resampling: Resampling) -> tuple[Estimate, Floats]:
    """The value of a statistic with its interval, and its values on the resamples on which it is defined.

    If the share of resamples on which it is undefined exceeds 1 - confidence, the interval is NaN with that reason.
    """
    counts = {"systems": layout.system_count, "inputs": layout.input_count}
    value = float(statistic(np.ones((1, counts["systems"])), np.ones((1, counts["inputs"])))[0])
    drawn = ("systems", "inputs") if resampling.over == "both" else (resampling.over,)
    nothing = np.empty(0)
    if math.isnan(value):
        return Estimate.undefined("not defined on these examples"), nothing
    for unit in drawn:
        if counts[unit] < FEWEST_UNITS:
            reason = f"an interval over {unit} needs at least {FEWEST_UNITS} of them, but there are {counts[unit]}"
            return Estimate(value, math.nan, math.nan, reason), nothing

    n, is_drawn = len(layout.inputs), [unit in drawn for unit in counts]
    parts = resample(statistic, list(counts.values()), is_drawn, n, resampling.resamples, resampling.seed)
    values = np.concatenate(list(parts))
    values = values[~np.isnan(values)]
    missing = resampling.resamples - len(values)
    if missing > (1 - resampling.confidence) * resampling.resamples:
        reason = f"not defined on {missing} of {resampling.resamples} resamples: too little variation for an interval"
        return Estimate(value, math.nan, math.nan, reason), values
    if resampling.method == "percentile":
        low, high = percentile_interval(values, resampling.confidence)
        return Estimate(value, low, high), values
    left_out = _jackknife(statistic, counts, resampling.over, max(1, BATCH // n))
    low, high = bca_interval(value, values, left_out[~np.isnan(left_out)], resampling.confidence)
    reason = "BCa is not defined: all resamples lie on one side of the value" if math.isnan(low) else None
    return Estimate(value, low, high, reason), values


def bca_interval(value: float, values: Floats, left_out: Floats, confidence: float) -> tuple[float, float]:
    """Efron's BCa interval (1987, Eq. 2.3) of a value, from its resamples and from the values with one unit left out.

    z0 is the normal quantile of the share of resamples below the value; a is the skewness of the jackknife divided by
    six. The interval is NaN if all resamples lie on one side, and the value itself if all equal it.
    """
    if np.ptp(values) == 0 and values[0] == value:
        return value, value
    below = float(((values < value).mean() + (values <= value).mean()) / 2)  # ties count half
    if not 0 < below < 1:
        return math.nan, math.nan
    deviations = left_out.mean() - left_out
    squares = float((deviations**2).sum())
    a = float((deviations**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    z0 = float(ndtri(below))
    z = z0 + ndtri(np.array([(1 - confidence) / 2, (1 + confidence) / 2]))
    low, high = np.quantile(values, ndtr(z0 + z / (1 - a * z)))
    return float(low), float(high)


def bootstrap_p_value(values: Floats, units: int | None = None) -> float:
    """Two-sided p-value of a difference from 0: 2 (b + 1)/(m + 1), at most 1.

    `values` are the differences on m resamples; b of them lie on the rarer side of 0, or at 0. Resamples of few units
    spread too little. Given the number of drawn `units`, this share is carried from the normal distribution to
    Student's t, as in expanded percentile intervals (Hesterberg 2015, "What Teachers Should Know About the Bootstrap").
    """
    rarer = min(int((values <= 0).sum()), int((values >= 0).sum()))
    p = min(1.0, 2 * (rarer + 1) / (len(values) + 1))
    if units is None:
        return p
    return float(2 * stdtr(units - 1, ndtri(p / 2) * math.sqrt((units - 1) / units)))


def restrict(layout: Layout, kept: np.ndarray) -> Layout:
    """The layout of the examples in the mask `kept`, of shape (n,), with new numbers for systems and inputs."""
    if kept.shape != layout.systems.shape:
        raise ValueError(f"the layout has {len(layout.systems)} examples, but there are {len(kept)} scores")
    return Layout(*(np.unique(v[kept], return_inverse=True)[1] for v in (layout.systems, layout.inputs)))


def explain_undefined_groups(x: Floats, y: Floats, layout: Layout, grouping: Grouping) -> str | None:
    """The reason why no correlation of scores `x` with ratings `y` is defined in this grouping, or None."""
    of = "examples"
    if len(x) and grouping == "system_means":
        x, y, of = *system_means(x, y, layout), "systems"
    if len(x) < 3:
        return f"a correlation needs at least 3 scored and rated {of}, but there are {len(x)}"
    for name, values in (("scores", x), ("ratings", y)):
        if values.min() == values.max():
            return f"all {len(values)} {name} of {of} are {values[0]:g}: a constant has no correlation"
    if grouping in ("global", "system_means"):
        return None
    groups, undefined = undefined_groups(x, y, layout, grouping)
    if groups == undefined:
        one = "system" if grouping == "per_system" else "input"
        return f"scores and ratings do not both vary within any of the {groups} {one}s"
    return None


def _jackknife(statistic: Weighted, counts: dict[str, int], over: Drawn, batch: int) -> Floats:
    """The statistic without each drawn unit in turn."""
    count, found = counts[over], []
    for start in range(0, count, batch):
        rows = np.arange(start, min(start + batch, count))
        weights = {unit: np.ones((len(rows), number)) for unit, number in counts.items()}
        weights[over][np.arange(len(rows)), rows] = 0.0
        found.append(statistic(weights["systems"], weights["inputs"]))
    return np.concatenate(found)
