"""Built-in dialogues: synthetic English small talk of two speakers, and a rated set of damaged ones.

A dialogue has an opening, some blocks about one topic, and a closing. What the speakers say agrees with what they said
before and with the world of `dialogue_world`, so that a fault can be seen in the text alone.
"""

import random
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import TypeAlias

from data.builtin.damage import (
    Fact,
    Turns,
    by_word_count,
    contradicted_fact,
    foreign_turn,
    garbled_words,
    repeated_turn,
    swapped_turns,
)
from data.builtin.dialogue_world import CLOSINGS, LISTS, OPENINGS, TOPICS, Block
from data.example import Example

LEVELS = 5
BOTH = 2  # the owner of a fact that the speakers share
RESERVED_SHARE = 8  # one possible dialogue in so many is kept for the rated set
LENDERS = 300  # how many further dialogues lend their turns and words to the damages

_SLOT = re.compile(r"(.*)\{(\+?)(my|your|our)\.(\w+)\}(.*)")
_Ref: TypeAlias = tuple[int, str]  # owner and kind of a fact


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


def generate_dialogues(n: int, seed: int, exclude: Collection[Turns] = ()) -> tuple[Example, ...]:
    """`n` different dialogues of 6 to 12 turns, the same for the same seed everywhere.

    None of them is ever a clean dialogue of `rated_dialogues`, whatever the seeds, and none is in `exclude`. With a
    larger `n` the first dialogues stay the same.
    """
    dialogues = islice(_dialogues(random.Random(seed), reserved=False, exclude=exclude), n)
    return tuple(Example(f"builtin-{seed}-{i}", turns=d.turns) for i, d in enumerate(dialogues))


def rated_dialogues(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """`n` dialogues of known quality: five levels of damage in equal shares, rated 1 - level / 4.

    The level is the number of damages, each of another kind (see `data.builtin.damage`) and on other turns; `label`
    joins the kinds by "+", and `group` names the clean dialogue. A damage keeps the number of words and of turns, and
    the levels are dealt out among dialogues of like length, so that length does not tell the quality.
    """
    rng = random.Random(seed)
    dialogues = _dialogues(rng, reserved=True)
    clean = list(islice(dialogues, n))
    lenders = list(islice(dialogues, LENDERS))
    vocabulary = [word.strip(".,?") for d in lenders for turn in d.turns for word in turn.split()]
    pools = {topic: by_word_count(_lent(lenders, topic)) for topic in TOPICS}
    levels = _dealt_levels([sum(len(turn.split()) for turn in d.turns) for d in clean], rng)
    rated: list[Example] = []
    for i, (dialogue, level) in enumerate(zip(clean, levels, strict=True)):
        turns, kinds = _damaged(dialogue, level, rng, pools[dialogue.topic], vocabulary)
        rated.append(
            Example(
                f"builtin-rated-{seed}-{i}",
                turns=turns,
                label="+".join(kinds) or None,
                group=f"builtin-clean-{seed}-{i}",
                ratings={"quality": 1 - level / (LEVELS - 1)},
            )
        )
    return tuple(rated)


def _dialogues(rng: random.Random, reserved: bool, exclude: Collection[Turns] = ()) -> Iterator[Dialogue]:
    """Different dialogues without end, all of the reserved part of the possible ones or none."""
    seen = set(exclude)
    while True:
        dialogue = _dialogue(rng)
        if dialogue.turns not in seen and _is_reserved(dialogue.turns) == reserved:
            seen.add(dialogue.turns)
            yield dialogue


def _is_reserved(turns: Turns) -> bool:
    """Whether a dialogue belongs to the rated set: a property of its text alone, so that no seed can mix the two."""
    return zlib.crc32("\n".join(turns).encode()) % RESERVED_SHARE == 0


def _dialogue(rng: random.Random) -> Dialogue:
    name = rng.choice(tuple(TOPICS))
    topic = TOPICS[name]
    key = topic.kinds[0]
    values: dict[_Ref, str] = {(BOTH, "topic"): name}
    for owner, row in enumerate(rng.sample(topic.rows, 2)):
        values.update({(owner, kind): value for kind, value in zip(topic.kinds, row, strict=True)})
    for kind, options in LISTS.items():
        for owner, value in enumerate(rng.sample(options, 3)):
            values[owner, kind] = value

    known: set[_Ref] = {(BOTH, "topic")}

    def fits(block: _Block, starter: int) -> bool:
        """Whether the block's news is news, and all else in it is known or follows from a known key."""
        news = [(_absolute(owner, starter), kind) for owner, kind in block.news]
        needs = [(_absolute(owner, starter), kind) for owner, kind in block.needs]
        return not any(ref in known for ref in news) and all(
            (owner, kind) in known or (kind in topic.kinds and (owner, key) in known) for owner, kind in needs
        )

    turns: list[str] = []
    facts: list[tuple[Fact, ...]] = []

    def say(blocks: Sequence[_Block]) -> _Block:
        starter = len(turns) % 2
        block = rng.choice([block for block in blocks if fits(block, starter)])
        for paraphrases in block.turns:
            text, mentioned = _filled(rng.choice(paraphrases), starter, values)
            turns.append(text)
            facts.append(mentioned)
            known.update((fact.owner, fact.kind) for fact in mentioned)
        return block

    say(_parsed(OPENINGS))
    goal = rng.randint(4, 9)  # a block has two or three turns, so the body ends at the goal or one turn after it
    unsaid = list(_parsed(topic.blocks))
    while len(turns) < goal:
        unsaid.remove(say(unsaid))
    body = range(2, len(turns))
    say(_parsed(topic.closings + CLOSINGS))
    return Dialogue(name, tuple(turns), tuple(facts), body)


# ---- phrases -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Token:
    """A word of a phrase with its punctuation, or a slot for one: the fact `ref`, owned by 0 for the block's starter."""

    text: str
    ref: _Ref | None = None
    news: bool = False
    after: str = ""


@dataclass(frozen=True)
class _Block:
    """A parsed block: per turn its paraphrases; the facts that must be news, and those that must be known before."""

    turns: tuple[tuple[tuple[_Token, ...], ...], ...]
    news: tuple[_Ref, ...]
    needs: tuple[_Ref, ...]


@cache
def _parsed(blocks: tuple[Block, ...]) -> tuple[_Block, ...]:
    return tuple(_parsed_block(block) for block in blocks)


def _parsed_block(block: Block) -> _Block:
    turns: list[tuple[tuple[_Token, ...], ...]] = []
    news: dict[_Ref, None] = {}
    needs: dict[_Ref, None] = {}
    said: set[_Ref] = set()  # what all paraphrases of the turns so far mention
    for i, turn in enumerate(block):
        paraphrases = tuple(tuple(_token(text, speaker=i % 2) for text in way.split()) for way in turn.split(" | "))
        for tokens in paraphrases:
            for token in tokens:
                if token.ref is not None and token.ref not in said:
                    (news if token.news else needs)[token.ref] = None
        said.update(set.intersection(*({t.ref for t in tokens if t.ref is not None} for tokens in paraphrases)))
        turns.append(paraphrases)
    return _Block(tuple(turns), tuple(news), tuple(ref for ref in needs if ref not in news))


def _token(text: str, speaker: int) -> _Token:
    slot = _SLOT.fullmatch(text)
    if slot is None:
        return _Token(text)
    before, plus, whose, kind, after = slot.groups()
    owner = {"my": speaker, "your": 1 - speaker, "our": BOTH}[whose]
    return _Token(before, (owner, kind), bool(plus), after)


def _absolute(owner: int, starter: int) -> int:
    return owner if owner == BOTH else owner ^ starter


def _filled(tokens: Sequence[_Token], starter: int, values: Mapping[_Ref, str]) -> tuple[str, tuple[Fact, ...]]:
    words: list[str] = []
    facts: list[Fact] = []
    for position, token in enumerate(tokens):
        if token.ref is None:
            words.append(token.text)
        else:
            owner, kind = _absolute(token.ref[0], starter), token.ref[1]
            value = values[owner, kind]
            words.append(token.text + value + token.after)
            facts.append(Fact(owner, kind, value, position))
    return " ".join(words), tuple(facts)


# ---- the rated set -------------------------------------------------------------------------------------------------


def _dealt_levels(word_counts: Sequence[int], rng: random.Random) -> list[int]:
    """A level of damage for each dialogue: every level once among each five dialogues next in length."""
    by_length = sorted(range(len(word_counts)), key=word_counts.__getitem__)
    levels = [0] * len(word_counts)
    for start in range(0, len(by_length), LEVELS):
        block = by_length[start : start + LEVELS]
        for i, level in zip(block, rng.sample(range(LEVELS), len(block)), strict=True):
            levels[i] = level
    return levels


def _lent(lenders: Sequence[Dialogue], topic: str) -> Iterator[str]:
    """The turns of dialogues on other topics that speak of their topic."""
    for lender in lenders:
        if lender.topic != topic:
            kinds = TOPICS[lender.topic].kinds
            yield from (lender.turns[i] for i in lender.body if any(fact.kind in kinds for fact in lender.facts[i]))


@cache
def _values() -> Mapping[str, tuple[str, ...]]:
    """All values that a fact of a kind may have."""
    columns = {
        kind: tuple(dict.fromkeys(row[column] for row in topic.rows))
        for topic in TOPICS.values()
        for column, kind in enumerate(topic.kinds)
    }
    return {"topic": tuple(TOPICS), **LISTS, **columns}


def _damaged(
    dialogue: Dialogue,
    level: int,
    rng: random.Random,
    pool: Mapping[int, Sequence[str]],
    vocabulary: Sequence[str],
) -> tuple[Turns, tuple[str, ...]]:
    """The turns with `level` damages of different kinds, and the kinds.

    Kinds are drawn until they fit the dialogue: each on other turns, a copied turn still there beside its copy, a
    contradicted fact still mentioned elsewhere, and as many words as before.
    """
    # A swap comes first, as it needs most room, and a contradiction last, as it needs a second turn left as it was.
    damages: Mapping[str, Callable[..., Turns | None]] = {
        "swapped_turns": swapped_turns,
        "foreign_turn": partial(foreign_turn, pool=pool),
        "garbled_words": partial(garbled_words, vocabulary=vocabulary),
        "repeated_turn": repeated_turn,
        "contradicted_fact": partial(contradicted_fact, facts=dialogue.facts, values=_values()),
    }
    clean = dialogue.turns
    while True:
        drawn = rng.sample(tuple(damages), level)
        kinds = tuple(kind for kind in damages if kind in drawn)
        turns: Turns | None = clean
        for kind in kinds:
            untouched = [i for i, (old, new) in enumerate(zip(clean, turns, strict=True)) if old == new]
            turns = damages[kind](turns, rng, free=untouched)
            if turns is None:
                break
        if turns is None:
            continue
        same_length = len(" ".join(turns).split()) == len(" ".join(clean).split())
        copy_visible = "repeated_turn" not in kinds or len(set(turns)) < len(turns)
        if same_length and copy_visible:
            return turns, kinds
