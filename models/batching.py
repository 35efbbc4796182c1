"""Batches of sequences with different lengths: sorted by length and filled up to a budget."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from tqdm import tqdm

T = TypeVar("T")
Batch = dict[str, Tensor]  # the first axis of a tensor is the rows
NOT_LEARNED = -100  # a label: torch's cross-entropy ignores it
BUCKET = 8  # costs that differ by less are shuffled among one another: at most 7 units of padding a row


@dataclass(frozen=True)
class Task:
    """What a language model learns: the token ids of a source, and of the target that it should write after it.

    The first `given` ids of the target are read, but not learned.
    """

    source: Sequence[int]
    target: Sequence[int]
    given: int = 0

    @property
    def labels(self) -> list[int]:
        """The target with NOT_LEARNED in place of the tokens that are given."""
        return [NOT_LEARNED] * self.given + list(self.target[self.given :])


def batches_by_budget(
    costs: Sequence[int], budget: int, generator: np.random.Generator | None = None
) -> list[list[int]]:
    """Groups the indices of `costs` into batches of similar cost: rows x highest cost <= `budget`, or a single row.

    Without a generator the most expensive rows come first. A generator shuffles rows of about the same cost, then the
    batches; the number and sizes of the batches stay the same.

    >>> batches_by_budget([2, 9, 3, 4], budget=9)
    [[1], [3, 2], [0]]

    Raises ValueError for a budget below 1.
    """
    if budget < 1:
        raise ValueError(f"a budget must be at least 1, but is {budget}")
    size = np.asarray(costs, dtype=np.int64)
    order = np.arange(len(size))
    if generator is not None:
        size = -(-size // BUCKET) * BUCKET
        order = generator.permutation(len(size))
    order = order[np.argsort(-size[order], kind="stable")].tolist()
    batches: list[list[int]] = []
    start = 0
    while start < len(order):
        count = max(1, budget // max(1, int(size[order[start]])))
        batches.append(order[start : start + count])
        start += count
    if generator is not None:
        batches = [batches[i] for i in generator.permutation(len(batches))]
    return batches


def batches_of_alike(costs: Sequence[tuple[int, ...]], budget: int) -> list[list[int]]:
    """Batches of rows that are padded on several sides: of about one length on each, at most `budget` padded tokens.

    Lengths of one batch differ by a quarter at most, because their logarithms are rounded.

    >>> batches_of_alike([(20, 80), (80, 20), (20, 76), (85, 20)], budget=250)
    [[0, 2], [3, 1]]
    """
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, lengths in enumerate(costs):
        classes = tuple(round(3 * math.log2(length + 1)) for length in lengths)
        alike.setdefault(classes, []).append(i)
    batches: list[list[int]] = []
    for rows in alike.values():
        rows.sort(key=lambda i: costs[i], reverse=True)
        widest = map(max, *[costs[i] for i in rows], (0,) * len(costs[rows[0]]))
        for batch in batches_by_budget([sum(widest)] * len(rows), budget):
            batches.append([rows[k] for k in batch])
    return batches


def shrink_until_it_fits(work: Callable[[int], T], size: int) -> T:
    """Returns `work(size)`. If the device runs out of memory, tries `work(size // 2)`, and so on down to 1.

    If memory runs out even at size 1, that error is raised.
    """
    while True:
        try:
            return work(size)
        except torch.OutOfMemoryError:
            if size == 1:
                raise
        torch.cuda.empty_cache()  # inside the except block the tensors of the failed attempt are still referenced
        size //= 2


def halve_when_out_of_memory(work: Callable[[list[int]], Sequence[T]], batch: list[int]) -> list[T]:
    """Returns `work(batch)`, a result for each row.

    If the device runs out of memory, the batch is read in smaller parts.
    """
    results: list[T] = []

    def read_rest(size: int) -> list[T]:
        while len(results) < len(batch):
            start = len(results)
            results.extend(work(batch[start : start + size]))
        return results

    return shrink_until_it_fits(read_rest, len(batch))


def read_in_batches(
    costs: Sequence[int],
    budget: int,
    work: Callable[[list[int]], Sequence[T]],
    what: str | None = None,
) -> list[T]:
    """Calls `work` on batches, halved if memory runs out; returns a result for each index of `costs`, in order.

    `what` names a progress bar.

    >>> read_in_batches([1, 3, 2], budget=4, work=lambda batch: [10 * i for i in batch])
    [0, 10, 20]
    """
    results: dict[int, T] = {}
    batches = batches_by_budget(costs, budget)
    for batch in tqdm(
        batches,
        desc=what,
        delay=3,
        leave=False,
        disable=None if what else True,
    ):
        results.update(zip(batch, halve_when_out_of_memory(work, batch), strict=True))
    return [results[i] for i in range(len(costs))]


def distinct_rows(rows: Sequence[Sequence[int]]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Finds the distinct rows, in the order of first occurrence, and the index of each row among the distinct rows.

    >>> distinct_rows([[7, 8], [9], [7, 8]])
    ([(7, 8), (9,)], [0, 1, 0])
    """
    places: dict[tuple[int, ...], int] = {}
    which = [places.setdefault(tuple(row), len(places)) for row in rows]
    return list(places), which


def join_ids(sequences: Sequence[Sequence[int]], separator: Sequence[int]) -> list[int]:
    """Joins the sequences into one, with a separator between neighbours.

    >>> join_ids([[5, 6], [7]], separator=[1])
    [5, 6, 1, 7]
    """
    joined: list[int] = []
    for i, sequence in enumerate(sequences):
        joined += [*separator, *sequence] if i else sequence
    return joined


def pad(sequences: Sequence[Sequence[int]], value: int, device: torch.device | str = "cpu") -> Int[Tensor, "rows time"]:
    """Puts the sequences into one tensor, padded on the right with `value`.

    >>> pad([[1, 2], [3]], value=0).tolist()
    [[1, 2], [3, 0]]
    """
    width = max(map(len, sequences), default=0)
    rows = [[*sequence, *[value] * (width - len(sequence))] for sequence in sequences]
    return torch.tensor(rows, dtype=torch.long, device=device)


def pad_with_mask(
    sequences: Sequence[Sequence[int]], value: int | None, device: torch.device | str = "cpu"
) -> dict[str, Int[Tensor, "rows time"]]:
    """Returns `input_ids`, padded on the right with `value`, and `attention_mask`.

    If `value` is None, pads with zeros.

    >>> pad_with_mask([[1, 2], [3]], value=None)["attention_mask"].tolist()
    [[1, 1], [1, 0]]
    """
    mask = pad([[1] * len(sequence) for sequence in sequences], 0, device)
    return {
        "input_ids": pad(sequences, value or 0, device),
        "attention_mask": mask,
    }
