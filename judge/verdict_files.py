"""Reads tables for checking a judge: verdicts and labels, with or without texts, in one file or two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from core.errors import InputError, SettingError, check_names, fault, printable, setting
from core.example import SHOWN_COLUMNS
from data.columns import RATING, SCORE, find_rater, fold_name, name_fields, names_rater, reach
from data.input_file import InputFile, read_objects
from data.label_columns import (
    MODELS,
    ask,
    find_key,
    find_said,
    list_candidates,
    list_columns,
    name_columns,
    says,
    varies,
)
from data.numeric import is_missing
from data.rating_words import GivenLevels
from data.scored import ScoredFile, read_scored
from judge.inputs import Columns, GivenScores, Source, read
from judge.label_files import Labels, list_folders, open_rows, read_labels
from judge.label_joins import choose_people, join_labels, list_raters
from meta_eval.scored_set import ScoredSet
from report.wording import join_names

Names: TypeAlias = str | Sequence[str]
TEXT_FIELDS = ("text", "turns")
NAMES = ("id", "group", "system", "rater", "turns", "references", "context", "prefix")  # fields that hold no labels


@dataclass(frozen=True)
class Request:
    """What a caller of `read_verdicts` says about the columns of a table, and what it needs of them."""

    people: Sequence[str]
    judges: Sequence[str]
    levels: GivenLevels | None
    # which of people, judges and text the columns must give
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
) -> ScoredSet:
    """Reads examples with the ratings of people and the scores of judges.

    Args:
        source: as `judge.read` takes it; the rows of a file, a list or a DataFrame need no text.
        columns, levels: as in `judge.read`.
        people: columns, scorers or raters that are people, of `labels` too; by default a column or scorer `human`.
        judges: columns, scorers or raters that are judges; by default a column `judge`.
        labels: a file or several, rows or a DataFrame with the labels of people, joined by id.
        scores: by name, scores of the same texts as in `judge.read`.
        needs: what the source must hold (people, judges, text); labels that are given stand for those of people.

    Raises QuestionError if no column says that it holds what is needed, InputError for faults of the files.
    """
    of_people = list_names(people)
    given = None
    if labels is not None:
        given = read_labels(labels, levels, list_folders(source), of_people)
        of_people = [name for name in of_people if name not in given.people]
    lacking = [role for role in needs if role != "people" or given is None]
    request = Request(of_people, list_names(judges), levels, lacking)
    table = None if isinstance(source, ScoredSet) or scores else open_rows(source, columns, levels)
    if table is None or table.tool_file is not None:
        verdicts = _read_whole(source, columns, scores, request)
        has_ids = table is None or not are_line_numbers(verdicts)
    else:
        verdicts = _read_table(table, request)
        has_ids = names_ids(verdicts)
    return verdicts if given is None else join_labels(verdicts, given, has_ids=has_ids)


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


def have_texts(scored: ScoredSet) -> bool:
    """Whether some example has a text."""
    return any(not example.is_empty for example in scored.examples)


# ---- verdicts -------------------------------------------------------------------------------------------------------


def _read_whole(
    source: Any,
    columns: Columns | None,
    scores: GivenScores | None,
    request: Request,
) -> ScoredSet:
    """A source that is no table of ours, as `judge.read` has it, with the asked people and judges."""
    if isinstance(source, InputFile):
        columns = None  # the input knows them
    texts = read(source, scores, columns=columns, levels=request.levels)
    people = request.people
    if not (people or texts.aspects) and "people" in request.needs:
        people = [name for name in texts.scores if says(name) == "people"]
        note = f"{texts.name}: labels of people: {', '.join(people)} (people names other scorers)"
        texts = replace(texts, notes=(*texts.notes, note)) if people else texts
    texts = _choose(texts, people, request.judges)
    if "people" in request.needs and texts.scores and not texts.aspects:
        raise ask([role for role in request.needs if role != "text"], [*texts.scores])
    return texts


def _choose(texts: Any, people: Sequence[str], judges: Sequence[str]) -> Any:
    """The texts of which these scorers or raters are people, and these judges. Other raters are on the other side."""
    raters = list_raters(texts)
    of_raters = [name for name in judges if name in raters]
    if of_raters and not people:
        people = [name for name in raters if name not in of_raters]
    texts = choose_people(texts, people)
    if judges:
        check_names(judges, texts.scores, "judges")
        texts = texts.choose(judges)
    return texts


def _read_table(file: InputFile, request: Request) -> ScoredFile:
    """The examples of rows, with the labels of people and the verdicts of judges that their columns hold."""
    faults: list[str] = []
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file)  # which names the faults
    header = list_columns(rows)
    naming = name_fields(tuple(header), file.columns)
    fields = dict(naming.fields)
    fixed = {key for key, name in fields.items() if name in NAMES or name.startswith((RATING, SCORE))}
    free = [name for name in header if name not in fixed or name in (*request.people, *request.judges)]
    candidates = list_candidates(rows, header, request.levels)
    candidates = [name for name in candidates if name in free and name not in dict(file.columns)]
    said = find_said(header, candidates, {"people": request.people, "judges": request.judges})
    rater = find_rater(header) or dict(file.columns).get("rater", (None,))[0]
    taken = [name for names in said.values() for name in names]
    if taken:
        columns = name_columns(header, said["people"], said["judges"], rater)
        file = replace(file, columns=tuple({**columns, **dict(file.columns)}.items()))
    names = [name for key, name in name_fields(tuple(header), file.columns).fields]
    _check_needs(request, rows, header, candidates, said, names, rater)
    has_texts = any(name in TEXT_FIELDS for name in names)
    if taken and rater and "id" not in names and not has_texts:
        what = f"rows by {rater} need a column with the id of what was rated, found {', '.join(header)}"
        raise InputError([fault(file.path, 0, what)])
    texts = read_scored(replace(file, needs_text=has_texts))
    if taken:
        unread = [name for name in candidates if name not in taken and name not in dict(naming.fields)]
        texts = replace(texts, notes=(_describe(file, said, rater, unread), *texts.notes))
    people = [name for name in request.people if name not in header]
    judges = [name for name in request.judges if name not in header]
    return _choose(texts, people, judges)


def _check_needs(
    request: Request,
    rows: Sequence[Mapping[str, Any]],
    header: Sequence[str],
    candidates: Sequence[str],
    said: Mapping[str, Sequence[str]],
    names: Collection[str],
    rater: str | None,
) -> None:
    """Raises QuestionError where no column gives what is needed, SettingError for names that nothing has."""
    raters = _list_values(rows, rater)
    scorers = _list_scorers(rows) if "scores" in names else []
    known = (*header, *raters, *scorers)
    others = [name for name in (*request.people, *request.judges) if name not in header]
    has_ratings = any(name.startswith(RATING) or name == "ratings" for name in names)
    if not has_ratings:  # which may name their raters
        for name in others:
            if name not in known:
                raise SettingError(
                    f"people and judges name columns, but {printable(name)} is none of {join_names(known)}"
                )
    is_there = {
        "text": any(name in TEXT_FIELDS for name in names),
        "people": has_ratings or any(name in scorers for name in others),
        "judges": "scores" in names or any(name.startswith(SCORE) for name in names) or bool(others),
    }
    lacking = [role for role in request.needs if not is_there[role]]
    if not lacking:
        return
    key = find_key(header)
    keys = [str(reach(row, str(key))) for row in rows]
    is_repeated = key is not None and len({*keys}) < len(keys)
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
    longest = max(texts, key=lambda name: _measure_longest(rows, name), default=None)
    raise ask(lacking, free, raters, longest)


def _measure_longest(rows: Sequence[Mapping[str, Any]], column: str) -> int:
    """The characters of the longest text in a column."""
    cells = [reach(row, column) for row in rows]
    return max(len(cell) if isinstance(cell, str) else 0 for cell in cells)


def _list_values(rows: Sequence[Mapping[str, Any]], column: str | None) -> list[str]:
    """The different names in a column."""
    cells = [] if column is None else [reach(row, column) for row in rows]
    return list(dict.fromkeys(str(cell) for cell in cells if not is_missing(cell)))


def _list_scorers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names in the objects `scores` of rows."""
    scores = [cell for row in rows for name, cell in row.items() if fold_name(name) == "scores"]
    return list(dict.fromkeys(str(name) for cell in scores if isinstance(cell, Mapping) for name in cell))


def _describe(file: InputFile, said: Mapping[str, Sequence[str]], rater: str | None, unread: Sequence[str]) -> str:
    """Describes in one line which column was taken for which role."""
    parts: list[str] = []
    if said["people"]:
        parts.append(f"labels of people: {', '.join(said['people'])}")
    if rater:
        parts.append(f"one row by {rater}")
    if said["judges"]:
        parts.append(f"verdicts of judges: {', '.join(said['judges'])}")
    key = dict(file.columns).get("id", ("id",))[0]
    parts.append(f"rows named by {key}")
    if unread:
        parts.append(f"not read: {', '.join(unread[:SHOWN_COLUMNS])}")
    return f"{file.path.name}: {'; '.join(parts)}"
