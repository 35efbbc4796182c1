"""Adversaries: bad candidates that share their words with a good text (MARS, Table 4)."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from core.example import Example
from data.sentences import split_at_marks

MARKS = r"!-&(-,./:-@\[-`{-~"
# A word is the text between blanks without the marks around it. 10,000 and 's stay whole: BLEU's tokenizer (13a) must
# split words and marks in the same way at every position. [FEMALE] and &amp; keep their marks.
WORD = re.compile(rf"\S*&\w+;\S*|(?<!\S)\[[A-Z]+\](?!\S)|[^\s{MARKS}](?:\S*[^\s{MARKS}])?")


def apply_reorder(examples: Sequence[Example], seed: int) -> tuple[Example, ...]:
    """Reorder: exchanges half of the words of each text among themselves; marks and blanks stay.

    The result for an example does not depend on other examples. The words stay the same, and so does BLEU-1. A text
    with fewer than two different words, or without blanks between them, stays as it is.

    >>> apply_reorder([Example("a", text="no, yes!")], seed=0)[0].text
    'yes, no!'
    """
    return tuple(
        replace(example, text=_shuffle(example.text, random.Random(f"{seed} {example.id}"))) for example in examples
    )


def apply_retrieve(examples: Sequence[Example], seed: int) -> tuple[Example, ...]:
    """Retrieve: replaces each text by a random sentence of its context.

    Raises ValueError for an example without context.
    """
    found: list[Example] = []
    for example in examples:
        if not example.context or not example.context.strip():
            raise ValueError(f"Retrieve needs a context, but {example.id!r} has none")
        sentence = random.Random(f"{seed} {example.id}").choice(split_at_marks(example.context))
        found.append(replace(example, text=sentence))
    return tuple(found)


def _shuffle(text: str, rng: random.Random) -> str:
    spans = [match.span() for match in WORD.finditer(text) if any(map(str.isalnum, match.group()))]
    words = [text[start:end] for start, end in spans]
    if len(set(words)) < 2:
        return text
    half = max(2, len(words) // 2)
    while True:
        places = rng.sample(range(len(words)), half)
        moved = list(words)
        for place, source in zip(places, rng.sample(places, half), strict=True):
            moved[place] = words[source]
        if moved != words:
            break
    pieces: list[str] = []
    at = 0
    for (start, end), word in zip(spans, moved, strict=True):
        pieces += [text[at:start], word]
        at = end
    return "".join(pieces) + text[at:]
