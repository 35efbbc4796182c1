"""Distinct-n: how little texts repeat themselves (Li et al. 2016, "A diversity-promoting objective function")."""

import math
from collections.abc import Hashable, Sequence


def distinct_n(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Divides the number of different n-grams by the number of all n-grams; in (0, 1], higher is more diverse.

    No n-gram spans two texts. The share falls with the amount of text, so compare only texts of about equal number and
    length. NaN if no text has n words.
    """
    ngrams: list[tuple[Hashable, ...]] = []
    for text in texts:
        ngrams += [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]
    return len(set(ngrams)) / len(ngrams) if ngrams else math.nan
