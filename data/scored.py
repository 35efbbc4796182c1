"""Scored files: examples with ratings, and the scores that metrics gave them, ours or anyone's."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.faults import InputFaults, fault, read_all, shown
from data.files import located_examples, numbered_lines, read_text


@dataclass(frozen=True)
class ScoredFile:
    """The examples of a file and the scores of metrics, in the order of the file.

    Attributes:
        path: the file.
        examples: with ratings; where several people rated an aspect, the mean of their ratings.
        lines: the line of each example.
        scores: by metric, or `metric/aspect`, of shape (n,); NaN where there is none.
        signatures: what made the scores, by metric, for those that a file of `+exp=score` names.
        raters: by aspect, the ratings of each person, of shape (raters, n); NaN where there is none. Only aspects with
            lists of ratings.
    """

    path: Path
    examples: tuple[Example, ...]
    lines: tuple[int, ...]
    scores: Mapping[str, NDArray[np.float64]]
    signatures: Mapping[str, str]
    raters: Mapping[str, NDArray[np.float64]]


def read_scored(path: Path | str, scores: Mapping[str, Path | str] | None = None) -> ScoredFile:
    """Reads a .jsonl, .csv or .tsv file of examples whose lines may have `scores`, from metric to number or null.

    A CSV or TSV has a column `scores.NAME` per metric. In JSONL an aspect may be rated by several people: a list of
    numbers, null where a person did not rate, in the same order of persons on every line.

    Args:
        path: the file.
        scores: more scores, by name: files that `+exp=score` wrote for the same examples.

    Raises InputFaults with all faults as `file:line: what is wrong, what was found`.
    """
    path = Path(path)
    by_line: dict[int, dict[str, float]] = {}
    rated: dict[int, dict[str, list[float]]] = {}

    def take(line: int, record: dict[str, Any]) -> list[str]:
        by_line[line], problems = _scores(record.pop("scores", None))
        rated[line], more = _lists(record)
        return problems + more

    located = located_examples(path, take=take)
    lines = tuple(line for line, _ in located)
    examples = tuple(example for _, example in located)
    names = dict.fromkeys(name for line in lines for name in by_line[line])
    found = {name: np.array([by_line[line].get(name, math.nan) for line in lines]) for name in names}
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
    return ScoredFile(path, examples, lines, found, signatures, _raters(path, lines, rated))


def _scores(value: object) -> tuple[dict[str, float], list[str]]:
    """The scores of a line, NaN for null, and what is wrong with them."""
    if value is None:
        return {}, []
    if not isinstance(value, Mapping):
        return {}, [f'"scores" must be an object of metrics and numbers, found {shown(value)}']
    found, problems = {}, []
    for name, score in value.items():
        if not name.strip():
            problems.append('a metric of "scores" needs a name, found a blank one')
        elif score is None:
            found[name] = math.nan
        elif isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            problems.append(f"the score {shown(name)} must be a finite number or null, found {shown(score)}")
        else:
            found[name] = float(score)
    return found, problems


def _lists(record: dict[str, Any]) -> tuple[dict[str, list[float]], list[str]]:
    """The lists of ratings of a line, put as their mean into the record, and what is wrong with them."""
    ratings = record.get("ratings")
    if not isinstance(ratings, Mapping):
        return {}, []
    found, problems, means = {}, [], dict(ratings)
    for aspect, values in ratings.items():
        if not isinstance(values, list):
            continue
        given = [value for value in values if value is not None]
        wrong = [v for v in given if isinstance(v, bool) or not isinstance(v, int | float) or not math.isfinite(v)]
        del means[aspect]
        if wrong:
            problems.append(f"the ratings {shown(aspect)} must be finite numbers or null, found {shown(wrong[0])}")
        elif given:
            means[aspect] = sum(given) / len(given)
            found[aspect] = [math.nan if value is None else float(value) for value in values]
    record["ratings"] = means
    return found, problems


def _raters(
    path: Path, lines: tuple[int, ...], rated: Mapping[int, dict[str, list[float]]]
) -> dict[str, NDArray[np.float64]]:
    tables: dict[str, NDArray[np.float64]] = {}
    for aspect in dict.fromkeys(aspect for line in lines for aspect in rated[line]):
        lengths = {len(rated[line][aspect]): line for line in reversed(lines) if aspect in rated[line]}
        if len(lengths) > 1:
            (one, first), (other, second) = sorted(lengths.items(), key=lambda item: item[1])[:2]
            rule = f"every line must list the same people's ratings of {shown(aspect)}, null where one is missing"
            raise InputFaults([fault(path, second, f"{rule}, found {other} ratings and {one} in line {first}")])
        (raters,) = lengths
        nothing = [math.nan] * raters
        tables[aspect] = np.array([rated[line].get(aspect, nothing) for line in lines]).T
    return tables


def _read_output(file: Path, ids: list[str], of: Path) -> tuple[dict[str, NDArray[np.float64]], str]:
    """The scores of a file that `+exp=score` wrote, by aspect in the order of `ids`, and its signature."""
    faults: list[str] = []
    place = {name: i for i, name in enumerate(ids)}
    values: dict[str, NDArray[np.float64]] = {}
    seen: set[str] = set()
    for line, content in numbered_lines(read_text(file, faults)):
        try:
            record = json.loads(content)
        except (ValueError, RecursionError) as error:
            faults.append(fault(file, line, f"a line must be JSON, but {error}"))
            continue
        name = record.get("id") if isinstance(record, dict) else None
        if not isinstance(name, str) or not isinstance(record.get("scores"), Mapping):
            faults.append(
                fault(file, line, f'a line needs "id" and "scores", as +exp=score writes them, found {shown(record)}')
            )
        elif name not in place:
            faults.append(fault(file, line, f"the id must be one of {of}, found {shown(name)}"))
        elif name in seen:
            faults.append(fault(file, line, f"ids must be unique, found {shown(name)} again"))
        else:
            seen.add(name)
            scores, problems = _scores(record["scores"])
            faults += [fault(file, line, problem) for problem in problems]
            for aspect, score in scores.items():
                values.setdefault(aspect, np.full(len(ids), math.nan))[place[name]] = score
    lacking = [name for name in ids if name not in seen]
    if lacking and not faults:
        found = f"{len(lacking)} of {len(ids)} have none, such as {shown(lacking[0])}"
        faults.append(fault(file, 0, f"every example of {of} needs a line, but {found}"))
    if faults:
        raise InputFaults(faults)
    meta = file.with_name(f"{file.name}.meta.json")
    signature = json.loads(meta.read_text(encoding="utf-8"))["signature"] if meta.is_file() else f"file {file.name}"
    return values, signature
