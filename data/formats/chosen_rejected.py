"""Rows of a chosen and a rejected answer (hh-rlhf, DPO, RewardBench, RM-Bench ...), and labelled answers (KTO)."""

from itertools import product, takewhile
from pathlib import Path
from typing import Any

from data.formats.found import Located, Row, Rows, describe, refuse, text_of
from data.records import layout

PAIRS = layout({"chosen": Any, "rejected": Any}, chosen_model=str, rejected_model=str)
MESSAGES = layout({"chosen_messages": Any, "rejected_messages": Any}, chosen_model=str, rejected_model=str)
LABELLED, COMPLETIONS = (layout({key: str | list[Any], "label": bool}) for key in ("messages", "completion"))
PROMPTS = ("prompt", "question", "instruction", "input", "conversations")
REFERENCES = ("references", "reference")
TURN = "\n\nAssistant:"


def read_pairs(rows: Located, path: Path) -> Rows:
    """A judgement per row, or per pair of a chosen and a rejected text where the row lists several; and the texts.

    The systems are `chosen` and `rejected`, or what `chosen_model` and `rejected_model` name.
    """
    groups = {line: str(row.get("id") or row.get("prompt_id") or line) for line, row in rows}
    if len({*groups.values()}) < len(groups):
        groups = {line: str(line) for line in groups}
    for line, row in rows:
        a, b = [*(PAIRS if "chosen" in row else MESSAGES).model_fields][:2]
        context = next((text for key in PROMPTS if (text := _read_messages(row.get(key)))), None)
        references = next((row[key] for key in REFERENCES if row.get(key)), None)
        of_input = {"group": groups[line], "context": context, "references": references}
        named = [row.get("chosen_model") or "chosen", row.get("rejected_model") or "rejected"]
        if named[0] == named[1]:
            named = ["chosen", "rejected"]
        sides: list[dict[str, Row]] = []
        for name, key in zip(named, (a, b), strict=True):
            texts = row[key] if isinstance(row[key], list) and all(isinstance(t, str) for t in row[key]) else [row[key]]
            answers = [_read_answer(each, row[b if key == a else a]) for each in texts]
            if not texts or any(not isinstance(each.get("text"), str) for each in answers):
                raise refuse(path, line, f'"{key}" must hold an answer, found {describe(row[key])}')
            sides.append({name if len(texts) == 1 else f"{name} {i}": each for i, each in enumerate(answers, 1)})
        for system, answer in {**sides[0], **sides[1]}.items():
            yield line, {"system": system, **of_input, **answer}
        for better, worse in product(*sides):
            yield line, {"group": groups[line], "system_a": better, "system_b": worse, "winner": "a"}


def _read_answer(value: Any, other: Any) -> Row:
    """The last message, behind what it answers; of a dialogue in one text, what follows the last `Assistant:` that
    both dialogues have.
    """
    if isinstance(value, str) and isinstance(other, str) and value.startswith("\n\nHuman:"):
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(value, other, strict=False)))
        end = value.rfind(TURN, 0, same) + len(TURN) if TURN in value[:same] else 0
        return {"text": value[end:].strip(), "context": value[:end].removesuffix(TURN).strip()}
    if isinstance(value, list) and value and isinstance(value[0], dict) and {"role", "from"} & value[0].keys():
        context = _read_messages(value[:-1])
        return {"text": text_of(value[-1]), **({"context": context} if context else {})}
    return {"text": text_of(value)}


def _read_messages(value: Any) -> str | None:
    """The texts of messages; a text as it is."""
    return "\n\n".join(text for each in value if (text := text_of(each))) if isinstance(value, list) else text_of(value)


def read_labelled(rows: Located, path: Path) -> Rows:
    """A text per row, rated `desired` as 1 or 0."""
    for line, row in rows:
        if not (answer := row.get("messages", row.get("completion"))):
            raise refuse(path, line, f"an answer is needed here, found {describe(row)}")
        listed = answer if isinstance(answer, list) else [answer]
        context = _read_messages(listed[:-1]) or _read_messages(row.get("prompt"))
        yield line, {"text": text_of(listed[-1]), "context": context, "ratings": {"desired": float(row["label"])}}
