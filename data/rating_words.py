"""Words as ratings or scores: yes, pass and true are 1; no, fail and false are 0; `levels` gives others their order."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from core.errors import SettingError, format_value, setting
from data.numeric import WORDS

MOST_WORDS = 10  # different ones of a rating without `levels`; more are no scale
TRUTH = {"true", "false"}  # of JSON, which need no note
ALL = ""  # the ratings that no other order is for
COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")
Column: TypeAlias = tuple[str, str]  # `ratings` or `scores`, and the name of the aspect or the metric
Level: TypeAlias = str | float
Levels: TypeAlias = tuple[tuple[str, tuple[Level, ...]], ...]  # by aspect, or by ALL
GivenLevels: TypeAlias = Literal["auto"] | Sequence[Level] | Mapping[str, Sequence[Level]]


def freeze_levels(levels: GivenLevels | None) -> Levels:
    """Makes the setting `levels` hashable. Raises SettingError for values that are not scales."""
    if levels is None or levels == "auto":
        return ()
    scales = levels if isinstance(levels, Mapping) else {ALL: levels}
    frozen: list[tuple[str, tuple[Level, ...]]] = []
    for name, scale in scales.items():
        frozen.append((str(name), _freeze_scale(name, scale)))
    return tuple(frozen)


def _freeze_scale(name: str, scale: object) -> tuple[Level, ...]:
    """The levels of one scale; raises SettingError for what is none."""
    given = scale if isinstance(scale, Sequence) and not isinstance(scale, str) else []
    levels: dict[Level, None] = {}
    for level in given:
        if isinstance(level, bool | str):
            levels[normalise_word(str(level))] = None
        elif isinstance(level, int | float):
            levels[float(level)] = None
    words = _words(levels)
    if len(levels) < max(2, len(given)) or 0 < len(words) < len(levels):
        rule = "levels must list a scale of two or more different words or numbers from its worst to its best level"
        raise SettingError(f"{rule}, as levels=poor,fair,good, or by aspect, but has {scale!r}")
    if name == ALL and not words:
        raise SettingError(f"levels that are numbers are by aspect, as levels={{ASPECT: {given}}}")
    return tuple(levels)


def number_levels(levels: Sequence[Level]) -> dict[Level, float]:
    """Numbers the levels of a scale, the worst first: words count from 0, numbers stay as they are.

    If the lowest number is the best, the order of the numbers is reversed.

    >>> number_levels(["poor", "good"]), number_levels([1.0, 2.0, 3.0]), number_levels([3.0, 2.0, 1.0])
    ({'poor': 0.0, 'good': 1.0}, {1.0: 1.0, 2.0: 2.0, 3.0: 3.0}, {3.0: 1.0, 2.0: 2.0, 1.0: 3.0})
    """
    numbers = sorted(level for level in levels if not isinstance(level, str))
    return dict(zip(levels, numbers or map(float, range(len(levels))), strict=True))


def normalise_word(word: str) -> str:
    """Returns a word in the form in which words are compared.

    >>> normalise_word(" Strongly-Agree "), normalise_word("very_poor")
    ('strongly agree', 'very poor')
    """
    composed = unicodedata.normalize("NFC", word)
    return " ".join(re.split(r"[\s_-]+", composed.lower().strip()))


@dataclass(frozen=True)
class RatingWords:
    """The numbers for the words that are ratings or scores in a file."""

    # by column, the number of each level
    numbers: Mapping[Column, Mapping[Level, float]] = field(default_factory=dict)
    # how the numbers were found, for notes
    notes: tuple[str, ...] = ()
    # words whose order is not known, as faults of the file
    problems: tuple[str, ...] = ()

    def convert(self, column: Column, level: Level) -> float | None:
        """Returns the number of a rating or a score; None for a word without one."""
        numbers = self.numbers.get(column, {})
        if not isinstance(level, str):
            return numbers.get(level, level)
        word = normalise_word(level)
        return numbers.get(word, numbers.get(WORDS.get(word, "")))


def order_words(columns: Mapping[Column, Collection[Level]], levels: Levels = ()) -> RatingWords:
    """Orders the words in columns of ratings and scores, and numbers them.

    The words of a column get no numbers if it also has numbers or more than `MOST_WORDS` words.

    >>> order_words({("ratings", "q"): ["Good", "bad"]}, ((ALL, ("bad", "fair", "good")),)).notes
    ('ratings in words: bad 0, fair 1, good 2',)
    """
    given = dict(levels)
    numbers: dict[Column, Mapping[Level, float]] = {}
    scales: dict[str, None] = {}
    problems: list[str] = []
    for column, found in columns.items():
        _, name = column
        where = format_value(name)
        spelled = {normalise_word(level) if isinstance(level, str) else level: level for level in found}
        commas = [level for level in found if isinstance(level, str) and COMMA.fullmatch(level)]
        if commas:
            rule = f"{format_value(commas[0])} in {where} may be two whole numbers or a decimal comma"
            problems.append(f"{rule}: give each person a column, or write decimal points")
            continue
        scale = _find_scale(name, spelled, given)
        if scale is None:
            if len(_words(spelled)) == len(spelled) <= MOST_WORDS:
                rule = f"words that rate must have a known order, found {_show(spelled.values())} in {where}"
                problems.append(f"{rule}: {setting('levels', 'WORST', '...', 'BEST')} gives their order")
            continue
        unknown = [spelled[word] for word in spelled if word not in scale and WORDS.get(str(word)) not in scale]
        if unknown:
            problems.append(f"levels of {where} must hold every level, but lack {_show(unknown)}")
            continue
        numbers[column] = scale
        is_plain = [*scale] == [*scale.values()] or TRUTH & scale.keys()
        if not is_plain:
            scales[", ".join(f"{_show([level])} {number:g}" for level, number in scale.items())] = None
    notes = [f"ratings in words: {'; '.join(scales)}"] if scales else []
    return RatingWords(numbers, tuple(notes), tuple(problems))


def _words(levels: Iterable[Level]) -> set[str]:
    return {level for level in levels if isinstance(level, str)}


def _find_scale(
    name: str,
    words: Collection[Level],
    given: Mapping[str, Sequence[Level]],
) -> Mapping[Level, float] | None:
    """The numbers of the scale that `levels` names for a column, else of a scale there that has all its words.

    Else of the scale for all columns, if it shares a word with these: what it lacks is then a problem. Else those of
    yes and no, the worse one first.
    """
    known = _words(words)
    scales = [given[name]] if name in given else []
    if known:
        scales += [scale for scale in given.values() if {*words} <= {*scale}]
    if known & {*given.get(ALL, ())}:
        scales.append(given[ALL])
    if scales:
        return number_levels(scales[0])
    if {*words} <= WORDS.keys():
        return {word: WORDS[word] for word in sorted(known, key=WORDS.__getitem__)}
    return None


def _show(levels: Iterable[Level]) -> str:
    return ", ".join(level.strip() if isinstance(level, str) else f"{level:g}" for level in levels)
