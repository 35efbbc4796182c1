"""Judgements of pairs as arrays. Inputs with the same judgements are one kind, which is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from meta_eval.bootstrap import Floats
from meta_eval.preferences import Preferences


@dataclass(frozen=True, eq=False)
class Games:
    """The judgements of one input of each kind, and the kind of every input."""

    # how many systems there are
    systems: int
    # systems a and b of the judgements, and their outcomes, of shape (n,)
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcomes: Floats
    # the kind of input that each judgement belongs to, of shape (n,)
    kinds: NDArray[np.intp]
    # the kind of each input
    kind_of: NDArray[np.intp]

    @classmethod
    def of(cls, given: Preferences) -> Games:
        """Makes the games of preferences. All preferences must have an outcome."""
        first, second = given.numbers
        inputs = given.layout.inputs
        kind_of, representatives = find_kinds(number_judgements(given), inputs, given.layout.input_count)
        is_kept = np.isin(inputs, representatives)
        return cls(
            systems=len(given.systems),
            first=first[is_kept],
            second=second[is_kept],
            outcomes=given.outcomes[is_kept],
            kinds=kind_of[inputs[is_kept]],
            kind_of=kind_of,
        )

    @property
    def kind_count(self) -> int:
        return int(self.kind_of.max(initial=-1)) + 1

    @cached_property
    def times(self) -> Floats:
        """The number of inputs of each kind."""
        return np.bincount(self.kind_of, minlength=self.kind_count).astype(np.float64)

    @cached_property
    def memberships(self) -> csr_array:
        """A sparse matrix of shape (inputs, kinds): 1 if the input is of the kind, else 0."""
        inputs = len(self.kind_of)
        return csr_array((np.ones(inputs), (np.arange(inputs), self.kind_of)), shape=(inputs, self.kind_count))

    @cached_property
    def wins_by_kind(self) -> csr_array:
        """How often each system beats each other system in an input of each kind, of shape (kinds, systems²)."""
        places = [self.first * self.systems + self.second, self.second * self.systems + self.first]
        shares = [self.outcomes, 1 - self.outcomes]
        shape = (self.kind_count, self.systems**2)
        return csr_array((np.concatenate(shares), (np.tile(self.kinds, 2), np.concatenate(places))), shape=shape)

    def add_wins(self, weights: Floats) -> Floats:
        """Sums the wins of inputs, weighted by `weights` (rows, inputs); returns shape (rows, systems, systems)."""
        by_kind = weights @ self.memberships
        return (by_kind @ self.wins_by_kind).reshape(-1, self.systems, self.systems)

    @cached_property
    def wins(self) -> Floats:
        """The wins of all inputs, of shape (systems, systems)."""
        return (self.times @ self.wins_by_kind).reshape(self.systems, self.systems)

    @cached_property
    def added(self) -> Floats:
        """The wins to add so that strengths are finite: 1/(k - 1) of a tie for each compared pair of k systems."""
        added = np.zeros((self.systems, self.systems))
        share = 1 / (2 * (self.systems - 1))
        added[self.first, self.second] = share
        added[self.second, self.first] = share
        return added

    def add_by_kind(self, values: Floats) -> Floats:
        """Sums values of shape (judgements, m) over the judgements of each kind; returns shape (kinds, m)."""
        judgements = len(self.kinds)
        shape = (self.kind_count, judgements)
        return csr_array((np.ones(judgements), (self.kinds, np.arange(judgements))), shape=shape) @ values


def number_judgements(given: Preferences) -> NDArray[np.intp]:
    """Numbers judgements, of shape (n,).

    Judgements that say the same get the same number, whichever system is called a.
    """
    first, second = given.numbers
    is_turned = first > second
    said = np.stack(
        [
            np.minimum(first, second),
            np.maximum(first, second),
            np.where(is_turned, 1 - given.outcomes, given.outcomes),
        ]
    )
    order = np.lexsort(said)
    is_new = np.any(np.diff(said[:, order], axis=1) != 0, axis=0)
    numbers = np.empty(len(given), dtype=np.intp)
    numbers[order] = np.concatenate([[0], np.cumsum(is_new)])
    return numbers


def find_kinds(
    judgements: NDArray[np.intp],
    inputs: NDArray[np.intp],
    input_count: int,
) -> tuple[NDArray[np.intp], list[int]]:
    """Finds the kind of each input, and the first input of each kind; inputs of one kind have the same judgements.

    >>> find_kinds(np.array([3, 1, 1, 3, 1]), np.array([0, 0, 1, 2, 2]), input_count=3)
    (array([0, 1, 0]), [0, 1])
    """
    order = np.lexsort((judgements, inputs))
    ends = np.cumsum(np.bincount(inputs, minlength=input_count))
    kinds: dict[bytes, int] = {}
    kind_of = np.empty(input_count, dtype=np.intp)
    representatives: list[int] = []
    for number, of_input in enumerate(np.split(judgements[order], ends[:-1])):
        said = of_input.tobytes()
        if said not in kinds:
            kinds[said] = len(kinds)
            representatives.append(number)
        kind_of[number] = kinds[said]
    return kind_of, representatives
