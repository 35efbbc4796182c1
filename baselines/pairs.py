"""Pairs: a text beside each of its sources or references. All pairs of a call are scored together."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.scores import NO_TOKENS, Scores

Pair = TypeVar("Pair")
Values = NDArray[np.float64]


def score_pairs(
    examples: Sequence[Example],
    pairs_of: Callable[[Example], Sequence[Pair]],
    score: Callable[[list[Pair]], tuple[Values, Sequence[int]]],
) -> tuple[list[Values], list[int]]:
    """The values of the pairs of each example, and how many tokens each example lost.

    `score` returns a value and the number of lost tokens for each pair.
    """
    pairs = [pairs_of(example) for example in examples]
    values, lost = score([pair for several in pairs for pair in several])
    ends = np.cumsum([0, *map(len, pairs)])
    parts = [slice(start, stop) for start, stop in pairwise(ends.tolist())]
    return [values[part] for part in parts], [int(sum(lost[part])) for part in parts]


def to_quality(
    values: Sequence[Values], aggregate: Callable[[Values], float], signature: str, dropped: Sequence[int]
) -> Scores:
    """The aspect `quality`: the aggregate of each example's values; NaN with a reason for an example without values."""
    quality = [float(aggregate(each)) if len(each) else np.nan for each in values]
    return Scores({"quality": np.array(quality)}, signature, [None if len(v) else NO_TOKENS for v in values], dropped)
