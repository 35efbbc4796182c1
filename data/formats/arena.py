"""Battles of chatbot arenas (Chatbot Arena, MT-Bench's people, Arena-Hard): two models, one winner."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from data.formats.found import REMARK, Located, Row, Rows, describe, list_values, refuse, text_of
from data.records import Text, check_rows, layout

INPUTS = ("question_id", "group", "id", "uid", "conversation_id", "question", "prompt")  # the first that a row has
WINNERS = {"A>": 1.0, "A=": 0.5, "B=": 0.5, "A<": 0.0, "B>": 0.0}  # by how a verdict begins


Verdict = Literal["A>>B", "A>B", "A=B", "B=A", "B>A", "B>>A", "A<B", "A<<B"]
BATTLES = layout({"model_a": Text, "model_b": Text, "winner": Any})
GAMES = layout({"model": Text, "judge": Any, "games": Annotated[list[Any], Field(max_length=2)]}, baseline=Text)
GAME = layout({}, score=Verdict)  # null where the judge gave no verdict


def read_battles(rows: Located, path: Path) -> Rows:
    """A judgement per row, and both answers where the row has them. Rows of one question are one input."""
    are_named = any(row.get(key) not in (None, "") for _, row in rows for key in INPUTS)
    alone = "" if are_named else f"without a question ({', '.join(INPUTS)}) each row is an input of its own"
    for line, row in rows:
        group = _name_input(row, path, line) if are_named else str(line)
        judge = row.get("judge")
        judged = {"system_a": row["model_a"], "system_b": row["model_b"], "winner": row["winner"]}
        yield line, {"group": group, **judged, "rater": judge if isinstance(judge, str) else None, REMARK: alone}
        for side in "ab":
            if answer := _read_answer(row, side):
                yield line, {"system": row[f"model_{side}"], "group": group, **answer}


def _name_input(
    row: Row,
    path: Path,
    line: int,
) -> str:
    name = next((row[key] for key in INPUTS if row.get(key) not in (None, "")), None)
    if not isinstance(name, str | int):
        raise refuse(path, line, f"a battle needs its question, one of {', '.join(INPUTS)}, found {describe(row)}")
    turn = row.get("turn")
    return f"{name}-{turn}" if isinstance(turn, int) and turn > 1 and "question_id" in row else str(name)


def _read_answer(row: Row, side: str) -> Row:
    """The last answer of a conversation of one turn, or the response; empty for anything else."""
    messages = list_values(row.get(f"conversation_{side}"))
    if len(messages) == 2:
        return {"text": text_of(messages[1]), "context": text_of(messages[0])}
    answer = row.get(f"response_{side}")
    return {"text": answer, "context": row.get("prompt")} if isinstance(answer, str) else {}


def read_games(rows: Located, path: Path) -> Rows:
    """Arena-Hard's `model_judgment`: of the two games of a row the first shows the baseline as A, the second as B."""
    for line, row in rows:
        sides = [row.get("baseline") or "baseline", row["model"]]
        for game, (a, b) in zip(row["games"], (sides, sides[::-1]), strict=False):
            ((_, checked),) = check_rows([(line, game or {})], path, GAME)
            judged = {"system_a": a, "system_b": b, "winner": WINNERS.get((checked.get("score") or "")[:2])}
            yield line, {"group": _name_input(row, path, line), **judged}
