"""Built-in verse: synthetic Chinese poems after invented tunes, with themes, rhymes and tones.

Lines end with a full stop, and all lines of a poem rhyme. The tune names are invented, so that nobody takes them for
real ones. `worlds/verse.txt` explains the notation of tunes.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from core.example import Example
from data.builtin.world_files import read_world, table, words


class Theme(NamedTuple):
    """What a poem is about.

    Attributes:
        level: nouns of two characters that end in a level tone.
        oblique: nouns of two characters that end in an oblique tone.
        verbs: transitive verbs of one character.
    """

    level: tuple[str, ...]
    oblique: tuple[str, ...]
    verbs: tuple[str, ...]


FILE = read_world("verse")
RHYMING = "韵"
PATTERNS: Mapping[str, tuple[str, ...]] = table(FILE["tunes"])
# Tune -> its form: per phrase the number of characters and the mark that follows.
TUNES: Mapping[str, tuple[tuple[int, str], ...]] = {
    name: tuple((len(phrase) - 1, phrase[-1]) for phrase in pattern) for name, pattern in PATTERNS.items()
}
THEMES: Mapping[str, Theme] = {
    name: Theme(*(tuple(line.split()) for (line,) in lines)) for (name,), *lines in FILE["themes"]
}
RHYMES: Mapping[str, tuple[str, ...]] = table(FILE["rhymes"])
MODIFIERS_LEVEL, MODIFIERS_OBLIQUE, PERSON_VERBS = (
    words(FILE[name]) for name in ("modifiers level", "modifiers oblique", "person verbs")
)


@dataclass(frozen=True)
class _Drawing:
    """Draws the words of one poem; no word of two characters occurs twice."""

    rng: random.Random
    theme: Theme
    rhymes: tuple[str, ...]
    used: set[str]

    def draw_thing(self, tone: str) -> str:
        """Draws a noun of two characters that ends in the tone, or that rhymes."""
        things = {"平": self.theme.level, "仄": self.theme.oblique, RHYMING: self.rhymes}
        return self.draw_new(things.get(tone, self.theme.level + self.theme.oblique))

    def draw_modifier(self, tone: str) -> str:
        """Draws two characters that say when, where or how, and end in the tone."""
        return self.draw_new(MODIFIERS_LEVEL if tone == "平" else MODIFIERS_OBLIQUE)

    def draw_new(self, choices: tuple[str, ...]) -> str:
        """Draws a word that the poem does not have yet."""
        word = self.rng.choice([word for word in choices if word not in self.used])
        self.used.add(word)
        return word

    def draw_phrase(self, pattern: str) -> str:
        """Draws a phrase of 3 to 7 characters from words whose last characters have the tones of the pattern."""
        tones, mark = pattern[:-1], pattern[-1]
        verb = self.rng.choice(self.theme.verbs)
        match len(tones):
            case 3:
                parts = [self.rng.choice(PERSON_VERBS), self.draw_thing(tones[2])]
            case 4:
                parts = [self.draw_thing(tones[1]), self.draw_thing(tones[3])]
            case 5:
                parts = [self.draw_thing(tones[1]), verb, self.draw_thing(tones[4])]
            case 6:
                parts = [self.draw_modifier(tones[1]), self.draw_thing(tones[3]), self.draw_thing(tones[5])]
            case _:
                parts = [self.draw_modifier(tones[1]), self.draw_thing(tones[3]), verb, self.draw_thing(tones[6])]
        return "".join(parts) + mark


def generate_verse(n: int, seed: int) -> tuple[Example, ...]:
    """`n` different poems of every tune in turn; the same seed gives the same poems.

    `prefix` and `group` are the name of the tune, `label` is the theme, `text` the poem with its marks. With a
    larger `n` the first poems stay the same.

    >>> len(generate_verse(1, seed=0)[0].text) == sum(length + 1 for length, _ in TUNES["听松引"])
    True
    """
    rng = random.Random(seed)
    found: dict[str, tuple[str, str]] = {}
    names = tuple(PATTERNS)
    while len(found) < n:
        tune = names[len(found) % len(names)]
        theme = rng.choice(tuple(THEMES))
        drawing = _Drawing(rng, THEMES[theme], RHYMES[rng.choice(tuple(RHYMES))], set())
        text = "".join(drawing.draw_phrase(pattern) for pattern in PATTERNS[tune])
        found.setdefault(text, (tune, theme))
    return tuple(
        Example(f"builtin-verse-{seed}-{i}", text=text, prefix=tune, label=theme, group=tune)
        for i, (text, (tune, theme)) in enumerate(found.items())
    )
