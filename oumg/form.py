"""The form of a poem: how many characters each phrase has and which mark follows it (SongNet, Li et al. 2020).

A phrase ends with a mark; a line ends with a full stop and is a unit of rhyme. What a generator is told of the form is
written in three symbols for every token that it has to write: its kind, its phrase, and how many characters of its
phrase are still to come.
"""

from dataclasses import dataclass
from enum import IntEnum

MARKS = "，。、！？；："  # what ends a phrase
STOPS = "。！？"  # what ends a line


class Kind(IntEnum):
    """What is to be written: nothing (padding or prompt), a mark, a character, the last character of a phrase, the end.

    The first four are SongNet's C, with the end of the poem beside them.
    """

    NONE = 0
    MARK = 1
    CHARACTER = 2
    FINAL = 3
    END = 4


@dataclass(frozen=True)
class Slot:
    """One token to be written.

    Attributes:
        kind: what it is.
        phrase: the number of its phrase, from 1 (S); 0 for the end.
        left: characters of the phrase that are still to come, itself included (P, counting down); 0 for marks.
        mark: the mark itself, where it is one.
    """

    kind: Kind
    phrase: int
    left: int
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
        """The form that a poem has.

        Raises ValueError for a poem without a phrase, with an empty one, or that does not end with a mark.

        >>> Form.of("春花秋月何时了，往事知多少。").phrases
        ((7, '，'), (5, '。'))
        """
        phrases: list[tuple[int, str]] = []
        length = 0
        for character in text:
            if character in MARKS:
                phrases.append((length, character))
                length = 0
            else:
                length += 1
        if length:
            raise ValueError(f"a poem ends with one of {MARKS}, but got {text[-10:]!r}")
        return cls(tuple(phrases))

    def __len__(self) -> int:
        """How many tokens a poem of this form has, marks included."""
        return sum(length + 1 for length, _ in self.phrases)

    def slots(self) -> list[Slot]:
        """Every token to be written and the end."""
        found: list[Slot] = []
        for number, (length, mark) in enumerate(self.phrases, start=1):
            found += [Slot(Kind.FINAL if left == 1 else Kind.CHARACTER, number, left) for left in range(length, 0, -1)]
            found.append(Slot(Kind.MARK, number, 0, mark))
        return [*found, Slot(Kind.END, 0, 0)]


def phrases(text: str) -> list[str]:
    """The phrases of a poem without their marks; what follows the last mark is one too.

    >>> phrases("春花，秋月。何")
    ['春花', '秋月', '何']
    """
    found = [""]
    for character in text:
        if character in MARKS:
            found.append("")
        else:
            found[-1] += character
    return found if found[-1] else found[:-1]


def lines(text: str) -> list[str]:
    """The lines of a poem, each with its marks.

    >>> lines("春花，秋月。何时了。")
    ['春花，秋月。', '何时了。']
    """
    found = [""]
    for character in text:
        found[-1] += character
        if character in STOPS:
            found.append("")
    return found if found[-1] else found[:-1]


def line_finals(text: str) -> list[str]:
    """The last character of every line: where it rhymes.

    >>> line_finals("春花，秋月。何时了。")
    ['月', '了']
    """
    bare = ["".join(c for c in line if c not in MARKS) for line in lines(text)]
    return [line[-1] for line in bare if line]
