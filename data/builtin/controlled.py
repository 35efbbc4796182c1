"""What the built-in reviews and news share: texts that begin with a prefix and carry a label, and damage to either.

A world says how its texts are told. Training texts may come with a sentence that says the label. A rated set answers
each prefix and label by four pretend systems, with damage of three kinds, each on a scale of its own: sentences in a
wrong order or from other texts (coherence), a prefix that names another thing than the rest (consistency), and another
label, or half another label, than the one asked for (attribute relevance).
"""

import random
import string
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from core.example import Example
from data.builtin.damage import by_word_count, foreign_turn

RESERVED_SHARE = 8  # one possible beginning in so many is kept for the rated set
LEAST, MOST = 3, 7  # sentences of a text
LEAST_RATED = 4  # of a rated one: three that can be damaged
LENDERS = 150  # how many further texts of each label lend their sentences to the damages
DISPLACED_SHARE = 0.3  # of the texts with two damaged sentences or more, that have two displaced ones
DRAWS = 200  # texts drawn for a wanted length; the nearest is taken if none has it

# Levels of damage in the shares in which an able and a careless system have them; the last is the worst.
ABLE = {
    "coherence": (0, 0, 0, 0, 0, 1, 2, 3),
    "consistency": (0, 0, 0, 0, 0, 0, 1, 2),
    "attribute_relevance": (0, 0, 0, 0, 0, 1, 1, 2),
}
CARELESS = {
    "coherence": (0, 1, 1, 2, 2, 3, 3, 3),
    "consistency": (0, 0, 1, 1, 1, 2, 2, 2),
    "attribute_relevance": (0, 1, 1, 1, 2, 2, 2, 2),
}
WORST = {aspect: shares[-1] for aspect, shares in ABLE.items()}
# What each system is able in. Over the four of them every pair of aspects is balanced, so that the damage in one says
# nothing about the damage in another.
SYSTEMS: Mapping[str, Collection[str]] = {
    "steady": ("coherence", "consistency", "attribute_relevance"),
    "fluent": ("coherence",),
    "faithful": ("consistency",),
    "obedient": ("attribute_relevance",),
}


@dataclass(frozen=True)
class Prompt:
    """The beginning of a text: the prefix, how its sentence goes on, what is known, and which slots it has told."""

    prefix: str
    rest: str
    facts: Mapping[str, str]
    told: Collection[str]
    opening: tuple[str, str]

    @property
    def is_reserved(self) -> bool:
        """Whether the beginning is kept for rated texts: a property of its words, so that no seed can mix the two."""
        return zlib.crc32((self.prefix + self.rest).encode()) % RESERVED_SHARE == 0


@dataclass(frozen=True)
class Sentence:
    """A sentence, what it is about, the label it carries (None: none), and whether it names the thing."""

    text: str
    about: tuple[str, ...]
    label: str | None = None
    naming: bool = False


Labels = Callable[[int], Sequence[str]]  # the labels of so many sentences


@dataclass(frozen=True)
class World:
    """How the texts of one built-in corpus are told.

    Attributes:
        name: begins the ids.
        labels: what a text can be.
        facts: draws what is known of a thing.
        openings: a prefix and ways to go on, both with slots; `{subject}` is left for `tell`.
        name_slot: the fact that names the thing.
        kind_slots: the facts that its kind decides, the kind first.
        tell: the sentences of a text by its beginning and the labels to carry; the first begins with the prefix.
        label_words: words that say a label.
        verdicts: sentences with the slot `{word}` for one of them.
    """

    name: str
    labels: tuple[str, ...]
    facts: Callable[[random.Random], dict[str, str]]
    openings: Sequence[tuple[str, Sequence[str]]]
    name_slot: str
    kind_slots: tuple[str, ...]
    tell: Callable[[random.Random, Prompt, Labels], list[Sentence]]
    label_words: Mapping[str, Sequence[str]]
    verdicts: Sequence[str]


def generate(
    world: World, n: int, seed: int, verdicts: float = 0.0, exclude: Collection[str] = ()
) -> tuple[Example, ...]:
    """`n` different texts with prefix and label, the labels in turn; the same for the same seed everywhere.

    A share `verdicts` of them has a sentence before or after it that says the label; `prefix` is None where the text no
    longer begins with it. No text is in `exclude`.
    """
    rng, comments = random.Random(f"{world.name} {seed}"), random.Random(f"{world.name} verdicts {seed}")
    found: list[Example] = []
    seen = set(exclude)
    prompts = _prompts(world, rng, reserved=False)
    while len(found) < n:
        label = world.labels[len(found) % len(world.labels)]
        prompt = next(prompts)
        text = joined(world.tell(rng, prompt, _all_of(label)))
        if text in seen:
            continue
        seen.add(text)
        prefix: str | None = prompt.prefix
        if comments.random() < verdicts:
            verdict = comments.choice(world.verdicts).format(word=comments.choice(world.label_words[label]))
            if comments.random() < 0.5:
                text, prefix = f"{verdict} {text}", None
            else:
                text = f"{text} {verdict}"
        found.append(Example(f"builtin-{world.name}-{seed}-{len(found)}", text=text, prefix=prefix, label=label))
    return tuple(found)


def rated(world: World, n: int, seed: int) -> tuple[Example, ...]:
    """`n` texts with known ratings from 0 (worst) to 1 of coherence, consistency and attribute relevance.

    `group` names a prefix and the label asked for, which four systems answer (`SYSTEMS`). All levels are dealt out
    among texts of like length, and a damage keeps the number of words, so that length does not tell the quality.
    """
    rng = random.Random(f"{world.name} rated {seed}")
    inputs = _inputs(world, rng, -(-n // len(SYSTEMS)))
    lenders = _lent(world, rng)
    levels = _dealt(world, len(inputs), rng)
    examples: list[Example] = []
    for i, (prompt, label) in enumerate(inputs):
        for system in SYSTEMS:
            length, level = levels[system][i]
            others = [other for other in world.labels if other != label]
            carried = _labels_of(level["attribute_relevance"], label, rng.choice(others), rng)
            told = _retold(world, rng, prompt, level["consistency"], carried, length)
            examples.append(
                Example(
                    f"builtin-rated-{world.name}-{seed}-{len(examples)}",
                    text=" ".join(_incoherent(told, level["coherence"], rng, lenders)),
                    prefix=prompt.prefix,
                    label=label,
                    system=system,
                    group=f"{label}: {prompt.prefix}",
                    ratings={aspect: 1 - level[aspect] / worst for aspect, worst in WORST.items()},
                )
            )
    return tuple(examples[:n])


def joined(sentences: Sequence[Sentence]) -> str:
    """The text of sentences."""
    return " ".join(sentence.text for sentence in sentences)


def slots(*templates: str) -> set[str]:
    """The names of the slots of templates.

    >>> sorted(slots("{She} saw {city}.", "on {day}"))
    ['She', 'city', 'day']
    """
    return {name for template in templates for _, name, _, _ in string.Formatter().parse(template) if name}


def prompt_of(facts: Mapping[str, str], opening: tuple[str, str]) -> Prompt:
    """The beginning of a text by what is known and an opening, a prefix and how to go on."""
    prefix, rest = (part.format(**{**facts, "subject": "{subject}"}) for part in opening)
    return Prompt(prefix, rest, facts, slots(*opening), opening)


def _prompts(world: World, rng: random.Random, reserved: bool) -> Iterator[Prompt]:
    """Beginnings without end, all from the reserved part or all from the rest."""
    while True:
        prefix, rests = rng.choice(world.openings)
        prompt = prompt_of(world.facts(rng), (prefix, rng.choice(rests)))
        if prompt.is_reserved == reserved:
            yield prompt


def _all_of(label: str) -> Labels:
    return lambda n: [label] * n


def _labels_of(level: int, asked: str, other: str, rng: random.Random) -> Labels:
    """The label asked for (level 0), half another one (1) or all another one (2)."""
    if level != 1:
        return _all_of(other if level else asked)

    def half(n: int) -> Sequence[str]:
        k = (n + rng.randrange(2)) // 2
        return rng.sample([asked] * k + [other] * (n - k), n)

    return half


def _inputs(world: World, rng: random.Random, n: int) -> list[tuple[Prompt, str]]:
    """`n` different beginnings and the label asked for, the labels in turn."""
    found: dict[str, Prompt] = {}
    for prompt in _prompts(world, rng, reserved=True):
        if len(found) >= n:
            break
        found.setdefault(prompt.prefix, prompt)
    return [(prompt, world.labels[i % len(world.labels)]) for i, prompt in enumerate(found.values())]


def _dealt(world: World, n: int, rng: random.Random) -> dict[str, list[tuple[int, dict[str, int]]]]:
    """For each system a length in words and the levels of damage of each of `n` texts.

    Each four texts next in length go to the four systems, and the levels of a system are dealt out among each eight of
    its texts next in length.
    """
    prompts = _prompts(world, rng, reserved=True)
    told = (world.tell(rng, prompt, _all_of(rng.choice(world.labels))) for prompt in prompts)
    long_enough = (sentences for sentences in told if len(sentences) >= LEAST_RATED)
    lengths = sorted(len(joined(sentences).split()) for sentences in islice(long_enough, n * len(SYSTEMS)))
    by_system: dict[str, list[int]] = {system: [] for system in SYSTEMS}
    for start in range(0, len(lengths), len(SYSTEMS)):
        for system, length in zip(
            SYSTEMS, rng.sample(lengths[start : start + len(SYSTEMS)], len(SYSTEMS)), strict=True
        ):
            by_system[system].append(length)
    dealt: dict[str, list[tuple[int, dict[str, int]]]] = {}
    for system, mine in by_system.items():
        levels: dict[str, list[int]] = {}
        for aspect in WORST:
            shares = (ABLE if aspect in SYSTEMS[system] else CARELESS)[aspect]
            levels[aspect] = [level for _ in range(0, n, len(shares)) for level in rng.sample(shares, len(shares))]
        rows = [(length, {aspect: levels[aspect][k] for aspect in WORST}) for k, length in enumerate(mine)]
        dealt[system] = rng.sample(rows, n)
    return dealt


def _retold(
    world: World, rng: random.Random, prompt: Prompt, level: int, labels: Labels, length: int
) -> list[Sentence]:
    """A text of `length` words, or near it, that begins with the prefix.

    It goes on about the thing that the prefix names (level 0), another of its kind (1) or a thing of another kind (2).
    """
    best: list[Sentence] = []
    least = float("inf")
    for _ in range(DRAWS):
        other = prompt if level == 0 else _other(world, rng, prompt, another_kind=level == 2)
        told = world.tell(rng, other, labels)
        distance = abs(len(joined(told).split()) - length)
        if len(told) >= LEAST_RATED and distance < least:
            first = prompt.prefix + told[0].text.removeprefix(other.prefix)
            best, least = [replace(told[0], text=first), *told[1:]], distance
        if least == 0:
            break
    return best


def _other(world: World, rng: random.Random, prompt: Prompt, another_kind: bool) -> Prompt:
    """The same beginning with another name of the thing, or another name and kind; all else that is known stays."""
    changed = (world.name_slot, *world.kind_slots[:1]) if another_kind else (world.name_slot,)
    taken = (world.name_slot, *world.kind_slots) if another_kind else changed
    while True:
        facts = world.facts(rng)
        if any(facts[slot] == prompt.facts[slot] for slot in changed):
            continue
        other = prompt_of({**prompt.facts, **{slot: facts[slot] for slot in taken}}, prompt.opening)
        if len(other.prefix.split()) == len(prompt.prefix.split()):
            return other


def _lent(world: World, rng: random.Random) -> list[Sentence]:
    """Sentences of other texts, none of them a first one or one that names a thing."""
    prompts = islice(_prompts(world, rng, reserved=True), LENDERS)
    told = (world.tell(rng, prompt, _all_of(label)) for prompt in prompts for label in world.labels)
    return [sentence for sentences in told for sentence in sentences[1:] if not sentence.naming]


def _incoherent(told: Sequence[Sentence], level: int, rng: random.Random, lenders: Sequence[Sentence]) -> list[str]:
    """The sentences with a third (level 1), two thirds (2) or all (3) of those after the first foreign or displaced.

    A foreign sentence has as many words as the one whose place it takes, or nearly, carries the same label, and is
    about something else. Sentences that name the thing stay in the text: this is not about consistency.
    """
    texts = tuple(sentence.text for sentence in told)
    body = range(1, len(told))
    damages = round(len(body) * level / WORST["coherence"])
    free = [i for i in body if not told[i].naming]
    displaced = 2 if damages > 1 and rng.random() < DISPLACED_SHARE else 0
    foreign = min(damages - displaced, len(free))
    replaced = rng.sample(free, foreign)
    here = {thing for sentence in told for thing in sentence.about}
    for i in replaced:
        fitting = (s.text for s in lenders if s.label == told[i].label and here.isdisjoint(s.about))
        with_foreign = foreign_turn(texts, rng, by_word_count(text for text in fitting if text not in texts), [i])
        assert with_foreign is not None, "every label has sentences about other things"
        texts = with_foreign
    places = rng.sample([i for i in body if i not in replaced], displaced)
    moved = list(texts)
    for place, source in zip(places, _deranged(places, rng), strict=True):
        moved[place] = texts[source]
    return moved


def _deranged(places: Sequence[int], rng: random.Random) -> list[int]:
    """The places in an order that leaves none where it was."""
    while True:
        order = rng.sample(places, len(places))
        if all(a != b for a, b in zip(places, order, strict=True)):
            return order
