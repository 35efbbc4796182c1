"""The grammar of the built-in dialogues: from the world and its phrases to annotated dialogues."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from data.builtin.damage import Fact, Turns
from data.builtin.dialogue_world import CLOSINGS, LISTS, OPENINGS, TOPICS
from data.builtin.world_files import Block

MOST_TURNS = 12
RECALL_WEIGHT = 4  # how much more often a block is chosen if it takes up a fact that was mentioned
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
    """A dialogue of 6 to 12 turns: an opening, blocks about one topic, each at most once, and a closing."""
    name = rng.choice(tuple(TOPICS))
    topic = TOPICS[name]
    values: dict[FactKey, str] = {(BOTH, "topic"): name}
    for owner, row in enumerate(rng.sample(topic.rows, 2)):
        values.update({(owner, kind): value for kind, value in zip(topic.kinds, row, strict=True)})
    for kind, options in LISTS.items():
        values.update({(owner, kind): value for owner, value in enumerate(rng.sample(options, 3))})

    turns: list[str] = []
    facts: list[tuple[Fact, ...]] = []
    mentioned: set[FactKey] = set()
    known: set[FactKey] = {(BOTH, "topic")}  # what was mentioned or follows from it

    def add_block(blocks: Sequence[Block], room: int = MOST_TURNS) -> Block:
        """Adds a random block of at most `room` turns whose new facts are new here and whose other facts are known.

        Blocks that recall a fact are preferred, because few of them fit.
        """
        scripts = [(block, _script(block, topic.kinds, len(turns) % 2)) for block in blocks if len(block) <= room]
        fitting = [(b, s) for b, s in scripts if s.news.isdisjoint(mentioned) and s.needs <= known]
        ((block, script),) = rng.choices(fitting, [RECALL_WEIGHT if s.recalls else 1 for _, s in fitting])
        for paraphrases in script.turns:
            text, found = _fill(rng.choice(paraphrases), values)
            turns.append(text)
            facts.append(found)
            for fact in found:
                mentioned.add((fact.owner, fact.kind))
                known.add((fact.owner, fact.kind))
                if fact.kind == topic.kinds[0]:
                    known.update((fact.owner, kind) for kind in topic.kinds)
        return block

    add_block(OPENINGS)
    unused = list(topic.blocks)
    goal = rng.randint(4, MOST_TURNS - 3)  # a block has two or three turns, a closing two
    while len(turns) < goal:
        unused.remove(add_block(unused, room=MOST_TURNS - 2 - len(turns)))
    body = range(2, len(turns))
    add_block(topic.closings if rng.random() < TOPIC_CLOSINGS else CLOSINGS)
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
class _Script:
    """A block as one of the speakers begins it: per turn its paraphrases; the facts that must be new, and known.

    It `recalls` if no key implies one of the known facts, so that a turn must have mentioned it.
    """

    turns: tuple[tuple[_Phrase, ...], ...]
    news: frozenset[FactKey]
    needs: frozenset[FactKey]
    recalls: bool


@cache
def _script(block: Block, kinds: tuple[str, ...], starter: int) -> _Script:
    """The block as `starter` begins it, among facts of these kinds, the key first."""
    turns: list[tuple[_Phrase, ...]] = []
    news: set[FactKey] = set()
    needs: set[FactKey] = set()
    mentioned: set[FactKey] = set()  # by every paraphrase of the turns so far
    for i, turn in enumerate(block):
        phrases = tuple(tuple(_token(text, (starter + i) % 2) for text in phrase.split()) for phrase in turn)
        for token in (token for phrase in phrases for token in phrase):
            if token.fact is not None and token.fact not in mentioned:
                owner, kind = token.fact
                (news if token.is_news else needs).add(token.fact)
                if kind in kinds[1:] and (owner, kinds[0]) not in mentioned:
                    needs.add((owner, kinds[0]))  # the cat is mentioned before its food
        mentioned |= set.intersection(*({token.fact for token in phrase if token.fact} for phrase in phrases))
        turns.append(phrases)
    needs -= news
    return _Script(tuple(turns), frozenset(news), frozenset(needs), recalls=any(kind in LISTS for _, kind in needs))


def _token(text: str, speaker: int) -> _Token:
    slot = _SLOT.fullmatch(text)
    if slot is None:
        return _Token(text)
    before, plus, whose, kind, after = slot.groups()
    owner = {"my": speaker, "your": 1 - speaker, "our": BOTH}[whose]
    return _Token(before, (owner, kind), bool(plus), after)


def _fill(phrase: _Phrase, values: Mapping[FactKey, str]) -> tuple[str, tuple[Fact, ...]]:
    """The text of a phrase, and the facts that it mentions."""
    text = " ".join(token.text + (values[token.fact] + token.after if token.fact else "") for token in phrase)
    facts = (Fact(*token.fact, values[token.fact], i) for i, token in enumerate(phrase) if token.fact)
    return text, tuple(facts)
