"""Labels of people in separate files: tables, exports of annotation tools, and sheets of `judge label`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, fault
from data.columns import RATINGS, USUAL_RATERS, find_column, find_rater, find_spellings, fold_name
from data.input_file import InputFile, read_objects
from data.label_columns import find_key
from data.numeric import is_missing, name_of
from data.rater_rows import RATER
from data.rating_words import GivenLevels
from data.scored import read_scored
from judge.inputs import Frame
from judge.label_sheets import ITEM, LABEL, PROBABILITY, SHEET_FIELDS, is_sheet, read_design, refuse_strata
from judge.label_tables import Request, open_rows, read_table
from judge.people import GivenLabels, list_people, name_source
from meta_eval.scored_set import ScoredSet
from report.asked import are_answers, to_labels

Rows: TypeAlias = list[dict[str, Any]]
Labels: TypeAlias = Path | str | Sequence[Path | str] | Sequence[Mapping[str, Any]] | Frame
LABELS = Path("labels")  # names labels in memory in messages
GROUP = "group"  # of labels of inputs, where no column names single rows
EPOCH = "epoch"
FIXED = (ITEM, PROBABILITY, GROUP, EPOCH)  # columns whose names say all


def read_labels(
    source: Labels,
    levels: GivenLevels | None = None,
    folders: Sequence[Path] = (),
    people: Sequence[str] = (),
) -> GivenLabels:
    """Reads labels of people from a separate file, rows or a DataFrame: an id, and one column or row per person.

    Several files are read as one; if no column names annotators, each file is one annotator. From a file of an
    annotation tool its ratings are read. Rows of a sheet that `judge label` wrote get the ids of its design, a file
    that is beside the labels or in one of the `folders`. The labels are in the columns that `people` names, else in
    those whose names say so (`human`, `label`, `rating:ASPECT`), else in the only column that can hold them.

    Raises QuestionError if several columns can be labels or none is, SettingError if texts were drawn by strata,
    InputError for faults of the file.
    """
    opened = [_open_labels(part, levels) for part in _list_sources(source)]
    name = ", ".join(part.name for part in opened)
    if all(part.file.tool_file is not None for part in opened):
        return _gather_labels(name, opened)
    located = [row for part in opened for row in _read_label_rows(part, are_several=len(opened) > 1)]
    rows = _spell_names([row for _, row in located], FIXED)
    if are_answers(rows):
        rows, people = to_labels(rows)
    refuse_strata(name, rows)
    key = find_key(_list_header(rows))
    is_drawn = is_sheet(row.get(ITEM) for row in rows)
    if is_drawn:
        rows = _name_by_design(name, rows, [*list_folders(*_list_sources(source)), *folders])
    elif any(EPOCH in row for row in rows):
        rows = [_name_by_epoch(row) for row in rows]
    elif key is None and any(row.get(GROUP) for row in rows):
        key = GROUP
        rows = [{"id": row.get(GROUP), **leave_out(row, [GROUP])} for row in rows]
    rows = [leave_out(row, [PROBABILITY]) for row in rows]
    header = _list_header(rows)
    if find_key(header) is None:
        rule = f"{name} needs a column with the ids of the verdicts, such as id"
        raise SettingError(f"{rule}, found {', '.join(header)}")
    path = opened[0].file.path if len(opened) == 1 else Path(name)
    lines = [line for line, _ in located]
    file = replace(opened[0].file, path=path, records=rows, lines=lines, needs_text=False)
    asked = [column for column in people if column in header or column.partition(".")[0] in header]
    request = Request(asked, levels=levels, needs=["people"], is_of_people=True)
    labelled = _keep_rated(name, read_table(file, request))
    return GivenLabels(name, labelled, key=key, is_drawn=is_drawn, people=asked)


def leave_out(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns the row without these columns."""
    return {key: cell for key, cell in row.items() if key not in names}


def _spell_names(rows: Rows, names: Collection[str]) -> Rows:
    """The rows with these columns, whatever their spelling, under these names."""
    header = _list_header(rows)
    spellings = {column: fold_name(column) for column in header if fold_name(column) in names}
    if find_spellings(header):
        return rows  # columns with one name are refused later
    return [_rename(row, spellings) for row in rows]


def _rename(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The row with new names of some columns."""
    return {names.get(column, column): cell for column, cell in row.items()}


def _name_by_design(
    name: str,
    rows: Rows,
    folders: Sequence[Path],
) -> Rows:
    """The rows of a sheet with the ids of their texts in place of their own names and of the texts.

    Raises InputError for a sheet without labels.
    """
    rows = _spell_names(rows, (*SHEET_FIELDS, LABEL))
    if all(is_missing(row.get(LABEL)) for row in rows):
        raise InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
    ids = read_design([str(row[ITEM]) for row in rows], folders)
    return [{**leave_out(row, [ITEM, *SHEET_FIELDS]), "id": ids[str(row[ITEM])]} for row in rows]


def _name_by_epoch(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the id `SAMPLE-EPOCH` if it has both.

    >>> _name_by_epoch({"sample": 8, "epoch": 2, "human": 1})
    {'sample': 8, 'epoch': 2, 'human': 1, 'id': '8-2'}
    """
    sample = row.get(find_column(row, "id", "sample") or "")
    if is_missing(sample) or is_missing(row.get(EPOCH)):
        return dict(row)
    return {**row, find_column(row, "id") or "id": f"{name_of(sample)}-{name_of(row[EPOCH])}"}


def _list_header(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return [*dict.fromkeys(key for row in rows for key in row)]


@dataclass(frozen=True)
class OpenedLabels:
    """A file of labels, or rows in memory."""

    # for messages
    name: str
    file: InputFile


def _open_labels(source: Any, levels: GivenLevels | None) -> OpenedLabels:
    """A file of labels, or rows; raises SettingError for anything else."""
    file = open_rows(source, None, levels)
    if file is None:
        raise SettingError(f"labels must be a table with ids and labels, but {name_source(source, LABELS)} is not one")
    if file.records is not None:
        file = replace(file, path=LABELS)
    return OpenedLabels(name_source(source, LABELS), file)


def _list_sources(source: Any) -> Sequence[Any]:
    """The files of labels, of which there may be several."""
    are_files = isinstance(source, list | tuple) and source and all(isinstance(part, str | Path) for part in source)
    return source if are_files else [source]


def list_folders(*sources: Any) -> list[Path]:
    """Lists the folders of files, where the design of a sheet may be."""
    paths = [source.path if isinstance(source, InputFile) else source for source in sources]
    return [Path(path).parent for path in paths if isinstance(path, str | Path)]


def _gather_labels(name: str, opened: Sequence[OpenedLabels]) -> GivenLabels:
    """The ratings of people in files of annotation tools; several files are of several people."""
    parts = [read_scored(replace(part.file, needs_text=False)) for part in opened]
    for part in parts:
        if not part.aspects:
            raise SettingError(f"labels must be a table with ids and labels, but {part.name} has no ratings of people")
    if len(parts) == 1:
        return GivenLabels(name, _keep_rated(name, parts[0]))
    records = [row for part in parts for row in _list_rater_rows(part)]
    aspects = dict.fromkeys(aspect for part in parts for aspect in part.aspects)
    columns = tuple((f"{RATINGS}{aspect}", (aspect,)) for aspect in aspects)
    joined = read_scored(InputFile(LABELS, columns=columns, needs_text=False, records=records))
    notes = [note for part in parts for note in part.notes]
    return GivenLabels(name, _keep_rated(name, replace(joined, notes=(*notes, *joined.notes))))


def _list_rater_rows(labelled: ScoredSet) -> Rows:
    """A row for each text and each person who rated it; a person without a name is called as the file."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for aspect, columns in list_people(labelled).items():
        for person, ratings in columns.items():
            who = person or labelled.name
            for example, rating in zip(labelled.examples, ratings.tolist(), strict=True):
                row = rows.setdefault((example.id, who), {"id": example.id, RATER: who})
                row[aspect] = rating
    return [*rows.values()]


def _keep_rated(name: str, labelled: ScoredSet) -> ScoredSet:
    """The rows that have a label; raises InputError if none has."""
    rated = [i for i, example in enumerate(labelled.examples) if example.ratings]
    if not rated:
        raise InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
    return replace(labelled.take(rated), scores={})


def _read_label_rows(opened: OpenedLabels, *, are_several: bool) -> list[tuple[int, dict[str, Any]]]:
    """The rows of one of the files with their lines; raises InputError for faults and for none."""
    faults: list[str] = []
    rows = [*read_objects(opened.file, faults)]
    if faults:
        raise InputError(faults)
    if not rows:
        raise InputError([fault(opened.name, 0, "labels need at least one row, found none")])
    if are_several and find_rater(_list_header([row for _, row in rows])) is None:
        annotator = Path(opened.name).stem
        return [(line, {**row, USUAL_RATERS[0]: annotator}) for line, row in rows]
    return rows
