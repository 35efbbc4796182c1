"""Preferences in files: which of two systems' outputs for an input is preferred, one judgement per line."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from core.errors import InputError, check_names, fault, format_value, list_first, setting
from core.example import SHOWN_COLUMNS
from core.settings import NonNegative
from data.columns import (
    USUAL_RATERS,
    Cells,
    Columns,
    add_nested,
    find_absent,
    fold_name,
    fold_names,
    list_names,
    list_spellings,
    name_fields,
)
from data.formats.tool_file import BY_MODEL, UNSAID
from data.input_file import FileLike, InputFile, read_objects
from data.label_columns import names_model
from data.numeric import name_of, parse_finite, parse_number, to_number
from data.records import Name, Record, Text, check_records, require_none
from data.table_files import TABLES
from data.winners import TIES, read_winner
from meta_eval.preferences import Preferences

USUAL = list_names("pairs") | dict.fromkeys(USUAL_RATERS, "rater")
ONE_HOT = {"winner_model_a": "a", "winner_model_b": "b", "winner_tie": "tie"}  # a column for each winner
WINNER = '"winner"'  # in messages
JUDGE = "judges."  # a column of the winners by one judge, as in judges.gpt
Row: TypeAlias = tuple[int, Cells]  # with its line
Rows: TypeAlias = Iterable[Row]
ANSWERS = "answers"  # the key of lines that `judge prefer --report` wrote: their winners are a model's


def _parse_cell(cell: object) -> object:
    return parse_number(cell) if isinstance(cell, str) else cell


def _check_winner(value: object) -> object:
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    raise ValueError("must be a name or a number from 0 to 1")


Length = Annotated[NonNegative, BeforeValidator(_parse_cell)]
Winner = Annotated[Any, BeforeValidator(_check_winner)]


class PreferenceRecord(Record):
    """One judgement of a file."""

    id: Name | None = None
    group: Name | None = None
    system_a: Name
    system_b: Name
    winner: Winner = None
    rater: Name | None = None
    judges: Mapping[Text, Winner] = Field(default_factory=dict)
    length_a: Length | None = None
    length_b: Length | None = None


FIELDS = tuple(PreferenceRecord.model_fields)


def read_preferences(path: FileLike, columns: Mapping[str, str | Sequence[str]] | None = None) -> Preferences:
    """The judgements of a .jsonl, .json, .csv, .tsv or .xlsx file, or of another tool.

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
    tool_file = file.tool_file
    if tool_file is None:
        names = [name for name, _ in file.columns if not name.startswith(JUDGE)]
        check_names(names, FIELDS, "columns of judgements")
        rows = read_objects(file, faults)
        if file.form in TABLES:
            rows = ((line, {name: cell for name, cell in row.items() if cell}) for line, row in rows)
        preferences = check_preferences(
            file.path,
            rows,
            faults,
            file.columns,
        )
    elif tool_file.pairs:
        preferences = check_preferences(file.path, tool_file.pairs, faults)
        by_model = preferences.by_model or tool_file.tool in BY_MODEL or (None if tool_file.tool in UNSAID else False)
        preferences = replace(preferences, by_model=by_model)
    else:
        raise InputError([fault(file.path, 0, f"judgements of two systems are needed, found {tool_file}")])
    rows_of_pair = len(preferences) / len(preferences.units)
    if rows_of_pair == 1 or (tool_file and preferences.by_model):  # judgements of a model are in both orders
        return preferences
    people = len(set(preferences.raters) - {None})
    by = f"by {people} raters" if people else f"by raters that no column names: {setting('columns.rater', 'COLUMN')}"
    note = f"{preferences.name}: {len(preferences)} rows, {len(preferences.units)} pairs of outputs, {by}"
    return replace(preferences, notes=(*preferences.notes, note))


def check_preferences(
    path: Path,
    rows: Rows,
    faults: list[str],
    columns: Columns = (),
) -> Preferences:
    """Checks numbered rows of judgements. Raises InputError with `faults` and all faults of these rows."""
    listed = [(line, add_nested(row, columns)) for line, row in rows]
    seen = dict.fromkeys(key for _, row in listed for key in row)
    chosen = {key for _, keys in columns for key in keys}
    renamed = [(line, _rename(row, columns)) for line, row in listed]
    if renamed:
        _check_first(path, renamed[0][1], [*seen])
    distinct = list(_leave_out_copies(renamed))
    located = check_records(
        path,
        distinct,
        PreferenceRecord,
        faults,
    )
    problems = [*find_absent(columns, [*seen]), *list_spellings(key for key in seen if key not in chosen)]
    faults += [fault(path, 0, problem) for problem in problems]
    judged: list[tuple[PreferenceRecord, dict[str, float]]] = []
    for line, record in located:
        outcomes, problems = _read_outcomes(record)
        faults += [fault(path, line, problem) for problem in problems]
        if record.judges or record.winner is not None:
            judged.append((record, outcomes))
    without = len(located) - len(judged)
    if not judged and not faults:
        what = f"found none in {without} rows" if without else "but has only a header"
        faults.append(fault(path, 0, f"the file needs at least one judgement, {what}"))
    require_none((), faults)
    records = [record for record, _ in judged]
    raters = {record.rater for record in records} - {None}
    models = sorted(name for name in raters if name is not None and names_model(name))
    are_models = bool(models) and len(models) == len(raters)
    lengths = np.array([(record.length_a, record.length_b) for record in records], dtype=np.float64)
    lacking = np.isnan(lengths).any(axis=1)
    said = {
        "without a winner left out": without,
        "left out: exact copies of judgements of the same rater": len(renamed) - len(distinct),
        "without both lengths left out of what is said about lengths": 0 if lacking.all() else int(lacking.sum()),
    }
    notes = [f"{count} {'row' if count == 1 else 'rows'} {what}" for what, count in said.items() if count]
    notes += _note_numbers(records)
    if models and not are_models:
        rule = f"{', '.join(models)}: by name a model, but counts as a person"
        notes.append(f"{rule}: {setting('columns.judges.NAME', 'COLUMN')} names its verdicts")
    ids = tuple(str(record.id) for record in records)
    judges = dict.fromkeys(judge for record in records for judge in record.judges)
    return Preferences(
        name=path.name,
        inputs=tuple(str(record.group or record.id) for record in records),
        systems_a=tuple(record.system_a for record in records),
        systems_b=tuple(record.system_b for record in records),
        outcomes=np.array([by[WINNER] for _, by in judged]),
        raters=tuple(record.rater for record in records),
        judges={judge: np.array([by.get(judge, math.nan) for _, by in judged]) for judge in judges},
        lengths=None if lacking.all() else lengths,
        ids=ids if all(record.id for record in records) else (),
        by_model=ANSWERS in seen or are_models,
        notes=tuple(f"{path.name}: {note}" for note in notes),
    )


def _read_outcomes(record: PreferenceRecord) -> tuple[dict[str, float], list[str]]:
    """The preferences for system a, by judge and for the winner, and what is wrong with a judgement in sentences."""
    systems = (record.system_a, record.system_b)
    problems: list[str] = []
    if not (record.group or record.id):
        problems.append('"group" or "id" is needed: the input that both systems answer')
    if systems[0] == systems[1]:
        problems.append(f"two systems must be compared, found {format_value(systems[0])} twice")
    if "tie" in systems:
        problems.append('no system may be called "tie"')
    outcomes: dict[str, float] = {}
    for name, verdict in {WINNER: record.winner, **record.judges}.items():
        try:
            outcome = read_winner(verdict, *systems)
            outcomes[name] = math.nan if outcome is None else outcome
        except ValueError as error:
            problems.append(f"{name} {error}" if name == WINNER else f"the verdict of {name} {error}")
    return outcomes, problems


def _note_numbers(records: Iterable[PreferenceRecord]) -> list[str]:
    """A note where all winners but ties are 0 and 1, which may also be meant as the places of two systems."""
    numbers: set[float | None] = set()
    for record in records:
        word = str(name_of(record.winner))
        if word in (record.system_a, record.system_b):
            return []
        if record.winner is not None and word.strip().lower() not in TIES:
            numbers.add(parse_finite(word))
    if numbers != {0.0, 1.0}:
        return []
    return ["the winners 1 and 0 are probabilities that system_a is better: 1 is read as system_a, 0 as system_b"]


def _leave_out_copies(rows: Rows) -> Iterator[Row]:
    """The rows without exact copies of earlier ones that name a rater.

    Equal rows without a rater may be judgements of several people.
    """
    known: set[str] = set()
    for line, row in rows:
        if row.get("rater"):
            content = json.dumps(row, sort_keys=True, default=str)
            if content in known:
                continue
            known.add(content)
        yield line, row


def _check_first(path: Path, row: Cells, keys: Sequence[str]) -> None:
    """Raises InputError where the first row is no judgement."""
    if names_pair(row):
        return
    rule = "judgements of two systems (system_a, system_b, winner) are needed, found"
    fields = [name for _, name in name_fields(tuple(row)).fields]
    if "text" in fields:
        hint = f"give {setting('outputs', 'FILE')} beside judgements"
        by_judge = setting("judge", "llm_judge")
        raise InputError([fault(path, 0, f"{rule} texts: {hint}, or {by_judge} to judge the texts")])
    known = list_first(keys, SHOWN_COLUMNS)
    system_a = setting("columns.system_a", "COLUMN")
    hint = f"{system_a} names a column; answers are in columns chosen and rejected"
    raise InputError([fault(path, 0, f"{rule} {known}: {hint}")])


def _rename(row: Cells, columns: Columns) -> dict[str, Any]:
    """The values of a row by field, with the winners of judges by name, and a winner of one column for each."""
    folded = fold_names(row)
    usual: dict[str, Any] = {}
    for key, name in USUAL.items():
        if key in folded:
            usual.setdefault(name, folded[key])
    own = {name: folded[name] for name in FIELDS if name in folded}
    named = {field: row[key] for field, (key, *_) in columns if key in row}
    values = {
        **usual,
        **row,
        **own,
        **named,
    }
    if ONE_HOT.keys() & folded.keys() and "winner" not in values:
        winners = [side for key, side in ONE_HOT.items() if to_number(folded.get(key)) == 1]
        values["winner"] = winners[0] if len(winners) == 1 else None
    judges = {name.removeprefix(JUDGE): cell for name, cell in values.items() if name.startswith(JUDGE)}
    if judges:
        values["judges"] = {**(values.get("judges") or {}), **judges}
    return values


def holds_pairs(file: InputFile) -> bool:
    """Whether a file has judgements of two systems."""
    if file.tool_file is not None:
        return bool(file.tool_file.pairs)
    _, first = next(read_objects(file, []), (0, {}))
    return names_pair({**first, **dict(file.columns)})


def names_pair(row: Cells) -> bool:
    """Whether a row names two systems."""
    return {"system_a", "system_b"} <= {USUAL.get(name, name) for name in map(fold_name, row)}


def has_outputs(file: InputFile) -> bool:
    """Whether a file of another tool has judgements and the judged texts."""
    return file.tool_file is not None and bool(file.tool_file.pairs and file.tool_file.texts)
