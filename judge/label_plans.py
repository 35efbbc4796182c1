"""How many labels of people a decision needs, and how many texts a judge should rate in addition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from core.settings import Count, Fraction, NonNegative, Positive, Several, checked_dataclass
from judge.labelling import LabelledAspect, Labelling, list_labelled
from meta_eval.budgets import (
    Budget,
    Variation,
    has_power,
    is_within,
    plan_budget,
    vary_kappa,
    vary_mean,
)
from meta_eval.correlation import pearson
from meta_eval.design import Floats, Layout, lay_out, restrict
from meta_eval.estimates import Estimate
from meta_eval.grouping import estimate_correlation
from meta_eval.labels import estimate_kappa
from meta_eval.planning import Statistic, count_pairs
from meta_eval.preferences import OUTCOMES, Preferences, in_both_orders
from meta_eval.scored_set import ScoredSet
from meta_eval.ties import to_outcomes
from report.tables import Table, tabulate

ASSUMED = "judge"  # its name without a pilot
MOST_WITHIN = {"kappa": 1.0, "weighted kappa": 1.0, "rate": 0.5, "win rate": 0.5}  # half of what they range over
COLUMNS = ("quantity", "judge", "wanted", "value", "correlation", "labels", "verdicts", "cost", "alone", "cost_alone")
CAPTION = (
    "The cheapest labels and verdicts; 0 verdicts where the judge is not worth its cost. A kappa needs the verdicts "
    "on its labels only. A difference counts the labels of both systems. At least 30 labels: intervals need them."
)


@checked_dataclass
class PlanSettings:
    """Settings of a plan: what to detect or estimate, costs, and assumptions used without a pilot."""

    # plan labels: half of the width of the interval of a kappa, and of a rate, mean rating or win rate
    within: Positive | None = None
    # of a label, and of a text that the judge reads, in any unit
    costs: Annotated[Sequence[NonNegative], Field(min_length=2, max_length=2)] = (1.0, 0.01)
    # how many texts (or pairs) there are to label and to judge
    texts: Count | None = None
    # without a pilot: the share of texts with the label
    rate: Fraction = 0.5
    # without a pilot: of the judge with people
    kappa: Annotated[float, Field(gt=-1, lt=1)] = 0.6
    # of the judge, or the better metric, with one rater's labels or ratings
    correlation: Annotated[float, Field(gt=-1, lt=1)] = 0.4
    # the correlation of the two metrics with each other
    between_metrics: Annotated[float, Field(gt=-1, lt=1)] = 0.6
    # the correlation of two raters; between_raters of judge agree estimates it
    between_raters: Fraction = 0.5
    # without a pilot: the standard deviation between inputs of the difference of two systems, in points of the scale
    spread_inputs: NonNegative = 0.5
    # without a pilot: the standard deviation of one rater's difference around this
    spread_raters: NonNegative = 1.0
    # of correlations, and of mean ratings, to detect
    differences: Several[Positive] = (0.05, 0.1, 0.2)
    # numbers of raters per output
    raters: Several[Count] = (1, 3, 5)
    # how many metrics are compared at once: p-values are adjusted for all pairs of them
    compared_metrics: Annotated[int, Field(ge=2)] = 2
    # how many systems are compared at once
    compared_systems: Annotated[int, Field(ge=2)] = 2
    # of the two metrics with the ratings
    statistic: Statistic = "spearman"
    # probability to detect the difference
    power: Fraction = 0.8
    # of significance, of the two-sided tests
    level: Fraction = 0.05

    def __post_init__(self) -> None:
        if self.costs[0] == 0:
            raise ValueError("the first of costs, that of a label, must be above 0, but is 0")
        if self.costs[1] == 0 and self.texts is None:
            raise ValueError("texts must be the number of texts to judge if verdicts cost nothing")
        if self.spread_inputs + self.spread_raters == 0:
            raise ValueError("spread_inputs and spread_raters must not both be 0")


@dataclass(frozen=True)
class Quantity:
    """A quantity to estimate from labels."""

    # such as kappa or win rate
    name: str
    # whose verdicts are used; "" for none
    judge: str
    # how it varies, or why that is not known
    variation: Variation | str
    # of the judge with labels
    correlation: Estimate | float = math.nan
    # to detect from 0; None for an interval
    difference: float | None = None
    # how many texts are labelled at once: both of an input for a difference of two systems
    outputs: int = 1


def assume(given: PlanSettings) -> Iterator[Quantity]:
    """Yields quantities by assumptions: kappa and a rate of yes/no labels, and differences of two systems."""
    yield Quantity("kappa", ASSUMED, vary_kappa(given.kappa, given.rate))
    whole = given.rate * (1 - given.rate)
    explained = given.correlation**2
    rate = Variation(
        given.rate,
        whole,
        whole * (1 - explained),
        whole * explained,
        untied=1.0,
    )
    yield Quantity("rate", ASSUMED, rate, given.correlation)
    for difference in given.differences:
        yield Quantity(
            name="difference",
            judge=ASSUMED,
            variation=vary_rates(given.rate, difference, explained),
            correlation=given.correlation,
            difference=difference,
            outputs=2,
        )


def vary_rates(
    rate: float,
    difference: float,
    explained: float,
) -> Variation | str:
    """Computes the variation of the difference of two rates: `rate`, and a rate that is `difference` higher or lower.

    `explained` is the share of each variance that verdicts explain. Of the higher and the lower rate, the rate with the
    larger variance is taken. Returns a reason if neither lies between 0 and 1.
    """
    others = [other for other in (rate + difference, rate - difference) if 0 <= other <= 1]
    if not others:
        return f"no rate from 0 to 1 differs from {rate:g} by {difference:g}"
    both = rate * (1 - rate) + max(other * (1 - other) for other in others)
    return Variation(difference, both, both * (1 - explained), both * explained)


def measure_pairs(given: Preferences, differences: Sequence[float]) -> Iterator[Quantity]:
    """Measures in a pilot of pairs: kappa of each judge with people (or of people among themselves), and win rates."""
    asked = given.by_majority()
    labels = asked.outcomes
    judges = [name for name, verdicts in asked.judges.items() if not np.isnan(labels + verdicts).all()]
    for name in judges or [""]:
        verdicts = asked.judges[name] if name else np.full(len(labels), 0.5)
        kept = ~np.isnan(labels + verdicts)
        table = np.stack([labels, to_outcomes(verdicts - 0.5)]) if name else given.by_rater()
        if len(table) > 1:
            columns, twice = in_both_orders(table[:, kept], restrict(asked.layout, kept))
            kappa = _vary_pairwise_kappa("kappa", columns, OUTCOMES, twice, texts=int(kept.sum()))
            yield Quantity("kappa", name, kappa)
        alone = lay_out(int(kept.sum()))
        (both_labels, both_verdicts), pairs = in_both_orders(np.stack([labels, verdicts])[:, kept], alone)
        correlation = _correlate(name, both_labels, both_verdicts, pairs)
        rate = vary_mean(labels[kept], verdicts[kept], alone, 0.5)
        yield Quantity("win rate", name, rate, correlation)
        for difference in differences:
            gap = replace(rate, value=0.0)
            yield Quantity("win rate minus 1/2", name, gap, correlation, difference)


def measure_texts(
    scored: ScoredSet,
    aspect: str,
    systems: Sequence[str],
    differences: Sequence[float],
) -> Iterator[Quantity]:
    """Measures in a pilot of texts what a plan estimates: kappas, means, and differences between two systems.

    Kappas are those of judges with people, or of people among themselves. `differences` are the sizes to detect.
    """
    rated = scored.split_aspects().rated(aspect)
    labelled = next((found for found in list_labelled(rated, Labelling()) if found.aspect == aspect), None)
    judges = [name for name in rated.scores if not np.isnan(rated.values(name, aspect)).all()]
    for name in judges or [""]:
        if labelled is not None and (not name or name in labelled.judged):
            yield from _measure_kappas(labelled, name)
        ratings = rated.ratings(aspect)
        scores = rated.values(name, aspect) if name else np.zeros(len(ratings))
        kept = ~np.isnan(scores)
        layout = restrict(rated.layout, kept)
        mean = vary_mean(ratings[kept], scores[kept], layout)
        correlation = _correlate(name, ratings[kept], scores[kept], layout)
        yield Quantity("mean" if mean.untied is None else "rate", name, mean, correlation)
        yield from _measure_differences(rated, name, ratings, scores, systems=systems, differences=differences)


def _measure_differences(
    rated: ScoredSet,
    name: str,
    ratings: Floats,
    scores: Floats,
    *,
    systems: Sequence[str],
    differences: Sequence[float],
) -> Iterator[Quantity]:
    """Differences of two systems to detect, where two are named, or there are two, on at least three inputs."""
    known = list(dict.fromkeys(rated.systems or ()))
    compared = [system for system in known if system in systems or len(known) == 2]
    if len(compared) != 2:
        return
    a, b = (known.index(system) for system in compared)
    grids = [rated.layout.to_grid(values) for values in (ratings, scores)]
    gaps = np.stack([grid[a] - grid[b] for grid in grids])
    of_people, of_judge = gaps[:, ~np.isnan(gaps).any(axis=0)]
    if len(of_people) < 3:
        return
    layout = lay_out(len(of_people))
    variation = vary_mean(of_people, of_judge, layout)
    correlation = _correlate(name, of_people, of_judge, layout)
    for difference in differences:
        yield Quantity(
            name="difference",
            judge=name,
            variation=variation,
            correlation=correlation,
            difference=difference,
            outputs=2,
        )


def _measure_kappas(labelled: LabelledAspect, name: str) -> Iterator[Quantity]:
    """Kappa, and weighted kappa of several labels, of a judge that gives labels; without a name, of people."""
    table = np.stack([labelled.consensus, labelled.judged[name]]) if name else labelled.people
    both = (~np.isnan(table)).sum(axis=0) > 1
    if not both.any():
        return
    layout = restrict(labelled.rated.layout, both)
    for kind in ("kappa", "weighted kappa") if len(labelled.labels) > 2 else ("kappa",):
        kappa = _vary_pairwise_kappa(kind, table[:, both], labelled.labels, layout, texts=int(both.sum()))
        yield Quantity(kind, name, kappa)


def _vary_pairwise_kappa(
    kind: str,
    table: Floats,
    labels: Floats,
    layout: Layout,
    *,
    texts: int,
) -> Variation | str:
    """How kappa of all pairs of rows of a table of labels varies."""
    pairs = [*combinations(table, 2)]
    kappa = estimate_kappa(pairs, labels, layout, is_weighted=kind != "kappa")
    shown = kappa.only
    if math.isnan(shown.low):
        return str(shown.reason)
    return Variation(shown.value, variance=texts * float(kappa.variances[0]))


def _correlate(
    name: str,
    labels: Floats,
    verdicts: Floats,
    layout: Layout,
) -> Estimate | float:
    """The correlation of verdicts with labels; NaN without a judge."""
    return estimate_correlation(pearson, verdicts, labels, layout) if name else math.nan


@dataclass(frozen=True)
class PlannedQuantity:
    """A quantity with two budgets: the cheapest that is enough (`best`), and the cheapest without a judge (`alone`)."""

    quantity: Quantity
    best: Budget
    alone: Budget


def plan_labels(quantities: Sequence[Quantity], goal: PlanSettings) -> tuple[Table, str]:
    """Plans a budget for each quantity. Returns the table of budgets, and the decision as a sentence."""
    planned = [_find_budget(quantity, goal) for quantity in quantities]
    has_judge = any(quantity.judge for quantity in quantities)
    rows = [_list_cells(found, goal, has_judge=has_judge) for found in planned]
    return tabulate("Labels needed", CAPTION, rows), decide(planned, goal)


def _list_cells(
    planned: PlannedQuantity,
    goal: PlanSettings,
    *,
    has_judge: bool,
) -> dict[str, Any]:
    """The row of a quantity, with the columns of judges where there are any."""
    quantity = planned.quantity
    best = planned.best
    cells = {
        "quantity": quantity.name,
        "wanted": _show_wanted(quantity, goal),
        "value": quantity.variation.value if isinstance(quantity.variation, Variation) else math.nan,
        "labels": best.labels,
        "cost": best.cost,
    }
    if has_judge:
        cells |= {
            "judge": quantity.judge,
            "correlation": quantity.correlation,
            "verdicts": best.verdicts,
            "alone": planned.alone.labels,
            "cost_alone": planned.alone.cost,
        }
    ordered = {name: cells[name] for name in COLUMNS if name in cells}
    return {**ordered, "reason": best.reason or ""}


def _show_wanted(quantity: Quantity, goal: PlanSettings) -> str:
    """Half of the width of an interval, or the difference to detect."""
    if quantity.difference is None:
        return f"{goal.within:g}"
    return f"{quantity.difference:g}, power {goal.power:g}"


def _find_budget(quantity: Quantity, goal: PlanSettings) -> PlannedQuantity:
    """The cheapest budget for a quantity; one of NaN with a reason where none is known."""
    variation = quantity.variation
    most = MOST_WITHIN.get(quantity.name, math.inf)
    if quantity.difference is None and (goal.within or 0.0) >= most:
        variation = f"within must be below {most:g} for this quantity"
    if isinstance(variation, str):
        return _refuse(quantity, variation)
    if variation.variance <= 0:
        return _refuse(quantity, "the pilot's labels are too few, or do not vary")
    if quantity.difference is None:
        is_enough = is_within(variation, goal.within or 0.0)
    else:
        level = goal.level / count_pairs(goal.compared_systems)
        is_enough = has_power(variation, quantity.difference, goal.power, level)
    of_label, of_verdict = (cost * quantity.outputs for cost in goal.costs)
    texts = goal.texts and goal.texts // quantity.outputs
    best, alone = plan_budget(variation, is_enough, of_label, of_verdict, texts)
    return PlannedQuantity(quantity, _count_outputs(best, quantity), _count_outputs(alone, quantity))


def _refuse(quantity: Quantity, reason: str) -> PlannedQuantity:
    """No budget, for a reason."""
    none = Budget(math.nan, math.nan, math.nan, reason)
    return PlannedQuantity(quantity, none, none)


def _count_outputs(budget: Budget, quantity: Quantity) -> Budget:
    """The budget with all outputs of an input counted."""
    return replace(
        budget,
        labels=budget.labels * quantity.outputs,
        verdicts=budget.verdicts * quantity.outputs,
    )


def decide(planned: Sequence[PlannedQuantity], goal: PlanSettings) -> str:
    """Writes a sentence: the cheapest budget, with any judge, for each quantity and for the smallest difference."""
    differences = [found.quantity.difference for found in planned if found.quantity.difference is not None]
    smallest = min(differences, default=None)
    parts: list[str] = []
    unknown: list[str] = []
    for name in dict.fromkeys(found.quantity.name for found in planned):
        of_name = [found for found in planned if found.quantity.name == name]
        asked = [found for found in of_name if found.quantity.difference in (None, smallest)]
        known = [found for found in asked if found.best.reason is None]
        wanted = _describe_wanted(asked[0].quantity, goal, judges=len(known))
        if not known:
            unknown.append(f"{wanted} ({asked[0].best.reason})")
        elif name.endswith("kappa"):
            parts.append(f"{max(found.best.labels for found in known):,} labels for {wanted}")
        else:
            cheapest = min(known, key=lambda found: found.best.cost)
            parts.append(f"{_describe_budget(cheapest)} for {wanted}")
    sentences = [("Get", parts), ("No number of labels is known for", unknown)]
    return " ".join(f"{begin} {'; '.join(listed)}." for begin, listed in sentences if listed)


def _describe_wanted(
    quantity: Quantity,
    goal: PlanSettings,
    *,
    judges: int,
) -> str:
    """What labels shall say, in words."""
    if quantity.difference is not None:
        return f"a {quantity.name} of {quantity.difference:g}"
    whose = " of each judge" if quantity.name.endswith("kappa") and judges > 1 else ""
    return f"the {quantity.name}{whose} to within {goal.within:g}"


def _describe_budget(planned: PlannedQuantity) -> str:
    """The labels, and where verdicts help also these, with the cost in place of that of labels alone."""
    best = planned.best
    if not best.verdicts:
        return f"{best.labels:,} labels"
    instead = "more labels than there are texts"
    if planned.alone.reason is None:
        instead = f"{planned.alone.cost:g}"
    said = f"{best.labels:,} labels and {best.verdicts:,} verdicts of {planned.quantity.judge}"
    return f"{said} (cost {best.cost:g} in place of {instead})"
