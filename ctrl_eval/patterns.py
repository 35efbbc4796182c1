"""Pattern functions turn a text into gaps to be filled (CTRLEval, Eq. 2-3, 9-10, 12-13). They need no model."""

from collections.abc import Sequence
from dataclasses import dataclass

from ctrl_eval.prompts import MASK, TEXT


@dataclass(frozen=True)
class Pattern:
    """A source with a gap between `before` and `after`, and the target that belongs there."""

    before: str
    target: str
    after: str


def coherence_patterns(sentences: Sequence[str]) -> list[Pattern]:
    """Makes the patterns of coherence (f and g, Eq. 2-3): each sentence is removed in turn and becomes the target.

    A space separates the mask from a neighbouring sentence. A text of one sentence leaves only the mask.

    >>> coherence_patterns(["One.", "Two."])[1]
    Pattern(before='One. ', target='Two.', after='')
    """
    patterns: list[Pattern] = []
    for j, sentence in enumerate(sentences):
        before = " ".join([*sentences[:j], ""])
        after = " ".join(["", *sentences[j + 1 :]])
        patterns.append(Pattern(before, sentence, after))
    return patterns


def consistency_patterns(prefix: str, text: str) -> list[Pattern]:
    """Makes the patterns of consistency (f and g, Eq. 9-10): the rest is the target after the prefix, and vice versa.

    >>> consistency_patterns("The book", "The book is new.")
    [Pattern(before='The book ', target='is new.', after=''), Pattern(before='', target='The book', after=' is new.')]

    Raises ValueError if the prefix does not begin the text, or is the whole text.
    """
    if not text.startswith(prefix):
        raise ValueError(f"the prefix must begin the text, but {prefix!r} does not begin {text[:60]!r}")
    rest = text[len(prefix) :].strip()
    if not prefix.strip() or not rest:
        raise ValueError(f"consistency needs a prefix and text after it, but got {prefix!r} and {rest!r}")
    return [Pattern(f"{prefix} ", rest, ""), Pattern("", prefix, f" {rest}")]


def relevance_pattern(prompt: str, text: str) -> Pattern:
    """Makes the pattern of attribute relevance (f, Eq. 12): the prompt with the text inserted; targets are label words.

    >>> relevance_pattern("<text> It was <mask>.", "Nice.")
    Pattern(before='Nice. It was ', target='', after='.')
    """
    before, after = prompt.split(MASK)
    return Pattern(before.replace(TEXT, text), "", after.replace(TEXT, text))
