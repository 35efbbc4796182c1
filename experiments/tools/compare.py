"""Comparison of systems on the same inputs, by any metric and with few human ratings (`+exp=compare`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from core.example import Example
from core.faults import InputFaults, fault, format_value
from core.scores import Metric
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run, Table
from experiments.report.plots import intervals
from experiments.tools.metric_scores import check_scored, score_file, show_resampling, show_signatures
from judge.tables import collect_reasons
from meta_eval.correlation import Floats
from meta_eval.intervals import FEWEST_UNITS, Resampling
from meta_eval.prediction_powered import FEWEST_PREFERENCES, PoweredEstimate, powered_mean, powered_win_rate
from meta_eval.scored_set import ScoredSet
from meta_eval.significance import holm
from meta_eval.systems import MOST_ENUMERATED, SystemComparison, compare_systems


@dataclass(frozen=True)
class Grid:
    """Scores and ratings of every system on every input, of shape (systems, inputs); a missing one is NaN.

    Attributes:
        scores, ratings: by metric and by rated aspect.
    """

    systems: tuple[str, ...]
    inputs: tuple[str, ...]
    scores: Mapping[str, Floats]
    ratings: Mapping[str, Floats]


def compare(
    run: Run, file: ScoredFile, metrics: Mapping[str, Metric], resampling: Resampling, permutations: int
) -> Outcome:
    """Compares every pair of systems in the file. If only some outputs are rated, it also estimates human means.

    `metrics` are run on the file; the others have their scores in it.
    """
    scored = score_file(run, file, metrics)
    grid = lay_grid(scored.split_aspects())
    with run.timed("comparisons"):
        found = compare_pairs(grid, resampling, permutations)
    rated_in_part = [aspect for aspect, values in grid.ratings.items() if np.isnan(values).any()]
    partly = [(aspect, name) for aspect in rated_in_part for name in grid.scores]
    tables = [comparison_table(found)]
    if partly:
        tables += [
            powered_table({(aspect, name): estimate_means(grid, aspect, name) for aspect, name in partly}),
            win_table({(aspect, name): estimate_win_rates(grid, aspect, name) for aspect, name in partly}),
        ]
    return Outcome(
        signature=f"compare|systems={','.join(grid.systems)}|inputs={len(grid.inputs)}|{show_resampling(resampling)}"
        f"|permutations={permutations}|{show_signatures(scored.scores)}",
        tables=tables,
        plots={
            name.replace("/", "_"): intervals(
                {f"{a} - {b}": each.difference for (a, b), each in pairs.items()}, f"difference of mean {name}, 95 %"
            )
            for name, pairs in found.items()
        },
        notes=[f"{aspect} is rated in part: human means rest on the rated part being a random sample of all outputs"
               for aspect in rated_in_part],
    )  # fmt: skip


def check_comparable(file: ScoredFile, metric: str | None, metrics: Iterable[str]) -> ScoredFile:
    """Checks the file before a metric is loaded, and returns it; `metric` and `metrics` are the names of those to run.

    Raises InputFaults unless there are scores, each system has exactly one output for every input, and all outputs for
    an input have the same context, prefix, label and references.
    """
    check_scored(file, metric, metrics)
    faults: list[str] = []
    first: dict[tuple[str, str], int] = {}
    for line, example in zip(file.lines, file.examples, strict=True):
        for name in ("system", "group"):
            if getattr(example, name) is None:
                faults.append(fault(file.path, line, f'"{name}" is needed here, found null'))
        key = (example.system or "", example.group or "")
        if all(key) and first.setdefault(key, line) != line:
            what = (
                f"a system must have one output per input, but {format_value(key[0])} also has one for "
                f"{format_value(key[1])} in line {first[key]}"
            )
            faults.append(fault(file.path, line, what))
    if not faults:
        systems = dict.fromkeys(system for system, _ in first)
        if len(systems) < 2:
            faults.append(fault(file.path, 0, f"a comparison needs at least 2 systems, found {', '.join(systems)}"))
        for group in dict.fromkeys(group for _, group in first):
            if lacking := [system for system in systems if (system, group) not in first]:
                line = next(line for (_, other), line in first.items() if other == group)
                rule = (
                    f"all systems must answer the same inputs, but {format_value(group)} has no output of {lacking[0]}"
                )
                faults.append(fault(file.path, line, rule))
        faults += [fault(file.path, line, difference) for line, difference in find_unlike_inputs(file)]
    if faults:
        raise InputFaults(faults)
    return file


def find_unlike_inputs(file: ScoredFile) -> Iterator[tuple[int, str]]:
    """The lines whose input differs from that of the first text of their group, and how it differs."""
    first: dict[str | None, tuple[int, Example]] = {}
    for line, example in zip(file.lines, file.examples, strict=True):
        earlier, other = first.setdefault(example.group, (line, example))
        for name in ("context", "prefix", "label", "references"):
            here, there = getattr(example, name), getattr(other, name)
            if here != there:
                found = f"{format_value(here)} here and {format_value(there)} in line {earlier}"
                rule = "all systems must answer the same input"
                yield line, f"{rule}, but {name} of {format_value(example.group)} is {found}"


def lay_grid(scored: ScoredSet) -> Grid:
    """Scores and ratings as matrices; every example names its system and its input."""
    systems, inputs = (tuple(dict.fromkeys(names or ())) for names in (scored.systems, scored.groups))
    return Grid(
        systems,
        inputs,
        {name: scored.layout.to_grid(scored.values(name, "")) for name in scored.scores},
        {aspect: scored.layout.to_grid(scored.ratings(aspect)) for aspect in scored.aspects},
    )


def compare_pairs(
    grid: Grid, resampling: Resampling | None = None, permutations: int = 10_000
) -> dict[str, dict[tuple[str, str], SystemComparison]]:
    """The comparison of every pair of systems by metric."""
    return {
        name: {
            (grid.systems[i], grid.systems[j]): compare_systems(
                values[i], values[j], resampling=resampling, permutations=permutations
            )
            for i, j in combinations(range(len(grid.systems)), 2)
        }
        for name, values in grid.scores.items()
    }


def estimate_means(grid: Grid, aspect: str, name: str) -> dict[str, PoweredEstimate]:
    """The mean rating of each system from its rated part and all its scores."""
    return {
        system: powered_mean(grid.ratings[aspect][i], grid.scores[name][i]) for i, system in enumerate(grid.systems)
    }


def estimate_win_rates(grid: Grid, aspect: str, name: str) -> dict[tuple[str, str], PoweredEstimate]:
    """How often people rate the first system of a pair higher, from the inputs where both are rated."""
    found = {}
    for i, j in combinations(range(len(grid.systems)), 2):
        preferences = (np.sign(grid.ratings[aspect][i] - grid.ratings[aspect][j]) + 1) / 2
        gaps = grid.scores[name][i] - grid.scores[name][j]
        found[grid.systems[i], grid.systems[j]] = powered_win_rate(preferences, gaps)
    return found


def comparison_table(found: Mapping[str, Mapping[tuple[str, str], SystemComparison]]) -> Table:
    """The table of all pairs of systems by metric."""
    rows: list[dict[str, Any]] = []
    for name, pairs in found.items():
        adjusted = holm([each.randomisation_p for each in pairs.values()])
        for ((a, b), each), p in zip(pairs.items(), adjusted, strict=True):
            row: dict[str, Any] = (
                {"metric": name, "system_a": a, "system_b": b, "n": each.n, "missing": each.missing}
                | {"difference": each.difference, "effect": each.effect, "win_rate": each.win_rate}
                | {"wins": each.wins, "ties": each.ties, "losses": each.losses}
                | {"p_value": each.randomisation_p, "holm": float(p), "bootstrap_p": each.bootstrap_p}
            )
            rows.append(row | {"reason": collect_reasons(row)})
    caption = (
        "Positive where system_a scores higher. effect: mean difference over its standard deviation, with a jackknife "
        "interval; win_rate counts ties half and has Tango's score interval (Wilson's where nothing ties). p_value: "
        f"randomisation, two-sided, exact up to {MOST_ENUMERATED} inputs; holm adjusts it for all pairs under a "
        f"metric. Below {FEWEST_UNITS} inputs the difference has Student's t interval, and the interval of effect and "
        "bootstrap_p are left out."
    )
    return Table("Systems on the same inputs", caption, rows)


def powered_table(found: Mapping[tuple[str, str], Mapping[str, PoweredEstimate]]) -> Table:
    """The table of human means from few ratings."""
    rows = [
        {"aspect": aspect, "metric": name, "system": system} | _powered(each, "mean")
        for (aspect, name), systems in found.items()
        for system, each in systems.items()
    ]
    caption = (
        "Prediction-powered mean rating (PPI++) beside that of the ratings alone, with 95 % t intervals, which are "
        "approximate for few or skewed ratings. saved: the ratings that the metric's scores replaced."
    )
    return Table("Human means from few ratings", caption, rows)


def win_table(found: Mapping[tuple[str, str], Mapping[tuple[str, str], PoweredEstimate]]) -> Table:
    """The table of human win rates from few ratings."""
    rows = [
        {"aspect": aspect, "metric": name, "system_a": a, "system_b": b} | _powered(each, "win_rate")
        for (aspect, name), pairs in found.items()
        for (a, b), each in pairs.items()
    ]
    caption = (
        "Prediction-powered share of inputs where people rate system_a higher, ties counted half, beside that of the "
        "ratings alone. Score intervals at 95 % (Wilson's where nothing ties); the prediction-powered one takes as "
        f"many preferences as its estimate is worth, and needs {FEWEST_PREFERENCES}."
    )
    return Table("Human win rates from few ratings", caption, rows)


def _powered(each: PoweredEstimate, what: str) -> dict[str, Any]:
    return {
        "rated": each.rated,
        "unrated": each.unrated,
        what: each.estimate,
        f"{what}_by_ratings": each.classical,
        "saved": each.saved,
        "reason": each.estimate.reason or "",
    }
