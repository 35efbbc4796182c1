"""Preferences in files: which of two systems' outputs for an input is preferred, one judgement per line."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from core.errors import InputError, check_names, fault, format_value, list_first, read_all, suggest_similar
from core.example import SHOWN_COLUMNS
from core.settings import NonNegative
from data.cells import name_of
from data.columns import Columns, add_nested, find_absent, name_fields
from data.formats.tool_file import BY_MODEL, UNSAID, ToolFile
from data.input_file import TYPED, FileLike, InputFile, read_objects
from data.numeric import parse_finite, parse_number, to_number
from data.rater_rows import USUAL_RATERS
from data.records import Name, Record, Text, check_records, require_none
from data.scored import ScoredFile, place_outputs, read_scored
from data.table_files import TABLES
from meta_eval.preferences import Preferences

A = ("a", "model_a", "model_1", "left", "first")
B = ("b", "model_b", "model_2", "right", "second")
TIES = ("tie", "draw", "both", "both_bad", "bothbad", "tie (bothbad)", "tie (both bad)")
WINS = {
    **dict.fromkeys(A, 1.0),
    **dict.fromkeys(B, 0.0),
    **dict.fromkeys(TIES, 0.5),
}  # in any case
USUAL = {
    "model_a": "system_a",
    "model_b": "system_b",
    "model_1": "system_a",
    "model_2": "system_b",
    "question_id": "group",
    **dict.fromkeys(USUAL_RATERS, "rater"),
}
ONE_HOT = {
    "winner_model_a": "a",
    "winner_model_b": "b",
    "winner_tie": "tie",
}  # a column for each winner
JUDGE = "judges."  # a column of the winners by one judge, as in judges.gpt


def _parse_cell(cell: object) -> object:
    return parse_number(cell) if isinstance(cell, str) else cell


Length = Annotated[NonNegative, BeforeValidator(_parse_cell)]


def _check_winner(value: object) -> object:
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ValueError("must be a name or a number from 0 to 1")


Winner = Annotated[str | float, BeforeValidator(_check_winner)]


class PreferenceRecord(Record):
    """One judgement of a file."""

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
        winners = (self.winner, *self.judges.values())
        return [winner for winner in winners if winner is not None]

    def by_name(self, winner: str | float) -> float | None:
        """1 if the winner is the name of system a, 0 for that of system b, else None."""
        name = winner if isinstance(winner, str) else str(name_of(winner))
        if name == self.system_a:
            return 1.0
        return 0.0 if name == self.system_b else None


ANSWERS = "answers"  # the key of lines that `judge prefer --answers` wrote: their winners are a model's
FIELDS = tuple(PreferenceRecord.model_fields)


def read_side(winner: str | float) -> float | None:
    """1 if the winner is the first side (a, left ...), 0 the second, .5 a tie, or a number from 0 to 1; else None."""
    outcome = _read_word(winner) if isinstance(winner, str) else winner
    is_outcome = outcome is not None and 0 <= outcome <= 1
    return outcome if is_outcome else None


@lru_cache
def _read_word(winner: str) -> float | None:
    return WINS.get(winner.lower(), parse_finite(winner))


@dataclass(frozen=True)
class WinnerReader:
    """Reads the winners of a file: first as names of systems, or first as sides."""

    # whether the names a and b are sides, because some winner can only be a side
    sides_first: bool
    # whether they are names, because some winner can only be a name, or is one where the other system is no a or b
    names_first: bool

    @classmethod
    def of(cls, records: Iterable[PreferenceRecord]) -> "WinnerReader":
        """Finds which comes first; undecided if both kinds of winners occur, or neither."""
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
        """The preference for a: 1, 0 for b, .5 for a tie, or a probability; None for an unknown or missing winner."""
        if winner is None:
            return None
        name = record.by_name(winner)
        side = read_side(winner)
        first, second = (side, name) if self.sides_first else (name, side)
        return second if first is None else first


def read_preferences(path: FileLike, columns: Mapping[str, str | Sequence[str]] | None = None) -> Preferences:
    """The judgements of a .jsonl, .json, .csv, .tsv (each also .gz) or .parquet file, or of another tool.

    A line has `group` (else `id`), the input; `system_a` and `system_b`; `winner`, the name of one of them, or `a`, `b`
    or `tie` (or what `WINS` lists), or a probability from 0 to 1 that a is better, or nothing if only judges judged;
    `rater` if several people judged; `judges`, the winners by the name of a judge; and `length_a` and `length_b`.
    `columns` names the columns that give these, before the names in `USUAL`, also as paths into objects. Lines without
    a winner are left out with a note.

    Raises InputError with all faults of the file as `file:line: what is wrong, what was found`, and SettingError for
    names in `columns` that no judgement has.
    """
    file = InputFile.of(path, columns=columns)
    faults: list[str] = []
    if file.tool_file is not None:
        return _read_tool_file(file.path, file.tool_file)
    names = [name for name, _ in file.columns if not name.startswith(JUDGE)]
    check_names(names, FIELDS, "data.columns of judgements")
    rows = read_objects(file, faults)
    if file.form in TABLES:
        rows = ((line, _drop_empty(row)) for line, row in rows)
    elif file.form in TYPED:
        rows = ((line, _name_numbers(row)) for line, row in rows)
    preferences = check_preferences(file.path, rows, faults, file.columns)
    return replace(preferences, notes=(*preferences.notes, *_note_repeated(preferences)))


def _read_tool_file(path: Path, tool_file: ToolFile) -> Preferences:
    """The judgements in a file of another tool, with who made them."""
    if not tool_file.pairs:
        raise InputError([fault(path, 0, f"judgements of two systems are needed, found {tool_file}")])
    preferences = check_preferences(path, tool_file.pairs, [])
    by_model = None if tool_file.tool in UNSAID else tool_file.tool in BY_MODEL
    return replace(preferences, by_model=by_model)


def _drop_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if cell}


def _name_numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: name_of(cell) for name, cell in row.items()}


def _note_repeated(preferences: Preferences) -> list[str]:
    """A sentence where a pair of outputs was judged several times."""
    rows = len(preferences)
    pairs = len(preferences.units)
    if pairs == rows:
        return []
    people = len(set(preferences.raters) - {None})
    by = f"by {people} raters" if people else "by raters that no column names: columns.rater=COLUMN"
    return [f"{preferences.name}: {rows} rows, {pairs} pairs of outputs, {by}"]


def check_preferences(
    path: Path,
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    faults: list[str],
    columns: Columns = (),
) -> Preferences:
    """Checks numbered rows of judgements. Raises InputError with `faults` and all faults of these rows."""
    seen: dict[str, None] = {}
    renamed = _rename_rows(rows, columns, seen)
    first = list(islice(renamed, 1))
    _check_first(path, [row for _, row in first], list(seen))
    copies: list[int] = []
    distinct = _leave_out_copies(chain(first, renamed), copies)
    located = check_records(path, distinct, PreferenceRecord, faults)
    faults += [fault(path, 0, problem) for problem in find_absent(columns, list(seen))]
    faults += _check_one_hot(path, columns, seen)
    reader = WinnerReader.of(record for _, record in located)
    records: list[PreferenceRecord] = []
    without = 0
    for line, record in located:
        problems = list(_find_problems(record, reader))
        faults += [fault(path, line, problem) for problem in problems]
        if record.winner is None and not record.judges:
            without += 1
        elif not problems:
            records.append(record)
    if not records and not faults:
        what = f"found none in {without} rows" if without else "but has only a header"
        faults.append(fault(path, 0, f"the file needs at least one judgement, {what}"))
    require_none((), faults)
    notes = []
    if without:
        notes.append(f"{path.name}: {_count_rows(without)} without a winner left out")
    if copies:
        notes.append(f"{path.name}: {_count_rows(len(copies))} left out: exact copies of judgements of the same rater")
    preferences = _join_records(path.name, records, reader)
    by_model = ANSWERS in seen or preferences.by_model
    return replace(preferences, notes=tuple(notes), by_model=by_model)


def _count_rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def _leave_out_copies(
    rows: Iterable[tuple[int, Mapping[str, Any]]], copies: list[int]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows without exact copies of earlier ones that name a rater, whose lines are added to `copies`.

    Equal rows without a rater may be judgements of several people.
    """
    known: set[str] = set()
    for line, row in rows:
        if row.get("rater"):
            content = json.dumps(row, sort_keys=True, default=str)
            if content in known:
                copies.append(line)
                continue
            known.add(content)
        yield line, row


def _check_one_hot(
    path: Path,
    columns: Columns,
    seen: Mapping[str, None],
) -> list[str]:
    """A fault where one of the columns of `ONE_HOT` is named as the winner, though the file has them all."""
    winner = dict(columns).get("winner", ("",))[0]
    if winner not in ONE_HOT or not ONE_HOT.keys() <= seen.keys():
        return []
    rule = f"{winner} is one of three columns, which are read without a setting"
    return [fault(path, 0, f"{rule}: leave data.columns.winner out")]


def _join_records(
    name: str,
    records: Sequence[PreferenceRecord],
    reader: WinnerReader,
) -> Preferences:
    """The judgements of records that are all in order."""
    judges = dict.fromkeys(judge for record in records for judge in record.judges)
    lengths_a = _numbers(record.length_a for record in records)
    lengths_b = _numbers(record.length_b for record in records)
    lengths = np.stack([lengths_a, lengths_b], axis=1)
    ids = tuple(str(record.id) for record in records)
    return Preferences(
        name=name,
        inputs=tuple(str(record.group or record.id) for record in records),
        systems_a=tuple(record.system_a for record in records),
        systems_b=tuple(record.system_b for record in records),
        outcomes=_numbers(reader.read(record, record.winner) for record in records),
        raters=tuple(record.rater for record in records),
        judges={judge: _read_judge(judge, records, reader) for judge in judges},
        lengths=None if np.isnan(lengths).any() else lengths,
        ids=ids if all(record.id for record in records) else (),
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
    fields = [name for _, name in name_fields(tuple(rows[0])).fields]
    if "text" in fields:
        hint = "give data.outputs=FILE beside judgements, or judge=llm_judge to judge the texts"
        raise InputError([fault(path, 0, f"{rule} texts: {hint}")])
    known = list_first(keys, SHOWN_COLUMNS)
    hint = "data.columns.system_a=COLUMN names a column, data.columns.chosen and data.columns.rejected those of answers"
    raise InputError([fault(path, 0, f"{rule} {known}: {hint}")])


def _find_problems(record: PreferenceRecord, reader: WinnerReader) -> Iterator[str]:
    """What is wrong with a judgement."""
    systems = (record.system_a, record.system_b)
    if not (record.group or record.id):
        yield '"group" or "id" is needed: the input that both systems answer'
    if systems[0] == systems[1]:
        yield f"two systems must be compared, found {format_value(systems[0])} twice"
    if "tie" in systems:
        yield 'no system may be called "tie"'
    for name, verdict in record.judges.items():
        if verdict is not None and reader.read(record, verdict) is None:
            yield f"the verdict of {name} must be a system, a, b or tie, found {format_value(verdict)}"
    if record.winner is None:
        return
    if reader.read(record, record.winner) is None:
        names = f"{format_value(systems[0])}, {format_value(systems[1])}"
        rule = f'"winner" must be {names}, "a", "b" or "tie"'
        yield f"{rule}, found {format_value(record.winner)}{suggest_similar(str(record.winner), systems)}"
    by_name = record.by_name(record.winner)
    by_side = read_side(record.winner)
    are_both = isinstance(record.winner, str) and None not in (by_name, by_side)
    is_decided = reader.sides_first or reader.names_first
    if are_both and by_name != by_side and not is_decided:
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
    values = {
        **usual,
        **row,
        **named,
    }
    if ONE_HOT.keys() & row.keys() and "winner" not in values:
        winners = [side for key, side in ONE_HOT.items() if to_number(row.get(key)) == 1]
        values["winner"] = winners[0] if len(winners) == 1 else None
    judges = {key.removeprefix(JUDGE): value for key, value in values.items() if key.startswith(JUDGE)}
    if judges:
        values["judges"] = {**(values.get("judges") or {}), **judges}
    return values


def read_judged(
    path: Path | str | None = None,
    outputs: Path | str | None = None,
    scores: Mapping[str, Any] | None = None,
    judge: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    systems: Sequence[str] | None = None,
) -> tuple[Preferences | None, ScoredFile | None]:
    """Reads the preferences in `path` and the systems' outputs; with a judge alone, `path` has the outputs.

    `outputs` are examples with `system` and `group`, and `scores` are theirs; `systems`, as `NAME=FILE`, hold those of
    each. A file of another tool may have both. `columns` are those of `path`. Raises InputError with all faults of
    both files.
    """
    if systems and path is None:
        return None, _read_outputs(None, scores, systems)
    file = InputFile.of(path, columns=columns)
    has_pairs = file.tool_file is not None and bool(file.tool_file.pairs)
    has_other_texts = outputs is not None or bool(systems)
    is_to_judge = judge is not None and not has_other_texts and not has_pairs
    texts = outputs
    if is_to_judge or (not has_other_texts and has_outputs(file)):
        texts = file

    def read_given() -> Preferences | None:
        return None if is_to_judge else read_preferences(file)

    def read_texts() -> ScoredFile | None:
        return None if texts is None and not systems else _read_outputs(texts, scores, systems)

    preferences, scored = read_all([read_given, read_texts])
    return preferences, scored


def holds_pairs(file: InputFile) -> bool:
    """Whether a file has judgements of two systems."""
    if file.tool_file is not None:
        return bool(file.tool_file.pairs)
    _, first = next(read_objects(file, []), (0, {}))
    return names_pair({**first, **dict(file.columns)})


def names_pair(row: Mapping[str, Any]) -> bool:
    """Whether a row names two systems."""
    return {"system_a", "system_b"} <= {USUAL.get(name, name) for name in row}


def has_outputs(file: InputFile) -> bool:
    """Whether a file of another tool has judgements and the judged texts."""
    return file.tool_file is not None and bool(file.tool_file.pairs and file.tool_file.texts)


def _read_outputs(
    path: FileLike | None,
    scores: Mapping[str, Any] | None,
    systems: Sequence[str] | None = None,
) -> ScoredFile:
    outputs = read_scored(path, scores, systems=systems)
    place_outputs(outputs)
    return outputs
