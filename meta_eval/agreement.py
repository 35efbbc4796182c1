"""Agreement of a metric with the ratings of a set: correlations with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.scores import Scores
from meta_eval.bootstrap import Estimate, Floats
from meta_eval.correlation import CORRELATIONS
from meta_eval.cues import ARE_CUES, FOLDS, VERSION, agreement_beyond_cues, combine_cues, explain_no_fit
from meta_eval.grouping import Grouping, restrict
from meta_eval.intervals import USUAL_RESAMPLING, Resampling, grouped_estimate
from meta_eval.permuted import measure_correlation_chance, widen_interval
from meta_eval.scored_set import ScoredSet

CHEAP_CUES = "cheap_cues"  # the row of what cues alone tell about the ratings
NAMED_METRICS = 6  # metrics that a sentence names
NOT_MEASURED = Estimate.undefined("agreement beyond cues is measured over all examples, where cues are asked for")


@dataclass(frozen=True)
class Agreement:
    """The agreement of one metric with the ratings of one aspect of a set. Correlations lie in [-1, 1]."""

    metric: str
    set: str
    aspect: str
    # number of examples with a score and a rating
    n: int
    # Pearson's r, Spearman's rho, Kendall's tau-b
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    # the partial correlation with the ratings given cheap cues (`meta_eval.cues`): the agreement beyond additive
    # effects of length, repetition, overlap and the like
    beyond_cues: Estimate
    # number of rated examples that the metric could not score
    unscored: int
    # number of rated examples that lost tokens
    truncated: int
    # whether this project generated the set and its ratings
    synthetic: bool
    # over all examples, within systems or inputs, or between systems
    grouping: Grouping = "global"
    # number of groups whose correlations are averaged; 0 for one in which the metric is constant
    groups: int = 1
    # two-sided, that scores and ratings of all examples are independent, adjusted for all metrics of the aspect
    # (`meta_eval.permuted`); NaN in other groupings and for cheap cues
    p_chance: float = math.nan


def agree(
    scored: ScoredSet,
    metric: str,
    aspect: str,
    *,
    grouping: Grouping = "global",
    resampling: Resampling = USUAL_RESAMPLING,
) -> Agreement:
    """Measures how well a metric agrees with the ratings of an aspect; `measure_aspect` adds the agreement beyond cues.

    Examples without a rating do not count; those without a score are counted and left out.

    Intervals are percentile intervals, expanded for the number of inputs (`meta_eval.bootstrap`); they need 30 inputs.
    They exist for a perfect correlation, too, and need no jackknife, which would cost n more resamples. In simulations
    with 30 inputs, intervals of nominally 95 % cover 93 to 94 % for Pearson and 97 % for the others.
    """
    rated = scored.rated(aspect)
    x = rated.values(metric, aspect)
    y = rated.ratings(aspect)
    kept = rated.scored(metric, aspect=aspect)
    estimates = {}
    for name, statistic in CORRELATIONS.items():
        estimates[name] = grouped_estimate(
            statistic,
            x,
            y,
            rated.layout,
            grouping=grouping,
            resampling=resampling,
        )
    groups = 0
    if not math.isnan(estimates["spearman"].value):
        for members in restrict(rated.layout, kept).groups(grouping):
            groups += bool(np.ptp(y[kept][members]) > 0)
    return Agreement(
        metric=metric,
        set=scored.name,
        aspect=aspect,
        n=int(kept.sum()),
        pearson=estimates["pearson"],
        spearman=estimates["spearman"],
        kendall=estimates["kendall"],
        beyond_cues=NOT_MEASURED,
        unscored=int((~kept).sum()),
        truncated=rated.scores[metric].truncated,
        synthetic=scored.synthetic,
        grouping=grouping,
        groups=groups,
    )


def list_agreement(scored: ScoredSet, has_cues: bool = True) -> list[Agreement]:
    """Measures how well every metric agrees with every rated aspect that it scores, over all examples.

    Scores and ratings are matched by the name of the aspect. A metric with a single aspect is compared with every rated
    aspect. Raises ValueError if a metric shares no aspect with the ratings.
    """
    for metric, scores in scored.scores.items():
        compared = [aspect for aspect in scored.aspects if _is_compared(scores, aspect)]
        if scored.aspects and not compared:
            raise ValueError(
                f"{metric} must score a rated aspect, but it scores {', '.join(scores.values)} and {scored.name} is "
                f"rated for {', '.join(scored.aspects)}"
            )
    rows = []
    for aspect in scored.aspects:
        rows += measure_aspect(scored, aspect, has_cues=has_cues)
    return rows


def measure_aspect(
    scored: ScoredSet,
    aspect: str,
    resampling: Resampling = USUAL_RESAMPLING,
    *,
    groupings: Sequence[Grouping] = ("global",),
    has_cues: bool = True,
) -> list[Agreement]:
    """Measures how well every metric agrees with one aspect, in each grouping.

    Over all examples, it also measures the agreement beyond cheap cues (`meta_eval.cues`).
    """
    rated = scored.rated(aspect)
    ratings = rated.ratings(aspect)
    beyond_cues: dict[str, Estimate] = {}
    if has_cues:
        metrics = {name: rated.values(name, aspect) for name in rated.scores if name != CHEAP_CUES}
        beyond_cues = agreement_beyond_cues(metrics, ratings, rated.cues, rated.groups, resampling)
        beyond_cues[CHEAP_CUES] = Estimate.undefined(ARE_CUES)
    compared = [name for name, scores in rated.scores.items() if _is_compared(scores, aspect)]
    columns = {name: rated.values(name, aspect) for name in compared if name != CHEAP_CUES}
    p_chance = measure_correlation_chance(columns, ratings, rated.layout, resampling.seed)
    rows = []
    for grouping in groupings:
        for metric in compared:
            row = agree(
                rated,
                metric,
                aspect,
                grouping=grouping,
                resampling=resampling,
            )
            if grouping == "global":
                row = replace(
                    row,
                    beyond_cues=beyond_cues.get(metric, NOT_MEASURED),
                    p_chance=p_chance.get(metric, math.nan),
                )
            rows.append(row)
    return rows


def _is_compared(scores: Scores, aspect: str) -> bool:
    return aspect in scores.values or len(scores.values) == 1


def add_cheap_cues(scored: ScoredSet, seed: int = 0) -> ScoredSet:
    """Adds the scores `cheap_cues` to a set: its ratings predicted by cheap cues alone, cross-fitted by input.

    Returns the set unchanged if it has too few rated examples for its cues, or if no cue differs between them.
    """
    values: dict[str, Floats] = {}
    for aspect in scored.aspects:
        is_rated = ~np.isnan(scored.ratings(aspect))
        rated = scored.rated(aspect)
        if explain_no_fit(rated.cues.values):
            return scored
        predicted = combine_cues(
            rated.cues,
            rated.ratings(aspect),
            rated.groups,
            seed=seed,
        )
        values[aspect] = np.full(len(scored), np.nan)
        values[aspect][is_rated] = predicted
    if not values:
        return scored
    reasons: list[str | None] = []
    for example in scored.examples:
        has_all_ratings = len(example.ratings) == len(scored.aspects)
        reasons.append(None if has_all_ratings else "not rated for every aspect")
    signature = f"{CHEAP_CUES}|version={VERSION}|folds={FOLDS}|seed={seed}|cues={len(scored.cues.names)}"
    cheap_cues = Scores(values, signature, reasons)
    return replace(scored, scores={**scored.scores, CHEAP_CUES: cheap_cues})


def count_metrics(rows: Sequence[Agreement], among: Agreement) -> int:
    """Counts the metrics, except cheap cues, that are compared with the same ratings and grouping as `among`."""
    ratings = (among.set, among.aspect, among.grouping)
    metrics = [row for row in rows if row.metric != CHEAP_CUES]
    return sum((row.set, row.aspect, row.grouping) == ratings for row in metrics)


def note_cues(rows: Sequence[Agreement]) -> list[str]:
    """Writes a sentence for each set with metrics that are not shown to agree with ratings beyond cheap cues.

    The interval of such a metric's correlation is above 0, but the interval of its correlation beyond the cues is not.
    Intervals are widened for the number of metrics. A sentence names at most `NAMED_METRICS` metrics.
    """
    metrics_by_set: dict[str, list[str]] = {}
    for row in rows:
        looked_at = count_metrics(rows, row)
        agreement = widen_interval(row.spearman, looked_at)
        beyond_cues = widen_interval(row.beyond_cues, looked_at)
        agrees_by_cues_only = agreement.low > 0 and beyond_cues.low <= 0
        if agrees_by_cues_only and row.metric != CHEAP_CUES:
            metrics_by_set.setdefault(row.set, []).append(f"{row.metric} ({row.aspect})")
    return [
        f"{name}: no agreement beyond additive effects of cheap cues (length, repetition, overlap) is shown for "
        f"{_list_first(metrics)}"
        for name, metrics in metrics_by_set.items()
    ]


def _list_first(names: Sequence[str]) -> str:
    """At most `NAMED_METRICS` names, and how many more there are."""
    listed = ", ".join(names[:NAMED_METRICS])
    if len(names) > NAMED_METRICS:
        return f"{listed} and {len(names) - NAMED_METRICS} more"
    return listed
