"""Plans a study: how many inputs, systems and raters, or how many labels, it needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from core.errors import SettingError, check_names
from core.example import SHOWN_COLUMNS
from core.settings import Count, Fraction, NonNegative, Positive, Several, checked_dataclass
from core.signature import join_settings
from data.cells import list_items
from data.input_file import InputFile
from data.preferences import holds_pairs, names_pair, read_preferences
from data.rating_words import GivenLevels
from judge.inputs import SOURCE_RULE, Columns, Source, read
from judge.labelling import Labelling, list_labelled
from judge.pair_inputs import read_given
from judge.verdict_files import Names, read_verdicts
from meta_eval.correlation import pearson
from meta_eval.design import Floats, Layout, lay_out, restrict
from meta_eval.estimates import ROUNDING, Estimate
from meta_eval.grouping import estimate_correlation
from meta_eval.labels import estimate_kappa
from meta_eval.planning import (
    LARGEST,
    SampleSize,
    Spread,
    Statistic,
    correlation_with_raters,
    count_pairs,
    deviation_interval,
    estimate_spread,
    kappa_variance,
    n_for_width,
    n_to_tell_metrics,
    n_to_tell_systems,
)
from meta_eval.preferences import OUTCOMES, Preferences, in_both_orders
from meta_eval.scored_set import ScoredSet
from meta_eval.ties import to_outcomes
from report.study import Study
from report.tables import Table, pick
from report.wording import join_names

Pilot = Source | Preferences
SizedRow = tuple[dict[str, Any], SampleSize]  # what a row assumes, and the size that it needs
FEWEST_PILOT_INPUTS = 5
SIZE_CELLS = ("n", "power", "reason")
OVERALL = "overall"  # an aspect
PAIRS_PILOT = "preferences, whose winners are people's (columns.rater and judges.NAME=COLUMN name others)"
ASSUMED = "every figure rests on assumptions; a pilot"
MOST_WITHIN = {"kappa": 1.0, "weighted kappa": 1.0, "rate": 0.5, "win rate": 0.5}  # half of what they range over
NO_VARIATION = "the pilot's labels are too few, or do not vary"


@checked_dataclass
class PlanSettings:
    """Settings of a plan: what to detect or estimate, and assumptions used without a pilot."""

    # plan labels: half of the width of the interval of a kappa, and of a rate, mean rating or win rate
    within: Positive | None = None
    # how many texts (or pairs) there are to label, all of which a judge reads; without it they are very many
    texts: Count | None = None
    # without a pilot: the share of texts with the label
    rate: Fraction = 0.5
    # of the judge, or the better metric, with one rater's labels or ratings; of labels this is kappa
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
        if self.spread_inputs + self.spread_raters == 0:
            raise ValueError("spread_inputs and spread_raters must not both be 0")


def find_spread(pilot: ScoredSet, aspect: str, systems: Sequence[str]) -> Spread:
    """Estimates how much the difference of two systems' ratings varies, in a pilot with one or more raters.

    Raises SettingError if the pilot lacks a system, if the two share fewer than 5 rated inputs, and if they differ by
    the same amount on all of them.
    """
    in_pilot = list(dict.fromkeys(example.system for example in pilot.examples if example.system))
    if len(systems) != 2 or not set(systems) <= set(in_pilot):
        known = ", ".join(in_pilot[:SHOWN_COLUMNS]) or "none"
        raise SettingError(f"systems must be two of those in the pilot ({known}), but is {list(systems)}")
    first, second = systems
    ratings = pilot.raters.get(aspect, pilot.ratings(aspect)[None])
    places = {(example.system, example.group): i for i, example in enumerate(pilot.examples) if example.group}
    both = [group for system, group in places if system == first and (second, group) in places]
    of_first = ratings[:, [places[first, group] for group in both]]
    of_second = ratings[:, [places[second, group] for group in both]]
    differences = of_first - of_second
    rated = int((~np.isnan(differences)).any(axis=0).sum())
    if rated < FEWEST_PILOT_INPUTS:
        rule = f"a pilot needs at least {FEWEST_PILOT_INPUTS} inputs for which {first} and {second} have ratings of"
        raise SettingError(f"{rule} {aspect}, but {pilot.name} has {rated} ({len(both)} inputs that both answered)")
    most = np.nanmax(differences)
    if most == np.nanmin(differences):
        rule = f"the ratings of {first} and {second} in a pilot must not differ by the same amount on every input"
        raise SettingError(f"{rule}, but they differ by {most:g} on all {rated} inputs of {pilot.name}")
    return estimate_spread(differences)


def plan(
    pilot: Pilot | None = None,
    aspect: str | None = None,
    systems: Sequence[str] = (),
    *,
    columns: Columns | None = None,
    people: Names = (),
    judges: Names = (),
    levels: GivenLevels | None = None,
    **settings: Any,
) -> Study:
    """The work of `judge.plan`, which says what it takes and raises."""
    check_names(settings, [field.name for field in fields(PlanSettings)], "plan")
    assumptions = PlanSettings(**settings)
    given = read_pilot(pilot, columns=columns, people=people, judges=judges, levels=levels)
    if given is None and systems:
        raise SettingError("systems are two of a pilot: pass its file, or compared_systems for their number")
    aspect = aspect or find_aspect(given)
    if isinstance(given, ScoredSet) and aspect not in given.aspects:
        known = ", ".join(given.aspects[:SHOWN_COLUMNS]) or "none"
        raise SettingError(f"aspect must be one with ratings in the pilot ({known}), but is {aspect}")
    if assumptions.within is not None:
        if systems:
            raise SettingError("systems are two whose difference is planned: leave them out to plan labels by within")
        planned = plan_labels(given, aspect, assumptions)
    elif isinstance(given, Preferences):
        raise SettingError("a pilot of preferences plans labels: set within, half of the width of an interval")
    elif given is None:
        planned = plan_study(assumptions, Spread(assumptions.spread_inputs, assumptions.spread_raters))
    else:
        planned = plan_study(assumptions, find_spread(given, aspect, systems))
    about_pilot = () if given is None else given.notes
    return replace(planned, notes=[*about_pilot, *planned.notes])


@dataclass(frozen=True)
class Quantity:
    """A quantity to estimate from labels."""

    # such as kappa or win rate
    name: str
    # whose verdicts are used; "" for none
    judge: str
    value: float
    # of one label, and what the judge's verdicts on all texts explain of it
    variance: float
    explained: float = 0.0
    # of the judge with labels
    correlation: Estimate | float = math.nan
    reason: str | None = None


def plan_labels(pilot: ScoredSet | Preferences | None, aspect: str, assumptions: PlanSettings) -> Study:
    """Plans the labels that a study needs for an interval of the half-width `within`."""
    notes: list[str] = []
    if pilot is None:
        rate = assumptions.rate
        r = assumptions.correlation
        variance = rate * (1 - rate)
        quantities = [
            Quantity("kappa", "judge", r, kappa_variance(r, rate)),
            Quantity("rate", "judge", rate, variance, r**2 * variance, r),
        ]
        notes.append(f"{ASSUMED} measures how labels vary")
    elif isinstance(pilot, Preferences):
        quantities = [*measure_pairs(pilot)]
    else:
        quantities = [*measure_texts(pilot, aspect)]
    rows = [count_labels(quantity, assumptions) for quantity in quantities]
    caption = (
        f"Labels for intervals of +- {assumptions.within:g}: alone, and with_judge if it reads "
        f"{'very many' if assumptions.texts is None else f'all {assumptions.texts:,}'} texts."
    )
    name = "none" if pilot is None else pilot.name
    signature = join_settings("plan", assumptions, pilot=name, aspect=aspect)
    answer = describe_labels(rows, f"{assumptions.within:g}")
    return Study(answer, [Table("Labels needed", caption, rows)], notes, signature)


def measure_pairs(given: Preferences) -> Iterator[Quantity]:
    """Measures in a pilot of pairs: kappa of each judge with people (or of people among themselves), and win rates.

    A win rate is that of one system, which is in few of the pairs of an input: they count as independent.
    """
    asked = given.by_majority()
    judges = {
        name: verdicts for name, verdicts in asked.judges.items() if not np.isnan(asked.outcomes + verdicts).all()
    }
    tables = {name: np.stack([asked.outcomes, to_outcomes(verdicts - 0.5)]) for name, verdicts in judges.items()}
    for name, table in (tables or {"": given.by_rater()}).items():
        both, twice = in_both_orders(table, asked.layout)
        yield from measure_kappa("kappa", name, both, OUTCOMES, twice, orders=2)
        yield measure_mean("win rate", name, asked.outcomes, judges.get(name), lay_out(len(asked)))


def measure_texts(scored: ScoredSet, aspect: str) -> Iterator[Quantity]:
    """Measures in a pilot of texts: kappas of judges with people, or of people among themselves, and the mean label."""
    rated = scored.split_aspects().rated(aspect)
    labelled = next((found for found in list_labelled(rated, Labelling()) if found.aspect == aspect), None)
    ratings = rated.ratings(aspect)
    name_of_mean = "rate" if np.isin(ratings, OUTCOMES).all() else "mean"
    judges = {name: rated.values(name, aspect) for name in rated.scores}
    judges = {name: scores for name, scores in judges.items() if not np.isnan(scores).all()}
    for name in judges or [""]:
        if labelled is not None and (not name or name in labelled.judged):
            table = np.stack([labelled.consensus, labelled.judged[name]]) if name else labelled.people
            for kind in ("kappa", "weighted kappa") if len(labelled.labels) > 2 else ("kappa",):
                yield from measure_kappa(kind, name, table, labelled.labels, rated.layout)
        yield measure_mean(name_of_mean, name, ratings, judges.get(name), rated.layout)


def measure_kappa(
    kind: str,
    name: str,
    table: Floats,
    labels: Floats,
    layout: Layout,
    *,
    orders: int = 1,
) -> Iterator[Quantity]:
    """Measures kappa of the rows of a table of labels, if any two have labels of a text; `name` is the judge's.

    Each text stands `orders` times in the table.
    """
    texts = int(((~np.isnan(table)).sum(axis=0) > 1).sum()) // orders
    if not texts:
        return
    kappa = estimate_kappa([*combinations(table, 2)], labels, layout, is_weighted=kind != "kappa")
    yield Quantity(kind, name, kappa.only.value, texts * float(kappa.variances[0]), reason=kappa.only.reason)


def measure_mean(
    kind: str,
    name: str,
    labels: Floats,
    verdicts: Floats | None,
    layout: Layout,
) -> Quantity:
    """Measures the mean label, and what the verdicts of the judge `name` would explain of its variance."""
    kept = ~np.isnan(labels if verdicts is None else labels + verdicts)
    y = labels[kept]
    if len(y) < FEWEST_PILOT_INPUTS or np.ptp(y) == 0:
        return Quantity(kind, name, float(y.mean()) if len(y) else math.nan, 0.0, reason=NO_VARIATION)
    present = restrict(layout, kept)
    of_inputs = np.bincount(present.inputs, y - y.mean())
    variance = float(of_inputs @ of_inputs) / (len(y) - 1)
    if verdicts is None:
        return Quantity(kind, name, float(y.mean()), variance)
    f = verdicts[kept]
    explaining = np.bincount(present.inputs, f - f.mean())
    shared = float(of_inputs @ explaining) ** 2 / max(float(explaining @ explaining), ROUNDING)
    left = (float(of_inputs @ of_inputs) - shared) / (len(y) - 2)
    correlation = estimate_correlation(pearson, f, y, present)
    return Quantity(kind, name, float(y.mean()), variance, max(variance - left, 0.0), correlation)


def count_labels(quantity: Quantity, goal: PlanSettings) -> dict[str, Any]:
    """Makes the row of a quantity: the labels that are needed alone, and with the judge."""
    within = goal.within or 0.0
    texts = goal.texts or math.inf
    most = MOST_WITHIN.get(quantity.name, math.inf)
    reason = quantity.reason
    if within >= most:
        reason = f"within must be below {most:g} for this quantity"
    labels = with_judge = None
    if reason is None:
        labels = n_for_width(within, quantity.variance, texts=texts)
        if quantity.explained > 0:
            with_judge = n_for_width(within, quantity.variance, explained=quantity.explained, texts=texts)
        if labels is None:
            reason = f"alone, more labels are needed than {min(texts, LARGEST):,}"
    return {
        "quantity": quantity.name,
        "judge": quantity.judge,
        "value": quantity.value,
        "correlation": quantity.correlation,
        "labels": math.nan if labels is None else labels,
        "with_judge": math.nan if with_judge is None else with_judge,
        "reason": reason or "",
    }


def describe_labels(rows: Sequence[Mapping[str, Any]], within: str) -> str:
    """Writes a sentence: the labels for each quantity, of any judge, and how many the best judge leaves to label."""
    known: list[str] = []
    unknown: list[str] = []
    for name in dict.fromkeys(row["quantity"] for row in rows):
        asked = [row for row in rows if row["quantity"] == name]
        wanted = f"the {name} to within {within}"
        counted = [row["labels"] for row in asked if not math.isnan(row["labels"])]
        helped = [row for row in asked if not math.isnan(row["with_judge"])]
        best = min(helped, key=lambda row: row["with_judge"], default=None)
        if counted:
            known.append(f"{max(counted):,} labels for {wanted}")
            if best is not None:
                known[-1] += f" ({best['with_judge']:,} if {best['judge']} reads all texts)"
        elif best is not None:
            known.append(f"{best['with_judge']:,} labels for {wanted}, if {best['judge']} reads all texts")
        else:
            unknown.append(f"{wanted} ({asked[0]['reason']})")
    sentences = [("Get", known), ("No number of labels is known for", unknown)]
    return " ".join(f"{begin} {'; '.join(listed)}." for begin, listed in sentences if listed)


def find_aspect(pilot: ScoredSet | Preferences | None) -> str:
    """Returns the only aspect of a pilot, or else `overall`."""
    aspects = pilot.aspects if isinstance(pilot, ScoredSet) else ()
    return aspects[0] if len(aspects) == 1 else OVERALL


def read_pilot(
    pilot: Pilot | None,
    columns: Columns | None = None,
    people: Names = (),
    judges: Names = (),
    levels: GivenLevels | None = None,
) -> ScoredSet | Preferences | None:
    """Reads the texts of a pilot, its labels and verdicts without texts, or its preferences if it has pairs.

    Raises SettingError for settings that say nothing of such a pilot.
    """
    if pilot is None and columns:
        raise SettingError("columns name those of a pilot: pass the file of the pilot too")
    of_labels = {"people": people, "judges": judges, "levels": levels}
    if pilot is None:
        _refuse_given(of_labels, "not given")
        return None
    if isinstance(pilot, ScoredSet | Preferences):
        _refuse_given({"columns": columns, **of_labels}, "read already")
        return pilot
    if isinstance(pilot, Mapping):
        _refuse_given({"people": people, "judges": judges}, "outputs by system, which have no columns")
        return read(pilot, columns=columns, levels=levels)
    if isinstance(pilot, str | Path | InputFile):
        file = InputFile.of(pilot, columns=columns, levels=levels)
        if holds_pairs(file):
            _refuse_given(of_labels, PAIRS_PILOT)
            return read_preferences(file)
    else:
        pilot = list_items(pilot, SOURCE_RULE)
        named = columns or {}
        if pilot and isinstance(pilot[0], Mapping) and names_pair({**pilot[0], **named}):
            _refuse_given(of_labels, PAIRS_PILOT)
            return read_given(pilot, named)
    return read_verdicts(
        pilot,
        columns=columns,
        levels=levels,
        people=people,
        judges=judges,
        needs=("people",),
    )


def _refuse_given(settings: Mapping[str, Any], what: str) -> None:
    """Raises SettingError for settings that are given, but say nothing of what the pilot is."""
    given = [name for name, value in settings.items() if value]
    if given:
        raise SettingError(f"{join_names(given)} must be left out, because the pilot is {what}")


def plan_study(assumptions: PlanSettings, spread: Spread) -> Study:
    """Plans the inputs that tests of metrics and of systems need, for each difference and number of raters."""
    differences = assumptions.differences
    of_metrics: list[SizedRow] = []
    for difference, raters in product(differences, assumptions.raters):
        of_metrics.append(size_for_metrics(assumptions, difference, raters))
    of_systems: list[SizedRow] = []
    for difference, raters in product(differences, [1] if spread.raters is None else assumptions.raters):
        of_systems.append(size_for_systems(assumptions, difference, raters, spread))
    wanted = f"power {assumptions.power:g} at a level of {assumptions.level:g}, two-sided"
    of_raters = "unknown" if spread.raters is None else f"{spread.raters:g}"
    return Study(
        answer=f"{count_ratings('systems', of_systems)}; {count_ratings('metrics', of_metrics)}.",
        tables=[
            tabulate_sizes("systems", caption_systems(assumptions.compared_systems, wanted, spread), of_systems),
            tabulate_sizes("metrics", caption_metrics(assumptions, wanted), of_metrics),
        ],
        notes=note_gaps(spread),
        signature=join_settings("plan", assumptions, spread=f"{spread.inputs:g},{of_raters}"),
    )


def tabulate_sizes(what: str, caption: str, rows: Sequence[SizedRow]) -> Table:
    """The table of the inputs that comparisons of two systems, or of two metrics, need."""
    cells = [pick(needed, SIZE_CELLS, **assumed) for assumed, needed in rows]
    return Table(f"Inputs needed to compare two {what}", caption, cells)


def caption_systems(compared: int, wanted: str, spread: Spread) -> str:
    """The caption of the table of systems."""
    return (
        f"Inputs that the paired t-test of one pair of {compared} systems needs for {wanted}, adjusted for all pairs. "
        f"spread: {describe_spread(spread)}."
    )


def caption_metrics(assumptions: PlanSettings, wanted: str) -> str:
    """The caption of the table of metrics."""
    return (
        f"Examples that the test of one pair of {assumptions.compared_metrics} metrics ({assumptions.statistic}) "
        f"needs for {wanted}, adjusted for all pairs. "
        "Ratings of 1 to 5 need about a tenth more. For correlations between systems, n counts systems."
    )


def count_ratings(what: str, rows: Sequence[SizedRow]) -> str:
    """Writes a sentence: how many ratings can show the smallest difference between two systems, or metrics."""
    smallest = min(assumed["difference"] for assumed, _ in rows)
    outputs = 2 if what == "systems" else 1
    of_smallest = [(assumed["raters"], needed) for assumed, needed in rows if assumed["difference"] == smallest]
    known = [(size.n * raters * outputs, size.n, raters) for raters, size in of_smallest if not math.isnan(size.n)]
    to_show = f"to show a difference of {smallest:g} between two {what}"
    if not known:
        return f"no study is known {to_show}: {of_smallest[0][1].reason}"
    ratings, n, raters = min(known)
    texts = f"{n:g} inputs, 2 outputs each" if outputs == 2 else f"{n:g} texts"
    people = "rater" if raters == 1 else "raters"
    return f"{to_show}, {ratings:g} ratings are needed ({texts}, {raters} {people})"


def note_gaps(spread: Spread) -> list[str]:
    """Notes what the pilot cannot show, or that there is no pilot."""
    pilot = spread.pilot
    if pilot is None:
        return [f"{ASSUMED} estimates the spread of two systems' differences"]
    low, high = deviation_interval(pilot.inputs)
    notes = [
        "the pilot shows the spread of two systems only: correlation, between_metrics and between_raters are assumed, "
        "and two systems show no spread of systems, on which a study of system-level correlations depends",
        f"a spread from {pilot.inputs} inputs is rough: its 95 % interval is {low:.2g} to {high:.2g} times the "
        f"estimate, so the inputs needed are {low**2:.2g} to {high**2:.2g} times those shown (normal differences)",
    ]
    if spread.raters is None:
        notes.append(
            "no input of the pilot has ratings of several people, so the spread of raters is unknown: the number of "
            "inputs to compare two systems is for one rater only"
        )
    elif pilot.with_several_raters < pilot.inputs:
        notes.append(f"the spread of raters rests on {pilot.with_several_raters} of {pilot.inputs} inputs")
    if spread.inputs == 0:
        notes.append("raters differ so much that the pilot shows no spread between inputs; with 0, n may be too small")
    return notes


def describe_spread(spread: Spread) -> str:
    """Describes in a sentence what makes the difference vary on one input: inputs, and raters."""
    if spread.raters is None:
        return f"{spread.inputs:.3g} for one rater, as in the pilot"
    return f"it combines {spread.inputs:.3g} between inputs and {spread.raters:.3g} for one rater"


def size_for_systems(assumptions: PlanSettings, difference: float, raters: int, spread: Spread) -> SizedRow:
    """Makes the row of a difference of two systems: its deviation over inputs, and the inputs that a t-test needs."""
    of_mean = spread.of_mean(raters)
    level = assumptions.level / count_pairs(assumptions.compared_systems)
    needed = n_to_tell_systems(difference, of_mean, power=assumptions.power, level=level)
    return {"difference": difference, "raters": raters, "spread": of_mean}, needed


def size_for_metrics(assumptions: PlanSettings, difference: float, raters: int) -> SizedRow:
    """Makes a row: correlations with the mean of `raters` raters, and the number of inputs that the test needs."""
    between = assumptions.between_raters
    higher = assumptions.correlation
    lower = higher - difference
    metric_a = correlation_with_raters(higher, 1, raters, between)
    metric_b = correlation_with_raters(lower, 1, raters, between)
    cells = {"difference": difference, "raters": raters, "metric_a": metric_a, "metric_b": metric_b}
    if max(abs(metric_a), abs(metric_b)) > 1:
        wrong = higher if abs(metric_a) > 1 else lower
        condition = f" if raters correlate {between:g}" if abs(wrong) <= 1 else ""
        reason = f"a correlation of {wrong:g} with one rater is impossible{condition}"
        return cells, SampleSize(math.nan, math.nan, reason)
    needed = n_to_tell_metrics(
        metric_a,
        metric_b,
        assumptions.between_metrics,
        statistic=assumptions.statistic,
        metrics=assumptions.compared_metrics,
        power=assumptions.power,
        level=assumptions.level,
    )
    return cells, needed
