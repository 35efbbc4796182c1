"""FastChat's LLM judge (MT-Bench): scores of single answers, and verdicts on pairs in both orders."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from data.formats.tool_file import Located, Name, Row, Rows, refuse
from data.numeric import to_number
from data.records import Text, drop_nan, layout

Winner = Literal["model_1", "model_2", "tie", "error"]
PAIRS = layout(
    {
        "question_id": Name,
        "model_1": Text,
        "model_2": Text,
        "g1_winner": Winner,
        "g2_winner": Winner,
        "g1_user_prompt": str,
    },
    turn=int,
)
Score = Annotated[float, Field(ge=-1, le=10)]  # from 1, or -1 where no score could be read
SINGLE = layout(
    {
        "question_id": Name,
        "model": Text,
        "user_prompt": str,
        "judgment": Any,
        "score": Annotated[Score | None, BeforeValidator(drop_nan)],
    },
    turn=int,
)
QUESTIONS = layout(
    {
        "question_id": Any,
        "category": Any,
        "turns": Any,
    }
)


def read_pairs(rows: Located, path: Path) -> Rows:
    """Reads one judgement per row. A system wins if both games name it; an error in a game leaves no verdict."""
    for line, row in rows:
        group = _name_input(row)
        system_a = row["model_1"]
        system_b = row["model_2"]
        answer_a = _answer(row["g1_user_prompt"], " A")
        answer_b = _answer(row["g1_user_prompt"], " B")
        if answer_a and answer_b:
            yield (
                line,
                {
                    "system": system_a,
                    "group": group,
                    **answer_a,
                },
            )
            yield (
                line,
                {
                    "system": system_b,
                    "group": group,
                    **answer_b,
                },
            )
        judgement = {
            "group": group,
            "rater": _find_judge(row),
            "system_a": system_a,
            "system_b": system_b,
            "winner": _find_winner(row),
        }
        yield line, judgement


def _find_winner(row: Row) -> str | None:
    """The system that both games name, else `tie`; None if a game has an error."""
    first = row["g1_winner"]
    second = row["g2_winner"]
    if "error" in (first, second):
        return None
    return row.get(first, "tie") if first == second else "tie"


def _find_judge(row: Row) -> str | None:
    judge = row.get("judge")
    if isinstance(judge, list) and judge:
        judge = judge[0]
    return judge if isinstance(judge, str) else None


def read_single(rows: Located, path: Path) -> Rows:
    """Reads one text and its score per row."""
    for line, row in rows:
        answer = _answer(row["user_prompt"], "(?: A)?")
        if not answer:
            raise refuse(path, line, "the prompt must hold the answer after [The Start of Assistant's Answer]")
        score = None if row["score"] == -1 else to_number(row["score"])
        yield (
            line,
            {
                "group": _name_input(row),
                "system": row["model"],
                "scores": {"judge": score},
                **answer,
            },
        )


def refuse_questions(rows: Located, path: Path) -> Rows:
    """Raises InputError: a file of questions has neither texts nor verdicts."""
    raise refuse(path, 0, "these are MT-Bench questions, which hold no answers: pass model_judgment/*.jsonl")


def _name_input(row: Row) -> str:
    return f"{row['question_id']}-{row.get('turn') or 1}"


def _answer(prompt: str, side: str) -> Row | None:
    """The answer in a prompt, or the conversation of several turns, and the question."""
    mark = rf"Assistant{side}'s (?:Answer|Conversation with User)\|?[\]>]\n"
    text = re.search(rf"[\[<]\|?The Start of {mark}(.*?)[\[<]\|?The End of {mark[:-2]}", prompt, re.DOTALL)
    question = re.search(r"\[(?:User )?Question\]\n(.*?)\n\n\[The Start of", prompt, re.DOTALL)
    reference = re.search(r"The Start of Reference Answer\]\n(.*?)\n\[The End of Reference", prompt, re.DOTALL)
    if not text:
        return None
    return {
        "text": text[1].strip(),
        "context": question and question[1].strip(),
        "references": [reference[1].strip()] if reference else [],
    }
