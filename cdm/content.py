"""Where a dialogue says something: content words and their neighbours, found by rules.

A stand-in for the places that DEAM and CDM's AMR-Multi find in AMR graphs, whose concepts are mostly content words.
"""

import random
from collections.abc import Sequence

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from cdm.segments import Gap

WORD_STARTS = ("Ġ", "▁")  # how byte-level BPE and SentencePiece mark a token that begins a word
MOST_NEIGHBOURS = 2


def content_gap(turns: Sequence[Sequence[str]], rng: random.Random, given: int = 0) -> Gap | None:
    """A random content word with up to two words on each side; None without a content word.

    Args:
        turns: tokens as the vocabulary writes them; the first `given` turns have no gap.
        rng: chooses.

    >>> content_gap([["i"], ["Ġ", "ĠI", "Ġlike", "ĠVer", "mont"]], random.Random(0))
    Gap(turn=1, start=2, stop=5)
    """
    spans = {t: word_spans(turn) for t, turn in enumerate(turns) if t >= given}
    places = [
        (t, k)
        for t, words in spans.items()
        for k, (start, stop) in enumerate(words)
        if is_content("".join(turns[t][start:stop]))
    ]
    if not places:
        return None
    t, k = rng.choice(places)
    first = max(0, k - rng.randint(0, MOST_NEIGHBOURS))
    last = min(len(spans[t]) - 1, k + rng.randint(0, MOST_NEIGHBOURS))
    return Gap(t, spans[t][first][0], spans[t][last][1])


def word_spans(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """The tokens [start, stop) of every word.

    >>> word_spans(["hel", "lo", "Ġyou", "?"])
    [(0, 2), (2, 4)]
    """
    starts = [i for i, token in enumerate(tokens) if i == 0 or token.startswith(WORD_STARTS)]
    return list(zip(starts, [*starts[1:], len(tokens)], strict=True))


def is_content(word: str) -> bool:
    """Whether a word, as the vocabulary writes it, is none of scikit-learn's English stop words.

    >>> [is_content(word) for word in ("▁music!", "Ġthe", "Ġ42")]
    [True, False, False]
    """
    letters = word.lstrip("".join(WORD_STARTS)).strip(".,?!;:'\"").lower()
    return letters.isalpha() and len(letters) > 2 and letters not in ENGLISH_STOP_WORDS
