"""What judges were asked and what they answered: as lines that the verbs can read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import SettingError
from core.example import Example
from core.scores import Scores
from data.preferences import ANSWERS
from data.text_files import open_atomically
from meta_eval.design import Floats
from meta_eval.preferences import (
    PairAnswer,
    Preferences,
    Verdicts,
    settle_orders,
)
from meta_eval.scored_set import ScoredSet
from report.wording import format_number

ENDING = ".jsonl"
CONTEXT = ("context", "prefix", "label")  # of an example, that a reader needs beside its text
DIGITS = 6  # of verdicts
WORDS = {1.0: "system_a", 0.0: "system_b"}  # the field that names the winner of an outcome
Line = Mapping[str, Any]  # what was asked about a text or a pair, and what was answered, as JSON values


def record_answer(
    judge: str,
    about: str,
    verdict: float,
    answer: str | None,
    reason: str | None,
) -> dict[str, Any]:
    """Returns an answer as JSON values.

    Args:
        about: what was asked about: an aspect, or the output that was shown first.
        answer: what the judge wrote; None for a question that was not answered.
        reason: why there is no verdict, else None.
    """
    return {
        "judge": judge,
        "about": about,
        "verdict": to_number(verdict),
        "answer": answer,
        "reason": reason,
    }


def to_number(value: float) -> float | None:
    """Rounds a number for JSON; None for NaN."""
    return None if math.isnan(value) else round(float(value), DIGITS)


def leave_out_empty(fields: Line) -> dict[str, Any]:
    """Returns the fields that are not empty."""
    return {name: value for name, value in fields.items() if value not in (None, {})}


def list_context(example: Example) -> dict[str, str | None]:
    """Lists what a reader needs besides the text of an example: the input and so on."""
    return {name: getattr(example, name) or None for name in CONTEXT}


# ---- pairs ----------------------------------------------------------------------------------------------------------


def list_asked_pairs(
    pairs: Preferences,
    people: Floats,
    verdicts: Verdicts,
    outputs: ScoredSet,
    places: Mapping[tuple[str, str], int],
) -> list[Line]:
    """Lists the pairs that a judge was asked about, with the judge's answers.

    `people` has people's outcome of each pair, NaN if there is none.
    """
    by_pair: dict[int, list[PairAnswer]] = {}
    for answer in verdicts.answers:
        by_pair.setdefault(answer.pair, []).append(answer)
    outcomes = {name: settle_orders(first) for name, first in verdicts.by_judge.items()}
    (name, joint), *single = outcomes.items()
    lines: list[Line] = []
    for pair, answers in by_pair.items():
        systems = {"system_a": pairs.systems_a[pair], "system_b": pairs.systems_b[pair]}
        group = pairs.inputs[pair]
        first, second = (outputs.examples[places[system, group]] for system in systems.values())
        line = {
            "group": group,
            **systems,
            "winner": name_winner(float(joint[pair]), systems),
            "rater": name,
            "judges": {other: name_winner(float(values[pair]), systems) for other, values in single},
            "people": name_winner(float(people[pair]), systems),
            **list_context(first),
            "text_a": first.full_text,
            "text_b": second.full_text,
            ANSWERS: [record_pair_answer(answer, systems) for answer in answers],
        }
        lines.append(leave_out_empty(line))
    return lines


def record_pair_answer(answer: PairAnswer, systems: Mapping[str, str]) -> dict[str, Any]:
    """Returns an answer about a pair in one order, with the question where it was kept, as JSON values.

    The verdict is 1 if the output that was shown first is better, 0 if the second is better, or a value between.
    """
    about = f"{systems['system_b' if answer.is_reversed else 'system_a']} first"
    record = record_answer(
        answer.judge,
        about,
        answer.first,
        answer.answer,
        answer.reason,
    )
    return {**record, "question": answer.question} if answer.question else record


def name_winner(outcome: float, systems: Mapping[str, str]) -> str | float | None:
    """Names a winner as files of preferences do: a system, a tie, or the probability of system a; None for NaN."""
    if math.isnan(outcome):
        return None
    if outcome in WORDS:
        return systems[WORDS[outcome]]
    return "tie" if outcome == 0.5 else to_number(outcome)


def sort_pairs(lines: Sequence[Line]) -> list[Line]:
    """Lists the lines about pairs, those first where the judge is farthest from people; last where one says nothing."""
    return sorted((line for line in lines if "system_a" in line), key=lambda line: -measure_gap(line))


def measure_gap(line: Line) -> float:
    """Measures how far the judge is from people, from 0 to 1; -1 where one of them says nothing.

    >>> pair = {"system_a": "new", "system_b": "old", "people": "old"}
    >>> [measure_gap(pair | {"winner": winner}) for winner in ("new", "tie", 0.25)]
    [1.0, 0.5, 0.25]
    """
    outcomes = {line["system_a"]: 1.0, line["system_b"]: 0.0, "tie": 0.5}
    winners: list[Any] = [line[field] for field in ("people", "winner") if field in line]
    if len(winners) < 2:
        return -1.0
    first, second = (outcomes[winner] if isinstance(winner, str) else winner for winner in winners)
    return abs(first - second)


def describe_winner(line: Line, field: str) -> str:
    """Describes the winner in a field in words."""
    winner = line.get(field, "no verdict")
    if isinstance(winner, str):
        return winner
    likelier = line["system_a" if winner > 0.5 else "system_b"]
    return f"{likelier} ({format_number(max(winner, 1 - winner))})"


# ---- texts ----------------------------------------------------------------------------------------------------------


def list_asked_texts(scored: ScoredSet, has_own_ratings: bool) -> list[Line]:
    """Lists the texts that judges were asked about, with the judges' answers.

    With `has_own_ratings`, the lines also have the ratings of people. Ratings from a separate file of labels are left
    out, because the next study joins them again.
    """
    judges: dict[str, Scores] = {}
    for name, scores in scored.scores.items():
        if any(map(list_explained, scores.explanations)):
            judges[name] = scores
    columns = ScoredSet(scored.name, scored.examples, judges).split_aspects()
    lines: list[Line] = []
    for place, example in enumerate(scored.examples if judges else ()):
        answers: list[dict[str, Any]] = []
        for name, scores in judges.items():
            for aspect, explained in list_explained(scores.explanations[place]).items():
                verdict = float(scores.values[aspect][place])
                reason = scores.reasons[place] if math.isnan(verdict) else None
                answers.append(
                    record_answer(
                        name,
                        aspect,
                        verdict,
                        explained.get("answer"),
                        reason,
                    )
                )
        verdicts: dict[str, float | None] = {}
        for name, scores in columns.scores.items():
            (values,) = scores.values.values()
            verdicts[name] = to_number(float(values[place]))
        line = {
            "id": example.id,
            "group": example.group,
            "system": example.system,
            "text": example.full_text,
            **list_context(example),
            "ratings" if has_own_ratings else "people": dict(example.ratings),
            "scores": verdicts,
            ANSWERS: answers,
        }
        lines.append(leave_out_empty(line))
    return lines


def list_explained(explanation: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Lists, for each aspect, what a chat model answered about a text."""
    return {
        aspect: explained
        for aspect, explained in explanation.items()
        if isinstance(explained, Mapping) and {"answer", "tokens"} <= explained.keys()
    }


def are_answers(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rows are lines about texts that `write_answers` wrote."""
    has_scores = [isinstance(row.get("scores"), Mapping) for row in rows]
    has_answers = [ANSWERS in row for row in rows]
    return bool(rows) and all(has_scores) and all(has_answers)


def to_labels(rows: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Turns lines of `write_answers` into a table of verdicts: rows with an id and a column for each judge.

    Returns the rows, and the names of the judges' columns.
    """
    judges = list(dict.fromkeys(name for row in rows for name in row["scores"]))
    empty = dict.fromkeys(judges)
    labels = [{"id": row["id"], **empty, **row["scores"]} for row in rows]
    return labels, judges


# ---- files ----------------------------------------------------------------------------------------------------------


def check_answers(answers: Path | str | None) -> Path | None:
    """Returns the path for answers. Raises SettingError for another ending than .jsonl, and for a missing folder."""
    if answers is None:
        return None
    path = Path(answers)
    if path.suffix != ENDING:
        raise SettingError(f"answers must be a file that ends in {ENDING}, but is {path}")
    if not path.parent.is_dir():
        raise SettingError(f"answers must lie in a folder that exists, but {path.parent} does not")
    return path


def write_answers(lines: Sequence[Line], path: Path | None) -> tuple[Path, ...]:
    """Writes a file with a line for each text or pair.

    Returns its path; an empty tuple if there is no `path` or no judge was asked.
    """
    if path is None or not lines:
        return ()
    with open_atomically(path) as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
    return (path,)
