"""Two judges of the same texts: which is nearer to people, which is harsher, and whether one is as good as the other.

Every difference is judge b minus judge a on the texts that both and people labelled. Accuracy and harshness of two
labels have Tango's score interval for paired shares, the other differences Student's interval by their linearised
variance over inputs (`meta_eval.linearised`). The tests flip the signs of the inputs' differences, which all pairs of
judges and all statistics share, so that p-values are adjusted for all of them (`meta_eval.step_down`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, Indices, Mask
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import share_interval
from meta_eval.linearised import (
    Linearised,
    find_long,
    linearise_kappa,
    linearise_length_effect,
    linearise_mean,
    spread_evenly,
)
from meta_eval.step_down import randomisation_p

STATISTICS = ("kappa", "accuracy", "harshness", "length_effect")
PERMUTATIONS = 1999


@dataclass(frozen=True)
class JudgeDifference:
    """What changes where judge b takes the place of judge a, on the texts that both labelled."""

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
        """The same two judges in the other order."""
        return replace(
            self,
            judge_a=self.judge_b,
            judge_b=self.judge_a,
            differences={name: each.negate() for name, each in self.differences.items()},
            only_a_right=self.only_b_right,
            only_b_right=self.only_a_right,
            b_milder=self.b_harsher,
            b_harsher=self.b_milder,
        )


def compare_judges(
    people: Floats,
    judges: Mapping[str, Floats],
    labels: Floats,
    layout: Layout,
    *,
    lengths: Floats | None = None,
    weights: Floats | None = None,
    margin: float = 0.1,
    level: float = 0.05,
    seed: int = 0,
) -> list[JudgeDifference]:
    """The differences of each pair of judges; labels and lengths have the shape (n,), with NaN for no label.

    Of more than two labels kappa is the weighted one. `weights`, of shape (n,), count texts of a drawn sample. `margin`
    is a difference of kappas that does not matter: two one-sided tests at `level` over the number of pairs decide
    whether a judge is as good as another.
    """
    pairs = [*combinations(judges, 2)]
    columns: list[Floats] = []
    places: list[tuple[int, str]] = []
    found: list[JudgeDifference] = []
    inputs = layout.input_count
    for number, (a, b) in enumerate(pairs):
        kept = ~np.isnan(people + judges[a] + judges[b])
        own = restrict(layout, kept)
        y, first, second = people[kept], judges[a][kept], judges[b][kept]
        of_texts = {"lengths": _take(lengths, kept), "weights": _take(weights, kept)}
        statistics = linearise_differences(y, first, second, labels, **of_texts)
        estimates = {name: each.estimate(own) for name, each in statistics.items()}
        estimates |= {} if weights is not None else _bound_shares(y, first, second, labels, own)
        found.append(
            JudgeDifference(
                judge_a=a,
                judge_b=b,
                n=len(y),
                differences=estimates,
                p_values=dict.fromkeys(statistics, math.nan),
                only_a_right=int(((first == y) & (second != y)).sum()),
                only_b_right=int(((first != y) & (second == y)).sum()),
                b_milder=int((second > first).sum()),
                b_harsher=int((second < first).sum()),
                is_as_good=_is_as_good(statistics["kappa"], own, margin, level / len(pairs)),
            )
        )
        if own.input_count >= FEWEST_UNITS:
            defined = {name: each for name, each in statistics.items() if not math.isnan(each.value)}
            columns.append(_spread(defined, own, np.unique(layout.inputs[kept]), inputs))
            places += [(number, name) for name in defined]
    if columns:
        adjusted = randomisation_p(np.concatenate(columns, axis=1), PERMUTATIONS, seed)
        for (number, name), p_value in zip(places, adjusted.tolist(), strict=True):
            found[number] = replace(found[number], p_values={**found[number].p_values, name: p_value})
    return found


def linearise_differences(
    people: Floats,
    a: Floats,
    b: Floats,
    labels: Floats,
    *,
    lengths: Floats | None = None,
    weights: Floats | None = None,
) -> dict[str, Linearised]:
    """The statistics of judge b minus those of judge a, from labels of shape (n,) without gaps.

    Length effects are only known where texts count alike, without `weights`.
    """
    is_weighted = len(labels) > 2
    kappas = [linearise_kappa(people, judge, labels, is_weighted=is_weighted, weights=weights) for judge in (b, a)]
    right = [linearise_mean((judge == people).astype(np.float64), weights) for judge in (b, a)]
    found = {
        "kappa": kappas[0] - kappas[1],
        "accuracy": right[0] - right[1],
        "harshness": linearise_mean(b - a, weights),
    }
    if lengths is not None and len(lengths) and weights is None:
        found["length_effect"] = linearise_length_effect(b - a, find_long(lengths))
    return found


def _take(values: Floats | None, kept: Mask) -> Floats | None:
    return None if values is None else values[kept]


def _bound_shares(people: Floats, a: Floats, b: Floats, labels: Floats, layout: Layout) -> dict[str, Estimate]:
    """Accuracy, and of two labels harshness, as differences of paired shares with score intervals."""
    if not len(people):
        return {}
    right = (b == people).astype(np.float64) - (a == people)
    found = {"accuracy": bound_difference(right, layout)}
    if len(labels) == 2:
        unit = float(labels[1] - labels[0])
        found["harshness"] = bound_difference((b - a) / unit, layout, unit)
    return found


def bound_difference(differences: Floats, layout: Layout, unit: float = 1.0) -> Estimate:
    """The mean of differences -1, 0 and 1, of shape (n,), in `unit`, with Tango's score interval."""
    share = share_interval((1 + differences) / 2, layout)
    value, low, high = (unit * (2 * end - 1) for end in (share.value, share.low, share.high))
    return Estimate(value, low, high, share.reason)


def _is_as_good(kappa: Linearised, layout: Layout, margin: float, level: float) -> bool:
    """Whether a difference is shown to lie within the margin by two one-sided tests at this level."""
    if math.isnan(kappa.value) or layout.input_count < FEWEST_UNITS:
        return False
    interval = kappa.estimate(layout, confidence=1 - 2 * level)
    return -margin < interval.low and interval.high < margin


def _spread(statistics: Mapping[str, Linearised], layout: Layout, places: Indices, inputs: int) -> Floats:
    """The statistics by input of all inputs, of which some have no text that all labelled."""
    whole = np.zeros((inputs, len(statistics)))
    whole[places] = spread_evenly([*statistics.values()], layout)
    return whole


def find_constant(people: Floats) -> float:
    """The label that most texts have, of shape (n,): what a judge says that looks at nothing.

    >>> find_constant(np.array([1.0, 0.0, 1.0, np.nan]))
    1.0
    """
    values, counts = np.unique(people[~np.isnan(people)], return_counts=True)
    return float(values[np.argmax(counts)]) if len(values) else math.nan


def name_difference(found: JudgeDifference, level: float = 0.05) -> Sequence[str]:
    """The statistics whose differences the tests show, the most certain first."""
    shown = [name for name in found.differences if found.p_values.get(name, math.nan) < level]
    return sorted(shown, key=lambda name: found.p_values[name])
