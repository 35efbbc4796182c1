"""Agreement among raters: Krippendorff's alpha, their correlations, and the ceiling that they set.

Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability". Ratings are a matrix (raters, units) with NaN for a
missing rating; a unit is an output or a system. Intervals draw the inputs that a layout gives: outputs for one input
are not independent.

No metric correlates with the mean rating by more than the root of its reliability (Spearman 1904). The reliability of
the mean of k ratings is that of Spearman and Brown, k r/(1 + (k - 1) r), where r is the mean correlation of two raters;
where k differs between units it is their harmonic mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Floats, pearson, spearman
from meta_eval.grouping import Layout, lay_out, restrict
from meta_eval.intervals import USUAL, Draws, Resampling, Weighted, draw_grouped

Scale = Literal["nominal", "ordinal", "interval"]
Kind = Literal["pearson", "spearman"]
ROUNDING = 1e-9  # of the range of ratings; less disagreement is none
FEWEST_ALIKE = 5  # units whose raters agree on another label than the most frequent one
TOO_ALIKE = (
    f"resamples are too alike: an interval needs at least {FEWEST_ALIKE} texts whose raters agree on another label "
    "than the most frequent one"
)
FEWEST_SHARED = 3  # units of two raters, for a correlation
NO_PAIR = "no two raters have 3 or more units in common and ratings that vary"
DISAGREE = "the raters do not agree more than by chance, so that nothing can be said about a ceiling"


@dataclass(frozen=True)
class Corrected:
    """The agreement of a metric with the mean rating, and with what the mean of very many raters would be."""

    n: int
    agreement: Estimate
    # what a perfect metric would reach on these examples
    ceiling: Estimate
    # agreement / ceiling (Spearman's correction for attenuation); may exceed 1 by chance
    corrected: Estimate


def name_scale(ratings: Floats) -> Scale:
    """The scale of alpha that suits the ratings: nominal for two values, ordinal for whole numbers, else interval.

    >>> [name_scale(np.array(values)) for values in ([0.0, 1.0, np.nan], [1.0, 2.0, 5.0], [1.0, 2.5, 3.0])]
    ['nominal', 'ordinal', 'interval']
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    if len(values) <= 2:
        return "nominal"
    return "ordinal" if (values == np.round(values)).all() else "interval"


def krippendorff_alpha(
    ratings: ArrayLike, scale: Scale, resampling: Resampling = USUAL, *, layout: Layout | None = None
) -> Estimate:
    """Krippendorff's alpha of `ratings`, of shape (raters, units): 1 - observed / expected disagreement.

    1 is full agreement, 0 is chance. Units with fewer than two ratings are left out; without a `layout` each unit is an
    input. Expected disagreement leaves out the pairs of an input and its copy: no two inputs of a sample are the same.
    """
    table, layout = _rated_units(ratings, layout, fewest=2)
    units = table.shape[1]
    if units < 2:
        return Estimate.undefined(f"alpha needs at least 2 units with 2 ratings, but there are {units}")
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return Estimate.undefined(f"all ratings are {values[0]:g}: without variation alpha is not defined")
    counts = (table[:, :, None] == values).sum(axis=0).astype(np.float64)  # (units, values)
    of_inputs = np.zeros((layout.input_count, len(values)))
    np.add.at(of_inputs, layout.inputs, counts)

    def alpha(inputs: Floats) -> Floats:
        weights, copies = inputs[:, layout.inputs], inputs * (inputs - 1)
        totals = weights @ counts  # (resamples, values)
        number = totals.sum(axis=1)
        places = _place_values(values, totals, scale)
        within = _disagree(counts, places) / (counts.sum(axis=1) - 1)[:, None]
        observed = (weights * within.T).sum(axis=1)
        whole = sum(number * (totals * each**2).sum(axis=1) - (totals * each).sum(axis=1) ** 2 for each in places)
        expected = whole - (copies * _disagree(of_inputs, places).T).sum(axis=1)
        pairs = number * (number - 1) - copies @ of_inputs.sum(axis=1) ** 2
        defined = (pairs > 0) & (expected > ROUNDING)
        return 1 - np.divide(observed * pairs, number * expected, out=np.full(len(pairs), np.nan), where=defined)

    found = draw_grouped(alpha, layout, resampling).estimate
    alike = np.sort((counts > 1).sum(axis=0))
    if scale == "nominal" and alike[:-1].sum() < FEWEST_ALIKE and found.value < 1:
        return Estimate.undefined(f"{TOO_ALIKE}, but there are {int(alike[:-1].sum())}", found.value)
    return found


def _place_values(values: Floats, totals: Floats, scale: Scale) -> list[Floats]:
    """Coordinates of the rating values, of shape (resamples or 1, values); distances of ratings are the squared ones.

    Two values of an ordinal scale are as far apart as there are ratings from one to the other, of which those at the
    ends count half: the difference of mid-ranks.
    """
    if scale == "nominal":
        return [*np.eye(len(values))[:, None]]
    if scale == "interval":
        return [((values - values.mean()) / np.ptp(values))[None]]
    return [np.cumsum(totals, axis=1) - totals / 2]


def _disagree(counts: Floats, places: Sequence[Floats]) -> Floats:
    """Half the sum of distances of all ordered pairs of ratings in each set, of shape (sets, resamples or 1).

    `counts` has the shape (sets, values): how often each set holds each value.
    """
    size = counts.sum(axis=1)[:, None]
    return np.sum([size * (counts @ (each**2).T) - (counts @ each.T) ** 2 for each in places], axis=0)


def correlate_raters(
    ratings: ArrayLike, kind: Kind = "spearman", resampling: Resampling = USUAL, *, layout: Layout | None = None
) -> Estimate:
    """The mean correlation of two raters, over all pairs of them with units in common and a defined correlation."""
    table, layout = _rated_units(ratings, layout, fewest=2)
    of = _mean_correlation([*combinations(table, 2)], kind, layout)
    return Estimate.undefined(NO_PAIR) if of is None else draw_grouped(of, layout, resampling).estimate


def find_ceiling(
    ratings: ArrayLike, kind: Kind = "spearman", resampling: Resampling = USUAL, *, layout: Layout | None = None
) -> Estimate:
    """What a perfect metric would reach: the root of the reliability of the mean rating.

    It holds for Pearson's correlation, and nearly so for Spearman's.
    """
    table, layout = _rated_units(ratings, layout)
    return _draw_ceiling(table, kind, resampling, layout).estimate


def correct_agreement(
    scores: ArrayLike,
    ratings: ArrayLike,
    kind: Kind = "spearman",
    resampling: Resampling = USUAL,
    *,
    layout: Layout | None = None,
) -> Corrected:
    """The correlation of `scores`, of shape (n,), with the mean of `ratings`, of shape (raters, n), over the ceiling.

    Examples with a NaN score or without a rating do not count.
    """
    x = np.asarray(scores, dtype=np.float64)
    whole = np.where(np.isnan(x), np.nan, np.asarray(ratings, dtype=np.float64))
    rated = ~np.isnan(whole).all(axis=0)
    table, layout = _rated_units(whole, layout)
    x, mean = x[rated], np.nanmean(table, axis=0) if rated.any() else np.empty(0)
    if len(x) < FEWEST_SHARED or np.ptp(x) == 0 or np.ptp(mean) == 0:
        none = Estimate.undefined("scores and mean ratings must vary on at least 3 examples")
        return Corrected(len(x), none, none, none)
    statistic = pearson if kind == "pearson" else spearman
    agreement = draw_grouped(lambda inputs: statistic(x, mean, inputs[:, layout.inputs]), layout, resampling)
    ceiling = _draw_ceiling(table, kind, resampling, layout)
    corrected = ceiling.estimate
    if ceiling.value > 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(ceiling.values > 0, agreement.values / ceiling.values, np.nan)
        corrected = replace(ceiling, value=agreement.value / ceiling.value, values=values).estimate
    return Corrected(len(x), agreement.estimate, ceiling.estimate, corrected)


def _draw_ceiling(table: Floats, kind: Kind, resampling: Resampling, layout: Layout) -> Draws:
    of = _mean_correlation([*combinations(table, 2)], kind, layout)
    if of is None:
        return Draws(math.nan, np.empty(0), layout.input_count, NO_PAIR)
    shares = 1 / (~np.isnan(table)).sum(axis=0)

    def ceiling(inputs: Floats) -> Floats:
        weights, r = inputs[:, layout.inputs], np.maximum(of(inputs), 0.0)
        k = weights.sum(axis=1) / (weights @ shares)
        return np.sqrt(k * r / (1 + (k - 1) * r))

    found = draw_grouped(ceiling, layout, resampling)
    return found if found.value > 0 else replace(found, value=math.nan, values=np.empty(0), reason=DISAGREE)


def _mean_correlation(pairs: Sequence[tuple[Floats, Floats]], kind: Kind, layout: Layout) -> Weighted | None:
    """The mean correlation of pairs of columns of shape (units,), weighted by the units that both have a value for.

    Pairs without a correlation are left out; None if no pair has one.
    """
    statistic = spearman if kind == "spearman" else pearson
    shared = []
    for x, y in pairs:
        at = np.flatnonzero(~np.isnan(x + y))
        if len(at) >= FEWEST_SHARED and np.ptp(x[at]) > 0 and np.ptp(y[at]) > 0:
            shared.append((at, x[at], y[at]))
    if not shared:
        return None

    def mean(inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        found = np.stack([statistic(x, y, weights[:, at]) for at, x, y in shared])
        sizes = np.array([len(at) for at, _, _ in shared])[:, None] * ~np.isnan(found)
        total, size = (np.nan_to_num(found) * sizes).sum(axis=0), sizes.sum(axis=0)
        return np.divide(total, size, out=np.full(len(weights), np.nan), where=size > 0)

    return mean


def _rated_units(ratings: ArrayLike, layout: Layout | None, fewest: int = 1) -> tuple[Floats, Layout]:
    """The units with so many ratings, of shape (raters, units), and their layout."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must have shape (raters, units), but have shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite, or NaN where a rater did not rate")
    rated = (~np.isnan(table)).sum(axis=0) >= fewest
    return table[:, rated], restrict(layout or lay_out(table.shape[1]), rated)
