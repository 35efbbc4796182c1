"""Preferences in files: which of two systems' outputs for an input is preferred, one judgement per line."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from core.errors import InputError, check_names, fault, format_value, list_first, setting
from core.example import SHOWN_COLUMNS
from core.settings import NonNegative
from data.columns import (
    NAMES,
    USUAL_RATERS,
    Columns,
    add_nested,
    find_absent,
    fold_name,
    fold_names,
    list_names,
    list_spellings,
    name_fields,
)
from data.formats.tool_file import BY_MODEL, UNSAID, ToolFile
from data.input_file import FileLike, InputFile, read_objects
from data.label_columns import names_model
from data.numeric import name_of, parse_finite, parse_number, to_number
from data.records import Name, Record, Text, check_records, require_none
from data.table_files import TABLES
from data.winners import list_verdicts, read_winner
from meta_eval.preferences import Preferences

PROMPTS = NAMES["pairs"]["prompt"].split()  # columns of what systems answer
USUAL = {name: field for name, field in list_names("pairs").items() if field != "prompt"}
USUAL |= dict.fromkeys(USUAL_RATERS, "rater")
PLACES = {key: place for place, key in enumerate(USUAL)}  # the first of several keys of a field gives it
ONE_HOT = {
    "winner_model_a": "a",
    "winner_model_b": "b",
    "winner_tie": "tie",
}  # a column for each winner
JUDGE = "judges."  # a column of the winners by one judge, as in judges.gpt
Row: TypeAlias = tuple[int, Mapping[str, Any]]  # with its line
Rows: TypeAlias = Iterable[Row]
ANSWERS = "answers"  # the key of lines that `judge prefer --answers` wrote: their winners are a model's


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

    @property
    def input(self) -> str:
        """What both systems answer."""
        return str(self.group or self.id)

    def read(self, winner: Any) -> float | None:
        """Returns the preference for system a (`read_winner`)."""
        return read_winner(winner, self.system_a, self.system_b)


FIELDS = tuple(PreferenceRecord.model_fields)


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
    check_names(names, FIELDS, "columns of judgements")
    rows = read_objects(file, faults)
    if file.form in TABLES:
        rows = ((line, _drop_empty(row)) for line, row in rows)
    preferences = check_preferences(file.path, rows, faults, file.columns)
    return replace(preferences, notes=(*preferences.notes, *_note_repeated(preferences)))


def _read_tool_file(path: Path, tool_file: ToolFile) -> Preferences:
    """The judgements in a file of another tool, with who made them."""
    if not tool_file.pairs:
        raise InputError([fault(path, 0, f"judgements of two systems are needed, found {tool_file}")])
    preferences = check_preferences(path, tool_file.pairs, [])
    by_model = preferences.by_model or tool_file.tool in BY_MODEL
    if tool_file.tool in UNSAID and not by_model:
        by_model = None
    if not by_model:  # a model's judgements in both orders are no several people's
        preferences = replace(preferences, notes=(*preferences.notes, *_note_repeated(preferences)))
    return replace(preferences, by_model=by_model)


def _drop_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if cell}


def _note_repeated(preferences: Preferences) -> list[str]:
    """A sentence where a pair of outputs was judged several times."""
    rows = len(preferences)
    pairs = len(preferences.units)
    if pairs == rows:
        return []
    people = len(set(preferences.raters) - {None})
    unnamed = f"by raters that no column names: {setting('columns.rater', 'COLUMN')}"
    by = f"by {people} raters" if people else unnamed
    return [f"{preferences.name}: {rows} rows, {pairs} pairs of outputs, {by}"]


def check_preferences(
    path: Path,
    rows: Rows,
    faults: list[str],
    columns: Columns = (),
) -> Preferences:
    """Checks numbered rows of judgements. Raises InputError with `faults` and all faults of these rows."""
    listed = [(line, add_nested(row, columns)) for line, row in rows]
    seen = dict.fromkeys(key for _, row in listed for key in row)
    _check_first(path, [_rename(row, columns) for _, row in listed[:1]], [*seen])
    renamed = [(line, _rename(row, columns)) for line, row in listed]
    distinct = list(_leave_out_copies(renamed))
    located = check_records(path, distinct, PreferenceRecord, faults)
    faults += [fault(path, 0, problem) for problem in find_absent(columns, [*seen])]
    chosen = {key for _, keys in columns for key in keys}
    faults += [fault(path, 0, problem) for problem in list_spellings(key for key in seen if key not in chosen)]
    faults += _check_one_hot(path, columns, seen)
    for line, record in located:
        faults += [fault(path, line, problem) for problem in _find_problems(record)]
    records = [record for _, record in located if record.winner is not None or record.judges]
    without = len(located) - len(records)
    if not records and not faults:
        what = f"found none in {without} rows" if without else "but has only a header"
        faults.append(fault(path, 0, f"the file needs at least one judgement, {what}"))
    require_none((), faults)
    notes: list[str] = []
    if without:
        notes.append(f"{_count_rows(without)} without a winner left out")
    copies = len(renamed) - len(distinct)
    if copies:
        notes.append(f"{_count_rows(copies)} left out: exact copies of judgements of the same rater")
    notes += [*_note_numbers(records), *_note_prompts(distinct), *_note_unread(listed, columns)]
    preferences = _join_records(path.name, records)
    raters = {rater for rater in preferences.raters if rater is not None}
    models = sorted(filter(names_model, raters))
    are_all_models = bool(models) and len(models) == len(raters)
    if models and not are_all_models:
        notes.append(_describe_models(models))
    by_model = ANSWERS in seen or are_all_models or preferences.by_model
    of_file = [f"{path.name}: {note}" for note in notes]
    return replace(preferences, notes=tuple(of_file), by_model=by_model)


def _find_problems(record: PreferenceRecord) -> Iterator[str]:
    """Yields what is wrong with a judgement, one sentence per problem."""
    systems = (record.system_a, record.system_b)
    if not (record.group or record.id):
        yield '"group" or "id" is needed: the input that both systems answer'
    if systems[0] == systems[1]:
        yield f"two systems must be compared, found {format_value(systems[0])} twice"
    if "tie" in systems:
        yield 'no system may be called "tie"'
    for name, verdict in {'"winner"': record.winner, **record.judges}.items():
        try:
            record.read(verdict)
        except ValueError as error:
            yield f"{name} {error}" if name == '"winner"' else f"the verdict of {name} {error}"


def _note_prompts(rows: Rows) -> list[str]:
    """A note where prompts of rows without named inputs repeat, because such rows are not independent."""
    unnamed = [fold_names(row) for _, row in rows if not row.get("group")]
    column = next((name for name in PROMPTS if unnamed and isinstance(unnamed[0].get(name), str)), None)
    if column is None:
        return []
    ids = {str(row.get("id")) for row in unnamed}
    prompts = {str(row.get(column)) for row in unnamed}
    if len(ids) <= len(prompts):
        return []
    rule = f"{len(ids)} ids have {len(prompts)} different prompts, but each id is an input of its own"
    return [f"{rule}: {setting('columns.group', column)} makes prompts the inputs"]


def _note_unread(rows: Sequence[Row], columns: Columns) -> list[str]:
    """A note on columns of sides that give no winner."""
    read = {key for _, keys in columns for key in keys}
    names = dict.fromkeys(key for _, row in rows for key in row)
    read |= {name for name in names if {fold_name(name), USUAL.get(fold_name(name))} & {*FIELDS}}
    unread = list_verdicts((row for _, row in rows), read)
    if not unread:
        return []
    return [f"not read: {', '.join(unread)}: {setting('columns.judges.NAME', unread[0])} reads verdicts of a judge"]


def _describe_models(models: Sequence[str]) -> str:
    """A note where some raters are models, and others people."""
    are = "are models by their names, but count as people"
    if len(models) == 1:
        are = "is a model by its name, but counts as a person"
    return f"{', '.join(models)} {are}: {setting('columns.judges.NAME', 'COLUMN')} names its verdicts"


def _note_numbers(records: Iterable[PreferenceRecord]) -> list[str]:
    """A note where all winners are 0 and 1, which may also be meant as the places of two systems."""
    numbers: set[float | None] = set()
    for record in records:
        word = str(name_of(record.winner))
        if word in (record.system_a, record.system_b):
            return []
        if record.winner is not None:
            numbers.add(parse_finite(word))
    if numbers != {0.0, 1.0}:
        return []
    return ["the winners 1 and 0 are probabilities that system_a is better: 1 is read as system_a, 0 as system_b"]


def _count_rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


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


def _check_one_hot(
    path: Path,
    columns: Columns,
    seen: Mapping[str, None],
) -> list[str]:
    """A fault where one of the columns of `ONE_HOT` is named as the winner, though the file has them all."""
    winner = dict(columns).get("winner", ("",))[0]
    if winner not in ONE_HOT or not ONE_HOT.keys() <= seen.keys():
        return []
    rule = f"the columns {', '.join(ONE_HOT)} are read together"
    return [fault(path, 0, f"{rule}, but {setting('columns.winner')} names {winner} alone: leave this setting out")]


def _join_records(
    name: str,
    records: Sequence[PreferenceRecord],
) -> Preferences:
    """The judgements of records that are all in order."""
    judges = dict.fromkeys(judge for record in records for judge in record.judges)
    lengths_a = _numbers(record.length_a for record in records)
    lengths_b = _numbers(record.length_b for record in records)
    lengths = np.stack([lengths_a, lengths_b], axis=1)
    ids = tuple(str(record.id) for record in records)
    return Preferences(
        name=name,
        inputs=tuple(record.input for record in records),
        systems_a=tuple(record.system_a for record in records),
        systems_b=tuple(record.system_b for record in records),
        outcomes=_numbers(record.read(record.winner) for record in records),
        raters=tuple(record.rater for record in records),
        judges={judge: _read_judge(judge, records) for judge in judges},
        lengths=None if np.isnan(lengths).any() else lengths,
        ids=ids if all(record.id for record in records) else (),
    )


def _read_judge(name: str, records: Iterable[PreferenceRecord]) -> NDArray[np.float64]:
    """The outcomes by one judge."""
    return _numbers(record.read(record.judges.get(name)) for record in records)


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
        hint = f"give {setting('outputs', 'FILE')} beside judgements"
        by_judge = setting("judge", "llm_judge")
        raise InputError([fault(path, 0, f"{rule} texts: {hint}, or {by_judge} to judge the texts")])
    known = list_first(keys, SHOWN_COLUMNS)
    system_a = setting("columns.system_a", "COLUMN")
    hint = f"{system_a} names a column, {setting('columns.chosen')} and {setting('columns.rejected')} those of answers"
    sides = [key for key in keys if key.endswith("_a") and f"{key[:-1]}b" in keys]
    if sides:  # neither of which is the chosen one in every row
        outputs = f"{sides[0]} and {sides[0][:-1]}b"
        hint = f"{system_a} and {setting('columns.system_b', 'COLUMN')} name the columns of the systems of {outputs}"
    raise InputError([fault(path, 0, f"{rule} {known}: {hint}")])


def _numbers(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _rename(row: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """The values of a row by field, with the winners of judges by name, and a winner of one column for each."""
    named = {field: row[key] for field, (key, *_) in columns if key in row}
    usual: dict[str, Any] = {}
    folded = fold_names(row)
    known = folded.keys() & USUAL.keys()
    for key in sorted(known, key=PLACES.__getitem__):
        usual.setdefault(USUAL[key], folded[key])
    values = {
        **usual,
        **row,
        **{name: folded[name] for name in FIELDS if name in folded},
        **named,
    }
    if ONE_HOT.keys() & folded.keys() and "winner" not in values:
        winners = [side for key, side in ONE_HOT.items() if to_number(folded.get(key)) == 1]
        values["winner"] = winners[0] if len(winners) == 1 else None
    columns_of_judges = [key for key in values if key.startswith(JUDGE)]
    if columns_of_judges:
        judges = dict(values.get("judges") or {})
        for key in columns_of_judges:
            name = key.removeprefix(JUDGE)
            judges[name] = values[key]
        values["judges"] = judges
    return values


def holds_pairs(file: InputFile) -> bool:
    """Whether a file has judgements of two systems."""
    if file.tool_file is not None:
        return bool(file.tool_file.pairs)
    _, first = next(read_objects(file, []), (0, {}))
    return names_pair({**first, **dict(file.columns)})


def names_pair(row: Mapping[str, Any]) -> bool:
    """Whether a row names two systems."""
    return {"system_a", "system_b"} <= {USUAL.get(name, name) for name in map(fold_name, row)}


def has_outputs(file: InputFile) -> bool:
    """Whether a file of another tool has judgements and the judged texts."""
    return file.tool_file is not None and bool(file.tool_file.pairs and file.tool_file.texts)
