"""The tables that people who check a judge have: verdicts and labels, with or without texts, in one file or two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, check_names, fault
from data.cells import list_items, name_of, to_value
from data.columns import RATING, RATINGS, SCORE, name_fields
from data.input_file import InputFile, read_objects
from data.numeric import is_missing, to_number
from data.rater_rows import RATER, USUAL_RATERS
from data.rating_words import GivenLevels
from data.records import name_people
from data.roles import Roles, find_key, find_roles, gather_judges, holds_texts
from data.scored import ScoredFile, add_outputs, read_scored
from judge.answers import are_answers, to_labels
from judge.inputs import GIVEN, RULE, Columns, Frame, GivenScores, Source, read
from judge.label_joins import GivenLabels, add_epochs, choose_people, join_labels, name_source
from judge.label_sheets import ITEM, LABEL, PROBABILITY, Design, is_sheet, read_design
from judge.label_sheets import SHOWN as SHEET_TEXTS
from judge.wording import join_names
from meta_eval.scored_set import ScoredSet

Names: TypeAlias = str | Sequence[str]
Labels: TypeAlias = Path | str | Sequence[Path | str] | Sequence[Mapping[str, Any]] | Frame
Rows: TypeAlias = list[dict[str, Any]]
LABELS = Path("labels")  # names labels in memory in messages
TEXT_FIELDS = ("text", "turns")
PEEK = 100  # rows whose keys say what a file has
MOST_CALLS = 3  # commands in a message that differ in one name
GROUP = "group"  # of labels of inputs, where no column names single rows
WANTED = "label"  # of a text that metrics score: the label that was asked for, not one that people gave


@dataclass(frozen=True)
class Asked:
    """What a caller says about the columns of a table."""

    people: Sequence[str]
    judges: Sequence[str]
    levels: GivenLevels | None
    # which of people and judges the columns must give
    needs: Collection[str]


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
    lacking = [role for role in needs if role != "people" or labels is None]
    asked = Asked(list_names(people), list_names(judges), levels, lacking)
    table = None if isinstance(source, ScoredSet) or scores else _open_rows(source, columns, levels)
    if table is None or table.tool_file is not None:
        verdicts = _read_whole(source, columns, scores, asked)
        has_ids = table is None or not are_line_numbers(verdicts)
    else:
        verdicts = _read_table(table, asked)
        has_ids = names_ids(verdicts)
    if labels is None:
        return verdicts, {}
    given = read_labels(labels, levels, _list_folders(source))
    return join_labels(verdicts, given, has_ids=has_ids), dict(given.probabilities)


def list_names(names: Names) -> list[str]:
    """Names in a list, or in one text with commas."""
    return names.split(",") if isinstance(names, str) else list(names)


def are_line_numbers(examples: ScoredSet) -> bool:
    """Whether no example has an id of its own: one without an id is called by its line."""
    return all(example.id == str(examples.locate(i)[1]) for i, example in enumerate(examples.examples))


def names_ids(verdicts: ScoredFile) -> bool:
    """Whether a table has a column with ids."""
    faults: list[str] = []
    _, row = next(read_objects(verdicts.source, faults), (0, {}))
    naming = name_fields(tuple(row), verdicts.source.columns)
    return any(name == "id" for _, name in naming.fields)


# ---- verdicts -------------------------------------------------------------------------------------------------------


def _read_whole(source: Any, columns: Columns | None, scores: GivenScores | None, asked: Asked) -> ScoredSet:
    """A source that is no table of ours, as `judge.read` has it, with the asked people and judges."""
    if isinstance(source, InputFile):
        columns = None  # the input knows them
    texts = read(source, scores, columns=columns, levels=asked.levels)
    texts = choose_people(texts, asked.people)
    if asked.judges:
        check_names(asked.judges, texts.scores, "judges")
        texts = texts.choose(asked.judges)
    if "people" in asked.needs and texts.scores and not texts.aspects:
        raise SettingError(describe_scorers(texts, source))
    return texts


def describe_scorers(texts: ScoredSet, source: Any) -> str:
    """The scorers of a log in which nobody is said to be a person, and the commands that say so."""
    file = source.path if isinstance(source, InputFile) else name_source(source, Path(texts.name), whole=True)
    names = [*texts.scores]
    calls = [f"`judge agree {file} --people {name}`" for name in names[:MOST_CALLS]]
    calls.append(f"`judge agree {file} --labels FILE`")
    return (
        f"{texts.name} does not say which scorer is a person. Its scorers are {join_names(names)}: {' or '.join(calls)}"
    )


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


def _read_table(file: InputFile, asked: Asked) -> ScoredFile:
    """The examples of rows, with the labels of people and the verdicts of judges that their columns hold."""
    faults: list[str] = []
    first = [row for _, row in islice(read_objects(file, faults), PEEK)]
    header = [*dict.fromkeys(name for row in first for name in row)]
    fields = dict(name_fields(tuple(header), file.columns).fields)
    has_texts = any(name in TEXT_FIELDS for name in fields.values())
    lacking = _find_lacking(fields.values(), asked.needs)
    raters = [name for name in asked.people if name not in header]  # or scorers of the file
    if not lacking and not any(name in header for name in (*asked.people, *asked.judges)):
        return _choose_raters(read_scored(replace(file, needs_text=has_texts)), raters)
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file)  # which names the faults
    of_texts = [key for key, name in fields.items() if name in TEXT_FIELDS and _holds_texts(rows, key)]
    roles = _find_table_roles(file, rows, fields, of_texts, asked, needs=[] if of_texts else lacking)
    if roles.judges and not roles.people and "people" in lacking:
        _find_table_roles(file, rows, fields, of_texts, asked, needs=["people"])  # which says what is missing
    if _gives(fields.values(), "ratings", RATING) and not any(name in header for name in asked.people):
        roles = replace(roles, people={})  # the file says itself what people said
    if not roles.people and not roles.judges:
        return _choose_raters(read_scored(replace(file, needs_text=bool(of_texts))), raters)
    if roles.rater is not None and roles.key is None and not of_texts:
        what = f"rows by {roles.rater} need a column with the id of what was rated, found {', '.join(header)}"
        raise InputError([fault(file.path, 0, what)])
    return _choose_raters(_apply(file, rows, roles, has_texts=bool(of_texts)), raters)


def _choose_raters(texts: ScoredFile, raters: Sequence[str]) -> ScoredFile:
    """The texts of a file in which these scorers, or raters, are people."""
    return choose_people(add_outputs(texts, {}), raters)


def _find_lacking(names: Collection[str], needs: Collection[str]) -> list[str]:
    """What is needed and given by no column of a field."""
    is_there = {
        "people": _gives(names, "ratings", RATING),
        "judges": _gives(names, "scores", SCORE),
    }
    return [role for role in needs if not is_there[role]]


def _gives(names: Collection[str], field: str, prefix: str) -> bool:
    """Whether a column gives this field, whole or one name of it (`ratings`, `rating:NAME`)."""
    return any(name == field or name.startswith(prefix) for name in names)


def _find_table_roles(
    file: InputFile,
    rows: Rows,
    fields: Mapping[str, str],
    of_texts: Collection[str],
    asked: Asked,
    *,
    needs: Collection[str],
) -> Roles:
    """The roles of the columns of a table, beside those that give texts, ratings and scores by their names."""
    others = {key for key, name in fields.items() if name.startswith((RATING, SCORE))} | {*of_texts}
    others -= {*asked.people, *asked.judges}
    if of_texts and "judges" not in asked.needs and WANTED not in asked.people:
        others.add(WANTED)
    return find_roles(
        [_leave_out(row, others) for row in rows],
        people=[name for name in asked.people if any(name in row for row in rows)],
        judges=asked.judges,
        levels=asked.levels,
        needs=needs,
        command=f"judge agree {file.path}",
    )


def _holds_texts(rows: Rows, key: str) -> bool:
    """Whether a column that is named as one of texts holds no verdicts (`prediction`, `answer`)."""
    return holds_texts(row.get(key) for row in rows)


def _apply(file: InputFile, rows: Rows, roles: Roles, *, has_texts: bool) -> ScoredFile:
    """The examples of rows whose columns have these roles."""
    note = f"{file.path.name}: {roles.describe()}"
    if roles.named_by is not None:
        gathered = gather_judges(rows, roles)
        names = dict.fromkeys(str(row.get(roles.named_by)) for row in rows)
        roles = replace(roles, judges={name: name for name in names}, named_by=None)
        file = replace(file, records=[_read_cells(row, roles) for row in gathered])
    columns = {**{name: tuple(keys) for name, keys in roles.columns.items()}, **dict(file.columns)}
    texts = read_scored(replace(file, columns=tuple(columns.items()), needs_text=has_texts))
    return replace(texts, notes=(note, *texts.notes))


def _read_cells(row: Mapping[str, Any], roles: Roles) -> dict[str, Any]:
    """A row of a table as a record in memory: empty cells are missing, and labels and verdicts that are numbers are so.

    Other cells stay texts: an id such as 007 is no number.
    """
    labels = {*roles.judges.values(), *chain.from_iterable(roles.people.values())}
    return {name: _read_cell(cell, is_label=name in labels) for name, cell in row.items()}


def _read_cell(cell: Any, *, is_label: bool) -> Any:
    if not isinstance(cell, str):
        return cell
    number = to_number(cell) if is_label else None
    if number is not None:
        return number
    return cell or None


def have_texts(scored: ScoredSet) -> bool:
    """Whether some example has a text."""
    return any(not example.is_empty for example in scored.examples)


# ---- labels in a file of their own ----------------------------------------------------------------------------------


def read_labels(source: Labels, levels: GivenLevels | None = None, folders: Sequence[Path] = ()) -> GivenLabels:
    """Labels of people in a file, rows or a DataFrame of their own: an id, and one column or row for each person.

    Several files are read as one, with an annotator for each where no column names any. A file of an annotation tool
    has its ratings. Rows of a sheet that `judge label` wrote get the ids of its design, which lies beside the labels or
    in one of the `folders`.

    Raises SettingError where its columns have two readings, InputError for faults of the file.
    """
    opened = [_open_labels(part, levels) for part in _list_sources(source)]
    name = ", ".join(part.name for part in opened)
    if all(part.file.tool_file is not None for part in opened):
        return _gather_labels(name, opened)
    rows = _join_rows(opened)
    rows = add_epochs(rows) if any("epoch" in row for row in rows) else rows
    people: Sequence[str] = ()
    if are_answers(rows):
        rows, people = to_labels(rows)
    by_input = find_key(_list_header(rows)) is None and any(row.get(GROUP) for row in rows)
    if by_input:
        rows = [{"id": row.get(GROUP), **_leave_out(row, [GROUP])} for row in rows]
    probabilities: dict[str, float] = {}
    if is_sheet(row.get(ITEM) for row in rows):
        design = _find_design(name, rows, [*_list_folders(*_list_sources(source)), *folders])
        probabilities = dict(design.probabilities)
        rows = [{**_leave_out(row, [ITEM, *SHEET_TEXTS]), "id": design.ids[str(row[ITEM])]} for row in rows]
    labels = [_leave_out(row, [PROBABILITY]) for row in rows]
    roles = _find_label_roles(labels, levels, name, people)
    probabilities |= _read_probabilities(rows, str(roles.key))
    columns = tuple((key, tuple(keys)) for key, keys in roles.columns.items())
    records = [_read_cells(row, roles) for row in labels]
    labelled = read_scored(replace(opened[0].file, records=records, columns=columns, needs_text=False))
    note = f"{name}: {roles.describe()}"
    return GivenLabels(name, _keep_rated(name, labelled, [note]), probabilities, key=GROUP if by_input else roles.key)


def _list_header(rows: Rows) -> list[str]:
    return [*dict.fromkeys(key for row in rows for key in row)]


def _read_probabilities(rows: Rows, key: str) -> dict[str, float]:
    """By id the number in the column `probability`, where there is one."""
    numbers = {str(name_of(to_value(row.get(key)))): to_number(row.get(PROBABILITY)) for row in rows}
    return {name: number for name, number in numbers.items() if number is not None}


@dataclass(frozen=True)
class OpenedLabels:
    """A file of labels, or rows in memory."""

    # for messages
    name: str
    file: InputFile


def _open_labels(source: Any, levels: GivenLevels | None) -> OpenedLabels:
    """A file of labels, or rows; raises SettingError for anything else."""
    file = _open_rows(source, None, levels)
    if file is None:
        raise SettingError(f"labels must be a table with ids and labels, but {name_source(source, LABELS)} is none")
    if file.records is not None:
        file = replace(file, path=LABELS)
    return OpenedLabels(name_source(source, LABELS), file)


def _list_sources(source: Any) -> Sequence[Any]:
    """The files of labels, of which there may be several."""
    are_files = isinstance(source, list | tuple) and source and all(isinstance(part, str | Path) for part in source)
    return source if are_files else [source]


def _list_folders(*sources: Any) -> list[Path]:
    """The folders of files, where the design of a sheet may lie."""
    paths = [source.path if isinstance(source, InputFile) else source for source in sources]
    return [Path(path).parent for path in paths if isinstance(path, str | Path)]


def _gather_labels(name: str, opened: Sequence[OpenedLabels]) -> GivenLabels:
    """The ratings of people in files of annotation tools; several files are of several people."""
    parts = [read_scored(replace(part.file, needs_text=False)) for part in opened]
    for part in parts:
        if not part.aspects:
            raise SettingError(f"labels must be a table with ids and labels, but {part.name} has no ratings of people")
    if len(parts) == 1:
        return GivenLabels(name, _keep_rated(name, parts[0], []), {})
    rows: Rows = []
    for part in parts:
        for example in part.examples:
            for aspect, ratings in {**example.ratings, **example.extra.get("ratings", {})}.items():
                people = name_people(ratings)
                rows += [{"id": example.id, RATER: who or part.name, aspect: number} for who, number in people.items()]
    aspects = dict.fromkeys(aspect for part in parts for aspect in part.aspects)
    columns = tuple((f"{RATINGS}{aspect}", (aspect,)) for aspect in aspects)
    joined = read_scored(InputFile(LABELS, columns=columns, needs_text=False, records=_join_aspects(rows)))
    notes = [note for part in parts for note in part.notes]
    return GivenLabels(name, _keep_rated(name, joined, notes), {})


def _join_aspects(rows: Rows) -> Rows:
    """One row for each id and rater."""
    joined: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        joined.setdefault((row["id"], row[RATER]), {}).update(row)
    return [*joined.values()]


def _keep_rated(name: str, labelled: ScoredSet, notes: Sequence[str]) -> ScoredSet:
    """The rows that have a label; raises InputError where none has."""
    rated = [i for i, example in enumerate(labelled.examples) if example.ratings]
    if not rated:
        raise InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
    return replace(labelled.take(rated), scores={}, notes=(*notes, *labelled.notes))


def _join_rows(opened: Sequence[OpenedLabels]) -> Rows:
    """The rows of all files, with an annotator for each file where no column names any; raises InputError."""
    rows: Rows = []
    for part in opened:
        faults: list[str] = []
        own = [row for _, row in read_objects(part.file, faults)]
        if faults:
            raise InputError(faults)
        if not own:
            raise InputError([fault(part.name, 0, "labels need at least one row, found none")])
        are_named = len(opened) == 1 or any(rater in row for row in own for rater in USUAL_RATERS)
        rows += own if are_named else [{**row, USUAL_RATERS[0]: Path(part.name).stem} for row in own]
    return rows


def _find_design(name: str, rows: Rows, folders: Sequence[Path]) -> Design:
    """The design of the sheet with these rows; raises InputError for a sheet without labels."""
    if all(is_missing(row.get(LABEL)) for row in rows):
        raise InputError([fault(name, 0, "at least one row needs a label, but all are empty")])
    return read_design([str(row[ITEM]) for row in rows], folders)


def _leave_out(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {key: cell for key, cell in row.items() if key not in names}


def _find_label_roles(rows: Rows, levels: GivenLevels | None, name: str, people: Sequence[str] = ()) -> Roles:
    """The roles of the columns of labels: where one column alone can be a label, its name does not matter.

    `people` are the columns that are known to hold labels.
    """
    header = _list_header(rows)
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
    return not _holds_texts(rows, key) or levels not in (None, "auto")
