"""The engine of the built-in corpora: reads phrases from world files and draws different texts made of them.

A world file is a list of sections, each under its `[name]`. An empty line separates the blocks of a section. Each line
of a block lists alternatives, separated by "|"; a line that begins with "|" continues the line before. "#" begins a
comment. Slots of a phrase are names in braces; `str.format` fills them.
"""

import random
import re
import zlib
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias, TypeVar

from core.example import Example, Examples

T = TypeVar("T")
Block: TypeAlias = tuple[tuple[str, ...], ...]  # the alternatives of each line
Section: TypeAlias = tuple[Block, ...]
Texts: TypeAlias = dict[str, tuple[str, ...]]  # by section

WORLDS = Path(__file__).parent / "worlds"
RESERVED_SHARE = 8  # one text in eight is reserved for rated sets
TEXT = attrgetter("text")


def read_world(name: str) -> tuple[dict[str, Section], Texts, Texts]:
    """Reads `worlds/NAME.txt`.

    Returns its sections, the alternatives of each section, and the words of each section.
    """
    content = (WORLDS / f"{name}.txt").read_text(encoding="utf-8")
    file = parse_world(content)
    said = {section: phrases(blocks) for section, blocks in file.items()}
    words = {section: tuple(" ".join(alternatives).split()) for section, alternatives in said.items()}
    return file, said, words


def parse_world(text: str) -> dict[str, Section]:
    r"""Parses a world file: its sections by name, each a tuple of blocks, lines and alternatives.

    >>> parse_world("# talk\n[greetings]\nhello. | hi.\nhow are you?\n| are you well?\n\ngood day.\n")
    {'greetings': ((('hello.', 'hi.'), ('how are you?', 'are you well?')), (('good day.',),))}
    """
    joined = re.sub(
        r"^#.*\n",
        "",
        text,
        flags=re.MULTILINE,
    ).replace("\n|", "|")
    _, *parts = re.split(r"^\[(.+)\]\n", joined, flags=re.MULTILINE)
    return {name: _section(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _section(text: str) -> Section:
    return tuple(map(_block, text.strip().split("\n\n")))


def _block(text: str) -> Block:
    return tuple(map(_alternatives, text.splitlines()))


def _alternatives(line: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in line.split("|"))


def phrases(section: Section) -> tuple[str, ...]:
    """Lists all alternatives of a section, in order."""
    return tuple(phrase for block in section for line in block for phrase in line)


def table(section: Section) -> dict[str, tuple[str, ...]]:
    """Makes a table of a section: the other words of each line by its first word."""
    lines = (phrase.split() for phrase in phrases(section))
    return {key: tuple(others) for key, *others in lines}


def draw_facts(
    rng: random.Random,
    words: Mapping[str, Sequence[str]],
    person: str,
    **sections: str,
) -> dict[str, str]:
    """Draws the name of a person for the slot `person`, and a word of a section for each further slot.

    The pronouns fill the slots {she}, {She}, {her} (whose) and {obj} (whom).
    """
    name = rng.choice([*words["women"], *words["men"]])
    pronouns = "she She her her" if name in words["women"] else "he He his him"
    facts = dict(zip(("she", "She", "her", "obj"), pronouns.split(), strict=True))
    drawn = {slot: rng.choice(words[section]) for slot, section in sections.items()}
    return {
        person: name,
        **facts,
        **drawn,
    }


def is_reserved(text: str) -> bool:
    """Whether a text is reserved for rated sets. This depends on the text alone, so no seed uses it for training."""
    return zlib.crc32(text.encode()) % RESERVED_SHARE == 0


def draw_reserved(draw: Callable[[random.Random], T], rng: random.Random, key: Callable[[T], str]) -> Iterator[T]:
    """Yields draws without end: those whose key is reserved for rated sets."""
    return (draft for draft in map(draw, repeat(rng)) if is_reserved(key(draft)))


def distinct(values: Iterable[T], key: Callable[[T], Hashable]) -> Iterator[T]:
    """Yields the first value of each key."""
    seen: set[Hashable] = set()
    for value in values:
        if key(value) not in seen:
            seen.add(key(value))
            yield value


def collect(
    name: str,
    n: int,
    draw: Callable[[int], Example | None],
    exclude: Collection[Hashable] = (),
    key: Callable[[Example], Hashable] = TEXT,
) -> Examples:
    """Collects different examples with the ids NAME-0, NAME-1 ..., none with a key in `exclude`.

    `draw(i)` makes the i-th example, or None if its text is reserved.
    """
    collected: dict[Hashable, Example] = {}
    while len(collected) < n:
        number = len(collected)
        example = draw(number)
        if example is not None and key(example) not in exclude:
            content = (example.text, example.turns)
            collected.setdefault(content, replace(example, id=f"{name}-{number}"))
    return tuple(collected.values())
