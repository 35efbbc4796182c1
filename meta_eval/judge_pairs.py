"""Two judges of the same texts: which is closer to people, which is harsher, and whether one is as good as the other.

Every difference is judge b minus judge a on the texts that both judges and people labelled. With two labels, accuracy
and harshness have Tango's score interval for paired shares. The other differences have Student's interval, from their
linearised variance over inputs (`meta_eval.linearised`). The tests flip the signs of the inputs' differences. All pairs
of judges and all statistics share the flips, so that p-values are adjusted for all of them (`meta_eval.step_down`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, Indices
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import bound_difference
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
    differences: list[JudgeDifference] = []
    # the statistics that are tested: the number of the pair, the name, and the values by input, of shape (inputs,)
    tested: list[tuple[int, str, Floats]] = []
    for number, (a, b) in enumerate(pairs):
        kept = ~np.isnan(people + judges[a] + judges[b])
        present = restrict(layout, kept)
        y = people[kept]
        of_a = judges[a][kept]
        of_b = judges[b][kept]
        statistics = linearise_differences(
            y,
            of_a,
            of_b,
            labels,
            lengths=None if lengths is None else lengths[kept],
        )
        estimates = {name: statistic.estimate(present) for name, statistic in statistics.items()}
        estimates |= _bound_shares(y, of_a, of_b, labels, present)
        is_as_good = _is_as_good(statistics["kappa"], present, margin, level / len(pairs))
        untested = _count_changes(
            (a, b),
            y,
            of_a,
            of_b,
            is_as_good=is_as_good,
        )
        differences.append(
            replace(
                untested,
                differences=estimates,
                p_values=dict.fromkeys(statistics, math.nan),
            )
        )
        if present.input_count >= FEWEST_UNITS:
            inputs = np.unique(layout.inputs[kept])
            by_input = _spread_over_inputs(statistics, present, inputs, layout.input_count)
            tested += [(number, name, column) for name, column in by_input.items()]
    return _add_p_values(differences, tested, seed)


def _count_changes(
    names: tuple[str, str],
    people: Floats,
    of_a: Floats,
    of_b: Floats,
    *,
    is_as_good: bool,
) -> JudgeDifference:
    """How many texts change from judge a to judge b, by labels of shape (n,); not yet with estimates."""
    judge_a, judge_b = names
    return JudgeDifference(
        judge_a=judge_a,
        judge_b=judge_b,
        n=len(people),
        differences={},
        p_values={},
        only_a_right=int(((of_a == people) & (of_b != people)).sum()),
        only_b_right=int(((of_a != people) & (of_b == people)).sum()),
        b_milder=int((of_b > of_a).sum()),
        b_harsher=int((of_b < of_a).sum()),
        is_as_good=is_as_good,
    )


def _add_p_values(
    differences: Sequence[JudgeDifference],
    tested: Sequence[tuple[int, str, Floats]],
    seed: int,
) -> list[JudgeDifference]:
    """The differences with the p-values of all tested statistics, adjusted together."""
    completed = [*differences]
    if not tested:
        return completed
    columns = np.stack([column for _, _, column in tested], axis=1)
    adjusted = randomisation_p(columns, PERMUTATIONS, seed)
    for (number, name, _), p_value in zip(tested, adjusted.tolist(), strict=True):
        p_values = {**completed[number].p_values, name: p_value}
        completed[number] = replace(completed[number], p_values=p_values)
    return completed


def linearise_differences(
    people: Floats,
    a: Floats,
    b: Floats,
    labels: Floats,
    *,
    lengths: Floats | None = None,
) -> dict[str, Linearised]:
    """Computes the differences, b minus a, of the kappa, accuracy, harshness and length effect of two judges.

    Each has the contribution of every text (`Linearised`).

    `people`, `a` and `b` are labels of shape (n,) without NaN; `labels` are the possible ones. The length effect needs
    `lengths`.
    """

    def linearise_agreement(judge: Floats) -> Linearised:
        return linearise_kappa(
            people,
            judge,
            labels,
            is_weighted=len(labels) > 2,
        )

    def linearise_accuracy(judge: Floats) -> Linearised:
        is_right = (judge == people).astype(np.float64)
        return linearise_mean(is_right)

    statistics = {
        "kappa": linearise_agreement(b) - linearise_agreement(a),
        "accuracy": linearise_accuracy(b) - linearise_accuracy(a),
        "harshness": linearise_mean(b - a),
    }
    if lengths is not None and len(lengths):
        statistics["length_effect"] = linearise_length_effect(b - a, find_long(lengths))
    return statistics


def _bound_shares(
    people: Floats,
    a: Floats,
    b: Floats,
    labels: Floats,
    layout: Layout,
) -> dict[str, Estimate]:
    """Accuracy, and of two labels harshness, as differences of paired shares with score intervals."""
    if not len(people):
        return {}
    right_more = (b == people).astype(np.float64) - (a == people)
    estimates = {"accuracy": bound_difference(right_more, layout)}
    if len(labels) == 2:
        unit = float(labels[1] - labels[0])
        estimates["harshness"] = bound_difference((b - a) / unit, layout, unit)
    return estimates


def _is_as_good(
    kappa: Linearised,
    layout: Layout,
    margin: float,
    level: float,
) -> bool:
    """Whether a difference is shown to lie within the margin by two one-sided tests at this level."""
    if math.isnan(kappa.value) or layout.input_count < FEWEST_UNITS:
        return False
    interval = kappa.estimate(layout, confidence=1 - 2 * level)
    return -margin < interval.low and interval.high < margin


def _spread_over_inputs(
    statistics: Mapping[str, Linearised],
    layout: Layout,
    inputs: Indices,
    count: int,
) -> dict[str, Floats]:
    """The defined statistics by input, of shape (count,); 0 for an input without a text that all labelled.

    `inputs` are those of the layout, as numbers among all `count` inputs.
    """
    defined = {name: statistic for name, statistic in statistics.items() if not math.isnan(statistic.value)}
    if not defined:
        return {}
    by_input = np.zeros((count, len(defined)))
    by_input[inputs] = spread_evenly([*defined.values()], layout)
    return dict(zip(defined, by_input.T, strict=True))


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
