"""Rankings corrected for a judge: by labels of some pairs, and for the lengths of outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from judge.tables import Row, Table, pick, tabulate
from judge.wording import format_cell, format_number
from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats
from meta_eval.grouping import restrict
from meta_eval.intervals import share_interval
from meta_eval.length_control import Controlled, control_length
from meta_eval.prediction_powered import powered_rate, powered_strengths
from meta_eval.preferences import Preferences
from meta_eval.sampling import SampleDifference, compare_cells, compare_verdicts

WINNER = "winner"  # names the preferences themselves
EQUAL = 1e-9  # strengths that differ by less are equal
PARTLY = (
    " rank, corrected, strength: of all {pairs} pairs, from {labels} labels and the verdicts (prediction-powered; "
    "valid for any judge if the labelled pairs are a random sample; intervals need "
    f"{FEWEST_UNITS} inputs with labels)."
)
LENGTHS = (
    "Logistic regression on the difference of lengths, as in AlpacaEval 2. Ranks are by strengths. by: the judge, or "
    f"{WINNER}, the preferences themselves. Intervals are over inputs."
)
LENGTH_CELLS = ("win_rate", "controlled", "change", "strength", "n")


@dataclass(frozen=True)
class Corrections:
    """The ranking by each judge beside that by people, and the win rates at equal lengths."""

    # the pairs, and those with a label of people
    pairs: int
    labels: int
    # by judge, the rows of the systems by their corrected rank
    by_labels: Mapping[str, Sequence[Row]]
    # by judge, or `WINNER`, the systems by the strength at equal lengths
    by_length: Mapping[str, Mapping[str, Controlled]]
    # by judge, or `WINNER`, the ranks of the systems by the strengths as judged
    ranks_as_judged: Mapping[str, Mapping[str, float]]
    # by judge, how the labelled pairs differ from the others: the corrections then do not hold
    unrepresentative: Mapping[str, Sequence[SampleDifference]] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """The systems of each judge as it ranks them and as people do, and at equal lengths; those that there are."""
        by_labels = [{"judge": name, **each} for name, systems in self.by_labels.items() for each in systems]
        by_length = [
            pick(each, LENGTH_CELLS, by=name, rank=rank, rank_as_judged=ranks.get(system, math.nan), system=system)
            for name, ranks in self.ranks_as_judged.items()
            for place, (system, each) in enumerate(self.by_length.get(name, {}).items(), 1)
            for rank in [math.nan if math.isnan(each.strength.value) else place]
        ]
        partly = PARTLY.format(pairs=self.pairs, labels=self.labels) if self.labels < self.pairs else ""
        found = [
            tabulate("Systems by judges and by people", f"Intervals are over inputs.{partly}", by_labels),
            tabulate("At equal lengths", LENGTHS, by_length),
        ]
        return [table for table in found if table.rows]

    @property
    def notes(self) -> list[str]:
        """What the corrections change; no order from few labels has intervals, and such an order is not told."""
        found = [
            note_sample(name, "pairs", each) for name, several in self.unrepresentative.items() for each in several
        ]
        for name, systems in self.by_labels.items():
            by_judge, by_people = (_order(systems, rank) for rank in ("rank_by_judge", "rank"))
            is_partly = self.labels < self.pairs
            is_sure = not is_partly or all(not math.isnan(row["strength"].low) for row in systems)
            if by_judge and by_people and is_sure and name not in self.unrepresentative:
                how = "people's order" if self.labels == self.pairs else f"corrected with {self.labels} labels, it"
                is_same = "is the same" if by_judge == by_people else f"is {by_people}"
                found.append(f"{name} orders {by_judge}; {how} {is_same}")
        for name, all_systems in self.by_length.items():
            systems = {system: each for system, each in all_systems.items() if not math.isnan(each.change.value)}
            moved = [each for each in systems.values() if each.change.low > 0 or each.change.high < 0]
            if moved:
                most, each = max(
                    ((system, each) for system, each in systems.items() if each in moved),
                    key=lambda item: abs(item[1].change.value),
                )
                changed = f"equal lengths change {len(moved)} of {len(systems)} win rates"
                found.append(f"by {name}, {changed}, most that of {most}: {format_cell(each.change)}")
        return found


def correct(
    given: Preferences,
    judges: Mapping[str, Floats],
    lengths: Floats | None,
    asked_judges: Sequence[str] = (),
) -> Corrections:
    """The corrected rankings of pairs whose outcomes are those of people, NaN where they did not judge.

    `judges` are the outcomes by the name of a judge or metric, of shape (n,), `lengths` those of both outputs, of shape
    (n, 2). Lengths are controlled for `asked_judges` and for the judges of the file.
    """
    sources = {WINNER: given.outcomes, **judges}
    by_length = {}
    if lengths is not None:
        for name, outcomes in sources.items():
            if name in (*asked_judges, *given.judges) or (name == WINNER and not np.isnan(outcomes).any()):
                found = control_length(replace(given, outcomes=outcomes), lengths)
                if found:
                    order = _rank({system: each.strength for system, each in found.items()})
                    by_length[name] = {system: found[system] for system in order}
    ranked = {*judges, *by_length}
    ranks = {name: _rank_verdicts(given, outcomes) for name, outcomes in sources.items() if name in ranked}
    by_labels = {name: correct_by_labels(given, verdicts, ranks[name]) for name, verdicts in judges.items()}
    is_labelled = ~np.isnan(given.outcomes)
    unlike = {name: each for name, verdicts in judges.items() if (each := _check_sample(given, verdicts, is_labelled))}
    return Corrections(len(given), int(is_labelled.sum()), by_labels, by_length, ranks, unlike)


def _check_sample(given: Preferences, verdicts: Floats, is_labelled: NDArray[np.bool_]) -> list[SampleDifference]:
    """How labelled pairs differ from others, in the verdicts of a judge and in the systems that are compared."""
    pairs = [" and ".join(sorted(pair)) for pair in zip(given.systems_a, given.systems_b, strict=True)]
    found = [
        compare_verdicts(is_labelled, verdicts, given.layout),
        compare_cells(is_labelled, pairs, given.layout),
    ]
    return [each for each in found if each is not None]


def note_sample(judge: str, examples: str, found: SampleDifference) -> str:
    """The sentence that corrected figures of a judge do not hold, because labels are visibly no random sample."""
    p = format_number(found.p_value)
    if found.what == "verdicts":
        differ = (
            f"the mean verdict of {judge} is {format_number(found.labelled)} on labelled {examples} and "
            f"{format_number(found.others)} on the others"
        )
    else:
        differ = (
            f"{format_number(found.labelled)} of the {examples} of {found.what} are labelled, and "
            f"{format_number(found.others)} of the others"
        )
    return f"the labels are no random sample, so figures corrected with {judge} do not hold: {differ} (p {p})"


def correct_by_labels(given: Preferences, verdicts: Floats, ranks_by_judge: Mapping[str, float]) -> list[Row]:
    """A row for each system, by its corrected strength; `corrected` is its win rate with the judge's help, where only
    some pairs have labels.
    """
    judged, strengths = replace(given, outcomes=verdicts), powered_strengths(given, verdicts)
    ranks, rows, is_partly = _rank(strengths), [], np.isnan(given.outcomes).any()
    for system, rank in ranks.items():
        own, own_verdicts = given.compares(system), judged.of(system)
        by_judge, seen = Estimate.undefined("the judge gave no verdict"), ~np.isnan(own_verdicts)
        if seen.any():
            by_judge = share_interval(own_verdicts[seen], restrict(given.layout, seen))
        rate = powered_rate(given.of(system)[own], own_verdicts[own], restrict(given.layout, own))
        cells = {"rank": rank, "rank_by_judge": ranks_by_judge.get(system, math.nan), "system": system}
        helped = rate.cells if is_partly else {"labels": rate.rated, "by_people": rate.classical}
        rows.append({**cells, "by_judge": by_judge, **helped, "strength": strengths[system]})
    return rows


def _rank_verdicts(given: Preferences, outcomes: Floats) -> dict[str, float]:
    """The ranks of the systems by the strengths of Bradley and Terry."""
    seen = replace(given, outcomes=outcomes).take(~np.isnan(outcomes))
    return _rank(powered_strengths(seen, seen.outcomes))


def _rank(strengths: Mapping[str, Estimate]) -> dict[str, float]:
    """The systems, best first, and their ranks: equal strengths share one, and one that is not known has none."""
    values = {system: each.value for system, each in strengths.items()}
    order = sorted(values, key=lambda each: -np.nan_to_num(values[each], nan=-np.inf))
    better = {system: sum(value > values[system] + EQUAL for value in values.values()) for system in order}
    return {system: math.nan if math.isnan(values[system]) else 1 + better[system] for system in order}


def _order(systems: Sequence[Row], by: str) -> str:
    """The systems by this rank; empty where one has none."""
    found: dict[float, list[str]] = {}
    for each in systems:
        found.setdefault(each[by], []).append(each["system"])
    return "" if any(map(math.isnan, found)) else ", ".join(" = ".join(found[rank]) for rank in sorted(found))
