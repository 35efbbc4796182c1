"""Plans a study: how many inputs, systems and raters, or how many labels, it needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import SettingError, check_names
from core.example import SHOWN_COLUMNS
from core.signature import join_settings
from data.cells import list_items
from data.input_file import InputFile
from data.preferences import holds_pairs, names_pair, read_preferences
from data.rating_words import GivenLevels
from judge.inputs import SOURCE_RULE, Columns, Source, read
from judge.label_plans import PlanSettings, assume, measure_pairs, measure_texts, plan_labels
from judge.pair_inputs import read_given
from judge.verdict_files import Names, read_verdicts
from meta_eval.planning import (
    SampleSize,
    Spread,
    correlation_with_raters,
    count_pairs,
    deviation_interval,
    estimate_spread,
    n_to_tell_systems,
    n_to_test_metrics,
)
from meta_eval.preferences import Preferences
from meta_eval.scored_set import ScoredSet
from report.study import Result
from report.tables import Table, pick, tabulate
from report.wording import join_names

Pilot = Source | Preferences
SizedRow = tuple[dict[str, Any], SampleSize]  # what a row assumes, and the size that it needs
FEWEST_PILOT_INPUTS = 5
SIZE_CELLS = ("n", "power", "reason")
OVERALL = "overall"  # an aspect
PAIRS_PILOT = "preferences, whose winners are people's (columns.rater and judges.NAME=COLUMN name others)"
ASSUMED = "every figure rests on assumptions; a pilot"


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


@dataclass(frozen=True)
class StudyPlan(Result):
    """The sizes of studies that compare two metrics, or two systems; or the labels that are needed."""

    signature: str
    tables: list[Table]
    # what the figures rest on, and the decision
    notes: tuple[str, ...]


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
) -> StudyPlan:
    """Finds how many inputs, systems and raters a study needs, or with `within` how many labels.

    The numbers follow from assumptions, or from a pilot study.

    Args:
        pilot: texts with ratings of the aspect, as `judge.read` takes them with `columns` and `levels`: outputs of the
            two systems, or with `within` any, with scores of judges. With `within` it may also be preferences, as
            `judge.prefer` takes them, with the verdicts of judges or of several people.
        aspect: of the ratings in the pilot; by default `overall`, or the only one.
        systems: two of the pilot, to estimate how their difference varies.
        columns: by field its column of the pilot. Labels and verdicts need no texts.
        people: the columns of the pilot that are people's labels; by default they are recognised by name and values.
        judges: the columns of the pilot that hold verdicts of judges.
        levels: the scale of ratings in words, from the worst to the best, or by aspect; usual ones are known.
        settings: of `judge.label_plans.PlanSettings`.

    Raises SettingError for wrong settings, for an aspect without ratings, and as `find_spread`; InputError for a wrong
    pilot.

    >>> plan(differences=[0.5], raters=[1]).tables[0].rows[0]["n"]
    42
    >>> plan(within=0.05, correlation=0.8, differences=[0.1]).notes[-1].split(";")[1]
    ' 157 labels and 2,079 verdicts of judge (cost 177.79 in place of 381) for the rate to within 0.05'
    """
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
        planned = plan_labelling(given, aspect, systems, assumptions)
    elif isinstance(given, Preferences):
        raise SettingError("a pilot of preferences plans labels: set within, half of the width of an interval")
    elif given is None:
        planned = plan_study(assumptions, Spread(assumptions.spread_inputs, assumptions.spread_raters))
    else:
        planned = plan_study(assumptions, find_spread(given, aspect, systems))
    about_pilot = () if given is None else given.notes
    return replace(planned, notes=(*about_pilot, *planned.notes))


def plan_labelling(
    pilot: ScoredSet | Preferences | None, aspect: str, systems: Sequence[str], assumptions: PlanSettings
) -> StudyPlan:
    """Plans the labels that a study needs for an interval of the width `within`."""
    notes: list[str] = []
    if pilot is None:
        quantities = assume(assumptions)
        notes.append(f"{ASSUMED} measures how labels vary")
    elif isinstance(pilot, Preferences):
        quantities = measure_pairs(pilot, assumptions.differences)
    else:
        quantities = measure_texts(pilot, aspect, systems, assumptions.differences)
    table, decision = plan_labels([*quantities], assumptions)
    name = "none" if pilot is None else pilot.name
    signature = join_settings("plan", assumptions, pilot=name, aspect=aspect)
    return StudyPlan(signature, [table], (*notes, decision))


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


def plan_study(assumptions: PlanSettings, spread: Spread) -> StudyPlan:
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
    return StudyPlan(
        join_settings("plan", assumptions, spread=f"{spread.inputs:g},{of_raters}"),
        [
            tabulate_sizes("systems", caption_systems(assumptions.compared_systems, wanted, spread), of_systems),
            tabulate_sizes("metrics", caption_metrics(assumptions, wanted), of_metrics),
        ],
        (*note_gaps(spread), f"{count_ratings('systems', of_systems)}; {count_ratings('metrics', of_metrics)}."),
    )


def tabulate_sizes(what: str, caption: str, rows: Sequence[SizedRow]) -> Table:
    """The table of the inputs that comparisons of two systems, or of two metrics, need."""
    cells = [pick(needed, SIZE_CELLS, **assumed) for assumed, needed in rows]
    return tabulate(f"Inputs needed to compare two {what}", caption, cells)


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
    needed = n_to_test_metrics(
        metric_a,
        metric_b,
        assumptions.between_metrics,
        statistic=assumptions.statistic,
        metrics=assumptions.compared_metrics,
        power=assumptions.power,
        level=assumptions.level,
    )
    return cells, needed
