"""Agreement among raters: Krippendorff's alpha, and how well one rater predicts the others.

Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability". Ratings are a matrix (raters, units) with NaN for a
missing rating; a unit is an output or a system. Leave-one-rater-out correlation is a ceiling for metrics: it is what
one person reaches against the mean of the others. Intervals draw the inputs that a layout gives: outputs for one input
are not independent.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Floats, pearson, spearman
from meta_eval.grouping import Layout, lay_out
from meta_eval.intervals import Resampling, draw_grouped, restrict

Scale = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class Ceiling:
    """Leave-one-rater-out correlations.

    Attributes:
        estimate: the mean over raters, with an interval over inputs.
        raters: one correlation per rater, of shape (raters,); NaN for a rater with too few or equal ratings.
    """

    estimate: Estimate
    raters: Floats


def krippendorff_alpha(
    ratings: ArrayLike, scale: Scale, resampling: Resampling | None = None, *, layout: Layout | None = None
) -> Estimate:
    """Krippendorff's alpha of `ratings`, of shape (raters, units): 1 - observed / expected disagreement.

    1 is full agreement, 0 is chance, and alpha may be negative. Units with fewer than two ratings are left out. The
    interval draws the inputs of `layout`; without it each unit is an input.
    """
    table, layout = _paired_units(ratings, layout)
    units = table.shape[1]
    if units < 2:
        return Estimate.undefined(f"alpha needs at least 2 units with 2 ratings, but there are {units}")
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return Estimate.undefined(f"all ratings are {values[0]:g}: without variation alpha is not defined")
    counts = (table[:, :, None] == values).sum(axis=0).astype(np.float64)  # (units, values)
    per_unit = counts.sum(axis=1)

    of_inputs = np.zeros((layout.input_count, len(values)))
    np.add.at(of_inputs, layout.inputs, counts)

    def expect(totals: Floats, copies: Floats, distances: Floats) -> Floats:
        """Expected disagreement, without the pairs of an input and its copy: no two inputs of a sample are the same."""
        between = np.einsum("ic,ck,ik->i", of_inputs, distances, of_inputs)
        number = totals.sum(axis=1)
        pairs = number * (number - 1) - copies @ of_inputs.sum(axis=1) ** 2
        total = np.einsum("rc,ck,rk->r", totals, distances, totals) - copies @ between
        return np.divide(number * total, pairs, out=np.zeros(len(pairs)), where=pairs > 0)

    def alpha(_: Floats, inputs: Floats) -> Floats:
        weights, copies = inputs[:, layout.inputs], inputs * (inputs - 1)
        totals = weights @ counts  # (resamples, values)
        if scale != "ordinal":  # the distances are the same in every resample
            distances = _distances(values, totals[0], scale)
            observed = weights @ _disagreements(counts, per_unit, distances)
            expected = expect(totals, copies, distances)
        else:
            observed, expected = np.empty(len(weights)), np.empty(len(weights))
            for r, total in enumerate(totals):
                distances = _distances(values, total, scale)
                observed[r] = weights[r] @ _disagreements(counts, per_unit, distances)
                expected[r] = expect(total[None], copies[r : r + 1], distances)[0]
        return 1 - np.divide(observed, expected, out=np.full(len(weights), np.nan), where=expected > 0)

    return draw_grouped(alpha, layout, _over_inputs(resampling)).estimate


def leave_one_out(
    ratings: ArrayLike,
    kind: Literal["pearson", "spearman"] = "spearman",
    resampling: Resampling | None = None,
    *,
    layout: Layout | None = None,
) -> Ceiling:
    """The mean correlation of each rater with the mean of the other raters, over the units that both rated.

    `ratings` has shape (raters, units). Raters whose correlation is not defined are left out of the mean. The interval
    draws the inputs of `layout`; without it each unit is an input.
    """
    table, layout = _paired_units(ratings, layout)
    raters, units = table.shape
    statistic = spearman if kind == "spearman" else pearson
    pairs = []
    for rater in range(raters):
        others = np.delete(table, rater, axis=0)
        given = (~np.isnan(others)).sum(axis=0)
        means = np.divide(np.nansum(others, axis=0), given, out=np.full(units, np.nan), where=given > 0)
        at = np.flatnonzero(~np.isnan(table[rater]) & (given > 0))
        varies = len(at) >= 3 and np.ptp(table[rater, at]) > 0 and np.ptp(means[at]) > 0
        pairs.append((at, table[rater, at], means[at]) if varies else None)
    defined = [pair for pair in pairs if pair is not None]
    if not defined:
        reason = "no rater has 3 or more units in common with others and ratings that vary"
        return Ceiling(Estimate.undefined(reason), np.full(raters, np.nan))

    def mean_correlation(_: Floats, inputs: Floats) -> Floats:
        weights = inputs[:, layout.inputs]
        found = np.stack([statistic(own, others, weights[:, at]) for at, own, others in defined])
        present = ~np.isnan(found)
        count = present.sum(axis=0)
        total = np.where(present, found, 0.0).sum(axis=0)
        return np.divide(total, count, out=np.full(len(weights), np.nan), where=count > 0)

    single = np.array(
        [math.nan if pair is None else statistic(pair[1], pair[2], np.ones((1, len(pair[0]))))[0] for pair in pairs]
    )
    return Ceiling(draw_grouped(mean_correlation, layout, _over_inputs(resampling)).estimate, single)


def _disagreements(counts: Floats, per_unit: Floats, distances: Floats) -> Floats:
    """Each unit's disagreement: the sum of distances of its ordered pairs, divided by its number of ratings minus 1."""
    return np.einsum("uc,ck,uk->u", counts, distances, counts) / (per_unit - 1)


def _distances(values: Floats, totals: Floats, scale: Scale) -> Floats:
    """Squared distances between rating values, of shape (values, values)."""
    if scale == "nominal":
        return 1.0 - np.eye(len(values))
    if scale == "interval":
        return np.subtract.outer(values, values) ** 2
    # the number of ratings from c to k, where those at the ends count half: the difference of mid-ranks
    middle = np.cumsum(totals) - totals / 2
    return np.subtract.outer(middle, middle) ** 2


def _paired_units(ratings: ArrayLike, layout: Layout | None) -> tuple[Floats, Layout]:
    """The units with at least two ratings, of shape (raters, units), and their layout."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must have shape (raters, units), but have shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite, or NaN where a rater did not rate")
    paired = (~np.isnan(table)).sum(axis=0) >= 2
    return table[:, paired], restrict(layout or lay_out(table.shape[1]), paired)


def _over_inputs(resampling: Resampling | None) -> Resampling:
    found = resampling or Resampling()
    if found.over != "inputs":
        raise ValueError(f"agreement among raters needs intervals over inputs, but over is {found.over}")
    return found
