"""The grammar of the built-in dialogues: from the world and its phrases to annotated dialogues."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from data.builtin.damage import Fact, Turns
from data.builtin.dialogue_world import CLOSINGS, LISTS, OPENINGS, TOPICS, Block

MOST_TURNS = 12
RECALL_WEIGHT = 4  # how much more often than another a block is chosen that takes up a told fact
TOPIC_CLOSINGS = 0.7  # the share of closings that take up the topic
BOTH = 2  # the owner of a fact that the speakers share

FactKey: TypeAlias = tuple[int, str]  # owner and kind

_SLOT = re.compile(r"(.*)\{(\+?)(my|your|our)\.(\w+)\}(.*)")


@dataclass(frozen=True)
class Dialogue:
    """A dialogue with what is known about its turns.

    Attributes:
        topic: a key of `TOPICS`.
        turns: the text.
        facts: the facts that each turn mentions.
        body: the indices of the turns between opening and closing.
    """

    topic: str
    turns: Turns
    facts: tuple[tuple[Fact, ...], ...]
    body: range


def random_dialogue(rng: random.Random) -> Dialogue:
    """A dialogue of 6 to 12 turns: an opening, blocks about one topic, each once, and a closing."""
    name = rng.choice(tuple(TOPICS))
    topic = TOPICS[name]
    values: dict[FactKey, str] = {(BOTH, "topic"): name}
    for owner, row in enumerate(rng.sample(topic.rows, 2)):
        values.update({(owner, kind): value for kind, value in zip(topic.kinds, row, strict=True)})
    for kind, options in LISTS.items():
        values.update({(owner, kind): value for owner, value in enumerate(rng.sample(options, 3))})

    turns: list[str] = []
    facts: list[tuple[Fact, ...]] = []
    said: set[FactKey] = set()
    clear: set[FactKey] = {(BOTH, "topic")}  # what was said or follows from it

    def say(blocks: Sequence[_Block], room: int = MOST_TURNS) -> _Block:
        """A random block that fits here, in at most `room` turns: its news is news, and all else in it is clear.

        Blocks that take up what a speaker told are preferred: they fit seldom.
        """
        starter = len(turns) % 2
        ways = [block.by_starter[starter] for block in blocks]
        fitting = [
            i
            for i, way in enumerate(ways)
            if len(way.turns) <= room and way.news.isdisjoint(said) and way.needs <= clear
        ]
        (i,) = rng.choices(fitting, [RECALL_WEIGHT if ways[i].recalls else 1 for i in fitting])
        for paraphrases in ways[i].turns:
            text, mentioned = _filled(rng.choice(paraphrases), values)
            turns.append(text)
            facts.append(mentioned)
            for fact in mentioned:
                said.add((fact.owner, fact.kind))
                clear.add((fact.owner, fact.kind))
                if fact.kind == topic.kinds[0]:
                    clear.update((fact.owner, kind) for kind in topic.kinds)
        return blocks[i]

    say(_parsed(OPENINGS, topic.kinds))
    unsaid = list(_parsed(topic.blocks, topic.kinds))
    goal = rng.randint(4, MOST_TURNS - 3)  # a block has two or three turns, a closing two
    while len(turns) < goal:
        unsaid.remove(say(unsaid, room=MOST_TURNS - 2 - len(turns)))
    body = range(2, len(turns))
    say(_parsed(topic.closings if rng.random() < TOPIC_CLOSINGS else CLOSINGS, topic.kinds))
    return Dialogue(name, tuple(turns), tuple(facts), body)


@cache
def fact_values() -> Mapping[str, tuple[str, ...]]:
    """All values that a fact of a kind may have."""
    columns = {
        kind: tuple(dict.fromkeys(row[column] for row in topic.rows))
        for topic in TOPICS.values()
        for column, kind in enumerate(topic.kinds)
    }
    return {"topic": tuple(TOPICS), **LISTS, **columns}


@dataclass(frozen=True)
class _Token:
    """A word of a phrase with its punctuation, or a slot: then `fact` comes between `text` and `after`."""

    text: str
    fact: FactKey | None = None
    is_news: bool = False
    after: str = ""


_Phrase: TypeAlias = tuple[_Token, ...]


@dataclass(frozen=True)
class _Way:
    """A block for one starter: per turn its paraphrases; the facts that must be news, and those that must be clear.

    It `recalls` if one of these follows from nothing, so that somebody has told it.
    """

    turns: tuple[tuple[_Phrase, ...], ...]
    news: frozenset[FactKey]
    needs: frozenset[FactKey]
    recalls: bool


@dataclass(frozen=True, eq=False)
class _Block:
    by_starter: tuple[_Way, _Way]


@cache
def _parsed(blocks: tuple[Block, ...], table: tuple[str, ...]) -> tuple[_Block, ...]:
    return tuple(_Block((_way(block, table, 0), _way(block, table, 1))) for block in blocks)


def _way(block: Block, table: tuple[str, ...], starter: int) -> _Way:
    turns: list[tuple[_Phrase, ...]] = []
    news: set[FactKey] = set()
    needs: set[FactKey] = set()
    said: set[FactKey] = set()  # what every paraphrase of the turns so far mentions
    for i, turn in enumerate(block):
        speaker = (starter + i) % 2
        phrases = tuple(tuple(_token(text, speaker) for text in phrase.split()) for phrase in turn)
        for token in (token for phrase in phrases for token in phrase):
            if token.fact is not None and token.fact not in said:
                owner, kind = token.fact
                (news if token.is_news else needs).add(token.fact)
                if kind in table[1:] and (owner, table[0]) not in said:
                    needs.add((owner, table[0]))  # nobody speaks of the fish before the cat
        said |= set.intersection(*({token.fact for token in phrase if token.fact} for phrase in phrases))
        turns.append(phrases)
    needs -= news
    return _Way(tuple(turns), frozenset(news), frozenset(needs), recalls=any(kind in LISTS for _, kind in needs))


def _token(text: str, speaker: int) -> _Token:
    slot = _SLOT.fullmatch(text)
    if slot is None:
        return _Token(text)
    before, plus, whose, kind, after = slot.groups()
    owner = {"my": speaker, "your": 1 - speaker, "our": BOTH}[whose]
    return _Token(before, (owner, kind), bool(plus), after)


def _filled(phrase: _Phrase, values: Mapping[FactKey, str]) -> tuple[str, tuple[Fact, ...]]:
    words: list[str] = []
    facts: list[Fact] = []
    for position, token in enumerate(phrase):
        if token.fact is None:
            words.append(token.text)
        else:
            value = values[token.fact]
            words.append(token.text + value + token.after)
            facts.append(Fact(*token.fact, value, position))
    return " ".join(words), tuple(facts)
