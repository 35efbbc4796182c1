"""Batches of sequences of unlike length: sorted by length, filled up to a budget, and back in order."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor


def batches_by_budget(costs: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices of `costs` in batches of like cost, dearest first; rows x highest cost of a batch stays within `budget`.

    A single row dearer than the budget is a batch of its own.

    >>> list(batches_by_budget([2, 9, 3, 4], budget=9))
    [[1], [3, 2], [0]]
    """
    order = sorted(range(len(costs)), key=lambda i: (-costs[i], i))
    batch: list[int] = []
    for i in order:
        if batch and costs[batch[0]] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def halving_on_out_of_memory(work: Callable[[list[int]], list[Any]], batch: list[int]) -> list[Any]:
    """`work(batch)`; where the device runs out of memory, its halves one after the other, and so on down to one row.

    Raises torch.OutOfMemoryError when a single row does not fit.
    """
    try:
        return work(batch)
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            raise
    torch.cuda.empty_cache()  # outside of the except block, where the failed attempt's tensors are still referenced
    half = len(batch) // 2
    return halving_on_out_of_memory(work, batch[:half]) + halving_on_out_of_memory(work, batch[half:])


def pad(sequences: Sequence[Sequence[int]], value: int, device: torch.device | str = "cpu") -> Int[Tensor, "rows time"]:
    """The sequences as one tensor, filled up on the right with `value`.

    >>> pad([[1, 2], [3]], value=0).tolist()
    [[1, 2], [3, 0]]
    """
    width = max(map(len, sequences), default=0)
    return torch.tensor([[*s, *[value] * (width - len(s))] for s in sequences], dtype=torch.long, device=device)
