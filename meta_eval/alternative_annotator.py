"""The alternative annotator test: may a judge take the place of one of several people? With an interval over inputs.

Calderon, Reichart & Dror (2025), "The Alternative Annotator Test for LLM-as-a-Judge". Each person is left out in turn.
On each text the judge, and the person, are compared with the other people who labelled it: by the share of them who
gave the same label, or for ordered labels by the root of the mean squared distance (nearer is better). The judge's
advantage over a person is the share of texts on which the judge is at least as near to the others as the person, minus
the share on which the person is at least as near as the judge. The judge is as good as this person if the advantage is
shown to lie above -epsilon: one-sided t tests, adjusted for all people by Benjamini and Yekutieli. The winning rate is
the share of people that the judge is as good as. If it is at least 1/2, the paper says that the judge may replace
people.

Departures: the t tests sum the texts of one input, because these are not independent. They need `FEWEST_UNITS` inputs
of a person; the paper asks for 30 texts. The advantage probability has an interval over inputs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, Mask, explain_few
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import score_interval
from meta_eval.linearised import Linearised

FEWEST_PEOPLE = 3
EPSILON = 0.1  # what a judge may be worse than a person, because it costs less; the paper takes .1 to .2
FALSE_DISCOVERIES = 0.05
ENOUGH = 0.5  # winning rate
ROUNDING = 1e-9  # distances of the same labels in another order are equal
FEW_PEOPLE = f"the alternative annotator test needs at least {FEWEST_PEOPLE} people"
FEW_INPUTS = f"no person labelled {FEWEST_UNITS} inputs with others"


@dataclass(frozen=True)
class AlternativeTest:
    """The result of the test whether a judge is as good as most single people."""

    # the people that are tested: those with enough inputs
    people: int
    # the share of them that the judge is as good as; NaN without a test
    winning_rate: float
    # the chance that the judge is at least as near to the others as a person, mean over the people who are tested
    advantage: Estimate
    epsilon: float
    # whether the winning rate reaches `ENOUGH`; None without a test
    passes: bool | None
    # why there is no test, else None
    reason: str | None = None


def compare_with_people(
    table: Floats,
    judge: Floats,
    layout: Layout,
    *,
    is_ordered: bool = False,
    epsilon: float = EPSILON,
) -> AlternativeTest:
    """Tests a judge's labels, of shape (n,), against people's labels, of shape (people, n); NaN for a missing label.

    `is_ordered` compares distances of labels instead of equality. For a person, only the texts count that the person,
    the judge and another person labelled.
    """
    if len(table) < FEWEST_PEOPLE:
        return _no_test(FEW_PEOPLE, epsilon)
    p_values: list[float] = []
    advantages: list[Linearised] = []
    for person, labels in enumerate(table):
        others = np.delete(table, person, axis=0)
        is_labelled_by_others = ~np.isnan(others).all(axis=0)
        kept = ~np.isnan(labels + judge) & is_labelled_by_others
        present = restrict(layout, kept)
        if present.input_count < FEWEST_UNITS:
            continue
        others = others[:, kept]
        of_judge = measure_nearness(judge[kept], others, is_ordered=is_ordered)
        of_person = measure_nearness(labels[kept], others, is_ordered=is_ordered)
        judge_wins = (of_judge >= of_person - ROUNDING).astype(np.float64)
        person_wins = (of_person >= of_judge - ROUNDING).astype(np.float64)
        p_values.append(find_p_above(judge_wins - person_wins, present, limit=-epsilon))
        parts = np.zeros(table.shape[1])
        parts[kept] = (judge_wins - judge_wins.mean()) / len(judge_wins)
        advantages.append(Linearised(float(judge_wins.mean()), parts))
    if not p_values:
        return _no_test(FEW_INPUTS, epsilon)
    people = len(p_values)
    is_as_good = reject_hypotheses(p_values, FALSE_DISCOVERIES)
    winning_rate = float(np.mean(is_as_good))
    mean_advantage = Linearised(
        value=sum(advantage.value for advantage in advantages) / people,
        parts=np.sum([advantage.parts for advantage in advantages], axis=0) / people,
    )
    return AlternativeTest(
        people=people,
        winning_rate=winning_rate,
        advantage=_bound_share(mean_advantage, layout),
        epsilon=epsilon,
        passes=winning_rate >= ENOUGH,
    )


def measure_nearness(
    labels: Floats,
    others: Floats,
    *,
    is_ordered: bool,
) -> Floats:
    """Measures how close labels, of shape (n,), are to those of other people, of shape (people, n); higher is closer.

    >>> others = np.array([[1.0, 1.0], [1.0, 3.0]])
    >>> measure_nearness(np.array([1.0, 1.0]), others, is_ordered=False)
    array([1. , 0.5])
    >>> measure_nearness(np.array([1.0, 2.0]), others, is_ordered=True)
    array([-0., -1.])
    """
    known = ~np.isnan(others)
    count = known.sum(axis=0)
    if is_ordered:
        squares = np.where(known, (others - labels) ** 2, 0.0)
        return -np.sqrt(squares.sum(axis=0) / count)
    return (others == labels).sum(axis=0) / count


def find_p_above(
    values: Floats,
    layout: Layout,
    limit: float,
) -> float:
    """Computes the one-sided p-value of a t test over inputs that the mean of `values` (n,) is above `limit`."""
    mean = float(values.mean())
    linearised = Linearised(mean, parts=(values - mean) / len(values))
    deviation = math.sqrt(linearised.variance(layout))
    if deviation == 0:
        return 0.0 if mean > limit else 1.0
    t = (mean - limit) / deviation
    return float(stdtr(layout.input_count - 1, -t))


def reject_hypotheses(p_values: Sequence[float], level: float) -> Mask:
    """Returns a mask of the hypotheses that the procedure of Benjamini and Yekutieli (2001) rejects.

    `level` is the rate of false discoveries.

    >>> reject_hypotheses([0.001, 0.02, 0.5], 0.05)
    array([ True, False, False])
    """
    values = np.asarray(p_values, dtype=np.float64)
    count = len(values)
    places = np.arange(1, count + 1)
    harmonic = float((1 / places).sum())
    limits = level * places / (count * harmonic)
    order = np.argsort(values, kind="stable")
    within_limits = np.flatnonzero(values[order] <= limits)
    is_rejected = np.zeros(count, dtype=np.bool_)
    if len(within_limits):
        last = within_limits[-1]
        is_rejected[order[: last + 1]] = True
    return is_rejected


def _bound_share(share: Linearised, layout: Layout) -> Estimate:
    """A share with Wilson's interval for the number of independent texts that would have its variance over inputs."""
    inputs = layout.input_count
    if inputs < FEWEST_UNITS:
        return Estimate.undefined(explain_few("inputs", inputs), share.value)
    variance = share.variance(layout)
    worth = float(inputs)
    if variance > 0:
        variance_of_text = share.value * (1 - share.value)
        worth = variance_of_text / variance
    low, high = score_interval(
        share.value,
        untied=1.0,
        n=worth,
        freedom=inputs - 1,
    )
    return Estimate(share.value, low, high)


def _no_test(reason: str, epsilon: float) -> AlternativeTest:
    return AlternativeTest(
        people=0,
        winning_rate=math.nan,
        advantage=Estimate.undefined(reason),
        epsilon=epsilon,
        passes=None,
        reason=reason,
    )
