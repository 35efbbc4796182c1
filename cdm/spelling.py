"""Spelling: one way of writing for sets of dialogues that are lower-cased, tokenised or neither."""

import re
from collections.abc import Sequence
from typing import Literal

Spelling = Literal["as_is", "normal"]

STRAIGHT = str.maketrans("‘’“”", "''\"\"")


def normal_spelling(text: str) -> str:
    """The text in lower case, with straight quotes and without the blanks that tokenisation puts around punctuation.

    A sentence that follows its predecessor without a blank gets one. Spelling a text twice changes nothing more.

    >>> normal_spelling("It ' s a scale.Airmail , please ! I’m ( not ) sure .")
    "it's a scale. airmail, please! i'm (not) sure."
    """
    text = " ".join(text.translate(STRAIGHT).split())
    text = re.sub(r"(?<=\w) ?' ?(?=(?:s|m|re|ve|ll|d|t)\b)", "'", text, flags=re.IGNORECASE)
    text = re.sub(r" (?=[.,!?;:)\]]|n't\b)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"(?<=[(\[]) ", "", text)
    return re.sub(r"(?<=[a-z][.!?])(?=[A-Z])", " ", text).lower()


def spell(dialogues: Sequence[Sequence[str]], spelling: Spelling) -> list[tuple[str, ...]]:
    """The dialogues in a spelling; `as_is` leaves them alone.

    >>> spell([("Hi !", "I'm fine .")], "normal")
    [('hi!', "i'm fine.")]
    """
    if spelling == "as_is":
        return [tuple(turns) for turns in dialogues]
    return [tuple(normal_spelling(turn) for turn in turns) for turns in dialogues]
