"""The world of the built-in dialogues: what is true in it, and the phrases in which two people talk about it.

`worlds/dialogues/small_talk.txt` says how a topic is written and lists the topics, one file each.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from data.builtin.world_files import Block, read_world, table, words


@dataclass(frozen=True)
class Topic:
    """What there is to say about one topic.

    Attributes:
        kinds: the kinds of fact in the table; the key, from which the others follow, comes first.
        rows: facts that belong together, in the order of the kinds. Each speaker has one row.
        blocks: what can be said between opening and closing.
        closings: last blocks that take up the topic.
    """

    kinds: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    blocks: tuple[Block, ...]
    closings: tuple[Block, ...]


def read_topic(name: str) -> Topic:
    """The topic of `worlds/dialogues/NAME.txt`."""
    world = read_world(f"dialogues/{name}")
    kinds, *rows = ((key, *others) for key, others in table(world["facts"]).items())
    return Topic(kinds, tuple(rows), world["blocks"], world["closings"])


SMALL_TALK = read_world("dialogues/small_talk")
OPENINGS, CLOSINGS = SMALL_TALK["openings"], SMALL_TALK["closings"]
TOPICS: Mapping[str, Topic] = {name: read_topic(name) for name in words(SMALL_TALK["topics"])}
LISTS = table(SMALL_TALK["lists"])  # the values of facts that no key implies, by kind
