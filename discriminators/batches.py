"""Batches: rows of like length together, as many as fit into a budget of tokens with their padding."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from discriminators.segments import Row

BUCKET = 8  # lengths that differ by less are shuffled among one another: at most 7 ids of padding a row


def length_batches(
    lengths: Sequence[int], token_budget: int, generator: np.random.Generator | None = None
) -> list[NDArray[np.int64]]:
    """Indices of the rows of each batch: rows times the longest row is at most `token_budget`, or one row is alone.

    Without a generator rows are sorted by length, the longest batch first. With one, rows of about the same length and
    then the batches are shuffled; the number of batches and their sizes do not depend on the generator.

    >>> [b.tolist() for b in length_batches([3, 9, 2, 4], token_budget=9)]
    [[1], [3, 0], [2]]
    """
    if token_budget < 1:
        raise ValueError(f"token_budget must be at least 1, but is {token_budget}")
    size = np.asarray(lengths, dtype=np.int64)
    if generator is None:
        order = np.argsort(-size, kind="stable")
    else:
        size = -(-size // BUCKET) * BUCKET
        order = generator.permutation(len(size))
        order = order[np.argsort(-size[order], kind="stable")]
    batches: list[NDArray[np.int64]] = []
    start = 0
    while start < len(order):
        count = max(1, token_budget // max(1, int(size[order[start]])))
        batches.append(order[start : start + count])
        start += count
    if generator is not None:
        batches = [batches[i] for i in generator.permutation(len(batches))]
    return batches


def pad_rows(rows: Sequence[Row], pad: int) -> tuple[Int[Tensor, "batch time"], Bool[Tensor, "batch time"]]:
    """The ids of the rows padded at the end, and which of them are real tokens."""
    lengths = np.array([len(row.ids) for row in rows])
    mask = np.arange(lengths.max())[None, :] < lengths[:, None]
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = np.concatenate([row.ids for row in rows])
    return torch.from_numpy(ids), torch.from_numpy(mask)
