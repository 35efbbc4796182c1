"""Judges of labels beside people: each alone, and two of the same texts.

All figures of a judge are `Estimates` of the same units (inputs), so that the difference of two judges is paired.
Differences are tested by sign flips of units, adjusted for all pairs of judges and statistics.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from meta_eval.design import Floats, Layout
from meta_eval.estimates import Estimate, Estimates, estimate_difference, estimate_mean, flip_signs
from meta_eval.labels import estimate_accuracy, estimate_harshness, estimate_kappa

STATISTICS = ("kappa", "accuracy", "harshness")


@dataclass(frozen=True)
class JudgeDifference:
    """The effect of replacing judge a by judge b, on the texts that both labelled."""

    judge_a: str
    judge_b: str
    n: int
    # by statistic of `STATISTICS`, b minus a
    differences: Mapping[str, Estimate]
    # two-sided, adjusted for all pairs and statistics; NaN where there is no test
    p_values: Mapping[str, float]

    def turn(self) -> "JudgeDifference":
        """Returns the same difference with the judges exchanged."""
        return replace(
            self,
            judge_a=self.judge_b,
            judge_b=self.judge_a,
            differences={name: difference.negate() for name, difference in self.differences.items()},
        )


def estimate_agreement(
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
) -> dict[str, Estimates]:
    """Estimates the kappa (of more than two labels weighted), accuracy and harshness of a judge, by name.

    Labels have the shape (n,), with NaN for none.
    """
    return {
        "kappa": estimate_kappa([(people, judge)], labels, layout),
        "accuracy": estimate_accuracy(people, judge, layout),
        "harshness": estimate_harshness(people, judge, labels, layout),
    }


def estimate_change(
    people: Floats,
    a: Floats,
    b: Floats,
    labels: Floats,
    layout: Layout,
    *,
    is_tested: bool = False,
) -> dict[str, Estimates]:
    """Estimates the differences, b minus a, of kappa, accuracy and harshness of two judges, by name.

    Only texts that people and both judges labelled count. `is_tested` leaves out the pseudo-units of shares, so that
    flips of a text that both judges label alike change nothing.
    """
    kept = ~np.isnan(people + a + b)
    y = np.where(kept, people, np.nan)
    of_a = estimate_kappa([(y, a)], labels, layout)
    of_b = estimate_kappa([(y, b)], labels, layout)
    right_more = np.where(kept, (b == y).astype(np.float64) - (a == y), np.nan)
    change = np.where(kept, b - a, np.nan)
    changes = {"kappa": of_b - of_a}
    if is_tested:
        changes |= {"accuracy": estimate_mean(right_more, layout), "harshness": estimate_mean(change, layout)}
    else:
        changes |= {
            "accuracy": estimate_difference(right_more, layout),
            "harshness": estimate_harshness(a, change + a, labels, layout),
        }
    return changes


def compare_judges(
    people: Floats,
    judges: Mapping[str, Floats],
    labels: Floats,
    layout: Layout,
    seed: int = 0,
) -> list[JudgeDifference]:
    """Computes the differences of each pair of judges; labels have the shape (n,), with NaN for none.

    For more than two labels, kappa is weighted.
    """
    pairs = [*combinations(judges, 2)]
    if not pairs:
        return []
    compare = partial(estimate_change, people, labels=labels, layout=layout)
    changes = [compare(a=judges[a], b=judges[b]) for a, b in pairs]
    tested_changes = [compare(a=judges[a], b=judges[b], is_tested=True) for a, b in pairs]
    # each pair of judges has texts of its own
    evidence = [change.evidence for by_name in tested_changes for change in by_name.values()]
    tested = iter(flip_signs(np.hstack(evidence), seed).tolist())
    found: list[JudgeDifference] = []
    for (a, b), by_name in zip(pairs, changes, strict=True):
        kept = ~np.isnan(people + judges[a] + judges[b])
        found.append(
            JudgeDifference(
                judge_a=a,
                judge_b=b,
                n=int(kept.sum()),
                differences={name: change.only for name, change in by_name.items()},
                p_values={name: next(tested) for name in by_name},
            )
        )
    return found


def find_constant(people: Floats) -> float:
    """Finds the most frequent label: the best answer of a judge that does not look at the texts.

    >>> find_constant(np.array([1.0, 0.0, 1.0, np.nan]))
    1.0
    """
    values, counts = np.unique(people[~np.isnan(people)], return_counts=True)
    if not len(values):
        return math.nan
    return float(values[np.argmax(counts)])


def name_difference(difference: JudgeDifference, level: float = 0.05) -> Sequence[str]:
    """Names the statistics with significant differences, the most certain first."""
    p_values = difference.p_values
    shown = [name for name in difference.differences if p_values.get(name, math.nan) < level]
    return sorted(shown, key=lambda name: p_values[name])
