"""The notation of topics: tables of facts, and blocks of phrases with slots for them.

A block is a run of turns that belong together (question and answer, statement and reaction, offer and acceptance), said
by the two speakers in turn. It is written with one turn per line, a paraphrase of a turn on the next line after "|",
and an empty line between blocks. Any paraphrase of a turn goes with any of the next. Slots name facts as the speaker of
the turn sees them: `{my.food}`, `{your.food}`, `{our.day}`. A plus, as in `{+my.food}`, marks a fact that must be news
at this point; without it, the fact must be known or follow from a known key.
"""

from dataclasses import dataclass
from typing import TypeAlias

Block: TypeAlias = tuple[tuple[str, ...], ...]  # per turn its paraphrases


@dataclass(frozen=True)
class Topic:
    """What there is to say about one topic.

    Attributes:
        kinds: the kinds of fact in the table, the key first.
        rows: the facts that belong together, in the order of the kinds.
        blocks: what can be said between opening and closing.
        closings: last blocks that take up the topic.
    """

    kinds: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    blocks: tuple[Block, ...]
    closings: tuple[Block, ...]


def rows(text: str) -> tuple[tuple[str, ...], ...]:
    """A table: a line per row, blanks between its facts."""
    return tuple(tuple(line.split()) for line in text.strip().splitlines())


def blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a text; an empty line stands between two.

    >>> blocks("hello.\\n| hi.\\nhow are you?\\n\\ngoodbye.")
    ((('hello.', 'hi.'), ('how are you?',)), (('goodbye.',),))
    """
    return tuple(_block(block) for block in text.strip().split("\n\n"))


def _block(text: str) -> Block:
    turns: list[list[str]] = []
    for line in text.splitlines():
        phrase = line.strip()
        if phrase.startswith("|"):
            turns[-1].append(phrase.removeprefix("|").strip())
        else:
            turns.append([phrase])
    return tuple(tuple(turn) for turn in turns)
