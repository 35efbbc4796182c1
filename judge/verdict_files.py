"""Reads tables for checking a judge: verdicts and labels, with or without texts, in one file or two.

A table says what its columns hold by their names, or the user does; otherwise it asks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, fault, printable, setting
from core.example import SHOWN_COLUMNS
from data.columns import (
    FIELDS,
    RATING,
    SCORE,
    find_column,
    find_rater,
    fold_name,
    list_spellings,
    name_fields,
)
from data.input_file import InputFile, read_objects
from data.label_columns import (
    LABEL,
    MODELS,
    ask,
    find_key,
    list_candidates,
    list_columns,
    list_words,
    name_columns,
    says,
)
from data.numeric import is_missing
from data.rating_words import GivenLevels
from data.scored import read_scored
from judge.inputs import Columns, Frame, GivenScores, Source, open_rows, read
from judge.label_sheets import ITEM, SHEET_FIELDS, is_sheet, read_design
from judge.options import Names, list_names
from judge.people import GivenLabels, choose_people, join_labels
from meta_eval.scored_set import ScoredSet

Labels: TypeAlias = Path | str | Sequence[Mapping[str, Any]] | Frame
Row: TypeAlias = dict[str, Any]
LABELS = Path("labels")  # names labels in memory in messages
GROUP = "group"  # of labels of inputs, where no column names single rows
NO_LABELS = {*FIELDS, "rater"} - {"text", "label", "ratings"}  # fields that hold no labels


@dataclass(frozen=True)
class Request:
    """Which columns, scorers or raters are people and judges, and what a caller needs to find."""

    people: Sequence[str] = ()
    judges: Sequence[str] = ()
    # of people, judges and text
    needs: Collection[str] = ()
    # whether people gave all labels of the table, so that a column `label`, or the only one, needs no name
    is_of_people: bool = False


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
) -> ScoredSet:
    """Reads examples with the ratings of people and the scores of judges.

    Args:
        source: as `judge.read` takes it; the rows of a file, a list or a DataFrame need no text.
        columns, levels: as in `judge.read`.
        people: columns, scorers or raters that are people, of `labels` too; by default a column or scorer `human`.
        judges: columns, scorers or raters that are judges; by default a column `judge`.
        labels: a file, rows or a DataFrame with the labels of people, joined by id.
        scores: by name, scores of the same texts as in `judge.read`.
        needs: what the source must hold (people, judges, text); labels that are given stand for those of people.

    Raises QuestionError if no column says that it holds what is needed, InputError for faults of the files.
    """
    of_people = list_names(people)
    given = None
    if labels is not None:
        given = read_labels(
            labels,
            levels,
            _list_folders([source]),
            of_people,
        )
        of_people = [name for name in of_people if name not in given.people]
    lacking = [role for role in needs if role != "people" or given is None]
    request = Request(of_people, list_names(judges), lacking)
    table = None if scores else open_rows(source, columns=columns, levels=levels)
    if table is None or table.tool_file is not None:
        named = None if isinstance(source, InputFile) else columns  # an input knows them
        texts = read(
            source,
            scores,
            columns=named,
            levels=levels,
        )
        verdicts = _choose_scorers(texts, request)
    else:
        verdicts = _read_table(table, request)
    return verdicts if given is None else join_labels(verdicts, given)


def have_texts(scored: ScoredSet) -> bool:
    """Whether some example has a text."""
    return any(not example.is_empty for example in scored.examples)


def _choose_scorers(texts: ScoredSet, request: Request) -> ScoredSet:
    """The texts of a source that is no table of ours, with the asked people and judges, else a scorer `human`."""
    people = request.people
    if not (people or texts.aspects) and "people" in request.needs:
        people = [name for name in texts.scores if says(name) == "people"]
        note = f"{texts.name}: labels of people: {', '.join(people)} (people names other scorers)"
        texts = replace(texts, notes=(*texts.notes, note)) if people else texts
    texts = choose_people(texts, people, request.judges)
    if texts.scores:
        has_people = bool(texts.aspects) or "people" not in request.needs
        _require(
            request,
            {
                "text": True,
                "people": has_people,
                "judges": has_people,
            },
            [*texts.scores],
        )
    return texts


# ---- one table ------------------------------------------------------------------------------------------------------


def _read_table(file: InputFile, request: Request) -> ScoredSet:
    """Reads the examples of rows, with the labels of people and the verdicts of judges that their columns hold.

    Raises QuestionError where no column says that it holds what is needed, SettingError for names that nothing has, and
    InputError for faults of the file.
    """
    faults: list[str] = []
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file)  # which names the faults
    header = list_columns(rows)
    named = [*request.people, *request.judges]
    problems = list_spellings(name for name in header if name not in named)
    if problems:
        raise InputError([fault(file.path, 0, problem) for problem in problems])
    fields = dict(name_fields(tuple(header), file.columns).fields)
    fixed = {key for key, name in fields.items() if name in NO_LABELS or name.startswith((RATING, SCORE))}
    candidates = [name for name in list_candidates(rows, header, file.levels) if name in named or name not in fixed]
    people, judges = _choose_columns(request, header, candidates, fields)
    taken = [*people, *judges]
    rater = find_rater(header) or dict(file.columns).get("rater", (None,))[0]
    columns = dict(file.columns)
    if taken:
        columns = {**name_columns(header, people, judges, rater), **columns}
    file = replace(file, columns=tuple(columns.items()))
    names = {name for _, name in name_fields(tuple(header), file.columns).fields}
    other_people = [name for name in request.people if name not in header]
    other_judges = [name for name in request.judges if name not in header]
    has_texts = bool(names & {"text", "turns"})
    are_named = bool(other_people or other_judges)
    is_there = {
        "text": has_texts,
        "people": are_named or _have(names, "ratings", RATING),
        "judges": are_named or _have(names, "scores", SCORE),
    }
    if not all(is_there[role] for role in request.needs):
        key = find_key(header)
        if key and len(list_words(rows, key)) < len(rows) and not (rater or has_texts or "system" in names):
            rule = f"rows with one {key} must be of several raters, but no column says who rated"
            hint = f"{setting('columns.rater', 'COLUMN')} names it; verdicts of several judges are columns"
            raise SettingError(f"{rule}: {hint}, or labels are a file of their own")
        of_rows = [row["scores"] for row in rows if isinstance(row.get("scores"), Mapping)]
        scorers = [str(name) for scores in of_rows for name in scores]
        free = [name for name in candidates if name not in taken and len(list_words(rows, name)) > 1]
        lengths = {name: max(map(len, list_words(rows, name)), default=0) for name in header if name not in candidates}
        _require(
            request,
            is_there,
            [*dict.fromkeys(scorers), *free],
            taken=taken,
            raters=list_words(rows, rater) if rater else (),
            text=max(lengths, key=lengths.__getitem__, default=None),
        )
    texts: ScoredSet = read_scored(replace(file, needs_text=has_texts))
    if taken:
        parts = {
            "labels of people: ": ", ".join(people),
            "one row by ": rater,
            "verdicts of judges: ": ", ".join(judges),
            "rows named by ": dict(file.columns).get("id", ("id",))[0],
            "not read: ": ", ".join([name for name in candidates if name not in {*taken, *fields}][:SHOWN_COLUMNS]),
        }
        note = "; ".join(f"{what}{shown}" for what, shown in parts.items() if shown)
        texts = replace(texts, notes=(f"{file.path.name}: {note}", *texts.notes))
    return choose_people(
        texts,
        other_people,
        other_judges,
        candidates,
    )


def _have(names: Collection[str], whole: str, prefix: str) -> bool:
    """Whether some column gives ratings, or scores: all of them, or those of one aspect or metric."""
    return any(name == whole or name.startswith(prefix) for name in names)


def _choose_columns(
    request: Request,
    header: Sequence[str],
    candidates: Sequence[str],
    fields: Mapping[str, str],
) -> tuple[list[str], list[str]]:
    """The columns of people and of judges: those that are asked for, else those whose names say so."""
    people, judges = ([name for name in names if name in header] for names in (request.people, request.judges))
    free = [name for name in candidates if name not in {*request.people, *request.judges}]
    people = people or [name for name in free if says(name) == "people"]
    if not request.is_of_people:
        judges = judges or [name for name in free if says(name) == "judges"]
    if request.is_of_people and not (people or _have(fields.values(), "ratings", RATING)):
        labels = [name for name in candidates if fields.get(name) == LABEL]
        people = labels or [*candidates] * (len(candidates) == 1)
    taken = [*people, *judges]
    for name in taken:
        if taken.count(name) > 1:
            raise SettingError(f"a column is of people or of a judge, but {printable(name)} is given twice")
    return people, judges


def _require(
    request: Request,
    is_there: Mapping[str, bool],
    candidates: Sequence[str],
    *,
    taken: Sequence[str] = (),
    raters: Sequence[str] = (),
    text: str | None = None,
) -> None:
    """Raises QuestionError if something that is needed is not there.

    `candidates` are columns and scorers that can be labels, `taken` those that were read already, `raters` those of
    rows, and `text` is the column with the longest texts.
    """
    lacking = [role for role in request.needs if not is_there[role]]
    if "people" in lacking and "judges" not in request.needs:
        candidates = candidates or taken
    elif "people" in lacking and is_there["judges"]:
        candidates = [name for name in candidates if not MODELS.search(name)]
    if lacking:
        raise ask(
            lacking,
            candidates,
            raters,
            text,
        )


# ---- labels in a separate file --------------------------------------------------------------------------------------


def read_labels(
    source: Labels,
    levels: GivenLevels | None = None,
    folders: Sequence[Path] = (),
    people: Sequence[str] = (),
) -> GivenLabels:
    """Reads labels of people from a separate file, rows or a DataFrame: an id, and one column or row per person.

    From the file of an annotation tool its ratings are read. Rows of a sheet that `judge label` wrote get the ids of
    its design, a file that is beside the labels or in one of the `folders`. The labels are in the columns that `people`
    names, else in those whose names say so (`human`, `label`, `rating:ASPECT`), else in the only one that can.

    Raises QuestionError if several columns can be labels or none is, InputError for faults of the file.
    """
    file = open_rows(source, levels=levels, called=LABELS)
    if file is None:
        raise SettingError(f"labels must be a table with ids and labels, but {LABELS} is not one")
    if file.tool_file is not None:
        return _keep_rated(GivenLabels(read_scored(replace(file, needs_text=False))))
    faults: list[str] = []
    located = [*read_objects(file, faults)]
    if not (faults or located):
        faults.append(fault(file.path, 0, "labels need at least one row, found none"))
    if faults:
        raise InputError(faults)
    rows = [row for _, row in located]
    header = list(dict.fromkeys(column for row in rows for column in row))
    item = find_column(header, ITEM)
    is_drawn = item is not None and is_sheet(row.get(item) for row in rows)
    key = item if is_drawn else find_key(header) or find_column(header, GROUP)
    if key is None:
        rule = f"{file.path.name} needs a column with the ids of the verdicts, such as id"
        raise SettingError(f"{rule}, found {', '.join(header)}")
    if is_drawn:
        rows = _name_drawn(rows, key, file.path.name, [*_list_folders([source]), *folders])
    elif key == GROUP:
        rows = [_name_row(row, key, row.get(key)) for row in rows]
    asked = [column for column in people if column in list_columns(rows)]
    named = replace(
        file,
        records=rows,
        lines=[line for line, _ in located],
        needs_text=False,
    )
    labelled = _read_table(named, Request(asked, needs=["people"], is_of_people=True))
    return _keep_rated(
        GivenLabels(
            labelled,
            key=key,
            is_drawn=is_drawn,
            people=asked,
        )
    )


def _name_drawn(rows: Sequence[Row], key: str, name: str, folders: Sequence[Path]) -> list[Row]:
    """The labels of a sheet with the ids of its design, in one of the `folders`, and without the texts."""
    label = find_column(rows[0], LABEL) or LABEL
    if all(is_missing(row.get(label)) for row in rows):
        raise _refuse_empty(name)
    items = [str(row.get(key)) for row in rows]
    design = read_design(items, folders)
    named: list[Row] = []
    for item, row in zip(items, rows, strict=True):
        rest = {column: cell for column, cell in row.items() if fold_name(column) not in SHEET_FIELDS}
        named.append(_name_row(rest, key, design[item]))
    return named


def _name_row(row: Row, key: str, name: Any) -> Row:
    """The row with this name as its id, in place of the column `key`."""
    return {"id": name, **{column: cell for column, cell in row.items() if column != key}}


def _list_folders(sources: Sequence[Any]) -> list[Path]:
    """Lists the folders of files, where the design of a sheet may be."""
    paths = [source.path if isinstance(source, InputFile) else source for source in sources]
    return [Path(path).parent for path in paths if isinstance(path, str | Path)]


def _keep_rated(given: GivenLabels) -> GivenLabels:
    """The labels without rows that have none; raises InputError if no row has one."""
    labelled = given.labelled
    rated = [i for i, example in enumerate(labelled.examples) if example.ratings]
    if not rated:
        raise _refuse_empty(labelled.name)
    return replace(given, labelled=replace(labelled.take(rated), scores={}))


def _refuse_empty(name: str) -> InputError:
    return InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
