"""Reads tables for checking a judge: verdicts and labels, with or without texts, in one file or two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, check_names, fault
from data.columns import RATING, SCORE, name_fields
from data.input_file import InputFile, read_objects
from data.rating_words import GivenLevels
from data.roles import COMMAND_SETTINGS, Roles, find_people, find_roles, gather_judges
from data.scored import ScoredFile, read_scored
from judge.inputs import Columns, GivenScores, Source, read
from judge.label_files import Labels, list_folders, read_labels
from judge.label_joins import choose_people, join_labels, list_raters, name_source
from judge.table_rows import (
    GROUP,
    Rows,
    check_outputs,
    flatten_rows,
    holds_objects,
    holds_texts_in,
    leave_out,
    name_outputs,
    open_rows,
    read_cells,
)
from judge.wording import join_names
from meta_eval.scored_set import ScoredSet

Names: TypeAlias = str | Sequence[str]
TEXT_FIELDS = ("text", "turns")
PEEK = 100  # rows whose keys say what a file has
MOST_CALLS = 3  # commands in a message that differ in one name
AGREE = "judge agree"
SETTINGS = {AGREE: COMMAND_SETTINGS, "judge plan": ("people", "judges"), "judge label": ("judges",)}
WANTED = "label"  # of a text that metrics score: the label that was asked for, not one that people gave


@dataclass(frozen=True)
class ColumnRequest:
    """What a caller of `read_verdicts` says about the columns of a table."""

    people: Sequence[str]
    judges: Sequence[str]
    levels: GivenLevels | None
    # which of people and judges the columns must give
    needs: Collection[str]
    # of messages, before the file
    command: str

    @property
    def settings(self) -> Sequence[str]:
        """The settings of the command that say whose labels a table has."""
        return SETTINGS[self.command]


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
    command: str = AGREE,
) -> ScoredSet:
    """Reads examples with the ratings of people and the scores of judges.

    Args:
        source: as `judge.read` takes it; the rows of a file, a list or a DataFrame need no text.
        columns, levels: as in `judge.read`.
        people: columns, scorers or raters that are people; by default columns are recognised by name and values.
        judges: columns that hold verdicts of judges.
        labels: a file or several, rows or a DataFrame with the labels of people, joined by id.
        scores: by name, scores of the same texts as in `judge.read`; columns are then not recognised by their values.
        needs: what columns must hold; labels that are given stand for those of people.
        command: what messages show before the file.

    Raises SettingError if the columns are ambiguous, InputError for faults of the files.
    """
    lacking = [role for role in needs if role != "people" or labels is None]
    request = ColumnRequest(list_names(people), list_names(judges), levels, lacking, command)
    table = None if isinstance(source, ScoredSet) or scores else open_rows(source, columns, levels)
    if table is None or table.tool_file is not None:
        verdicts = _read_whole(source, columns, scores, request)
        has_ids = table is None or not are_line_numbers(verdicts)
        if "people" in lacking and verdicts.scores and not verdicts.aspects:
            verdicts = _choose_scorers(verdicts, source, request)
    else:
        verdicts = _read_table(table, request)
        has_ids = names_ids(verdicts)
    if labels is None:
        return verdicts
    given = read_labels(labels, levels, list_folders(source))
    return join_labels(verdicts, given, has_ids=has_ids)


def list_names(names: Names) -> list[str]:
    """Lists names that are given in a list, or in one text with commas."""
    return names.split(",") if isinstance(names, str) else list(names)


def are_line_numbers(examples: ScoredSet) -> bool:
    """Whether no example has an id of its own, so that all ids are numbers of lines."""
    return all(example.id == str(examples.locate(i)[1]) for i, example in enumerate(examples.examples))


def names_ids(verdicts: ScoredFile) -> bool:
    """Whether a table has a column with ids."""
    faults: list[str] = []
    _, row = next(read_objects(verdicts.source, faults), (0, {}))
    naming = name_fields(tuple(row), verdicts.source.columns)
    return any(name == "id" for _, name in naming.fields)


# ---- verdicts -------------------------------------------------------------------------------------------------------


def _read_whole(
    source: Any,
    columns: Columns | None,
    scores: GivenScores | None,
    request: ColumnRequest,
) -> ScoredSet:
    """A source that is no table of ours, as `judge.read` has it, with the asked people and judges."""
    if isinstance(source, InputFile):
        columns = None  # the input knows them
    texts = read(source, scores, columns=columns, levels=request.levels)
    texts = choose_people(texts, request.people)
    if request.judges:
        check_names(request.judges, texts.scores, "judges")
        texts = texts.choose(request.judges)
    return texts


def _choose_scorers(texts: ScoredSet, source: Any, request: ColumnRequest) -> ScoredSet:
    """The texts of a log whose scorers are people by their names; raises SettingError where no name says so."""
    people = find_people([*texts.scores])
    if not people or len(people) == len(texts.scores):
        raise SettingError(describe_scorers(texts, source, request))
    note = f"{texts.name}: labels of people: {join_names(people)} (people names other scorers)"
    chosen = choose_people(texts, people)
    return replace(chosen, notes=(*chosen.notes, note))


def describe_scorers(texts: ScoredSet, source: Any, request: ColumnRequest) -> str:
    """Describes the scorers of a log that names no person, and the commands that declare one to be a person."""
    file = source.path if isinstance(source, InputFile) else name_source(source, texts.name, whole=True)
    names = [*texts.scores]
    calls = [f"`{request.command} {file} --people {name}`" for name in names[:MOST_CALLS]]
    if "labels" in request.settings:
        calls.append(f"`{request.command} {file} --labels FILE`")
    return (
        f"{texts.name} does not say which scorer is a person. Its scorers are {join_names(names)}: {' or '.join(calls)}"
    )


def _read_table(file: InputFile, request: ColumnRequest) -> ScoredFile:
    """The examples of rows, with the labels of people and the verdicts of judges that their columns hold."""
    faults: list[str] = []
    first = [row for _, row in islice(read_objects(file, faults), PEEK)]
    header = [*dict.fromkeys(name for row in first for name in row)]
    fields = dict(name_fields(tuple(header), file.columns).fields)
    has_texts = any(name in TEXT_FIELDS for name in fields.values())
    lacking = _find_lacking(fields.values(), request.needs)
    if lacking and not file.columns and holds_objects(first):
        rows = [row for _, row in read_objects(file, faults)]
        if faults:
            return read_scored(file)  # which names the faults
        return _read_table(replace(file, records=flatten_rows(rows)), request)
    raters = [name for name in request.people if name not in header]  # or scorers of the file
    if not lacking and not any(name in header for name in (*request.people, *request.judges)):
        return _choose_raters(read_scored(replace(file, needs_text=has_texts)), raters)
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file)  # which names the faults
    of_texts = [key for key, name in fields.items() if name in TEXT_FIELDS and holds_texts_in(rows, key)]
    roles = _find_table_roles(file, rows, fields, of_texts, request, needs=[] if of_texts else lacking)
    if roles.judges and not roles.people and "people" in lacking:
        _find_table_roles(file, rows, fields, of_texts, request, needs=["people"])  # which says what is missing
    if _gives(fields.values(), "ratings", RATING) and not any(name in header for name in request.people):
        roles = replace(roles, people={})  # the file says itself what people said
    if not roles.people and not roles.judges:
        return _choose_raters(read_scored(replace(file, needs_text=bool(of_texts))), raters)
    file, rows, roles = _name_by_output(file, rows, roles)
    if roles.rater is not None and roles.key is None and not of_texts:
        what = f"rows by {roles.rater} need a column with the id of what was rated, found {', '.join(header)}"
        raise InputError([fault(file.path, 0, what)])
    texts = _apply(file, rows, roles, has_texts=bool(of_texts))
    if roles.judging_raters and not raters:
        raters = [name for name in list_raters(texts) if name not in roles.judging_raters]
    return _choose_raters(texts, raters)


def _name_by_output(
    file: InputFile,
    rows: Rows,
    roles: Roles,
) -> tuple[InputFile, Rows, Roles]:
    """The table with an id for each output, where its ids are those of inputs that several systems answered."""
    by_output, parts = (None, ()) if file.columns else name_outputs(rows, roles.key)
    if by_output is None or _repeats_labels(by_output, roles):
        return file, rows, roles
    lines = [line for line, _ in read_objects(file, [])]
    check_outputs(rows, parts, [(file.path, line) for line in lines])
    named = roles.name_by(parts)
    records = [read_cells(row, named) for row in by_output]
    return replace(file, records=records), by_output, named


def _repeats_labels(rows: Rows, roles: Roles) -> bool:
    """Whether people say the same of all systems of each input: the systems may then be judges of one output."""
    columns = [name for names in roles.people.values() for name in names]
    if not columns or roles.rater is not None:
        return False
    labels: dict[Any, set[str]] = {}
    for row in rows:
        labels.setdefault(row.get(GROUP), set()).add(str([row.get(name) for name in columns]))
    return all(len(different) == 1 for different in labels.values())


def _choose_raters(texts: ScoredFile, raters: Sequence[str]) -> ScoredFile:
    """The texts of a file in which these scorers, or raters, are people."""
    return choose_people(texts, raters)


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
    request: ColumnRequest,
    *,
    needs: Collection[str],
) -> Roles:
    """The roles of the columns of a table, beside those that give texts, ratings and scores by their names."""
    others = {key for key, name in fields.items() if name.startswith((RATING, SCORE))} | {*of_texts}
    others -= {*request.people, *request.judges}
    if of_texts and "judges" not in request.needs:
        others |= {key for key, name in fields.items() if name == WANTED and key not in request.people}
    return find_roles(
        [leave_out(row, others) for row in rows],
        people=[name for name in request.people if any(name in row for row in rows)],
        judges=request.judges,
        levels=request.levels,
        needs=needs,
        command=f"{request.command} {file.path}",
        settings=request.settings,
    )


def _apply(
    file: InputFile,
    rows: Rows,
    roles: Roles,
    *,
    has_texts: bool,
) -> ScoredFile:
    """The examples of rows whose columns have these roles."""
    naming = name_fields(tuple(rows[0]), file.columns)
    read = {key for key, _ in naming.fields} | {key for _, keys in file.columns for key in keys}
    roles = replace(roles, unread=[name for name in roles.unread if name not in read])
    note = f"{file.path.name}: {roles.describe()}"
    if roles.named_by is not None:
        gathered = gather_judges(rows, roles)
        names = dict.fromkeys(str(row.get(roles.named_by)) for row in rows)
        roles = replace(roles, judges={name: name for name in names}, named_by=None)
        file = replace(file, records=[read_cells(row, roles) for row in gathered])
    columns = {**{name: tuple(keys) for name, keys in roles.columns.items()}, **dict(file.columns)}
    texts = read_scored(replace(file, columns=tuple(columns.items()), needs_text=has_texts))
    return replace(texts, notes=(note, *texts.notes))


def have_texts(scored: ScoredSet) -> bool:
    """Whether some example has a text."""
    return any(not example.is_empty for example in scored.examples)
