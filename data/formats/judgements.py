"""Judgements of pairs: AlpacaEval, FastChat's judge, battles of arenas, and chosen and rejected answers."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product, takewhile
from pathlib import Path
from typing import Any

from data.columns import find_rater
from data.formats.tool_file import REMARK, Row, Rows, describe, list_values, pick, refuse, text_of
from data.numeric import is_missing

QUESTIONS = ("question_id", "group", "id", "uid", "conversation_id", "question", "prompt")  # the first names the input
PROMPTS = ("prompt", "question", "instruction", "input", "conversations")
GAMES = {
    "A>>B": 1.0,
    "A>B": 1.0,
    "A=B": 0.5,
    "B=A": 0.5,
    "A<B": 0.0,
    "A<<B": 0.0,
    "B>A": 0.0,
    "B>>A": 0.0,
}
TURN = "\n\nAssistant:"


# ---- AlpacaEval ----


def read_alpaca_outputs(rows: Rows, path: Path) -> Rows:
    """Reads one text per row; the instruction is its input."""
    seen: Counter[Any] = Counter()
    for line, row in rows:
        asked = row["instruction"]
        if not asked.strip():
            raise refuse(path, line, f'"instruction" must not be blank, found {describe(asked)}')
        group = _name_again(seen, asked, row["generator"])
        yield (
            line,
            {
                "text": row["output"],
                "context": asked,
                "system": row["generator"],
                "group": group,
            },
        )


def _judge(
    group: str,
    systems: Sequence[str],
    winner: Any,
    rater: Any = None,
) -> Row:
    """A judgement of two systems."""
    return {
        "group": group,
        "system_a": systems[0],
        "system_b": systems[1],
        "winner": winner,
        "rater": rater,
    }


def _name_again(seen: Counter[Any], asked: str, *systems: str) -> str:
    """The instruction; where these systems are asked it again, with the number of times."""
    seen[asked, *systems] += 1
    count = seen[asked, *systems]
    return asked if count == 1 else f"{asked} ({count})"


def read_alpaca_annotations(rows: Rows, path: Path) -> Rows:
    """Reads one judgement and both outputs per row. A preference goes from 1 (the first) to 2; 1.5 and 0 are ties."""
    listed = list(rows)
    copies = len(listed) - len({json.dumps(row, sort_keys=True) for _, row in listed})
    remark = f"{copies} exact {'copy' if copies == 1 else 'copies'} of another row" if copies else ""
    seen: Counter[Any] = Counter()
    for line, row in listed:
        systems = [row["generator_1"], row["generator_2"]]
        asked = row["instruction"]
        group = _name_again(seen, asked, *systems)
        for side, system in enumerate(systems, start=1):
            yield (
                line,
                {
                    "system": system,
                    "group": group,
                    "context": asked,
                    "text": row[f"output_{side}"],
                },
            )
        preference = row["preference"]
        winner = None
        if not is_missing(preference):
            if preference and not 1 <= preference <= 2:
                raise refuse(path, line, f'"preference" must be from 1 to 2, or 0 for a tie, found {preference}')
            winner = 2 - preference if preference else 0.5
        judged = _judge(
            group,
            systems,
            winner,
            row.get("annotator"),
        )
        yield line, {**judged, REMARK: remark}


# ---- FastChat's judge (MT-Bench) ----


def read_mt_pairs(rows: Rows, path: Path) -> Rows:
    """Reads one judgement per row. A system wins if both games name it; an error in a game leaves no verdict."""
    for line, row in rows:
        group = f"{row['question_id']}-{row.get('turn') or 1}"
        models = [row["model_1"], row["model_2"]]
        answers = [answer for side in (" A", " B") if (answer := _find_answer(row["g1_user_prompt"], side))]
        for system, answer in zip(models, answers, strict=True) if len(answers) == 2 else ():
            yield (
                line,
                {
                    "system": system,
                    "group": group,
                    **answer,
                },
            )
        games = {row["g1_winner"], row["g2_winner"]}
        unknown = games - {"model_1", "model_2", "tie", "error"}
        if unknown:
            raise refuse(
                path, line, f'"g1_winner" and "g2_winner" must be model_1, model_2 or tie, found {describe([*unknown])}'
            )
        winner = None if "error" in games else row.get(games.pop(), "tie") if len(games) == 1 else "tie"
        judge = next(iter(list_values(row.get("judge"))), None)
        yield (
            line,
            _judge(
                group,
                models,
                winner,
                judge,
            ),
        )


def read_mt_single(rows: Rows, path: Path) -> Rows:
    """Reads one text and its score per row; -1 is a score that could not be read."""
    for line, row in rows:
        answer = _find_answer(row["user_prompt"], "(?: A)?")
        if answer is None:
            raise refuse(path, line, "the prompt must hold the answer after [The Start of Assistant's Answer]")
        score = None if row["score"] == -1 else row["score"]
        group = f"{row['question_id']}-{row.get('turn') or 1}"
        yield (
            line,
            {
                "group": group,
                "system": row["model"],
                "scores": {"judge": score},
                **answer,
            },
        )


def refuse_questions(rows: Rows, path: Path) -> Rows:
    """Raises InputError: a file of questions has neither texts nor verdicts."""
    raise refuse(path, 0, "these are MT-Bench questions, which hold no answers: pass model_judgment/*.jsonl")


def _find_answer(prompt: str, side: str) -> Row | None:
    """The answer in a prompt, or the conversation of several turns, and the question."""
    mark = rf"Assistant{side}'s (?:Answer|Conversation with User)\|?[\]>]\n"
    text = re.search(rf"[\[<]\|?The Start of {mark}(.*?)[\[<]\|?The End of {mark[:-2]}", prompt, re.DOTALL)
    question = re.search(r"\[(?:User )?Question\]\n(.*?)\n\n\[The Start of", prompt, re.DOTALL)
    reference = re.search(r"The Start of Reference Answer\]\n(.*?)\n\[The End of Reference", prompt, re.DOTALL)
    references = [reference[1].strip()] if reference else []
    return text and {
        "text": text[1].strip(),
        "context": question and question[1].strip(),
        "references": references,
    }


# ---- battles of arenas ----


def read_battles(rows: Rows, path: Path) -> Rows:
    """Reads one judgement per row, and both answers if the row has them. Rows with one question are one input."""
    listed = list(rows)
    rater = find_rater(dict.fromkeys(key for _, row in listed for key in row)) or "judge"
    by_answers: dict[Any, str] = {}
    for line, row in listed:
        name = pick(row, *QUESTIONS)
        answers = {side: _read_turn(row, side) for side in "ab"}
        has_answers = any(answers.values())
        prompt = pick(row, "question", "prompt")
        group = str(line if name is None else name)
        is_unnamed = pick(row, "question_id", "group") is None
        if is_unnamed and isinstance(prompt, str) and not has_answers:
            group = by_answers.setdefault(prompt, group)  # each battle of one prompt has an id of its own
        if isinstance(row.get("turn"), int) and row["turn"] > 1 and "question_id" in row:
            group += f"-{row['turn']}"
        person = row.get(rater)
        models = {side: row[f"model_{side}"] for side in answers}
        name_of_rater = str(person) if isinstance(person, str | int) else None
        judged = _judge(
            group,
            [*models.values()],
            row["winner"],
            name_of_rater,
        )
        unnamed = f"without a question ({', '.join(QUESTIONS)}) each row is an input of its own"
        yield line, {**judged, REMARK: "" if name is not None else unnamed}
        for side, answer in answers.items():
            if answer:
                yield (
                    line,
                    {
                        "system": models[side],
                        "group": group,
                        **answer,
                    },
                )


def _read_turn(row: Row, side: str) -> Row:
    """The answer of a conversation of one turn, or the response; empty for anything else."""
    messages = list_values(row.get(f"conversation_{side}"))
    if len(messages) == 2:
        return {"text": text_of(messages[1]), "context": text_of(messages[0])}
    answer = row.get(f"response_{side}")
    return {"text": answer, "context": row.get("prompt")} if isinstance(answer, str) else {}


def read_games(rows: Rows, path: Path) -> Rows:
    """Reads Arena-Hard's `model_judgment`. A row has two games: the first shows the baseline as A, the second as B."""
    for line, row in rows:
        sides = [row.get("baseline") or "baseline", row["model"]]
        for game, systems in zip(row["games"], (sides, sides[::-1]), strict=False):
            verdict = (game or {}).get("score")
            if verdict is not None and verdict not in GAMES:
                raise refuse(path, line, f'"score" must be one of {", ".join(GAMES)}, found {describe(verdict)}')
            yield line, _judge(str(pick(row, *QUESTIONS)), systems, GAMES.get(verdict))


# ---- chosen and rejected answers ----


def read_chosen(rows: Rows, path: Path) -> Rows:
    """Reads the texts and one judgement per row, or one for each pair of texts if a row lists several texts.

    The systems are `chosen` and `rejected`, or those that `chosen_model` and `rejected_model` name.
    """
    listed = list(rows)
    ids = [pick(row, "id", "prompt_id") for _, row in listed]
    are_ids = None not in ids and len({*map(str, ids)}) == len(ids)
    for (line, row), name in zip(listed, ids, strict=True):
        of_input = {
            "group": str(name if are_ids else line),
            "context": next(filter(None, (_join_messages(row.get(key)) for key in PROMPTS)), None),
            "references": pick(row, "references", "reference"),
        }
        end = "" if "chosen" in row else "_messages"
        values = {side: row[f"{side}{end}"] for side in ("chosen", "rejected")}
        models = {side: row.get(f"{side}_model") or side for side in values}
        if models["chosen"] == models["rejected"]:
            models = dict(zip(values, values, strict=True))
        named = {side: dict(_name_answers(models[side], values[side])) for side in values}
        others = {"chosen": values["rejected"], "rejected": values["chosen"]}
        for side, answers in named.items():
            for system, value in answers.items():
                answer = _read_answer(value, others[side])
                if not isinstance(answer["text"], str):
                    raise refuse(path, line, f'"{side}" must hold an answer, found {describe(values[side])}')
                yield (
                    line,
                    {
                        "system": system,
                        **of_input,
                        **answer,
                    },
                )
        for systems in product(*named.values()):
            yield line, _judge(of_input["group"], systems, "a")


def _name_answers(system: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The answers of one side by system; several texts are systems of their own, with a number."""
    if isinstance(value, list) and len(value) > 1 and all(isinstance(text, str) for text in value):
        yield from ((f"{system} {number}", text) for number, text in enumerate(value, start=1))
    else:
        yield system, value


def _read_answer(value: Any, other: Any) -> Row:
    """The last message; of a dialogue in one text, what follows the last `Assistant:` that both dialogues have."""
    if isinstance(value, str) and isinstance(other, str) and value.startswith("\n\nHuman:"):
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(value, other, strict=False)))
        turn = value.rfind(TURN, 0, same)
        end = 0 if turn < 0 else turn + len(TURN)
        return {"text": value[end:].strip(), "context": value[:end].removesuffix(TURN).strip()}
    if isinstance(value, list) and isinstance(value[0], dict) and {"role", "from"} & value[0].keys():
        context = _join_messages(value[:-1])
        answer = {"text": text_of(value[-1])}
        return {**answer, "context": context} if context else answer
    return {"text": text_of(value)}


def _join_messages(value: Any) -> str | None:
    return "\n\n".join(filter(None, map(text_of, value))) if isinstance(value, list) else text_of(value)


def read_labelled(rows: Rows, path: Path) -> Rows:
    """Reads one text per row (KTO), with the rating `desired`: 1 or 0."""
    for line, row in rows:
        answer = row.get("messages", row.get("completion"))
        if not answer:
            raise refuse(path, line, f"an answer is needed here, found {describe(row)}")
        messages = answer if isinstance(answer, list) else [answer]
        context = _join_messages(messages[:-1]) or _join_messages(row.get("prompt"))
        yield (
            line,
            {
                "text": text_of(messages[-1]),
                "context": context,
                "ratings": {"desired": float(row["label"])},
            },
        )
