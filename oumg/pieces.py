"""Removes differences of form between texts of different origins: Unicode form, units, templates, length."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from data.words import RUNS_CJK_AND_MARKS, split_chinese

TEMPLATE_SHARE = 0.95  # our choice: a beginning or an end that so many texts of one origin share is a template
CHARACTER = re.compile(r"\S")


def normalise_text(text: str) -> str:
    """Returns the text in Unicode NFC, with one space for any run of white space and none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def split_pieces(text: str, tokens: str) -> list[str]:
    """Splits the text into units of length, each with the spaces after it.

    The units are `characters`, `jieba` words, or, for any other `tokens`, words and punctuation marks, where a CJK
    character is a word.

    >>> split_pieces("Well, 好的!", "words"), split_pieces("a b", "characters")
    (['Well', ', ', '好', '的', '!'], ['a ', 'b'])
    """
    if tokens == "jieba":
        starts: list[int] = []
        start = 0
        for word in split_chinese(text):
            if not word.isspace():
                starts.append(start)
            start += len(word)
    else:
        unit = CHARACTER if tokens == "characters" else RUNS_CJK_AND_MARKS
        starts = [match.start() for match in unit.finditer(text)]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def find_shared_start(rows: Sequence[Sequence[str]], share: float = TEMPLATE_SHARE) -> tuple[str, ...]:
    """Finds the longest beginning that at least `share` of the rows have and after which each has two pieces or more.

    >>> find_shared_start([["Answer", ": ", "a ", "b"], ["Answer", ": ", "c ", "d ", "e"]])
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


def strip_templates(row: Sequence[str], starts: set[tuple[str, ...]], ends: set[tuple[str, ...]]) -> list[str]:
    """Removes the longest template at each end, unless fewer than two pieces would be left.

    >>> strip_templates(["Answer", ": ", "a ", "b"], {("Answer", ": ")}, set())
    ['a ', 'b']
    """
    first_lengths = [len(start) for start in starts if tuple(row[: len(start)]) == start]
    last_lengths = [len(end) for end in ends if tuple(row[-len(end) :]) == end]
    first = max(first_lengths, default=0)
    last = max(last_lengths, default=0)
    kept = list(row[first : len(row) - last])
    return kept if len(kept) >= 2 else list(row)


def draw_common_length(lengths: Sequence[int], rng: np.random.Generator) -> int:
    """Draws a length from half of the shortest length up to the shortest length less one.

    Equal lengths are not changed.
    """
    shortest = min(lengths)
    if shortest == max(lengths):
        return shortest
    return int(rng.integers(-(-shortest // 2), shortest))
