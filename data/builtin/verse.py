"""Built-in verse: synthetic Chinese poems after invented tunes, with themes, rhymes and tones.

A tune is written phrase by phrase: 平 for a level tone, 仄 for an oblique one, 中 for either, 韵 for a level tone that
rhymes, then the mark. Lines end with a full stop, and all lines of a poem rhyme. The tune names are invented, so that
nothing is mistaken for a real one.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from core.example import Example
from data.builtin.verse_words import (
    MODIFIERS_LEVEL,
    MODIFIERS_OBLIQUE,
    PERSON_VERBS,
    RHYMES,
    THEMES,
    Theme,
)

RHYMING = "韵"

PATTERNS: Mapping[str, tuple[str, ...]] = {
    "听松引": ("中平中中仄，", "中仄中中韵。", "中仄中平中中仄，", "中平中中韵。"),
    "月下舟": ("中中仄，", "中中仄，", "中平中仄中中韵。", "中平中中仄，", "中仄中中韵。"),
    "采云令": ("中平中仄，", "中仄中平，", "中平中仄中韵。", "中仄中平，", "中平中仄，", "中仄中平中韵。"),
    "寄远笺": ("中仄中平中仄，", "中平中仄中韵。", "中平中仄中中韵。", "中仄中中韵。"),
    "半窗灯": ("中平中仄中中韵。", "中仄中平中中韵。", "中中仄，", "中中韵。", "中平中仄中中韵。"),
    "小桥烟": ("中仄中平中中仄，", "中平中仄中中韵。", "中仄中平中中仄，", "中平中仄中中韵。"),
    "扫雪歌": ("中平中仄，", "中仄中中韵。", "中平中仄，", "中仄中中韵。"),
    "晚渡谣": ("中中韵。", "中仄中中韵。", "中平中仄中中韵。"),
    "倚梅辞": ("中仄中中韵。", "中平中中韵。", "中平中仄，", "中仄中平，", "中平中中韵。"),
    "空山磬": ("中平中仄中仄，", "中仄中平中韵。", "中仄中中仄，", "中平中中韵。"),
    "秋衾梦": ("中中仄，", "中仄中平，", "中平中仄中中韵。", "中中仄，", "中仄中平，", "中平中仄中中韵。"),
    "渔灯曲": ("中平中仄中中韵。", "中中仄，", "中仄中中韵。", "中平中仄，", "中仄中中韵。"),
}

# Tune -> its form: per phrase the number of characters and the mark that follows.
TUNES: Mapping[str, tuple[tuple[int, str], ...]] = {
    name: tuple((len(phrase) - 1, phrase[-1]) for phrase in pattern) for name, pattern in PATTERNS.items()
}


@dataclass(frozen=True)
class _Drawing:
    """What the words of one poem are drawn from; no word of two characters comes twice."""

    rng: random.Random
    theme: Theme
    rhymes: tuple[str, ...]
    used: set[str]

    def thing(self, tone: str) -> str:
        """Two characters that end in the tone, or that rhyme."""
        words = {"平": self.theme.level, "仄": self.theme.oblique, RHYMING: self.rhymes}
        return self.new(words[tone] if tone in words else self.theme.level + self.theme.oblique)

    def modifier(self, tone: str) -> str:
        """Two characters that say when, where or how, and end in the tone."""
        return self.new(MODIFIERS_LEVEL if tone == "平" else MODIFIERS_OBLIQUE)

    def new(self, words: tuple[str, ...]) -> str:
        """A word that the poem does not have yet."""
        word = self.rng.choice([word for word in words if word not in self.used])
        self.used.add(word)
        return word

    def phrase(self, pattern: str) -> str:
        """A phrase of 3 to 7 characters, built of words whose last characters have the tones of the pattern."""
        tones, mark = pattern[:-1], pattern[-1]
        verb = self.rng.choice(self.theme.verbs)
        match len(tones):
            case 3:
                words = [self.rng.choice(PERSON_VERBS), self.thing(tones[2])]
            case 4:
                words = [self.thing(tones[1]), self.thing(tones[3])]
            case 5:
                words = [self.thing(tones[1]), verb, self.thing(tones[4])]
            case 6:
                words = [self.modifier(tones[1]), self.thing(tones[3]), self.thing(tones[5])]
            case _:
                words = [self.modifier(tones[1]), self.thing(tones[3]), verb, self.thing(tones[6])]
        return "".join(words) + mark


def generate_verse(n: int, seed: int, exclude: Collection[str] = ()) -> tuple[Example, ...]:
    """`n` different poems of every tune in turn, the same for the same seed everywhere.

    `prefix` and `group` are the name of the tune, `label` is the theme, `text` the poem with its marks. No poem is in
    `exclude`. With a larger `n` the first poems stay the same.

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
        text = "".join(drawing.phrase(pattern) for pattern in PATTERNS[tune])
        if text not in exclude:
            found.setdefault(text, (tune, theme))
    return tuple(
        Example(f"builtin-verse-{seed}-{i}", text=text, prefix=tune, label=theme, group=tune)
        for i, (text, (tune, theme)) in enumerate(found.items())
    )
