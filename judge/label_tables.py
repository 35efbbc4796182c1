"""One table of texts, labels and verdicts: reads what its columns hold, and asks where no column says it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.errors import InputError, SettingError, fault, printable, setting
from core.example import SHOWN_COLUMNS
from data.cells import list_items
from data.columns import FIELDS, RATING, SCORE, find_rater, list_spellings, name_fields, names_rater
from data.input_file import FileLike, InputFile, read_objects
from data.label_columns import (
    LABEL,
    MODELS,
    ask,
    find_key,
    is_batch,
    list_candidates,
    list_columns,
    list_words,
    name_columns,
    says,
)
from data.rating_words import GivenLevels
from data.scored import read_scored
from judge.inputs import GIVEN, SOURCE_RULE, Columns
from judge.people import choose_people
from meta_eval.scored_set import ScoredSet

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


def open_rows(
    source: Any,
    columns: Columns | None,
    levels: GivenLevels | None,
) -> InputFile | None:
    """Opens a source of rows as an input file.

    Returns None for texts, Examples and outputs by system: they have no columns.
    """
    if isinstance(source, FileLike):
        return InputFile.of(source, columns=columns, levels=levels)
    if isinstance(source, Mapping | ScoredSet):
        return None
    rows = list_items(source, SOURCE_RULE)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    return replace(InputFile.of(GIVEN, columns=columns, levels=levels), records=rows)


def read_table(file: InputFile, request: Request) -> ScoredSet:
    """Reads the examples of rows, with the labels of people and the verdicts of judges that their columns hold.

    Raises QuestionError where no column says that it holds what is needed, SettingError for names that nothing has, and
    InputError for faults of the file.
    """
    faults: list[str] = []
    rows = [row for _, row in read_objects(file, faults)]
    if faults or not rows:
        return read_scored(file)  # which names the faults
    header = list_columns(rows)
    given = {"people": request.people, "judges": request.judges}
    named = [*request.people, *request.judges]
    problems = list_spellings(name for name in header if name not in named)
    if problems:
        raise InputError([fault(file.path, 0, problem) for problem in problems])
    fields = dict(name_fields(tuple(header), file.columns).fields)
    fixed = {key for key, name in fields.items() if name in NO_LABELS or name.startswith((RATING, SCORE))}
    candidates = [name for name in list_candidates(rows, header, file.levels) if name in named or name not in fixed]
    said: dict[str, list[str]] = {}
    for role, names in given.items():
        by_name = [name for name in candidates if says(name) == role and name not in named]
        said[role] = [name for name in names if name in header] or by_name
    has_ratings = any(name == "ratings" or name.startswith(RATING) for name in fields.values())
    if is_batch(header):
        said["people"] = said["people"] or candidates
    elif request.is_of_people and not (said["people"] or has_ratings):
        labels = [name for name in candidates if fields.get(name) == LABEL]
        said["people"] = labels or (candidates if len(candidates) == 1 else [])
    taken = [*said["people"], *said["judges"]]
    for name in taken:
        if taken.count(name) > 1:
            raise SettingError(f"a column is of people or of a judge, but {printable(name)} is given twice")
    rater = find_rater(header) or dict(file.columns).get("rater", (None,))[0]
    columns = name_columns(header, said["people"], said["judges"], rater) if taken else {}
    file = replace(file, columns=tuple({**columns, **dict(file.columns)}.items()))
    names = {name for _, name in name_fields(tuple(header), file.columns).fields}
    others = {role: [name for name in names if name not in header] for role, names in given.items()}
    has_texts = bool(names & {"text", "turns"})
    are_named = bool(others["people"] or others["judges"])
    is_there = {
        "text": has_texts,
        "people": are_named or any(name == "ratings" or name.startswith(RATING) for name in names),
        "judges": are_named or "scores" in names or any(name.startswith(SCORE) for name in names),
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
        lengths = {name: max(map(len, list_words(rows, name)), default=0) for name in header if not names_rater(name)}
        texts = [name for name in lengths if name not in candidates]
        require(
            request,
            is_there,
            [*dict.fromkeys(scorers), *free],
            taken=taken,
            raters=list_words(rows, rater) if rater else (),
            text=max(texts, key=lengths.__getitem__, default=None),
        )
    texts: ScoredSet = read_scored(replace(file, needs_text=has_texts))
    if taken:
        parts = {
            "labels of people: ": ", ".join(said["people"]),
            "one row by ": rater,
            "verdicts of judges: ": ", ".join(said["judges"]),
            "rows named by ": dict(file.columns).get("id", ("id",))[0],
            "not read: ": ", ".join([name for name in candidates if name not in {*taken, *fields}][:SHOWN_COLUMNS]),
        }
        note = "; ".join(f"{what}{shown}" for what, shown in parts.items() if shown)
        texts = replace(texts, notes=(f"{file.path.name}: {note}", *texts.notes))
    return choose_people(texts, others["people"], others["judges"], candidates)


def require(
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
        raise ask(lacking, candidates, raters, text)
