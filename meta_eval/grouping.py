"""Groupings: computes a statistic over all examples, within systems, or between the means of systems.

Three groupings of meta-evaluation (Deutsch, Dror & Roth 2021, "A Statistical Analysis of Summarization Evaluation
Metrics using Resampling Methods"; mt-metrics-eval calls the first two none and sys):

- `global`: all outputs together;
- `within_systems`: within each system of at least `FEWEST_TEXTS` examples, then the mean over systems;
- `between_systems`: between systems, whose scores and ratings are means over their inputs.

Means are weighted by the sizes of the groups.

A group with equal ratings, or with one output, says nothing about any metric and is left out of the mean. A group in
which only the metric's scores are equal counts as a correlation of 0. If it were left out, a metric that is constant on
30 hard inputs and as good as another on 30 easy ones would seem the better one (a permutation test confirmed this in 8
of 8 simulated studies). A mean over the groups that both metrics order would hide that the other one orders the hard
inputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.correlation import keep_scored, spearman, varies
from meta_eval.design import FEWEST_TEXTS, Floats, Grouping, Layout, lay_out, restrict
from meta_eval.estimates import Estimate, Estimates, divide_known, estimate_weighted
from meta_eval.ties import merge_ties

Statistic = Callable[[Floats, Floats, Floats], Floats]  # (n,), (n,), (rows, n) -> (rows,)

NO_SYSTEMS = "the scored and rated texts name fewer than 2 systems"
FEW_TEXTS = f"no system has {FEWEST_TEXTS} scored and rated examples"


def group(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    layout: Layout,
    grouping: Grouping,
    weights: Floats,
) -> Floats:
    """Computes the statistic of x and y, both (n,), over all or within groups for each row of weights, (rows,).

    The weights, of shape (rows, inputs), say how often each input counts.
    """
    if grouping == "global":
        return statistic(x, y, weights[:, layout.inputs])
    total = np.zeros(len(weights))
    count = np.zeros(len(weights))
    for members in layout.groups(grouping):
        drawn = weights[:, layout.inputs[members]]
        size = drawn.sum(axis=1)
        values = statistic(x[members], y[members], drawn)
        is_defined = ~np.isnan(values) | varies(y[members], drawn)
        share = is_defined * size
        total += share * np.nan_to_num(values)
        count += share
    return divide_known(total, count)


def explain_undefined(
    x: Floats,
    y: Floats,
    layout: Layout,
    grouping: Grouping = "global",
) -> str | None:
    """Returns the reason why no correlation of scores `x` with ratings `y` is defined in this grouping, or None."""
    units = "examples"
    if grouping in ("within_systems", "between_systems") and layout.system_count < 2:
        return NO_SYSTEMS
    if len(x) and grouping == "between_systems":
        x = average_by_system(x, layout)
        y = average_by_system(y, layout)
        units = "systems"
    if len(x) < 3:
        return f"a correlation needs at least 3 scored and rated {units}, but there are {len(x)}"
    for name, values in (("scores", x), ("ratings", y)):
        if np.ptp(values) == 0:
            return f"all {len(values)} {name} of {units} are {values[0]:g}: a constant has no correlation"
    if grouping == "between_systems":
        return None
    groups = layout.groups(grouping)
    if not groups:
        return FEW_TEXTS
    both_vary = [np.ptp(x[members]) > 0 and np.ptp(y[members]) > 0 for members in groups]
    if any(both_vary):
        return None
    return f"scores and ratings do not both vary within any of the {len(groups)} systems"


def average_by_system(x: Floats, layout: Layout) -> Floats:
    """Computes the means of x, of shape (n,), by system, of shape (systems,)."""
    sizes = np.bincount(layout.systems)
    sums = np.bincount(layout.systems, x)
    return merge_ties(sums / sizes, x)


def estimate_correlations(
    statistic: Statistic,
    columns: Sequence[Floats],
    ratings: Floats,
    layout: Layout,
    grouping: Grouping = "global",
) -> Estimates:
    """Estimates a statistic of several columns with ratings, all of shape (n,) without NaN, in a grouping.

    Between systems the units are systems: the estimate is about other systems on these inputs. Else they are inputs.
    """
    if grouping == "between_systems":
        means = [average_by_system(x, layout) for x in columns]
        of_ratings = average_by_system(ratings, layout)
        between = estimate_correlations(statistic, means, of_ratings, lay_out(len(of_ratings)))
        return replace(between, what="systems")

    def correlate(inputs: Floats) -> Floats:
        found = [group(statistic, x, ratings, layout, grouping, inputs) for x in columns]
        return np.stack(found, axis=1)

    return estimate_weighted(correlate, layout, scale="correlation")


def estimate_correlation(
    statistic: Statistic,
    scores: ArrayLike,
    ratings: ArrayLike,
    layout: Layout,
    *,
    grouping: Grouping = "global",
) -> Estimate:
    """Estimates a statistic of `scores` with `ratings`, both of shape (n,), in a grouping; NaN scores are left out.

    Raises ValueError for arrays that do not have the layout's shape, infinite scores, and ratings that are not finite.
    """
    (x, y), kept = keep_scored(scores=scores, ratings=ratings)
    present = restrict(layout, kept)
    reason = explain_undefined(x, y, present, grouping)
    if reason is not None:
        return Estimate.undefined(reason)
    return estimate_correlations(statistic, [x], y, present, grouping).only


def difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    ratings: ArrayLike,
    layout: Layout | None = None,
    *,
    grouping: Grouping = "global",
    statistic: Statistic = spearman,
) -> Estimate:
    """Estimates the correlation (default: Spearman) of metric a with `ratings` minus that of metric b; all are (n,).

    Both are of the same inputs, so that what makes examples easy for both cancels. Only examples that both metrics
    scored count. Without a `layout` each example has an input of its own.
    """
    (a, b, y), kept = keep_scored(scores_a=scores_a, scores_b=scores_b, ratings=ratings)
    present = restrict(layout or lay_out(len(kept)), kept)
    for x in (a, b):
        reason = explain_undefined(x, y, present, grouping)
        if reason is not None:
            return Estimate.undefined(reason)
    return estimate_correlations(statistic, [a, b], y, present, grouping).subtract([0], [1]).only
