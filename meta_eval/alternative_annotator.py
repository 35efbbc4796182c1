"""The alternative annotator test: may a judge take the place of one of several people?

Calderon, Reichart & Dror (2025), "The Alternative Annotator Test for LLM-as-a-Judge". Each person is left out in turn.
On each text the judge, and the person, are compared with the other people who labelled it: by the share of them who
gave the same label, or for ordered labels by the root of the mean squared distance (nearer is better). The judge's
advantage over a person is the share of texts on which the judge is at least as near to the others as the person, minus
the share on which the person is at least as near as the judge. The judge is as good as this person if the advantage is
shown to lie above -epsilon: one-sided t tests, adjusted for all people by Benjamini and Yekutieli. The winning rate is
the share of people that the judge is as good as. If it is at least 1/2, the paper says that the judge may replace
people.

Departures: the t tests sum the texts of one input, because these are not independent. They need `FEWEST` inputs of
a person; the paper asks for 30 texts.
"""

import math
from dataclasses import dataclass

import numpy as np

from meta_eval.design import Floats, Layout
from meta_eval.estimates import FEWEST, estimate_mean

FEWEST_PEOPLE = 3
EPSILON = 0.1  # what a judge may be worse than a person, because it costs less; the paper takes .1 to .2
FALSE_DISCOVERIES = 0.05
ENOUGH = 0.5  # winning rate
ROUNDING = 1e-9  # distances of the same labels in another order are equal
FEW_PEOPLE = f"the alternative annotator test needs at least {FEWEST_PEOPLE} people"
FEW_INPUTS = f"no person labelled {FEWEST} inputs with others"


@dataclass(frozen=True)
class AlternativeTest:
    """The result of the test whether a judge is as good as most single people."""

    # the people that are tested: those with enough inputs
    people: int
    # the share of them that the judge is as good as; NaN without a test
    winning_rate: float
    # why there is no test, else None
    reason: str | None = None

    @property
    def passes(self) -> bool | None:
        """Whether the winning rate reaches `ENOUGH`; None without a test."""
        return None if self.reason else self.winning_rate >= ENOUGH


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
        return AlternativeTest(0, math.nan, FEW_PEOPLE)
    p_values: list[float] = []
    for person, labels in enumerate(table):
        others = np.delete(table, person, axis=0)
        of_judge = measure_nearness(judge, others, is_ordered=is_ordered)
        of_person = measure_nearness(labels, others, is_ordered=is_ordered)
        is_known = ~np.isnan(labels + judge) & ~np.isnan(others).all(axis=0)
        lead = of_judge - of_person
        is_nearer = np.sign(np.where(np.abs(lead) > ROUNDING, lead, 0.0))
        difference = estimate_mean(np.where(is_known, is_nearer, np.nan), layout, scale="plain")
        if difference.few is None:
            p_values.append(float(difference.exceed(-epsilon)[0]))
    if not p_values:
        return AlternativeTest(0, math.nan, FEW_INPUTS)
    from scipy.stats import false_discovery_control  # takes more than a second

    is_as_good = false_discovery_control(p_values, method="by") <= FALSE_DISCOVERIES
    return AlternativeTest(len(p_values), float(np.mean(is_as_good)))


def measure_nearness(labels: Floats, others: Floats, *, is_ordered: bool) -> Floats:
    """Measures how close labels, of shape (n,), are to those of other people, of shape (people, n); higher is closer.

    >>> others = np.array([[1.0, 1.0], [1.0, 3.0]])
    >>> measure_nearness(np.array([1.0, 1.0]), others, is_ordered=False)
    array([1. , 0.5])
    >>> measure_nearness(np.array([1.0, 2.0]), others, is_ordered=True)
    array([-0., -1.])
    """
    known = ~np.isnan(others)
    count = np.maximum(known.sum(axis=0), 1)
    if is_ordered:
        squares = np.where(known, (others - labels) ** 2, 0.0)
        return -np.sqrt(squares.sum(axis=0) / count)
    return (others == labels).sum(axis=0) / count
