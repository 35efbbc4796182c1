"""The engine of the built-in reviews and news: texts with a prefix and a label, and three kinds of damage to them.

Coherence is damaged by sentences in a wrong order or from other texts, consistency by a text about another thing than
its prefix, attribute relevance by a wrong label in half of the text or in all of it.
"""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import NamedTuple

from core.example import Example, count_words
from data.builtin import damage
from data.builtin.grammar import Section, collect, distinct, draw_reserved, is_reserved
from data.damage import permute_anew

MOST = 7  # sentences of a text
LEAST_RATED = 4  # sentences of a rated text: three that can be damaged
DONORS = 150  # number of further texts of each label whose sentences serve as foreign sentences
DISPLACED_SHARE = 0.3  # of the texts with two damaged sentences or more, the share that has two displaced ones
DRAWS = 200  # texts drawn for a wanted length; the nearest is taken if none has it

# Shares of the levels of damage for a good and for a careless system; the last level is the worst.
SHARES = {
    "coherence": ((0, 0, 0, 0, 0, 1, 2, 3), (0, 1, 1, 2, 2, 3, 3, 3)),
    "consistency": ((0, 0, 0, 0, 0, 0, 1, 2), (0, 0, 1, 1, 1, 2, 2, 2)),
    "attribute_relevance": ((0, 0, 0, 0, 0, 1, 1, 2), (0, 1, 1, 1, 2, 2, 2, 2)),
}
WORST = {aspect: good[-1] for aspect, (good, _) in SHARES.items()}
# The aspects in which each system is good. Every pair of aspects is balanced over the four systems, so that the damage
# in one aspect says nothing about the damage in another.
SYSTEMS: Mapping[str, Collection[str]] = {
    "steady": ("coherence", "consistency", "attribute_relevance"),
    "fluent": ("coherence",),
    "faithful": ("consistency",),
    "obedient": ("attribute_relevance",),
}

Opening = tuple[str, str]  # the templates of a prefix and of the rest of its sentence
Labels = Callable[[int], Sequence[str]]  # gives the labels of n sentences


class Prompt(NamedTuple):
    """The beginning of a text: an opening, and the facts that fill its slots."""

    facts: Mapping[str, str]
    opening: Opening

    @property
    def prefix(self) -> str:
        """The prefix of the text."""
        return self.opening[0].format_map(self.facts)

    @property
    def first(self) -> str:
        """The first sentence."""
        return "".join(self.opening).format_map(self.facts)

    def mentions(self, slot: str) -> bool:
        """Whether the opening has this slot (a name in braces, which a fact fills)."""
        return f"{{{slot}}}" in "".join(self.opening)


class Sentence(NamedTuple):
    """A sentence of a text, with what the functions that damage texts must know about it."""

    text: str
    about: tuple[str, ...]  # its subject
    label: str | None = None
    naming: bool = False  # whether it names the thing


class World(NamedTuple):
    """How the texts of one built-in corpus are composed."""

    name: str  # begins the ids
    labels: tuple[str, ...]
    facts: Callable[[random.Random], dict[str, str]]  # draws the facts about a thing
    openings: Sequence[Sequence[Opening]]  # by prefix, with slots
    identity: tuple[str, ...]  # the facts that tell things apart: the name, the kind, and what depends on the kind
    # Makes the sentences of a text from its beginning and their labels; the first begins with the prefix.
    compose: Callable[[random.Random, Prompt, Labels], list[Sentence]]
    label_words: Mapping[str, Sequence[str]]  # words that name a label
    verdicts: Sequence[str]  # sentences with the slot {word} for one of the label words


def generate_texts(
    world: World,
    n: int,
    seed: int,
    verdicts: float = 0.0,
    exclude: Collection[str] = (),
) -> tuple[Example, ...]:
    """Generates texts with prefix and label; the labels alternate.

    A share `verdicts` of the texts gets one more sentence, before or after the text, that names the label ("It was
    great."). From these a model learns to answer such prompts. `prefix` is None if the text no longer begins with it.
    """
    rng = random.Random(f"{world.name} {seed}")
    comments = random.Random(f"{world.name} verdicts {seed}")

    def draw(i: int) -> Example | None:
        prompt = random_prompt(world, rng)
        if is_reserved(prompt.first):
            return None
        label = world.labels[i % len(world.labels)]
        sentences = world.compose(rng, prompt, repeat_label(label))
        return Example(
            "",
            text=join_sentences(sentences),
            prefix=prompt.prefix,
            label=label,
        )

    texts = list(
        collect(
            f"builtin-{world.name}-{seed}",
            n,
            draw,
            exclude,
        )
    )
    for i, text in enumerate(texts):
        if comments.random() < verdicts:
            texts[i] = name_label(
                text,
                comments,
                world.verdicts,
                world.label_words,
            )
    return tuple(texts)


def name_label(
    example: Example,
    rng: random.Random,
    verdicts: Sequence[str],
    label_words: Mapping[str, Sequence[str]],
) -> Example:
    """Adds a sentence that names the label, before or after the text."""
    template = rng.choice(verdicts)
    word = rng.choice(label_words[str(example.label)])
    verdict = template.format(word=word)
    if rng.random() < 0.5:
        return replace(example, text=f"{verdict} {example.text}", prefix=None)
    return replace(example, text=f"{example.text} {verdict}")


def rated_texts(world: World, n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """Generates texts with known ratings of coherence, consistency and attribute relevance, from 0 (worst) to 1.

    Every text begins with its prefix. `label` is the label that was asked for, and `group` names prefix and label. Four
    systems (`SYSTEMS`) answer each group. Coherence falls with the share of sentences after the first that are
    displaced or foreign. Consistency is 0.5 if the text continues with another thing of the same kind, and 0 with
    another kind of thing. Attribute relevance is 0.5 if half of the text has another label, and 0 if all of it has.
    Each level is spread evenly over texts of all lengths, and damage keeps the number of words, so that length says
    nothing about quality.
    """
    rng = random.Random(f"{world.name} rated {seed}")
    prompts = draw_inputs(world, rng, -(-n // len(SYSTEMS)))
    donors = draw_foreign_sentences(world, rng)
    levels = _deal_levels(world, len(prompts), rng)

    def damaged() -> Iterator[Example]:
        for i, prompt in enumerate(prompts):
            label = world.labels[i % len(world.labels)]
            for system in SYSTEMS:
                length, level = levels[system][i]
                other = rng.choice([other for other in world.labels if other != label])
                labels = damage.damage_labels(
                    level["attribute_relevance"],
                    label,
                    other,
                    rng,
                )
                sentences = damage_consistency(
                    world,
                    rng,
                    prompt,
                    level=level["consistency"],
                    labels=labels,
                    length=length,
                )
                damaged_sentences = damage_coherence(
                    sentences,
                    level["coherence"],
                    rng,
                    donors,
                )
                yield Example(
                    "",
                    text=" ".join(damaged_sentences),
                    prefix=prompt.prefix,
                    label=label,
                    system=system,
                    group=f"{label}: {prompt.prefix}",
                    ratings={aspect: 1 - level[aspect] / worst for aspect, worst in WORST.items()},
                )

    return damage.number(f"builtin-rated-{world.name}-{seed}", n, damaged())


def read_openings(section: Section) -> list[list[Opening]]:
    """Parses the openings of a section: each block has a prefix and its continuations, or a whole first sentence.

    >>> read_openings(((("The {noun}",), ("... is here.",)), (("Look, a {noun}!",),)))
    [[('The {noun}', ' is here.')], [('Look, a {noun}!', '')]]
    """
    openings: list[list[Opening]] = []
    for (prefix,), *continuations in section:
        ways = [way.removeprefix("...") for (way,) in continuations]
        openings.append([(prefix, way) for way in ways or [""]])
    return openings


def join_sentences(sentences: Sequence[Sentence]) -> str:
    """Joins the sentences into one text."""
    return " ".join(sentence.text for sentence in sentences)


def random_prompt(world: World, rng: random.Random) -> Prompt:
    """Draws an opening, and facts for its slots."""
    openings = rng.choice(world.openings)
    return Prompt(world.facts(rng), rng.choice(openings))


def reserved_prompts(world: World, rng: random.Random) -> Iterator[Prompt]:
    """Yields prompts that are kept for rated sets, without end."""
    return draw_reserved(partial(random_prompt, world), rng, attrgetter("first"))


def repeat_label(label: str) -> Labels:
    """Returns a function that gives this label to every sentence."""
    return lambda n: [label] * n


def draw_inputs(world: World, rng: random.Random, n: int) -> list[Prompt]:
    """Draws `n` prompts with different prefixes."""
    prompts = reserved_prompts(world, rng)
    inputs = [*islice(distinct(prompts, attrgetter("prefix")), n)]
    next(prompts)  # not used; without it a seed would give other texts
    return inputs


def _deal_levels(world: World, n: int, rng: random.Random) -> dict[str, list[tuple[int, dict[str, int]]]]:
    """For each system, the length in words and the levels of damage of each of `n` texts.

    Of the texts sorted by length, each four neighbours go to the four systems; the levels of a system are distributed
    over each eight neighbours among its texts.
    """
    all_lengths = _draw_lengths(world, n * len(SYSTEMS), rng)
    starts = range(0, len(all_lengths), len(SYSTEMS))
    neighbours = [rng.sample(all_lengths[start : start + len(SYSTEMS)], len(SYSTEMS)) for start in starts]
    dealt: dict[str, list[tuple[int, dict[str, int]]]] = {}
    for (system, good_aspects), lengths in zip(SYSTEMS.items(), zip(*neighbours, strict=True), strict=True):
        columns = [_deal(shares[aspect not in good_aspects], n, rng) for aspect, shares in SHARES.items()]
        levels = [dict(zip(SHARES, row, strict=True)) for row in zip(*columns, strict=True)]
        rows = [*zip(lengths, levels, strict=True)]
        dealt[system] = rng.sample(rows, n)
    return dealt


def _draw_lengths(world: World, n: int, rng: random.Random) -> list[int]:
    """The numbers of words of `n` texts, in ascending order."""
    prompts = reserved_prompts(world, rng)
    texts = (world.compose(rng, prompt, repeat_label(rng.choice(world.labels))) for prompt in prompts)
    long_texts = (sentences for sentences in texts if len(sentences) >= LEAST_RATED)
    return sorted(count_words(join_sentences(sentences)) for sentences in islice(long_texts, n))


def _deal(shares: Sequence[int], n: int, rng: random.Random) -> Iterable[int]:
    """`n` levels: the levels of `shares` again and again, each time in a random order."""
    rounds = [rng.sample(shares, len(shares)) for _ in range(0, n, len(shares))]
    return islice(chain.from_iterable(rounds), n)


def damage_consistency(
    world: World,
    rng: random.Random,
    prompt: Prompt,
    level: int,
    labels: Labels,
    length: int,
) -> list[Sentence]:
    """Writes about `length` words on the thing in the prefix (level 0), one of the same kind (1) or of another (2)."""
    best: list[Sentence] = []
    least = float("inf")
    for _ in range(DRAWS):
        other = (
            prompt
            if level == 0
            else _other_prompt(
                world,
                rng,
                prompt,
                another_kind=level == 2,
            )
        )
        first, *others = world.compose(rng, other, labels)
        text = prompt.prefix + first.text.removeprefix(other.prefix)
        sentences = [first._replace(text=text), *others]
        distance = abs(count_words(join_sentences(sentences)) - length)
        if len(sentences) >= LEAST_RATED and distance < least:
            best = sentences
            least = distance
        if least == 0:
            break
    return best


def _other_prompt(
    world: World,
    rng: random.Random,
    prompt: Prompt,
    another_kind: bool,
) -> Prompt:
    """The same beginning with another name of the thing, or another name and kind; all other facts stay."""
    changed = world.identity[: 1 + another_kind]
    taken = world.identity if another_kind else changed
    while True:
        facts = world.facts(rng)
        new_facts = {slot: facts[slot] for slot in taken}
        other = prompt._replace(facts={**prompt.facts, **new_facts})
        is_other = all(facts[slot] != prompt.facts[slot] for slot in changed)
        if is_other and len(other.prefix.split()) == len(prompt.prefix.split()):
            return other


def draw_foreign_sentences(world: World, rng: random.Random) -> list[Sentence]:
    """Draws sentences of other texts, except first sentences and sentences that name a thing."""
    foreign: list[Sentence] = []
    for prompt in islice(reserved_prompts(world, rng), DONORS):
        for label in world.labels:
            _, *others = world.compose(rng, prompt, repeat_label(label))
            foreign += [sentence for sentence in others if not sentence.naming]
    return foreign


def damage_coherence(
    sentences: Sequence[Sentence],
    level: int,
    rng: random.Random,
    donors: Sequence[Sentence],
) -> tuple[str, ...]:
    """Replaces or displaces a third (level 1), two thirds (2) or all (3) of the sentences after the first.

    A foreign sentence has about as many words as the one that it replaces, has the same label, and is about something
    else. Sentences that name the thing stay in the text, because they affect consistency.
    """
    texts = tuple(sentence.text for sentence in sentences)
    body = range(1, len(sentences))
    damages = round(len(body) * level / WORST["coherence"])
    free = [i for i in body if not sentences[i].naming]
    displaced = 2 if damages > 1 and rng.random() < DISPLACED_SHARE else 0
    replaced = rng.sample(free, min(damages - displaced, len(free)))
    here = {thing for sentence in sentences for thing in sentence.about}
    for i in replaced:
        fitting = [donor for donor in donors if donor.label == sentences[i].label and here.isdisjoint(donor.about)]
        texts = damage.replace_sentence(texts, i, (donor.text for donor in fitting if donor.text not in texts), rng)
    exchanged = rng.sample([i for i in body if i not in replaced], displaced)
    return permute_anew(texts, exchanged, rng) if exchanged else texts
