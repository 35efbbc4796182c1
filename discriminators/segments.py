"""Segments: how the turns of a text become rows of token ids for a model, and what is cut when they do not fit."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.faults import SettingFault
from core.settings import check_choice
from language_models.batching import join_ids
from language_models.truncation import Truncation

log = logging.getLogger(__name__)

Segments = Sequence[str]


@dataclass(frozen=True)
class Layout:
    """The frame around segments: `start` segment `separator` segment ... `end`, at most `max_tokens` ids in all."""

    start: tuple[int, ...]
    separator: int
    end: tuple[int, ...]
    pad: int
    max_tokens: int

    def __post_init__(self) -> None:
        if self.room < 1:
            raise SettingFault(
                f"max_tokens must leave room for text beside {len(self.start) + len(self.end)} special tokens, "
                f"but is {self.max_tokens}"
            )

    @property
    def room(self) -> int:
        """How many ids fit between start and end."""
        return self.max_tokens - len(self.start) - len(self.end)


class Tokens(Protocol):
    """What turns segments into ids: a vocabulary, or the tokenizer of an encoder."""

    @property
    def layout(self) -> Layout:
        """The frame around segments."""
        ...

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """The ids of each segment, without special tokens and never cut."""
        ...


@dataclass(frozen=True)
class TokenRow:
    """What a model reads at once: a whole text or one window of it.

    Attributes:
        ids: token ids with the special ones, not padded.
        text: the index of the text it belongs to.
        weight: its share of the text's tokens; the weights of the rows of a text sum to 1.
    """

    ids: NDArray[np.int64]
    text: int
    weight: float


def clean(segment: str) -> str:
    """One space for any run of whitespace, none at the ends; done alike to both classes, in training and in scoring.

    >>> clean("  Hi ,\\n there ")
    'Hi , there'
    """
    return " ".join(segment.split())


def windows(segments: Sequence[Sequence[int]], separator: int, room: int) -> tuple[list[list[int]], int]:
    """Neighbouring whole segments packed from the left into as few sequences of at most `room` ids as that gives.

    A segment that is longer than `room` by itself is cut. Returns the sequences and the number of tokens cut.

    >>> windows([[5, 6], [7], [8, 9, 9, 9, 9]], separator=1, room=4)
    ([[5, 6, 1, 7], [8, 9, 9, 9]], 1)
    """
    packed: list[list[int]] = []
    dropped = 0
    for segment in segments:
        kept = list(segment[:room])
        dropped += len(segment) - len(kept)
        if packed and len(packed[-1]) + 1 + len(kept) <= room:
            packed[-1] += [separator, *kept]
        else:
            packed.append(kept)
    return packed, dropped


def read(texts: Sequence[Segments], tokens: Tokens, truncation: Truncation) -> tuple[list[TokenRow], NDArray[np.int64]]:
    """Rows of all texts, in the order of the texts, and per text how many tokens were cut.

    A text that does not fit is refused (`error`), cut at its end with a warning (`warn`; separators count as tokens),
    or read in windows of neighbouring whole segments (`window`). The score of a text is the mean over its rows
    weighted by their tokens, so that a short last window counts for what it holds.

    Raises ValueError for a text without a segment that is not blank, for a string in the place of segments, and, with
    `error`, for a text that does not fit.
    """
    check_choice("truncation", truncation, Truncation)
    cleaned = [_checked(i, text) for i, text in enumerate(texts)]
    encoded = iter(tokens.encode([segment for text in cleaned for segment in text]))
    layout, room = tokens.layout, tokens.layout.room
    rows: list[TokenRow] = []
    dropped = np.zeros(len(texts), dtype=np.int64)
    for i, text in enumerate(cleaned):
        segments = [next(encoded) for _ in text]
        bodies = [join_ids(segments, layout.separator)]
        length = len(bodies[0])
        if length > room and truncation == "error":
            raise ValueError(
                f"a text must fit into {layout.max_tokens} tokens, but text {i} ({text[0][:30]!r}...) has "
                f"{length} and {layout.max_tokens - room} special ones; set truncation to window (scores averaged over "
                "windows of whole segments) or warn (cut at the end)"
            )
        if length > room and truncation == "warn":
            bodies, dropped[i] = [bodies[0][:room]], length - room
        elif length > room:
            bodies, dropped[i] = windows(segments, layout.separator, room)
        total = sum(map(len, bodies))
        if total == 0:
            raise ValueError(f"a text needs at least one token, but text {i} has none: {texts[i]!r}")
        rows += [
            TokenRow(np.array([*layout.start, *body, *layout.end], dtype=np.int64), i, len(body) / total)
            for body in bodies
        ]
    if dropped.any():
        log.warning("%d of %d texts lost tokens (%d in all)", np.count_nonzero(dropped), len(texts), dropped.sum())
    return rows, dropped


def _checked(index: int, text: Segments) -> list[str]:
    """The cleaned segments of a text."""
    if isinstance(text, str):
        raise ValueError(f"a text is a sequence of segments, but text {index} is a string: pass ({text[:20]!r},)")
    segments = [clean(segment) for segment in text]
    if not any(segments):
        raise ValueError(f"a text needs at least one segment that is not blank, but text {index} is {text!r}")
    return segments
