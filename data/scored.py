"""Scored files: examples with ratings and with the scores of any metrics."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from core.example import Example
from core.faults import InputFaults, fault, read_all, shown
from core.settings import Number
from data.files import located_examples
from data.records import List, Record, String, Text, check_id, list_problems, read_records


@dataclass(frozen=True)
class ScoredFile:
    """The examples of a file and the scores of metrics, in the order of the file.

    Attributes:
        path: the file.
        examples: with ratings; if several people rated an aspect, the rating is their mean.
        lines: the line number of each example.
        scores: by metric, or `metric/aspect`, of shape (n,); a missing score is NaN.
        signatures: the signatures of metrics whose scores come from a file of `+exp=score`.
        raters: the ratings of each person by aspect, of shape (raters, n); a missing rating is NaN. Only aspects with
            lists of ratings are here.
    """

    path: Path
    examples: tuple[Example, ...]
    lines: tuple[int, ...]
    scores: Mapping[str, NDArray[np.float64]]
    signatures: Mapping[str, str]
    raters: Mapping[str, NDArray[np.float64]]


class ScoreRecord(Record):
    """The keys of a line that are not part of its example."""

    scores: Mapping[Text, Number | None] | None = None
    ratings: Mapping[String, List[Number | None]] = {}


class OutputRecord(Record):
    """A line of a file that `+exp=score` wrote."""

    id: String
    scores: Mapping[Text, Number | None]


@dataclass
class _Line:
    """The scores of a line by metric, and the ratings of its raters by aspect."""

    scores: dict[str, float] = field(default_factory=dict)
    raters: dict[str, list[float]] = field(default_factory=dict)


def read_scored(path: Path | str, scores: Mapping[str, Path | str] | None = None) -> ScoredFile:
    """Reads a .jsonl, .csv or .tsv file of examples whose lines may have `scores`, from metric to number or null.

    A CSV or TSV file has a column `scores.NAME` per metric. In JSONL several people may rate an aspect: the rating is
    then a list with one number or null per person, in the same order on every line.

    Args:
        path: the file.
        scores: files with more scores by name, which `+exp=score` wrote for the same examples.

    Raises InputFaults with all faults as `file:line: what is wrong, what was found`.
    """
    path = Path(path)
    by_line: defaultdict[int, _Line] = defaultdict(_Line)
    located = located_examples(path, take=lambda line, record: _take(by_line[line], record))
    lines = tuple(line for line, _ in located)
    examples = tuple(example for _, example in located)
    names = dict.fromkeys(name for line in lines for name in by_line[line].scores)
    found = {name: np.array([by_line[line].scores.get(name, math.nan) for line in lines]) for name in names}
    signatures: dict[str, str] = {}
    if scores:
        ids, of = [example.id for example in examples], path
        outputs = read_all([partial(_read_output, Path(file), ids, of) for file in scores.values()])
        for name, (values, signature) in zip(scores, outputs, strict=True):
            for aspect, column in values.items():
                full = name if len(values) == 1 else f"{name}/{aspect}"
                if full in found:
                    raise InputFaults(
                        [fault(path, 0, f"a metric must have one score, but {full} is in scores.{name} too")]
                    )
                found[full] = column
                signatures[full] = signature
    return ScoredFile(
        path, examples, lines, found, signatures, _raters(path, {line: by_line[line].raters for line in lines})
    )


def _take(line: _Line, record: dict[str, Any]) -> list[str]:
    """Moves scores and lists of ratings from a record to `line`, leaves the mean ratings, and returns the problems."""
    given = {"scores": record.pop("scores", None)}
    ratings = record.get("ratings")
    if isinstance(ratings, Mapping):
        given["ratings"] = {aspect: values for aspect, values in ratings.items() if isinstance(values, list)}
        record["ratings"] = {aspect: value for aspect, value in ratings.items() if not isinstance(value, list)}
    try:
        found = ScoreRecord.model_validate(given)
    except ValidationError as error:
        return list_problems(error, given)
    line.scores = {name: math.nan if score is None else score for name, score in (found.scores or {}).items()}
    for aspect, values in found.ratings.items():
        people = [value for value in values if value is not None]
        if people:
            record["ratings"][aspect] = sum(people) / len(people)
            line.raters[aspect] = [math.nan if value is None else value for value in values]
    return []


def _raters(path: Path, rated: Mapping[int, Mapping[str, list[float]]]) -> dict[str, NDArray[np.float64]]:
    tables: dict[str, NDArray[np.float64]] = {}
    for aspect in dict.fromkeys(aspect for raters in rated.values() for aspect in raters):
        lengths = {len(raters[aspect]): line for line, raters in reversed(list(rated.items())) if aspect in raters}
        if len(lengths) > 1:
            (one, first), (other, second) = sorted(lengths.items(), key=lambda item: item[1])[:2]
            rule = f"every line must list the ratings of {shown(aspect)} by the same people, null if one is missing"
            raise InputFaults([fault(path, second, f"{rule}, found {other} ratings and {one} in line {first}")])
        nothing = [math.nan] * next(iter(lengths))
        tables[aspect] = np.array([raters.get(aspect, nothing) for raters in rated.values()]).T
    return tables


def _read_output(file: Path, ids: list[str], of: Path) -> tuple[dict[str, NDArray[np.float64]], str]:
    """The scores by aspect of a file that `+exp=score` wrote, in the order of `ids`, and its signature."""
    faults: list[str] = []
    place = {name: i for i, name in enumerate(ids)}
    values: dict[str, NDArray[np.float64]] = {}
    first_line: dict[str, int] = {}
    for line, record in read_records(file, OutputRecord, faults):
        problems = check_id(record.id, line, first_line)
        if record.id not in place:
            problems.append(f"the id must be one of {of}, found {shown(record.id)}")
        faults += [fault(file, line, problem) for problem in problems]
        if not problems:
            for aspect, score in record.scores.items():
                column = values.setdefault(aspect, np.full(len(ids), math.nan))
                column[place[record.id]] = math.nan if score is None else score
    lacking = [name for name in ids if name not in first_line]
    if lacking and not faults:
        found = f"{len(lacking)} of {len(ids)} have none, such as {shown(lacking[0])}"
        faults.append(fault(file, 0, f"every example of {of} needs a line, but {found}"))
    if faults:
        raise InputFaults(faults)
    meta = file.with_name(f"{file.name}.meta.json")
    signature = json.loads(meta.read_text(encoding="utf-8"))["signature"] if meta.is_file() else f"file {file.name}"
    return values, signature
