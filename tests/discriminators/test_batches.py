"""Batches as tensors, and their order."""

import numpy as np
import pytest

from discriminators.batches import pad_rows
from discriminators.data_module import BatchOrder
from discriminators.segments import TokenRow


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


@pytest.mark.parametrize("shard", [{"parts": 3}, {"world_size": 2}, {"parts": 2, "world_size": 3}])
def test_parts_and_processes_share_one_pass(shard: dict[str, int]):
    parts, world = shard.get("parts", 1), shard.get("world_size", 1)
    whole = order(5, 2)
    shares = [
        order(5, 2 * parts + part, parts=parts, world_size=world, rank=r) for part in range(parts) for r in range(world)
    ]
    assert len({len(s) for s in shares}) == 1
    found = [tuple(b) for s in shares for b in s]
    assert set(found) == {tuple(b) for b in whole}
    assert len(found) - len(whole) < parts * world
