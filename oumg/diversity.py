"""Distinct-n: how little texts repeat (Li et al. 2016, "A diversity-promoting objective function", section 5)."""

import math
from collections.abc import Hashable, Iterator, Sequence


def ngrams(words: Sequence[Hashable], n: int) -> Iterator[tuple[Hashable, ...]]:
    """Every run of n words, in order; none of a text that is shorter.

    >>> list(ngrams("abc", 2))
    [('a', 'b'), ('b', 'c')]
    """
    return (tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def distinct(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Different n-grams of all texts together, as a share of their n-grams; in (0, 1], higher is more varied.

    No n-gram reaches from one text into the next. The more there is to read, the lower the share: compare only what is
    about equally long. NaN where no text has n words.

    >>> distinct([["a", "b", "a"], ["a", "b"]], 1), distinct([["a", "b", "a"], ["a", "b"]], 2)
    (0.4, 0.6666666666666666)

    Raises ValueError for n below 1.
    """
    if n < 1:
        raise ValueError(f"an n-gram has at least 1 word, but n is {n}")
    total = sum(max(0, len(text) - n + 1) for text in texts)
    return len({gram for text in texts for gram in ngrams(text, n)}) / total if total else math.nan
