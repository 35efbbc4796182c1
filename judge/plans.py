"""Plans of studies: how many inputs, systems and raters, or how many labels, they need (`judge plan`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from core.errors import SettingError
from core.example import SHOWN_COLUMNS
from meta_eval.planning import (
    LARGEST,
    SampleSize,
    Spread,
    correlation_with_raters,
    count_pairs,
    deviation_interval,
    estimate_spread,
    kappa_variance,
    n_for_width,
    n_to_tell_metrics,
    n_to_tell_systems,
)
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.tables import Row, Table, pick

FEWEST_PILOT_INPUTS = 5
SIZE_CELLS = ("n", "power", "reason")
MOST_WITHIN = {"kappa": 1.0, "rate": 0.5}  # half of what they range over
ASSUMED = "every figure rests on assumptions; a pilot measures the spread of two systems"


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
        both = [correlation_with_raters(r, people, between_raters) for r in alone]
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
        f"Examples that the test of one pair of {compared} metrics (spearman) {wanted}. "
        "Ratings of 1 to 5 need about a tenth more. For correlations between systems, n counts systems."
    )
    return Study(
        answer=f"{count_ratings('systems', of_systems, compared)}; {count_ratings('metrics', of_metrics)}.",
        tables=[
            Table("Inputs needed to compare two systems", caption, of_systems),
            Table("Inputs needed to compare two metrics", of_correlations, of_metrics),
        ],
        notes=[*note_gaps(spread)],
    )


def count_ratings(what: str, rows: Sequence[Row], outputs: int = 1) -> str:
    """Writes a sentence: how many ratings can show the smallest difference between two systems, or metrics.

    Each input has as many `outputs` as systems are compared.
    """
    smallest = min(row["difference"] for row in rows)
    of_smallest = [row for row in rows if row["difference"] == smallest]
    known = [row for row in of_smallest if not math.isnan(row["n"])]
    to_show = f"to show a difference of {smallest:g} between two {what}"
    if not known:
        return f"no study is known {to_show}: {of_smallest[0]['reason']}"
    best = min(known, key=lambda row: (row["n"] * row["raters"], row["n"]))
    texts = f"{best['n']:g} inputs, {outputs} outputs each" if outputs > 1 else f"{best['n']:g} texts"
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


def plan_labels(within: float, *, rate: float, correlation: float, texts: int | None) -> Study:
    """Plans the labels that intervals of the half-width `within` need: of kappa, and of the rate of one of two labels.

    `correlation` is that of the judge with labels, which for two labels is nearly its kappa.
    """
    variance = rate * (1 - rate)
    variances = {"kappa": kappa_variance(correlation, rate), "rate": variance}
    explained = {"kappa": 0.0, "rate": correlation**2 * variance}
    rows = [
        count_labels(
            name,
            within,
            variances[name],
            explained=explained[name],
            texts=texts or math.inf,
        )
        for name in variances
    ]
    read = "very many" if texts is None else f"all {texts:,}"
    caption = f"Labels for intervals of +- {within:g}: alone, and with_judge if it reads {read} texts."
    return Study(describe_labels(rows, within), [Table("Labels needed", caption, rows)], [ASSUMED])


def count_labels(
    quantity: str,
    within: float,
    variance: float,
    *,
    explained: float,
    texts: float,
) -> Row:
    """Makes the row of a quantity: the labels that are needed alone, and with the judge.

    `variance` is that of one label, of which the judge's verdicts on all texts explain a part.
    """
    most = MOST_WITHIN[quantity]
    labels = with_judge = math.nan
    reason = "" if within < most else f"within must be below {most:g} for this quantity"
    if not reason:
        labels = n_for_width(within, variance, texts=texts) or math.nan
        if math.isnan(labels):
            reason = f"alone, more labels are needed than {min(texts, LARGEST):,}"
        if explained:
            with_judge = n_for_width(within, variance, explained=explained, texts=texts) or math.nan
    return {"quantity": quantity, "labels": labels, "with_judge": with_judge, "reason": reason}


def describe_labels(rows: Sequence[Row], within: float) -> str:
    """Writes a sentence: the labels for each quantity, and how many the judge leaves to label."""
    known: list[str] = []
    unknown: list[str] = []
    for row in rows:
        wanted = f"the {row['quantity']} to within {within:g}"
        helped = "" if math.isnan(row["with_judge"]) else f"{row['with_judge']:,}"
        if not math.isnan(row["labels"]):
            with_judge = f" ({helped} if judge reads all texts)" if helped else ""
            known.append(f"{row['labels']:,} labels for {wanted}{with_judge}")
        elif helped:
            known.append(f"{helped} labels for {wanted}, if judge reads all texts")
        else:
            unknown.append(f"{wanted} ({row['reason']})")
    sentences = {"Get": known, "No number of labels is known for": unknown}
    return " ".join(f"{begin} {'; '.join(listed)}." for begin, listed in sentences.items() if listed)
