"""How many labels of people a decision needs, and how many texts a judge should read beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np
from pydantic import Field

from core.settings import Count, Fraction, NonNegative, Positive, Several, checked_dataclass
from judge.labelling import LabelledAspect, Labelling, list_labelled
from judge.tables import Table, tabulate
from meta_eval.bootstrap import Estimate, Floats
from meta_eval.budgets import (
    Budget,
    Variation,
    has_power,
    is_within,
    plan_budget,
    vary_kappa,
    vary_mean,
    vary_statistic,
)
from meta_eval.correlation import pearson
from meta_eval.grouping import Layout, lay_out, restrict
from meta_eval.intervals import grouped_estimate
from meta_eval.labels import weigh_kappa
from meta_eval.planning import Statistic, count_pairs
from meta_eval.preferences import OUTCOMES, Preferences, in_both_orders
from meta_eval.scored_set import ScoredSet
from meta_eval.ties import to_outcomes

ASSUMED = "judge"  # its name without a pilot
MOST_WITHIN = {"kappa": 1.0, "weighted kappa": 1.0, "rate": 0.5, "win rate": 0.5}  # half of what they range over
COLUMNS = ("quantity", "judge", "wanted", "value", "correlation", "labels", "verdicts", "cost", "alone", "cost_alone")
CAPTION = (
    "The cheapest labels and verdicts; 0 verdicts where the judge is not worth its cost. A kappa needs the verdicts "
    "on its labels only. A difference counts the labels of both systems. At least 30 labels: intervals need them."
)


@checked_dataclass
class PlanSettings:
    """What a study shall detect or labels shall say, what they cost, and what is known before."""

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
            raise ValueError("costs must have that of a label above 0")
        if self.costs[1] == 0 and self.texts is None:
            raise ValueError("texts must say how many there are to judge where that costs nothing")
        if self.spread_inputs + self.spread_raters == 0:
            raise ValueError("spread_inputs and spread_raters must not both be 0")


@dataclass(frozen=True)
class Quantity:
    """What labels shall say something about."""

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
    """A kappa and a rate of labels yes and no, and differences of two systems whose labels are independent."""
    yield Quantity("kappa", ASSUMED, vary_kappa(given.kappa, given.rate))
    one, told = given.rate * (1 - given.rate), given.correlation**2
    rate = Variation(given.rate, one, one * (1 - told), one * told, untied=1.0)
    yield Quantity("rate", ASSUMED, rate, given.correlation)
    for each in given.differences:
        yield Quantity("difference", ASSUMED, vary_rates(given.rate, each, told), given.correlation, each, outputs=2)


def vary_rates(rate: float, difference: float, told: float) -> Variation | str:
    """How the difference of two independent rates varies, of which one is `rate` and the other lies so far off.

    `told` is the share of each variance that verdicts tell. Of the rate above and the one below, the one that varies
    more counts; the reason why none is possible else.
    """
    others = [other for other in (rate + difference, rate - difference) if 0 <= other <= 1]
    if not others:
        return f"no rate lies {difference:g} from {rate:g}"
    both = rate * (1 - rate) + max(other * (1 - other) for other in others)
    return Variation(difference, both, both * (1 - told), both * told)


def measure_pairs(given: Preferences, differences: Sequence[float]) -> Iterator[Quantity]:
    """The kappa of each judge with people, or of people among themselves, and win rates near 1/2."""
    asked, people = given.by_majority(), given.by_rater()
    y = asked.outcomes
    for name in [each for each, f in asked.judges.items() if not np.isnan(y + f).all()] or [""]:
        f = asked.judges[name] if name else np.full(len(y), 0.5)
        kept = ~np.isnan(y + f)
        table = np.stack([y, to_outcomes(f - 0.5)]) if name else people
        if len(table) > 1:
            columns, twice = in_both_orders(table[:, kept], restrict(asked.layout, kept))
            yield _measure_kappa("kappa", name, columns, OUTCOMES, twice, int(kept.sum()))
        alone = lay_out(int(kept.sum()))
        both, pairs = in_both_orders(np.stack([y, f])[:, kept], alone)
        correlation, rate = _correlate(name, both[0], both[1], pairs), vary_mean(y[kept], f[kept], alone, 0.5)
        yield Quantity("win rate", name, rate, correlation)
        gap = replace(rate, value=0.0)
        yield from (Quantity("win rate minus 1/2", name, gap, correlation, each) for each in differences)


def measure_texts(
    scored: ScoredSet, aspect: str, systems: Sequence[str], differences: Sequence[float]
) -> Iterator[Quantity]:
    """The kappas of each judge with people, or of people among themselves, the mean, and differences of two systems."""
    rated = scored.split_aspects().rated(aspect)
    labelled = next((each for each in list_labelled(rated, Labelling()) if each.aspect == aspect), None)
    there = list(dict.fromkeys(rated.systems or ()))
    compared = [name for name in there if name in systems or len(there) == 2]
    for name in [each for each in rated.scores if not np.isnan(rated.values(each, aspect)).all()] or [""]:
        yield from _measure_kappas(labelled, name)
        y = rated.ratings(aspect)
        f = rated.values(name, aspect) if name else np.zeros(len(y))
        kept = ~np.isnan(f)
        parts = y[kept], f[kept], restrict(rated.layout, kept)
        mean = vary_mean(*parts)
        yield Quantity("mean" if mean.untied is None else "rate", name, mean, _correlate(name, *parts))
        if len(compared) == 2:
            a, b = (there.index(each) for each in compared)
            gaps = np.stack([np.subtract(*rated.layout.to_grid(each)[[a, b]]) for each in (y, f)])
            y, f = gaps[:, ~np.isnan(gaps).any(axis=0)]
            if len(y) > 2:
                parts = y, f, lay_out(len(y))
                apart, told = vary_mean(*parts), _correlate(name, *parts)
                yield from (Quantity("difference", name, apart, told, each, outputs=2) for each in differences)


def _measure_kappas(found: LabelledAspect | None, name: str) -> Iterator[Quantity]:
    """Kappa, and weighted kappa of several labels, of a judge that gives labels; without a name, of people."""
    if found is None or (name and name not in found.judged):
        return
    table = np.stack([found.consensus, found.judged[name]]) if name else found.people
    both = (~np.isnan(table)).sum(axis=0) > 1
    kinds = ("kappa", "weighted kappa") if len(found.labels) > 2 else ("kappa",)
    for kind in kinds if both.any() else ():
        layout = restrict(found.rated.layout, both)
        yield _measure_kappa(kind, name, table[:, both], found.labels, layout, int(both.sum()))


def _measure_kappa(kind: str, name: str, table: Floats, labels: Floats, layout: Layout, n: int) -> Quantity:
    pairs = [*combinations(table, 2)]
    kappa = weigh_kappa(pairs, labels, layout, is_weighted=kind != "kappa")
    return Quantity(kind, name, vary_statistic(kappa, layout, n))


def _correlate(name: str, y: Floats, f: Floats, layout: Layout) -> Estimate | float:
    return grouped_estimate(pearson, f, y, layout) if name else math.nan


def plan_labels(quantities: Sequence[Quantity], goal: PlanSettings) -> tuple[Table, str]:
    """The budget of each quantity, and the decision as a sentence."""
    found = [(each, *_find_budget(each, goal)) for each in quantities]
    rows = []
    for each, best, alone in found:
        wanted = f"{goal.within:g}" if each.difference is None else f"{each.difference:g}, power {goal.power:g}"
        value = each.variation.value if isinstance(each.variation, Variation) else math.nan
        cells = {"quantity": each.name, "wanted": wanted, "value": value, "labels": best.labels, "cost": best.cost}
        if any(other.judge for other in quantities):
            cells |= {"judge": each.judge, "correlation": each.correlation, "verdicts": best.verdicts}
            cells |= {"alone": alone.labels, "cost_alone": alone.cost}
        rows.append({name: cells[name] for name in COLUMNS if name in cells} | {"reason": best.reason or ""})
    return tabulate("Labels needed", CAPTION, rows), decide(found, goal)


def _find_budget(quantity: Quantity, goal: PlanSettings) -> tuple[Budget, Budget]:
    variation, most = quantity.variation, MOST_WITHIN.get(quantity.name, math.inf)
    if quantity.difference is None and (goal.within or 0.0) >= most:
        variation = f"within must be below {most:g} for it"
    if isinstance(variation, str) or variation.variance <= 0:
        why = variation if isinstance(variation, str) else "the pilot's labels are too few, or do not vary"
        none = Budget(math.nan, math.nan, math.nan, why)
        return none, none
    if quantity.difference is None:
        is_enough = is_within(variation, goal.within or 0.0)
    else:
        level = goal.level / count_pairs(goal.compared_systems)
        is_enough = has_power(variation, quantity.difference, goal.power, level)
    several, texts = quantity.outputs, goal.texts and goal.texts // quantity.outputs
    best, alone = (
        replace(each, labels=each.labels * several, verdicts=each.verdicts * several)
        for each in plan_budget(variation, is_enough, goal.costs[0] * several, goal.costs[1] * several, texts)
    )
    return best, alone


def decide(found: Sequence[tuple[Quantity, Budget, Budget]], goal: PlanSettings) -> str:
    """What to buy: for each quantity, and the smallest difference, the cheapest budget of any judge."""
    smallest = min((each.difference for each, _, _ in found if each.difference is not None), default=None)
    parts, unknown = list[str](), list[str]()
    for name in dict.fromkeys(each.name for each, _, _ in found):
        own = [each for each in found if each[0].name == name and each[0].difference in (None, smallest)]
        known = [each for each in own if each[1].reason is None]
        quantity = own[0][0]
        is_kappa = name.endswith("kappa")
        whose = " of each judge" if is_kappa and len(known) > 1 else ""
        wanted = f"the {name}{whose} to within {goal.within:g}"
        if quantity.difference is not None:
            wanted = f"a {name} of {quantity.difference:g}"
        if not known:
            unknown.append(f"{wanted} ({own[0][1].reason})")
        elif is_kappa:
            parts.append(f"{max(each.labels for _, each, _ in known):,} labels for {wanted}")
        else:
            quantity, best, alone = min(known, key=lambda each: each[1].cost)
            said = f"{best.labels:,} labels"
            if best.verdicts:
                said += f" and {best.verdicts:,} verdicts of {quantity.judge} (cost {best.cost:g} in place of "
                said += f"{alone.cost:g})" if alone.reason is None else "more labels than there are texts)"
            parts.append(f"{said} for {wanted}")
    sentences = (("Get", parts), ("No number of labels is known for", unknown))
    return " ".join(f"{begin} {'; '.join(each)}." for begin, each in sentences if each)
