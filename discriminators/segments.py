"""Segments (the turns of a text, or a source and a text): encodes, cuts and pads them for a classifier."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from core.errors import SettingError
from models.batching import join_ids
from models.windows import cut_end, pack_turns

log = logging.getLogger(__name__)

Segments = Sequence[str]


@dataclass(frozen=True)
class TokenFrame:
    """The special tokens around segments: `start` segment `separator` segment ... `end`, at most `max_length` ids."""

    start: tuple[int, ...]
    separator: int
    end: tuple[int, ...]
    pad: int
    max_length: int

    def __post_init__(self) -> None:
        if self.room < 1:
            raise SettingError(
                f"max_length must leave room for text beside {len(self.start) + len(self.end)} special tokens, "
                f"but is {self.max_length}"
            )

    @property
    def room(self) -> int:
        """The number of token ids that fit between the special tokens at the start and at the end."""
        return self.max_length - len(self.start) - len(self.end)


class Tokens(Protocol):
    """What turns segments into token ids: a vocabulary, or the tokenizer of an encoder."""

    @property
    def layout(self) -> TokenFrame:
        """The special tokens around segments."""
        ...

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """Returns the token ids of each segment, without special tokens and never cut."""
        ...


@dataclass(frozen=True)
class TokenRow:
    """The token ids that a model reads at once: those of a whole text, or of one window of a long text."""

    # token ids with the special ones, not padded
    ids: NDArray[np.int64]
    # the index of the text it belongs to
    text: int
    # its share of the text's tokens; the weights of the rows of a text sum to 1
    weight: float
    # of the text, where it is learned
    label: int = 0


def clean(segment: str) -> str:
    """Normalises white space: one space for any run, none at the ends.

    Texts of both classes are cleaned, so that white space cannot tell them apart.

    >>> clean("  Hi ,\\n there ")
    'Hi , there'
    """
    return " ".join(segment.split())


def pack_segments(
    segments: Sequence[Sequence[int]],
    separator: int,
    room: int,
    lengths: Sequence[int] | None = None,
    turns: int | None = None,
) -> tuple[list[list[int]], int]:
    """Packs neighbouring whole segments from the left into sequences of at most `room` ids.

    A segment that is longer than `room` by itself is cut. `lengths` replace the lengths of the segments: both sides
    of a pair count with the longer one, so that both are cut alike. With `turns` a sequence has at most so many
    segments, spread evenly. Returns the sequences and the number of tokens cut.

    >>> pack_segments([[5, 6], [7], [8, 9, 9, 9, 9]], separator=1, room=4)
    ([[5, 6, 1, 7], [8, 9, 9, 9]], 1)
    >>> pack_segments([[5, 6], [7]], separator=1, room=4, lengths=[3, 1])
    ([[5, 6], [7]], 0)
    >>> pack_segments([[5], [6], [7], [8]], separator=1, room=9, turns=3)
    ([[5, 1, 6], [7, 1, 8]], 0)
    """
    cut = [cut_end(segment, room) for segment in segments]
    most = None
    if turns and segments:
        most = math.ceil(len(segments) / math.ceil(len(segments) / turns))
    windows = pack_turns(lengths or [len(segment) for segment in segments], room, most=most)
    kept = [ids for ids, _ in cut]
    packed = [join_ids(kept[window.start : window.stop], [separator]) for window in windows]
    return packed, sum(lost for _, lost in cut)


def read(
    texts: Sequence[Segments],
    tokens: Tokens,
    pairs: Sequence[Segments | None] | None = None,
    skip_empty: bool = False,
    turns: int | None = None,
) -> tuple[list[TokenRow], NDArray[np.int64]]:
    """Encodes the texts: returns rows in the order of the texts, and the number of cut tokens of each text.

    A text that does not fit is read in windows of at most `turns` neighbouring whole segments; a segment that does not
    fit by itself is cut at its end. The score of a text is the mean over its rows weighted by their tokens.

    `pairs` are for training: the positive or negative that belongs to each text, segment for segment, or None. Both are
    cut alike. A row that both have is left out of both, because it cannot help to distinguish them.

    Raises ValueError for a text without tokens (with `skip_empty` it has no row) and for a string in place of segments.
    """
    encoded = _encode(texts, tokens)
    others = iter(_encode([pair for pair in pairs or () if pair is not None], tokens))
    layout = tokens.layout
    rows: list[TokenRow] = []
    dropped = np.zeros(len(texts), dtype=np.int64)
    for i, segments in enumerate(encoded):
        other = next(others) if pairs and pairs[i] is not None else None
        if other is None and not any(segments):
            if skip_empty:
                continue
            raise ValueError(f"a text needs at least one token, but text {i} has none: {texts[i]!r}")
        bodies, dropped[i] = _bodies(
            segments,
            other or segments,
            layout,
            turns,
        )
        if other is not None:
            against, _ = _bodies(
                other,
                segments,
                layout,
                turns,
            )
            bodies = [body for body, same in zip(bodies, against, strict=True) if body != same]
        total = sum(map(len, bodies))
        for body in bodies:
            if body:  # a window may hold nothing but segments without tokens
                ids = np.array([*layout.start, *body, *layout.end], dtype=np.int64)
                rows.append(TokenRow(ids, text=i, weight=len(body) / total))
    if dropped.any():
        log.warning(
            "%d of %d texts lost tokens (%d in all)",
            np.count_nonzero(dropped),
            len(texts),
            dropped.sum(),
        )
    return rows, dropped


def _encode(texts: Sequence[Segments], tokens: Tokens) -> list[list[list[int]]]:
    cleaned = [_checked(i, text) for i, text in enumerate(texts)]
    segments = [segment for text in cleaned for segment in text]
    ids = iter(tokens.encode(segments))
    return [list(islice(ids, len(text))) for text in cleaned]


def _bodies(
    segments: Sequence[Sequence[int]],
    other: Sequence[Sequence[int]],
    layout: TokenFrame,
    turns: int | None,
) -> tuple[list[list[int]], int]:
    """What stands between start and end of each row of a text that is cut like its other side; the tokens cut."""
    lengths = [max(map(len, sides)) for sides in zip(segments, other, strict=True)]
    return pack_segments(
        segments,
        layout.separator,
        layout.room,
        lengths=lengths,
        turns=turns,
    )


def _checked(index: int, text: Segments) -> list[str]:
    """The cleaned segments of a text."""
    if isinstance(text, str):
        raise ValueError(f"a text is a sequence of segments, but text {index} is a string: pass ({text[:20]!r},)")
    return [clean(segment) for segment in text]


def pad_rows(rows: Sequence[TokenRow], pad: int) -> tuple[Int[Tensor, "batch time"], Bool[Tensor, "batch time"]]:
    """Returns the ids of the rows, padded at the end, and a mask of the real tokens."""
    lengths = np.array([len(row.ids) for row in rows])
    mask = np.arange(lengths.max())[None, :] < lengths[:, None]
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = np.concatenate([row.ids for row in rows])
    return torch.from_numpy(ids), torch.from_numpy(mask)
