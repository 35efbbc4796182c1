"""Scored files: examples with ratings and with the scores of any metrics."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from data.files import iterate_examples, located_examples
from data.records import List, Record, String, Text, list_problems, require_none
from data.score_files import read_score_rows


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


class MetaRecord(Record):
    """What stands beside a file that `+exp=score` wrote."""

    signature: Text


@dataclass
class _Line:
    """The scores of a line by metric, and the ratings of its raters by aspect."""

    scores: dict[str, float] = field(default_factory=dict)
    raters: dict[str, list[float]] = field(default_factory=dict)


def read_scored(path: Path | str, scores: Mapping[str, Path | str | Sequence[Path | str]] | None = None) -> ScoredFile:
    """Reads a .jsonl, .csv or .tsv file of examples whose lines may have `scores`, from metric to number or null.

    A CSV or TSV file has a column `scores.NAME` per metric. In JSONL several people may rate an aspect: the rating is
    then a list with one number or null per person, in the same order on every line.

    Args:
        path: the file.
        scores: files with more scores by name, which `+exp=score` wrote for the same examples: one file, or several
            with the same signature that have a part of the examples each (a system).

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
        outputs = read_all([partial(_read_outputs, name, _paths(files), ids, of) for name, files in scores.items()])
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


def iterate_unscored(path: Path | str) -> Iterator[tuple[int, Example]]:
    """As `iterate_examples`, for any file that `read_scored` reads: its scores are checked and left out."""
    return iterate_examples(path, take=lambda _, record: _take(_Line(), record))


def _paths(files: Path | str | Sequence[Path | str]) -> list[Path]:
    return [Path(files)] if isinstance(files, Path | str) else [Path(file) for file in files]


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


def _read_outputs(
    name: str, files: Sequence[Path], ids: list[str], of: Path
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """The scores by aspect of files that `+exp=score` wrote, in the order of `ids`, and their signature.

    Together the files must have one line per id, and one signature.
    """
    faults: list[str] = []
    place = {name: i for i, name in enumerate(ids)}
    values: dict[str, NDArray[np.float64]] = {}
    source: dict[str, Path] = {}
    for file in files:
        for line, record in read_score_rows(file, faults):
            if record.id not in place:
                faults.append(fault(file, line, f"the id must be one of {of}, found {shown(record.id)}"))
            elif (earlier := source.setdefault(record.id, file)) != file:
                faults.append(
                    fault(file, line, f"ids must be unique, but {shown(record.id)} is an id of {earlier} too")
                )
            else:
                for aspect, score in record.scores.items():
                    column = values.setdefault(aspect, np.full(len(ids), math.nan))
                    column[place[record.id]] = math.nan if score is None else score
    lacking = [name for name in ids if name not in source]
    if lacking and not faults:
        found = f"{len(lacking)} of {len(ids)} have none, such as {shown(lacking[0])}"
        faults.append(fault(files[-1], 0, f"every example of {of} needs a line, but {found}"))
    require_none((), faults)
    if len(files) == 1:
        return values, _read_signature(files[0]) or f"file {files[0].name}"
    signatures = [_read_signature(file) for file in files]
    for file, signature in zip(files, signatures, strict=True):
        if signature is None:
            rule = f"a file that is one of several of scores.{name} needs its signature"
            faults.append(fault(file, 0, f"{rule}, but there is no {file}.meta.json"))
        elif signatures[0] not in (None, signature):
            rule = f"the files of scores.{name} must have one signature"
            found = f"this one has {signature} and {files[0]} has {signatures[0]}"
            faults.append(fault(file, 0, f"{rule}, but {found}: score all texts with the same settings"))
    require_none((), faults)
    return values, str(signatures[0])


def _read_signature(file: Path) -> str | None:
    """The signature beside a file that `+exp=score` wrote, or None if there is none."""
    meta = file.with_name(f"{file.name}.meta.json")
    if not meta.is_file():
        return None
    try:
        return MetaRecord.model_validate_json(meta.read_bytes()).signature
    except ValidationError:
        raise InputFaults([fault(meta, 0, 'must be JSON with "signature", as +exp=score writes it')]) from None
