"""Adversaries: candidates that share their words with a good text and are bad (MARS, Table 4)."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from core.example import Example
from data.sentences import split_at_marks

MARKS = r"!-&(-,./:-@\[-`{-~"
# What stands between blanks, without the marks around it: 10,000 and 's are whole, so that BLEU's tokenizer (13a) makes
# the same of them wherever they stand, and of the marks too. [FEMALE] and &amp; keep their marks.
WORD = re.compile(rf"\S*&\w+;\S*|(?<!\S)\[[A-Z]+\](?!\S)|[^\s{MARKS}](?:\S*[^\s{MARKS}])?")


def reordered(examples: Sequence[Example], seed: int) -> tuple[Example, ...]:
    """Reorder: half of the words of each text change places among themselves; marks and blanks stay.

    Every example is shuffled by itself, whatever stands beside it. The words stay the same, and so does BLEU-1. A text
    whose words cannot be shuffled (fewer than two different ones, or no blanks between them) stays as it is.

    >>> reordered([Example("a", text="no, yes!")], seed=0)[0].text
    'yes, no!'
    """
    return tuple(
        replace(example, text=_shuffled(example.text, random.Random(f"{seed} {example.id}"))) for example in examples
    )


def retrieved(examples: Sequence[Example], seed: int) -> tuple[Example, ...]:
    """Retrieve: a sentence of the context takes the place of each text, each drawn by itself.

    Raises ValueError for an example without context.
    """
    found: list[Example] = []
    for example in examples:
        if not example.context or not example.context.strip():
            raise ValueError(f"a sentence is drawn from the context, but {example.id!r} has none")
        sentence = random.Random(f"{seed} {example.id}").choice(split_at_marks(example.context))
        found.append(replace(example, text=sentence))
    return tuple(found)


def _shuffled(text: str, rng: random.Random) -> str:
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
