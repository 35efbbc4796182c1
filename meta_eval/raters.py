"""Agreement among raters: Krippendorff's alpha, and how well one rater predicts the others.

Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability". Ratings are a matrix (raters, units) with NaN for a
missing rating; a unit is an output or a system. Leave-one-rater-out correlation is a ceiling for metrics: it is what
one person reaches against the mean of the others.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Floats, pearson, spearman
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling, grouped_bootstrap

Scale = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class Ceiling:
    """Leave-one-rater-out correlations.

    Attributes:
        estimate: the mean over raters, with an interval over units.
        raters: one correlation per rater, of shape (raters,); NaN for a rater with too few or equal ratings.
    """

    estimate: Estimate
    raters: Floats


def krippendorff_alpha(ratings: ArrayLike, scale: Scale, resampling: Resampling | None = None) -> Estimate:
    """Krippendorff's alpha of `ratings`, of shape (raters, units): 1 - observed / expected disagreement.

    1 is full agreement, 0 is chance, and alpha may be negative. Units with fewer than two ratings are left out. The
    interval is over units.
    """
    table = _as_table(ratings)
    table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    units = table.shape[1]
    if units < 2:
        return _undefined(f"alpha needs at least 2 units with 2 ratings, but there are {units}")
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return _undefined(f"all ratings are {values[0]:g}: without variation alpha is not defined")
    counts = (table[:, :, None] == values).sum(axis=0).astype(np.float64)  # (units, values)
    per_unit = counts.sum(axis=1)

    def alpha(_: Floats, weights: Floats) -> Floats:
        totals = weights @ counts  # (resamples, values)
        found = np.full(len(weights), np.nan)
        if scale != "ordinal":  # the distances are the same in every resample
            distances = _distances(values, totals[0], scale)
            observed = weights @ _disagreements(counts, per_unit, distances)
            expected = np.einsum("rc,ck,rk->r", totals, distances, totals) / (totals.sum(axis=1) - 1)
            return 1 - np.divide(observed, expected, out=found, where=expected > 0)
        for r, total in enumerate(totals):
            distances = _distances(values, total, scale)
            expected = total @ distances @ total / (total.sum() - 1)
            if expected > 0:
                found[r] = 1 - weights[r] @ _disagreements(counts, per_unit, distances) / expected
        return found

    estimate, _ = grouped_bootstrap(alpha, lay_out(units), resampling or Resampling())
    return estimate


def leave_one_out(
    ratings: ArrayLike, kind: Literal["pearson", "spearman"] = "spearman", resampling: Resampling | None = None
) -> Ceiling:
    """The mean correlation of each rater with the mean of the other raters, over the units that both rated.

    `ratings` has shape (raters, units). Raters whose correlation is not defined are left out of the mean.
    """
    table = _as_table(ratings)
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
        return Ceiling(_undefined(reason), np.full(raters, np.nan))

    def mean_correlation(_: Floats, weights: Floats) -> Floats:
        found = np.stack([statistic(own, others, weights[:, at]) for at, own, others in defined])
        present = ~np.isnan(found)
        count = present.sum(axis=0)
        total = np.where(present, found, 0.0).sum(axis=0)
        return np.divide(total, count, out=np.full(len(weights), np.nan), where=count > 0)

    single = np.array(
        [math.nan if pair is None else statistic(pair[1], pair[2], np.ones((1, len(pair[0]))))[0] for pair in pairs]
    )
    estimate, _ = grouped_bootstrap(mean_correlation, lay_out(units), resampling or Resampling())
    return Ceiling(estimate, single)


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


def _as_table(ratings: ArrayLike) -> Floats:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must have shape (raters, units), but have shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite, or NaN where a rater did not rate")
    return table


def _undefined(reason: str) -> Estimate:
    return Estimate.undefined(reason)
