"""Compares systems on the same inputs, by any metric, by people and by cheap cues (`judge compare`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError, SettingError, fault, format_value, setting
from core.example import is_invisible
from core.settings import Fraction, Positive, check
from data.rating_words import GivenLevels
from data.records import require_none
from data.scored import place_outputs
from judge.cautions import CONFOUNDED, find_confounded, note_confounded
from judge.comparisons import SystemsCompared
from judge.inputs import Columns, GivenScores, References, Source, read
from judge.label_study import check_samples
from judge.metrics import Metrics, plan_metrics
from judge.preference_study import note_sample
from judge.scoring import add_scores, collect_notes, open_stages
from meta_eval.cues import VERSION, add_normal_scores
from meta_eval.design import Floats, find_common
from meta_eval.estimates import Estimate
from meta_eval.helped import HelpedEstimate, help_difference, help_mean
from meta_eval.scored_set import ScoredSet
from meta_eval.systems import (
    HUMAN,
    Grid,
    Pairs,
    SystemComparison,
    SystemMean,
    add_beyond_cues,
    compare_pairs,
    lay_grid,
    list_inputs,
    rank_systems,
)
from report.study import Study
from report.wording import join_names, note_resolution

Incomplete = Literal["refuse", "drop"]


def compare(
    source: Source,
    metrics: Metrics = (),
    *,
    scores: GivenScores | None = None,
    references: References | None = None,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    cues: bool = True,
    stages: Path | str | None = None,
    level: float = 0.05,
    margin: float | None = None,
    incomplete: Incomplete = "refuse",
    lower_is_better: Sequence[str] = (),
    seed: int = 0,
) -> Study:
    """The work of `judge.compare`, which says what it takes and raises."""
    check(Fraction, level=level)
    if margin is not None:
        check(Positive, margin=margin)
    kept = open_stages(stages)
    planned = plan_metrics(metrics, stages=kept and kept.root)
    scored = read(source, scores, references=references, columns=columns, levels=levels)
    check_comparable(scored, incomplete)
    if not (scored.scores or scored.aspects or planned):
        raise SettingError("a comparison needs metrics, scores or ratings, but there are none")
    scored = add_scores(scored, planned, kept).negate(lower_is_better)
    scored, dropped = drop_lacking(scored.split_aspects())
    grid, unranked = leave_silent_out(lay_grid(scored), scored)
    if len(grid.columns) < len(grid.scores) + len(grid.ratings):
        raise SettingError("scores may not have a name of ratings, such as human quality")
    confounded = {f"{HUMAN}{aspect}": find_confounded(scored, aspect) for aspect in grid.ratings}
    features = add_normal_scores(scored.cues) if cues else None
    means: dict[str, Sequence[SystemMean]] = {}
    pairs: dict[str, Pairs] = {}
    missing: list[str] = []
    for name, values in grid.columns.items():
        compare_values = partial(
            compare_unconfounded,
            grid.systems,
            confounded=confounded.get(name, ()),
            seed=seed,
            margin=margin,
            level=level,
        )
        silent = [system for system, names in unranked.items() if name in names]
        missing += note_missing(name, grid, values, silent)
        found = compare_values(values)
        means[name] = rank_systems(grid.systems, values, found, level)
        pairs[name] = add_beyond_cues(found, grid, values, features) if features else found
    powered = estimate_all_powered(grid, confounded)
    sizes = dict.fromkeys(ranked[0].n for ranked in means.values() if ranked[0].n)
    few = [note for n in sizes for note in note_resolution(n, level)]
    own = (
        "compare",
        f"systems={','.join(grid.systems)}",
        f"inputs={len(grid.inputs)}",
        f"level={level:g}",
        f"seed={seed}",
        f"cues={f'linear v{VERSION}' if cues else 'none'}",
        *([f"margin={margin:g}"] if margin is not None else []),
        *(f"lower is better: {name}" for name in lower_is_better),
    )
    found = SystemsCompared(
        means=means,
        pairs=pairs,
        powered=powered,
        level=level,
        margin=margin,
        inputs=len(grid.inputs),
    )
    return Study(
        answer=found.answer,
        tables=found.tables,
        notes=[
            *scored.notes,
            *dropped,
            *note_silence(grid, scored, unranked),
            *collect_notes(scored.scores),
            *missing,
            *note_confounded(scored),
            *note_partly_rated(grid, scored),
            *few,
        ],
        signature="|".join([*own, *scored.signatures]),
        found=found,
        draw=found.draw,
    )


def compare_unconfounded(
    systems: Sequence[str], values: Floats, confounded: Collection[tuple[str, str]] = (), **settings: Any
) -> Pairs:
    """Works as `compare_pairs`, but pairs of systems that had different raters get no tests and intervals."""
    found = dict(compare_pairs(systems, values, **settings))
    for pair in confounded:
        found[pair] = withhold(found[pair], f"no rater rated both: {CONFOUNDED}")
    return found


def withhold(found: SystemComparison, reason: str) -> SystemComparison:
    """Removes the test and the intervals of a comparison; `reason` says why."""
    difference = Estimate.undefined(reason, found.difference.value)
    win_rate = Estimate.undefined(reason, found.win_rate.value)
    return replace(found, difference=difference, win_rate=win_rate, p_value=math.nan, is_equal=None, reason=reason)


def leave_silent_out(grid: Grid, scored: ScoredSet) -> tuple[Grid, dict[str, list[str]]]:
    """Leaves out a system's scores by metrics that cannot score its silent (empty) answers.

    Otherwise such a system would gain by its silence on hard inputs. Ratings of people are treated alike if people
    rated all other outputs of the system. Also returns these metrics by system.
    """
    silence = find_silence(grid, scored)
    columns = {name: values.copy() for name, values in grid.columns.items()}
    unranked: dict[str, list[str]] = {}
    for name, values in columns.items():
        for system, is_silent, row in zip(grid.systems, silence, values, strict=True):
            is_rated_in_part = name not in grid.scores and np.isnan(row[~is_silent]).any()
            if np.isnan(row[is_silent]).any() and not is_rated_in_part:
                row[:] = np.nan
                unranked.setdefault(system, []).append(name)
    scores = {name: columns[name] for name in grid.scores}
    ratings = {aspect: columns[f"{HUMAN}{aspect}"] for aspect in grid.ratings}
    return replace(grid, scores=scores, ratings=ratings), unranked


def find_silence(grid: Grid, scored: ScoredSet) -> NDArray[np.bool_]:
    """Finds the answers that are empty or invisible; returns a mask of shape (systems, inputs)."""
    is_silent = np.array([each.is_empty or is_invisible(each.full_text) for each in scored.examples])
    return is_silent[grid.places]


def note_silence(grid: Grid, scored: ScoredSet, unranked: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Notes how often each system is silent, and which metrics do not rank it because of that."""
    for system, is_silent in zip(grid.systems, find_silence(grid, scored), strict=True):
        if is_silent.any():
            said = f"{system} is silent on {is_silent.sum()} of {len(grid.inputs)} inputs"
            names = unranked.get(system, [])
            if names:
                verb = "have" if names[1:] else "has"
                said += f"; {join_names(names)} {verb} no score for a silent answer and cannot rank it"
            yield said


def note_missing(
    name: str,
    grid: Grid,
    values: Floats,
    silent: Collection[str],
) -> Iterator[str]:
    """Notes how many inputs a metric compares if scores are missing, which system lacks most, and which it leaves out.

    `silent` are the systems that it cannot rank because of silent answers, which have their own note.
    """
    systems, inputs = find_common(values, grid.systems)
    few = [
        system for system, is_kept in zip(grid.systems, systems, strict=True) if not is_kept and system not in silent
    ]
    if few and systems.any():
        yield f"{name} leaves {join_names(few)} out: with its scores too few inputs in common would remain"
    if systems.any() and not inputs.all():
        lacking = np.where(systems, np.isnan(values).sum(axis=1), 0)
        most = int(np.argmax(lacking))
        yield (
            f"{name} compares {inputs.sum()} of {len(inputs)} inputs: others lack the score of a system "
            f"({grid.systems[most]} lacks {lacking[most]}), so it compares systems where all could be scored"
        )


def list_partly_rated(grid: Grid) -> list[str]:
    """Lists the aspects for which some outputs have no rating."""
    return [aspect for aspect, values in grid.ratings.items() if np.isnan(values).any()]


def note_partly_rated(grid: Grid, scored: ScoredSet) -> Iterator[str]:
    """Notes what human means from few ratings rest on, and if the rated outputs are visibly no random sample."""
    partly = list_partly_rated(grid)
    for aspect in partly:
        yield f"{aspect} is rated in part: human means rest on the rated part being a random sample of all outputs"
    for aspect in partly:
        for name, tests in check_samples(scored, aspect, scored.scores).items():
            for test in tests:
                yield f"{aspect}: {note_sample(name, 'texts', test)}"


def estimate_all_powered(
    grid: Grid, confounded: Mapping[str, Collection[tuple[str, str]]]
) -> dict[tuple[str, ...], HelpedEstimate]:
    """Estimates human means and differences of aspects that are rated in part, by aspect, metric, system or pair."""
    powered: dict[tuple[str, ...], HelpedEstimate] = {}
    for aspect, name in product(list_partly_rated(grid), grid.scores):
        powered |= dict(estimate_powered(grid, aspect, name))
        for a, b in confounded[f"{HUMAN}{aspect}"]:
            powered[aspect, name, a, b] = withhold_powered(powered[aspect, name, a, b])
    return powered


def estimate_powered(grid: Grid, aspect: str, name: str) -> Iterator[tuple[tuple[str, ...], HelpedEstimate]]:
    """Yields the mean rating of each system, from its ratings and all its scores, and the difference of each pair."""
    ratings = dict(zip(grid.systems, grid.ratings[aspect], strict=True))
    scores = dict(zip(grid.systems, grid.scores[name], strict=True))
    for a in grid.systems:
        yield (aspect, name, a), help_mean(ratings[a], scores[a])
    for a, b in combinations(grid.systems, 2):
        yield (aspect, name, a, b), help_difference(ratings[a], ratings[b], scores[a], scores[b])


def withhold_powered(found: HelpedEstimate) -> HelpedEstimate:
    """Removes the intervals of a difference between two systems that had different raters."""
    estimate = Estimate.undefined(CONFOUNDED, found.estimate.value)
    by_labels = Estimate.undefined(CONFOUNDED, found.by_labels.value)
    return replace(found, estimate=estimate, by_labels=by_labels)


def find_lacking(outputs: ScoredSet) -> dict[str, list[str]]:
    """Finds, for each input, the systems without an output for it. Every example must name its system and its input."""
    systems = list(dict.fromkeys(outputs.systems or ()))
    is_missing = np.isnan(outputs.layout.to_grid(np.zeros(len(outputs))))
    lacking: dict[str, list[str]] = {}
    for group, of_systems in zip(list_inputs(outputs), is_missing.T, strict=True):
        if of_systems.any():
            lacking[group] = [systems[i] for i in np.flatnonzero(of_systems)]
    return lacking


def drop_lacking(outputs: ScoredSet) -> tuple[ScoredSet, tuple[str, ...]]:
    """Drops inputs that some system did not answer; returns outputs and a note. Raises InputError if none is left."""
    lacking = find_lacking(outputs)
    inputs = outputs.layout.input_count
    if not lacking:
        return outputs, ()
    if len(lacking) == inputs:
        raise InputError([fault(outputs.locate(0)[0], 0, f"no input of {inputs} has an output of every system")])
    counts = Counter(name for names in lacking.values() for name in names)
    lacks = ", ".join(f"{name} lacks {number}" for name, number in counts.items())
    note = (
        f"{len(lacking)} of {inputs} inputs are left out, because some system has no output for them ({lacks}): a "
        "system that left out hard ones gains"
    )
    kept = [i for i, example in enumerate(outputs.examples) if example.group not in lacking]
    return outputs.take(kept), (note,)


def check_comparable(scored: ScoredSet, incomplete: Incomplete) -> None:
    """Raises InputError unless each system has exactly one output for every input, with the same context and so on.

    With `drop` a system has at most one output for an input, and some input is answered by all. All outputs for an
    input must have the same context, prefix, label and references.
    """
    check(Incomplete, incomplete=incomplete)
    places = place_outputs(scored)
    systems = list(dict.fromkeys(system for system, _ in places))
    first_answer = {group: i for (_, group), i in reversed(places.items())}
    faults: list[str] = []
    if len(systems) < 2:
        problem = f"a comparison needs at least 2 systems, found {', '.join(systems)}"
        faults.append(fault(scored.locate(0)[0], 0, problem))
    if incomplete == "drop":
        drop_lacking(scored)
    else:
        faults += _list_lacking(scored, first_answer)
    faults += _list_unequal(scored, first_answer)
    require_none((), faults)


def _list_lacking(scored: ScoredSet, first_answer: Mapping[str, int]) -> Iterator[str]:
    """A fault for each input that some system did not answer."""
    for group, names in find_lacking(scored).items():
        rule = f"all systems must answer the same inputs, but {format_value(group)} has no output of {names[0]}"
        yield fault(
            *scored.locate(first_answer[group]), f"{rule}: {setting('incomplete', 'drop')} leaves such inputs out"
        )


def _list_unequal(scored: ScoredSet, first_answer: Mapping[str, int]) -> Iterator[str]:
    """A fault for each field of an input that is not the same beside another output."""
    for i, example in enumerate(scored.examples):
        earlier = first_answer[str(example.group)]
        for name in ("context", "prefix", "label", "references"):
            here = getattr(example, name)
            there = getattr(scored.examples[earlier], name)
            if here != there:
                rule = f"all systems must answer the same input, but {name} of {format_value(example.group)}"
                lines = f"{format_value(here)} here and {format_value(there)} in line {scored.locate(earlier)[1]}"
                yield fault(*scored.locate(i), f"{rule} is {lines}")
