"""Built-in dialogues: synthetic English small talk of two speakers, and a rated set of damaged ones.

`worlds/dialogues/small_talk.txt` says how a topic is written and lists the topics; each topic has a file. The speakers
never contradict themselves or this world. They mention facts more than once, so that a reader can see a fault from the
text alone.
"""

import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, islice
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from core.example import Example, count_words
from data.builtin import damage
from data.builtin.damage import Damaged, Fact, Turns
from data.builtin.grammar import Block, collect, distinct, drafts, read_world, table

LEVELS = 5
DONORS = 100  # how many further dialogues lend their turns and words to the damages
MOST_TURNS = 12
RECALL_WEIGHT = 4  # how much more often a block is chosen if it takes up a fact that was mentioned
TOPIC_CLOSINGS = 0.7  # the share of closings that take up the topic
BOTH = 2  # the owner of a fact that the speakers share

FactKey: TypeAlias = tuple[int, str]  # owner and kind

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
    facts: tuple[tuple[Fact, ...], ...]  # that each turn mentions
    body: range  # the indices of the turns between opening and closing


class Script(NamedTuple):
    """The lines of a block of turns, and its facts; `recalls` are facts that an earlier turn must have mentioned."""

    news: frozenset[FactKey]  # facts that must be new
    needs: frozenset[FactKey]  # facts that must be known
    recalls: bool


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
    """Generates dialogues of known quality: levels of damage from 0 to 4 in equal shares, rated 1 - level / 4.

    The level is the number of damages, each of a different kind (see `data.builtin.damage`) and on different turns;
    `label` joins the kinds by "+", and `group` names the clean dialogue. Damage keeps the number of words and of turns,
    and the levels are spread over dialogues of similar length, so that length says nothing about quality.
    """
    rng = random.Random(seed)
    dialogues = random_dialogues(rng, reserved=True)
    clean = list(islice(dialogues, n))
    donors = list(islice(dialogues, DONORS))
    vocabulary = [word.strip(".,?") for donor in donors for turn in donor.turns for word in turn.split()]
    pools = {topic: damage.by_word_count(lent_turns(donors, topic)) for topic in TOPICS}
    by_length = sorted(range(n), key=lambda i: _count_words(clean[i].turns))
    levels: dict[int, int] = {}
    for start in range(0, n, LEVELS):
        alike = by_length[start : start + LEVELS]
        dealt = rng.sample(range(LEVELS), len(alike))
        levels.update(zip(alike, dealt, strict=True))

    def damaged() -> Iterator[Damaged]:
        for i, dialogue in enumerate(clean):
            turns, kinds = _damage(dialogue, levels[i], rng, pools[dialogue.topic], vocabulary)
            example = Example(
                "",
                turns=turns,
                label="+".join(kinds) or None,
                group=f"builtin-clean-{seed}-{i}",
            )
            yield example, {"quality": levels[i]}

    return damage.rate(f"builtin-rated-{seed}", n, damaged(), {"quality": LEVELS - 1})


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
    facts: list[tuple[Fact, ...]] = []
    mentioned: set[FactKey] = set()
    known: set[FactKey] = {(BOTH, "topic")}  # what was mentioned or follows from it

    def add_block(blocks: Sequence[Block], room: int = MOST_TURNS) -> Block:
        """Adds a random block of at most `room` turns whose new facts are new here and whose other facts are known.

        Blocks that recall a fact are preferred, because few of them fit.
        """
        fitting: list[Block] = []
        weights: list[int] = []
        for block in blocks:
            script = _script(block, topic.kinds, len(turns) % 2)
            fits = script.news.isdisjoint(mentioned) and script.needs <= known
            if fits and len(block) <= room:
                fitting.append(block)
                weights.append(RECALL_WEIGHT if script.recalls else 1)
        (block,) = rng.choices(fitting, weights)
        for paraphrases in block:
            text, told = _write_turn(rng.choice(paraphrases), len(turns) % 2, values)
            turns.append(text)
            facts.append(told)
            for fact in told:
                mentioned.add(fact[:2])
                kinds = topic.kinds if fact.kind == topic.kinds[0] else (fact.kind,)
                known.update((fact.owner, kind) for kind in kinds)
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
) -> Script:
    """The script of a block that `starter` begins, among facts of these kinds, the key first."""
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
    return Script(frozenset(news), frozenset(needs), recalls=any(kind in LISTS for _, kind in needs))


def _write_turn(
    phrase: str,
    speaker: int,
    values: Mapping[FactKey, str],
) -> tuple[str, tuple[Fact, ...]]:
    """The text of a phrase, and the facts that it mentions."""
    tokens = phrase.split()
    facts = tuple(Fact(*key, values[key], i) for i, key, _ in _slots(phrase, speaker))
    for fact in facts:
        tokens[fact.position] = SLOT.sub(fact.value, tokens[fact.position])
    return " ".join(tokens), facts


def lent_turns(donors: Sequence[Dialogue], topic: str) -> Iterator[str]:
    """Yields turns of dialogues on other topics. Each of these turns mentions a fact of its topic."""
    for donor in donors:
        if donor.topic != topic:
            kinds = TOPICS[donor.topic].kinds
            for i in donor.body:
                if any(fact.kind in kinds for fact in donor.facts[i]):
                    yield donor.turns[i]


def _damage(
    dialogue: Dialogue,
    level: int,
    rng: random.Random,
    pool: Mapping[int, Sequence[str]],
    vocabulary: Sequence[str],
) -> tuple[Turns, tuple[str, ...]]:
    """The turns with `level` damages of different kinds, and the kinds.

    Kinds are drawn until they fit: each on different turns, a copied turn still there beside its copy, a contradicted
    fact still mentioned elsewhere, and as many words as before.
    """
    # A swap comes first, as it needs most room, and a contradiction last, as it needs a second turn left as it was.
    damages: Mapping[str, Callable[..., Turns | None]] = {
        "swapped_turns": damage.swap_turns,
        "foreign_turn": partial(damage.replace_turn, pool=pool),
        "garbled_words": partial(damage.garble_words, vocabulary=vocabulary),
        "repeated_turn": damage.repeat_turn,
        "contradicted_fact": partial(damage.contradict_fact, facts=dialogue.facts, values=VALUES),
    }
    while True:
        drawn = rng.sample(tuple(damages), level)
        kinds = tuple(kind for kind in damages if kind in drawn)
        turns: Turns | None = dialogue.turns
        for kind in kinds:
            if turns is not None:
                unchanged = [i for i, turn in enumerate(turns) if turn == dialogue.turns[i]]
                turns = damages[kind](turns, rng, free=unchanged)
        if turns is None or _count_words(turns) != _count_words(dialogue.turns):
            continue
        if "repeated_turn" not in kinds or len(set(turns)) < len(turns):
            return turns, kinds
