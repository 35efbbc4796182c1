"""Perturbations of texts and dialogues: damage of graded strength, and edits that should change nothing.

An audit asks whether a metric's score falls under damage and stays under edits. `negate`, `swap_entities` and the edits
work for English only. A perturbation returns a text that it cannot change as it is.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from core.example import Example
from data.sentences import split_at_marks

T = TypeVar("T")
Units = tuple[str, ...]  # the turns of a dialogue, or the sentences of a text
Damage = Callable[[Units, Units, float, random.Random], Units]  # units, units of another example, strength, generator

AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|will|would|should|does|did|has|have|had)\b(?! not\b)", re.I)
ENTITY = re.compile(r"(?<=[a-z,;] )[A-Z][\w'-]+|\b\d[\d.,]*\b")  # a capitalised word within a sentence, or a number
LAST_MARK = re.compile(r"[.!?]+(?=\s|$)")
CONTRACTIONS = {
    r"\b(is|are|was|were|does|did|has|have|had|could|would|should) not\b": r"\1n't",
    r"\b(do) not\b": r"\1n't",
    r"\b(it|that|he|she|there) is\b": r"\1's",
    r"\b(we|they|you) are\b": r"\1're",
    r"\bI am\b": "I'm",
}


def reorder(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Exchanges a share of the units among themselves."""
    if len(set(units)) < 2:
        return units
    while True:
        places = _choose(range(len(units)), strength, rng, at_least=2)
        if len({units[place] for place in places}) > 1:
            break
    moved = list(units)
    while tuple(moved) == units:
        for place, source in zip(places, rng.sample(places, len(places)), strict=True):
            moved[place] = units[source]
    return tuple(moved)


def retrieve(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Replaces the last units by units of another example."""
    count = len(_choose(units, strength, rng))
    return units[: len(units) - count] + other[-count:]


def drop(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Removes a share of the units, but keeps one, or two of more than two, so that a dialogue remains one."""
    kept = 2 if len(units) > 2 else 1
    gone = set(_choose(range(len(units)), strength, rng)[: max(0, len(units) - kept)])
    return tuple(unit for i, unit in enumerate(units) if i not in gone)


def repeat(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Repeats a share of the units."""
    twice = set(_choose(range(len(units)), strength, rng))
    return tuple(unit for i, unit in enumerate(units) for _ in range(2 if i in twice else 1))


def negate(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Adds "not" after a share of the auxiliary verbs.

    >>> negate(("He is here.", "She was not."), (), 1.0, random.Random(0))
    ('He is not here.', 'She was not.')
    """
    return _replace_matches(AUXILIARY, units, strength, rng, lambda found: f"{found} not")


def swap_entities(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Replaces a share of the names and numbers by names and numbers of another example.

    >>> swap_entities(("I met Ann in 1999.",), ("I saw Bob.",), 1.0, random.Random(0))
    ('I met Bob in Bob.',)
    """
    theirs = [found for unit in other for found in ENTITY.findall(unit)]
    if not theirs:
        return units
    return _replace_matches(ENTITY, units, strength, rng, lambda _: rng.choice(theirs))


def insert_foreign(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Inserts units of another example after a share of the units."""
    behind = set(_choose(range(len(units)), strength, rng))
    return tuple(u for i, unit in enumerate(units) for u in ((unit, rng.choice(other)) if i in behind else (unit,)))


def swap_speakers(units: Units, other: Units, strength: float, rng: random.Random) -> Units:
    """Exchanges a share of the turns with the next turn, so that each is said by the other speaker."""
    swapped = list(units)
    for i in _choose(range(0, len(units) - 1, 2), strength, rng):
        swapped[i : i + 2] = swapped[i + 1], swapped[i]
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
    """Contracts auxiliary verbs and "not".

    >>> contract("It is not here, and they are not there.")
    "It isn't here, and they aren't there."
    """
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
    """The turns of a dialogue, or the sentences of a text."""
    return example.turns or tuple(split_at_marks(example.text))


def damage_example(example: Example, other: Example, name: str, strength: float, seed: int) -> Example:
    """Applies the damage `name` of `DAMAGES`; returns the same example if it cannot be damaged like this.

    The sentences that hold the prefix of an example stay as they are, because they were given and not generated.

    Args:
        other: the example that foreign units come from.
        strength: the share of the damageable parts to damage, in (0, 1].
        seed: of the random draws, which do not depend on other examples in the file.
    """
    units = split_units(example)
    if not units or (name == "speaker swap" and not example.turns):
        return example
    given = count_given(example, units)
    if given == len(units):
        return example
    rng = random.Random(f"{seed} {name} {example.id}")
    damaged = units[:given] + DAMAGES[name](units[given:], split_units(other), strength, rng)
    if damaged == units:
        return example
    return replace(example, turns=damaged) if example.turns else replace(example, text=" ".join(damaged))


def count_given(example: Example, units: Units) -> int:
    """The number of units at the beginning that hold the prefix of the example.

    >>> count_given(Example("a", text="It is. So it is. Yes.", prefix="It is. So"), ("It is.", "So it is.", "Yes."))
    2
    """
    prefix = example.prefix or ""
    if not example.text.startswith(prefix):
        return 0
    return next(k for k in range(len(units) + 1) if len(" ".join(units[:k])) >= len(prefix) or k == len(units))


def edit_example(example: Example, name: str) -> Example:
    """Applies the edit `name` of `EDITS` to text, turns and prefix; the prefix must still begin the text."""
    edit = EDITS[name]
    prefix = None if example.prefix is None else edit(example.prefix)
    return replace(example, text=edit(example.text), turns=tuple(map(edit, example.turns)), prefix=prefix)


def _choose(items: Sequence[T], strength: float, rng: random.Random, at_least: int = 1) -> list[T]:
    return rng.sample(list(items), min(len(items), max(at_least, round(strength * len(items)))))


def _replace_matches(
    pattern: re.Pattern[str], units: Units, strength: float, rng: random.Random, change: Callable[[str], str]
) -> Units:
    found = [(i, match.start()) for i, unit in enumerate(units) for match in pattern.finditer(unit)]
    chosen = set(_choose(found, strength, rng))
    return tuple(
        pattern.sub(lambda match, i=i: change(match[0]) if (i, match.start()) in chosen else match[0], unit)
        for i, unit in enumerate(units)
    )
