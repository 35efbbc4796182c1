"""Preferences in files: which of two systems' outputs for an input is preferred, one judgement per line."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from core.faults import InputFaults, fault, format_value, read_all, suggest_similar
from core.settings import NonNegative
from data.cells import name_of
from data.columns import Columns, name_fields
from data.files import TYPED, InputFile, Source, read_objects
from data.formats.found import BY_MODEL, UNSAID
from data.numeric import parse_finite, parse_number
from data.records import Record, Text, check_records, require_none
from data.scored import ScoredFile, place_outputs, read_scored
from data.table_files import DELIMITERS
from meta_eval.preferences import Preferences

A, B = ("a", "model_a", "model_1", "left", "first"), ("b", "model_b", "model_2", "right", "second")
TIES = ("tie", "draw", "both", "both_bad", "bothbad", "tie (bothbad)", "tie (both bad)")
WINS = {name: outcome for names, outcome in ((A, 1.0), (B, 0.0), (TIES, 0.5)) for name in names}  # in any case
USUAL = {"model_a": "system_a", "model_b": "system_b", "model_1": "system_a", "model_2": "system_b"}
USUAL |= {"question_id": "group", "annotator": "rater"}


Length = Annotated[NonNegative, BeforeValidator(lambda cell: parse_number(cell) if isinstance(cell, str) else cell)]


def _check_winner(value: object) -> object:
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1):
        return value
    raise ValueError("must be a name or a number from 0 to 1")


Winner = Annotated[str | float, BeforeValidator(_check_winner)]


class PreferenceRecord(Record):
    """A judgement as a file holds it."""

    id: Text | None = None
    group: Text | None = None
    system_a: Text
    system_b: Text
    winner: Winner | None = None
    rater: Text | None = None
    judges: Mapping[Text, Winner | None] = Field(default_factory=dict)
    length_a: Length | None = None
    length_b: Length | None = None

    def outcome(self, winner: str | float | None) -> float | None:
        """1 for a, 0 for b; None for a winner that is unknown. The name of a system comes before a and b."""
        if not isinstance(winner, str):
            return winner
        by_name = {self.system_b: 0.0, self.system_a: 1.0}
        found = by_name.get(winner, WINS.get(winner.lower(), parse_finite(winner)))  # a table has numbers as texts
        return found if found is not None and 0 <= found <= 1 else None


def read_preferences(path: Source, columns: Mapping[str, str | Sequence[str]] | None = None) -> Preferences:
    """The judgements of a .jsonl, .json, .csv, .tsv (each also .gz) or .parquet file, or of another tool.

    A line has `group` (else `id`), the input; `system_a` and `system_b`; `winner`, the name of one of them, or `a`, `b`
    or `tie` (or what `WINS` lists), or from 0 to 1 how surely a is preferred, or nothing where only judges judged;
    `rater` where several people judged; `judges`, the winners by the name of a judge; and `length_a` and `length_b`.
    `columns` names the columns that give these, before the names in `USUAL`.

    Raises InputFaults with all faults of the file as `file:line: what is wrong, what was found`.
    """
    file, faults = InputFile.of(path, columns=columns), list[str]()
    if file.found is not None:
        if not file.found.pairs:
            raise InputFaults([fault(file.path, 0, f"judgements of two systems are needed, found {file.found}")])
        given = check_preferences(file.path, file.found.pairs, faults)
        return replace(given, by_model=None if file.found.tool in UNSAID else file.found.tool in BY_MODEL)
    rows = read_objects(file, faults)
    if file.form in DELIMITERS:
        rows = ((line, {name: cell for name, cell in row.items() if cell}) for line, row in rows)
    elif file.form in TYPED:
        rows = ((line, {name: name_of(cell) for name, cell in row.items()}) for line, row in rows)
    return check_preferences(file.path, rows, faults, file.columns)


def check_preferences(
    path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]], faults: list[str], columns: Columns = ()
) -> Preferences:
    """The judgements of numbered rows; raises InputFaults for `faults` and all that are found here."""
    found: list[tuple[str, PreferenceRecord, float]] = []
    renamed = ((line, _rename(row, columns)) for line, row in rows)
    first = [*islice(renamed, 1)]
    if first and not names_pair(first[0][1]) and "text" in name_fields(tuple(first[0][1])).fields.values():
        rule = "judgements of two systems (system_a, system_b, winner) are needed, found texts"
        hint = "give data.outputs=FILE beside judgements, or metric=llm_judge to judge the texts"
        raise InputFaults([fault(path, 0, f"{rule}: {hint}")])
    for line, record in check_records(path, chain(first, renamed), PreferenceRecord, faults):
        name, systems = record.group or record.id, (record.system_a, record.system_b)
        outcome = math.nan if record.winner is None and record.judges else record.outcome(record.winner)
        others = [name for name, each in record.judges.items() if each is not None and record.outcome(each) is None]
        problems = []
        if name is None:
            problems.append('"group" or "id" is needed: the input that both systems answer')
        if systems[0] == systems[1]:
            problems.append(f"two systems must be compared, found {format_value(systems[0])} twice")
        if "tie" in systems:
            problems.append('no system may be called "tie"')
        problems += [f"the verdict of {name} must be a system, a, b or tie" for name in others]
        if outcome is None:
            rule = f'"winner" must be {format_value(systems[0])}, {format_value(systems[1])}, "a", "b" or "tie"'
            hint = suggest_similar(str(record.winner), systems)
            problems.append(f"{rule}, found {format_value(record.winner)}{hint}")
        faults += [fault(path, line, problem) for problem in problems]
        if outcome is not None and not problems:
            found.append((str(name), record, outcome))
    if not found and not faults:
        faults.append(fault(path, 0, "the file needs at least one judgement, but has only a header"))
    require_none((), faults)
    records = [record for _, record, _ in found]
    judges = dict.fromkeys(name for record in records for name in record.judges)
    lengths = [_numbers(getattr(record, f"length_{side}") for record in records) for side in "ab"]
    return Preferences(
        name=path.name,
        inputs=tuple(name for name, _, _ in found),
        systems_a=tuple(record.system_a for _, record, _ in found),
        systems_b=tuple(record.system_b for _, record, _ in found),
        outcomes=np.array([outcome for _, _, outcome in found]),
        raters=tuple(record.rater for _, record, _ in found),
        judges={name: _numbers(record.outcome(record.judges.get(name)) for record in records) for name in judges},
        lengths=np.stack(lengths, axis=1) if not np.isnan(lengths).any() else None,
    )


def _numbers(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _rename(row: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """The values of a row by field."""
    named = {field: row[key] for field, (key, *_) in columns if key in row}
    usual = {USUAL[key]: value for key, value in row.items() if key in USUAL}
    return {**usual, **row, **named}


def read_judged(
    path: Path | str | None = None,
    outputs: Path | str | None = None,
    scores: Mapping[str, Any] | None = None,
    judge: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    systems: Sequence[str] | None = None,
) -> tuple[Preferences | None, ScoredFile | None]:
    """The preferences in `path` and the systems' outputs; with a judge but without `outputs`, `path` holds these.

    `outputs` are examples with `system` and `group`, and `scores` are theirs; `systems`, as `NAME=FILE`, hold those of
    each. A file of another tool may have both. `columns` are those of `path`. Raises InputFaults with all faults of
    both files.
    """
    if systems and path is None:
        return None, _read_outputs(None, scores, systems)
    file = InputFile.of(path, columns=columns)
    has_pairs = file.found is not None and bool(file.found.pairs)
    asks = judge is not None and outputs is None and not systems and not has_pairs
    texts = file if asks or (outputs is None and not systems and has_outputs(file)) else outputs
    given, scored = read_all(
        [
            lambda: None if asks else read_preferences(file),
            lambda: None if texts is None and not systems else _read_outputs(texts, scores, systems),
        ]
    )
    return given, scored


def holds_pairs(file: InputFile) -> bool:
    """Whether a file has judgements of two systems."""
    if file.found is not None:
        return bool(file.found.pairs)
    return names_pair({**next((row for _, row in read_objects(file, [])), {}), **dict(file.columns)})


def names_pair(row: Mapping[str, Any]) -> bool:
    """Whether a row names two systems."""
    return {"system_a", "system_b"} <= {USUAL.get(name, name) for name in row}


def has_outputs(file: InputFile) -> bool:
    """Whether a file of another tool has judgements and the judged texts."""
    return file.found is not None and bool(file.found.pairs and file.found.texts)


def _read_outputs(
    path: Source | None, scores: Mapping[str, Any] | None, systems: Sequence[str] | None = None
) -> ScoredFile:
    found = read_scored(path, scores, systems=systems)
    place_outputs(found)
    return found
