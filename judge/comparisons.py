"""Compares systems on the same inputs, by any metric and by people: figures, tables and sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import SettingError, fault, format_value, setting
from core.example import is_invisible
from data.records import require_none
from data.scored import place_outputs
from judge.cautions import CONFOUNDED, find_choice, find_confounded, note_choice, note_confounded
from judge.scoring import collect_notes
from meta_eval.design import Floats, find_common
from meta_eval.estimates import ENUMERATED, Estimate
from meta_eval.helped import HelpedEstimate, help_difference, help_mean
from meta_eval.scored_set import ScoredSet
from meta_eval.systems import (
    HUMAN,
    Grid,
    Pairs,
    SystemComparison,
    SystemMean,
    compare_pairs,
    lay_grid,
    rank_systems,
)
from report.study import Study
from report.tables import Row, Table, pick
from report.wording import format_number, join_names, note_resolution

MEANS_CAPTION = (
    "Means over the n inputs for which every compared system has a score, with 95 % intervals over inputs. Clusters "
    "are of tests at {level:g} (randomisation by input, adjusted for all pairs). human: ratings by people, for "
    "these raters."
)
MEAN_CELLS = ("system", "cluster", "mean", "n")
PAIRS_CAPTION = (
    "Positive where system_a scores higher. p_value: randomisation, two-sided, adjusted for all pairs under a metric "
    f"(step-down of the largest statistic; exact up to {ENUMERATED} inputs). 95 % intervals over inputs."
)
PAIR_CELLS = ("p_value", "wins", "ties", "losses", "win_rate", "n")
PAIR_SHOWN = ("metric", "system_a", "system_b", "better", "p_value", "difference", "n")
POWERED_CAPTION = (
    "Prediction-powered (PPI++): mean ratings of all outputs, and differences of them, from all scores and the ratings "
    "of some outputs. Differences are paired where both systems are rated on an input. 95 % t intervals, which are "
    "approximate for skewed ratings."
)


@dataclass(frozen=True)
class SystemsCompared:
    """Systems on the same inputs. Ratings of people count as a metric, `human ASPECT`."""

    # of every system by metric, best first
    means: Mapping[str, Sequence[SystemMean]]
    # of systems by metric
    pairs: Mapping[str, Pairs]
    # of aspects that are rated in part, by aspect, metric and system the mean rating, and by two systems its difference
    powered: Mapping[tuple[str, ...], HelpedEstimate]


def compare_systems(
    scored: ScoredSet,
    lacking: Mapping[str, Sequence[str]],
    *,
    level: float,
    lower_is_better: Sequence[str],
    seed: int,
) -> Study:
    """Compares the systems of scored outputs; inputs that some system did not answer (`lacking`) are left out."""
    scored, dropped = drop_lacking(scored.negate(lower_is_better).split_aspects(), lacking)
    grid, silence = leave_silent_out(lay_grid(scored), scored)
    if len(grid.columns) < len(grid.scores) + len(grid.ratings):
        raise SettingError("scores may not have a name of ratings, such as human quality")
    confounded = {f"{HUMAN}{aspect}": find_confounded(scored, aspect) for aspect in grid.ratings}
    means: dict[str, Sequence[SystemMean]] = {}
    pairs: dict[str, Pairs] = {}
    for name, values in grid.columns.items():
        compared = {**compare_pairs(grid.systems, values, seed)}
        for pair in confounded.get(name, ()):
            reason = f"no rater rated both: {CONFOUNDED}"
            known = withhold(compared[pair], reason, "difference", "win_rate")
            compared[pair] = replace(known, p_value=math.nan, reason=reason)
        means[name] = rank_systems(grid.systems, values, compared, level)
        pairs[name] = compared
    found = SystemsCompared(means, pairs, estimate_powered(grid, confounded))
    sizes = dict.fromkeys(ranked[0].n for ranked in means.values() if ranked[0].n)
    own = (
        "compare",
        f"systems={','.join(grid.systems)}",
        f"inputs={len(grid.inputs)}",
        f"level={level:g}",
        f"seed={seed}",
        *(f"lower is better: {name}" for name in lower_is_better),
    )
    return Study(
        answer=write_answer(found, len(grid.inputs), level),
        tables=[*tabulate(found, level)],
        notes=[
            *scored.notes,
            *dropped,
            *note_silence(grid, scored, silence),
            *collect_notes(scored.scores),
            *(note for name in grid.columns for note in note_missing(name, grid, silence)),
            *note_confounded(scored),
            *note_partly_rated(grid, scored),
            *(note for n in sizes for note in note_resolution(n, level)),
        ],
        signature="|".join([*own, *scored.signatures]),
        found=found,
    )


# ---- what is compared -----------------------------------------------------------------------------------------------


def check_comparable(scored: ScoredSet, *, may_lack: bool) -> dict[str, list[str]]:
    """Checks that each system has one output for every input; returns by input the systems that lack one.

    All outputs for an input must have the same context, prefix, label and references. Raises InputError for outputs
    that differ, for an input that some system did not answer unless they `may_lack`, and if all lack one.
    """
    places = place_outputs(scored)
    systems = list(dict.fromkeys(system for system, _ in places))
    first_answer = {group: i for (_, group), i in reversed(places.items())}
    lacking = {group: [name for name in systems if (name, group) not in places] for group in scored.groups or ()}
    lacking = {group: names for group, names in lacking.items() if names}
    faults: list[str] = []
    if may_lack and len(lacking) == len(first_answer):
        faults.append(fault(scored.locate(0)[0], 0, f"no input of {len(lacking)} has an output of every system"))
    elif len(systems) < 2:
        problem = f"a comparison needs at least 2 systems, found {', '.join(systems)}"
        faults.append(fault(scored.locate(0)[0], 0, problem))
    for group, names in lacking.items() if not may_lack else ():
        rule = f"all systems must answer the same inputs, but {format_value(group)} has no output of {names[0]}"
        hint = f"{setting('incomplete', 'drop')} leaves such inputs out"
        faults.append(fault(*scored.locate(first_answer[group]), f"{rule}: {hint}"))
    for i, example in enumerate(scored.examples):
        earlier = first_answer[str(example.group)]
        for name in ("context", "prefix", "label", "references"):
            here, there = getattr(example, name), getattr(scored.examples[earlier], name)
            if here != there:
                rule = f"all systems must answer the same input, but {name} of {format_value(example.group)}"
                lines = f"{format_value(here)} here and {format_value(there)} in line {scored.locate(earlier)[1]}"
                faults.append(fault(*scored.locate(i), f"{rule} is {lines}"))
    require_none((), faults)
    return lacking


def drop_lacking(outputs: ScoredSet, lacking: Mapping[str, Sequence[str]]) -> tuple[ScoredSet, list[str]]:
    """Drops inputs that some system did not answer; returns outputs and a note."""
    if not lacking:
        return outputs, []
    counts = Counter(name for names in lacking.values() for name in names)
    lacks = ", ".join(f"{name} lacks {number}" for name, number in counts.items())
    note = (
        f"{len(lacking)} of {outputs.layout.input_count} inputs are left out, because some system has no output for "
        f"them ({lacks}): a system that left out hard ones gains"
    )
    kept = [i for i, example in enumerate(outputs.examples) if example.group not in lacking]
    return outputs.take(kept), [note]


def withhold(found: Any, reason: str, *names: str) -> Any:
    """Removes the intervals of these estimates of a dataclass; `reason` says why."""
    return replace(found, **{name: Estimate.undefined(reason, getattr(found, name).value) for name in names})


def find_silence(grid: Grid, scored: ScoredSet) -> NDArray[np.bool_]:
    """Finds the answers that are empty or invisible; returns a mask of shape (systems, inputs)."""
    is_silent = np.array([each.is_empty or is_invisible(each.full_text) for each in scored.examples])
    return is_silent[grid.places]


def leave_silent_out(grid: Grid, scored: ScoredSet) -> tuple[Grid, dict[str, list[str]]]:
    """Leaves out a system's scores by metrics that cannot score its silent (empty) answers.

    Otherwise such a system would gain by its silence on hard inputs. Ratings of people are treated alike if people
    rated all other outputs of the system. Also returns these metrics by system.
    """
    silence = find_silence(grid, scored)
    unranked: dict[str, list[str]] = {}
    columns: dict[str, Floats] = {}
    for name, values in grid.columns.items():
        is_missing = np.isnan(values)
        is_out = np.asarray((is_missing & silence).any(axis=1))
        if name not in grid.scores:
            is_out &= ~(is_missing & ~silence).any(axis=1)  # a system that people rated in part is left in
        for row in np.flatnonzero(is_out):
            unranked.setdefault(grid.systems[row], []).append(name)
        columns[name] = np.where(is_out[:, None], np.nan, values)
    scores = {name: columns[name] for name in grid.scores}
    ratings = {aspect: columns[f"{HUMAN}{aspect}"] for aspect in grid.ratings}
    return replace(grid, scores=scores, ratings=ratings), unranked


def estimate_powered(
    grid: Grid, confounded: Mapping[str, Collection[tuple[str, str]]]
) -> dict[tuple[str, ...], HelpedEstimate]:
    """Estimates human means and differences of aspects that are rated in part, by aspect, metric, system or pair."""
    powered: dict[tuple[str, ...], HelpedEstimate] = {}
    for aspect, name in product(list_partly_rated(grid), grid.scores):
        ratings = dict(zip(grid.systems, grid.ratings[aspect], strict=True))
        scores = dict(zip(grid.systems, grid.scores[name], strict=True))
        for a in grid.systems:
            powered[aspect, name, a] = help_mean(ratings[a], scores[a])
        for a, b in combinations(grid.systems, 2):
            found = help_difference(ratings[a], ratings[b], scores[a], scores[b])
            if (a, b) in confounded[f"{HUMAN}{aspect}"]:
                found = withhold(found, CONFOUNDED, "estimate", "by_labels")
            powered[aspect, name, a, b] = found
    return powered


def list_partly_rated(grid: Grid) -> list[str]:
    """Lists the aspects for which some outputs have no rating."""
    return [aspect for aspect, values in grid.ratings.items() if np.isnan(values).any()]


# ---- notes ----------------------------------------------------------------------------------------------------------


def note_silence(grid: Grid, scored: ScoredSet, unranked: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Notes how often each system is silent, and which metrics do not rank it because of that."""
    for system, is_silent in zip(grid.systems, find_silence(grid, scored), strict=True):
        if is_silent.any():
            said = f"{system} is silent on {is_silent.sum()} of {len(grid.inputs)} inputs"
            if names := unranked.get(system, []):
                verb = "have" if names[1:] else "has"
                said += f"; {join_names(names)} {verb} no score for a silent answer and cannot rank it"
            yield said


def note_missing(name: str, grid: Grid, unranked: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Notes how many inputs a metric compares if scores are missing, which system lacks most, and which it leaves out.

    A system that it cannot rank because of silent answers has its own note.
    """
    values = grid.columns[name]
    kept, inputs = find_common(values, grid.systems)
    left_out = [system for system, is_kept in zip(grid.systems, kept, strict=True) if not is_kept]
    few = [system for system in left_out if name not in unranked.get(system, ())]
    if few and kept.any():
        yield f"{name} leaves {join_names(few)} out: with its scores too few inputs in common would remain"
    if kept.any() and not inputs.all():
        lacking = np.where(kept, np.isnan(values).sum(axis=1), 0)
        most = int(np.argmax(lacking))
        yield (
            f"{name} compares {inputs.sum()} of {len(inputs)} inputs: others lack the score of a system "
            f"({grid.systems[most]} lacks {lacking[most]}), so it compares systems where all could be scored"
        )


def note_partly_rated(grid: Grid, scored: ScoredSet) -> Iterator[str]:
    """Notes what human means from few ratings rest on, and if the rated outputs are visibly no random sample."""
    for aspect in list_partly_rated(grid):
        yield f"{aspect} is rated in part: human means rest on the rated part being a random sample of all outputs"
        scores = {name: scored.values(name, aspect) for name in scored.scores}
        differences = find_choice(scored.ratings(aspect), scores, scored.systems, scored.layout)
        yield from (f"{aspect}: {note}" for note in note_choice(differences, "texts"))


# ---- tables and the answer ------------------------------------------------------------------------------------------


def tabulate(found: SystemsCompared, level: float) -> Iterator[Table]:
    """Yields tables of means, of pairs of systems, and of human means estimated from few ratings."""
    means = [pick(mean, MEAN_CELLS, metric=metric) for metric, ranked in found.means.items() for mean in ranked]
    yield Table("Systems, best first", MEANS_CAPTION.format(level=level), means)
    pairs: list[dict[str, Any]] = []
    for metric, of_metric in found.pairs.items():
        for (a, b), pair in of_metric.items():
            cells = {"metric": metric, "system_a": a, "system_b": b, "difference": pair.difference}
            pairs.append(pick(pair, PAIR_CELLS, **cells, better=judge_pair((a, b), pair, level)))
    yield Table("Systems on the same inputs", PAIRS_CAPTION, pairs, PAIR_SHOWN)
    powered: list[Row] = []
    for (aspect, metric, *systems), helped in found.powered.items():
        cells = {"aspect": aspect, "metric": metric, "system": " minus ".join(systems)}
        numbers = {"mean": helped.estimate, "mean_by_ratings": helped.by_labels}
        powered.append(pick(helped, ("rated", "unrated", "saved"), **cells, **numbers))
    yield Table("Human means from few ratings", POWERED_CAPTION, powered)


def write_answer(found: SystemsCompared, inputs: int, level: float) -> str:
    """Says in one sentence which system is better by which metrics."""
    metrics_by_answer: dict[str, list[str]] = {}
    for metric, ranked in found.means.items():
        answer = _answer_by_metric(ranked, found.pairs[metric], level)
        if 0 < ranked[0].n < inputs:
            answer = f"on {ranked[0].n} of {inputs} inputs, {answer}"
        metrics_by_answer.setdefault(answer, []).append(metric)
    said = "; ".join(f"by {join_names(metrics)}, {answer}" for answer, metrics in metrics_by_answer.items())
    return f"{said[:1].upper()}{said[1:]}."


def judge_pair(systems: tuple[str, str], pair: SystemComparison, level: float) -> str:
    """Names the better system of a pair, or says that the tests find no difference."""
    if pair.p_value < level:
        return systems[0] if pair.difference.value > 0 else systems[1]
    return "not tested" if math.isnan(pair.p_value) else "not separated"


def _answer_by_metric(ranked: Sequence[SystemMean], pairs: Pairs, level: float) -> str:
    """What the tests of one metric show about its best system and each other one, in a sentence without its end."""
    best, *others = [mean.system for mean in ranked if mean.n] or [""]
    if not others:
        return "no two systems have scores for enough inputs in common"
    against = {other: pairs.get((best, other)) or pairs[other, best] for other in others}
    untested = [other for other in others if math.isnan(against[other].p_value)]
    why = "; ".join(dict.fromkeys(against[other].reason or "" for other in untested))
    if untested == others:
        return f"{best} is not tested against {join_names(others)}: {why}"
    beaten = [other for other in others if against[other].p_value < level]
    unsure = [other for other in others if other not in (*untested, *beaten)]
    clauses = (
        (f"{best} scores higher than ", beaten, f" ({_bound_p(against, beaten, is_most=True)})"),
        (f"the tests do not separate {best} from ", unsure, f" ({_bound_p(against, unsure, is_most=False)})"),
        ("", [mean.system for mean in ranked if not mean.n], " cannot be compared"),
        (f"{best} is not tested against ", untested, f" ({why})"),
    )
    return ", and ".join(f"{before}{join_names(names)}{after}" for before, names, after in clauses if names)


def _bound_p(against: Mapping[str, SystemComparison], others: Sequence[str], *, is_most: bool) -> str:
    """The p-value of these comparisons: of several the largest, or the smallest."""
    p_values = [against[other].p_value for other in others]
    bound = (max if is_most else min)(p_values, default=1.0)
    at = "" if len(p_values) == 1 or (not is_most and bound >= 1) else "at most " if is_most else "at least "
    return f"p {at}{format_number(bound)}"
