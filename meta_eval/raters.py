"""Agreement among raters: Krippendorff's alpha, their correlations, and the ceiling that they set.

Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability". Ratings are a matrix (raters, units) with NaN for a
missing rating; a unit is an output or a system. Intervals draw the inputs that a layout gives: outputs for one input
are not independent.

No metric can correlate with the mean rating by more than the root of its reliability (Spearman 1904). The reliability
of the mean of k ratings is that of Spearman and Brown, k r/(1 + (k - 1) r), where r is the mean correlation of two
raters. If units differ in k, their harmonic mean is taken. Within systems, r is the mean correlation of two raters in
each system, by the units that both rated: where systems differ, raters agree on the systems, too.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.correlation import CORRELATIONS
from meta_eval.crowds import seat_crowd
from meta_eval.design import Floats, Grouping, Layout, lay_out, restrict
from meta_eval.estimates import (
    PRIOR,
    Estimate,
    Statistic,
    divide_known,
    estimate_weighted,
    linearise,
    measure_design_effects,
)
from meta_eval.grouping import FEW_TEXTS, NO_SYSTEMS

Scale = Literal["nominal", "ordinal", "interval"]
Kind = Literal["pearson", "spearman"]
ROUNDING = 1e-9  # of the range of ratings; less disagreement is none
FEWEST_SHARED = 3  # units of two raters, for a correlation
NO_PAIR = "no two raters have 3 or more units in common and ratings that vary"
DISAGREE = "the raters do not agree more than by chance, so that nothing can be said about a ceiling"


def name_scale(ratings: Floats) -> Scale:
    """Names the scale of alpha for these ratings: nominal for two values, ordinal for whole numbers, else interval.

    >>> [name_scale(np.array(values)) for values in ([0.0, 1.0, np.nan], [1.0, 2.0, 5.0], [1.0, 2.5, 3.0])]
    ['nominal', 'ordinal', 'interval']
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    if len(values) <= 2:
        return "nominal"
    are_whole = (values == np.round(values)).all()
    return "ordinal" if are_whole else "interval"


def krippendorff_alpha(ratings: ArrayLike, scale: Scale, *, layout: Layout | None = None) -> Estimate:
    """Estimates Krippendorff's alpha of `ratings`, of shape (raters, units): 1 - observed / expected disagreement.

    1 is full agreement, 0 is chance. Units with fewer than two ratings are left out. Without a `layout` each unit is an
    input. The pseudo-units of a nominal scale are those of kappa (`meta_eval.labels`).
    """
    table, layout = _keep_rated_units(ratings, layout, fewest=2)
    units = table.shape[1]
    if units < 2:
        return Estimate.undefined(f"alpha needs at least 2 units with 2 ratings, but there are {units}")
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return Estimate.undefined(f"all ratings are {values[0]:g}: without variation alpha is not defined")
    counts = (table[:, :, None] == values).sum(axis=0).astype(np.float64)  # (units, values)
    pseudo = np.zeros((0, len(values)))
    prior = np.zeros(0)
    if scale == "nominal":
        pseudo, prior = _list_pseudo_units(counts, layout)
    rows = np.concatenate([counts, pseudo])
    others = rows.sum(axis=1) - 1

    def alpha(weights: Floats) -> Floats:
        of_rows = np.concatenate([weights[:, layout.units], weights[:, layout.unit_count :]], axis=1)
        totals = of_rows @ rows  # (rows of weights, values)
        number = totals.sum(axis=1)
        coordinates = _find_coordinates(values, totals, scale)
        within = _sum_distances(rows, coordinates) / others[:, None]
        observed = (of_rows * within.T).sum(axis=1)
        expected = np.zeros(len(weights))
        for coordinate in coordinates:
            squares = (totals * coordinate**2).sum(axis=1)
            sums = (totals * coordinate).sum(axis=1)
            expected = expected + (number * squares - sums**2)
        expected = np.where(expected > ROUNDING, expected, 0.0)
        ratio = divide_known(observed * (number - 1), expected)
        return 1 - ratio[:, None]

    used = np.bincount(layout.units, minlength=layout.unit_count) > 0
    return linearise(
        alpha,
        used,
        prior,
        scale="correlation",
    ).only


def _list_pseudo_units(counts: Floats, layout: Layout) -> tuple[Floats, Floats]:
    """Units with each pair of values, of shape (values², values), and their weights; see `meta_eval.labels`."""
    k = counts.shape[1]
    ratings = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (ratings * (ratings - 1))
    size = measure_design_effects(agreeing[:, None], layout)[0]
    shares = counts.sum(axis=0) / counts.sum()
    prior = size * PRIOR / 2 * (np.eye(k) / k + np.outer(shares, shares))
    one = np.eye(k)
    return (one[:, None] + one[None]).reshape(-1, k), prior.ravel()


def _find_coordinates(values: Floats, totals: Floats, scale: Scale) -> list[Floats]:
    """Coordinates of the rating values, each of shape (rows or 1, values).

    The disagreement of two values is the squared distance of their coordinates.

    Two values of an ordinal scale are as far apart as there are ratings from one to the other, of which those at the
    ends count half: the difference of mid-ranks.
    """
    if scale == "nominal":
        return [*np.eye(len(values))[:, None]]
    if scale == "interval":
        in_range = (values - values.mean()) / np.ptp(values)
        return [in_range[None]]
    mid_ranks = np.cumsum(totals, axis=1) - totals / 2
    return [mid_ranks]


def _sum_distances(counts: Floats, coordinates: Sequence[Floats]) -> Floats:
    """Half the sum of disagreements of all ordered pairs of ratings in each set, of shape (sets, rows or 1).

    `counts` has the shape (sets, values): how often each set holds each value.
    """
    size = counts.sum(axis=1)[:, None]
    distances = []
    for coordinate in coordinates:
        # in place, because these arrays are large
        of_coordinate = counts @ (coordinate**2).T
        of_coordinate *= size
        of_coordinate -= (counts @ coordinate.T) ** 2
        distances.append(of_coordinate)
    return np.sum(distances, axis=0)


def correlate_raters(ratings: ArrayLike, kind: Kind = "spearman", *, layout: Layout | None = None) -> Estimate:
    """Estimates the mean correlation of two raters, over all pairs of raters for which it is defined."""
    table, layout = _keep_rated_units(ratings, layout, fewest=2)
    correlation = _weigh_correlation(table, kind, layout, "global")
    if correlation is None:
        return Estimate.undefined(NO_PAIR)
    return estimate_weighted(correlation, layout, scale="correlation").only


def find_ceiling(
    ratings: ArrayLike,
    kind: Kind = "spearman",
    *,
    layout: Layout | None = None,
    grouping: Grouping = "global",
) -> Estimate:
    """Estimates the correlation that a perfect metric would reach: the root of the reliability of the mean rating.

    This holds for Pearson's correlation, and nearly for Spearman's. `grouping` is `global` or `within_systems`, whose
    intervals cover .94 to .99 in simulations of five raters and 45 or 120 texts of three systems.
    """
    table, layout = _keep_rated_units(ratings, layout)
    if grouping == "within_systems" and layout.system_count < 2:
        return Estimate.undefined(NO_SYSTEMS)
    if not layout.groups(grouping):
        return Estimate.undefined(FEW_TEXTS)
    ceiling = _weigh_ceiling(table, kind, layout, grouping)
    if ceiling is None:
        return Estimate.undefined(NO_PAIR)
    is_shared = (~np.isnan(table)).sum(axis=0) > 1
    has_shared = np.bincount(layout.units[is_shared], minlength=layout.unit_count) > 0
    estimate = replace(estimate_weighted(ceiling, layout, scale="correlation"), used=has_shared).only
    if not estimate.value > 0:
        return Estimate.undefined(DISAGREE)
    return replace(estimate, low=max(estimate.low, 0.0))  # of a root


def _weigh_ceiling(
    table: Floats,
    kind: Kind,
    layout: Layout,
    grouping: Grouping,
) -> Statistic | None:
    """The root of the reliability of the mean rating; see the module for r and k. None if no two raters correlate."""
    correlation = _weigh_correlation(table, kind, layout, grouping)
    if correlation is None:
        return None
    raters = (~np.isnan(table)).sum(axis=0)
    inverse_raters = 1 / raters

    def ceiling(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        r = np.maximum(correlation(inputs), 0.0)
        k = weights.sum(axis=1) / (weights @ inverse_raters)
        reliability = k * r / (1 + (k - 1) * r)
        return np.sqrt(reliability)

    return ceiling


def _weigh_correlation(
    table: Floats,
    kind: Kind,
    layout: Layout,
    grouping: Grouping,
) -> Statistic | None:
    """The mean correlation of two raters, (raters, units), within each group, by the units that both rated.

    Pairs without a correlation are left out; None if no pair has one.
    """
    statistic = CORRELATIONS[kind]
    shared = []  # by group and pair, the units that both have a value for, and both columns there
    for members in layout.groups(grouping):
        for x, y in combinations(table[:, members], 2):
            both = ~np.isnan(x + y)
            x, y = x[both], y[both]
            if len(x) >= FEWEST_SHARED and np.ptp(x) > 0 and np.ptp(y) > 0:
                shared.append((members[both], x, y))
    if not shared:
        return None
    counts = np.array([len(units) for units, _, _ in shared], dtype=np.float64)

    def average(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        by_pair = [statistic(x, y, weights[:, units]) for units, x, y in shared]
        correlations = np.stack(by_pair, axis=1)
        known = np.where(np.isnan(correlations), 0.0, counts)
        total = (np.nan_to_num(correlations) * known).sum(axis=1)
        return divide_known(total, known.sum(axis=1))

    return average


def _keep_rated_units(ratings: ArrayLike, layout: Layout | None, fewest: int = 1) -> tuple[Floats, Layout]:
    """Keeps the units with at least `fewest` ratings: their ratings, of shape (raters, units), and their layout.

    Of a crowd the rows are seats (`meta_eval.crowds`).
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must have shape (raters, units), but have shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite, or NaN where a rater did not rate")
    rated = (~np.isnan(table)).sum(axis=0) >= fewest
    units = layout or lay_out(table.shape[1])
    return seat_crowd(table[:, rated]), restrict(units, rated)
