"""Damage of texts and dialogues: operations on their units, graded damage, harmless edits, and MARS's adversaries.

A unit is a sentence of a text or a turn of a dialogue. An audit asks whether a metric's score falls under damage and
stays the same under edits. `negate`, `swap_entities` and the edits work for English only; a text that they cannot
change is returned as it is. The negatives that other metrics learn from (`baselines.perturbation`, `cdm.rules`) are
made with the same operations. `data.builtin.damage` shares no code with them, because code that trains a metric must
never call it.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from core.example import Example, Examples
from data.sentences import split_sentences
from data.words import BLEU_SAFE

T = TypeVar("T")
Units = tuple[str, ...]  # the turns of a dialogue, or the sentences or words of a text
Place = tuple[int, re.Match[str]]  # the unit in which a match stands, and the match

AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|will|would|should|does|did|has|have|had)\b(?! not\b)", re.I)
ENTITY = re.compile(r"(?<=[a-z,;] )[A-Z][\w'-]+|\b\d[\d.,]*\b")  # a capitalised word within a sentence, or a number
LAST_MARK = re.compile(r"[.!?]+(?=\s|$)")
CONTRACTIONS = {
    r"\b(is|are|was|were|do|does|did|has|have|had|could|would|should) not\b": r"\1n't",
    r"\b(it|that|he|she|there) is\b": r"\1's",
    r"\b(we|they|you) are\b": r"\1're",
    r"\bI am\b": "I'm",
}


def choose_share(
    items: Sequence[T],
    share: float,
    rng: random.Random,
    at_least: int = 1,
) -> list[T]:
    """Draws a share of the items: at least `at_least` items, or all if there are fewer."""
    wanted = max(at_least, round(share * len(items)))
    return rng.sample(list(items), min(len(items), wanted))


def permute(units: Units, places: Sequence[int], rng: random.Random) -> Units:
    """Shuffles the units at `places`; the order may stay the same."""
    moved = list(units)
    sources = rng.sample(places, len(places))
    for place, source in zip(places, sources, strict=True):
        moved[place] = units[source]
    return tuple(moved)


def permute_anew(units: Units, places: Sequence[int], rng: random.Random) -> Units:
    """Shuffles the units at `places` until their order differs from the old one.

    At least two of these units must be different.
    """
    while (moved := permute(units, places, rng)) == units:
        pass
    return moved


def replace_unit(units: Units, i: int, unit: str) -> Units:
    """Replaces the unit at index `i`."""
    return (*units[:i], unit, *units[i + 1 :])


def replace_ending(units: Units, start: int, other: Units) -> Units:
    """Replaces the units from `start` on by as many of the last units of `other`, or by all if it has fewer."""
    return units[:start] + other[start - len(units) :]


def find_places(pattern: re.Pattern[str], units: Units) -> list[Place]:
    """Finds all matches of the pattern, in the order of the text."""
    return [(i, match) for i, unit in enumerate(units) for match in pattern.finditer(unit)]


def replace_places(units: Units, replacements: Iterable[tuple[Place, str]]) -> Units:
    """Replaces each given match by another text.

    >>> replace_places(("so so",), zip(find_places(re.compile("so"), ("so so",)), ("oh", "no"), strict=True))
    ('oh no',)
    """
    changed = list(units)
    in_order = sorted(replacements, key=lambda replacement: -replacement[0][1].start())
    for (i, match), new in in_order:  # from the end, so that the other places stay true
        before = changed[i][: match.start()]
        after = changed[i][match.end() :]
        changed[i] = before + new + after
    return tuple(changed)


class Draw(NamedTuple):
    """What a damage draws from."""

    other: Units  # of another example
    strength: float  # the share of the units or words to damage, in (0, 1]
    rng: random.Random

    def choose(self, items: Sequence[T], at_least: int = 1) -> list[T]:
        """Draws as `choose_share` does."""
        return choose_share(
            items,
            self.strength,
            self.rng,
            at_least,
        )


Damage = Callable[[Units, Draw], Units]


def reorder(units: Units, draw: Draw) -> Units:
    """Exchanges a share of the units among themselves."""
    if len(set(units)) < 2:
        return units
    while True:
        places = draw.choose(range(len(units)), at_least=2)
        if len({units[place] for place in places}) > 1:
            break
    return permute_anew(units, places, draw.rng)


def retrieve(units: Units, draw: Draw) -> Units:
    """Replaces the last units by units of another example."""
    replaced = len(draw.choose(units))
    return replace_ending(units, len(units) - replaced, draw.other)


def drop(units: Units, draw: Draw) -> Units:
    """Removes a share of the units.

    Keeps at least one unit, and at least two of more than two, so that a dialogue stays one.
    """
    kept = 2 if len(units) > 2 else 1
    chosen = draw.choose(range(len(units)))
    dropped = set(chosen[: max(0, len(units) - kept)])
    return tuple(unit for i, unit in enumerate(units) if i not in dropped)


def repeat(units: Units, draw: Draw) -> Units:
    """Repeats a share of the units."""
    return _insert(units, draw, str)


def negate(units: Units, draw: Draw) -> Units:
    """Adds "not" after a share of the auxiliary verbs.

    >>> negate(("He is here.", "She was not."), Draw((), 1.0, random.Random(0)))
    ('He is not here.', 'She was not.')
    """
    chosen = draw.choose(find_places(AUXILIARY, units))
    return replace_places(units, [(place, f"{place[1][0]} not") for place in chosen])


def swap_entities(units: Units, draw: Draw) -> Units:
    """Replaces a share of the names and numbers by names and numbers of another example.

    >>> swap_entities(("I met Ann in 1999.",), Draw(("I saw Bob.",), 1.0, random.Random(0)))
    ('I met Bob in Bob.',)
    """
    foreign = [match[0] for _, match in find_places(ENTITY, draw.other)]
    if not foreign:
        return units
    chosen = draw.choose(find_places(ENTITY, units))
    in_order = sorted(chosen, key=lambda place: (place[0], place[1].start()))
    return replace_places(units, [(place, draw.rng.choice(foreign)) for place in in_order])


def insert_foreign(units: Units, draw: Draw) -> Units:
    """Inserts units of another example after a share of the units."""
    return _insert(units, draw, lambda _: draw.rng.choice(draw.other))


def _insert(units: Units, draw: Draw, make: Callable[[str], str]) -> Units:
    """Makes another unit after each of a share of the units."""
    behind = set(draw.choose(range(len(units))))
    longer: list[str] = []
    for i, unit in enumerate(units):
        longer += [unit, make(unit)] if i in behind else [unit]
    return tuple(longer)


def swap_speakers(units: Units, draw: Draw) -> Units:
    """Exchanges a share of the turns with the next turn, so that the other speaker says each of these turns."""
    swapped = list(units)
    for i in draw.choose(range(0, len(units) - 1, 2)):
        swapped[i] = units[i + 1]
        swapped[i + 1] = units[i]
    return tuple(swapped)


DAMAGES: Mapping[str, Damage] = {
    "reorder": reorder,
    "retrieve": retrieve,
    "drop": drop,
    "repeat": repeat,
    "negate": negate,
    "entity swap": swap_entities,
    "speaker swap": swap_speakers,  # for dialogues only
    "foreign sentence": insert_foreign,
}


def contract(text: str) -> str:
    """Contracts auxiliary verbs and "not"."""
    for pattern, short in CONTRACTIONS.items():
        text = re.sub(pattern, short, text, flags=re.I)
    return text


EDITS: Mapping[str, Callable[[str], str]] = {
    "case": str.lower,
    "white space": lambda text: re.sub(r" +", "  ", text),
    "punctuation": lambda text: LAST_MARK.sub("", text),
    "contraction": contract,
}


def split_units(example: Example) -> Units:
    """Returns the units of an example: the turns of a dialogue, or the sentences of a text."""
    return example.turns or tuple(split_sentences(example.text))


def damage_example(
    example: Example,
    other: Example,
    name: str,
    strength: float,
    seed: int,
) -> Example:
    """Applies the damage `name` of `DAMAGES`; returns the example unchanged if it cannot be damaged this way.

    The sentences of its prefix stay, because they were not generated. Foreign units come from `other`. What is drawn
    depends only on the example and the seed.
    """
    units = split_units(example)
    if not units or (name == "speaker swap" and not example.turns):
        return example
    given = count_given(example, units)
    if given == len(units):
        return example
    draw = Draw(split_units(other), strength, random.Random(f"{seed} {name} {example.id}"))
    damaged = units[:given] + DAMAGES[name](units[given:], draw)
    if damaged == units:
        return example
    if example.turns:
        return replace(example, turns=damaged)
    return replace(example, text=" ".join(damaged))


def count_given(example: Example, units: Units) -> int:
    """Counts the leading units that contain the prefix of the example.

    >>> count_given(Example("a", text="It is. So it is. Yes.", prefix="It is. So"), ("It is.", "So it is.", "Yes."))
    2
    >>> count_given(Example("a", turns=("It is.", "Yes."), prefix="It is."), ("It is.", "Yes."))  # the prefix of a text
    0
    """
    prefix = example.prefix or ""
    if not example.text.startswith(prefix):
        return 0
    for count in range(len(units)):
        if len(" ".join(units[:count])) >= len(prefix):
            return count
    return len(units)


def edit_example(example: Example, name: str) -> Example:
    """Applies the edit `name` of `EDITS` to text, turns and prefix; the text still begins with its prefix.

    The example stays unchanged if the edit would leave nothing.
    """
    edit = EDITS[name]
    edited = replace(
        example,
        text=edit(example.text),
        turns=tuple(map(edit, example.turns)),
        prefix=None if example.prefix is None else edit(example.prefix),
    )
    return edited if edited.turns or edited.text.strip() else example


def apply_reorder(examples: Sequence[Example], seed: int) -> Examples:
    """Reorder: exchanges half of the words of each text among themselves; punctuation and spaces stay.

    An adversary of MARS (Table 4): a bad candidate that shares its words with a good text, so BLEU-1 stays the same. A
    text with fewer than two different words, or without spaces between them, stays as it is.

    >>> apply_reorder([Example("a", text="no, yes!")], seed=0)[0].text
    'yes, no!'
    """
    shuffled: list[Example] = []
    for example in examples:
        rng = random.Random(f"{seed} {example.id}")
        shuffled.append(replace(example, text=_shuffle(example.text, rng)))
    return tuple(shuffled)


def apply_retrieve(examples: Sequence[Example], seed: int) -> Examples:
    """Retrieve: replaces each text by a random sentence of its context, another adversary of MARS (Table 4).

    Raises ValueError for an example without context.
    """
    retrieved: list[Example] = []
    for example in examples:
        if not example.context or not example.context.strip():
            raise ValueError(f"Retrieve needs a context, but {example.id!r} has none")
        rng = random.Random(f"{seed} {example.id}")
        sentence = rng.choice(split_sentences(example.context))
        retrieved.append(replace(example, text=sentence))
    return tuple(retrieved)


def _shuffle(text: str, rng: random.Random) -> str:
    matches = find_places(BLEU_SAFE, (text,))
    places = [(i, match) for i, match in matches if any(map(str.isalnum, match[0]))]
    words = tuple(match[0] for _, match in places)
    if len(set(words)) < 2:
        return text
    half = max(2, len(words) // 2)
    while (moved := permute(words, rng.sample(range(len(words)), half), rng)) == words:
        pass
    (shuffled,) = replace_places((text,), zip(places, moved, strict=True))
    return shuffled
