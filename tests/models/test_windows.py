"""Windows: every rule keeps what it says, fits, and counts what it loses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.faults import ExampleFaults
from models.windows import (
    Pair,
    count_read,
    cut_beginning,
    cut_continuation,
    cut_end,
    find_near,
    find_turns_near,
    fit_continuations,
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


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(1, 40), st.integers(2, 12))
def test_overlapping_windows_score_every_token_once_and_fit(before: int, after: int, room: int) -> None:
    context, continuation = list(range(before)), list(range(100, 100 + after))
    windows, dropped = overlapping_windows(context, continuation, room)
    assert [token for _, scored in windows for token in scored] == continuation
    whole = context + continuation
    for i, (seen, scored) in enumerate(windows):
        assert count_read(seen, scored) <= room
        end = whole.index(scored[0])
        assert whole[end - len(seen) : end] == seen
        if i or context:
            assert len(seen) >= min(end, room - room // 2)
    assert dropped == before - len(windows[0][0])


@given(st.integers(0, 30), st.integers(1, 40), ROOM)
def test_a_cut_continuation_keeps_its_beginning_and_the_end_of_the_context(before: int, after: int, room: int) -> None:
    context, continuation = list(range(before)), list(range(100, 100 + after))
    (seen, kept), dropped = cut_continuation(context, continuation, room)
    assert continuation[: len(kept)] == kept
    assert context[len(context) - len(seen) :] == seen
    assert dropped == before - len(seen) + after - len(kept)
    assert count_read(seen, kept) == min(count_read(context, continuation), room)


def test_texts_that_do_not_fit_are_all_named() -> None:
    pairs: list[Pair] = [([1], [2]), ([1, 2, 3], [4, 5, 6]), ([], [1] * 9), ([1] * 9, [])]
    with pytest.raises(ExampleFaults) as faults:
        fit_continuations(pairs, room=4, truncation="error")
    assert [index for index, _ in faults.value.at] == [1, 2]
    assert "reads 4 tokens at once, but the text with its context has 5" in faults.value.faults[0]
    windows, dropped = fit_continuations(pairs, room=4, truncation="warn")
    assert windows == [[([1], [2])], [([2, 3], [4, 5, 6])], [([], [1, 1, 1, 1])], [([1] * 9, [])]]
    assert dropped == [0, 1, 5, 0]
    assert fit_continuations(pairs, room=4, truncation="window")[0][2] == overlapping_windows([], [1] * 9, 4)[0]
    with pytest.raises(ValueError, match="at least 2 tokens, but reads 1"):
        overlapping_windows([1, 2], [3, 4], 1)


def test_all_examples_that_would_lose_tokens_are_refused() -> None:
    refuse_cut("error", "reads 4 tokens", [0, 0])
    refuse_cut("warn", "reads 4 tokens", [0, 3, 1])
    with pytest.raises(
        ExampleFaults, match="example 2: reads 4 tokens \\(3 too many\\): set truncation=warn"
    ) as faults:
        refuse_cut("error", "reads 4 tokens", [0, 3, 1])
    assert [index for index, _ in faults.value.at] == [1, 2]
