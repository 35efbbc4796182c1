"""What judges were asked and what they answered: as lines that the verbs can read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import SettingError
from core.example import Example
from core.scores import Scores
from data.preferences import ANSWERS
from data.text_files import open_atomically
from meta_eval.design import Floats
from meta_eval.preferences import PairAnswer, Preferences, Verdicts, settle_orders
from meta_eval.scored_set import ScoredSet
from report.wording import format_number

ENDING = ".jsonl"
SHOWN_FIELDS = ("context", "prefix", "label")  # of an example, that a reader needs beside its text
DIGITS = 6  # of verdicts
WORDS = {1.0: "system_a", 0.0: "system_b"}  # the field that names the winner of an outcome


@dataclass(frozen=True)
class Asked:
    """A text, or a pair of outputs, with all that judges answered about it."""

    # the id of the text, or the input and both systems
    name: str
    # what there is to read, by what it is
    texts: Mapping[str, str]
    # what people and judges say, in words
    people: str
    judged: str
    # how far judges are from people, larger is farther; NaN where one of them said nothing
    gap: float
    # its line in the file of answers, as JSON values
    record: Mapping[str, Any]


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
    shown = to_number(verdict)
    return {
        "judge": judge,
        "about": about,
        "verdict": shown,
        "answer": answer,
        "reason": reason,
    }


def to_number(value: float) -> float | None:
    """Rounds a number for JSON; None for NaN."""
    return None if math.isnan(value) else round(float(value), DIGITS)


def sort_by_gap(asked: Sequence[Asked]) -> list[Asked]:
    """Sorts disagreements of judges with people first, the largest gap first; all others follow in their old order."""
    return sorted(asked, key=lambda item: -np.nan_to_num(item.gap, nan=-1.0))


# ---- pairs ----------------------------------------------------------------------------------------------------------


def list_asked_pairs(
    pairs: Preferences,
    people: Floats,
    verdicts: Verdicts,
    outputs: ScoredSet,
    places: Mapping[tuple[str, str], int],
) -> list[Asked]:
    """Lists the pairs that a judge was asked about, with the judge's answers.

    `people` has people's outcome of each pair, NaN if there is none.
    """
    by_pair: dict[int, list[PairAnswer]] = {}
    for answer in verdicts.answers:
        by_pair.setdefault(answer.pair, []).append(answer)
    outcomes = {name: settle_orders(first) for name, first in verdicts.by_judge.items()}
    (name, joint), *single = outcomes.items()
    asked: list[Asked] = []
    for pair, answers in by_pair.items():
        systems = {"system_a": pairs.systems_a[pair], "system_b": pairs.systems_b[pair]}
        group = pairs.inputs[pair]
        first, second = (outputs.examples[places[system, group]] for system in systems.values())
        human = float(people[pair])
        judged = float(joint[pair])
        record = {
            "group": group,
            **systems,
            "winner": name_winner(judged, systems),
            "rater": name,
            "judges": {other: name_winner(float(values[pair]), systems) for other, values in single},
            "people": name_winner(human, systems),
            "text_a": first.full_text,
            "text_b": second.full_text,
            ANSWERS: [record_pair_answer(answer, systems) for answer in answers],
        }
        read = {systems["system_a"]: first.full_text, systems["system_b"]: second.full_text}
        asked.append(
            Asked(
                name=f"{group}: {systems['system_a']} and {systems['system_b']}",
                texts={**list_context(first), **read},
                people=describe_winner(human, systems),
                judged=describe_winner(judged, systems),
                gap=abs(human - judged),
                record=leave_out_empty(record),
            )
        )
    return asked


def leave_out_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields that are not empty."""
    return {name: value for name, value in fields.items() if value not in (None, {})}


def record_pair_answer(answer: PairAnswer, systems: Mapping[str, str]) -> dict[str, Any]:
    """Returns an answer about a pair in one order, with the question where it was kept, as JSON values.

    The verdict is 1 if the output that was shown first is better, 0 if the second is better, or a value between.
    """
    about = f"{systems['system_b' if answer.is_reversed else 'system_a']} first"
    record = record_answer(answer.judge, about, answer.first, answer.answer, answer.reason)
    return {**record, "question": answer.question} if answer.question else record


def name_winner(outcome: float, systems: Mapping[str, str]) -> str | float | None:
    """Names a winner as files of preferences do: a system, a tie, or the probability of system a; None for NaN."""
    if math.isnan(outcome):
        return None
    if outcome in WORDS:
        return systems[WORDS[outcome]]
    return "tie" if outcome == 0.5 else to_number(outcome)


def describe_winner(outcome: float, systems: Mapping[str, str]) -> str:
    """Describes a winner in words."""
    winner = name_winner(outcome, systems)
    if winner is None:
        return "no verdict"
    if isinstance(winner, str):
        return winner
    likelier = systems["system_a" if outcome > 0.5 else "system_b"]
    return f"{likelier} ({format_number(max(outcome, 1 - outcome))})"


def list_context(example: Example) -> dict[str, str]:
    """Lists what a reader needs besides the text of an example: the input, the references and so on."""
    fields = {name: getattr(example, name) for name in SHOWN_FIELDS}
    return {name: value for name, value in fields.items() if value}


# ---- texts ----------------------------------------------------------------------------------------------------------


def list_asked_texts(scored: ScoredSet, has_own_ratings: bool) -> list[Asked]:
    """Lists the texts that judges were asked about, with the judges' answers.

    With `has_own_ratings`, the lines also have the ratings of people. Ratings from a separate file of labels are left
    out, because the next study joins them again.
    """
    judges: dict[str, Scores] = {}
    for name, scores in scored.scores.items():
        if any(map(list_explained, scores.explanations)):
            judges[name] = scores
    columns = ScoredSet(scored.name, scored.examples, judges).split_aspects()
    gaps = measure_gaps(columns)
    asked: list[Asked] = []
    for place, example in enumerate(scored.examples if judges else ()):
        answers: list[dict[str, Any]] = []
        for name, scores in judges.items():
            for aspect, explained in list_explained(scores.explanations[place]).items():
                verdict = float(scores.values[aspect][place])
                reason = scores.reasons[place] if math.isnan(verdict) else None
                answers.append(record_answer(name, aspect, verdict, explained.get("answer"), reason))
        verdicts: dict[str, float | None] = {}
        for name, scores in columns.scores.items():
            (values,) = scores.values.values()
            verdicts[name] = to_number(float(values[place]))
        record = {
            "id": example.id,
            "group": example.group,
            "system": example.system,
            "text": example.full_text,
            **list_context(example),
            "ratings" if has_own_ratings else "people": dict(example.ratings),
            "scores": verdicts,
            ANSWERS: answers,
        }
        asked.append(
            Asked(
                name=example.id if example.system is None else f"{example.id} ({example.system})",
                texts={**list_context(example), "text": example.full_text},
                people=describe_numbers(example.ratings),
                judged=describe_numbers(verdicts),
                gap=float(gaps[place]),
                record=leave_out_empty(record),
            )
        )
    return asked


def list_explained(explanation: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Lists, for each aspect, what a chat model answered about a text."""
    return {
        aspect: explained
        for aspect, explained in explanation.items()
        if isinstance(explained, Mapping) and {"answer", "tokens"} <= explained.keys()
    }


def describe_numbers(values: Mapping[str, float | None]) -> str:
    """Writes ratings or scores as text."""
    known = [f"{name} {format_number(value)}" for name, value in values.items() if value is not None]
    return ", ".join(known) or "nothing"


def measure_gaps(columns: ScoredSet) -> Floats:
    """Measures how far a text's rank by judges is from its rank by people, as a share; NaN if a rank is missing.

    With several judges or aspects, the largest gap counts.
    """
    gaps = np.full(len(columns), np.nan)
    for name, scores in columns.scores.items():
        own = name.rpartition("/")[2].partition(" by ")[0]
        aspects = [own] if own in columns.aspects else columns.aspects[:1]
        (values,) = scores.values.values()
        for aspect in aspects:
            ratings = columns.ratings(aspect)
            known = ~np.isnan(values) & ~np.isnan(ratings)
            apart = np.abs(rank_shares(values[known]) - rank_shares(ratings[known]))
            gaps[known] = np.fmax(gaps[known], apart)
    return gaps


def rank_shares(values: Floats) -> Floats:
    """Computes the rank of each value as a share from 0 to 1; equal values get their mean rank.

    >>> rank_shares(np.array([3.0, 1.0, 3.0])).tolist()
    [0.75, 0.0, 0.75]
    """
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    return (below + (counts - 1) / 2)[numbers] / max(len(values) - 1, 1)


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


def write_answers(asked: Sequence[Asked], path: Path | None) -> tuple[Path, ...]:
    """Writes a file with a line for each text or pair.

    Returns its path; an empty tuple if there is no `path` or no judge was asked.
    """
    if path is None or not asked:
        return ()
    with open_atomically(path) as file:
        for item in asked:
            file.write(json.dumps(item.record, ensure_ascii=False, allow_nan=False) + "\n")
    return (path,)
