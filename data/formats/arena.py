"""Battles of chatbot arenas (Chatbot Arena, human votes of MT-Bench, Arena-Hard): two models, one winner."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from data.columns import find_rater
from data.formats.tool_file import REMARK, Located, Row, Rows, describe, list_values, refuse, text_of
from data.records import Text, check_rows, layout

ROWS = ("id", "uid", "conversation_id")  # what may name a row, and not its question
PROMPTS = ("question", "prompt")
INPUTS = ("question_id", "group", *ROWS, *PROMPTS)  # the first that a row has names its question
WINNERS = {
    "A>": 1.0,
    "A=": 0.5,
    "B=": 0.5,
    "A<": 0.0,
    "B>": 0.0,
}  # by how a verdict begins
EMPTY = (None, "")
SIDES = "ab"


Verdict = Literal["A>>B", "A>B", "A=B", "B=A", "B>A", "B>>A", "A<B", "A<<B"]
BATTLES = layout(
    {
        "model_a": Text,
        "model_b": Text,
        "winner": Any,
    }
)
GAMES = layout(
    {
        "model": Text,
        "judge": Any,
        "games": Annotated[list[Any], Field(max_length=2)],
    },
    baseline=Text,
)
GAME = layout({}, score=Verdict)  # null where the judge gave no verdict


def read_battles(rows: Located, path: Path) -> Rows:
    """Reads one judgement per row, and both answers if the row has them. Rows with one question are one input."""
    rater = _find_rater(rows)
    are_named = any(_find_name(row) is not None for _, row in rows)
    remark = "" if are_named else f"without a question ({', '.join(INPUTS)}) each row is an input of its own"
    groups = _name_inputs(rows, path) if are_named else [str(line) for line, _ in rows]
    for (line, row), group in zip(rows, groups, strict=True):
        person = row.get(rater)
        judgement = {
            "group": group,
            "system_a": row["model_a"],
            "system_b": row["model_b"],
            "winner": row["winner"],
            "rater": str(person) if isinstance(person, str | int) else None,
            REMARK: remark,
        }
        yield line, judgement
        for side in SIDES:
            answer = _read_answer(row, side)
            if answer:
                yield (
                    line,
                    {
                        "system": row[f"model_{side}"],
                        "group": group,
                        **answer,
                    },
                )


def _find_rater(rows: Located) -> str:
    """The key that names who judged."""
    keys = dict.fromkeys(key for _, row in rows for key in row)
    return find_rater(keys) or "judge"


def _name_inputs(rows: Located, path: Path) -> list[str]:
    """The input of each battle.

    Battles of one prompt with the same answers have one input, although each may have an id of its own.
    """
    names = [_name_input(row, path, line) for line, row in rows]
    if not _repeat_answers(rows):
        return names
    first: dict[Any, str] = {}
    for place, (_, row) in enumerate(rows):
        prompt = _find_first(row, PROMPTS)
        if isinstance(prompt, str) and _find_name(row) == _find_first(row, ROWS):
            names[place] = first.setdefault(prompt, names[place])
    return names


def _repeat_answers(rows: Located) -> bool:
    """Whether each system has one answer to a prompt, or none, in all rows."""
    answers: dict[tuple[str, str], Any] = {}
    for _, row in rows:
        for side in SIDES:
            output = (str(_find_first(row, PROMPTS)), row[f"model_{side}"])
            answer = _read_answer(row, side).get("text")
            if answers.setdefault(output, answer) != answer:
                return False
    return True


def _find_name(row: Row) -> Any:
    """What names the question of a battle; None where nothing does."""
    return _find_first(row, INPUTS)


def _find_first(row: Row, keys: Sequence[str]) -> Any:
    """The first value of these keys; None where the row has none."""
    values = (row[key] for key in keys if row.get(key) not in EMPTY)
    return next(values, None)


def _name_input(
    row: Row,
    path: Path,
    line: int,
) -> str:
    name = _find_name(row)
    if not isinstance(name, str | int):
        raise refuse(path, line, f"a battle needs its question, one of {', '.join(INPUTS)}, found {describe(row)}")
    turn = row.get("turn")
    is_later_turn = isinstance(turn, int) and turn > 1
    return f"{name}-{turn}" if is_later_turn and "question_id" in row else str(name)


def _read_answer(row: Row, side: str) -> Row:
    """The last answer of a conversation of one turn, or the response; empty for anything else."""
    messages = list_values(row.get(f"conversation_{side}"))
    if len(messages) == 2:
        return {"text": text_of(messages[1]), "context": text_of(messages[0])}
    answer = row.get(f"response_{side}")
    if isinstance(answer, str):
        return {"text": answer, "context": row.get("prompt")}
    return {}


def read_games(rows: Located, path: Path) -> Rows:
    """Reads Arena-Hard's `model_judgment`. A row has two games: the first shows the baseline as A, the second as B."""
    for line, row in rows:
        baseline = row.get("baseline") or "baseline"
        orders = [(baseline, row["model"]), (row["model"], baseline)]
        for game, (shown_as_a, shown_as_b) in zip(row["games"], orders, strict=False):
            ((_, checked),) = check_rows([(line, game or {})], path, GAME)
            verdict = checked.get("score") or ""
            judgement = {
                "group": _name_input(row, path, line),
                "system_a": shown_as_a,
                "system_b": shown_as_b,
                "winner": WINNERS.get(verdict[:2]),
            }
            yield line, judgement
