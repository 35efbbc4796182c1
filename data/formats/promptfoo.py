"""promptfoo: the results of `promptfoo eval -o results.json` (or `.jsonl`, a result per line)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.formats.found import Found, Located, Row, Rows, describe, refuse
from data.numeric import to_number
from data.records import check_rows, layout

TOOL = "promptfoo results"
FILE = layout({"results": Any})
RESULT = {"provider": Any, "prompt": Any, "vars": Any, "success": bool, "score": Any}
ROWS = layout(
    RESULT,
    testIdx=int,
    promptIdx=int,
    response=Row,
    namedScores=Row,
)
ERROR = 2  # `failureReason` of a call that failed; 1 is a failed assertion


def read(document: Mapping[str, Any], path: Path) -> Found:
    """The results of versions 2 and 3."""
    results = document["results"]
    rows = results.get("results") if isinstance(results, Mapping) else None
    if not isinstance(rows, list) or not rows or not isinstance(results.get("version"), int):
        hint = "; those of lm-eval are in samples_TASK_TIME.jsonl" if "configs" in document else ""
        raise refuse(path, 0, f'results of promptfoo need "version" and "results", found {describe(results)}{hint}')
    return Found.of(TOOL, read_rows(check_rows(enumerate(rows, start=1), path, ROWS), path))


def read_rows(rows: Located, path: Path) -> Rows:
    """A text per result, in the order of tests: `score`, whether all assertions `pass`, and named scores.

    A system is a provider, with the prompt where there are several. A call that failed has no text.
    """
    prompts = {_name(row["prompt"], "raw") for _, row in rows}
    tests = {key: number for number, key in enumerate(dict.fromkeys(_name_test(row) for _, row in rows))}
    texts = []
    for line, row in rows:
        name, prompt = _name(row["provider"], "id"), _name(row["prompt"], "raw")
        output = (row.get("response") or {}).get("output")
        text = output if isinstance(output, str) or output is None else json.dumps(output, ensure_ascii=False)
        named = {key: to_number(score) for key, score in (row.get("namedScores") or {}).items()}
        test = row["testIdx"] if row.get("testIdx") is not None else tests[_name_test(row)]
        values = {
            "text": None if row.get("failureReason") == ERROR else text,
            "context": row["prompt"].get("raw") if isinstance(row["prompt"], Mapping) else None,
            "system": f"{name} / {prompt}" if len(prompts) > 1 else name,
            "group": str(test),
            "scores": {"score": to_number(row["score"]), "pass": float(row["success"]), **named},
        }
        texts.append(((test, row.get("promptIdx") or 0), line, values))
    return [(line, values) for _, line, values in sorted(texts, key=lambda each: each[:2])]


def _name_test(row: Mapping[str, Any]) -> str:
    return json.dumps(row["vars"], sort_keys=True) if row.get("testIdx") is None else str(row["testIdx"])


def _name(part: Any, key: str) -> str:
    """The label of a provider or a prompt, or what `key` holds."""
    return str(part.get("label") or part.get(key)) if isinstance(part, Mapping) else str(part)
