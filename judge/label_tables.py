"""One table of texts, labels and verdicts: reads what its columns hold, and asks where no column says it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.errors import InputError, SettingError, fault, printable, setting
from core.example import SHOWN_COLUMNS
from data.cells import list_items, to_value
from data.columns import FIELDS, RATING, SCORE, find_rater, fold_name, name_fields, names_rater, reach
from data.input_file import InputFile, read_objects
from data.label_columns import (
    LABEL,
    MODELS,
    ask,
    find_key,
    find_said,
    list_candidates,
    list_columns,
    name_columns,
    varies,
)
from data.numeric import is_missing
from data.rating_words import GivenLevels
from data.scored import ScoredFile, read_scored
from judge.inputs import GIVEN, SOURCE_RULE, Columns
from judge.people import choose_people
from report.wording import join_names

TEXT_FIELDS = {"text", "turns"}
NO_LABELS = {*FIELDS, "rater"} - {"text", "label", "ratings"}  # fields that hold no labels
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """What a caller says about the columns of a table, and what it needs of them."""

    people: Sequence[str] = ()
    judges: Sequence[str] = ()
    levels: GivenLevels | None = None
    # which of people, judges and text the columns must give
    needs: Collection[str] = ()
    # whether people gave all labels of the table, so that a column `label`, or the only one, needs no name
    is_of_people: bool = False


def open_rows(
    source: Any,
    columns: Columns | None,
    levels: GivenLevels | None,
) -> InputFile | None:
    """Opens a source of rows as an input file.

    Returns None for texts, Examples and outputs by system: they have no columns.
    """
    if isinstance(source, str | Path | InputFile):
        return InputFile.of(source, columns=columns, levels=levels)
    if isinstance(source, Mapping):
        return None
    rows = list_items(source, SOURCE_RULE)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    records = [{str(name): to_value(cell) for name, cell in row.items()} for row in rows]
    return replace(InputFile.of(GIVEN, columns=columns, levels=levels), records=records)


def read_table(file: InputFile, request: Request) -> ScoredFile:
    """Reads the examples of rows, with the labels of people and the verdicts of judges that their columns hold.

    Raises QuestionError where no column says that it holds what is needed, SettingError for names that nothing has, and
    InputError for faults of the file.
    """
    faults: list[str] = []
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file)  # which names the faults
    header = list_columns(rows)
    fields = dict(name_fields(tuple(header), file.columns).fields)
    given = {"people": request.people, "judges": request.judges}
    named = [name for names in given.values() for name in names]
    fixed = {key for key, name in fields.items() if name in NO_LABELS or name.startswith((RATING, SCORE))}
    fixed |= {*dict(file.columns)}
    candidates = list_candidates(rows, header, request.levels)
    candidates = [name for name in candidates if name in named or name not in fixed]
    said = find_said(header, candidates, given)
    if request.is_of_people and not (said["people"] or _has_ratings(fields.values())):
        labels = [name for name in candidates if fields.get(name) == LABEL]
        said["people"] = labels or (candidates if len(candidates) == 1 else [])
    rater = find_rater(header) or dict(file.columns).get("rater", (None,))[0]
    taken = [name for names in said.values() for name in names]
    if taken:
        columns = name_columns(header, said["people"], said["judges"], rater)
        file = replace(file, columns=tuple({**columns, **dict(file.columns)}.items()))
    names = {name for _, name in name_fields(tuple(header), file.columns).fields}
    _check_needs(request, rows, candidates, said, names, rater)
    has_texts = bool(names & TEXT_FIELDS)
    if taken and rater and "id" not in names and not has_texts:
        what = f"rows by {rater} need a column with the id of what was rated, found {', '.join(header)}"
        raise InputError([fault(file.path, 0, what)])
    texts = read_scored(replace(file, needs_text=has_texts))
    if taken and not request.is_of_people:
        unread = [name for name in candidates if name not in taken and name not in fields]
        texts = replace(texts, notes=(_describe(file, said, rater, unread), *texts.notes))
    elif taken:
        texts = replace(texts, notes=(f"{file.path.name}: labels of people: {', '.join(taken)}", *texts.notes))
    others = [[name for name in names if name not in header] for names in given.values()]
    return choose_people(texts, *others)


def _has_ratings(names: Collection[str]) -> bool:
    return any(name == "ratings" or name.startswith(RATING) for name in names)


def _check_needs(
    request: Request,
    rows: Sequence[Row],
    candidates: Sequence[str],
    said: Mapping[str, Sequence[str]],
    names: Collection[str],
    rater: str | None,
) -> None:
    """Raises QuestionError where no column gives what is needed, SettingError for names that nothing has."""
    header = list_columns(rows)
    raters = [] if rater is None else _list_values(rows, rater)
    scorers = [name for row in rows for key, cell in row.items() if fold_name(key) == "scores" for name in cell or ()]
    scorers = list(dict.fromkeys(map(str, scorers)))
    others = [name for name in (*request.people, *request.judges) if name not in header]
    has_ratings = _has_ratings(names)  # which may name their raters
    unknown = [name for name in others if name not in (*raters, *scorers) and not has_ratings]
    if unknown:
        known = join_names([*header, *raters, *scorers])
        raise SettingError(f"people and judges name columns, but {printable(unknown[0])} is none of {known}")
    is_there = {
        "text": bool(TEXT_FIELDS & {*names}),
        "people": has_ratings or any(name in scorers for name in others),
        "judges": "scores" in names or any(name.startswith(SCORE) for name in names) or bool(others),
    }
    lacking = [role for role in request.needs if not is_there[role]]
    if not lacking:
        return
    key = find_key(header)
    keys = [] if key is None else [str(reach(row, key)) for row in rows]
    is_repeated = len({*keys}) < len(keys)
    if is_repeated and not rater and "system" not in names and lacking != ["text"]:
        rule = f"rows with one {key} must be of several raters, but no column says who rated"
        hint = f"{setting('columns.rater', 'COLUMN')} names it; verdicts of several judges are columns"
        raise SettingError(f"{rule}: {hint}, or labels are a file of their own")
    taken = [name for of_role in said.values() for name in of_role]
    free = [*scorers, *(name for name in candidates if name not in taken and varies(rows, name))]
    if "people" in lacking and "judges" not in request.needs:
        free = free or taken
    elif "people" in lacking and is_there["judges"]:
        free = [name for name in free if not MODELS.search(name)]
    texts = [name for name in header if name not in candidates and not names_rater(name)]
    longest = max(texts, key=lambda name: max(map(len, _list_values(rows, name)), default=0), default=None)
    raise ask(lacking, free, raters, longest)


def _list_values(rows: Sequence[Row], column: str) -> list[str]:
    """The different values in a column, as texts."""
    cells = [reach(row, column) for row in rows]
    return list(dict.fromkeys(str(cell) for cell in cells if not is_missing(cell)))


def _describe(file: InputFile, said: Mapping[str, Sequence[str]], rater: str | None, unread: Sequence[str]) -> str:
    """Describes in one line which column was taken for which role."""
    key = dict(file.columns).get("id", ("id",))[0]
    parts = {
        "labels of people: ": ", ".join(said["people"]),
        "one row by ": rater,
        "verdicts of judges: ": ", ".join(said["judges"]),
        "rows named by ": key,
        "not read: ": ", ".join(unread[:SHOWN_COLUMNS]),
    }
    return f"{file.path.name}: " + "; ".join(f"{what}{shown}" for what, shown in parts.items() if shown)
