"""Built-in verse: synthetic Chinese poems after invented tunes (`worlds/verse.txt`), with themes, rhymes, tones."""

import random
from collections.abc import Collection, Mapping
from dataclasses import replace
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
THEMES = {name: Theme(*(tuple(line.split()) for (line,) in lines)) for (name,), *lines in FILE["themes"]}
RHYMES: Mapping[str, tuple[str, ...]] = table(FILE["rhymes"])
MODIFIERS = {"平": WORDS["modifiers level"], "仄": WORDS["modifiers oblique"]}
SHAPES = {len(shape): shape for shape in SAID["shapes"]}  # a letter for each character, see the file


def generate_verse(
    n: int,
    seed: int,
    exclude: Collection[str] = (),
) -> tuple[Example, ...]:
    """Poems of every tune in turn.

    `prefix` is the name of the tune, `label` the theme, `text` the poem with its punctuation. Twelve tunes are too few
    to be the inputs, so each poem is one (`group`).
    """
    rng = random.Random(seed)
    tunes = tuple(PATTERNS)

    def draw(i: int) -> Example:
        tune, theme = tunes[i % len(tunes)], rng.choice(tuple(THEMES))
        text = write_poem(rng, PATTERNS[tune], THEMES[theme], RHYMES[rng.choice(tuple(RHYMES))])
        return Example(
            "",
            text=text,
            prefix=tune,
            label=theme,
        )

    return tuple(replace(poem, group=poem.id) for poem in collect(f"builtin-verse-{seed}", n, draw, exclude))


def write_poem(
    rng: random.Random,
    pattern: tuple[str, ...],
    theme: Theme,
    rhymes: tuple[str, ...],
) -> str:
    """A poem whose words end in the tones of the pattern; no word of two characters occurs twice."""
    nouns = {"平": theme.level, "仄": theme.oblique, RHYMING: rhymes, "中": theme.level + theme.oblique}
    used: set[str] = set()

    def draw_new(choices: tuple[str, ...]) -> str:
        word = rng.choice([word for word in choices if word not in used])
        used.add(word)
        return word

    def draw_phrase(tones: str) -> str:
        verb, text = rng.choice(theme.verbs), ""
        while len(text) < len(tones):
            kind = SHAPES[len(tones)][len(text)]
            match kind:
                case "p":
                    text += rng.choice(WORDS["person verbs"])
                case "v":
                    text += verb
                case "m":
                    text += draw_new(MODIFIERS["平" if tones[len(text) + 1] == "平" else "仄"])
                case _:
                    text += draw_new(nouns[tones[len(text) + 1]])
        return text

    return "".join(draw_phrase(phrase[:-1]) + phrase[-1] for phrase in pattern)
