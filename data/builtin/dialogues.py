"""Built-in dialogues: synthetic English small talk of two speakers, and a rated set of damaged ones.

`worlds/dialogues/small_talk.txt` says how a topic is written and lists the topics; each topic has a file. The speakers
never contradict themselves or this world. They mention facts more than once, so that a reader can see a fault from the
text alone.
"""

import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice, product
from operator import attrgetter
from typing import NamedTuple

from core.example import Example, Examples, count_words
from data.builtin import damage
from data.builtin.damage import FactKey, Place, Turns, Words
from data.builtin.grammar import TEXT, Block, collect, distinct, draw_reserved, is_reserved, read_world, table

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


def read_topic(name: str) -> Topic:
    """Reads a topic from `worlds/dialogues/NAME.txt`."""
    world, *_ = read_world(f"dialogues/{name}")
    kinds, *rows = ((key, *others) for key, others in table(world["facts"]).items())
    return Topic(
        kinds,
        tuple(rows),
        world["blocks"],
        world["closings"],
    )


SMALL_TALK, _, WORDS = read_world("dialogues/small_talk")
TOPICS: Mapping[str, Topic] = {name: read_topic(name) for name in WORDS["topics"]}
LISTS = table(SMALL_TALK["lists"])  # the values of facts that no key implies, by kind
COLUMNS = {
    kind: tuple(dict.fromkeys(column))
    for topic in TOPICS.values()
    for kind, column in zip(topic.kinds, zip(*topic.rows, strict=True), strict=True)
}
VALUES = {
    "topic": tuple(TOPICS),
    **LISTS,
    **COLUMNS,
}  # all values that a fact of a kind may have


@dataclass
class Dialogue:
    """A dialogue with what is known about its turns."""

    topic: str
    values: Mapping[FactKey, str]  # of all facts, mentioned or not
    turns: Turns = ()
    mentions: dict[FactKey, list[Place]] = field(default_factory=dict)  # where each fact is mentioned
    closing: int = 0  # the first turn of the closing

    @property
    def text(self) -> str:
        """All turns."""
        return "\n".join(self.turns)

    def list_known(self) -> set[FactKey]:
        """Lists the facts that were mentioned or follow from a key that was."""
        key, *following = TOPICS[self.topic].kinds
        owners = [owner for owner, kind in self.mentions if kind == key]
        return {(BOTH, "topic"), *self.mentions, *product(owners, following)}

    def add_block(
        self,
        blocks: Sequence[Block],
        rng: random.Random,
        room: int = MOST_TURNS,
    ) -> Block:
        """Adds a random block of at most `room` turns whose new facts are new here and whose other facts are known.

        Blocks that recall a fact are preferred, because few of them fit.
        """
        known = self.list_known()
        weights: dict[Block, int] = {}
        for block in blocks:
            news, needs, recalls = _script(block, TOPICS[self.topic].kinds, len(self.turns) % 2)
            if needs <= known and news.isdisjoint(self.mentions) and len(block) <= room:
                weights[block] = RECALL_WEIGHT if recalls else 1
        (block,) = rng.choices([*weights], [*weights.values()])
        for paraphrases in block:
            self.say(rng.choice(paraphrases))
        return block

    def say(self, phrase: str) -> None:
        """Adds a turn: a phrase with the values of its facts."""
        place = len(self.turns)
        slots = _slots(phrase, place % 2)
        for position, fact, _ in slots:
            self.mentions.setdefault(fact, []).append((place, position))
        values = [self.values[fact] for _, fact, _ in slots]
        self.turns += (SLOT.sub("{}", phrase).format(*values),)


def generate_dialogues(n: int, seed: int, exclude: Collection[Turns] = ()) -> Examples:
    """Generates sensible dialogues of 6 to 12 turns."""
    rng = random.Random(seed)

    def draw(_: int) -> Example | None:
        dialogue = random_dialogue(rng)
        return None if is_reserved(dialogue.text) else Example("", turns=dialogue.turns)

    return collect(
        f"builtin-{seed}",
        n,
        draw,
        exclude,
        TURNS,
    )


def rated_dialogues(n: int = 400, seed: int = 0) -> Examples:
    """Generates dialogues of known quality: levels of damage from 0 to 3 in equal shares, rated 1 - level / 3.

    The level is the number of kinds of damage, each on other words (see `list_damages` and docs/builtin.md); `label`
    joins the kinds by "+", as `extra` does those that were possible, and `group` names the clean dialogue. Damage keeps
    the number of words and of turns, and the levels are spread over dialogues of similar length, so that length says
    nothing about quality.
    """
    rng = random.Random(f"dialogues rated {seed}")
    drawn = ((dialogue, _draw_damages(dialogue, rng)) for dialogue in reserved_dialogues(random.Random(seed)))
    clean = [*islice((pair for pair in drawn if len(pair[1]) >= WORST), n)]
    by_length = sorted(range(n), key=lambda i: count_words(clean[i][0].text))
    levels: dict[int, int] = {}
    step = WORST + 1
    for start in range(0, n, step):
        alike = by_length[start : start + step]
        dealt = rng.sample(range(step), len(alike))
        levels |= zip(alike, dealt, strict=True)

    def damaged() -> Iterator[Example]:
        used: Counter[str] = Counter()
        for i, (dialogue, damages) in enumerate(clean):
            kinds = sorted(damages, key=used.__getitem__)[: levels[i]]
            used.update(kinds)
            words = chain.from_iterable(damages[kind].items() for kind in kinds)
            yield Example(
                "",
                turns=damage.rewrite_turns(dialogue.turns, dict(words)),
                label="+".join(sorted(kinds)) or None,
                group=f"builtin-clean-{seed}-{i}",
                ratings={"quality": 1 - levels[i] / WORST},
                extra={"possible_damage": "+".join(sorted(damages))},
            )

    return damage.number(f"builtin-rated-{seed}", n, damaged())


def list_damages(dialogue: Dialogue) -> dict[str, list[Words]]:
    """Lists, for each kind of damage, all ways to damage a dialogue: the new words at their places."""
    key, *following = TOPICS[dialogue.topic].kinds
    content = (dialogue.mentions, dialogue.values)
    false = {kind: VALUES[kind] for kind in following}
    return {
        "false_fact": damage.falsify(*content, false),
        "misplaced_words": damage.misplace(*content, {*following, *LISTS} - {"name"}),
        "wrong_topic": damage.falsify(*content, {"topic": VALUES["topic"]}),
        "wrong_name": damage.exchange_owners(*content, ["name"], [dialogue.closing]),
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


def reserved_dialogues(rng: random.Random) -> Iterator[Dialogue]:
    """Yields different dialogues that are kept for rated sets, without end."""
    dialogues = draw_reserved(random_dialogue, rng, TEXT)
    return distinct(dialogues, TURNS)


def random_dialogue(rng: random.Random) -> Dialogue:
    """Draws a dialogue of 6 to 12 turns: an opening, different blocks about one topic, and a closing."""
    name = rng.choice(tuple(TOPICS))
    topic = TOPICS[name]
    values = {(BOTH, "topic"): name}
    for owner, row in enumerate(rng.sample(topic.rows, 2)):
        values |= {(owner, kind): value for kind, value in zip(topic.kinds, row, strict=True)}
    for kind, options in LISTS.items():
        values |= {(owner, kind): value for owner, value in enumerate(rng.sample(options, 3))}
    dialogue = Dialogue(name, values)
    dialogue.add_block(SMALL_TALK["openings"], rng)
    unused = list(topic.blocks)
    goal = rng.randint(4, MOST_TURNS - 3)  # a block has two or three turns, a closing two
    while len(dialogue.turns) < goal:
        room = MOST_TURNS - 2 - len(dialogue.turns)
        unused.remove(dialogue.add_block(unused, rng, room))
    dialogue.closing = len(dialogue.turns)
    dialogue.add_block(topic.closings if rng.random() < TOPIC_CLOSINGS else SMALL_TALK["closings"], rng)
    return dialogue


@cache
def _slots(phrase: str, speaker: int) -> tuple[tuple[int, FactKey, bool], ...]:
    """The slots of a phrase as `speaker` says it: the position of the word, the fact, and whether it must be new."""
    owners = {
        "my": speaker,
        "your": 1 - speaker,
        "our": BOTH,
    }
    found = ((i, *match.groups()) for i, word in enumerate(phrase.split()) for match in SLOT.finditer(word))
    return tuple((i, (owners[owner], kind), bool(new)) for i, new, owner, kind in found)


@cache
def _script(block: Block, kinds: tuple[str, ...], starter: int) -> tuple[set[FactKey], set[FactKey], bool]:
    """The facts that must be new in a block that `starter` begins, and those that must be known.

    The third value says whether one of these recalls a fact that an earlier turn must have mentioned. `kinds` are those
    of the topic, the key first.
    """
    key, *following = kinds
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
            if kind in following and (owner, key) not in mentioned:
                needs.add((owner, key))  # the cat is mentioned before its food
        facts_of = [{fact for _, fact, _ in slots} for slots in paraphrases]
        mentioned |= set.intersection(*facts_of)
    needs -= news
    return news, needs, any(kind in LISTS for _, kind in needs)
