"""The tables that people who check a judge have: verdicts and labels, with or without texts, in one file or two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, fault
from data.cells import list_items, to_value
from data.columns import RATING, SCORE, name_fields
from data.input_file import InputFile, read_objects
from data.numeric import is_missing, to_number
from data.rater_rows import USUAL_RATERS
from data.rating_words import GivenLevels
from data.roles import Roles, find_roles, gather_judges, holds_texts
from data.scored import ScoredFile, add_outputs, read_scored
from judge.answers import are_answers, to_labels
from judge.inputs import GIVEN, RULE, Columns, Frame, GivenScores, Source, read
from judge.label_joins import GivenLabels, add_epochs, choose_people, join_labels, name_source
from judge.label_sheets import ITEM, LABEL, PROBABILITY, read_design
from judge.label_sheets import SHOWN as SHEET_TEXTS
from meta_eval.scored_set import ScoredSet

Names: TypeAlias = str | Sequence[str]
Labels: TypeAlias = Path | str | Sequence[Path | str] | Sequence[Mapping[str, Any]] | Frame
Rows: TypeAlias = list[dict[str, Any]]
LABELS = Path("labels")  # names labels in memory in messages
TEXT_FIELDS = ("text", "turns")
PEEK = 100  # rows whose keys say what a file has
WANTED = "label"  # of a text that metrics score: the label that was asked for, not one that people gave


def read_verdicts(
    source: Source,
    *,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    people: Names = (),
    judges: Names = (),
    labels: Labels | None = None,
    scores: GivenScores | None = None,
    needs: Collection[str] = ("people", "judges"),
) -> tuple[ScoredSet, dict[str, float]]:
    """The examples of a source with the ratings of people and the scores of judges, and probabilities of a sheet.

    Args:
        source: as `judge.read` takes it; the rows of a file, a list or a DataFrame need no text.
        columns, levels: as in `judge.read`.
        people: columns, scorers or raters that are people; by default columns are recognised by name and values.
        judges: columns that hold verdicts of judges.
        labels: a file or several, rows or a DataFrame with the labels of people, joined by id. The probabilities of
            a sheet that `judge label` drew, or of a column `probability`, are returned by id.
        scores: by name, scores of the same texts as in `judge.read`; columns are then not recognised by their values.
        needs: what columns must hold; labels that are given stand for those of people.

    Raises SettingError where the columns have two readings, InputError for faults of the files.
    """
    of_people = _list_names(people)
    of_judges = _list_names(judges)
    needs = [role for role in needs if role != "people" or labels is None]
    opened = None if isinstance(source, ScoredSet) or scores else _open_rows(source, columns, levels)
    if opened is None or opened.tool_file is not None:
        found = _read_whole(source, columns, levels, scores)
        found = choose_people(found, of_people)
        if of_judges:
            kept = {name: each for name, each in found.scores.items() if name in of_judges}
            found = replace(found, scores=kept)
    else:
        rows, others = _read_rows(opened, levels, of_people, of_judges, needs)
        found = choose_people(add_outputs(rows, {}), others)
    if labels is None:
        return found, {}
    given = read_labels(labels, levels, _list_folders(source))
    return join_labels(found, given), dict(given.probabilities)


def _read_whole(
    source: Any, columns: Columns | None, levels: GivenLevels | None, scores: GivenScores | None
) -> ScoredSet:
    """A source that is no table of ours, as `judge.read` has it."""
    if isinstance(source, InputFile):
        columns = None  # the input knows them
    return read(source, scores, columns=columns, levels=levels)


def _list_folders(*sources: Any) -> list[Path]:
    """The folders of files, where the design of a sheet may lie."""
    paths = [source.path if isinstance(source, InputFile) else source for source in sources]
    return [Path(path).parent for path in paths if isinstance(path, str | Path)]


def _list_sources(source: Any) -> Sequence[Any]:
    """The files of labels, of which there may be several."""
    return source if isinstance(source, list | tuple) else [source]


def _list_names(names: Names) -> list[str]:
    return names.split(",") if isinstance(names, str) else list(names)


def _open_rows(source: Any, columns: Columns | None, levels: GivenLevels | None) -> InputFile | None:
    """A source of rows as an input; None for texts, Examples and outputs by system, which have no columns."""
    if isinstance(source, str | Path | InputFile):
        return InputFile.of(source, columns=columns, levels=levels)
    if isinstance(source, Mapping):
        return None
    rows = list_items(source, RULE)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    file = InputFile.of(GIVEN, columns=columns, levels=levels)
    records = [{str(name): to_value(cell) for name, cell in row.items()} for row in rows]
    return replace(file, records=records)


def _read_rows(
    file: InputFile, levels: GivenLevels | None, people: Sequence[str], judges: Sequence[str], needs: Collection[str]
) -> tuple[ScoredFile, list[str]]:
    """The examples of rows, and the names of people that are no columns."""
    faults: list[str] = []
    first = [row for _, row in islice(read_objects(file, faults), PEEK)]
    header = [*dict.fromkeys(name for row in first for name in row)]
    fields = {name for _, name in name_fields(tuple(header), file.columns).fields}
    has_texts = bool(fields & {*TEXT_FIELDS})
    has_ratings = any(name == "ratings" or name.startswith(RATING) for name in fields)
    has_scores = any(name == "scores" or name.startswith(SCORE) for name in fields)
    is_complete = (has_ratings or "people" not in needs) and (has_scores or "judges" not in needs)
    named = [name for name in [*people, *judges] if name in header]
    if is_complete and not named:
        return read_scored(replace(file, needs_text=has_texts)), [*people]
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file), [*people]  # which names the faults
    of_texts = _find_text_columns(rows, header, file)
    others = [*of_texts]
    if of_texts and "judges" not in needs and WANTED not in people:
        others.append(WANTED)
    lacking = [role for role, is_there in (("people", has_ratings), ("judges", has_scores)) if not is_there]
    columns_of_people = [name for name in people if name in header]
    roles = find_roles(
        [{name: cell for name, cell in row.items() if name not in others} for row in rows],
        people=columns_of_people,
        judges=judges,
        levels=levels,
        needs=[] if of_texts else [role for role in needs if role in lacking],
        command=f"judge agree {file.path}",
    )
    if not roles.people and not roles.judges:
        return read_scored(replace(file, needs_text=bool(of_texts))), [*people]
    if roles.rater is not None and roles.key is None and not of_texts:
        what = f"rows by {roles.rater} need a column with the id of what was rated, found {', '.join(header)}"
        raise InputError([fault(file.path, 0, what)])
    found = _apply(file, rows, roles, has_texts=bool(of_texts))
    return found, [name for name in people if name not in columns_of_people]


def _find_text_columns(rows: Sequence[Mapping[str, Any]], header: Sequence[str], file: InputFile) -> list[str]:
    """The columns that give texts, and not verdicts under the name of one (`prediction`, `answer`)."""
    naming = name_fields(tuple(header), file.columns)
    named = [key for key, name in naming.fields if name in TEXT_FIELDS]
    return [key for key in named if holds_texts(row.get(key) for row in rows)]


def _apply(file: InputFile, rows: Rows, roles: Roles, *, has_texts: bool) -> ScoredFile:
    """The examples of rows whose columns have these roles."""
    note = f"{file.path.name}: {roles.describe()}"
    if roles.named_by is not None:
        gathered = gather_judges(rows, roles)
        names = dict.fromkeys(str(row.get(roles.named_by)) for row in rows)
        roles = replace(roles, judges={name: name for name in names}, named_by=None)
        file = replace(file, records=[_read_cells_of(row) for row in gathered])
    given = dict(file.columns)
    columns = {**{name: tuple(keys) for name, keys in roles.columns.items()}, **given}
    columned = replace(file, columns=tuple(columns.items()), needs_text=has_texts)
    found = read_scored(columned)
    return replace(found, notes=(note, *found.notes))


def _read_cells_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table as a record in memory: empty cells are missing, and numbers are numbers."""
    found: dict[str, Any] = {}
    for name, cell in row.items():
        number = to_number(cell) if isinstance(cell, str) else None
        found[name] = None if cell == "" else cell if number is None else number
    return found


def read_labels(source: Labels, levels: GivenLevels | None = None, folders: Sequence[Path] = ()) -> GivenLabels:
    """Labels of people in a file, rows or a DataFrame of their own: an id, and one column or row for each person.

    Several files are read as one, with an annotator for each where no column names any. Rows of a sheet that
    `judge label` wrote get the ids of its design, which lies beside the labels or in one of the `folders`.

    Raises SettingError where its columns have two readings, InputError for faults of the file.
    """
    name, path, rows = _open_labels(source, levels)
    rows = add_epochs(rows) if any("epoch" in row for row in rows) else rows
    rows = [_read_cells_of(row) for row in rows]
    probabilities = {str(row.get("id")): float(row[PROBABILITY]) for row in rows if _has_number(row, PROBABILITY)}
    rows = [{key: cell for key, cell in row.items() if key != PROBABILITY} for row in rows]
    people: Sequence[str] = ()
    if are_answers(rows):
        rows, people = to_labels(rows)
    if all(row.get(ITEM) for row in rows) and not any("id" in row for row in rows):
        if all(is_missing(row.get(LABEL)) for row in rows):
            raise InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
        design = read_design([str(row[ITEM]) for row in rows], [*_list_folders(*_list_sources(source)), *folders])
        probabilities = dict(design.probabilities)
        kept = [ITEM, *SHEET_TEXTS]
        rows = [{"id": design.ids[str(row[ITEM])], **_leave_out(row, kept)} for row in rows]
    roles = _find_label_roles(rows, levels, name, people)
    columns = tuple((key, tuple(keys)) for key, keys in roles.columns.items())
    file = InputFile.of(path, levels=levels)
    labelled = read_scored(replace(file, records=rows, columns=columns, needs_text=False))
    rated = [i for i, example in enumerate(labelled.examples) if example.ratings]
    if not rated:
        raise InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
    described = f"{name}: {roles.describe()}"
    labelled = replace(labelled.take(rated), scores={}, notes=(described, *labelled.notes))
    return GivenLabels(name, labelled, probabilities)


def _open_labels(source: Any, levels: GivenLevels | None) -> tuple[str, Path, Rows]:
    """The name and path of labels for messages, and their rows."""
    if isinstance(source, Sequence) and source and all(isinstance(each, str | Path) for each in source):
        several = [source] if isinstance(source, str) else [*source]
        parts = [_open_labels(Path(each), levels) for each in several]
        names = ", ".join(name for name, _, _ in parts)
        if len(parts) == 1:
            return parts[0]
        rows = [
            row if any(rater in row for rater in USUAL_RATERS) else {**row, USUAL_RATERS[0]: Path(name).stem}
            for name, _, rows in parts
            for row in rows
        ]
        return names, parts[0][1], rows
    file = _open_rows(source, None, levels)
    name = name_source(source, LABELS)
    if file is None or file.tool_file is not None:
        raise SettingError(f"labels must be a table with ids and labels, but {name} is none")
    faults: list[str] = []
    rows = [row for _, row in read_objects(file, faults)]
    if faults:
        raise InputError(faults)
    if not rows:
        raise InputError([fault(name, 0, "labels need at least one row, found none")])
    return name, file.path if isinstance(source, str | Path) else LABELS, rows


def _leave_out(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {key: cell for key, cell in row.items() if key not in names}


def _has_number(row: Mapping[str, Any], name: str) -> bool:
    return isinstance(row.get(name), int | float)


def _find_label_roles(rows: Rows, levels: GivenLevels | None, name: str, people: Sequence[str] = ()) -> Roles:
    """The roles of the columns of labels: where one column alone can be a label, its name does not matter.

    `people` are the columns that are known to hold labels.
    """
    header = [*dict.fromkeys(key for row in rows for key in row)]
    roles = find_roles(rows, people=people, levels=levels, needs=())
    if roles.key is None:
        raise SettingError(f"{name} needs a column with the ids of the verdicts, such as id, found {', '.join(header)}")
    if roles.people:
        return replace(roles, judges={}, named_by=None)
    spare = [key for key in (*roles.judges, *roles.unread) if _is_label(rows, key, levels)]
    if len(spare) != 1:
        rule = f"one column of {name} must hold labels by its name, such as human or label"
        raise SettingError(f"{rule}, found {', '.join(header)}")
    chosen = find_roles(rows, people=spare, levels=levels, needs=())
    return replace(chosen, judges={}, named_by=None)


def _is_label(rows: Rows, key: str, levels: GivenLevels | None) -> bool:
    return not holds_texts(row.get(key) for row in rows) or levels not in (None, "auto")


def have_texts(scored: ScoredSet) -> bool:
    """Whether some example has a text."""
    return any(not example.is_empty for example in scored.examples)
