"""Built-in verse: synthetic Chinese poems after invented tunes (`worlds/verse.txt`), with themes, rhymes, tones."""

import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from core.example import Example
from data.builtin.grammar import collect, read_world, table


class Theme(NamedTuple):
    """What a poem is about."""

    level: tuple[str, ...]  # nouns of two characters that end in a level tone
    oblique: tuple[str, ...]  # nouns of two characters that end in an oblique tone
    verbs: tuple[str, ...]  # transitive verbs of one character


FILE, SAID, WORDS = read_world("verse")
RHYMING = "韵"
PATTERNS: Mapping[str, tuple[str, ...]] = table(FILE["tunes"])


def read_theme(lines: Sequence[Sequence[str]]) -> Theme:
    """Parses a theme: a line each for the nouns of either tone and for the verbs."""
    level, oblique, verbs = (tuple(words.split()) for (words,) in lines)
    return Theme(level, oblique, verbs)


THEMES = {name: read_theme(lines) for (name,), *lines in FILE["themes"]}
RHYMES: Mapping[str, tuple[str, ...]] = table(FILE["rhymes"])
MODIFIERS = {"平": WORDS["modifiers level"], "仄": WORDS["modifiers oblique"]}  # any other tone takes the oblique ones
SHAPES = {len(shape): re.findall("p|v|mm|nn", shape) for shape in SAID["shapes"]}  # by length


def generate_verse(n: int, seed: int, exclude: Collection[str] = ()) -> tuple[Example, ...]:
    """Generates poems; the tunes alternate.

    `prefix` is the name of the tune, `label` the theme, `text` the poem with its punctuation. Each poem is its own
    `group`, because twelve tunes would be too few groups for intervals.
    """
    rng = random.Random(seed)
    tunes = tuple(PATTERNS)

    def draw(i: int) -> Example:
        tune = tunes[i % len(tunes)]
        theme = rng.choice(tuple(THEMES))
        rhyme = rng.choice(tuple(RHYMES))
        text = write_poem(
            rng,
            PATTERNS[tune],
            THEMES[theme],
            RHYMES[rhyme],
        )
        return Example(
            "",
            text=text,
            prefix=tune,
            label=theme,
        )

    poems = collect(
        f"builtin-verse-{seed}",
        n,
        draw,
        exclude,
    )
    return tuple(replace(poem, group=poem.id) for poem in poems)


def write_poem(
    rng: random.Random,
    pattern: tuple[str, ...],
    theme: Theme,
    rhymes: tuple[str, ...],
) -> str:
    """Writes a poem whose words end in the tones of the pattern. No word of two characters occurs twice."""
    nouns = {
        "平": theme.level,
        "仄": theme.oblique,
        RHYMING: rhymes,
        "中": theme.level + theme.oblique,
    }
    used: set[str] = set()

    def draw_new(choices: Sequence[str]) -> str:
        word = rng.choice([word for word in choices if word not in used])
        used.add(word)
        return word

    text = ""
    for *tones, punctuation in pattern:
        ends = iter(tones)
        verb = rng.choice(theme.verbs)
        for unit in SHAPES[len(tones)]:
            *_, tone = islice(ends, len(unit))
            match unit:
                case "p":
                    text += rng.choice(WORDS["person verbs"])
                case "v":
                    text += verb
                case "mm":
                    text += draw_new(MODIFIERS.get(tone, MODIFIERS["仄"]))
                case _:
                    text += draw_new(nouns[tone])
        text += punctuation
    return text
