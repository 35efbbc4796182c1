"""Scores in a file that may be ratings of people. They count as scores of a metric, and a note says so."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from data.columns import OUTPUT, SCORE
from data.input_file import InputFile, read_objects
from data.roles import names_people

HIGHEST = 10.0  # of a scale on which people rate
MOST_PEOPLE = 5  # whose mean a rating may be
ROUNDING = 0.0051  # of a mean that is written with two digits
RULE = "may be ratings, but count as scores of a metric"
TAKE_SCORES = "columns.ratings.ASPECT=scores.NAME takes them for ratings"
Row: TypeAlias = tuple[int, Example, Mapping[str, float | None]]  # with its line and its scores by metric


def note_doubtful_scores(file: InputFile, rows: Sequence[Row]) -> list[str]:
    """Notes which scores of a file may be ratings of people.

    Files that `judge score` or another tool wrote get no note. Scores are doubtful if their name speaks of people. In a
    file without ratings, scores that look like numbers of a rating scale are doubtful too. A column that the user named
    as a score is never doubtful.
    """
    if file.tool_file is not None or _is_written_by_score(file):
        return []
    named = {name for name, _ in file.columns}
    has_ratings = any(example.ratings for _, example, _ in rows)
    doubtful: list[str] = []
    for name, values in _list_scores(rows).items():
        if f"{SCORE}{name}" in named:
            continue
        is_like_ratings = not has_ratings and are_like_ratings(values)
        if is_like_ratings or names_people(name):
            doubtful.append(name)
    if not doubtful:
        return []
    return [f"{file.path.name}: {_join(doubtful)} {RULE}: {TAKE_SCORES}"]


def _is_written_by_score(file: InputFile) -> bool:
    """Whether the first line has a key that only `judge score` writes."""
    _, first = next(read_objects(file, []), (0, {}))
    return OUTPUT[0] in first


def _list_scores(rows: Iterable[Row]) -> dict[str, list[float]]:
    """The known scores of each metric."""
    scores: dict[str, list[float]] = {}
    for _, _, by_name in rows:
        known = {name: score for name, score in by_name.items() if score is not None}
        for name, score in known.items():
            of_metric = scores.setdefault(name, [])
            of_metric.append(score)
    return scores


def are_like_ratings(values: Sequence[float]) -> bool:
    """Whether scores are whole numbers of a usual scale that ends above 1, or means of a few of them.

    Some value must repeat, as on a scale of few levels it does: a few counts or measured values are seldom equal.

    >>> [are_like_ratings(scores) for scores in ([1, 5, 4, 5], [2.33, 3.67, 2.33], [0, 1, 1], [2.7, 3.17, 2.7])]
    [True, True, False, False]
    >>> [are_like_ratings(scores) for scores in ([3, 7, 9], [2.5, 7.25, 9.75])]
    [False, False]
    """
    scores = np.asarray(values, dtype=np.float64)
    has_repeats = len(np.unique(scores)) < len(scores)
    if not has_repeats:
        return False
    lowest = scores.min()
    highest = scores.max()
    is_on_scale = lowest >= 0 and 1 < highest <= HIGHEST
    if not is_on_scale:
        return False
    numbers_of_people = range(1, MOST_PEOPLE + 1)
    return any(_are_means(scores, people) for people in numbers_of_people)


def _are_means(scores: NDArray[np.float64], people: int) -> bool:
    """Whether scores can be means of whole numbers by so many people."""
    sums = np.round(scores * people)
    distances = np.abs(scores - sums / people)
    return bool(distances.max() < ROUNDING)


def _join(names: Sequence[str]) -> str:
    *others, last = names
    if not others:
        return last
    first = ", ".join(others)
    return f"{first} and {last}"
