"""Labels of people on judged pairs: read from a separate file, joined to the verdicts, or drawn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InputError, SettingError, fault
from data.cells import list_items, to_value
from data.columns import find_column, find_rater, names_rater
from data.input_file import InputFile, read_objects
from data.label_columns import find_key
from data.numeric import is_missing, name_of
from data.preferences import check_preferences, names_pair, read_preferences
from judge.people import describe_matches, show_names
from meta_eval.design import Floats
from meta_eval.preferences import JUDGE, Preferences
from report.wording import join_names

LABELS = Path("human_labels")  # names rows in memory in messages
WINNER = "winner"
LABELS_RULE = "human_labels must be in a file, a list of rows or a DataFrame"


def read_pair_labels(source: Any, judged: Preferences) -> Preferences:
    """Reads people's preferences for some judged pairs from a file, rows or a DataFrame.

    Rows may name both systems, as the rows of verdicts do. Rows without systems have the id of a judged pair, or of an
    input with one pair, and one column with the winner: a system, or a, b or tie with the sides of the verdict. Raises
    InputError for faults of the file, SettingError if it is unclear which column has the winner.
    """
    if isinstance(source, Preferences):
        return source
    if isinstance(source, str | Path | InputFile):
        file = InputFile.of(source)
    else:
        file = replace(InputFile.of(LABELS), records=_list_rows(source))
    if file.tool_file is not None:
        return read_preferences(file)
    faults: list[str] = []
    rows = [*read_objects(file, faults)]
    if faults or not rows or names_pair(rows[0][1]):
        return read_preferences(file)  # which names the faults
    completed, lost = _name_systems(file.path, rows, judged)
    labels = check_preferences(file.path, completed, [])
    if not lost:
        return labels
    note = f"{file.path.name}: labels without a verdict: {show_names(lost)}"
    return replace(labels, notes=(*labels.notes, note))


def _list_rows(source: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for row in list_items(source, LABELS_RULE):
        if not isinstance(row, Mapping):
            raise SettingError(LABELS_RULE)
        records.append({str(name): to_value(cell) for name, cell in row.items()})
    return records


def _name_systems(
    path: Path,
    rows: Sequence[tuple[int, Mapping[str, Any]]],
    judged: Preferences,
) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """The rows with the input and the systems of the judged pair that they name, and the names of no pair."""
    header = [*dict.fromkeys(name for _, row in rows for name in row)]
    key = find_key(header)
    if key is None:
        key = find_column(header, "group")
    if key is None:
        rule = "labels need the systems (system_a, system_b), or a column with the ids of the judged pairs, such as id"
        raise InputError([fault(path, 0, f"{rule}, found {', '.join(header)}")])
    winner = _find_winner(path, [name for name in header if name != key])
    rater = find_rater(header)
    places = _place_pairs(judged)
    completed: list[tuple[int, dict[str, Any]]] = []
    lost: list[str] = []
    for line, row in rows:
        name = str(name_of(row.get(key)))
        if name not in places:
            lost.append(name)
            continue
        i = places[name]
        label = row.get(winner)
        raters = {} if rater is None or not row.get(rater) else {"rater": row[rater]}
        labelled = {
            "group": judged.inputs[i],
            "system_a": judged.systems_a[i],
            "system_b": judged.systems_b[i],
            **raters,
            WINNER: None if is_missing(label) else label,
        }
        completed.append((line, labelled))
    if not completed:
        shown = f"{show_names(lost)} there and {show_names([*places])} in {judged.name}"
        raise InputError([fault(path, 0, f"labels must have ids of judged pairs, but none matches: {shown}")])
    return completed, lost


def _find_winner(path: Path, header: Sequence[str]) -> str:
    """The column that has the winner: `winner`, or the only one beside ids and raters."""
    others = [name for name in header if not names_rater(name)]
    winner = find_column(others, WINNER)
    if winner is not None:
        return winner
    if len(others) == 1:
        return others[0]
    raise SettingError(f"the labels in {path.name} need one column {WINNER}, found {join_names(others) or 'none'}")


def _place_pairs(judged: Preferences) -> dict[str, int]:
    """The judged pairs by their ids; where they have none, or ids are shared, by inputs with one pair."""
    for names in (judged.ids, judged.inputs):
        places = {name: i for i, name in enumerate(names)}
        if places and len(places) == len(judged):
            return places
    unique = [name for name in dict.fromkeys(judged.inputs) if judged.inputs.count(name) == 1]
    return {name: judged.inputs.index(name) for name in unique}


def join_pair_labels(given: Preferences, labels: Preferences) -> Preferences:
    """Returns one judgement of each pair with people's outcome, or NaN; the rater is the judge of `given`.

    Labels are joined by input and systems. Labels of pairs without a verdict are counted and named in a note. Raises
    InputError if no pair is in both.
    """
    given = given.by_majority()
    labels = labels.by_majority()
    pairs = list(zip(labels.inputs, labels.systems_a, labels.systems_b, strict=True))
    places = {key: i for i, key in enumerate(zip(given.inputs, given.systems_a, given.systems_b, strict=True))}
    outcomes: Floats = np.full(len(given), np.nan)
    lost: list[str] = []
    for (name, a, b), outcome in zip(pairs, labels.outcomes, strict=True):
        if (name, a, b) in places:
            outcomes[places[name, a, b]] = outcome
        elif (name, b, a) in places:
            outcomes[places[name, b, a]] = 1 - outcome
        else:
            lost.append(f"{a} and {b} for the input {name}")
    if len(lost) == len(pairs):
        raise InputError([fault(labels.name, 0, f"{given.name} has no verdict on {show_names(lost)}")])
    note = describe_matches(labels.name, len(pairs), lost, f"{len(given)} verdicts", by="input and systems")
    named = {rater for rater in given.raters if rater is not None}
    judge = named.pop() if len(named) == 1 else JUDGE
    judges = {judge: given.outcomes, **given.judges}
    notes = (*given.notes, *labels.notes, note)
    return replace(
        given,
        outcomes=outcomes,
        judges=judges,
        by_model=labels.by_model,
        notes=notes,
    )
