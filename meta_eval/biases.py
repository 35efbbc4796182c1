"""Biases of a judge of pairs: whether it favours longer texts, or systems of its family, more than people do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meta_eval.bootstrap import Estimate, Floats
from meta_eval.grouping import restrict
from meta_eval.intervals import Resampling, draw_grouped, share_interval
from meta_eval.labels import weigh_mean
from meta_eval.preferences import Preferences
from meta_eval.ties import to_outcomes


@dataclass(frozen=True)
class Favour:
    """How often a judge and people prefer the outputs of one side, on the same n pairs; ties count half."""

    n: int
    by_judge: Estimate
    by_people: Estimate
    # by_judge minus by_people; 0 is best
    effect: Estimate


def find_longer(lengths: Floats) -> Floats:
    """Finds the longer output of each pair from lengths (n, 2): 1 for a, -1 for b, 0 for equal or unknown lengths.

    >>> find_longer(np.array([[9.0, 3.0], [3.0, 9.0], [4.0, 4.0], [np.nan, 4.0]]))
    array([ 1., -1.,  0.,  0.])
    """
    return np.nan_to_num(np.sign(lengths[:, 0] - lengths[:, 1]))


def find_family(given: Preferences, family: Sequence[str]) -> Floats:
    """Finds for each pair which output is by a system in `family`: 1 if only a is, -1 if only b is, else 0."""
    a_belongs = np.isin(given.systems_a, family)
    b_belongs = np.isin(given.systems_b, family)
    return a_belongs.astype(np.float64) - b_belongs


def measure_favour(
    people: Preferences,
    outcomes: Floats,
    sides: Floats,
    resampling: Resampling,
) -> Favour:
    """Measures how often a judge (`outcomes`) and people prefer the output that `sides` names: 1 for a, -1 for b.

    All arrays have the shape (n,). A pair does not count if its side is 0, or if the judge or people gave no outcome.
    """
    kept = (sides != 0) & ~np.isnan(people.outcomes) & ~np.isnan(outcomes)
    if not kept.any():
        none = Estimate.undefined("no judged pair has one output of this kind")
        return Favour(
            0,
            by_judge=none,
            by_people=none,
            effect=none,
        )
    layout = restrict(people.layout, kept)
    by_judge = _take_side(outcomes[kept], sides[kept])
    by_people = _take_side(people.outcomes[kept], sides[kept])
    difference = weigh_mean(by_judge - by_people, layout)
    return Favour(
        n=len(by_judge),
        by_judge=share_interval(by_judge, layout),
        by_people=share_interval(by_people, layout),
        effect=draw_grouped(difference, layout, resampling).estimate,
    )


def _take_side(outcomes: Floats, sides: Floats) -> Floats:
    """Whether the output at each side is preferred: 1, .5 for a tie, or 0, of shape (n,)."""
    turned = np.where(sides > 0, outcomes, 1 - outcomes)
    return to_outcomes(turned - 0.5)
