"""What `judge prefer` reads: judgements of pairs, the outputs of systems, or a file with both; and labels of people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.errors import InputError, SettingError, fault, format_value, read_all
from data.cells import list_items
from data.input_file import FileLike, InputFile
from data.preferences import has_outputs, holds_pairs, read_preferences
from data.scored import place_outputs
from judge.inputs import Columns, Frame, GivenScores, Source, open_rows, read
from judge.people import describe_matches, show_names
from meta_eval.design import Floats
from meta_eval.preferences import JUDGE, Preferences
from meta_eval.scored_set import ScoredSet

GIVEN = Path("preferences")  # names rows in memory in messages
LABELS = Path("human_labels")  # likewise
Pairs: TypeAlias = Path | str | InputFile | Iterable[Mapping[str, Any]] | Frame | Preferences
NO_OUTPUTS = "pass them as outputs"


@dataclass(frozen=True, eq=False)
class PairInputs:
    """The judgements and the outputs that were read."""

    # None where only outputs are there
    given: Preferences | None
    # empty without outputs
    texts: ScoredSet
    # the index of each output in `texts`, by system and input
    places: Mapping[tuple[str, str], int]
    has_outputs: bool


def read_pairs(
    source: Pairs | None,
    outputs: Source | None,
    *,
    scores: GivenScores | None,
    columns: Columns | None,
    is_asked: bool,
    has_metrics: bool,
) -> PairInputs:
    """Reads judgements and outputs. `is_asked` says that a judge is asked, so that a file may have outputs alone.

    Raises InputError for faults of the files, and SettingError for metrics without texts.
    """
    if isinstance(source, str | Path | InputFile):
        source, outputs = find_outputs(InputFile.of(source, columns=columns), outputs, is_asked)
    if outputs is None and (has_metrics or scores):
        raise SettingError(f"metrics and scores need the texts of the systems: {NO_OUTPUTS}")
    if isinstance(source, Preferences) and columns:
        raise SettingError("columns would have no effect on preferences that were read already")

    def read_outputs() -> tuple[ScoredSet, dict[tuple[str, str], int]]:
        texts = ScoredSet("", (), {}) if outputs is None else read(outputs, scores)
        return texts, place_outputs(texts)

    given, (texts, places) = read_all([lambda: read_given(source, columns or {}), read_outputs])
    return PairInputs(
        given,
        texts,
        places=places,
        has_outputs=outputs is not None,
    )


def find_outputs(file: InputFile, outputs: Source | None, is_asked: bool) -> tuple[InputFile | None, Source | None]:
    """Finds the file of preferences and the outputs.

    One file may have both. If a judge is asked, it may have outputs alone.
    """
    if outputs is not None:
        return file, outputs
    if has_outputs(file):
        return file, file
    if is_asked and not holds_pairs(file):
        return None, file
    return file, None


def read_given(source: Any, columns: Columns) -> Preferences | None:
    """Reads preferences from a file, rows or a DataFrame; None if there is no source.

    Raises InputError and SettingError.
    """
    if source is None or isinstance(source, Preferences):
        return source
    return read_preferences(_open_pairs(source, GIVEN, columns), columns)


def _open_pairs(source: Any, called: Path, columns: Columns | None = None) -> InputFile:
    """Opens a file, rows or a DataFrame, which messages call `called`. Raises SettingError for anything else."""
    rule = f"{called} must be in a file, a list of rows or a DataFrame"
    rows: Any = source if isinstance(source, FileLike) else list_items(source, rule)
    file = open_rows(rows, columns, called=called)
    if file is None:
        other = next(row for row in rows if not isinstance(row, Mapping))
        raise SettingError(f"{rule}, but one is {format_value(other)}")
    return file


# ---- labels of people on judged pairs -------------------------------------------------------------------------------


def read_pair_labels(source: Any) -> Preferences:
    """Reads people's preferences for some judged pairs from a file, rows or a DataFrame, whose rows name both systems.

    Raises InputError for faults of the file.
    """
    if isinstance(source, Preferences):
        return source
    return read_preferences(_open_pairs(source, LABELS))


def join_pair_labels(given: Preferences, labels: Preferences) -> Preferences:
    """Returns one judgement of each pair with people's outcome, or NaN; the rater is the judge of `given`.

    Labels are joined by input and systems. Labels of pairs without a verdict are counted and named in a note. Raises
    InputError if no pair is in both.
    """
    given = given.by_majority()
    labels = labels.by_majority()
    pairs = [*zip(labels.inputs, labels.systems_a, labels.systems_b, strict=True)]
    judged = zip(given.inputs, given.systems_a, given.systems_b, strict=True)
    places = {pair: i for i, pair in enumerate(judged)}
    outcomes: Floats = np.full(len(given), np.nan)
    lost: list[str] = []
    for (name, a, b), outcome in zip(pairs, labels.outcomes, strict=True):
        if (name, a, b) in places:
            outcomes[places[name, a, b]] = outcome
        elif (name, b, a) in places:
            outcomes[places[name, b, a]] = 1 - outcome
        else:
            lost.append(f"{a} and {b} for the input {name}")
    if len(lost) == len(pairs):
        raise InputError([fault(labels.name, 0, f"{given.name} has no verdict on {show_names(lost)}")])
    note = describe_matches(
        labels.name,
        len(pairs),
        lost,
        f"{len(given)} verdicts",
        by="input and systems",
    )
    named = {rater for rater in given.raters if rater is not None}
    judge = named.pop() if len(named) == 1 else JUDGE
    judges = {judge: given.outcomes, **given.judges}
    notes = (*given.notes, *labels.notes, note)
    return replace(
        given,
        outcomes=outcomes,
        judges=judges,
        by_model=labels.by_model,
        notes=notes,
    )
