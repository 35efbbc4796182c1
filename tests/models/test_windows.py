"""Batches and windows: every row once, in a budget; every rule keeps what it says, fits, and counts what it loses."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ExampleError
from models.batching import batches_by_budget, batches_of_alike, halve_when_out_of_memory
from models.windows import (
    cut_beginning,
    cut_end,
    find_near,
    find_turns_near,
    overlapping_windows,
    pack_turns,
    refuse_cut,
    split_evenly,
)

TOKENS = st.lists(st.integers(1, 99), max_size=30)
LENGTHS = st.lists(st.integers(0, 9), min_size=1, max_size=9)
ROOM = st.integers(1, 12)


@given(TOKENS, ROOM, st.integers(0, 1))
def test_a_cut_keeps_the_beginning_and_what_ends_the_text(ids: list[int], room: int, closing: int) -> None:
    kept, lost = cut_end(ids, room, closing)
    assert len(kept) == min(len(ids), room) == len(ids) - lost
    assert kept == (ids if not lost else ids[: room - closing] + ids[len(ids) - closing :])
    assert cut_beginning(ids, room) == ids[::-1][:room][::-1]
    assert cut_end(ids, -1) == ([], len(ids))


@given(TOKENS, ROOM)
def test_even_windows_hold_all_tokens_and_are_as_few_as_fit(ids: list[int], room: int) -> None:
    windows = split_evenly(ids, room)
    assert [token for window in windows for token in window] == ids
    sizes = [len(window) for window in windows]
    assert max(sizes) <= room
    assert max(sizes) - min(sizes) <= 1
    assert len(windows) == max(1, (len(ids) + room - 1) // room)


@given(st.integers(1, 30), st.integers(0, 29), ROOM, st.booleans())
def test_the_places_near_one_hold_it_and_fill_the_room(length: int, at: int, room: int, centred: bool) -> None:
    at = min(at, length - 1)
    places = find_near(length, at, room, centred)
    assert at in places
    assert len(places) == min(length, room)
    assert places.start >= 0
    assert places.stop <= length
    if not centred:
        assert places.start == max(0, at - room + 1)
    elif places.start > 0 and places.stop < length:  # as many before as behind, or one more before
        assert at - places.start - (places.stop - 1 - at) in (0, 1)


@given(LENGTHS, st.integers(0, 8), st.integers(1, 40))
def test_turns_near_one_fit_and_no_neighbour_would(lengths: list[int], at: int, room: int) -> None:
    at = min(at, len(lengths) - 1)
    turns = find_turns_near(lengths, at, room)
    used = sum(lengths[t] for t in turns) + len(turns) - 1
    assert at in turns
    assert len(turns) == 1 or used <= room
    for neighbour in (turns.start - 1, turns.stop):
        if 0 <= neighbour < len(lengths):
            assert used + 1 + lengths[neighbour] > room


@given(LENGTHS, st.integers(1, 20), st.integers(1, 20))
def test_packed_windows_hold_as_many_whole_turns_as_fit(lengths: list[int], first: int, room: int) -> None:
    windows = pack_turns(lengths, room, first)
    assert [turn for window in windows for turn in window] == list(range(len(lengths)))
    for i, window in enumerate(windows):
        limit = first if i == 0 else room
        assert len(window) == 1 or sum(lengths[t] for t in window) + len(window) - 1 <= limit
        if window.stop < len(lengths):
            assert sum(lengths[t] for t in (*window, window.stop)) + len(window) > limit
    assert pack_turns([], room) == []


@given(st.integers(0, 40), st.integers(2, 12))
def test_overlapping_windows_score_every_token_once_and_fit(length: int, room: int) -> None:
    ids = list(range(length))
    windows = overlapping_windows(ids, room)
    assert [token for _, scored in windows for token in scored] == ids
    for i, (seen, scored) in enumerate(windows):
        assert max(1, len(seen)) + len(scored) - 1 <= room
        first = scored[0] if scored else 0
        assert seen == ids[first - len(seen) : first]
        assert len(seen) >= (room - room // 2 if i else 0)
    with pytest.raises(ValueError, match="at least 2 tokens, but reads 1"):
        overlapping_windows(ids, 1)


def test_all_examples_that_would_lose_tokens_are_refused() -> None:
    refuse_cut("error", "reads 4 tokens", [0, 0])
    refuse_cut("warn", "reads 4 tokens", [0, 3, 1])
    with pytest.raises(ExampleError, match=r"example 2: reads 4 tokens .3 too many.: set truncat") as faults:
        refuse_cut("error", "reads 4 tokens", [0, 3, 1])
    assert [index for index, _ in faults.value.at] == [1, 2]


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
def test_every_pair_once_beside_pairs_of_about_its_lengths(costs: list[tuple[int, int]], budget: int) -> None:
    batches = batches_of_alike(costs, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(costs)))
    for batch in batches:
        sides = list(zip(*[costs[i] for i in batch], strict=True))
        assert len(batch) == 1 or len(batch) * sum(map(max, sides)) <= budget
        assert all(max(side) + 1 <= 1.26 * (min(side) + 1) for side in sides)


def test_out_of_memory_halves_until_it_fits() -> None:
    sizes: list[int] = []

    def work(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("too large")
        return [10 * i for i in batch]

    assert halve_when_out_of_memory(work, [3, 1, 4, 1, 5]) == [30, 10, 40, 10, 50]
    assert sizes == [5, 2, 2, 1]


def test_a_budget_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="a budget must be at least 1, but is 0"):
        batches_by_budget([1], 0)
