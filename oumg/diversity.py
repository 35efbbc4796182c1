"""Distinct-n: how little texts repeat (Li et al. 2016, "A diversity-promoting objective function", section 5)."""

import math
from collections.abc import Hashable, Sequence


def distinct_n(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """The number of different n-grams divided by that of all n-grams of the texts; in (0, 1], higher is more diverse.

    No n-gram spans two texts. The share falls with the amount of text, so compare only texts of about equal number
    and length. NaN if no text has n words.
    """
    ngrams: list[tuple[Hashable, ...]] = []
    for text in texts:
        ngrams += [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]
    return len(set(ngrams)) / len(ngrams) if ngrams else math.nan
