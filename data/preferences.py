"""Preferences in files: which of two systems' outputs for an input is preferred, one judgement per line."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from core.errors import InputError, check_names, fault, format_value, read_all, suggest_similar
from core.example import SHOWN
from core.settings import NonNegative
from data.cells import name_of
from data.columns import Columns, add_nested, find_absent, name_fields
from data.files import TYPED, InputFile, Source, read_objects
from data.formats.found import BY_MODEL, UNSAID
from data.numeric import parse_finite, parse_number, to_number
from data.rater_rows import USUAL_RATERS
from data.records import Name, Record, Text, check_records, require_none
from data.scored import ScoredFile, place_outputs, read_scored
from data.table_files import DELIMITERS
from meta_eval.preferences import Preferences

A, B = ("a", "model_a", "model_1", "left", "first"), ("b", "model_b", "model_2", "right", "second")
TIES = ("tie", "draw", "both", "both_bad", "bothbad", "tie (bothbad)", "tie (both bad)")
WINS = {name: outcome for names, outcome in ((A, 1.0), (B, 0.0), (TIES, 0.5)) for name in names}  # in any case
USUAL = {"model_a": "system_a", "model_b": "system_b", "model_1": "system_a", "model_2": "system_b"}
USUAL |= {"question_id": "group", **dict.fromkeys(USUAL_RATERS, "rater")}
ONE_HOT = {"winner_model_a": "a", "winner_model_b": "b", "winner_tie": "tie"}  # a column for each winner
JUDGE = "judges."  # a column of the winners by one judge, as in judges.gpt


Length = Annotated[NonNegative, BeforeValidator(lambda cell: parse_number(cell) if isinstance(cell, str) else cell)]


def _check_winner(value: object) -> object:
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ValueError("must be a name or a number from 0 to 1")


Winner = Annotated[str | float, BeforeValidator(_check_winner)]


class PreferenceRecord(Record):
    """A judgement as a file holds it."""

    id: Name | None = None
    group: Name | None = None
    system_a: Name
    system_b: Name
    winner: Winner | None = None
    rater: Name | None = None
    judges: Mapping[Text, Winner | None] = Field(default_factory=dict)
    length_a: Length | None = None
    length_b: Length | None = None

    @property
    def winners(self) -> list[str | float]:
        """The winners that the line names: by people and by judges."""
        return [each for each in (self.winner, *self.judges.values()) if each is not None]

    def by_name(self, winner: str | float) -> float | None:
        """1 if the winner is the name of system a, 0 for system b, else None."""
        return {self.system_b: 0.0, self.system_a: 1.0}.get(str(name_of(winner)))


FIELDS = tuple(PreferenceRecord.model_fields)


def read_side(winner: str | float) -> float | None:
    """1 where the winner is a side such as a or left, 0 for b, .5 for a tie, or a number from 0 to 1; else None."""
    found = WINS.get(winner.lower(), parse_finite(winner)) if isinstance(winner, str) else winner
    return found if found is not None and 0 <= found <= 1 else None


@dataclass(frozen=True)
class WinnerReader:
    """How the winners of a file are read: by the names of systems first, or as sides first."""

    # whether the names a and b are sides, because some winner can only be a side
    sides_first: bool
    # whether they are names, because some winner can only be a name, or is one where the other system is no a or b
    names_first: bool

    @classmethod
    def of(cls, records: Iterable[PreferenceRecord]) -> "WinnerReader":
        """How a file is read; neither is known where both kinds of winners occur, or none."""
        only_sides = only_names = names = False
        for record in records:
            has_other = not {record.system_a.lower(), record.system_b.lower()} <= {*A, *B}
            for winner in record.winners:
                name = record.by_name(winner)
                side = read_side(winner)
                only_sides |= isinstance(winner, str) and name is None and side in (0.0, 1.0)
                only_names |= name is not None and side is None
                names |= name is not None and has_other
        return cls(only_sides and not only_names, not only_sides and (only_names or names))

    def read(self, record: PreferenceRecord, winner: str | float | None) -> float | None:
        """1 for a, 0 for b, .5 for a tie, between them how surely a; None for a winner that is unknown or missing."""
        if winner is None:
            return None
        readings = [record.by_name(winner), read_side(winner)]
        known = [each for each in (reversed(readings) if self.sides_first else readings) if each is not None]
        return known[0] if known else None


def read_preferences(path: Source, columns: Mapping[str, str | Sequence[str]] | None = None) -> Preferences:
    """The judgements of a .jsonl, .json, .csv, .tsv (each also .gz) or .parquet file, or of another tool.

    A line has `group` (else `id`), the input; `system_a` and `system_b`; `winner`, the name of one of them, or `a`, `b`
    or `tie` (or what `WINS` lists), or from 0 to 1 how surely a is preferred, or nothing where only judges judged;
    `rater` where several people judged; `judges`, the winners by the name of a judge; and `length_a` and `length_b`.
    `columns` names the columns that give these, before the names in `USUAL`, also as paths into objects. Lines without
    a winner are left out with a note.

    Raises InputError with all faults of the file as `file:line: what is wrong, what was found`, and SettingError for
    names in `columns` that no judgement has.
    """
    file = InputFile.of(path, columns=columns)
    faults: list[str] = []
    check_names((name for name, _ in file.columns if not name.startswith(JUDGE)), FIELDS, "data.columns of judgements")
    if file.found is not None:
        if not file.found.pairs:
            raise InputError([fault(file.path, 0, f"judgements of two systems are needed, found {file.found}")])
        given = check_preferences(file.path, file.found.pairs, faults)
        return replace(given, by_model=None if file.found.tool in UNSAID else file.found.tool in BY_MODEL)
    rows = read_objects(file, faults)
    if file.form in DELIMITERS:
        rows = ((line, {name: cell for name, cell in row.items() if cell}) for line, row in rows)
    elif file.form in TYPED:
        rows = ((line, {name: name_of(cell) for name, cell in row.items()}) for line, row in rows)
    given = check_preferences(file.path, rows, faults, file.columns)
    return replace(given, notes=(*given.notes, *_note_repeated(given)))


def _note_repeated(given: Preferences) -> list[str]:
    """A sentence where a pair of outputs was judged several times."""
    if len(given.units) == len(given):
        return []
    people = len({*given.raters} - {None})
    by = f"by {people} raters" if people else "by raters that no column names: columns.rater=COLUMN"
    return [f"{given.name}: {len(given)} rows, {len(given.units)} pairs of outputs, {by}"]


def check_preferences(
    path: Path,
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    faults: list[str],
    columns: Columns = (),
) -> Preferences:
    """The judgements of numbered rows; raises InputError for `faults` and all that are found here."""
    seen: dict[str, None] = {}
    renamed = _rename_rows(rows, columns, seen)
    first = [*islice(renamed, 1)]
    _check_first(path, [row for _, row in first], list(seen))
    located = check_records(path, chain(first, renamed), PreferenceRecord, faults)
    faults += [fault(path, 0, problem) for problem in find_absent(columns, list(seen))]
    winner = dict(columns).get("winner", ("",))[0]
    if winner in ONE_HOT and ONE_HOT.keys() <= seen.keys():
        rule = f"{winner} is one of three columns, which are read without a setting"
        faults.append(fault(path, 0, f"{rule}: leave data.columns.winner out"))
    reader = WinnerReader.of(record for _, record in located)
    found: list[tuple[str, PreferenceRecord, float]] = []
    without = 0
    for line, record in located:
        name = record.group or record.id
        problems = list(_find_problems(record, reader))
        faults += [fault(path, line, problem) for problem in problems]
        if record.winner is None and not record.judges:
            without += 1
        elif not problems:
            outcome = reader.read(record, record.winner)
            found.append((str(name), record, math.nan if outcome is None else outcome))
    if not found and not faults:
        what = f"found none in {without} rows" if without else "but has only a header"
        faults.append(fault(path, 0, f"the file needs at least one judgement, {what}"))
    require_none((), faults)
    records = [record for _, record, _ in found]
    judges = dict.fromkeys(name for record in records for name in record.judges)
    lengths = [
        _numbers([record.length_a for record in records]),
        _numbers([record.length_b for record in records]),
    ]
    rest = f"{path.name}: {without} row{'s'[: without != 1]} without a winner left out"
    return Preferences(
        name=path.name,
        inputs=tuple(name for name, _, _ in found),
        systems_a=tuple(record.system_a for _, record, _ in found),
        systems_b=tuple(record.system_b for _, record, _ in found),
        outcomes=np.array([outcome for _, _, outcome in found]),
        raters=tuple(record.rater for _, record, _ in found),
        judges={name: _read_judge(name, records, reader) for name in judges},
        lengths=np.stack(lengths, axis=1) if not np.isnan(lengths).any() else None,
        notes=(rest,) if without else (),
    )


def _read_judge(
    name: str,
    records: Iterable[PreferenceRecord],
    reader: WinnerReader,
) -> NDArray[np.float64]:
    """The outcomes by one judge."""
    return _numbers(reader.read(record, record.judges.get(name)) for record in records)


def _check_first(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
) -> None:
    """Raises InputError where the first row is no judgement."""
    if not rows or names_pair(rows[0]):
        return
    rule = "judgements of two systems (system_a, system_b, winner) are needed, found"
    if "text" in [name for _, name in name_fields(tuple(rows[0])).fields]:
        hint = "give data.outputs=FILE beside judgements, or metric=llm_judge to judge the texts"
        raise InputError([fault(path, 0, f"{rule} texts: {hint}")])
    known = f"{', '.join(keys[:SHOWN])}{', …' if keys[SHOWN:] else ''}"
    raise InputError([fault(path, 0, f"{rule} {known}: data.columns.system_a=COLUMN names a column")])


def _find_problems(record: PreferenceRecord, reader: WinnerReader) -> Iterator[str]:
    """What is wrong with a judgement."""
    systems = (record.system_a, record.system_b)
    if not (record.group or record.id):
        yield '"group" or "id" is needed: the input that both systems answer'
    if systems[0] == systems[1]:
        yield f"two systems must be compared, found {format_value(systems[0])} twice"
    if "tie" in systems:
        yield 'no system may be called "tie"'
    for name, each in record.judges.items():
        if each is not None and reader.read(record, each) is None:
            yield f"the verdict of {name} must be a system, a, b or tie, found {format_value(each)}"
    if record.winner is None:
        return
    names = f"{format_value(systems[0])}, {format_value(systems[1])}"
    if reader.read(record, record.winner) is None:
        rule = f'"winner" must be {names}, "a", "b" or "tie"'
        yield f"{rule}, found {format_value(record.winner)}{suggest_similar(str(record.winner), systems)}"
    by_name = record.by_name(record.winner)
    by_side = read_side(record.winner)
    is_unclear = isinstance(record.winner, str) and None not in (by_name, by_side) and by_name != by_side
    if is_unclear and not reader.sides_first and not reader.names_first:
        rule = f"{format_value(record.winner)} is the name of a system and a side: write the sides as model_a, model_b"
        yield f'"winner" must be clear, but {rule}'


def _numbers(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _rename_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    columns: Columns,
    seen: dict[str, None],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered rows with their values by field; `seen` gets the keys of the file."""
    for line, row in rows:
        nested = add_nested(row, columns)
        seen |= dict.fromkeys(nested)
        yield line, _rename(nested, columns)


def _rename(row: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """The values of a row by field, with the winners of judges by name, and a winner of one column for each."""
    named = {field: row[key] for field, (key, *_) in columns if key in row}
    usual = {USUAL[key]: row[key] for key in reversed(USUAL) if key in row}
    found = {**usual, **row, **named}
    if ONE_HOT.keys() & row.keys() and "winner" not in found:
        won = [side for key, side in ONE_HOT.items() if to_number(row.get(key)) == 1]
        found["winner"] = won[0] if len(won) == 1 else None
    judges = {key.removeprefix(JUDGE): value for key, value in found.items() if key.startswith(JUDGE)}
    return {**found, "judges": {**(found.get("judges") or {}), **judges}} if judges else found


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
    each. A file of another tool may have both. `columns` are those of `path`. Raises InputError with all faults of
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
    path: Source | None,
    scores: Mapping[str, Any] | None,
    systems: Sequence[str] | None = None,
) -> ScoredFile:
    found = read_scored(path, scores, systems=systems)
    place_outputs(found)
    return found
