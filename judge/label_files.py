"""Labels of people in separate files: tables, exports of annotation tools, and sheets of `judge label`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, fault
from data.columns import USUAL_RATERS, find_column, find_rater, fold_name
from data.input_file import InputFile, read_objects
from data.label_columns import LABEL, find_key, list_columns
from data.numeric import is_missing, name_of
from data.rating_words import GivenLevels
from data.scored import read_scored
from judge.inputs import Frame
from judge.label_sheets import ITEM, SHEET_FIELDS, is_sheet, read_design
from judge.label_tables import Request, open_rows, read_table
from judge.people import GivenLabels
from report.asked import are_answers, to_labels

Labels: TypeAlias = Path | str | Sequence[Path | str] | Sequence[Mapping[str, Any]] | Frame
LABELS = Path("labels")  # names labels in memory in messages
GROUP = "group"  # of labels of inputs, where no column names single rows
EPOCH = "epoch"
RULE = "labels must be a table with ids and labels"


def read_labels(
    source: Labels,
    levels: GivenLevels | None = None,
    folders: Sequence[Path] = (),
    people: Sequence[str] = (),
) -> GivenLabels:
    """Reads labels of people from a separate file, rows or a DataFrame: an id, and one column or row per person.

    Several files are read as one; if no column names annotators, each file is one annotator. From the file of an
    annotation tool its ratings are read. Rows of a sheet that `judge label` wrote get the ids of its design, a file
    that is beside the labels or in one of the `folders`. The labels are in the columns that `people` names, else in
    those whose names say so (`human`, `label`, `rating:ASPECT`), else in the only column that can hold them.

    Raises QuestionError if several columns can be labels or none is, InputError for faults of the file.
    """
    are_files = isinstance(source, list | tuple) and source and all(isinstance(part, str | Path) for part in source)
    sources: Sequence[Any] = source if are_files else [source]
    files = [_open_labels(part, levels) for part in sources]
    name = ", ".join(file.path.name for file in files)
    file = files[0]
    if file.tool_file is not None and len(files) == 1:
        return _keep_rated(GivenLabels(name, read_scored(replace(file, needs_text=False))))
    located = [row for part in files for row in _read_rows(part, are_several=len(files) > 1)]
    rows = [row for _, row in located]
    if are_answers(rows):
        rows, people = to_labels(rows)
    header = list(dict.fromkeys(name for row in rows for name in row))
    item = find_column(header, ITEM)
    is_drawn = item is not None and is_sheet(row.get(item) for row in rows)
    key = item if is_drawn else find_key(header) or find_column(header, GROUP)
    if key is None:
        rule = f"{name} needs a column with the ids of the verdicts, such as id"
        raise SettingError(f"{rule}, found {', '.join(header)}")
    epoch = find_column(header, EPOCH)
    left_out = {name for name in header if is_drawn and fold_name(name) in SHEET_FIELDS}
    ids: dict[str, str] = {}
    label = find_column(header, LABEL)
    if is_drawn:
        if label is None or all(is_missing(row.get(label)) for row in rows):
            raise _refuse_empty(name)
        ids = read_design([str(row[key]) for row in rows], [*list_folders(*sources), *folders])
    named: list[dict[str, Any]] = []
    for row in rows:
        kept = {column: cell for column, cell in row.items() if column not in left_out}
        place = ids[str(row[key])] if is_drawn else row.get(key)
        if not is_missing(row.get(epoch)) and not is_missing(place):
            place = f"{name_of(place)}-{name_of(row[epoch])}"
        if is_drawn or epoch or key == GROUP:
            kept = {"id": place, **{column: cell for column, cell in kept.items() if column not in (key, epoch)}}
        named.append(kept)
    asked = [column for column in people if column in list_columns(named)]
    lines = [line for line, _ in located]
    path = file.path if len(files) == 1 else Path(name)
    file = replace(file, path=path, records=named, lines=lines, needs_text=False)
    labelled = read_table(file, Request(asked, needs=["people"], is_of_people=True))
    return _keep_rated(GivenLabels(name, labelled, key=key, is_drawn=is_drawn, people=asked))


def _open_labels(source: Any, levels: GivenLevels | None) -> InputFile:
    """A file of labels, or rows; raises SettingError for anything else."""
    file = open_rows(source, None, levels)
    if file is None:
        raise SettingError(f"{RULE}, but {LABELS} is not one")
    return file if file.records is None else replace(file, path=LABELS)


def _read_rows(file: InputFile, *, are_several: bool) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a file with their lines; of several files, each may be of one person. Raises InputError for none."""
    faults: list[str] = []
    rows = [*read_objects(file, faults)]
    if not (faults or rows):
        faults.append(fault(file.path, 0, "labels need at least one row, found none"))
    if faults:
        raise InputError(faults)
    if are_several and find_rater(name for _, row in rows for name in row) is None:
        return [(line, {**row, USUAL_RATERS[0]: file.path.stem}) for line, row in rows]
    return rows


def list_folders(*sources: Any) -> list[Path]:
    """Lists the folders of files, where the design of a sheet may be."""
    paths = [source.path if isinstance(source, InputFile) else source for source in sources]
    return [Path(path).parent for path in paths if isinstance(path, str | Path)]


def _keep_rated(given: GivenLabels) -> GivenLabels:
    """The labels without rows that have none; raises InputError if no row has one."""
    labelled = given.labelled
    rated = [i for i, example in enumerate(labelled.examples) if example.ratings]
    if not rated:
        raise _refuse_empty(given.name)
    return replace(given, labelled=replace(labelled.take(rated), scores={}))


def _refuse_empty(name: str) -> InputError:
    return InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
