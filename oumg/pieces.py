"""How texts of unlike origin are made alike: one form of characters, units of length, templates, a common length."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import jieba
import numpy as np

from discriminators.segments import clean

TEMPLATE_SHARE = 0.95  # [R] what so many texts of an origin begin or end with is no part of what they say
CJK = "\u3040-\u30ff\u3400-\u9fff"
WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+|[^\w\s]")
CHARACTER = re.compile(r"\S")


def plain(text: str) -> str:
    """One form for the same characters (NFC), one blank for any white space, none at the ends."""
    return clean(unicodedata.normalize("NFC", text))


def pieces(text: str, tokens: str) -> list[str]:
    """The text in units of length, each with the blanks after it: characters, jieba words, or words and marks.

    A CJK character is a word of its own; byte pairs and a tokenizer's tokens are counted as words.

    >>> pieces("Well, 好的!", "words"), pieces("a b", "characters")
    (['Well', ', ', '好', '的', '!'], ['a ', 'b'])
    """
    if tokens == "jieba":
        starts, at = [], 0
        for word in jieba.lcut(text):
            if not word.isspace():
                starts.append(at)
            at += len(word)
    else:
        starts = [match.start() for match in (CHARACTER if tokens == "characters" else WORD).finditer(text)]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def shared_start(rows: Sequence[Sequence[str]], share: float = TEMPLATE_SHARE) -> tuple[str, ...]:
    """The pieces that at least `share` of the rows begin with and have at least two more after them.

    >>> shared_start([["Answer", ": ", "a ", "b"], ["Answer", ": ", "c ", "d ", "e"]])
    ('Answer', ': ')
    """
    start: tuple[str, ...] = ()
    following = list(rows)
    while True:
        at = len(start)
        following = [row for row in following if len(row) > at + 2]
        if not following:
            return start
        piece, count = Counter(row[at] for row in following).most_common(1)[0]
        if count < share * len(rows):
            return start
        start += (piece,)
        following = [row for row in following if row[at] == piece]


def without(row: Sequence[str], starts: set[tuple[str, ...]], ends: set[tuple[str, ...]]) -> list[str]:
    """The pieces without the longest template at each side; whole where fewer than two would be left.

    >>> without(["Answer", ": ", "a ", "b"], {("Answer", ": ")}, set())
    ['a ', 'b']
    """
    first = max((len(start) for start in starts if tuple(row[: len(start)]) == start), default=0)
    last = max((len(end) for end in ends if tuple(row[-len(end) :]) == end), default=0)
    kept = list(row[first : len(row) - last])
    return kept if len(kept) >= 2 else list(row)


def common_length(lengths: Sequence[int], rng: np.random.Generator) -> int:
    """Their length where it is the same; else one from half the shortest, rounded up, to one less than the shortest."""
    shortest = min(lengths)
    if shortest == max(lengths):
        return shortest
    return int(rng.integers(-(-shortest // 2), shortest))
