"""Words as ratings or scores (poor, good): finds their order and gives them numbers.

`rating_scales.txt` lists usual scales, from the worst (or the least) to the best (or the most). The shortest scale that
has all words of a file gives their numbers, from 0. Two scales that share words put these in the same order. Words
without a usual order need the setting `levels`.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from core.errors import SettingError, format_value, setting
from data.numeric import DECIMAL_COMMA, WORDS, parse_number

MOST_WORDS = 10  # different ones of a rating without `levels`; more are no scale
TRUTH = {"true", "false"}  # of JSON, which need no note
ALL = ""  # the ratings that no other order is for
HALVES = {"0", "5"}  # behind the decimal comma of scales with half steps
Column: TypeAlias = tuple[str, str]  # `ratings` or `scores`, and the name of the aspect or the metric
Level: TypeAlias = str | float
Levels: TypeAlias = tuple[tuple[str, tuple[Level, ...]], ...]  # by aspect, or by ALL
GivenLevels: TypeAlias = Literal["auto"] | Sequence[Level] | Mapping[str, Sequence[Level]]


def freeze_levels(levels: GivenLevels | None) -> Levels:
    """Makes the setting `levels` hashable. Raises SettingError for values that are not scales."""
    if levels is None or levels == "auto":
        return ()
    scales = levels if isinstance(levels, Mapping) else {ALL: levels}
    return tuple((str(name), _freeze_scale(name, scale)) for name, scale in scales.items())


def _freeze_scale(name: str, scale: object) -> tuple[Level, ...]:
    """The levels of one scale; raises SettingError for what is none."""
    given = scale if isinstance(scale, Sequence) and not isinstance(scale, str) else []
    levels: list[Level] = [
        normalise_word(str(level)) if isinstance(level, bool | str) else float(level)
        for level in given
        if isinstance(level, bool | str | int | float)
    ]
    are_words = {isinstance(level, str) for level in levels}
    if len(levels) < 2 or len({*levels}) < len(given) or len(are_words) > 1:
        rule = "levels must list a scale of two or more different words or numbers from its worst to its best level"
        raise SettingError(f"{rule}, as levels=poor,fair,good, or by aspect, but has {scale!r}")
    if name == ALL and are_words == {False}:
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


@cache
def usual_scales() -> tuple[tuple[str, ...], ...]:
    """Lists the scales of `rating_scales.txt`, the shortest first."""
    lines = Path(__file__).with_name("rating_scales.txt").read_text("utf-8").splitlines()
    scales = [tuple(line.split(" < ")) for line in lines if not line.startswith("#")]
    return tuple(sorted(scales, key=len))


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
        number = numbers.get(word, WORDS.get(word))
        if number is None and DECIMAL_COMMA.fullmatch(level):
            number = parse_number(level)
        return number if isinstance(number, float) else None


def order_words(columns: Mapping[Column, Collection[Level]], levels: Levels = ()) -> RatingWords:
    """Orders the words in columns of ratings and scores, and numbers them.

    An order in `levels` takes precedence over the usual scales. Columns that share words share their numbers. The words
    of a column get no numbers if it also has numbers or more than `MOST_WORDS` words.

    >>> order_words({("ratings", "q"): ["Good", "bad", "fair"]}).notes
    ('ratings in words: bad 0, fair 1, good 2',)
    """
    given = dict(levels)
    numbers: dict[Column, Mapping[Level, float]] = {}
    scales: dict[str, None] = {}
    problems = [problem for column, found in columns.items() for problem in _find_pairs(column, found)]
    for names, spelled in _join_columns(columns):
        of_scale = _find_scale(names, {*spelled}, given)
        known = of_scale or spelled
        unknown = [shown for word, shown in spelled.items() if not {word, WORDS.get(str(word))} & known.keys()]
        where = " and ".join(dict.fromkeys(format_value(name) for _, name in names))
        if unknown:
            problems.append(f"levels of {where} must hold every level, but lack {_show(unknown)}")
        elif of_scale is not None:
            numbers |= dict.fromkeys(names, of_scale)
            if [*of_scale] != [*of_scale.values()] and not TRUTH & {*of_scale}:
                scales[", ".join(f"{_show([level])} {number:g}" for level, number in of_scale.items())] = None
        elif len(spelled) <= MOST_WORDS and all(isinstance(word, str) for word in spelled):
            rule = f"words that rate must have a known order, found {_show(spelled.values())} in {where}"
            problems.append(f"{rule}: {setting('levels', 'WORST', '...', 'BEST')} gives their order")
    notes = [f"ratings in words: {'; '.join(scales)}"] if scales else []
    for (_, name), levels_found in columns.items():
        comma = next((str(level).strip() for level in levels_found if _has_comma(level)), None)
        if comma is not None:
            notes.append(f"decimal commas in {name}: {comma} is read as {comma.replace(',', '.')}")
    return RatingWords(numbers, tuple(notes), tuple(problems))


def _join_columns(columns: Mapping[Column, Collection[Level]]) -> Iterator[tuple[list[Column], dict[Level, Level]]]:
    """The columns that share a word, and how each of their levels is first spelled."""
    left: dict[Column, dict[Level, Level]] = {}
    for column, levels in columns.items():
        spelled: dict[Level, Level] = {}
        for level in levels:
            plain = normalise_word(level) if isinstance(level, str) else level
            spelled.setdefault(0.0 if _has_comma(level) else plain, level)
        left[column] = spelled
    while left:
        names = [next(iter(left))]
        joined = left.pop(names[0])
        while others := [name for name, levels in left.items() if _words(levels) & _words(joined)]:
            for name in others:
                joined = {**left.pop(name), **joined}
            names += others
        yield names, joined


def _words(levels: Iterable[Level]) -> set[str]:
    return {level for level in levels if isinstance(level, str)}


def _find_scale(
    names: Sequence[Column],
    words: Collection[Level],
    given: Mapping[str, Sequence[Level]],
) -> Mapping[Level, float] | None:
    """The numbers of the scale that `levels` names for one of the columns, else of a scale there that has all words.

    Else of the scale for all columns, if it shares a word with these: what it lacks is then a problem. Else those of
    yes and no, the worse one first, or of the shortest usual scale that has all words.
    """
    known = _words(words)
    scales = [given[name] for _, name in names if name in given]
    scales += [scale for scale in given.values() if known and {*words} <= {*scale}]
    scales += [given[ALL]] if known & {*given.get(ALL, ())} else []
    if not scales and {*words} <= WORDS.keys():
        return dict(sorted(((word, WORDS[str(word)]) for word in words), key=lambda pair: pair[1]))
    scales += [scale for scale in usual_scales() if {*words} <= {*scale}]
    return number_levels(scales[0]) if scales else None


def _has_comma(level: Level) -> bool:
    return isinstance(level, str) and DECIMAL_COMMA.fullmatch(level) is not None


def _find_pairs(column: Column, levels: Collection[Level]) -> Iterator[str]:
    """A problem of a column whose cells may all be two whole numbers of one scale, as of two people."""
    cells = [str(level).strip().partition(",") for level in levels]
    firsts = {first for first, _, _ in cells}
    seconds = {second for _, _, second in cells}
    are_digits = all(len(part) == 1 and part.isdecimal() for part in firsts | seconds)
    if are_digits and not seconds <= HALVES and min(firsts) <= min(seconds) and max(seconds) <= max(firsts):
        shown = format_value(next(iter(levels)))
        rule = f"{shown} in {format_value(column[1])} may be two whole numbers or a decimal comma"
        yield f"{rule}: give each person a column, or write decimal points"


def _show(levels: Iterable[Level]) -> str:
    return ", ".join(level.strip() if isinstance(level, str) else f"{level:g}" for level in levels)
