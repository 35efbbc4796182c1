"""Batches: every row once, in a budget, and in halves where memory runs out."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.batching import SPARE, batches_by_budget, batches_of_pairs, halve_when_out_of_memory


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 200))
def test_every_row_once_within_the_budget_dearest_first_or_shuffled(costs: list[int], budget: int) -> None:
    plain = batches_by_budget(costs, budget)
    shuffled = [batches_by_budget(costs, budget, np.random.default_rng(seed)) for seed in range(4)]
    assert [costs[i] for batch in plain for i in batch] == sorted(costs, reverse=True)
    assert len({len(batches) for batches in shuffled}) == 1
    for batches in (plain, *shuffled):
        assert sorted(i for batch in batches for i in batch) == list(range(len(costs)))
        for batch in batches:
            assert len(batch) == 1 or len(batch) * max(costs[i] for i in batch) <= budget


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 200)), max_size=40), st.integers(1, 2000))
def test_every_pair_once_within_the_budget_with_little_padding(costs: list[tuple[int, int]], budget: int) -> None:
    batches = batches_of_pairs(costs, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(costs)))
    for batch in batches:
        highest = [max(costs[i][side] for i in batch) for side in (0, 1)]
        assert len(batch) == 1 or len(batch) * sum(highest) <= budget
        padding = [[most - cost for most, cost in zip(highest, costs[i], strict=True)] for i in batch]
        far = [
            sum(lost)
            for i, lost in zip(batch, padding, strict=True)
            if any(8 * each > cost for each, cost in zip(lost, costs[i], strict=True))
        ]
        assert sum(far) <= SPARE


def test_out_of_memory_halves_until_it_fits() -> None:
    sizes: list[int] = []

    def work(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("too large")
        return [10 * i for i in batch]

    assert halve_when_out_of_memory(work, [3, 1, 4, 1, 5]) == [30, 10, 40, 10, 50]
    assert sizes == [5, 2, 2, 1]
