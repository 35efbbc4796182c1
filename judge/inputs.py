"""What the verbs of `judge` take as input: a file, texts, rows, examples or the texts of several systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from core.errors import SettingError, fault, format_value, printable
from core.example import Example
from core.scores import Scores
from data.cells import is_frame, list_items, to_value
from data.columns import freeze_columns
from data.input_file import FORMS, FileLike, InputFile
from data.numeric import name_of
from data.rating_words import GivenLevels, freeze_levels
from data.records import check_id, require_none
from data.scored import ScoredFile, add_outputs, mark_missing, read_scored
from meta_eval.scored_set import ScoredSet

Texts = Iterable[str] | Iterable[Mapping[str, Any]] | Iterable[Example]
Frame = Any  # a DataFrame of pandas
Source = Path | str | InputFile | ScoredSet | Texts | Mapping[str, Mapping[str, str]] | Frame
References = Sequence[str | Sequence[str]] | Mapping[str, str | Sequence[str]]
Columns = Mapping[str, str | Sequence[str]]
GivenScores = Mapping[str, Path | str | ArrayLike | Sequence[float | None] | Scores]  # by metric
GIVEN = Path("examples")  # names examples in memory in messages
KINDS = {
    "Examples": Example,
    "rows": Mapping,
    "texts": str,
}  # what a list holds
SOURCE_RULE = "texts must be in a file, a list, a DataFrame or {system: {input: text}}"


def read(
    source: Source,
    scores: GivenScores | None = None,
    references: References | None = None,
    columns: Columns | None = None,
    refuse_scores: bool = False,
    levels: GivenLevels | None = None,
) -> ScoredSet:
    """Reads examples from a source, with the scores that are already known.

    Args:
        source: a file (.jsonl, .csv, .tsv, .xlsx); texts, Examples or rows with the keys of a line (`text`,
            `references`, `context`, `system`, `group`, `ratings`, `scores`) in any iterable; a DataFrame of
            pandas, whose columns have these names; a mapping {system: {input: text}}; or a ScoredSet, which is
            returned as it is. None and NaN in a cell are missing. The id of a text is its place,
            counted from 1; in a mapping of systems it is SYSTEM-INPUT if these ids differ.
        scores: by metric, a number per example (in the order of the source), or the file that score wrote.
        references: of each text one or a list of them, in the order of the texts; or a mapping from the input (`group`,
            else `id`).
        columns: by field the column of the source that gives it, or several (`InputFile.of`).
        refuse_scores: whether scores in the source are refused, as texts to score must not have any.
        levels: of ratings in words, the scale from the worst to the best, or a scale by aspect; a ScoredSet has them.

    Raises SettingError for another source; InputError with all faults of the examples as `file:line: what is wrong,
    what was found`. The lines of examples in memory are counted from 1.

    >>> outputs = {"a": {"q1": "Yes.", "q2": "No."}, "b": {"q1": "Maybe."}}
    >>> scored = read(outputs, references={"q1": "Yes.", "q2": "No!"})
    >>> [(e.system, e.group, e.text, e.references) for e in scored.examples][1:]
    [('a', 'q2', 'No.', ('No!',)), ('b', 'q1', 'Maybe.', ('Yes.',))]
    """
    if isinstance(source, ScoredSet):
        if references is not None or columns or scores:
            raise SettingError("scores, references and columns cannot be passed with a ScoredSet, which has its own")
        if refuse_scores and source.scores:
            raise SettingError(f"texts to score must have no scores, but have {', '.join(source.scores)}")
        return source
    if scores is not None and not isinstance(scores, Mapping):
        raise SettingError(f"scores go by the name of their metric, but got {format_value(scores)}")
    given = {} if scores is None else dict(scores)
    files: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for name, values in given.items():
        if isinstance(values, str | Path):
            files[name] = values
        else:
            numbers[name] = values
    if isinstance(source, str | Path | InputFile):
        if references is not None:
            raise SettingError("references cannot be passed with a file, whose lines have them")
        path = source if isinstance(source, InputFile) else _check_path(source)
        scored = read_scored(
            path,
            files,
            refuse_scores,
            columns=columns,
            levels=levels,
        )
    else:
        named = freeze_columns(columns or {})
        rows = _list_rows(source)
        rows = _add_references(rows, references, dict(named))
        if rows and all(isinstance(row, Example) for row in rows):
            if columns:
                raise SettingError("columns must not be passed with Examples, which have fields")
            scored = add_outputs(_number_examples(rows), files)
        else:
            file = InputFile(
                GIVEN,
                named,
                levels=freeze_levels(levels),
                records=rows,
            )
            scored = read_scored(file, files, refuse_scores)
    return _add_numbers(scored, numbers)


def open_rows(
    source: Any,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    called: Path = GIVEN,
) -> InputFile | None:
    """Opens a file, or rows that messages call `called`.

    Returns None for texts, Examples and outputs by system: they have no columns. Raises SettingError for anything else.
    """
    if isinstance(source, FileLike):
        return InputFile.of(source, columns=columns, levels=levels)
    if isinstance(source, Mapping | ScoredSet):
        return None
    rows = list_items(source, SOURCE_RULE)
    if not all(isinstance(row, Mapping) for row in rows):
        return None
    return replace(InputFile.of(called, columns=columns, levels=levels), records=rows)


def _add_numbers(scored: ScoredSet, numbers: Mapping[str, Any]) -> ScoredSet:
    """The examples with scores that are given as numbers, by metric."""
    if not numbers:
        return scored
    scores = {name: _to_scores(name, values, len(scored)) for name, values in numbers.items()}
    for name in scores:
        if name in scored.scores:
            raise SettingError(f"a metric must have one score, but {name} is in the examples too")
    return replace(scored, scores={**scored.scores, **scores})


def _check_path(source: str | Path) -> Path:
    path = Path(source)
    is_named_as_file = str(path).lower().endswith(FORMS)
    if isinstance(source, str) and not is_named_as_file and not path.exists():
        rule = f"a text must be in a list, and the name of a file must end in one of {', '.join(FORMS)}"
        raise SettingError(f"{rule}, but got the string {format_value(source)}: pass [{format_value(source)}]")
    return Path(source)


def _list_rows(source: Any) -> list[Any]:
    """The examples as they are, and everything else as rows."""
    if isinstance(source, Mapping):
        return _list_outputs(source)
    rows = list_items(source, SOURCE_RULE)
    kinds = {next((name for name, kind in KINDS.items() if isinstance(row, kind)), type(row).__name__) for row in rows}
    others = sorted(f"a {name}" for name in kinds - KINDS.keys())
    if others or len(kinds) > 1:
        rule = "a list must hold texts, rows or Examples, but this one holds"
        raise SettingError(f"{rule} {' and '.join(others[:1] or sorted(kinds))}")
    if kinds != {"texts"}:
        return rows
    return [{"id": str(place), "text": text} for place, text in enumerate(rows, 1)]


def _list_outputs(source: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """The texts of systems, by input, as rows; their ids are SYSTEM-INPUT, or numbers where these are not unique."""
    outputs: list[dict[str, Any]] = []
    for system, texts in source.items():
        for group, text in _check_texts(str(system), texts).items():
            row = {
                "id": f"{system}-{group}",
                "system": str(system),
                "group": str(group),
                "text": text,
            }
            outputs.append(row)
    ids = {row["id"] for row in outputs}
    places = {(row["system"], row["group"]) for row in outputs}
    if len(ids) == len(places):
        return outputs
    return [{**row, "id": str(place)} for place, row in enumerate(outputs, 1)]  # a and b-c are also a-b and c


def _check_texts(system: str, texts: object) -> Mapping[str, str]:
    if not isinstance(texts, Mapping):
        rule = "a mapping must be {system: {input: text}}, and a row must be in a list"
        raise SettingError(f"{rule}, but {printable(system)} has a {type(texts).__name__}")
    return texts


def _add_references(rows: list[Any], references: References | None, columns: Mapping[str, Sequence[str]]) -> list[Any]:
    """The rows or Examples with their references; `columns` says which key of a row gives a field."""
    if references is None:
        return rows
    fields = [_find_input(row, columns) for row in rows]
    if isinstance(references, Mapping):
        by_input = {str(name_of(to_value(name))): texts for name, texts in references.items()}
        inputs = [each["group"] or each["id"] for each in fields]
        lacking = [name for name in dict.fromkeys(inputs) if name not in by_input]
        if lacking:
            rule = f"references must have each input, but {len(lacking)} are missing"
            raise SettingError(f"{rule}, such as {format_value(lacking[0])}")
        listed = [by_input[name] for name in inputs]
    else:
        listed = _list_references(references)
        if any(each["system"] for each in fields):
            rule = "systems are aligned by input, never by position"
            raise SettingError(f"{rule}: pass references={{input: references}}")
        if len(listed) != len(rows):
            rule = f"references must have one entry for each of the {len(rows)} texts"
            raise SettingError(f"{rule}, but have {len(listed)}")
    completed: list[Any] = []
    for row, given in zip(rows, listed, strict=True):
        texts = _to_references(given)
        if isinstance(row, Example):
            completed.append(replace(row, references=tuple(texts)))
        else:
            completed.append({**row, "references": texts})
    return completed


def _find_input(row: Example | Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What names the input of an Example or of a row: its system, group and id."""
    names = ("system", "group", "id")
    if isinstance(row, Example):
        return {name: getattr(row, name) for name in names}
    keys = {name: columns.get(name, (name,))[0] for name in names}
    return {name: name_of(to_value(row.get(key))) for name, key in keys.items()}


def _list_references(references: Any) -> list[Any]:
    """The references of texts in their order. Raises SettingError for anything but a list."""
    rule = "references must be a list with one entry for each text, or {input: references}"
    if is_frame(references):
        raise SettingError(f"{rule}, but got a {type(references).__name__}: pass one of its columns")
    return list_items(references, rule)


def _to_references(given: Any) -> list[str]:
    """The references of a text; None and NaN are none."""
    value = to_value(given)
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingError(f"references of a text must be one text or a list of texts, found {format_value(texts)}")
    return texts


def _number_examples(examples: Sequence[Example]) -> ScoredFile:
    first_line: dict[str, int] = {}
    faults: list[str] = []
    for line, example in enumerate(examples, 1):
        problems = check_id(example.id, line, first_line)
        faults += [fault(GIVEN, line, problem) for problem in problems]
    lines = range(1, len(examples) + 1)
    return ScoredFile(
        GIVEN.name,
        require_none(examples, faults),
        places=tuple((GIVEN, line) for line in lines),
        source=InputFile(GIVEN),
    )


def _to_scores(name: str, given: Any, n: int) -> Scores:
    """Scores of a number per example; None and NaN are missing."""
    scores = given
    if not isinstance(given, Scores):
        try:
            scores = mark_missing(given, f"{name}|given scores")
        except (TypeError, ValueError) as error:
            raise SettingError(f"scores of {name} must be numbers: {error}") from None
    if len(scores) != n:
        raise SettingError(f"scores of {name} must have a number for each of {n} examples, but have {len(scores)}")
    return scores
