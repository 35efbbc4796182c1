"""FastChat's LLM judge (MT-Bench): scores of single answers, and verdicts on pairs in both orders."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from data.formats.found import Located, Name, Row, Rows, refuse
from data.numeric import to_number
from data.records import Text, drop_nan, layout

Winner = Literal["model_1", "model_2", "tie", "error"]
ANSWERS = {"model_1": Text, "model_2": Text, "g1_winner": Winner, "g2_winner": Winner, "g1_user_prompt": str}
PAIRS = layout({"question_id": Name, **ANSWERS}, turn=int)
Score = Annotated[float, Field(ge=-1, le=10)]  # from 1, or -1 where no score could be read
SCORED = {"user_prompt": str, "judgment": Any, "score": Annotated[Score | None, BeforeValidator(drop_nan)]}
SINGLE = layout({"question_id": Name, "model": Text, **SCORED}, turn=int)
QUESTIONS = layout({"question_id": Any, "category": Any, "turns": Any})


def read_pairs(rows: Located, path: Path) -> Rows:
    """A judgement per row: a system wins where both games name it; a game with an error leaves no verdict."""
    for line, row in rows:
        systems, games = (row["model_1"], row["model_2"]), (row["g1_winner"], row["g2_winner"])
        texts, group = [_answer(row["g1_user_prompt"], f" {side}") for side in "AB"], _name_input(row)
        for system, text in zip(systems, texts if all(texts) else (), strict=False):
            yield line, {"system": system, "group": group, **(text or {})}
        winner = None if "error" in games else row.get(games[0], "tie") if games[0] == games[1] else "tie"
        judge = row["judge"][0] if isinstance(row.get("judge"), list) and row["judge"] else row.get("judge")
        judged = {"group": group, "rater": judge if isinstance(judge, str) else None}
        judged |= {"system_a": systems[0], "system_b": systems[1], "winner": winner}
        yield line, judged


def read_single(rows: Located, path: Path) -> Rows:
    """A text and its score per row."""
    for line, row in rows:
        if not (answer := _answer(row["user_prompt"], "(?: A)?")):
            raise refuse(path, line, "the prompt must hold the answer after [The Start of Assistant's Answer]")
        scores = {"judge": None if row["score"] == -1 else to_number(row["score"])}
        yield line, {"group": _name_input(row), "system": row["model"], "scores": scores, **answer}


def refuse_questions(rows: Located, path: Path) -> Rows:
    """Raises InputError."""
    raise refuse(path, 0, "these are MT-Bench questions, which hold no answers: pass model_judgment/*.jsonl")


def _name_input(row: Row) -> str:
    return f"{row['question_id']}-{row.get('turn') or 1}"


def _answer(prompt: str, side: str) -> Row | None:
    """The answer in a prompt, or the conversation of several turns, and the question."""
    mark = rf"Assistant{side}'s (?:Answer|Conversation with User)\|?[\]>]\n"
    text = re.search(rf"[\[<]\|?The Start of {mark}(.*?)[\[<]\|?The End of {mark[:-2]}", prompt, re.DOTALL)
    question = re.search(r"\[(?:User )?Question\]\n(.*?)\n\n\[The Start of", prompt, re.DOTALL)
    reference = re.search(r"The Start of Reference Answer\]\n(.*?)\n\[The End of Reference", prompt, re.DOTALL)
    asked = {"context": question and question[1].strip(), "references": [reference[1].strip()] if reference else []}
    return {"text": text[1].strip(), **asked} if text else None
