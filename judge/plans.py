"""Plans of studies: how many inputs, systems and raters, or how many labels, they need (`judge plan`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, cast

import numpy as np

from core.errors import SettingError
from core.example import SHOWN_COLUMNS
from data.preferences import holds_pairs
from judge.inputs import Source, open_rows
from judge.labelling import Labelling, list_labelled
from judge.pair_inputs import read_given
from judge.verdict_files import read_verdicts
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
from report.tables import Row, Table, pick
from report.wording import join_names

Read = ScoredSet | Preferences
FEWEST_PILOT_INPUTS = 5
SIZE_CELLS = ("n", "power", "reason")
MOST_WITHIN = {"kappa": 1.0, "weighted kappa": 1.0, "rate": 0.5, "win rate": 0.5}  # half of what they range over
NO_VARIATION = "the pilot's labels are too few, or do not vary"
ASSUMED = "every figure rests on assumptions; a pilot measures them"


def read_pilot(pilot: Source | Preferences, settings: Mapping[str, Any]) -> Read:
    """Reads the texts of a pilot, its labels and verdicts without texts, or its preferences if it has pairs.

    `settings` are columns, people, judges and levels, as `read_verdicts` takes them. Raises SettingError for settings
    that say nothing of such a pilot.
    """
    columns = settings["columns"]
    table = None if isinstance(pilot, Preferences) else open_rows(pilot, columns, settings["levels"])
    has_pairs = table is not None and holds_pairs(table)
    known, what = tuple(settings), ""
    if isinstance(pilot, ScoredSet | Preferences):
        known, what = (), "read already"
    elif isinstance(pilot, Mapping):
        known, what = ("columns", "levels"), "outputs by system"
    elif has_pairs:
        known, what = ("columns",), "preferences"
    if others := [name for name, value in settings.items() if value and name not in known]:
        raise SettingError(f"{join_names(others)} must be left out, because the pilot is {what}")
    if isinstance(pilot, ScoredSet | Preferences):
        return pilot
    if has_pairs:
        return cast(Preferences, read_given(pilot, columns or {}))
    return read_verdicts(pilot, **settings, needs=["people"])


def find_aspect(pilot: ScoredSet, given: str | None) -> str:
    """Finds the aspect to plan: the given or the only one, or else `overall`. Raises SettingError without ratings."""
    aspect = given or (pilot.aspects[0] if len(pilot.aspects) == 1 else "overall")
    if aspect not in pilot.aspects:
        known = ", ".join(pilot.aspects[:SHOWN_COLUMNS]) or "none"
        raise SettingError(f"aspect must be one with ratings in the pilot ({known}), but is {aspect}")
    return aspect


# ---- inputs ---------------------------------------------------------------------------------------------------------


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
    differences = of_first - ratings[:, [places[second, group] for group in both]]
    rated = int((~np.isnan(differences)).any(axis=0).sum())
    if rated < FEWEST_PILOT_INPUTS:
        rule = f"a pilot needs at least {FEWEST_PILOT_INPUTS} inputs for which {first} and {second} have ratings of"
        raise SettingError(f"{rule} {aspect}, but {pilot.name} has {rated} ({len(both)} inputs that both answered)")
    most = np.nanmax(differences)
    if most == np.nanmin(differences):
        rule = f"the ratings of {first} and {second} in a pilot must not differ by the same amount on every input"
        raise SettingError(f"{rule}, but they differ by {most:g} on all {rated} inputs of {pilot.name}")
    return estimate_spread(differences)


def plan_inputs(
    spread: Spread,
    differences: Sequence[float],
    raters: Sequence[int],
    *,
    compared: int,
    correlation: float,
    between_metrics: float,
    between_raters: float,
    statistic: Statistic,
    power: float,
    level: float,
) -> Study:
    """Plans the inputs that tests of systems and of metrics need, for each difference and number of raters."""
    of_systems: list[Row] = []
    for difference, people in product(differences, [1] if spread.raters is None else raters):
        deviation = spread.of_mean(people)
        of_pair = level / count_pairs(compared)
        needed = n_to_tell_systems(difference, deviation, power=power, level=of_pair)
        of_systems.append(pick(needed, SIZE_CELLS, difference=difference, raters=people, spread=deviation))
    of_metrics: list[Row] = []
    for difference, people in product(differences, raters):
        alone = (correlation, correlation - difference)
        both = [correlation_with_raters(r, 1, people, between_raters) for r in alone]
        impossible = [r for r, of_mean in zip(alone, both, strict=True) if abs(of_mean) > 1]
        if impossible:
            condition = f" if raters correlate {between_raters:g}" if abs(impossible[0]) <= 1 else ""
            reason = f"a correlation of {impossible[0]:g} with one rater is impossible{condition}"
            needed = SampleSize(math.nan, math.nan, reason)
        else:
            needed = n_to_tell_metrics(
                both[0],
                both[1],
                between_metrics,
                statistic=statistic,
                metrics=compared,
                power=power,
                level=level,
            )
        cells = {"difference": difference, "raters": people, "metric_a": both[0], "metric_b": both[1]}
        of_metrics.append(pick(needed, SIZE_CELLS, **cells))
    wanted = f"needs for power {power:g} at a level of {level:g}, two-sided, adjusted for all pairs"
    spread_of = f"{spread.inputs:.3g} for one rater, as in the pilot"
    if spread.raters is not None:
        spread_of = f"it combines {spread.inputs:.3g} between inputs and {spread.raters:.3g} for one rater"
    caption = f"Inputs that the paired t-test of one pair of {compared} systems {wanted}. spread: {spread_of}."
    of_correlations = (
        f"Examples that the test of one pair of {compared} metrics ({statistic}) {wanted}. "
        "Ratings of 1 to 5 need about a tenth more. For correlations between systems, n counts systems."
    )
    return Study(
        answer=f"{count_ratings('systems', of_systems)}; {count_ratings('metrics', of_metrics)}.",
        tables=[
            Table("Inputs needed to compare two systems", caption, of_systems),
            Table("Inputs needed to compare two metrics", of_correlations, of_metrics),
        ],
        notes=[*note_gaps(spread)],
    )


def count_ratings(what: str, rows: Sequence[Row]) -> str:
    """Writes a sentence: how many ratings can show the smallest difference between two systems, or metrics."""
    smallest = min(row["difference"] for row in rows)
    outputs = 2 if what == "systems" else 1
    of_smallest = [row for row in rows if row["difference"] == smallest]
    known = [row for row in of_smallest if not math.isnan(row["n"])]
    to_show = f"to show a difference of {smallest:g} between two {what}"
    if not known:
        return f"no study is known {to_show}: {of_smallest[0]['reason']}"
    best = min(known, key=lambda row: (row["n"] * row["raters"], row["n"]))
    texts = f"{best['n']:g} inputs, 2 outputs each" if outputs == 2 else f"{best['n']:g} texts"
    people = "rater" if best["raters"] == 1 else "raters"
    ratings = best["n"] * best["raters"] * outputs
    return f"{to_show}, {ratings:g} ratings are needed ({texts}, {best['raters']} {people})"


def note_gaps(spread: Spread) -> Iterator[str]:
    """Notes what the pilot cannot show, or that there is no pilot."""
    if spread.pilot is None:
        yield ASSUMED
        return
    low, high = deviation_interval(spread.pilot)
    yield "the pilot shows the spread of two systems only: correlation, between_metrics and between_raters are assumed"
    yield (
        f"a spread from {spread.pilot} inputs is rough: its 95 % interval is {low:.2g} to {high:.2g} times the "
        f"estimate, so the inputs needed are {low**2:.2g} to {high**2:.2g} times those shown (normal differences)"
    )
    if spread.raters is None:
        yield "no input of the pilot has ratings of several people: the inputs to compare two systems are for one rater"


# ---- labels ---------------------------------------------------------------------------------------------------------


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


def plan_labels(quantities: Iterable[Quantity], within: float, texts: int | None, notes: Sequence[str]) -> Study:
    """Plans the labels that a study needs for intervals of the half-width `within`."""
    rows = [count_labels(quantity, within, texts or math.inf) for quantity in quantities]
    read = "very many" if texts is None else f"all {texts:,}"
    caption = f"Labels for intervals of +- {within:g}: alone, and with_judge if it reads {read} texts."
    return Study(describe_labels(rows, f"{within:g}"), [Table("Labels needed", caption, rows)], notes)


def assume_quantities(rate: float, correlation: float) -> list[Quantity]:
    """Assumes the kappa and the rate of a study without a pilot, of a label of two."""
    variance = rate * (1 - rate)
    return [
        Quantity("kappa", "judge", correlation, kappa_variance(correlation, rate)),
        Quantity(
            "rate",
            "judge",
            rate,
            variance,
            correlation**2 * variance,
            correlation,
        ),
    ]


def measure_pairs(given: Preferences) -> Iterator[Quantity]:
    """Measures in a pilot of pairs: kappa of each judge with people (or of people among themselves), and win rates.

    A win rate is that of one system, which is in few of the pairs of an input: they count as independent.
    """
    asked = given.by_majority()
    known = {name: verdicts for name, verdicts in asked.judges.items() if not np.isnan(asked.outcomes + verdicts).all()}
    tables = {name: np.stack([asked.outcomes, to_outcomes(verdicts - 0.5)]) for name, verdicts in known.items()}
    for name, table in (tables or {"": given.by_rater()}).items():
        both, twice = in_both_orders(table, asked.layout)
        yield from measure_kappa(
            "kappa",
            name,
            both,
            OUTCOMES,
            twice,
            orders=2,
        )
        yield measure_mean("win rate", name, asked.outcomes, known.get(name), lay_out(len(asked)))


def measure_texts(scored: ScoredSet, aspect: str) -> Iterator[Quantity]:
    """Measures in a pilot of texts: kappas of judges with people, or of people among themselves, and the mean label."""
    rated = scored.split_aspects().rated(aspect)
    labelled = next((found for found in list_labelled(rated, Labelling()) if found.aspect == aspect), None)
    ratings = rated.ratings(aspect)
    name_of_mean = "rate" if np.isin(ratings, OUTCOMES).all() else "mean"
    judges = {name: rated.values(name, aspect) for name in rated.scores if rated.scored(name, aspect=aspect).any()}
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
    if texts:
        kappa = estimate_kappa([*combinations(table, 2)], labels, layout, is_weighted=kind != "kappa")
        variance = texts * float(kappa.variances[0])
        yield Quantity(kind, name, kappa.only.value, variance, reason=kappa.only.reason)


def measure_mean(kind: str, name: str, labels: Floats, verdicts: Floats | None, layout: Layout) -> Quantity:
    """Measures the mean label, and what the verdicts of the judge `name` would explain of its variance."""
    kept = ~np.isnan(labels if verdicts is None else labels + verdicts)
    y = labels[kept]
    value = float(y.mean()) if len(y) else math.nan
    if len(y) < FEWEST_PILOT_INPUTS or np.ptp(y) == 0:
        return Quantity(kind, name, value, 0.0, reason=NO_VARIATION)
    present = restrict(layout, kept)
    of_inputs = np.bincount(present.inputs, y - value)
    squares = float(of_inputs @ of_inputs)
    variance = squares / (len(y) - 1)
    if verdicts is None:
        return Quantity(kind, name, value, variance)
    f = verdicts[kept]
    explaining = np.bincount(present.inputs, f - f.mean())
    shared = float(of_inputs @ explaining) ** 2 / max(float(explaining @ explaining), ROUNDING)
    left = (squares - shared) / (len(y) - 2)
    correlation = estimate_correlation(pearson, f, y, present)
    return Quantity(
        kind,
        name,
        value,
        variance,
        max(variance - left, 0.0),
        correlation,
    )


def count_labels(quantity: Quantity, within: float, texts: float) -> Row:
    """Makes the row of a quantity: the labels that are needed alone, and with the judge."""
    most = MOST_WITHIN.get(quantity.name, math.inf)
    reason = quantity.reason if within < most else f"within must be below {most:g} for this quantity"
    labels = with_judge = math.nan
    if not reason:
        labels = n_for_width(within, quantity.variance, texts=texts) or math.nan
        if math.isnan(labels):
            reason = f"alone, more labels are needed than {min(texts, LARGEST):,}"
        if quantity.explained > 0:
            explained = quantity.explained
            with_judge = n_for_width(within, quantity.variance, explained=explained, texts=texts) or math.nan
    cells = pick(quantity, ("judge", "value", "correlation"), quantity=quantity.name)
    return {**cells, "labels": labels, "with_judge": with_judge, "reason": reason or ""}


def describe_labels(rows: Sequence[Row], within: str) -> str:
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
            with_best = "" if best is None else f" ({best['with_judge']:,} if {best['judge']} reads all texts)"
            known.append(f"{max(counted):,} labels for {wanted}{with_best}")
        elif best is not None:
            known.append(f"{best['with_judge']:,} labels for {wanted}, if {best['judge']} reads all texts")
        else:
            unknown.append(f"{wanted} ({asked[0]['reason']})")
    sentences = {"Get": known, "No number of labels is known for": unknown}
    return " ".join(f"{begin} {'; '.join(listed)}." for begin, listed in sentences.items() if listed)
