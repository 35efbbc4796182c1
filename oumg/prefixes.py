"""Prefix data: every beginning of a text under the label of the whole, which is what a guide learns (OUMG, 4.2)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from discriminators.data_module import LabelledText

SHORTEST = 2  # tokens, OUMG section 4.2


def prefix_lengths(tokens: int, most: int | None = None, generator: np.random.Generator | None = None) -> list[int]:
    """The lengths 2..n of the beginnings of a text of n tokens, or `most` of them, drawn without replacement, in order.

    >>> prefix_lengths(5), prefix_lengths(1)
    ([2, 3, 4, 5], [])

    Raises ValueError for `most` below 1, and for a draw without a generator.
    """
    if most is not None and most < 1:
        raise ValueError(f"most must leave at least 1 prefix of a text, but is {most}")
    lengths = np.arange(SHORTEST, tokens + 1)
    if most is not None and most < len(lengths):
        if generator is None:
            raise ValueError(f"{most} of {len(lengths)} prefixes are drawn at random: give a generator")
        lengths = np.sort(generator.choice(lengths, most, replace=False))
    return lengths.tolist()


def prefix_texts(
    texts: Sequence[LabelledText],
    encode: Callable[[str], Sequence[int]],
    decode: Callable[[Sequence[int]], str],
    most: int | None = None,
    seed: int = 0,
) -> list[LabelledText]:
    """The prefix data of `texts` as texts again, each with the label and the group of the text it begins.

    The last segment is cut; segments before it (a source) stay whole. Cuts are where the tokens of `encode` end, which
    should be the generator's; where a token ends inside a character (byte-level BPE) there is no text to cut, and the
    prefix is left out. A text of one token gives nothing. A text with characters that the tokens cannot spell is cut
    behind them all the same: only people write them, and their texts would else give fewer long prefixes.

    Args:
        texts: what is cut.
        encode: token ids of a segment, without special tokens.
        decode: their text.
        most: prefixes of a text, at most; all where it is None. A Bi-LSTM reads each from its beginning, so that all of
            them cost as much as the square of the length.
        seed: of the draw; which prefixes a text gives depends on the seed and on its place among `texts`.

    Raises ValueError where nothing is left.
    """
    found: list[LabelledText] = []
    for i, text in enumerate(texts):
        *source, last = text.segments
        ids = encode(last)
        ends = None if decode(ids) == last else _ends(last, ids, encode)
        for length in prefix_lengths(len(ids), most, np.random.default_rng((seed, i))):
            beginning = decode(ids[:length]) if ends is None else last[: ends.get(length, 0)]
            if last.startswith(beginning) and beginning.strip():
                found.append(replace(text, segments=(*source, beginning)))
    if not found:
        raise ValueError(f"prefixes need a text of at least {SHORTEST} tokens, but none of {len(texts)} has as many")
    return found


def _ends(text: str, ids: Sequence[int], encode: Callable[[str], Sequence[int]]) -> dict[int, int]:
    """By number of tokens how many characters they stand for, where as many characters alone are those tokens."""
    found: dict[int, int] = {}
    for characters in range(1, len(text) + 1):
        beginning = list(encode(text[:characters]))
        if beginning == list(ids[: len(beginning)]):
            found[len(beginning)] = characters
    return found
