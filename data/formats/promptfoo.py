"""promptfoo: the results of `promptfoo eval -o results.json` (or `.jsonl`, a result per line)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.formats.tool_file import REMARK, Located, Row, Rows, ToolFile, describe, refuse
from data.numeric import to_number
from data.records import check_rows, layout

TOOL = "promptfoo results"
FILE = layout({"results": Any})
RESULT = {
    "provider": Any,
    "prompt": Any,
    "vars": Any,
    "success": bool,
    "score": Any,
}
ROWS = layout(
    RESULT,
    testIdx=int,
    promptIdx=int,
    response=Row,
    namedScores=Row,
)
SCORE = "score"
PASS = "pass"
SAME = "score says the same as pass in every row and is left out"
ERROR = 2  # `failureReason` of a call that failed; 1 is a failed assertion


def read(document: Mapping[str, Any], path: Path) -> ToolFile:
    """Reads the results of versions 2 and 3."""
    results = document["results"]
    rows = results.get("results") if isinstance(results, Mapping) else None
    if not isinstance(rows, list) or not rows or not isinstance(results.get("version"), int):
        hint = "; those of lm-eval are in samples_TASK_TIME.jsonl" if "configs" in document else ""
        raise refuse(path, 0, f'results of promptfoo need "version" and "results", found {describe(results)}{hint}')
    return ToolFile.of(TOOL, read_rows(check_rows(enumerate(rows, start=1), path, ROWS), path))


def read_rows(rows: Located, path: Path) -> Rows:
    """Reads one text per result, in the order of tests. Scores: `score`, `pass` (of all assertions), and named ones.

    A system is a provider, with its prompt if there are several prompts. A call that failed has no text. A `score` that
    is `pass` in every row is left out, because it would count as a second judge.
    """
    prompts = {_name(row["prompt"], "raw") for _, row in rows}
    names = dict.fromkeys(_name_test(row) for _, row in rows)
    numbers = {name: number for number, name in enumerate(names)}
    in_order: list[tuple[tuple[int, int], int, Row]] = []
    for line, row in rows:
        index = row.get("testIdx")
        test = numbers[_name_test(row)] if index is None else index
        values = _read_result(row, test, has_several_prompts=len(prompts) > 1)
        in_order.append(((test, row.get("promptIdx") or 0), line, values))
    in_order.sort(key=lambda entry: entry[:2])
    located = [(line, values) for _, line, values in in_order]
    if all(_are_same(values["scores"]) for _, values in located):
        for _, values in located:
            del values["scores"][SCORE]
            values[REMARK] = SAME
    return located


def _are_same(scores: Mapping[str, float | None]) -> bool:
    """Whether `score` says what `pass` says."""
    return scores[SCORE] == scores[PASS]


def _read_result(
    row: Row,
    test: int,
    has_several_prompts: bool,
) -> Row:
    provider = _name(row["provider"], "id")
    prompt = row["prompt"]
    system = f"{provider} / {_name(prompt, 'raw')}" if has_several_prompts else provider
    response = row.get("response") or {}
    named = row.get("namedScores") or {}
    return {
        "text": None if row.get("failureReason") == ERROR else _to_text(response.get("output")),
        "context": prompt.get("raw") if isinstance(prompt, Mapping) else None,
        "system": system,
        "group": str(test),
        "scores": {
            SCORE: to_number(row["score"]),
            PASS: float(row["success"]),
            **{name: to_number(score) for name, score in named.items()},
        },
    }


def _to_text(output: Any) -> str | None:
    """An output as a text: JSON for what is none; None if there is no output."""
    if output is None or isinstance(output, str):
        return output
    return json.dumps(output, ensure_ascii=False)


def _name_test(row: Mapping[str, Any]) -> str:
    if row.get("testIdx") is None:
        return json.dumps(row["vars"], sort_keys=True)
    return str(row["testIdx"])


def _name(part: Any, key: str) -> str:
    """The label of a provider or a prompt, or what `key` holds."""
    if isinstance(part, Mapping):
        return str(part.get("label") or part.get(key))
    return str(part)
