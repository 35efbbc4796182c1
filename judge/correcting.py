"""Corrects rankings: for a judge's errors, by people's labels of some pairs, and for the length of outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from meta_eval.design import Floats, Layout, restrict
from meta_eval.estimates import FEWEST, Estimate, estimate_share
from meta_eval.helped import help_mean, help_strengths
from meta_eval.length_control import Controlled, control_length
from meta_eval.permuted import SampleDifference, compare_cells, compare_verdicts
from meta_eval.preferences import Preferences
from report.tables import Row, Table, pick
from report.wording import format_cell, format_number

WINNER = "winner"  # names the preferences themselves
EQUAL = 1e-9  # strengths that differ by less are equal
CORRECTED_CAPTION = (
    " rank, corrected, strength: of all {pairs} pairs, from {labels} labels and the verdicts (prediction-powered; "
    "valid for any judge if the labelled pairs are a random sample; intervals need "
    f"{FEWEST} inputs with labels)."
)
LENGTHS_CAPTION = (
    "Logistic regression on the difference of lengths, as in AlpacaEval 2. Ranks are by strengths. by: the judge, or "
    f"{WINNER}, the preferences themselves. Intervals are over inputs."
)
LABELS_SHOWN = ("judge", "system", "rank", "by_judge", "by_people", "corrected", "labels", "rank_by_judge")
LENGTHS_SHOWN = ("by", "rank", "rank_as_judged", "system", "win_rate", "controlled", "n")
LENGTH_CELLS = ("win_rate", "controlled", "change", "strength", "n")


@dataclass(frozen=True)
class Corrections:
    """The rankings by each judge and by people, and the win rates at equal lengths."""

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
        """Tables of the systems as judges and people rank them, and at equal lengths."""
        caption = "Intervals are over inputs."
        if self.labels < self.pairs:
            caption += CORRECTED_CAPTION.format(pairs=self.pairs, labels=self.labels)
        by_labels = [{"judge": name, **row} for name, rows in self.by_labels.items() for row in rows]
        return [
            Table("Systems by judges and by people", caption, by_labels, LABELS_SHOWN),
            Table("At equal lengths", LENGTHS_CAPTION, [*self._list_lengths()], LENGTHS_SHOWN),
        ]

    def _list_lengths(self) -> Iterator[Row]:
        """A row for each judge and system at equal lengths; one whose strength is not known has no rank."""
        for name, ranks in self.ranks_as_judged.items():
            systems = self.by_length.get(name, {})
            for place, (system, controlled) in enumerate(systems.items(), start=1):
                is_unknown = math.isnan(controlled.strength.value)
                yield pick(
                    controlled,
                    LENGTH_CELLS,
                    by=name,
                    rank=math.nan if is_unknown else place,
                    rank_as_judged=ranks.get(system, math.nan),
                    system=system,
                )

    @property
    def notes(self) -> list[str]:
        """Says what the corrections change. An order is not stated if its labels are too few for intervals."""
        return [*self._describe_samples(), *self._describe_orders(), *self._describe_lengths()]

    def _describe_samples(self) -> Iterator[str]:
        """How labelled pairs differ from the others."""
        for name, differences in self.unrepresentative.items():
            for difference in differences:
                yield note_sample(name, "pairs", difference)

    def _describe_orders(self) -> Iterator[str]:
        """The order of the systems by each judge, and by people."""
        is_whole = self.labels == self.pairs
        for name, systems in self.by_labels.items():
            by_judge = _show_order(systems, "rank_by_judge")
            by_people = _show_order(systems, "rank")
            is_sure = is_whole or not any(math.isnan(row["strength"].low) for row in systems)
            if name in self.unrepresentative or not (by_judge and by_people and is_sure):
                continue
            how = "people's order" if is_whole else f"corrected with {self.labels} labels, it"
            result = "is the same" if by_judge == by_people else f"is {by_people}"
            yield f"as judged, {name} orders {by_judge}; {how} {result}"

    def _describe_lengths(self) -> Iterator[str]:
        """How many win rates equal lengths change, which most, and whether the order of the systems changes."""
        for name, systems in self.by_length.items():
            known = {system: each.change for system, each in systems.items() if not math.isnan(each.change.value)}
            moved = {system: change for system, change in known.items() if change.low > 0 or change.high < 0}
            if moved:
                most = max(moved, key=lambda system: abs(moved[system].value))
                said = f"equal lengths change {len(moved)} of {len(known)} win rates"
                yield f"by {name}, {said}, most that of {most}: {format_cell(moved[most])}"
            ranks = [self.ranks_as_judged[name].get(system, math.nan) for system in systems]
            if name != WINNER and any(below < above for above, below in pairwise(ranks)):
                yield f"at equal lengths {name} orders {', '.join(systems)}"


def correct(
    given: Preferences,
    judges: Mapping[str, Floats],
    lengths: Floats | None,
    asked_judges: Sequence[str] = (),
) -> Corrections:
    """Corrects rankings. The outcomes of `given` are those of people, NaN for pairs that people did not judge.

    `judges` has outcomes of shape (n,) by the name of a judge or metric. `lengths` has the lengths of both outputs, of
    shape (n, 2). Lengths are controlled for `asked_judges` and for the judges of the file.
    """
    sources = {WINNER: given.outcomes, **judges}
    controlled_for = {*asked_judges, *given.judges}
    if not np.isnan(given.outcomes).any():
        controlled_for.add(WINNER)
    by_length: dict[str, dict[str, Controlled]] = {}
    ranks: dict[str, dict[str, float]] = {}
    for name, outcomes in sources.items():
        if lengths is not None and name in controlled_for:
            systems = control_lengths(given, outcomes, lengths)
            if systems:
                by_length[name] = systems
        if name in judges or name in by_length:
            ranks[name] = _rank_verdicts(given, outcomes)
    by_labels: dict[str, list[Row]] = {}
    unrepresentative: dict[str, list[SampleDifference]] = {}
    for name, verdicts in judges.items():
        by_labels[name] = correct_by_labels(given, verdicts, ranks[name])
        differences = _check_sample(given, verdicts)
        if differences:
            unrepresentative[name] = differences
    return Corrections(
        pairs=len(given),
        labels=int((~np.isnan(given.outcomes)).sum()),
        by_labels=by_labels,
        by_length=by_length,
        ranks_as_judged=ranks,
        unrepresentative=unrepresentative,
    )


def control_lengths(
    given: Preferences,
    outcomes: Floats,
    lengths: Floats,
) -> dict[str, Controlled]:
    """Estimates the systems at equal lengths, by name, the strongest first; {} if lengths cannot be controlled for."""
    controlled = control_length(replace(given, outcomes=outcomes), lengths)
    strengths = {system: figures.strength for system, figures in controlled.items()}
    return {system: controlled[system] for system in _rank(strengths)}


def _check_sample(given: Preferences, verdicts: Floats) -> list[SampleDifference]:
    """How labelled pairs differ from others, in the verdicts of a judge and in the systems that are compared."""
    is_labelled = ~np.isnan(given.outcomes)
    pairs = [" and ".join(sorted(pair)) for pair in zip(given.systems_a, given.systems_b, strict=True)]
    by_verdict = compare_verdicts(is_labelled, verdicts, given.layout)
    by_systems = compare_cells(is_labelled, pairs, given.layout)
    return [difference for difference in (by_verdict, by_systems) if difference is not None]


def note_sample(
    judge: str,
    examples: str,
    difference: SampleDifference,
) -> str:
    """Warns that the labelled texts are not a random sample, so that corrected figures of the judge are invalid."""
    labelled = format_number(difference.labelled)
    others = format_number(difference.others)
    if difference.what == "verdicts":
        differ = f"the mean verdict of {judge} is {labelled} on labelled {examples} and {others} on the others"
    else:
        differ = f"{labelled} of the {examples} of {difference.what} are labelled, and {others} of the others"
    rule = f"the labels are no random sample, so figures corrected with {judge} do not hold"
    return f"{rule}: {differ} (p {format_number(difference.p_value)})"


def correct_by_labels(
    given: Preferences,
    verdicts: Floats,
    ranks_by_judge: Mapping[str, float],
) -> list[Row]:
    """Makes a row for each system, the strongest after correction first.

    `corrected` is its win rate estimated from people's labels of some pairs and the judge's verdicts on all.
    """
    judged = replace(given, outcomes=verdicts)
    strengths = help_strengths(given, verdicts)
    is_partly = np.isnan(given.outcomes).any()
    rows: list[Row] = []
    for system, rank in _rank(strengths).items():
        compared = given.compares(system)
        by_judge = judged.of(system)
        rate = help_mean(
            given.of(system)[compared],
            by_judge[compared],
            restrict(given.layout, compared),
            is_rate=True,
        )
        row = {
            "rank": rank,
            "rank_by_judge": ranks_by_judge.get(system, math.nan),
            "system": system,
            "by_judge": _share(by_judge, given.layout),
        }
        if is_partly:
            row |= rate.cells
        else:
            row["labels"] = rate.rated
            row["by_people"] = rate.by_labels
        row["strength"] = strengths[system]
        rows.append(row)
    return rows


def _share(outcomes: Floats, layout: Layout) -> Estimate:
    """The mean of known outcomes."""
    if np.isnan(outcomes).all():
        return Estimate.undefined("the judge gave no verdict")
    return estimate_share(outcomes, layout).only


def _rank_verdicts(given: Preferences, outcomes: Floats) -> dict[str, float]:
    """The ranks of the systems by the strengths of Bradley and Terry."""
    known = replace(given, outcomes=outcomes).take(~np.isnan(outcomes))
    return _rank(help_strengths(known, known.outcomes))


def _rank(strengths: Mapping[str, Estimate]) -> dict[str, float]:
    """The systems, best first, and their ranks: equal strengths share one, and one that is not known has none."""
    values = {system: strength.value for system, strength in strengths.items()}

    def by_strength(system: str) -> float:
        value = values[system]
        return math.inf if math.isnan(value) else -value

    ranks: dict[str, float] = {}
    for system in sorted(values, key=by_strength):
        value = values[system]
        better = sum(other > value + EQUAL for other in values.values())
        ranks[system] = math.nan if math.isnan(value) else 1 + better
    return ranks


def _show_order(systems: Sequence[Row], by: str) -> str:
    """The systems by this rank; empty where one has none."""
    by_rank: dict[float, list[str]] = {}
    for row in systems:
        by_rank.setdefault(row[by], []).append(row["system"])
    if any(map(math.isnan, by_rank)):
        return ""
    return ", ".join(" = ".join(by_rank[rank]) for rank in sorted(by_rank))
