"""Judgements of pairs: AlpacaEval, FastChat's judge, battles of arenas, and chosen and rejected answers."""

from collections import Counter
from collections.abc import Callable
from functools import wraps
from itertools import groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from data.columns import find_rater
from data.formats.tool_file import REMARK, Row, Rows, describe, leave_out, list_values, pick, refuse, text_of
from data.numeric import is_missing

QUESTIONS = ("question_id", "group", "id", "uid", "conversation_id", "question", "prompt")  # the first names the input
PROMPTS = ("prompt", "question", "instruction", "input", "conversations")
WINNERS = {"model_1", "model_2", "tie", "error"}  # of a game of MT-Bench
TURN = "\n\nAssistant:"
Reader: TypeAlias = Callable[[Rows, Path], Rows]


def separate_texts(read: Reader) -> Reader:
    """Numbers an input for which a system has another text than in earlier rows, as an input of its own."""

    @wraps(read)
    def read_separately(rows: Rows, path: Path) -> Rows:
        known: dict[Any, Any] = {}  # the text by input, its number and system
        for line, of_line in groupby(read(rows, path), key=itemgetter(0)):
            read_rows = [row for _, row in of_line]
            group = read_rows[0]["group"]
            answers = [row for row in read_rows if "system_a" not in row and isinstance(row["text"], str)]
            texts = {row["system"]: row["text"] for row in answers}
            number = 1
            while any(known.get((group, number, system), text) != text for system, text in texts.items()):
                number += 1
            known |= {(group, number, system): text for system, text in texts.items()}
            yield from ((line, {**row, "group": _number(group, number)}) for row in read_rows)

    return read_separately


# ---- AlpacaEval ----


def read_alpaca_outputs(rows: Rows, path: Path) -> Rows:
    """Reads one text per row; the instruction is its input, unless a group is given. Other keys are passed on."""
    seen: Counter[Any] = Counter()
    for line, row in rows:
        asked = row["instruction"]
        if not asked.strip():
            raise refuse(path, line, f'"instruction" must not be blank, found {describe(asked)}')
        system = row["generator"]
        group = _name_again(seen, asked, system)
        answer = {
            "system": system,
            "group": group,
            "text": row["output"],
            "context": asked,
        }
        yield line, answer | leave_out(row, ("instruction", "output", "generator"))


def _name_again(seen: Counter[Any], asked: str, *systems: str) -> str:
    """The instruction; where these systems are asked it again, with the number of times."""
    seen[asked, *systems] += 1
    return _number(asked, seen[asked, *systems])


def _number(group: str, count: int) -> str:
    return group if count == 1 else f"{group} ({count})"


@separate_texts
def read_alpaca_annotations(rows: Rows, path: Path) -> Rows:
    """Reads one judgement and both outputs per row. A preference goes from 1 (the first) to 2; 1.5 and 0 are ties."""
    seen: Counter[Any] = Counter()
    for line, row in rows:
        systems = [row["generator_1"], row["generator_2"]]
        asked = row["instruction"]
        group = _name_again(seen, asked, *systems)
        for side, system in enumerate(systems, start=1):
            yield line, {"system": system, "group": group, "text": row[f"output_{side}"], "context": asked}
        preference = row["preference"]
        winner = None
        if not is_missing(preference):
            if preference and not 1 <= preference <= 2:
                raise refuse(path, line, f'"preference" must be from 1 to 2, or 0 for a tie, found {preference}')
            winner = 2 - preference if preference else 0.5
        judged = {"system_a": systems[0], "system_b": systems[1], "winner": winner}
        yield line, {"group": group, **judged, "rater": row.get("annotator")}


# ---- FastChat's judge (MT-Bench) ----


def read_mt_pairs(rows: Rows, path: Path) -> Rows:
    """Reads one judgement per row. A system wins if both games name it; an error in a game leaves no verdict."""
    for line, row in rows:
        games = {row["g1_winner"], row["g2_winner"]}
        if games - WINNERS:
            rule = '"g1_winner" and "g2_winner" must be model_1, model_2 or tie'
            raise refuse(path, line, f"{rule}, found {describe([*games - WINNERS])}")
        winner = row.get(games.pop(), "tie") if len(games) == 1 else "tie"
        group = f"{row['question_id']}-{row.get('turn') or 1}"
        judge = next(iter(list_values(row.get("judge"))), None)
        has_verdict = "error" not in (row["g1_winner"], row["g2_winner"])
        judged = {"system_a": row["model_1"], "system_b": row["model_2"], "winner": winner if has_verdict else None}
        yield line, {"group": group, **judged, "rater": judge}


# ---- battles of arenas ----


@separate_texts
def read_battles(rows: Rows, path: Path) -> Rows:
    """Reads one judgement per row, and both answers if the row has them. Rows with one question are one input.

    Verdicts of judges and lengths are passed on, as the other keys are.
    """
    listed = [(line, leave_out(row, ())) for line, row in rows]
    rater = find_rater(dict.fromkeys(key for _, row in listed for key in row)) or "judge"
    for line, row in listed:
        name = pick(row, *QUESTIONS)
        group = str(line if name is None else name)
        if isinstance(row.get("turn"), int) and row["turn"] > 1 and "question_id" in row:
            group += f"-{row['turn']}"
        person = row.get(rater)
        models = {side: row[f"model_{side}"] for side in "ab"}
        who = str(person) if isinstance(person, str | int) else None
        judged = {"system_a": models["a"], "system_b": models["b"], "winner": row.get("winner")}
        unnamed = f"without a question ({', '.join(QUESTIONS)}) each row is an input of its own"
        yield line, {**row, "group": group, **judged, "rater": who, REMARK: "" if name is not None else unnamed}
        for side, system in models.items():
            text, context = _read_turn(row, side)
            if isinstance(text, str):
                yield line, {"system": system, "group": group, "text": text, "context": context}


def _read_turn(row: Row, side: str) -> tuple[Any, Any]:
    """The answer of a conversation of one turn, or the response, and what was asked; no text for anything else."""
    messages = list_values(row.get(f"conversation_{side}"))
    if len(messages) == 2:
        asked, answer = map(text_of, messages)
        return answer, asked
    return row.get(f"response_{side}"), row.get("prompt")


# ---- chosen and rejected answers ----


def read_chosen(rows: Rows, path: Path) -> Rows:
    """Reads both texts and one judgement per row.

    The systems are `chosen` and `rejected`, or those that `chosen_model` and `rejected_model` name.
    """
    listed = list(rows)
    ids = [pick(row, "id", "prompt_id") for _, row in listed]
    are_ids = None not in ids and len({*map(str, ids)}) == len(ids)
    for (line, row), name in zip(listed, ids, strict=True):
        group = str(name if are_ids else line)
        context = next(filter(None, (_join_messages(row.get(key)) for key in PROMPTS)), None)
        values = {side: row[side] for side in ("chosen", "rejected")}
        models = {side: row.get(f"{side}_model") or side for side in values}
        if models["chosen"] == models["rejected"]:
            models = dict(zip(values, values, strict=True))
        others = {"chosen": values["rejected"], "rejected": values["chosen"]}
        for side, value in values.items():
            text, before = _read_answer(value, others[side])
            if not isinstance(text, str):
                raise refuse(path, line, f'"{side}" must hold an answer, found {describe(value)}')
            answer = {"system": models[side], "group": group, "text": text, "context": before or context}
            yield line, {**answer, "references": pick(row, "references", "reference")}
        yield line, {"group": group, "system_a": models["chosen"], "system_b": models["rejected"], "winner": "a"}


def _read_answer(value: Any, other: Any) -> tuple[str | None, str | None]:
    """The last message, and those before it.

    Of a dialogue in one text the answer follows the last `Assistant:` that both dialogues have.
    """
    if isinstance(value, str) and isinstance(other, str) and value.startswith("\n\nHuman:"):
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(value, other, strict=False)))
        turn = value.rfind(TURN, 0, same)
        end = 0 if turn < 0 else turn + len(TURN)
        return value[end:].strip(), value[:end].removesuffix(TURN).strip()
    if isinstance(value, list) and isinstance(value[0], dict) and {"role", "from"} & value[0].keys():
        return text_of(value[-1]), _join_messages(value[:-1])
    return text_of(value), None


def _join_messages(value: Any) -> str | None:
    return "\n\n".join(filter(None, map(text_of, value))) if isinstance(value, list) else text_of(value)
