"""Preferences: which of two systems' outputs for an input people, a judge or a metric prefer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np

from meta_eval.crowds import tabulate_people
from meta_eval.design import Floats, Indices, Layout, Mask, lay_out, restrict
from meta_eval.estimates import Estimate, estimate_difference, estimate_share
from meta_eval.labels import estimate_kappa
from meta_eval.permuted import measure_preference_chance
from meta_eval.scored_set import ScoredSet
from meta_eval.ties import subtract, to_outcomes

OUTCOMES = np.array([0.0, 0.5, 1.0])
Output: TypeAlias = tuple[str, str]  # a system and an input
JUDGE, PANEL = "judge", "panel"  # of verdicts that nobody named, and of what most judges say


@dataclass(frozen=True, eq=False)
class Preferences:
    """n judgements, each of two outputs for one input."""

    # of the file, or of the judge
    name: str
    inputs: tuple[str, ...]
    systems_a: tuple[str, ...]
    systems_b: tuple[str, ...]
    # of shape (n,): 1 if the output of a is preferred, 0 if that of b is, .5 for a tie, between them how surely a is
    # preferred; NaN if there is no judgement
    outcomes: Floats
    # who judged; None if nobody is named
    raters: tuple[str | None, ...]
    # by the name of a judge, its outcomes for the same outputs, like `outcomes`
    judges: Mapping[str, Floats] = field(default_factory=dict)
    # the lengths of both outputs, of shape (n, 2), where the texts are not there
    lengths: Floats | None = None
    # whether the outcomes are those of a model, not of people; None where another tool's file does not say
    by_model: bool | None = False
    # how the judgements were read, in sentences
    notes: tuple[str, ...] = ()
    # the name of each judgement, where these have names beside those of their inputs
    ids: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.inputs)

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The systems in the order of their first judgements."""
        pairs = zip(self.systems_a, self.systems_b, strict=True)
        return tuple(dict.fromkeys(name for pair in pairs for name in pair))

    @cached_property
    def numbers(self) -> tuple[Indices, Indices]:
        """The numbers of systems a and b of each judgement, as indices of `systems`; two arrays of shape (n,)."""
        places = {name: place for place, name in enumerate(self.systems)}
        first = np.array([places[name] for name in self.systems_a], dtype=np.intp)
        second = np.array([places[name] for name in self.systems_b], dtype=np.intp)
        return first, second

    @cached_property
    def outputs(self) -> tuple[list[Output], list[Output]]:
        """The two outputs of each judgement, as (system, input): first those of system a, then those of system b."""
        first = list(zip(self.systems_a, self.inputs, strict=True))
        second = list(zip(self.systems_b, self.inputs, strict=True))
        return first, second

    @cached_property
    def layout(self) -> Layout:
        """The layout of the judgements: each input has a number."""
        return lay_out(len(self), inputs=self.inputs)

    def take(self, kept: Mask) -> Preferences:
        """Returns the judgements for which the mask `kept` is true."""
        places = np.flatnonzero(kept)
        return replace(
            self,
            inputs=tuple(self.inputs[place] for place in places),
            systems_a=tuple(self.systems_a[place] for place in places),
            systems_b=tuple(self.systems_b[place] for place in places),
            outcomes=self.outcomes[places],
            raters=tuple(self.raters[place] for place in places),
            judges={name: outcomes[places] for name, outcomes in self.judges.items()},
            lengths=None if self.lengths is None else self.lengths[places],
            ids=tuple(self.ids[place] for place in places) if self.ids else (),
        )

    def by_majority(self) -> Preferences:
        """Merges the judgements of several named raters of one input and pair into their majority, or else a tie."""
        if len(self.named_raters) < 2:
            return self
        outcomes = self.outcomes.copy()
        is_first = np.zeros(len(self), dtype=np.bool_)
        for rows in self.units:
            (majority,) = find_majority(self._turn(rows)[:, None])
            outcomes[rows[0]] = majority
            is_first[rows[0]] = True
        unnamed = replace(self, outcomes=outcomes, raters=(None,) * len(self))
        return unnamed.take(is_first)

    @cached_property
    def units(self) -> list[list[int]]:
        """The indices of the judgements of each input and pair of systems, in order of first occurrence."""
        units: dict[tuple[str, str, str], list[int]] = {}
        for row, name in enumerate(self.inputs):
            low, high = sorted([self.systems_a[row], self.systems_b[row]])
            units.setdefault((name, low, high), []).append(row)
        return [*units.values()]

    def by_rater(self) -> Floats:
        """The outcomes by each named rater, of shape (raters, units); NaN for a unit that the rater did not judge.

        If a rater judged the same pair several times, the majority counts; judgements without an outcome do not count.
        If the raters are a crowd, the rows are seats (`meta_eval.crowds`).
        """
        numbers = {name: number for number, name in enumerate(self.named_raters)}
        leads: dict[tuple[int, int], float] = {}  # by rater and unit
        for unit, rows in enumerate(self.units):
            for row, outcome in zip(rows, self._turn(rows).tolist(), strict=True):
                rater = self.raters[row]
                if rater is not None and not math.isnan(outcome):
                    key = (numbers[rater], unit)
                    leads[key] = leads.get(key, 0.0) + outcome - 0.5
        judged = np.array([*leads], dtype=np.intp).reshape(-1, 2)
        return tabulate_people(
            people=judged[:, 0],
            texts=judged[:, 1],
            labels=to_outcomes(np.array([*leads.values()])),
            shape=(len(numbers), len(self.units)),
        )

    @cached_property
    def named_raters(self) -> tuple[str, ...]:
        """The raters with a name, in the order of their first judgements."""
        return tuple(name for name in dict.fromkeys(self.raters) if name is not None)

    def _turn(self, rows: Sequence[int]) -> Floats:
        """The outcomes of one unit, as its first judgement calls a and b."""
        first = self.systems_a[rows[0]]
        outcomes = self.outcomes[rows]
        is_same = np.array([self.systems_a[row] == first for row in rows])
        return np.where(is_same, outcomes, 1 - outcomes)

    def of(self, system: str) -> Floats:
        """Returns the outcomes for a system: 1 for a win, 0 for a loss, .5 for a tie; NaN if it is not compared.

        >>> Preferences("p", ("i",), ("x",), ("y",), np.array([1.0]), (None,)).of("y").tolist()
        [0.0]
        """
        is_first, is_second = self._sides(system)
        as_second = np.where(is_second, 1 - self.outcomes, np.nan)
        return np.where(is_first, self.outcomes, as_second)

    def between(self, system: str, other: str) -> Floats:
        """Returns the outcomes for a system in judgements against `other`; NaN in all other judgements."""
        return np.where(self.compares(other), self.of(system), np.nan)

    def compares(self, system: str) -> Mask:
        """Returns a mask of the judgements that compare an output of the system."""
        is_first, is_second = self._sides(system)
        return is_first | is_second

    def _sides(self, system: str) -> tuple[Mask, Mask]:
        """Where the system is system a, and where it is system b."""
        place = self.systems.index(system) if system in self.systems else -1
        first, second = self.numbers
        return first == place, second == place


@dataclass(frozen=True)
class PreferenceAgreement:
    """How well the preferences of a metric or a judge agree with those of people."""

    # the judgements with a preference of both
    n: int
    # the judgements of people without one of the metric
    missing: int
    # the share with the same outcome; a tie is an outcome
    accuracy: Estimate
    # Cohen's kappa (1960) of win, tie and loss. Where systems change sides, each judgement counts in both orders, so
    # that kappa does not depend on which system is called a.
    kappa: Estimate
    # two-sided, that the outcomes of both are independent (`meta_eval.permuted`); NaN without a preference of both
    p_chance: float = math.nan


def agree_on_preferences(people: Preferences, outcomes: Floats, seed: int = 0) -> PreferenceAgreement:
    """Measures how well `outcomes` (n,) of a metric or a judge agree with those of people on the same pairs."""
    is_judged = ~np.isnan(people.outcomes)
    kept = is_judged & ~np.isnan(outcomes)
    missing = int((is_judged & ~kept).sum())
    human = to_outcomes(people.outcomes[kept] - 0.5)
    judged = to_outcomes(outcomes[kept] - 0.5)
    layout = restrict(people.layout, kept)
    if not len(human):
        none = Estimate.undefined("no judgement has a preference of both")
        return PreferenceAgreement(
            n=0,
            missing=missing,
            accuracy=none,
            kappa=none,
        )
    are_exchanged = exchanges_sides(people)
    both = np.stack([human, judged])
    layout_of_both = layout
    if are_exchanged:
        both, layout_of_both = in_both_orders(both, layout)
    return PreferenceAgreement(
        n=len(human),
        missing=missing,
        accuracy=estimate_share((human == judged).astype(np.float64), layout).only,
        kappa=estimate_kappa(
            [(both[0], both[1])],
            OUTCOMES,
            layout_of_both,
            is_ordered=False,
        ).only,
        p_chance=measure_preference_chance(
            human,
            judged,
            layout,
            seed,
            are_exchanged=are_exchanged,
        ),
    )


def exchanges_sides(given: Preferences) -> bool:
    """Whether a system is a in one judgement and b in another, so that sides say nothing of systems."""
    return not {*given.systems_a}.isdisjoint(given.systems_b)


def find_majority(table: Floats) -> Floats:
    """Finds the majority of the outcomes in each column of (raters, n): 1, 0, or .5 if there is no majority.

    >>> find_majority(np.array([[1, 1, 0.5], [1, 0, np.nan], [0, np.nan, np.nan]])).tolist()
    [1.0, 0.5, 0.5]
    """
    sides = np.sign(table - 0.5)
    losses = (sides == -1).sum(axis=0)
    ties = (sides == 0).sum(axis=0)
    wins = (sides == 1).sum(axis=0)
    counts = np.stack([losses, ties, wins])
    leads = counts == counts.max(axis=0)
    has_leader = leads.sum(axis=0) == 1
    leader = OUTCOMES[leads.argmax(axis=0)]
    majority = np.where(has_leader, leader, 0.5)
    return np.where(counts.any(axis=0), majority, np.nan)


def in_both_orders(table: Floats, layout: Layout) -> tuple[Floats, Layout]:
    """Repeats outcomes of shape (..., n) with a and b exchanged; returns them and the layout of shape (2 n,)."""
    twice = Layout(np.tile(layout.systems, 2), np.tile(layout.inputs, 2))
    return np.concatenate([table, 1 - table], axis=-1), twice


def list_pairs(scored: ScoredSet) -> Preferences:
    """Lists all pairs of systems on each input, without outcomes. Every example must name its system and its input."""
    systems = scored.systems or []
    groups = scored.groups or []
    outputs = set(zip(systems, groups, strict=True))
    pairs = [*combinations(dict.fromkeys(systems), 2)]
    inputs: list[str] = []
    systems_a: list[str] = []
    systems_b: list[str] = []
    for name in dict.fromkeys(groups):
        for first, second in pairs:
            if (first, name) in outputs and (second, name) in outputs:
                inputs.append(name)
                systems_a.append(first)
                systems_b.append(second)
    return Preferences(
        name=scored.name,
        inputs=tuple(inputs),
        systems_a=tuple(systems_a),
        systems_b=tuple(systems_b),
        outcomes=np.full(len(inputs), np.nan),
        raters=(None,) * len(inputs),
    )


def prefer_by_scores(asked: Preferences, outputs: Mapping[Output, int], scores: Floats) -> Floats:
    """Finds outcomes by scores, of shape (n,): the output with the higher score wins; NaN if a score is missing.

    `outputs` maps (system, input) to the index of the output's score.
    """
    padded = np.append(scores, np.nan)
    first, second = asked.outputs
    of_first = padded[[outputs.get(output, -1) for output in first]]
    of_second = padded[[outputs.get(output, -1) for output in second]]
    return to_outcomes(subtract(of_first, of_second))


@dataclass(frozen=True)
class PairAnswer:
    """What a judge answered to one question about a pair of outputs."""

    judge: str
    # its place among the pairs
    pair: int
    # whether the second output of the pair was shown first
    is_reversed: bool
    question: str
    # whether the output that was shown first is preferred, as in `Verdicts.first`
    first: float
    # what the judge wrote; None for a question that was not answered
    answer: str | None
    # why there is no verdict, else None
    reason: str | None


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The verdicts of a judge on n pairs of outputs, each shown in both orders.

    Raises ValueError for probabilities that are not called so.
    """

    # whether the output that is shown first is preferred, of shape (n, 2), for the order as asked and the reverse
    # order: 1, 0, .5 for a tie, NaN if there is no answer; with `has_probabilities` also how probable it was
    first: Floats
    # why there is no outcome, else None
    reasons: Sequence[str | None]
    signature: str
    # of the judge, such as that of its model
    name: str = JUDGE
    # every question with its answer, of a judge that keeps them
    answers: tuple[PairAnswer, ...] = ()
    # whether the judge gives probabilities, which may be 1 or 0, too
    has_probabilities: bool = False

    def __post_init__(self) -> None:
        is_plain = np.isin(self.first, (0, 0.5, 1)) | np.isnan(self.first)
        if not (self.has_probabilities or is_plain.all()):
            raise ValueError("verdicts other than 0, .5 and 1 are probabilities: set has_probabilities")

    @property
    def by_judge(self) -> dict[str, Floats]:
        """The verdicts (`first`) by the name of the judge."""
        return {self.name: self.first}

    @property
    def outcomes(self) -> Floats:
        """The outcome of each pair from both orders, of shape (n,); see `settle_orders`."""
        return settle_orders(self.first, self.has_probabilities)


def settle_orders(first: Floats, has_probabilities: bool) -> Floats:
    """Finds the outcomes of pairs that were shown in both orders; the arguments are those of `Verdicts`.

    If a judge gives probabilities, the outcome is their mean over both orders. Of plain verdicts it is 1 or 0 if both
    orders agree on the winner, and .5 if they do not. NaN if an answer is missing.

    >>> settle_orders(np.array([[1, 0], [1, 1], [1, 0.5]]), has_probabilities=False).tolist()
    [1.0, 0.5, 0.5]
    >>> settle_orders(np.array([[0.9, 0.8], [1, 0.5]]), has_probabilities=True).round(2).tolist()
    [0.55, 0.75]
    """
    as_asked = first[:, 0]
    turned = 1 - first[:, 1]
    mean = (as_asked + turned) / 2
    is_settled = has_probabilities | (as_asked == turned) | np.isnan(mean)
    return np.where(is_settled, mean, 0.5)


def position_effect(first: Floats, inputs: Sequence[str]) -> Estimate:
    """Estimates the share of preferences for the output shown first, ties counted half, minus 1/2; 0 is no effect.

    `first` is that of `Verdicts`.
    """
    kept = np.asarray(~np.isnan(first).any(axis=1))
    if not kept.any():
        return Estimate.undefined("no pair was judged in both orders")
    layout = restrict(lay_out(len(first), inputs=inputs), kept)
    twice = Layout(np.repeat(layout.systems, 2), np.repeat(layout.inputs, 2))
    differences = 2 * first[kept].ravel() - 1
    return estimate_difference(differences, twice).rescale(0.5).only


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


def measure_favour(people: Preferences, outcomes: Floats, sides: Floats) -> Favour:
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
    return Favour(
        n=len(by_judge),
        by_judge=estimate_share(by_judge, layout).only,
        by_people=estimate_share(by_people, layout).only,
        effect=estimate_difference(by_judge - by_people, layout).only,
    )


def _take_side(outcomes: Floats, sides: Floats) -> Floats:
    """Whether the output at each side is preferred: 1, .5 for a tie, or 0, of shape (n,)."""
    turned = np.where(sides > 0, outcomes, 1 - outcomes)
    return to_outcomes(turned - 0.5)
