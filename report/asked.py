"""What a judge was asked about pairs of outputs, and what it answered: lines that `judge prefer` reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.preferences import ANSWERS
from data.text_files import open_atomically
from meta_eval.design import Floats
from meta_eval.preferences import PairAnswer, Preferences, Verdicts
from meta_eval.scored_set import ScoredSet
from report.results import encode_json
from report.wording import format_number

CONTEXT = ("context", "prefix", "label")  # of an example, that a reader needs beside its text
DIGITS = 6  # of verdicts
WORDS = {1.0: "system_a", 0.0: "system_b"}  # the field that names the winner of an outcome
Line = Mapping[str, Any]  # what was asked about a pair, and what was answered, as JSON values


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
    outcomes = verdicts.outcomes
    lines: list[Line] = []
    for pair, answers in by_pair.items():
        systems = {"system_a": pairs.systems_a[pair], "system_b": pairs.systems_b[pair]}
        group = pairs.inputs[pair]
        first, second = (outputs.examples[places[system, group]] for system in systems.values())
        line = {
            "group": group,
            **systems,
            "winner": name_winner(float(outcomes[pair]), systems),
            "rater": verdicts.name,
            "people": name_winner(float(people[pair]), systems),
            **{name: getattr(first, name) or None for name in CONTEXT},
            "text_a": first.full_text,
            "text_b": second.full_text,
            ANSWERS: [record_answer(answer, systems) for answer in answers],
        }
        lines.append({name: value for name, value in line.items() if value is not None})
    return lines


def record_answer(answer: PairAnswer, systems: Mapping[str, str]) -> dict[str, Any]:
    """Returns an answer about a pair in one order, with its question, as JSON values.

    The verdict is 1 if the output that was shown first is better, 0 if the second is better, or a value between.
    """
    return {
        "judge": answer.judge,
        "about": f"{systems['system_b' if answer.is_reversed else 'system_a']} first",
        "verdict": to_number(answer.first),
        "answer": answer.answer,
        "reason": answer.reason,
        "question": answer.question,
    }


def to_number(value: float) -> float | None:
    """Rounds a number for JSON; None for NaN."""
    return None if math.isnan(value) else round(float(value), DIGITS)


def name_winner(outcome: float, systems: Mapping[str, str]) -> str | float | None:
    """Names a winner as files of preferences do: a system, a tie, or the probability of system a; None for NaN."""
    if outcome in WORDS:
        return systems[WORDS[outcome]]
    return "tie" if outcome == 0.5 else to_number(outcome)


def sort_pairs(lines: Sequence[Line]) -> list[Line]:
    """Lists the pairs, those first where the judge is farthest from people; last where one says nothing."""
    return sorted(lines, key=lambda line: -measure_gap(line))


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


def write_answers(lines: Sequence[Line], path: Path) -> None:
    """Writes a file with a line for each pair, if a judge was asked."""
    if lines:
        with open_atomically(path) as file:
            file.writelines(map(encode_json, lines))
