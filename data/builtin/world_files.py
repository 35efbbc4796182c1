"""World files: reads the words and phrases of the built-in corpora from text files in `worlds/`.

A file has sections, each under its `[name]`. An empty line separates the blocks of a section. Each line of a block
lists alternatives, separated by "|"; a line that begins with "|" continues the line before. "#" begins a comment.
"""

import re
from pathlib import Path
from typing import TypeAlias

Block: TypeAlias = tuple[tuple[str, ...], ...]  # the alternatives of each line
Section: TypeAlias = tuple[Block, ...]

WORLDS = Path(__file__).parent / "worlds"


def read_world(name: str) -> dict[str, Section]:
    """The sections of `worlds/NAME.txt` by their names."""
    return parse_world((WORLDS / f"{name}.txt").read_text(encoding="utf-8"))


def parse_world(text: str) -> dict[str, Section]:
    r"""The sections of a world file by their names.

    >>> parse_world("# talk\n[greetings]\nhello. | hi.\nhow are you?\n| are you well?\n\ngood day.\n")
    {'greetings': ((('hello.', 'hi.'), ('how are you?', 'are you well?')), (('good day.',),))}
    """
    joined = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\n|", "|")
    _, *parts = re.split(r"^\[(.+)\]\n", joined, flags=re.MULTILINE)
    return {name: _section(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def phrases(section: Section) -> tuple[str, ...]:
    """All alternatives of a section, in order.

    >>> phrases(((("hello.", "hi."), ("how are you?",)), (("bye.",),)))
    ('hello.', 'hi.', 'how are you?', 'bye.')
    """
    return tuple(phrase for block in section for line in block for phrase in line)


def words(section: Section) -> tuple[str, ...]:
    """All words of a section, in order."""
    return tuple(" ".join(phrases(section)).split())


def table(section: Section) -> dict[str, tuple[str, ...]]:
    """The words of each line, keyed by its first word.

    >>> table(((("day monday friday",), ("time morning evening",)),))
    {'day': ('monday', 'friday'), 'time': ('morning', 'evening')}
    """
    lines = (phrase.split() for phrase in phrases(section))
    return {key: tuple(others) for key, *others in lines}


def _section(text: str) -> Section:
    blocks = (block.splitlines() for block in text.strip().split("\n\n"))
    return tuple(tuple(tuple(phrase.strip() for phrase in line.split("|")) for line in lines) for lines in blocks)
