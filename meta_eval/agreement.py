"""Agreement of a metric with the ratings of a set: correlations with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.scores import Scores
from meta_eval.bootstrap import Estimate, Floats
from meta_eval.chance import measure_correlation_chance, widen_interval
from meta_eval.correlation import CORRELATIONS
from meta_eval.cues import ARE_CUES, FOLDS, VERSION, agreement_beyond_cues, combine_cues, explain_no_fit
from meta_eval.grouping import Grouping, restrict
from meta_eval.intervals import USUAL, Resampling, grouped_estimate
from meta_eval.scored_set import ScoredSet

CHEAP_CUES = "cheap_cues"  # the row of what cues alone tell about the ratings
NAMED = 6  # metrics that a sentence names
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
    # (`meta_eval.chance`); NaN in other groupings and for cheap cues
    p_chance: float = math.nan


def agree(
    scored: ScoredSet, metric: str, aspect: str, *, grouping: Grouping = "global", resampling: Resampling = USUAL
) -> Agreement:
    """The agreement of a metric with the ratings of an aspect; `measure_aspect` adds that beyond cheap cues.

    Examples without a rating do not count; those without a score are counted and left out.

    Percentile intervals exist for a perfect correlation and need no jackknife, which would cost n further resamples.
    They are expanded for the number of inputs (`meta_eval.bootstrap`) and need 30 of them. Simulated at 30, nominally
    95 %, they cover 93 to 94 % for Pearson and 97 % for the others.
    """
    rated = scored.rated(aspect)
    x, y, layout = rated.values(metric, aspect), rated.ratings(aspect), rated.layout
    kept = rated.scored(metric, aspect=aspect)
    estimates = {
        name: grouped_estimate(statistic, x, y, layout, grouping=grouping, resampling=resampling)
        for name, statistic in CORRELATIONS.items()
    }
    within = [] if math.isnan(estimates["spearman"].value) else restrict(layout, kept).groups(grouping)
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
        groups=sum(bool(np.ptp(y[kept][at]) > 0) for at in within),
    )


def list_agreement(scored: ScoredSet, has_cues: bool = True) -> list[Agreement]:
    """The agreement of every metric with every rated aspect that it scores, over all examples.

    Scores and ratings are matched by the name of the aspect. A metric with a single aspect is compared with every
    rated aspect.

    Raises ValueError when a metric shares no aspect with the ratings.
    """
    for metric, found in scored.scores.items():
        if scored.aspects and not any(_is_compared(found, aspect) for aspect in scored.aspects):
            raise ValueError(
                f"{metric} must score a rated aspect, but it scores {', '.join(found.values)} and {scored.name} is "
                f"rated for {', '.join(scored.aspects)}"
            )
    return [row for aspect in scored.aspects for row in measure_aspect(scored, aspect, has_cues=has_cues)]


def measure_aspect(
    scored: ScoredSet,
    aspect: str,
    resampling: Resampling = USUAL,
    *,
    groupings: Sequence[Grouping] = ("global",),
    has_cues: bool = True,
) -> list[Agreement]:
    """The agreement of every metric with one aspect, by grouping; over all examples also beyond cheap cues."""
    rated, beyond, rows = scored.rated(aspect), dict[str, Estimate](), []
    if has_cues:
        metrics = {name: rated.values(name, aspect) for name in rated.scores if name != CHEAP_CUES}
        beyond = agreement_beyond_cues(metrics, rated.ratings(aspect), rated.cues, rated.groups, resampling)
        beyond[CHEAP_CUES] = Estimate.undefined(ARE_CUES)
    compared = [name for name, found in rated.scores.items() if _is_compared(found, aspect)]
    columns = {name: rated.values(name, aspect) for name in compared if name != CHEAP_CUES}
    by_chance = measure_correlation_chance(columns, rated.ratings(aspect), rated.layout, resampling.seed)
    for grouping in groupings:
        for metric in compared:
            row = agree(rated, metric, aspect, grouping=grouping, resampling=resampling)
            if grouping == "global":
                own = beyond.get(metric, NOT_MEASURED)
                row = replace(row, beyond_cues=own, p_chance=by_chance.get(metric, math.nan))
            rows.append(row)
    return rows


def _is_compared(scores: Scores, aspect: str) -> bool:
    return aspect in scores.values or len(scores.values) == 1


def add_cheap_cues(scored: ScoredSet, seed: int = 0) -> ScoredSet:
    """The set with the scores `cheap_cues`: its ratings predicted by cheap cues alone, cross-fitted by input.

    The set itself if it has too few rated examples for its cues, or if no cue differs between them.
    """
    values: dict[str, Floats] = {}
    for aspect in scored.aspects:
        known = ~np.isnan(scored.ratings(aspect))
        rated = scored.rated(aspect)
        if explain_no_fit(rated.cues.values):
            return scored
        values[aspect] = np.full(len(scored), np.nan)
        values[aspect][known] = combine_cues(rated.cues, rated.ratings(aspect), rated.groups, seed=seed)
    is_rated = [len(example.ratings) == len(scored.aspects) for example in scored.examples]
    reasons = [None if every else "not rated for every aspect" for every in is_rated]
    line = f"{CHEAP_CUES}|version={VERSION}|folds={FOLDS}|seed={seed}|cues={len(scored.cues.names)}"
    return replace(scored, scores={**scored.scores, CHEAP_CUES: Scores(values, line, reasons)}) if values else scored


def count_metrics(rows: Sequence[Agreement], among: Agreement) -> int:
    """How many metrics beside cheap cues are held against the same ratings in the same grouping."""
    where = (among.set, among.aspect, among.grouping)
    return sum((row.set, row.aspect, row.grouping) == where and row.metric != CHEAP_CUES for row in rows)


def note_cues(rows: Sequence[Agreement]) -> list[str]:
    """A sentence for each set whose ratings some metric agrees with only as far as cheap cues do.

    The metric's correlation with the ratings is above 0, that beyond the cues is not; both by intervals that are
    widened for the number of metrics. A sentence names at most `NAMED` metrics; the table has them all.
    """
    only: dict[str, list[str]] = {}
    for row in rows:
        looked_at = count_metrics(rows, row)
        agrees = widen_interval(row.spearman, looked_at).low > 0
        if agrees and widen_interval(row.beyond_cues, looked_at).low <= 0 and row.metric != CHEAP_CUES:
            only.setdefault(row.set, []).append(f"{row.metric} ({row.aspect})")
    return [
        f"{name}: no agreement beyond additive effects of cheap cues (length, repetition, overlap) is shown for "
        + ", ".join(metrics[:NAMED])
        + (f" and {len(metrics) - NAMED} more" if metrics[NAMED:] else "")
        for name, metrics in only.items()
    ]
