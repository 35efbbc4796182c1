"""Cautions: data that can mislead a study: repeated texts, raters of one system, labels that are no random sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

import numpy as np

from meta_eval.design import Floats, Layout
from meta_eval.permuted import SampleDifference, compare_cells, compare_verdicts
from meta_eval.scored_set import ScoredSet
from report.wording import format_number, join_names

Differences: TypeAlias = Mapping[str, Sequence[SampleDifference]]

REPEATED = 0.1  # of the texts repeat a context, or another text: they are no longer independent
CONFOUNDED = "a difference between these systems may be one between their raters"


def note_repeats(scored: ScoredSet) -> Iterator[str]:
    """Notes if contexts or texts repeat and no text names its input: intervals treat such texts as independent."""
    if scored.groups is not None:
        return
    contexts = [example.context for example in scored.examples if example.context]
    texts = [example.full_text for example in scored.examples if not example.is_empty]  # empty ones have their own note
    for what, values in (("contexts", contexts), ("texts", texts)):
        distinct = len(set(values))
        if len(values) - distinct > REPEATED * len(scored):
            yield (
                f"{len(values)} rows have {distinct} different {what} and no group: intervals and tests take rows as "
                "independent; name what they share as group"
            )
            return


def note_confounded(scored: ScoredSet) -> Iterator[str]:
    """Notes if no rater rated texts of both of two systems."""
    for aspect, ratings in scored.raters.items():
        pairs = [f"{a} and {b}" for a, b in find_confounded(scored, aspect)]
        if pairs and len(ratings) > 1:
            yield f"no rater of {aspect} rated texts of both {join_names(pairs[:3])}: {CONFOUNDED}"


def find_confounded(scored: ScoredSet, aspect: str) -> list[tuple[str, str]]:
    """Finds pairs of systems that different people rated: no rater rated texts of both systems for this aspect.

    If raters are not named, no pair is found.
    """
    if aspect not in scored.raters or scored.systems is None:
        return []
    is_rated = ~np.isnan(scored.raters[aspect])
    names = np.array(scored.systems)
    systems = dict.fromkeys(names.tolist())
    raters_by_system = {system: is_rated[:, names == system].any(axis=1) for system in systems}
    rated = [system for system, raters in raters_by_system.items() if raters.any()]
    return [(a, b) for a, b in combinations(rated, 2) if not (raters_by_system[a] & raters_by_system[b]).any()]


def find_choice(
    labels: Floats,
    verdicts: Mapping[str, Floats],
    cells: Sequence[str] | None,
    layout: Layout,
) -> Differences:
    """Finds, by judge, how the texts with a label (n,) differ from the others in verdicts and in cells (systems)."""
    is_labelled = ~np.isnan(labels)
    by_cell = compare_cells(is_labelled, cells, layout) if cells else None
    by_verdict = {name: compare_verdicts(is_labelled, values, layout) for name, values in verdicts.items()}
    return {name: [*filter(None, (difference, by_cell))] for name, difference in by_verdict.items()}


def note_choice(found: Differences, examples: str) -> Iterator[str]:
    """Warns that the labelled examples are no random sample, so that corrected figures of a judge are invalid."""
    for judge, differences in found.items():
        for difference in differences:
            labelled = format_number(difference.labelled)
            others = format_number(difference.others)
            differ = f"{labelled} of the {examples} of {difference.what} are labelled, and {others} of the others"
            if difference.what == "verdicts":
                differ = f"the mean verdict of {judge} is {labelled} on labelled {examples} and {others} on the others"
            rule = f"the labels are no random sample, so figures corrected with {judge} do not hold"
            yield f"{rule}: {differ} (p {format_number(difference.p_value)})"
