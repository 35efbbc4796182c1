"""Batches as tensors, and their order."""

import numpy as np
import pytest

from discriminators.segments import TokenRow, pad_rows
from discriminators.texts import BatchOrder, RowBatches


def test_padding():
    rows = [TokenRow(np.array([5, 6]), 0, 1.0), TokenRow(np.array([7]), 1, 1.0)]
    ids, mask = pad_rows(rows, pad=9)
    assert ids.tolist() == [[5, 6], [7, 9]]
    assert mask.tolist() == [[True, True], [True, False]]


def order(seed: int | None, epoch: int, **shard: int) -> list[list[int]]:
    sampler = BatchOrder(list(range(1, 50)), 60, seed, **shard)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    return batches


def test_order_depends_on_seed_and_epoch_only():
    assert order(0, 3) == order(0, 3)
    assert order(0, 3) != order(0, 4)
    assert order(0, 3) != order(1, 3)
    assert order(None, 0) == order(None, 7)


@pytest.mark.parametrize("parts", [1, 3])
def test_parts_share_one_pass(parts: int):
    whole = order(5, 2)
    shares = [order(5, 2 * parts + part, parts=parts) for part in range(parts)]
    assert len({len(s) for s in shares}) == 1
    found = [tuple(b) for s in shares for b in s]
    assert set(found) == {tuple(b) for b in whole}
    assert len(found) - len(whole) < parts


def test_processes_share_the_rows_of_every_batch():
    whole = order(5, 2)
    shares = [order(5, 2, world_size=3, rank=rank) for rank in range(3)]
    for batch, *parts in zip(whole, *shares, strict=True):
        assert sorted(batch) == sorted(row for part in parts for row in part)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_no_index_gives_a_row_of_no_weight():
    rows = [TokenRow(np.array([5, 6, 7]), 0, 1.0), TokenRow(np.array([8]), 1, 1.0)]
    batch = RowBatches(rows, np.array([1.0, 0.0], np.float32), pad=0)[[]]
    assert (batch["ids"].tolist(), batch["weights"].tolist()) == ([[5, 6, 7]], [0.0])
