"""What `judge prefer` reads: judgements of pairs, the outputs of systems, or a file with both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import SettingError, format_value, read_all
from data.cells import list_items
from data.input_file import FileLike, InputFile
from data.preferences import has_outputs, holds_pairs, read_preferences
from data.scored import place_outputs
from judge.inputs import Columns, Frame, GivenScores, Source, read
from meta_eval.preferences import Preferences
from meta_eval.scored_set import ScoredSet

GIVEN = Path("preferences")  # names rows in memory in messages
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
    if outputs is None and has_metrics:
        raise SettingError(f"metrics need the texts of the systems: {NO_OUTPUTS}")

    def read_outputs() -> tuple[ScoredSet, dict[tuple[str, str], int]]:
        texts = ScoredSet("", (), {}) if outputs is None else read(outputs, scores)
        return texts, place_outputs(texts)

    given, (texts, places) = read_all([lambda: read_given(source, columns or {}), read_outputs])
    return PairInputs(given, texts, places=places, has_outputs=outputs is not None)


def find_outputs(
    file: InputFile,
    outputs: Source | None,
    is_asked: bool,
) -> tuple[InputFile | None, Source | None]:
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
    return read_preferences(open_pairs(source, GIVEN, columns), columns)


def open_pairs(source: Any, given: Path, columns: Columns | None = None) -> InputFile:
    """Opens a file, rows or a DataFrame, which messages call `given`. Raises SettingError for anything else."""
    if isinstance(source, FileLike):
        return InputFile.of(source, columns=columns)
    rule = f"{given} must be in a file, a list of rows or a DataFrame"
    rows = list_items(source, rule)
    other = next((row for row in rows if not isinstance(row, Mapping)), None)
    if other is not None:
        raise SettingError(f"{rule}, but one is {format_value(other)}")
    return replace(InputFile.of(given, columns=columns), records=rows)
