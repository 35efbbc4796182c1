"""Scores in files: reads and writes the files of `judge score`, and reads examples with scores of any metrics."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InputError, SettingError, fault, format_value, read_all, setting
from core.example import Example, hint_column
from core.scores import Scores
from data.cells import json_line
from data.files import Row, iterate_rows, list_levels, read_rows, to_record
from data.input_file import FORMS, FileLike, InputFile
from data.numeric import to_number
from data.rater_rows import join_rater_rows
from data.rating_words import Column
from data.records import check_id, require_none
from data.text_files import open_atomically, read_json
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet

MOST_LEVELS = 10_000  # columns of numbers: one for each metric, and for each aspect and person
WRITTEN = (".jsonl",)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoredFile(ScoredSet):
    """The examples of a file and their scores by metric, or `metric/aspect`; a missing score is NaN."""

    # how the file is read
    source: InputFile
    # whether some example has an id of its own; else ids are numbers of lines
    has_ids: bool = True


def place_outputs(outputs: ScoredSet) -> dict[tuple[str, str], int]:
    """Returns the index of the output of each (system, input).

    Raises InputError for an output that does not name its system and its input, and for two outputs of one system for
    one input.
    """
    faults: list[str] = []
    places: dict[tuple[str, str], int] = {}
    for i, example in enumerate(outputs.examples):
        path, line = outputs.locate(i)
        missing = [name for name in ("system", "group") if getattr(example, name) is None]
        for name in missing:
            hint = hint_column(name, example.extra) or f": {setting(f'columns.{name}', 'COLUMN')} names its column"
            faults.append(fault(path, line, f'"{name}" is needed here, found null{hint}'))
        if missing:
            continue
        system = str(example.system)
        group = str(example.group)
        earlier = places.setdefault((system, group), i)
        if earlier != i:
            rule = f"a system must have one output per input, but {format_value(system)} also has one for"
            _, earlier_line = outputs.locate(earlier)
            faults.append(fault(path, line, f"{rule} {format_value(group)} in line {earlier_line}"))
    require_none((), faults)
    return places


def read_scored(
    path: FileLike | None = None,
    scores: Mapping[str, Path | str] | None = None,
    refuse_scores: bool = False,
    systems: Sequence[str] | None = None,
    **settings: Any,
) -> ScoredFile:
    """Reads a file of examples whose lines may have `scores`, from metric to number or null.

    Args:
        path: see `read_examples`.
        scores: more scores by name, in files that `judge score` wrote for these examples.
        refuse_scores: whether the keys that scoring adds are faults; scores of another tool are then passed on.
        systems: in place of a file, one for each system, as `NAME=FILE`: groups, or else ids, name the inputs.
        settings: of `InputFile.of`, such as `columns`.

    Raises InputError with all faults as `file:line: what is wrong, what was found`.
    """
    if systems:
        return add_outputs(_read_systems(systems, path=path, **settings), scores or {})
    file = InputFile.of(path, **settings)
    rows, notes = read_rows([file], refuse_scores=refuse_scores, may_repeat=True)
    joined, more_notes = join_rater_rows(file.path, rows)
    source = file
    if joined is not rows:
        records = [to_record(row.example) for row in joined]
        source = replace(file, records=records)
    named = [f"{file.path.name}: {note}" for note in notes]
    found = _to_set(
        file.path.name,
        joined,
        source,
        [*file.notes, *named, *more_notes],
    )
    return add_outputs(found, scores or {})


def _to_set(
    name: str,
    rows: Sequence[Row],
    source: InputFile,
    notes: Sequence[str],
) -> ScoredFile:
    """The texts of rows with the ratings of each person and the scores of each judge."""
    columns: dict[tuple[Column, str], Floats] = {}
    for i, row in enumerate(rows):
        for column, person, level in list_levels(row):
            if (column, person) not in columns:
                columns[column, person] = np.full(len(rows), np.nan)
            if len(columns) > MOST_LEVELS:
                rule = f"a file must have at most {MOST_LEVELS:,} columns of ratings and scores, found more"
                raise InputError([fault(row.path, row.line, rule)])
            if level is not None:
                columns[column, person][i] = level
    people: dict[tuple[str, str], Floats] = {}
    scores: dict[str, Scores] = {}
    for ((kind, column_name), person), values in columns.items():
        if kind == "scores":
            scores[column_name] = mark_missing(values, f"{column_name}|scores in {name}")
        elif person or not np.isnan(values).all():
            people[column_name, person] = values
    named = {aspect for aspect, person in people if person}
    faults: list[str] = []
    for (aspect, person), values in people.items():
        if not person and aspect in named:
            row = rows[np.flatnonzero(~np.isnan(values))[0]]
            rule = f"ratings of {format_value(aspect)} must name each person who rated, as other lines do"
            faults.append(fault(row.path, row.line, rule))
    require_none((), faults)
    return ScoredFile(
        name,
        tuple(row.example for row in rows),
        scores,
        places=tuple((row.path, row.line) for row in rows),
        raters=stack_people(people),
        notes=tuple(notes),
        source=source,
        has_ids=any(row.has_id for row in rows),
    )


def stack_people(people: Mapping[tuple[str, str], Floats]) -> dict[str, Floats]:
    """Stacks the ratings of an aspect by person, (people, n), of all aspects that named people rated."""
    columns: dict[str, dict[str, Floats]] = {}
    for (aspect, person), values in people.items():
        columns.setdefault(aspect, {})[person] = values
    stacked: dict[str, Floats] = {}
    for aspect, by_person in columns.items():
        values = np.stack([*by_person.values()])
        if {*by_person} != {""} and not np.isnan(values).all():
            stacked[aspect] = values
    return stacked


def _read_systems(
    systems: Sequence[str],
    path: FileLike | None = None,
    text: Path | str | None = None,
    **settings: Any,
) -> ScoredFile:
    """Reads the outputs of several systems, one file each, given as `NAME=FILE`. Groups, or else ids, name the inputs.

    A file with a suffix that `read_scored` does not read has one text per line; line i of each file answers input i.
    """
    files: list[InputFile] = []
    names: dict[Path, str] = {}
    for given in systems:
        name, _, file = given.partition("=")
        if path is not None or text is not None or not (name.strip() and file):
            rule = f"{setting('systems')} must be NAME=FILE for each system, without {setting('path')}"
            raise SettingError(f"{rule}, found {list(systems)}")
        has_rows = file.lower().endswith((*FORMS, ".eval"))
        place = {"path" if has_rows else "text": file}
        files.append(InputFile.of(**place, **settings))
        names[files[-1].path] = name.strip()
    if not len(files) == len(names) == len({*names.values()}):
        rule = f"{setting('systems')} must have a name and a file for each system that no other has"
        raise SettingError(f"{rule}, found {list(systems)}")
    rows, notes = read_rows(files)
    named: list[Row] = []
    for row in rows:
        example = row.example
        system = names[row.path]
        if "ratings" in example.extra:
            raise InputError([fault(row.path, 0, "ratings of several people need one file with all systems")])
        output = replace(
            example,
            id=f"{system}-{example.id}",
            system=system,
            group=example.group or example.id,
        )
        named.append(replace(row, example=output))
    said = [note for file in files for note in file.notes]
    said += [f"{files[0].path.name}: {note}" for note in notes]
    records = [to_record(row.example) for row in named]
    together = replace(files[0], aligned=(), records=records)
    return _to_set(
        " ".join(file.path.name for file in files),
        named,
        together,
        said,
    )


def add_outputs(file: ScoredFile, scores: Mapping[str, Path | str]) -> ScoredFile:
    """Adds scores, by name, from files that `judge score` wrote for these examples.

    Raises InputError for a faulty file.
    """
    for name, output in scores.items():
        if not isinstance(output, Path | str):
            raise SettingError(f"scores.{name} must be one file, found {output}")
    path = file.source.path
    place = {example.id: i for i, example in enumerate(file.examples)}
    readers = [
        partial(
            _read_outputs,
            Path(output),
            place,
            path,
        )
        for output in scores.values()
    ]
    joined = dict(file.scores)
    for name, (values, signature) in zip(scores, read_all(readers), strict=True):
        for aspect, column in values.items():
            full_name = join_name(name, aspect, values)
            if full_name in joined:
                rule = f"a metric must have one score, but {full_name} is in scores.{name} too"
                raise InputError([fault(path, 0, rule)])
            joined[full_name] = mark_missing(column, signature)
    return replace(file, scores=joined)


def mark_missing(values: Sequence[float | None] | Floats, signature: str) -> Scores:
    """Makes Scores from given values; a missing value becomes NaN with a reason.

    The signature has a hash of the values.
    """
    column = np.asarray(values, dtype=np.float64)
    digits = sha256(column.tobytes()).hexdigest()[:16]
    signature = f"{signature}|values={digits}"
    reasons = ["the file has no score" if missing else None for missing in np.isnan(column)]
    return Scores({"score": column}, signature, reasons)


def _read_outputs(file: Path, place: Mapping[str, int], examples_path: Path) -> tuple[dict[str, Floats], str]:
    """The scores by aspect of a file that `judge score` wrote, a line for each id in `place`, and their signature."""
    faults: list[str] = []
    values: dict[str, Floats] = {}
    first_line: dict[str, int] = {}
    for row in iterate_rows(InputFile(file, needs_text=False), faults, may_repeat=True):
        name = row.example.id
        problems = check_id(name, row.line, first_line)
        if name not in place:
            problems = [f"the id must be one of {examples_path}, found {format_value(name)}"]
        for aspect, level in row.scores.items():
            score = to_number(level)
            if score is None and level is not None:
                problems.append(
                    f'{format_value(aspect)} of "scores" must be a valid number, found {format_value(level)}'
                )
            column = values.setdefault(aspect, np.full(len(place), math.nan))
            if name in place:
                column[place[name]] = score
        faults += [fault(file, row.line, problem) for problem in problems]
    missing = [name for name in place if name not in first_line]
    if missing and not faults:
        what = f"{len(missing)} of {len(place)} have none, such as {format_value(missing[0])}"
        faults.append(fault(file, 0, f"every example of {examples_path} needs a line, but {what}"))
    require_none((), faults)
    meta = file.with_name(f"{file.name}.meta.json")
    if not meta.is_file():
        return values, f"file {file.name}"
    described = read_json(meta)
    signature = described.get("signature") if isinstance(described, dict) else None
    if not isinstance(signature, str):
        raise InputError([fault(meta, 0, f'"signature" must be a text, found {format_value(signature)}')])
    return values, signature


def list_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    """Yields one row per example: `scores` by aspect, `dropped_tokens`, and any `reason` and `explanation`."""
    columns = {aspect: _list_numbers(values) for aspect, values in scores.values.items()}
    for i, dropped in enumerate(scores.dropped_tokens):
        numbers = {aspect: column[i] for aspect, column in columns.items()}
        row: dict[str, Any] = {"scores": numbers, "dropped_tokens": dropped}
        if None in numbers.values():
            row["reason"] = scores.reasons[i]
        if scores.explanations:
            row["explanation"] = scores.explanations[i]
        yield row


def _list_numbers(values: Floats) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def score_records(
    examples: Iterable[Example], rows: Mapping[str, Iterable[Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Yields the lines that `judge score` writes: the input line of each example with its scores by metric."""
    for example, *scored in zip(examples, *rows.values(), strict=True):
        by_metric = dict(zip(rows, scored, strict=True))
        joined = scored[0] if len(scored) == 1 else join_rows(by_metric)
        yield {**to_record(example), **joined}


def join_rows(by_metric: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Joins the rows of an example by several metrics into one.

    A score has the name of its metric, or `metric/aspect` if the metric has several aspects. `dropped_tokens` is the
    largest number of any metric; reasons and explanations name their metric.

    >>> join_rows({"a": {"scores": {"quality": 0.5}, "dropped_tokens": 0},
    ...            "b": {"scores": {"x": None, "y": 2.0}, "dropped_tokens": 3, "reason": "blank"}})
    {'scores': {'a': 0.5, 'b/x': None, 'b/y': 2.0}, 'dropped_tokens': 3, 'reason': 'b: blank'}
    """
    numbers: dict[str, float | None] = {}
    for name, row in by_metric.items():
        for aspect, score in row["scores"].items():
            numbers[join_name(name, aspect, row["scores"])] = score
    dropped = max(row["dropped_tokens"] for row in by_metric.values())
    joined: dict[str, Any] = {"scores": numbers, "dropped_tokens": dropped}
    reasons = [f"{name}: {row['reason']}" for name, row in by_metric.items() if "reason" in row]
    explanations = {name: row["explanation"] for name, row in by_metric.items() if "explanation" in row}
    if reasons:
        joined["reason"] = "; ".join(reasons)
    if explanations:
        joined["explanation"] = explanations
    return joined


def join_name(metric: str, aspect: str, aspects: Collection[str]) -> str:
    """Names the scores of one aspect of a metric: METRIC, or METRIC/ASPECT if the metric has several aspects."""
    return metric if len(aspects) == 1 else f"{metric}/{aspect}"


def encode_scores(scores: Scores) -> dict[str, Any]:
    """Returns Scores as JSON values, without their signature."""
    values = {aspect: _list_numbers(column) for aspect, column in scores.values.items()}
    named = {name: list(getattr(scores, name)) for name in ("reasons", "dropped_tokens", "explanations", "notes")}
    return {"values": values, **named}


def decode_scores(content: Mapping[str, Any]) -> Scores:
    """Returns the Scores of what `encode_scores` returned."""
    named = {name: value for name, value in content.items() if name != "values"}
    values = {aspect: np.array(column, np.float64) for aspect, column in content["values"].items()}
    return Scores(values, "", **named)


def write_score_rows(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Writes records to a .jsonl file, under a temporary name until it is complete."""
    with open_atomically(path) as file:
        file.writelines(map(json_line, records))
