"""Planning: how many inputs, systems and raters a study needs (`+exp=plan`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.faults import SettingFault
from data.scored import read_scored
from experiments.contracts import Outcome, Run, Table
from meta_eval.planning import (
    SampleSize,
    Spread,
    correlation_with_raters,
    estimate_spread,
    n_to_tell_metrics,
    n_to_tell_systems,
)

FEWEST_PILOT_INPUTS = 5
UNKNOWN_RATERS = (
    "no input of the pilot has ratings of several people, so the spread of raters is unknown: the number of inputs to "
    "compare two systems is for one rater only"
)


def find_spread(inputs: float, raters: float, pilot: str | None, aspect: str, systems: Sequence[str]) -> Spread:
    """The given spread, or the spread of two systems' ratings in a pilot: a file of outputs with one or more raters.

    Raises InputFaults for the file, SettingFault if the two systems share fewer than 5 rated inputs, and if they differ
    by the same amount on all of them.
    """
    if pilot is None:
        return Spread(inputs, raters)
    file = read_scored(pilot)
    if len(systems) != 2:
        raise SettingFault(f"pilot.systems must name the two systems of the pilot, but is {list(systems)}")
    if aspect in file.raters:
        ratings = file.raters[aspect]
    else:
        ratings = np.array([[example.ratings.get(aspect, math.nan) for example in file.examples]])
    place = {(example.system, example.group): i for i, example in enumerate(file.examples) if example.group}
    first, second = systems
    both = [group for system, group in place if system == first and (second, group) in place]
    differences = (
        np.stack([ratings[:, place[first, group]] - ratings[:, place[second, group]] for group in both], axis=1)
        if both
        else np.empty((len(ratings), 0))
    )
    rated = int((~np.isnan(differences)).any(axis=0).sum())
    if rated < FEWEST_PILOT_INPUTS:
        needed = f"a pilot needs at least {FEWEST_PILOT_INPUTS} inputs"
        rule = f"{needed} for which {first} and {second} have ratings of {aspect}"
        raise SettingFault(f"{rule}, but {pilot} has {rated} ({len(both)} inputs that both answered)")
    if np.nanmax(differences) == np.nanmin(differences):
        rule = f"the ratings of {first} and {second} in a pilot must not differ by the same amount on every input"
        raise SettingFault(f"{rule}, but they differ by {np.nanmax(differences):g} on all {rated} inputs of {pilot}")
    return estimate_spread(differences)


def plan(
    run: Run,
    correlation: float,
    between_metrics: float,
    between_raters: float,
    spread: Spread,
    differences: Sequence[float],
    raters: Sequence[int],
    power: float,
    level: float,
) -> Outcome:
    """Computes how many inputs or systems a study needs to detect each difference of two metrics or two systems.

    Args:
        correlation: of the better metric with one rater's ratings; `differences` are subtracted from it.
        between_metrics: the correlation of the two metrics with each other.
        between_raters: the correlation of two raters.
        spread: of the difference of two systems' ratings, assumed or estimated from a pilot.
        raters: the numbers of raters per output to plan for.

    Raises SettingFault for an assumption out of range.
    """
    for name, value in (("correlation", correlation), ("between_metrics", between_metrics)):
        _check(name, value, -1, 1)
    for name, value in (("between_raters", between_raters), ("power", power), ("level", level)):
        _check(name, value, 0, 1)
    for name, values in (("differences", differences), ("raters", raters)):
        if not values or min(values) <= 0:
            raise SettingFault(f"{name} must be numbers above 0, but is {list(values)}")
    one, other = spread.inputs, 0.0 if spread.raters is None else spread.raters
    if min(one, other) < 0 or one + other == 0:
        raise SettingFault(f"spreads must be 0 or more and not both 0, but are {one:g} and {other:g}")
    wanted = f"power {power:g} at a level of {level:g}, two-sided"
    with run.timed("power"):
        metrics = Table(
            "Inputs needed to compare two metrics",
            f"n: examples that Williams' test needs for {wanted}; for system-level correlations, systems. "
            "metric_a, metric_b: the expected correlations with the mean of this many raters.",
            [
                {"difference": d, "raters": k}
                | metrics_needed(correlation, d, between_metrics, between_raters, k, power, level, run.seed)
                for d in differences
                for k in raters
            ],
        )
        systems = Table(
            "Inputs needed to compare two systems",
            f"n: inputs that the paired t-test needs for {wanted}. difference: of mean ratings. spread: standard "
            f"deviation of the difference on one input; {describe_spread(spread)}.",
            [
                {"difference": d, "raters": k, "spread": spread.of_mean(k)}
                | _needed(n_to_tell_systems(d, spread.of_mean(k), power=power, level=level))
                for d in differences
                for k in ([1] if spread.raters is None else raters)
            ],
        )
    of_raters = "unknown" if spread.raters is None else f"{spread.raters:g}"
    return Outcome(
        signature=f"plan|correlation={correlation:g}|between_metrics={between_metrics:g}"
        f"|between_raters={between_raters:g}|spread={spread.inputs:g},{of_raters}|seed={run.seed}",
        tables=[metrics, systems],
        notes=[] if spread.raters is not None else [UNKNOWN_RATERS],
    )


def describe_spread(spread: Spread) -> str:
    """What the spread of the difference on one input is made of."""
    if spread.raters is None:
        return f"{spread.inputs:.3g} for one rater, as in the pilot"
    return f"it combines {spread.inputs:.3g} between inputs and {spread.raters:.3g} for one rater"


def metrics_needed(
    correlation: float,
    d: float,
    between_metrics: float,
    between_raters: float,
    raters: int,
    power: float,
    level: float,
    seed: int,
) -> dict[str, Any]:
    """One row: the correlations with the mean of `raters` raters, and the n that detects their difference."""
    a, b = (correlation_with_raters(r, 1, raters, between_raters) for r in (correlation, correlation - d))
    if max(abs(a), abs(b)) > 1:
        reason = f"a correlation of {correlation:g} with one rater is impossible if raters correlate {between_raters:g}"
        needed = SampleSize(math.nan, math.nan, reason)
    else:
        needed = n_to_tell_metrics(a, b, between_metrics, power=power, level=level, seed=seed)
    return {"metric_a": a, "metric_b": b} | _needed(needed)


def _needed(needed: SampleSize) -> dict[str, Any]:
    return {"n": needed.n, "power": needed.power, "reason": needed.reason or ""}


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:
        raise SettingFault(f"{name} must lie between {low} and {high}, but is {value:g}")
