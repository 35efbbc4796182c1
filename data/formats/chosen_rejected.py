"""Rows of a chosen and a rejected answer (hh-rlhf, DPO, RewardBench, RM-Bench ...), and labelled answers (KTO)."""

from itertools import product, takewhile
from pathlib import Path
from typing import Any

from data.formats.tool_file import Located, Row, Rows, describe, refuse, text_of
from data.records import layout

PAIRS = layout({"chosen": Any, "rejected": Any}, chosen_model=str, rejected_model=str)
MESSAGES = layout({"chosen_messages": Any, "rejected_messages": Any}, chosen_model=str, rejected_model=str)
LABELLED = layout({"messages": str | list[Any], "label": bool})
COMPLETIONS = layout({"completion": str | list[Any], "label": bool})
PROMPTS = ("prompt", "question", "instruction", "input", "conversations")
REFERENCES = ("references", "reference")
TURN = "\n\nAssistant:"


def read_pairs(rows: Located, path: Path) -> Rows:
    """Reads the texts and one judgement per row, or a judgement for each pair of texts if a row lists several texts.

    The systems are `chosen` and `rejected`, or those that the columns `chosen_model` and `rejected_model` name.
    """
    groups = _name_groups(rows)
    for line, row in rows:
        group = groups[line]
        of_input = {"group": group, "context": _find_context(row), "references": _find_references(row)}
        suffix = "" if "chosen" in row else "_messages"
        chosen_key = f"chosen{suffix}"
        rejected_key = f"rejected{suffix}"
        chosen_system, rejected_system = _name_systems(row)
        chosen = _read_side(row, chosen_key, rejected_key, path, line)
        rejected = _read_side(row, rejected_key, chosen_key, path, line)
        chosen_by_system = _name_answers(chosen_system, chosen)
        rejected_by_system = _name_answers(rejected_system, rejected)
        for system, answer in {**chosen_by_system, **rejected_by_system}.items():
            yield line, {"system": system, **of_input, **answer}
        for better, worse in product(chosen_by_system, rejected_by_system):
            yield (
                line,
                {
                    "group": group,
                    "system_a": better,
                    "system_b": worse,
                    "winner": "a",
                },
            )


def _name_groups(rows: Located) -> dict[int, str]:
    """The input of each row, by line: its id where all ids differ, else its line."""
    groups = {line: str(row.get("id") or row.get("prompt_id") or line) for line, row in rows}
    if len(set(groups.values())) < len(groups):
        return {line: str(line) for line in groups}
    return groups


def _name_systems(row: Row) -> tuple[str, str]:
    chosen = row.get("chosen_model") or "chosen"
    rejected = row.get("rejected_model") or "rejected"
    return ("chosen", "rejected") if chosen == rejected else (chosen, rejected)


def _find_context(row: Row) -> str | None:
    """The text of the first prompt that says something."""
    texts = (_read_messages(row.get(key)) for key in PROMPTS)
    return next(filter(None, texts), None)


def _find_references(row: Row) -> Any:
    """What the first column of references holds that is not empty."""
    values = (row.get(key) for key in REFERENCES)
    return next(filter(None, values), None)


def _read_side(
    row: Row,
    key: str,
    other_key: str,
    path: Path,
    line: int,
) -> list[Row]:
    """The answers of one side: one, or several where the row lists texts."""
    value = row[key]
    are_several = isinstance(value, list) and all(isinstance(text, str) for text in value)
    texts = value if are_several else [value]
    answers = [_read_answer(text, row[other_key]) for text in texts]
    if not texts or not all(isinstance(answer.get("text"), str) for answer in answers):
        raise refuse(path, line, f'"{key}" must hold an answer, found {describe(value)}')
    return answers


def _name_answers(system: str, answers: list[Row]) -> dict[str, Row]:
    """The answers by system; several of one side are systems of their own, with a number."""
    if len(answers) == 1:
        return {system: answers[0]}
    return {f"{system} {number}": answer for number, answer in enumerate(answers, start=1)}


def _read_answer(value: Any, other: Any) -> Row:
    """The last message, behind what it answers; of a dialogue in one text, what follows the last `Assistant:` that
    both dialogues have.
    """
    if isinstance(value, str) and isinstance(other, str) and value.startswith("\n\nHuman:"):
        return _split_dialogue(value, other)
    if isinstance(value, list) and value and isinstance(value[0], dict) and {"role", "from"} & value[0].keys():
        answer: Row = {"text": text_of(value[-1])}
        context = _read_messages(value[:-1])
        if context:
            answer["context"] = context
        return answer
    return {"text": text_of(value)}


def _split_dialogue(dialogue: str, other: str) -> Row:
    """The answer in a dialogue, which begins where the assistant's last turn begins in both dialogues."""
    pairs = zip(dialogue, other, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    turn = dialogue.rfind(TURN, 0, same)
    end = 0 if turn < 0 else turn + len(TURN)
    context = dialogue[:end].removesuffix(TURN)
    return {"text": dialogue[end:].strip(), "context": context.strip()}


def _read_messages(value: Any) -> str | None:
    """The texts of messages; a text as it is."""
    if not isinstance(value, list):
        return text_of(value)
    return "\n\n".join(filter(None, map(text_of, value)))


def read_labelled(rows: Located, path: Path) -> Rows:
    """Reads one text per row, with the rating `desired`: 1 or 0."""
    for line, row in rows:
        answer = row.get("messages", row.get("completion"))
        if not answer:
            raise refuse(path, line, f"an answer is needed here, found {describe(row)}")
        messages = answer if isinstance(answer, list) else [answer]
        context = _read_messages(messages[:-1]) or _read_messages(row.get("prompt"))
        rating = float(row["label"])
        yield (
            line,
            {
                "text": text_of(messages[-1]),
                "context": context,
                "ratings": {"desired": rating},
            },
        )
