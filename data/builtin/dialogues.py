"""Built-in dialogues: synthetic English small talk of two speakers, and a rated set of damaged ones.

`worlds/dialogues/small_talk.txt` says how a topic is written and lists the topics; each topic has a file. The speakers
never contradict themselves or this world. They mention facts more than once, so that a reader can see a fault from the
text alone.
"""

import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from core.example import Example, count_words
from data.builtin import damage
from data.builtin.damage import Damaged, FactKey, Place, Turns, Words
from data.builtin.grammar import Block, collect, distinct, drafts, read_world, table

WORST = 3  # kinds of damage in a dialogue
MOST_TURNS = 12
RECALL_WEIGHT = 4  # how much more often a block is chosen if it takes up a fact that was mentioned
TOPIC_CLOSINGS = 0.7  # the share of closings that take up the topic
BOTH = 2  # the owner of a fact that the speakers share

TURNS = attrgetter("turns")
SLOT = re.compile(r"\{(\+?)(my|your|our)\.(\w+)\}")


class Topic(NamedTuple):
    """The phrases about one topic."""

    kinds: tuple[str, ...]  # of fact; the key, from which the others follow, comes first
    rows: tuple[tuple[str, ...], ...]  # facts that belong together, in the order of the kinds; a speaker has one row
    blocks: tuple[Block, ...]  # what can be said between opening and closing
    closings: tuple[Block, ...]  # last blocks that take up the topic


class Dialogue(NamedTuple):
    """A dialogue with what is known about its turns."""

    topic: str
    turns: Turns
    values: Mapping[FactKey, str]  # of all facts, mentioned or not
    mentions: Mapping[FactKey, Sequence[Place]]  # where each fact is mentioned
    body: range  # the indices of the turns between opening and closing


def read_topic(name: str) -> Topic:
    """Reads a topic from `worlds/dialogues/NAME.txt`."""
    world, *_ = read_world(f"dialogues/{name}")
    kinds, *rows = ((key, *others) for key, others in table(world["facts"]).items())
    return Topic(kinds, tuple(rows), world["blocks"], world["closings"])


SMALL_TALK, _, WORDS = read_world("dialogues/small_talk")
OPENINGS = SMALL_TALK["openings"]
CLOSINGS = SMALL_TALK["closings"]
TOPICS: Mapping[str, Topic] = {name: read_topic(name) for name in WORDS["topics"]}
LISTS = table(SMALL_TALK["lists"])  # the values of facts that no key implies, by kind


def _list_values() -> dict[str, tuple[str, ...]]:
    """All values that a fact of a kind may have."""
    values = {"topic": tuple(TOPICS), **LISTS}
    for topic in TOPICS.values():
        columns = zip(*topic.rows, strict=True)
        for kind, column in zip(topic.kinds, columns, strict=True):
            values[kind] = tuple(dict.fromkeys(column))
    return values


VALUES: Mapping[str, tuple[str, ...]] = _list_values()


def generate_dialogues(
    n: int,
    seed: int,
    exclude: Collection[Turns] = (),
) -> tuple[Example, ...]:
    """Generates sensible dialogues of 6 to 12 turns."""
    dialogues = random_dialogues(random.Random(seed), reserved=False)

    def draw(_: int) -> Example:
        return Example("", turns=next(dialogues).turns)

    return collect(f"builtin-{seed}", n, draw, exclude, key=TURNS)


def rated_dialogues(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """Generates dialogues of known quality: levels of damage from 0 to 3 in equal shares, rated 1 - level / 3.

    The level is the number of kinds of damage, each on other words (see `list_damages` and docs/builtin.md); `label`
    joins the kinds by "+", as `extra` does those that were possible, and `group` names the clean dialogue. Damage keeps
    the number of words and of turns, and the levels are spread over dialogues of similar length, so that length says
    nothing about quality.
    """
    rng = random.Random(f"dialogues rated {seed}")
    clean: list[tuple[Dialogue, dict[str, Words]]] = []
    dialogues = random_dialogues(random.Random(seed), reserved=True)
    while len(clean) < n:
        dialogue = next(dialogues)
        damages = _draw_damages(dialogue, rng)
        if len(damages) >= WORST:
            clean.append((dialogue, damages))
    by_length = sorted(range(n), key=lambda i: _count_words(clean[i][0].turns))
    levels: dict[int, int] = {}
    for start in range(0, n, WORST + 1):
        alike = by_length[start : start + WORST + 1]
        dealt = rng.sample(range(WORST + 1), len(alike))
        levels.update(zip(alike, dealt, strict=True))

    def damaged() -> Iterator[Damaged]:
        used: Counter[str] = Counter()
        for i, (dialogue, damages) in enumerate(clean):
            by_use = sorted(damages, key=used.__getitem__)
            kinds = by_use[: levels[i]]
            used.update(kinds)
            words: dict[Place, str] = {}
            for kind in kinds:
                words |= damages[kind]
            example = Example(
                "",
                turns=damage.rewrite_turns(dialogue.turns, words),
                label="+".join(sorted(kinds)) or None,
                group=f"builtin-clean-{seed}-{i}",
                extra={"possible_damage": "+".join(sorted(damages))},
            )
            yield example, {"quality": levels[i]}

    return damage.rate(f"builtin-rated-{seed}", n, damaged(), {"quality": WORST})


def list_damages(dialogue: Dialogue) -> dict[str, list[Words]]:
    """Lists, for each kind of damage, all ways to damage a dialogue: the new words at their places."""
    key, *following = TOPICS[dialogue.topic].kinds
    content = (dialogue.mentions, dialogue.values)
    false = {kind: VALUES[kind] for kind in following}
    return {
        "false_fact": damage.falsify(*content, false),
        "misplaced_words": damage.misplace(*content, {*following, *LISTS} - {"name"}),
        "wrong_topic": damage.falsify(*content, {"topic": VALUES["topic"]}),
        "wrong_name": damage.exchange_owners(*content, ["name"], [dialogue.body.stop]),
        "exchanged_owners": damage.exchange_owners(*content, [key, *following], range(1, len(dialogue.turns))),
    }


def _draw_damages(dialogue: Dialogue, rng: random.Random) -> dict[str, Words]:
    """Draws a way for each kind of damage, in random order; leaves out a kind that has none on other words."""
    damages = list_damages(dialogue)
    drawn: dict[str, Words] = {}
    taken: set[Place] = set()
    for kind in rng.sample([*damages], len(damages)):
        ways = [words for words in damages[kind] if taken.isdisjoint(words)]
        if ways:
            drawn[kind] = rng.choice(ways)
            taken.update(drawn[kind])
    return drawn


def _count_words(turns: Turns) -> int:
    return count_words("\n".join(turns))


def random_dialogues(rng: random.Random, reserved: bool) -> Iterator[Dialogue]:
    """Yields different dialogues without end.

    With `reserved`, yields only dialogues kept for rated sets, otherwise only the other dialogues.
    """
    dialogues = drafts(random_dialogue, rng, lambda dialogue: "\n".join(dialogue.turns), reserved)
    return distinct(dialogues, key=TURNS)


def random_dialogue(rng: random.Random) -> Dialogue:
    """Draws a dialogue of 6 to 12 turns: an opening, different blocks about one topic, and a closing."""
    name = rng.choice(tuple(TOPICS))
    topic = TOPICS[name]
    values: dict[FactKey, str] = {(BOTH, "topic"): name}
    for owner, row in enumerate(rng.sample(topic.rows, 2)):
        for kind, value in zip(topic.kinds, row, strict=True):
            values[owner, kind] = value
    for kind, options in LISTS.items():
        for owner, value in enumerate(rng.sample(options, 3)):
            values[owner, kind] = value

    turns: list[str] = []
    mentions: dict[FactKey, list[Place]] = {}
    known: set[FactKey] = {(BOTH, "topic")}  # what was mentioned or follows from it

    def add_block(blocks: Sequence[Block], room: int = MOST_TURNS) -> Block:
        """Adds a random block of at most `room` turns whose new facts are new here and whose other facts are known.

        Blocks that recall a fact are preferred, because few of them fit.
        """
        fitting: list[Block] = []
        weights: list[int] = []
        for block in blocks:
            news, needs, recalls = _script(block, topic.kinds, len(turns) % 2)
            if needs <= known and news.isdisjoint(mentions) and len(block) <= room:
                fitting.append(block)
                weights.append(RECALL_WEIGHT if recalls else 1)
        (block,) = rng.choices(fitting, weights)
        for paraphrases in block:
            phrase = rng.choice(paraphrases)
            slots = _slots(phrase, len(turns) % 2)
            for position, (owner, kind), _ in slots:
                mentions.setdefault((owner, kind), []).append((len(turns), position))
                kinds = topic.kinds if kind == topic.kinds[0] else (kind,)
                known.update([(owner, known_kind) for known_kind in kinds])
            turns.append(SLOT.sub("{}", phrase).format(*[values[key] for _, key, _ in slots]))
        return block

    add_block(OPENINGS)
    unused = list(topic.blocks)
    goal = rng.randint(4, MOST_TURNS - 3)  # a block has two or three turns, a closing two
    while len(turns) < goal:
        unused.remove(add_block(unused, room=MOST_TURNS - 2 - len(turns)))
    body = range(2, len(turns))
    add_block(topic.closings if rng.random() < TOPIC_CLOSINGS else CLOSINGS)
    return Dialogue(name, tuple(turns), values, mentions, body)


@cache
def _slots(phrase: str, speaker: int) -> tuple[tuple[int, FactKey, bool], ...]:
    """The slots of a phrase as `speaker` says it: the position of the word, the fact, and whether it must be new."""
    owners = {
        "my": speaker,
        "your": 1 - speaker,
        "our": BOTH,
    }
    slots: list[tuple[int, FactKey, bool]] = []
    for i, word in enumerate(phrase.split()):
        match = SLOT.search(word)
        if match:
            new, owner, kind = match.groups()
            slots.append((i, (owners[owner], kind), bool(new)))
    return tuple(slots)


@cache
def _script(
    block: Block,
    kinds: tuple[str, ...],
    starter: int,
) -> tuple[set[FactKey], set[FactKey], bool]:
    """The facts that must be new in a block that `starter` begins, and those that must be known.

    The third value says whether one of these recalls a fact that an earlier turn must have mentioned. `kinds` are those
    of the topic, the key first.
    """
    news: set[FactKey] = set()
    needs: set[FactKey] = set()
    mentioned: set[FactKey] = set()  # by every paraphrase of the turns so far
    for i, turn in enumerate(block):
        paraphrases = [_slots(phrase, (starter + i) % 2) for phrase in turn]
        for _, fact, is_new in chain.from_iterable(paraphrases):
            if fact in mentioned:
                continue
            owner, kind = fact
            (news if is_new else needs).add(fact)
            if kind in kinds[1:] and (owner, kinds[0]) not in mentioned:
                needs.add((owner, kinds[0]))  # the cat is mentioned before its food
        facts = {fact for _, fact, _ in chain.from_iterable(paraphrases)}
        for slots in paraphrases:
            facts &= {fact for _, fact, _ in slots}
        mentioned |= facts
    needs -= news
    return news, needs, any(kind in LISTS for _, kind in needs)
