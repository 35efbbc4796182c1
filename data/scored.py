"""Scores in files: reads and writes the files of `judge score`, and reads examples with scores of any metrics."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError, SettingError, fault, format_value, read_all, setting
from core.example import Example, hint_column
from core.scores import Scores
from data.cells import json_line, read_cells
from data.columns import MOST_COLUMNS, OUTPUT, SCORE
from data.files import iterate_rows, to_record
from data.input_file import FORMS, FileLike, InputFile, read_objects
from data.rater_rows import join_rater_rows
from data.records import Rating, Text, check_id, check_records, check_rows, layout, name_people, require_none, to_rating
from data.table_files import DELIMITERS, TABLES, row_writer, to_cell
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


# a row of a file that `judge score` wrote, as far as it is read
SCORE_ROW = layout({"id": Text, "scores": Mapping[Text, Rating | None]})


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
    names = dict.fromkeys(name for _, _, by_name in rows for name in by_name)
    _check_count(file.path, "metrics in scores", len(names), MOST_COLUMNS)
    aspects = {aspect for example in examples for aspect in example.ratings}
    _check_count(file.path, "aspects of ratings", len(aspects), MOST_COLUMNS)
    own_scores: dict[str, Scores] = {}
    for name in names:
        values = [by_name.get(name) for _, _, by_name in rows]
        own_scores[name] = mark_missing(values, f"{name}|scores in {file.path.name}")
    places = tuple((file.path, line) for line, _, _ in rows)
    source = replace(file, records=list(map(to_record, examples))) if joined else file
    scored_file = ScoredFile(
        file.path.name,
        examples,
        own_scores,
        places=places,
        raters=_list_raters(places, examples),
        notes=(*file.notes, *joined),
        source=source,
    )
    return add_outputs(scored_file, scores or {})


def read_systems(
    systems: Sequence[str],
    path: FileLike | None = None,
    text: Path | str | None = None,
    **settings: Any,
) -> ScoredFile:
    """Reads the outputs of several systems, one file each, given as `NAME=FILE`. Groups, or else ids, name the inputs.

    A file with a suffix that `read_scored` does not read has one text per line; line i of each file answers input i.
    """
    names, files = _split_systems(systems)
    are_named = all(name.strip() and file for name, file in zip(names, files, strict=True))
    if path is not None or text is not None or not are_named:
        raise SettingError(
            f"{setting('systems')} must be NAME=FILE for each system, without {setting('path')}, found {list(systems)}"
        )
    inputs = [_open_system(file, settings) for file in files]
    beside = tuple(file for file in inputs if file.form != "lines")
    parts = read_all([partial(read_scored, replace(file, beside=beside)) for file in inputs])
    for part in parts:
        if part.raters:
            rule = "ratings of several people need one file with all systems"
            raise InputError([fault(part.source.path, 0, rule)])
    examples: list[Example] = []
    for name, part in zip(names, parts, strict=True):
        examples += [_name_output(example, name) for example in part.examples]
    file_names = [part.name for part in parts]
    return ScoredFile(
        " ".join(file_names),
        tuple(examples),
        _join_scores(parts),
        places=tuple(chain.from_iterable(part.places for part in parts)),
        notes=tuple(dict.fromkeys(chain.from_iterable(part.notes for part in parts))),
        source=replace(inputs[0], aligned=(), records=list(map(to_record, examples))),
    )


def _split_systems(systems: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names and the files of `NAME=FILE`."""
    pairs = [system.partition("=") for system in systems]
    names = [name for name, _, _ in pairs]
    files = [file for _, _, file in pairs]
    return names, files


def _open_system(file: str, settings: Mapping[str, Any]) -> InputFile:
    """The outputs of one system: rows where the suffix says so, else a text per line."""
    suffixes = (*FORMS, ".eval")
    has_rows = Path(file).is_dir() or file.lower().removesuffix(".gz").endswith(suffixes)
    if has_rows:
        return InputFile.of(file, text=None, **settings)
    return InputFile.of(None, text=file, **settings)


def _name_output(example: Example, system: str) -> Example:
    return replace(
        example,
        id=f"{system}-{example.id}",
        system=system,
        group=example.group or example.id,
    )


def _join_scores(parts: Sequence[ScoredFile]) -> dict[str, Scores]:
    """The scores of all parts by metric, NaN if a part has none."""
    joined: dict[str, Scores] = {}
    files = ", ".join(part.name for part in parts)
    for metric in dict.fromkeys(metric for part in parts for metric in part.scores):
        columns = []
        for part in parts:
            has_metric = metric in part.scores
            columns.append(part.values(metric, "") if has_metric else np.full(len(part), np.nan))
        joined[metric] = mark_missing(np.concatenate(columns), f"{metric}|scores in {files}")
    return joined


def _check_count(
    path: Path,
    what: str,
    n: int,
    most: int,
) -> None:
    if n > most:
        raise InputError([fault(path, 0, f"a file must have at most {most:,} {what}, found {n:,}")])


def add_outputs(file: ScoredFile, scores: Mapping[str, Path | str]) -> ScoredFile:
    """Adds scores, by name, from files that `judge score` wrote for these examples.

    Raises InputError for a faulty file.
    """
    for name, output in scores.items():
        if not isinstance(output, Path | str):
            raise SettingError(f"scores.{name} must be one file, found {output}")
    path = file.source.path
    place = {example.id: i for i, example in enumerate(file.examples)}
    outputs = read_all([partial(_read_outputs, Path(output), place, path) for output in scores.values()])
    joined = dict(file.scores)
    for name, (values, signature) in zip(scores, outputs, strict=True):
        for aspect, column in values.items():
            full_name = join_name(name, aspect, values)
            if full_name in joined:
                rule = f"a metric must have one score, but {full_name} is in scores.{name} too"
                raise InputError([fault(path, 0, rule)])
            joined[full_name] = mark_missing(column, signature)
    return replace(file, scores=joined)


def mark_missing(values: Sequence[float | None] | NDArray[np.float64], signature: str) -> Scores:
    """Makes Scores from given values; a missing value becomes NaN with a reason.

    The signature has a hash of the values.
    """
    column = np.asarray(values, dtype=np.float64)
    digits = sha256(column.tobytes()).hexdigest()[:16]
    signature = f"{signature}|values={digits}"
    reasons = ["the file has no score" if missing else None for missing in np.isnan(column)]
    return Scores({"score": column}, signature, reasons)


def _list_raters(places: Sequence[tuple[Path, int]], examples: Sequence[Example]) -> dict[str, NDArray[np.float64]]:
    """By aspect that several people rated, the ratings of each person."""
    by_aspect: dict[str, dict[int, Any]] = {}  # aspect -> index of the example -> ratings
    for i, example in enumerate(examples):
        for aspect, ratings in example.extra.get("ratings", {}).items():
            if isinstance(ratings, list | Mapping) and aspect in example.ratings:
                by_aspect.setdefault(aspect, {})[i] = ratings
    tables: dict[str, NDArray[np.float64]] = {}
    for aspect, by_example in by_aspect.items():
        _refuse_mixed_people(aspect, by_example, places)
        rows = [name_people(by_example.get(i, {})) for i in range(len(examples))]
        people = dict.fromkeys(person for row in rows for person in row)
        path, _ = places[next(iter(by_example))]
        _check_count(path, "people who rate", len(people), MOST_RATERS)
        columns = []
        for person in people:
            columns.append([to_rating(row.get(person)) for row in rows])
        tables[aspect] = np.array(columns, dtype=np.float64)
    return tables


def _refuse_mixed_people(
    aspect: str,
    by_example: Mapping[int, Any],
    places: Sequence[tuple[Path, int]],
) -> None:
    """Raises InputError if lists of ratings have different lengths, or only some lines name the people."""
    forms = {i: len(ratings) if isinstance(ratings, list) else "names" for i, ratings in by_example.items()}
    first = next(iter(forms))
    for i, form in forms.items():
        if form != forms[first]:
            _, first_line = places[first]
            path, line = places[i]
            rule = f"every line must list the ratings of {format_value(aspect)} by the same people, or name the people"
            what = f"{rule}, as line {first_line} does; null if one is missing"
            raise InputError([fault(path, line, what)])


def _read_outputs(
    file: Path,
    place: Mapping[str, int],
    examples_path: Path,
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """The scores by aspect of a file that `judge score` wrote, a line for each id in `place`, and their signature."""
    faults: list[str] = []
    values: dict[str, NDArray[np.float64]] = {}
    first_line: dict[str, int] = {}
    for line, row in read_score_rows(file, faults):
        name = row["id"]
        problems = check_id(name, line, first_line)
        if name not in place:
            problems = [f"the id must be one of {examples_path}, found {format_value(name)}"]
        if problems:
            faults += [fault(file, line, problem) for problem in problems]
            continue
        for aspect, score in row["scores"].items():
            column = values.setdefault(aspect, np.full(len(place), math.nan))
            column[place[name]] = score
    missing = [name for name in place if name not in first_line]
    if missing and not faults:
        what = f"{len(missing)} of {len(place)} have none, such as {format_value(missing[0])}"
        faults.append(fault(file, 0, f"every example of {examples_path} needs a line, but {what}"))
    require_none((), faults)
    meta = file.with_name(f"{file.name}.meta.json")
    if not meta.is_file():
        return values, f"file {file.name}"
    ((_, described),) = check_rows([(0, read_json(meta))], meta, layout({"signature": Text}))
    return values, described["signature"]


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


def _list_numbers(values: NDArray[np.float64]) -> list[float | None]:
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


def join_name(
    metric: str,
    aspect: str,
    aspects: Collection[str],
) -> str:
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


def write_score_rows(
    records: Iterable[Mapping[str, Any]],
    path: Path,
    aspects: Sequence[str],
    extra: Sequence[str],
) -> None:
    """Writes records to `path` in the form of its suffix (`WRITTEN`), under a temporary name until it is complete.

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
            before = [to_cell(row.get(name)) for name in extra]
            after = [to_cell(row.get(name)) for name in OUTPUT]
            write([row["id"], *before, *scores, *after])


def read_score_rows(path: Path, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the valid rows (id and scores) with their line numbers; adds a fault to `faults` for every broken rule."""
    file = InputFile(path)
    for line, row in read_objects(file, faults):
        if file.form in TABLES:
            cells = {name: cell for name, cell in row.items() if name == "id" or name.startswith(SCORE)}
            row, *_ = read_cells(cells, (), is_table=True)
        for _, record in check_records(path, [(line, row)], SCORE_ROW, faults):
            yield line, dict(record)
