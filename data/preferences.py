"""Preferences in files: which of two systems' outputs for an input is preferred, one judgement per line."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.faults import fault, format_value, read_all, suggestion
from data.files import FORMS, InputFile, read_objects
from data.records import Record, Text, check_records, require_none
from data.scored import ScoredFile, place_outputs, read_scored
from data.table_files import DELIMITERS
from data.text_files import form_of
from meta_eval.preferences import Preferences

WINS = {"a": 1.0, "b": 0.0, "tie": 0.5, "model_a": 1.0, "model_b": 0.0, "tie (bothbad)": 0.5}  # in any case
ARENA = {"model_a": "system_a", "model_b": "system_b"}  # names of columns in files of chatbot arenas
NEEDED = ("system_a", "system_b", "winner")


class PreferenceRecord(Record):
    """A judgement as a file holds it."""

    id: Text | None = None
    group: Text | None = None
    system_a: Text
    system_b: Text
    winner: Text
    rater: Text | None = None


def read_preferences(path: Path | str) -> Preferences:
    """The judgements of a .jsonl, .csv, .tsv (each also .gz) or .parquet file; other keys are ignored.

    A line has `group` (else `id`), the input; `system_a` and `system_b` (or `model_a` and `model_b`); `winner`, the
    name of one of them, or `a`, `b` or `tie` (or what `WINS` lists); and `rater` where several people judged.

    Raises InputFaults with all faults of the file as `file:line: what is wrong, what was found`.
    """
    path, faults = Path(path), list[str]()
    is_table = form_of(path, FORMS) in DELIMITERS
    located = read_objects(InputFile(path), faults, _check_header)
    rows = ((line, {name: cell for name, cell in row.items() if cell or not is_table}) for line, row in located)
    return check_preferences(path, rows, faults)


def check_preferences(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]], faults: list[str]) -> Preferences:
    """The judgements of numbered rows; raises InputFaults for `faults` and all that are found here."""
    found: list[tuple[str, PreferenceRecord, float]] = []
    unknown: list[tuple[int, PreferenceRecord]] = []
    renamed = ((line, {**{ARENA.get(name, name): cell for name, cell in row.items()}, **row}) for line, row in rows)
    for line, record in check_records(path, renamed, PreferenceRecord, faults):
        name, systems = record.group or record.id, (record.system_a, record.system_b)
        by_name = {record.system_b: 0.0, record.system_a: 1.0}  # the name of a system comes before a and b
        outcome = by_name.get(record.winner, WINS.get(record.winner.lower()))
        problems = []
        if name is None:
            problems.append('"group" or "id" is needed: the input that both systems answer')
        if systems[0] == systems[1]:
            problems.append(f"two systems must be compared, found {format_value(systems[0])} twice")
        if "tie" in systems:
            problems.append('no system may be called "tie"')
        faults += [fault(path, line, problem) for problem in problems]
        if outcome is None:
            unknown.append((line, record))
        elif not problems:
            found.append((str(name), record, outcome))
    if unknown:
        line, record = unknown[0]
        systems = (record.system_a, record.system_b)
        rule = f'"winner" must be {format_value(systems[0])}, {format_value(systems[1])}, "a", "b" or "tie"'
        more = f" (the first of {len(unknown)} lines with another winner)" if len(unknown) > 1 else ""
        shown = f"found {format_value(record.winner)}{suggestion(record.winner, systems)}"
        faults.append(fault(path, line, f"{rule}, {shown}{more}"))
    if not found and not faults:
        faults.append(fault(path, 0, "the file needs at least one judgement, but has only a header"))
    require_none((), faults)
    return Preferences(
        name=path.name,
        inputs=tuple(name for name, _, _ in found),
        systems_a=tuple(record.system_a for _, record, _ in found),
        systems_b=tuple(record.system_b for _, record, _ in found),
        outcomes=np.array([outcome for _, _, outcome in found]),
        raters=tuple(record.rater for _, record, _ in found),
    )


def _check_header(header: list[str]) -> tuple[list[str], bool]:
    lacking = [name for name in NEEDED if name not in {ARENA.get(each, each) for each in header}]
    lacking += [] if {"id", "group"} & set(header) else ["group"]
    rule = "the header needs a column"
    return [f"{rule} {format_value(name)}, found {format_value(header)}" for name in lacking], not lacking


def read_judged(
    path: Path | str,
    outputs: Path | str | None = None,
    scores: Mapping[str, Any] | None = None,
    judge: str | None = None,
) -> tuple[Preferences | None, ScoredFile | None]:
    """The preferences in `path` and the systems' outputs; with a judge but without `outputs`, `path` holds these.

    `path` has preferences, or outputs that `judge`, the name of what gives preferences, compares. `outputs` are
    examples with `system` and `group`, and `scores` are theirs, as in `read_scored`.

    Raises InputFaults with all faults of both files.
    """
    asks = judge is not None and outputs is None
    texts = path if asks else outputs
    given, scored = read_all(
        [
            lambda: None if asks else read_preferences(path),
            lambda: None if texts is None else _read_outputs(texts, scores),
        ]
    )
    return given, scored


def _read_outputs(path: Path | str, scores: Mapping[str, Any] | None) -> ScoredFile:
    found = read_scored(path, scores)
    place_outputs(found)
    return found
