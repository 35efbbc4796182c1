"""The form of a poem: the number of characters of each phrase, and the mark after it (SongNet, Li et al. 2020).

A phrase ends with a punctuation mark. A line ends with a full stop and is a unit of rhyme. A generator reads the form
as three symbols for every token of the poem: the kind of the token, the number of its phrase, and how many characters
of the phrase are left.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

MARKS = "，。、！？；："  # what ends a phrase
STOPS = "。！？"  # what ends a line


class SlotKind(IntEnum):
    """The kind of a token: none (padding or prompt), a mark, a character, the last character of a phrase, the end.

    These are SongNet's symbols C, and one more for the end of the poem.
    """

    NONE = 0
    MARK = 1
    CHARACTER = 2
    FINAL = 3
    END = 4


@dataclass(frozen=True)
class Slot:
    """The position of one token in the form of a poem."""

    # SongNet's C
    kind: SlotKind
    # the number of the phrase, from 1 (SongNet's S); 0 for the end
    phrase: int
    # how many characters of the phrase are left, this one included (SongNet's P, counting down); 0 for marks
    left: int
    # the mark, where the token is one
    mark: str = ""


@dataclass(frozen=True)
class Form:
    """The phrases of a poem in order: (number of characters, mark).

    Raises ValueError without a phrase, for a phrase without characters, and for a mark that ends no phrase.
    """

    phrases: tuple[tuple[int, str], ...]

    def __post_init__(self) -> None:
        if not self.phrases:
            raise ValueError("a form needs at least one phrase")
        for length, mark in self.phrases:
            if length < 1 or mark not in MARKS or len(mark) != 1:
                raise ValueError(f"a phrase has at least one character and a mark of {MARKS}, but got {(length, mark)}")

    @classmethod
    def of(cls, text: str) -> "Form":
        """Finds the form of a poem.

        Raises ValueError for a poem without a phrase, with an empty one, or that does not end with a mark.

        >>> Form.of("春花秋月何时了，往事知多少。").phrases
        ((7, '，'), (5, '。'))
        """
        if text and text[-1] not in MARKS:
            raise ValueError(f"a poem ends with one of {MARKS}, but got {text[-10:]!r}")
        lengths = [len(phrase) for phrase in split_phrases(text)]
        return cls(tuple(zip(lengths, find_marks(text), strict=True)))

    def __len__(self) -> int:
        """The number of tokens in a poem of this form, marks included."""
        return sum(length + 1 for length, _ in self.phrases)

    def slots(self) -> list[Slot]:
        """The slots of all tokens of a poem with this form, and of its end."""
        slots: list[Slot] = []
        for number, (length, mark) in enumerate(self.phrases, start=1):
            slots += [Slot(SlotKind.CHARACTER, number, left) for left in range(length, 1, -1)]
            slots.append(Slot(SlotKind.FINAL, number, 1))
            slots.append(
                Slot(
                    SlotKind.MARK,
                    number,
                    0,
                    mark,
                )
            )
        slots.append(Slot(SlotKind.END, 0, 0))
        return slots


def split_phrases(text: str) -> list[str]:
    """Splits a poem into phrases without punctuation; the rest after the last mark counts as a phrase.

    >>> split_phrases("春花，秋月。何")
    ['春花', '秋月', '何']
    """
    *phrases, rest = re.split(f"[{MARKS}]", text)
    return [*phrases, rest] if rest else phrases


def find_marks(text: str) -> list[str]:
    """Lists the punctuation marks of a poem in order."""
    return [character for character in text if character in MARKS]


def split_lines(text: str) -> list[str]:
    """Splits a poem into lines, with their punctuation.

    >>> split_lines("春花，秋月。何时了。")
    ['春花，秋月。', '何时了。']
    """
    return re.findall(f"[^{STOPS}]*[{STOPS}]|[^{STOPS}]+", text)


def line_ends(text: str) -> list[str]:
    """Lists the last character of every line, which carries the rhyme.

    >>> line_ends("春花，秋月。何时了。")
    ['月', '了']
    """
    ends: list[str] = []
    for line in split_lines(text):
        characters = [character for character in line if character not in MARKS]
        ends += characters[-1:]
    return ends
