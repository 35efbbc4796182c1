"""Agreement of metrics with the ratings of a set, over all texts, within systems and between systems.

Systems differ, and a metric that only recognises which system wrote a text agrees with ratings over all texts. Within
systems it does not. So each metric has both, and the set has two rows that are no metric: `system_alone`, how well the
name of the system agrees, and `ceiling`, how well a perfect metric would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.scores import Scores
from meta_eval.correlation import correlation_ratio, kendall, pearson, spearman
from meta_eval.cues import ARE_CUES, FOLDS, VERSION, agreement_beyond_cues, combine_cues, explain_no_fit
from meta_eval.design import Floats, Grouping, Mask, restrict
from meta_eval.estimates import Estimate, estimate_weighted
from meta_eval.grouping import Statistic, estimate_correlation
from meta_eval.permuted import measure_correlation_chance, widen_interval
from meta_eval.raters import find_ceiling
from meta_eval.scored_set import ScoredSet

CHEAP_CUES = "cheap_cues"  # the row of what cues alone tell about the ratings
SYSTEM_ALONE = "system_alone"  # the row of what the name of the system alone tells about the ratings
CEILING = "ceiling"  # the row of what a perfect metric would reach
NOT_METRICS = (CHEAP_CUES, SYSTEM_ALONE, CEILING)
NAMED_METRICS = 6  # metrics that a sentence names
NOT_MEASURED = Estimate.undefined("cheap cues were not asked for")
TOO_ALIKE = "the ratings or the systems do not vary enough to tell what the system alone says"
NO_QUESTION = Estimate(math.nan, math.nan, math.nan)  # of a row that is no metric


@dataclass(frozen=True)
class Agreement:
    """The agreement of one metric with the ratings of one aspect of a set. Correlations lie in [-1, 1].

    The rows `NOT_METRICS` stand for no metric.
    """

    metric: str
    set: str
    aspect: str
    # number of examples with a score and a rating
    n: int
    # Pearson's r, Spearman's rho, Kendall's tau-b, over all examples
    pearson: Estimate = NO_QUESTION
    spearman: Estimate = NO_QUESTION
    kendall: Estimate = NO_QUESTION
    # the partial correlation with the ratings given cheap cues (`meta_eval.cues`): the agreement beyond additive
    # effects of length, repetition, overlap and the like
    beyond_cues: Estimate = NO_QUESTION
    # number of rated examples that the metric could not score
    unscored: int = 0
    # number of rated examples that lost tokens
    truncated: int = 0
    # whether this project generated the set and its ratings
    synthetic: bool = False
    # Spearman's rho within systems, and between the means of systems (`meta_eval.grouping`)
    within_systems: Estimate = NO_QUESTION
    between_systems: Estimate = NO_QUESTION
    # number of systems that wrote these examples; 0 if the examples do not name them
    systems: int = 0
    # two-sided, that scores and ratings of all examples are independent, adjusted for all metrics of the aspect
    # (`meta_eval.permuted`); NaN for the rows that are no metric
    p_chance: float = math.nan


def agree(scored: ScoredSet, metric: str, aspect: str) -> Agreement:
    """Measures how well a metric agrees with the ratings of an aspect; `measure_aspect` adds the agreement beyond cues.

    Examples without a rating do not count; those without a score are counted and left out.

    Intervals are those of `meta_eval.estimates`, over inputs, and between systems over systems.
    """
    rated = scored.rated(aspect)
    x = rated.values(metric, aspect)
    y = rated.ratings(aspect)
    kept = rated.scored(metric, aspect=aspect)

    def correlate(statistic: Statistic, grouping: Grouping = "global") -> Estimate:
        return estimate_correlation(
            statistic,
            x,
            y,
            rated.layout,
            grouping=grouping,
        )

    return Agreement(
        metric=metric,
        set=scored.name,
        aspect=aspect,
        n=int(kept.sum()),
        spearman=correlate(spearman),
        pearson=correlate(pearson),
        kendall=correlate(kendall),
        within_systems=correlate(spearman, "within_systems"),
        between_systems=correlate(spearman, "between_systems"),
        systems=_count_systems(rated, kept),
        beyond_cues=NOT_MEASURED,
        unscored=int((~kept).sum()),
        truncated=rated.scores[metric].truncated,
        synthetic=scored.synthetic,
    )


def list_agreement(scored: ScoredSet, seed: int = 0, *, has_cues: bool = True) -> list[Agreement]:
    """Measures how well every metric agrees with every rated aspect that it scores: the rows of every table of them.

    Each aspect also has rows that are no metric: cheap cues (with `has_cues`, and enough texts), the system alone (if
    several systems are named) and the ceiling (if several people rated the aspect).

    Scores and ratings are matched by the name of the aspect. A metric with a single aspect is compared with every rated
    aspect. Raises ValueError if a metric shares no aspect with the ratings.
    """
    if has_cues:
        scored = add_cheap_cues(scored, seed)
    for metric, scores in scored.scores.items():
        compared = [aspect for aspect in scored.aspects if _is_compared(scores, aspect)]
        if scored.aspects and not compared:
            raise ValueError(
                f"{metric} must score a rated aspect, but it scores {', '.join(scores.values)} and {scored.name} is "
                f"rated for {', '.join(scored.aspects)}"
            )
    rows = []
    for aspect in scored.aspects:
        rows += measure_aspect(
            scored,
            aspect,
            seed,
            has_cues=has_cues,
        )
        if scored.rated(aspect).layout.system_count > 1:
            rows.append(measure_system_alone(scored, aspect))
        if aspect in scored.raters:
            rows.append(measure_ceiling(scored, aspect))
    return rows


def measure_aspect(
    scored: ScoredSet,
    aspect: str,
    seed: int = 0,
    *,
    has_cues: bool = True,
) -> list[Agreement]:
    """Measures how well every metric agrees with one aspect, also beyond cheap cues (`meta_eval.cues`)."""
    rated = scored.rated(aspect)
    ratings = rated.ratings(aspect)
    beyond_cues: dict[str, Estimate] = {}
    if has_cues:
        metrics = {name: rated.values(name, aspect) for name in rated.scores if name != CHEAP_CUES}
        beyond_cues = agreement_beyond_cues(metrics, ratings, rated.cues, rated.groups)
        beyond_cues[CHEAP_CUES] = Estimate.undefined(ARE_CUES)
    compared = [name for name, scores in rated.scores.items() if _is_compared(scores, aspect)]
    columns = {name: rated.values(name, aspect) for name in compared if name != CHEAP_CUES}
    p_chance = measure_correlation_chance(columns, ratings, rated.layout, seed)
    rows = []
    for metric in compared:
        row = agree(rated, metric, aspect)
        row = replace(row, beyond_cues=beyond_cues.get(metric, NOT_MEASURED), p_chance=p_chance.get(metric, math.nan))
        rows.append(row)
    return rows


def measure_system_alone(scored: ScoredSet, aspect: str) -> Agreement:
    """Measures how well the name of the system agrees with the ratings of an aspect.

    This is the root of the adjusted correlation ratio of ranks (`correlation_ratio`), 0 for a negative one: the rank
    correlation with the mean rank of each system that the ratings of many more texts would show. Plain mean ratings of
    systems agree by chance, too, and more where there are more systems. The interval is the jackknife's for the ratio,
    over inputs; in simulations of 2 to 16 systems it covers .89 to .97, and more where systems are equal.
    """
    rated = scored.rated(aspect)
    ratings = rated.ratings(aspect)
    layout = rated.layout

    def explain(inputs: Floats) -> Floats:
        return correlation_ratio(ratings, layout.systems, inputs[:, layout.inputs])

    ratio = estimate_weighted(explain, layout).only
    value, low, high = np.sqrt(np.clip([ratio.value, ratio.low, ratio.high], 0.0, 1.0)).tolist()
    reason = TOO_ALIKE if math.isnan(ratio.value) else ratio.reason
    return _make_row(SYSTEM_ALONE, rated, aspect, Estimate(value, low, high, reason))


def measure_ceiling(scored: ScoredSet, aspect: str) -> Agreement:
    """Measures what a perfect metric would reach, over all examples and within systems (`meta_eval.raters`)."""
    rated = scored.rated(aspect)
    ratings = rated.raters[aspect]
    layout = rated.layout
    ceiling = find_ceiling(ratings, "spearman", layout=layout)
    return replace(
        _make_row(CEILING, rated, aspect, ceiling),
        pearson=find_ceiling(ratings, "pearson", layout=layout),
        within_systems=find_ceiling(
            ratings,
            "spearman",
            layout=layout,
            grouping="within_systems",
        ),
    )


def _make_row(
    name: str,
    rated: ScoredSet,
    aspect: str,
    spearman: Estimate,
) -> Agreement:
    """A row that is no metric, with its rank correlation over all examples."""
    return Agreement(
        metric=name,
        set=rated.name,
        aspect=aspect,
        n=len(rated),
        synthetic=rated.synthetic,
        spearman=spearman,
        systems=_count_systems(rated),
    )


def _count_systems(rated: ScoredSet, kept: Mask | None = None) -> int:
    """The number of systems that wrote the kept examples; 0 if they are not named."""
    if rated.systems is None:
        return 0
    layout = rated.layout if kept is None else restrict(rated.layout, kept)
    return layout.system_count


def _is_compared(scores: Scores, aspect: str) -> bool:
    return aspect in scores.values or len(scores.values) == 1


def add_cheap_cues(scored: ScoredSet, seed: int = 0) -> ScoredSet:
    """Adds the scores `cheap_cues` to a set: its ratings predicted by cheap cues alone, cross-fitted by input.

    Returns the set unchanged if it has them, if it has too few rated examples for its cues, or if no cue differs.
    """
    if CHEAP_CUES in scored.scores:
        return scored
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
    """Counts the metrics that are compared with the same ratings as `among`."""
    ratings = (among.set, among.aspect)
    metrics = [row for row in rows if row.metric not in NOT_METRICS]
    return sum((row.set, row.aspect) == ratings for row in metrics)


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
        if agrees_by_cues_only and row.metric not in NOT_METRICS:
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
