"""Windows: the parts of a long text that a model reads at once. All rules of truncation are here."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, TypeVar

from core.errors import ExampleError

# A text is refused, loses tokens, which are counted, or is read in windows.
Truncation = Literal["error", "warn", "window"]
CutTruncation = Literal["error", "warn"]  # of a model that reads no windows
Item = TypeVar("Item")
Pair = tuple[Sequence[int], Sequence[int]]  # source and target, or context and continuation


def refuse_cut(truncation: Truncation, rule: str, dropped: Iterable[int]) -> None:
    """Raises ExampleError, if truncation is `error`, for all examples that would lose tokens.

    The message begins with the `rule`.
    """
    if truncation != "error":
        return
    faults: list[tuple[int, str]] = []
    for i, count in enumerate(dropped):
        if count:
            faults.append((i, f"{rule} ({count} too many): set truncation=warn"))
    if faults:
        raise ExampleError(faults)


def cut_end(ids: Sequence[int], room: int, closing: int = 0) -> tuple[list[int], int]:
    """Keeps the beginning of the tokens and the last `closing` tokens; also returns the number of dropped tokens.

    >>> cut_end([5, 6, 7, 8, 1], room=3, closing=1)
    ([5, 6, 1], 2)
    """
    if len(ids) <= room:
        return list(ids), 0
    kept = [*ids[: max(0, room - closing)], *ids[len(ids) - closing :]]
    return kept, len(ids) - len(kept)


def cut_beginning(ids: Sequence[int], room: int) -> list[int]:
    """Keeps the last `room` tokens.

    >>> cut_beginning([5, 6, 7], room=2)
    [6, 7]
    """
    return list(ids[max(0, len(ids) - room) :])


def split_evenly(ids: Sequence[Item], room: int) -> list[list[Item]]:
    """Splits tokens or other items into as few windows as possible, whose lengths differ by at most one.

    Without items there is one window, without any.

    >>> split_evenly([1, 2, 3, 4, 5], room=2)
    [[1], [2, 3], [4, 5]]
    """
    count = max(1, -(-len(ids) // room))
    ends = [len(ids) * k // count for k in range(count + 1)]
    return [list(ids[start:end]) for start, end in pairwise(ends)]


def find_near(
    length: int,
    at: int,
    room: int,
    centred: bool = True,
) -> range:
    """Returns a window of `room` positions around `at`.

    Without `centred`, returns the first window that contains `at`.

    >>> find_near(9, at=6, room=4), find_near(9, at=6, room=4, centred=False)
    (range(4, 8), range(3, 7))
    """
    first = at - room // 2 if centred else at - room + 1
    first = min(max(first, 0), max(0, length - room))
    return range(first, min(length, first + room))


def find_turns_near(
    lengths: Sequence[int],
    at: int,
    room: int,
    separator: int = 1,
) -> range:
    """Returns the turn `at` and as many whole turns around it as fit into `room` tokens.

    Turns are added before and after it alternately. A separator between two turns takes `separator` tokens.

    >>> find_turns_near([1, 3, 2, 1], at=2, room=7)
    range(1, 3)
    """
    low = high = at
    used = lengths[at]
    while True:
        grown = False
        for candidate in (low - 1, high + 1):
            if not 0 <= candidate < len(lengths):
                continue
            needed = used + lengths[candidate] + separator
            if needed <= room:
                used = needed
                low = min(low, candidate)
                high = max(high, candidate)
                grown = True
        if not grown:
            return range(low, high + 1)


def pack_turns(
    lengths: Sequence[int],
    room: int,
    first: int | None = None,
    most: int | None = None,
    separator: int = 1,
) -> list[range]:
    """Splits the turns into consecutive windows of as many whole turns as fit into `room`, but at least one.

    The first window has room for `first` tokens, and no window has more than `most` turns. A separator between two
    turns takes `separator` tokens.

    >>> pack_turns([1, 2, 1], room=4, first=2)
    [range(0, 1), range(1, 3)]
    """
    packed: list[range] = []
    begin = used = 0
    limit = room if first is None else first
    for t, length in enumerate(lengths):
        if t > begin and (used + separator + length > limit or t - begin == most):
            packed.append(range(begin, t))
            begin = t
            used = 0
            limit = room
        used += length + separator * (t > begin)
    if lengths:
        packed.append(range(begin, len(lengths)))
    return packed


def overlapping_windows(ids: Sequence[int], room: int) -> list[Pair]:
    """Splits a text into windows (context tokens, scored tokens) for a causal model that reads `room` tokens at once.

    Each token is scored in one window. In every window but the first, the first half is context. The first window
    begins with a start token, and the model does not need to read the last token of a window. Raises ValueError for a
    room below 2.

    >>> overlapping_windows([4, 5, 6, 7, 8, 9], room=4)
    [([], [4, 5, 6, 7]), ([5, 6, 7], [8, 9])]
    """
    if room < 2:
        raise ValueError(f"a model must read at least 2 tokens, but reads {room}")
    windows: list[Pair] = []
    start = 0
    stop = min(room, len(ids))
    step = room // 2
    end = room  # of the window, which the last one does not reach
    while True:
        before = ids[max(0, stop - 1 - room) : start]
        windows.append((list(before), list(ids[start:stop])))
        if stop == len(ids):
            return windows
        start = stop
        end += step
        stop = min(end, len(ids))
