"""Scores in files: those that `judge score` writes, and files of examples with the scores of any metrics."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError, SettingError, fault, format_value, read_all
from core.example import Example, hint_column
from core.scores import Scores
from data.cells import json_line, read_cells
from data.columns import MOST_COLUMNS, OUTPUT, SCORE
from data.files import FORMS, InputFile, Source, iterate_rows, read_objects, to_record
from data.rater_rows import join_rater_rows
from data.records import Rating, Text, check_id, check_records, check_rows, layout, name_people, require_none, to_rating
from data.table_files import DELIMITERS, row_writer, to_cell
from data.text_files import open_atomically, read_json
from meta_eval.scored_set import ScoredSet

MOST_RATERS = 1_000  # of an aspect; their ratings are a table with a column for each
WRITTEN = (".jsonl", *DELIMITERS)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoredFile(ScoredSet):
    """The examples of a file and their scores by metric, or `metric/aspect`; a missing score is NaN."""

    # how the file is read
    source: InputFile


def place_outputs(outputs: ScoredSet) -> dict[tuple[str, str], int]:
    """The place of the output of each (system, input); raises InputError where one is not named or has two."""
    faults: list[str] = []
    found: dict[tuple[str, str], int] = {}
    for i, example in enumerate(outputs.examples):
        lacking = [name for name in ("system", "group") if getattr(example, name) is None]
        hints = {name: hint_column(name, example) for name in lacking}
        faults += [fault(*outputs.locate(i), f'"{name}" is needed here, found null{hints[name]}') for name in lacking]
        key = (str(example.system), str(example.group))
        if not lacking and (earlier := found.setdefault(key, i)) != i:
            rule = f"a system must have one output per input, but {format_value(key[0])} also has one for"
            what = f"{rule} {format_value(key[1])} in line {outputs.locate(earlier)[1]}"
            faults.append(fault(*outputs.locate(i), what))
    require_none((), faults)
    return found


# a row of a file that `judge score` wrote, as far as it is read
SCORE_ROW = layout({"id": Text, "scores": Mapping[Text, Rating | None]})


def read_scored(
    path: Source | None = None,
    scores: Mapping[str, Path | str] | None = None,
    refuse_scores: bool = False,
    systems: Sequence[str] | None = None,
    **settings: Any,
) -> ScoredFile:
    """Reads a file of examples whose lines may have `scores`, from metric to number or null.

    Args:
        path: see `read_examples`.
        scores: more scores by name, in files that `judge score` wrote for these examples.
        refuse_scores: whether the keys of a file of scores are faults; scores of another tool are passed on then.
        systems: in place of a file, one for each system, as `NAME=FILE` (`read_systems`).
        settings: of `InputFile.of`, such as `columns`.

    Raises InputError with all faults as `file:line: what is wrong, what was found`.
    """
    if systems:
        return add_outputs(read_systems(systems, path=path, **settings), scores or {})
    file = InputFile.of(path, **settings)
    rows = tuple(iterate_rows(file, (), refuse_scores, may_repeat=True))
    rows, joined = join_rater_rows(file.path, rows)
    examples = tuple(example for _, example, _ in rows)
    names = dict.fromkeys(name for _, _, given in rows for name in given)
    _check_count(file.path, "metrics in scores", len(names), MOST_COLUMNS)
    aspects = {aspect for example in examples for aspect in example.ratings}
    _check_count(file.path, "aspects of ratings", len(aspects), MOST_COLUMNS)
    found: dict[str, Scores] = {}
    for name in names:
        found[name] = mark_missing([given.get(name) for _, _, given in rows], f"{name}|scores in {file.path.name}")
    places = tuple((file.path, line) for line, _, _ in rows)
    raters = _list_raters(places, examples)
    notes = (*file.notes, *joined)
    source = replace(file, records=[to_record(example) for example in examples]) if joined else file
    read = ScoredFile(
        file.path.name,
        examples,
        found,
        places=places,
        raters=raters,
        notes=notes,
        source=source,
    )
    return add_outputs(read, scores or {})


def read_systems(
    systems: Sequence[str],
    path: Source | None = None,
    text: Path | str | None = None,
    **settings: Any,
) -> ScoredFile:
    """The outputs of several systems, each in a file of its own, as `NAME=FILE`; the groups, else the ids, are inputs.

    A file of another suffix than `read_scored` reads has a text per line, and line i of each answers input i.
    """
    pairs = [(name, file) for name, _, file in (each.partition("=") for each in systems)]
    if path is not None or text is not None or any(not name.strip() or not file for name, file in pairs):
        raise SettingError(f"data.systems must be NAME=FILE for each system, without data.path, found {list(systems)}")
    rows = [Path(file).is_dir() or file.lower().removesuffix(".gz").endswith((*FORMS, ".eval")) for _, file in pairs]
    inputs = [
        InputFile.of(file if is_rows else None, text=None if is_rows else file, **settings)
        for (_, file), is_rows in zip(pairs, rows, strict=True)
    ]
    beside = tuple(each for each in inputs if each.form != "lines")
    parts = read_all([partial(read_scored, replace(each, beside=beside)) for each in inputs])
    if several := next((part for part in parts if part.raters), None):
        raise InputError([fault(several.source.path, 0, "ratings of several people need one file with all systems")])
    examples = tuple(
        replace(
            example,
            id=f"{name}-{example.id}",
            system=name,
            group=example.group or example.id,
        )
        for (name, _), part in zip(pairs, parts, strict=True)
        for example in part.examples
    )
    found: dict[str, Scores] = {}
    for metric in dict.fromkeys(metric for part in parts for metric in part.scores):
        own = [part.values(metric, "") if metric in part.scores else np.full(len(part), np.nan) for part in parts]
        signature = f"{metric}|scores in {', '.join(part.name for part in parts)}"
        found[metric] = mark_missing(np.concatenate(own), signature)
    source = replace(inputs[0], aligned=(), records=[to_record(example) for example in examples])
    places = tuple(place for part in parts for place in part.places)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    name = " ".join(part.name for part in parts)
    return ScoredFile(
        name,
        examples,
        found,
        places=places,
        notes=notes,
        source=source,
    )


def _check_count(
    path: Path,
    what: str,
    n: int,
    most: int,
) -> None:
    if n > most:
        raise InputError([fault(path, 0, f"a file must have at most {most:,} {what}, found {n:,}")])


def add_outputs(file: ScoredFile, scores: Mapping[str, Path | str]) -> ScoredFile:
    """The file with the scores, by name, of files that `judge score` wrote for its examples; raises InputError."""
    if other := next((name for name, output in scores.items() if not isinstance(output, Path | str)), None):
        raise SettingError(f"scores.{other} must be one file, found {scores[other]}")
    of, place = file.source.path, {example.id: i for i, example in enumerate(file.examples)}
    outputs = read_all([partial(_read_outputs, Path(output), place, of) for output in scores.values()])
    found = dict(file.scores)
    for name, (values, signature) in zip(scores, outputs, strict=True):
        for aspect, column in values.items():
            full = join_name(name, aspect, values)
            if full in found:
                raise InputError([fault(of, 0, f"a metric must have one score, but {full} is in scores.{name} too")])
            found[full] = mark_missing(column, signature)
    return replace(file, scores=found)


def mark_missing(values: Sequence[float | None] | NDArray[np.float64], signature: str) -> Scores:
    """Scores that were given, with a hash of their values in the signature; a missing one is NaN with a reason."""
    column = np.asarray(values, dtype=np.float64)
    signature = f"{signature}|values={sha256(column.tobytes()).hexdigest()[:16]}"
    reasons = ["the file has no score" if missing else None for missing in np.isnan(column)]
    return Scores({"score": column}, signature, reasons)


def _list_raters(places: Sequence[tuple[Path, int]], examples: Sequence[Example]) -> dict[str, NDArray[np.float64]]:
    """By aspect that several people rated, the ratings of each person."""
    given: dict[str, dict[int, Any]] = {}  # aspect -> example -> ratings
    for i, example in enumerate(examples):
        for aspect, ratings in example.extra.get("ratings", {}).items():
            if isinstance(ratings, list | Mapping) and aspect in example.ratings:
                given.setdefault(aspect, {})[i] = ratings
    tables: dict[str, NDArray[np.float64]] = {}
    for aspect, by_example in given.items():
        first, *_ = by_example
        forms = {i: len(each) if isinstance(each, list) else "names" for i, each in by_example.items()}
        if other := next((i for i, form in forms.items() if form != forms[first]), None):
            rule = f"every line must list the ratings of {format_value(aspect)} by the same people, or name the people"
            what = f"{rule}, as line {places[first][1]} does; null if one is missing"
            raise InputError([fault(*places[other], what)])
        rows = [name_people(by_example.get(i, {})) for i in range(len(examples))]
        people = dict.fromkeys(person for row in rows for person in row)
        _check_count(places[first][0], "people who rate", len(people), MOST_RATERS)
        tables[aspect] = np.array([[to_rating(row.get(person)) for row in rows] for person in people], dtype=np.float64)
    return tables


def _read_outputs(
    file: Path,
    place: Mapping[str, int],
    of: Path,
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """The scores by aspect of a file that `judge score` wrote, a line for each id in `place`, and their signature."""
    faults: list[str] = []
    values: dict[str, NDArray[np.float64]] = {}
    first_line: dict[str, int] = {}
    for line, row in read_score_rows(file, faults):
        name = row["id"]
        repeated = check_id(name, line, first_line)
        if name not in place:
            repeated = [f"the id must be one of {of}, found {format_value(name)}"]
        faults += [fault(file, line, problem) for problem in repeated]
        for aspect, score in () if repeated else row["scores"].items():
            values.setdefault(aspect, np.full(len(place), math.nan))[place[name]] = score
    lacking = [name for name in place if name not in first_line]
    if lacking and not faults:
        what = f"{len(lacking)} of {len(place)} have none, such as {format_value(lacking[0])}"
        faults.append(fault(file, 0, f"every example of {of} needs a line, but {what}"))
    require_none((), faults)
    meta = file.with_name(f"{file.name}.meta.json")
    if not meta.is_file():
        return values, f"file {file.name}"
    ((_, found),) = check_rows([(0, read_json(meta))], meta, layout({"signature": Text}))
    return values, found["signature"]


def list_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    """One row per example: `scores` by aspect, `dropped_tokens`, perhaps `reason` (of a null) and `explanation`."""
    columns = {aspect: _list_numbers(values) for aspect, values in scores.values.items()}
    for i, dropped in enumerate(scores.dropped_tokens):
        numbers = {aspect: column[i] for aspect, column in columns.items()}
        row: dict[str, Any] = {"scores": numbers, "dropped_tokens": dropped}
        if None in numbers.values():
            row["reason"] = scores.reasons[i]
        if scores.explanations:
            row["explanation"] = scores.explanations[i]
        yield row


def _list_numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def score_records(
    examples: Iterable[Example], rows: Mapping[str, Iterable[Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """The lines that `judge score` writes: what the line of each example held, and its rows by metric, joined."""
    for example, *own in zip(examples, *rows.values(), strict=True):
        joined = own[0] if len(own) == 1 else join_rows(dict(zip(rows, own, strict=True)))
        yield {**to_record(example), **joined}


def join_rows(by_metric: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The row of an example with the scores of several metrics.

    A score has the name of its metric, or `metric/aspect` if the metric has several aspects. `dropped_tokens` is the
    largest number of any metric; reasons and explanations name their metric.

    >>> join_rows({"a": {"scores": {"quality": 0.5}, "dropped_tokens": 0},
    ...            "b": {"scores": {"x": None, "y": 2.0}, "dropped_tokens": 3, "reason": "blank"}})
    {'scores': {'a': 0.5, 'b/x': None, 'b/y': 2.0}, 'dropped_tokens': 3, 'reason': 'b: blank'}
    """
    numbers = {
        join_name(name, aspect, record["scores"]): score
        for name, record in by_metric.items()
        for aspect, score in record["scores"].items()
    }
    dropped = max(row["dropped_tokens"] for row in by_metric.values())
    joined: dict[str, Any] = {"scores": numbers, "dropped_tokens": dropped}
    if reasons := [f"{name}: {record['reason']}" for name, record in by_metric.items() if "reason" in record]:
        joined["reason"] = "; ".join(reasons)
    if given := {name: record["explanation"] for name, record in by_metric.items() if "explanation" in record}:
        joined["explanation"] = given
    return joined


def join_name(
    metric: str,
    aspect: str,
    aspects: Collection[str],
) -> str:
    """The name of one of the aspects of a metric, among the scores of several metrics."""
    return metric if len(aspects) == 1 else f"{metric}/{aspect}"


def encode_scores(scores: Scores) -> str:
    """Scores as a line of JSON, without their signature."""
    values = {aspect: _list_numbers(each) for aspect, each in scores.values.items()}
    named = {name: getattr(scores, name) for name in ("reasons", "dropped_tokens", "explanations", "notes")}
    return json_line({"values": values, **named})


def decode_scores(line: str) -> Scores:
    """The scores of a line that `encode_scores` wrote."""
    found = json.loads(line)
    values = {aspect: np.array(each, np.float64) for aspect, each in found.pop("values").items()}
    return Scores(values, "", **found)


def write_score_rows(
    records: Iterable[Mapping[str, Any]],
    path: Path,
    aspects: Sequence[str],
    extra: Sequence[str],
) -> None:
    """Writes records to `path` in the form of its suffix, one of `WRITTEN`, under a temporary name until it is whole.

    A CSV or TSV file has the columns `id`, `extra`, `scores.ASPECT`, `dropped_tokens`, `reason` and `explanation` (as
    JSON).
    """
    with open_atomically(path) as file:
        if path.suffix.lower() not in DELIMITERS:
            file.writelines(map(json_line, records))
            return
        write = row_writer(file, DELIMITERS[path.suffix.lower()])
        write(["id", *extra, *(f"{SCORE}{aspect}" for aspect in aspects), *OUTPUT])
        for row in records:
            scores = [row["scores"].get(aspect) for aspect in aspects]
            before, after = ([to_cell(row.get(name)) for name in names] for names in (extra, OUTPUT))
            write([row["id"], *before, *scores, *after])


def read_score_rows(path: Path, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The ids and scores of the valid rows with their lines; adds a fault to `faults` for every broken rule."""
    file = InputFile(path)
    for line, row in read_objects(file, faults):
        if file.form in DELIMITERS:
            row, *_ = read_cells({n: cell for n, cell in row.items() if n == "id" or n.startswith(SCORE)}, (), True)
        yield from ((line, dict(found)) for line, found in check_records(path, [(line, row)], SCORE_ROW, faults))
