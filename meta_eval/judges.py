"""Judges of labels beside people: two judges of the same texts, one judge in parts of the texts, and limits.

All figures of a judge are `Estimates` of the same units (inputs), so that the difference of two judges is paired.
Differences are tested by sign flips of units, adjusted for all pairs of judges and statistics. A part of the texts is
compared with all others by both intervals (`Estimates.compare`), which keeps the level where parts differ in the shares
of labels.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

import numpy as np

from meta_eval.design import Floats, Layout, Mask
from meta_eval.estimates import Estimate, Estimates, estimate_difference, estimate_mean
from meta_eval.labels import estimate_accuracy, estimate_harshness, estimate_kappa

STATISTICS = ("kappa", "accuracy", "harshness", "length_effect")
FEWEST_SIDE = 5  # texts on either side of the median length
MOST_KINDS = 6  # kinds of unity, such as 2 of 3; with more there are three: all, most, no majority


@dataclass(frozen=True)
class JudgeDifference:
    """The effect of replacing judge a by judge b, on the texts that both labelled."""

    judge_a: str
    judge_b: str
    n: int
    # by statistic of `STATISTICS`, b minus a; length effects where lengths are known
    differences: Mapping[str, Estimate]
    # two-sided, adjusted for all pairs and statistics; NaN where there is no test
    p_values: Mapping[str, float]
    # texts that only one of both labels as people do
    only_a_right: int
    only_b_right: int
    # texts that b labels higher, and lower, than a
    b_milder: int
    b_harsher: int
    # whether kappas are shown to differ by less than the margin
    is_as_good: bool

    def turn(self) -> "JudgeDifference":
        """Returns the same difference with the judges exchanged."""
        return replace(
            self,
            judge_a=self.judge_b,
            judge_b=self.judge_a,
            differences={name: difference.negate() for name, difference in self.differences.items()},
            only_a_right=self.only_b_right,
            only_b_right=self.only_a_right,
            b_milder=self.b_harsher,
            b_harsher=self.b_milder,
        )


def estimate_agreement(people: Floats, judge: Floats, labels: Floats, layout: Layout) -> dict[str, Estimates]:
    """Estimates the kappa (of more than two labels weighted), accuracy and harshness of a judge, by name.

    Labels have the shape (n,), with NaN for none.
    """
    return {
        "kappa": estimate_kappa([(people, judge)], labels, layout, is_weighted=len(labels) > 2),
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
    lengths: Floats | None = None,
    is_tested: bool = False,
) -> dict[str, Estimates]:
    """Estimates the differences, b minus a, of kappa, accuracy, harshness and length effect of two judges, by name.

    Only texts that people and both judges labelled count. The length effect, which needs `lengths` (n,), is how much
    milder b is than a on texts that are longer than the median, beside the other texts. `is_tested` leaves out the
    pseudo-units of shares, so that flips of a text that both judges label alike change nothing.
    """
    kept = ~np.isnan(people + a + b)
    y = np.where(kept, people, np.nan)
    of_a = estimate_kappa([(y, a)], labels, layout, is_weighted=len(labels) > 2)
    of_b = estimate_kappa([(y, b)], labels, layout, is_weighted=len(labels) > 2)
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
    if lengths is not None and kept.any():
        is_long = lengths > np.median(lengths[kept])
        changes["length_effect"] = _estimate_length_effect(change, is_long, layout)
    return changes


def _estimate_length_effect(differences: Floats, is_long: Mask, layout: Layout) -> Estimates:
    """The mean difference of labels, of shape (n,), on long texts minus that on others."""
    sides = np.stack([np.where(side, differences, np.nan) for side in (is_long, ~is_long)], axis=1)
    effect = estimate_mean(sides, layout).subtract([0], [1])
    if (~np.isnan(sides)).sum(axis=0).min() >= FEWEST_SIDE:
        return effect
    unknown = np.full(1, math.nan)
    reason = f"fewer than {FEWEST_SIDE} texts are longer than the median, or are not"
    return replace(effect, shown=unknown, values=unknown, reason=reason)


def compare_judges(
    people: Floats,
    judges: Mapping[str, Floats],
    labels: Floats,
    layout: Layout,
    *,
    lengths: Floats | None = None,
    margin: float = 0.1,
    level: float = 0.05,
    seed: int = 0,
) -> list[JudgeDifference]:
    """Computes the differences of each pair of judges; labels and lengths have the shape (n,), with NaN for no label.

    For more than two labels, kappa is weighted. `margin` is a difference of kappas that does not matter: two one-sided
    tests at `level` over the number of pairs decide whether a judge is as good as another.
    """
    pairs = [*combinations(judges, 2)]
    changes, tested_changes = (
        [
            estimate_change(people, judges[a], judges[b], labels, layout, lengths=lengths, is_tested=is_tested)
            for a, b in pairs
        ]
        for is_tested in (False, True)
    )
    everything = [change for by_name in tested_changes for change in by_name.values()]
    tested = iter(reduce(Estimates.join, everything).test(seed).tolist()) if everything else iter(())
    found: list[JudgeDifference] = []
    for (a, b), by_name in zip(pairs, changes, strict=True):
        of_a = judges[a]
        of_b = judges[b]
        kept = ~np.isnan(people + of_a + of_b)
        a_is_right = of_a == people
        b_is_right = of_b == people
        is_outside = float(by_name["kappa"].stay_within(margin)[0])
        found.append(
            JudgeDifference(
                judge_a=a,
                judge_b=b,
                n=int(kept.sum()),
                differences={name: change.only for name, change in by_name.items()},
                p_values={name: next(tested) for name in by_name},
                only_a_right=int((kept & a_is_right & ~b_is_right).sum()),
                only_b_right=int((kept & b_is_right & ~a_is_right).sum()),
                b_milder=int((kept & (of_b > of_a)).sum()),
                b_harsher=int((kept & (of_b < of_a)).sum()),
                is_as_good=is_outside < level / len(pairs),
            )
        )
    return found


@dataclass(frozen=True)
class SliceAgreement:
    """How well a judge agrees with people on the texts of one slice."""

    slice: str
    # the texts that both labelled
    n: int
    kappa: Estimate
    accuracy: Estimate
    harshness: Estimate
    # two-sided, that the slice differs from all others, times the number of tests; NaN without a test
    p_kappa: float
    p_harshness: float


def measure_slices(
    names: Sequence[str],
    people: Floats,
    judge: Floats,
    labels: Floats,
    layout: Layout,
) -> list[SliceAgreement]:
    """Measures how a judge agrees with people in each slice; labels have the shape (n,), with NaN for no label.

    For more than two labels, kappa is weighted. An input may have texts in several slices.
    """
    has_both = ~np.isnan(people + judge)
    of_texts = np.array(names, dtype=object)
    rows: list[SliceAgreement] = []
    for name in dict.fromkeys(of_texts[has_both].tolist()):
        inside = of_texts == name
        own = estimate_agreement(np.where(inside, people, np.nan), judge, labels, layout)
        rest = estimate_agreement(np.where(inside, np.nan, people), judge, labels, layout)
        tests = {statistic: own[statistic].compare(rest[statistic])[1] for statistic in ("kappa", "harshness")}
        rows.append(
            SliceAgreement(
                slice=name,
                n=int((inside & has_both).sum()),
                p_kappa=tests["kappa"],
                p_harshness=tests["harshness"],
                **{statistic: estimate.only for statistic, estimate in own.items()},
            )
        )
    p_values = np.array([[row.p_kappa, row.p_harshness] for row in rows]).reshape(-1, 2)
    adjusted = np.minimum(p_values * (~np.isnan(p_values)).sum(), 1.0).tolist()
    return [
        replace(row, p_kappa=p_kappa, p_harshness=p_harshness)
        for row, (p_kappa, p_harshness) in zip(rows, adjusted, strict=True)
    ]


def count_unity(table: Floats) -> tuple[Floats, Floats]:
    """Counts, for each text, the people who give its most frequent label, and all people who label it.

    Labels have the shape (people, n), each result the shape (n,).

    >>> count_unity(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]))
    (array([2., 1.]), array([3., 2.]))
    """
    values = np.unique(table[~np.isnan(table)])
    most = np.zeros(table.shape[1])
    for value in values:
        most = np.maximum(most, (table == value).sum(axis=0))
    rated = (~np.isnan(table)).sum(axis=0)
    return most, rated.astype(np.float64)


def name_unity(table: Floats) -> list[str]:
    """Says how many people agree about each text, such as "2 of 3"; "" if fewer than two labelled it."""
    most, rated = count_unity(table)
    exact = [f"{int(m)} of {int(r)}" if r > 1 else "" for m, r in zip(most, rated, strict=True)]
    if len({*exact}) <= MOST_KINDS:
        return exact
    return [_name_share(m, r) for m, r in zip(most, rated, strict=True)]


def sort_unity(table: Floats) -> list[str]:
    """Lists the names of `name_unity`, the most united texts first, and of equally united ones those of most labels."""
    most, rated = count_unity(table)
    names = np.array(name_unity(table))

    def place(name: str) -> tuple[float, float]:
        members = names == name
        return -(most[members] / rated[members]).mean(), -rated[members].mean()

    return sorted({*names.tolist()} - {""}, key=place)


def _name_share(most: float, rated: float) -> str:
    if rated < 2:
        return ""
    if most == rated:
        return "all"
    return "most" if 2 * most > rated else "no majority"


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
