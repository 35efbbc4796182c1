"""Prefix data: every prefix of a text with the label of the text, from which a guide learns (OUMG, section 4.2)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from core.settings import Count, check
from discriminators.data_module import LabelledText

SHORTEST = 2  # tokens, OUMG section 4.2


def prefix_lengths(tokens: int, most: int | None = None, generator: np.random.Generator | None = None) -> list[int]:
    """The prefix lengths 2..n of a text of n tokens, or a random `most` of them, in order.

    >>> prefix_lengths(5), prefix_lengths(1)
    ([2, 3, 4, 5], [])

    Raises SettingFault for `most` below 1, ValueError where a draw lacks a generator.
    """
    check(Count | None, most=most)
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
    """The prefixes of `texts`, each with the label and the group of its text.

    The last segment is cut; segments before it (a source) stay whole. A prefix ends where a token of `encode`, which
    should be the generator's, ends. Where a token ends inside a character (byte-level BPE), the prefix is left out. A
    text of one token has no prefix. Texts with characters that the tokens cannot spell are cut after these characters
    too: only human texts have them, so without these prefixes length would tell the classes apart.

    Args:
        texts: the whole texts.
        encode: returns the token ids of a segment, without special tokens.
        decode: returns the text of token ids.
        most: the most prefixes of a text; None for all. A Bi-LSTM reads each from its beginning, so the cost of all
            prefixes grows with the square of the length.
        seed: of the draw; the prefixes of a text depend on the seed and on its place among `texts`.

    Raises ValueError where there is no prefix at all.
    """
    found: list[LabelledText] = []
    for i, text in enumerate(texts):
        *source, last = text.segments
        ids = encode(last)
        ends = None if decode(ids) == last else _token_ends(last, ids, encode)
        for length in prefix_lengths(len(ids), most, np.random.default_rng((seed, i))):
            beginning = decode(ids[:length]) if ends is None else last[: ends.get(length, 0)]
            if last.startswith(beginning) and beginning.strip():
                found.append(replace(text, segments=(*source, beginning)))
    if not found:
        raise ValueError(f"prefixes need a text of at least {SHORTEST} tokens, but none of {len(texts)} has as many")
    return found


def _token_ends(text: str, ids: Sequence[int], encode: Callable[[str], Sequence[int]]) -> dict[int, int]:
    """The number of characters that each number of tokens spells, if these characters alone give the same tokens."""
    found: dict[int, int] = {}
    for characters in range(1, len(text) + 1):
        beginning = list(encode(text[:characters]))
        if beginning == list(ids[: len(beginning)]):
            found[len(beginning)] = characters
    return found
