"""Words as ratings or scores (poor, good): finds their order and gives them numbers.

`rating_scales.txt` lists usual scales, from the worst (or the least) to the best (or the most). The shortest scale that
has all words of a file gives their numbers, from 0. Two scales that share words put these in the same order. Words
without a usual order need the setting `levels`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from core.errors import SettingError, format_value, setting
from data.numeric import GAPS, WORDS, parse_number

RATED = ("ratings", "scores")
MOST_WORDS = 10  # different ones of a rating without `levels`; more are no scale
TRUTH = {"true", "false"}  # of JSON, which need no note
ALL = ""  # the ratings that no other order is for
Column: TypeAlias = tuple[str, str]  # one of RATED, and the name of the aspect or the metric
Level: TypeAlias = str | float
Levels: TypeAlias = tuple[tuple[str, tuple[Level, ...]], ...]  # by aspect, or by ALL
GivenLevels: TypeAlias = Literal["auto"] | Sequence[Level] | Mapping[str, Sequence[Level]]
LEVELS_RULE = "levels must list a scale from its worst to its best level, as levels=poor,fair,good, or by aspect"


def freeze_levels(levels: GivenLevels | None) -> Levels:
    """Makes the setting `levels` hashable. Raises SettingError for values that are not scales."""
    if levels is None or levels == "auto":
        return ()
    if not isinstance(levels, Sequence | Mapping) or isinstance(levels, str):
        raise SettingError(f"{LEVELS_RULE}, but is {levels!r}")
    scales = levels if isinstance(levels, Mapping) else {ALL: levels}
    return tuple((str(name), _freeze_scale(name, scale)) for name, scale in scales.items())


def _freeze_scale(name: str, scale: Sequence[Level]) -> tuple[Level, ...]:
    """The levels of one scale; raises SettingError for what is none."""
    if not isinstance(scale, Sequence) or isinstance(scale, str):
        raise SettingError(f"{LEVELS_RULE}, but {name} has {scale!r}")
    levels = tuple(map(_to_level, scale))
    are_different = len(levels) >= 2 and len(set(levels)) == len(levels)
    are_words = {isinstance(level, str) for level in levels}
    if not are_different or len(are_words) > 1:
        raise SettingError(f"{LEVELS_RULE}: two or more different words or numbers, but has {list(scale)}")
    if name == ALL and are_words == {False}:
        raise SettingError(f"levels that are numbers are by aspect, as levels={{ASPECT: {list(scale)}}}")
    return levels


def _to_level(level: object) -> Level:
    if isinstance(level, bool | str):
        return normalise_word(str(level))
    if isinstance(level, int | float):
        return float(level)
    raise SettingError(f"{LEVELS_RULE}, but has {level!r}")


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
    # how the orders were found, for a note
    description: str = ""
    # words whose order is not known, as faults of the file, and their columns
    problems: tuple[str, ...] = ()
    refused: frozenset[Column] = frozenset()

    def replace(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Replaces the words in ratings and scores of a record by their numbers; leaves out words without a number."""
        changed = dict(record)
        for kind in RATED:
            values = record.get(kind)
            if not isinstance(values, Mapping):
                continue
            numbers: dict[str, Any] = {}
            for name, value in values.items():
                if (kind, name) not in self.refused:
                    numbers[name] = _exchange(value, self.numbers.get((kind, name)))
            changed[kind] = numbers
        return changed


def _exchange(value: Any, numbers: Mapping[Level, float] | None) -> Any:
    """A rating, or those of several people, with numbers in place of levels; what is no level stays as it is."""
    if numbers is None:
        return value
    if isinstance(value, Mapping):
        return {person: _exchange(rating, numbers) for person, rating in value.items()}
    if isinstance(value, list):
        return [_exchange(rating, numbers) for rating in value]
    level = to_level(value)
    return value if level is None else numbers.get(level, value)


def to_level(value: object) -> Level | None:
    """Returns a rating as a level of a scale: a word or a number; None for a missing rating."""
    if isinstance(value, bool):
        return normalise_word(str(value))
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str) or value.strip().lower() in ("", *GAPS):
        return None
    number = parse_number(value)
    return number if isinstance(number, float) else normalise_word(value)


def has_words(record: Mapping[str, Any]) -> bool:
    """Whether a rating or a score of a record is a word."""
    return any(isinstance(level, str) for _, level, _ in _list_levels(record))


def _list_levels(record: Mapping[str, Any]) -> Iterator[tuple[Column, Level, Any]]:
    """The column, the level and the value of each rating and score, without those that are missing."""
    for kind in RATED:
        by_name = record.get(kind)
        if not isinstance(by_name, Mapping):
            continue
        for name, value in by_name.items():
            for rating in _list_ratings(value):
                level = to_level(rating)
                if level is not None:
                    yield (kind, name), level, rating


def _list_ratings(value: Any) -> Iterable[Any]:
    """The ratings of several people, or the only one."""
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else [value]


def order_words(records: Iterable[Mapping[str, Any]], levels: Levels = ()) -> RatingWords:
    """Orders the words in ratings and scores of records, and numbers them.

    An order in `levels` takes precedence over the usual scales. Columns that share words share their numbers. The words
    of a column get no numbers if it also has numbers or more than `MOST_WORDS` words: then each word is a fault of its
    line.

    >>> order_words({"ratings": {"q": word}} for word in ("Good", "bad", "fair", None)).description
    'ratings in words: bad 0, fair 1, good 2'
    """
    spelled: dict[Level, str] = {}
    columns = collect_levels(records, levels, spelled)
    return order_columns(columns, levels, spelled)


def collect_levels(
    records: Iterable[Mapping[str, Any]],
    levels: Levels,
    spelled: dict[Level, str],
) -> dict[Column, list[Level]]:
    """Collects the levels of each column: its words, and also its numbers if `levels` names the column.

    For a column that `levels` does not name, 0 stands for all its numbers. `spelled` gets each word as it first stands
    in the file.
    """
    named = dict(levels)
    columns: dict[Column, dict[Level, None]] = {}
    for record in records:
        for column, level, value in _list_levels(record):
            spelled.setdefault(level, str(value).strip())
            is_counted = isinstance(level, str) or column[1] in named
            columns.setdefault(column, {})[level if is_counted else 0.0] = None
    return {column: list(distinct) for column, distinct in columns.items()}


def order_columns(
    columns: Mapping[Column, Sequence[Level]],
    levels: Levels,
    spelled: Mapping[Level, str],
) -> RatingWords:
    """Numbers the levels in columns, as `order_words` does."""
    given = dict(levels)
    numbers: dict[Column, Mapping[Level, float]] = {}
    verdicts: list[Mapping[Level, float]] = []
    refused: dict[Column, str] = {}
    for names, words in _join_columns(columns):
        scale = _find_given(names, words, given) or _find_usual(words)
        problem = _find_problem(names, words, scale, spelled)
        if problem:
            refused |= dict.fromkeys(names, problem)
        elif scale is not None:
            numbers |= dict.fromkeys(names, number_levels(scale))
        elif {*words} <= WORDS.keys() - TRUTH:
            verdicts.append(_number_verdicts(words))
    problems = tuple(dict.fromkeys(refused.values()))
    description = _describe([*numbers.values(), *verdicts])
    return RatingWords(numbers, description, problems, frozenset(refused))


def _number_verdicts(words: Sequence[Level]) -> dict[Level, float]:
    """The numbers of words such as yes and no, the worse one first."""
    numbers = {word: WORDS[str(word)] for word in words}
    worst_first = sorted(words, key=numbers.__getitem__)
    return {word: numbers[word] for word in worst_first}


def _join_columns(columns: Mapping[Column, Sequence[Level]]) -> Iterator[tuple[list[Column], list[Level]]]:
    """The columns that share a word, and all their levels in the order of the file."""
    left = dict(columns)
    while left:
        first = next(iter(left))
        names = [first]
        levels = list(left.pop(first))
        while True:
            joined = [name for name, others in left.items() if _share_word(others, levels)]
            if not joined:
                break
            for name in joined:
                levels += left.pop(name)
            names += joined
        yield names, list(dict.fromkeys(levels))


def _share_word(some: Sequence[Level], others: Sequence[Level]) -> bool:
    return any(isinstance(level, str) and level in others for level in some)


def _find_given(
    names: Sequence[Column],
    words: Sequence[Level],
    given: Mapping[str, Sequence[Level]],
) -> Sequence[Level] | None:
    """The scale that `levels` names for one of the columns, else a scale of words there that has all these words.

    Else the scale for all columns, if it shares a word with these: what it lacks is then a problem.
    """
    for _, name in names:
        if name in given:
            return given[name]
    for scale in given.values():
        if isinstance(words[0], str) and {*words} <= {*scale}:
            return scale
    for_all = given.get(ALL, ())
    return for_all if _share_word(words, for_all) else None


def _find_usual(words: Sequence[Level]) -> Sequence[Level] | None:
    """The shortest usual scale that has all these words; None where yes and no, or numbers, are all there is."""
    if {*words} <= WORDS.keys():
        return None
    return next((scale for scale in usual_scales() if {*words} <= {*scale}), None)


def _find_problem(
    names: Sequence[Column],
    words: Sequence[Level],
    scale: Sequence[Level] | None,
    spelled: Mapping[Level, str],
) -> str | None:
    """The problem of words without a known order; none if a line with a word is at fault itself."""
    columns = dict.fromkeys(format_value(name) for _, name in names)
    where = " and ".join(columns)
    if scale is not None:
        others = [word for word in words if word not in scale]
        unknown = [word for word in others if WORDS.get(str(word)) not in scale]
        if unknown:
            shown = _show(spelled.get(word, word) for word in unknown)
            return f"levels of {where} must hold every level, but lack {shown}"
        return None
    are_words = all(isinstance(word, str) for word in words)
    if not are_words or len(words) > MOST_WORDS or {*words} <= WORDS.keys():
        return None
    shown = _show(spelled.get(word, word) for word in words)
    rule = f"words that rate must have a known order, found {shown} in {where}"
    return f"{rule}: {setting('levels', 'WORST', '...', 'BEST')} gives their order"


def _describe(numbers: Iterable[Mapping[Level, float]]) -> str:
    """The numbers that are not those of the file, for a note."""
    changed = [scale for scale in numbers if list(scale) != list(scale.values())]
    shown = dict.fromkeys(map(_show_numbers, changed))
    return f"ratings in words: {'; '.join(shown)}" if shown else ""


def _show_numbers(scale: Mapping[Level, float]) -> str:
    return _show(f"{_show([level])} {number:g}" for level, number in scale.items())


def _show(levels: Iterable[Level]) -> str:
    return ", ".join(level if isinstance(level, str) else f"{level:g}" for level in levels)
