"""lm-evaluation-harness: `samples_TASK_TIME.jsonl` of `--log_samples`, a line per document and filter."""

import json
from collections.abc import Iterable, Mapping
from glob import escape
from pathlib import Path
from typing import Any

from data.formats.found import Located, Row, Rows, describe, list_values, refuse
from data.numeric import number_columns, to_number
from data.records import layout
from data.text_files import read_json

ANY = dict.fromkeys(("doc", "target", "arguments", "resps", "filtered_resps"), Any)
SAMPLES = layout({"doc_id": int, **ANY}, filter=str, metrics=list[str])


def read(rows: Located, path: Path) -> Rows:
    """A text per document: the answer, or the most likely choice; scores are `METRIC`, or `METRIC/FILTER`."""
    names = number_columns([row for _, row in rows], SAMPLES.model_fields)
    if all(row.get("metrics") is not None for _, row in rows):
        names = [name for name in names if any(name in row["metrics"] for _, row in rows)]
    by_document: dict[Any, dict[str, tuple[int, Row]]] = {}
    for line, row in rows:
        filters = by_document.setdefault(row["doc_id"], {})
        key = row.get("filter") or f"filter {len(filters) + 1}"  # older versions do not name it
        if filters.setdefault(key, (line, row))[0] != line:
            raise refuse(path, line, f"document {row['doc_id']} has the filter {describe(key)} twice: is it one task?")
    several = max(map(len, by_document.values())) > 1
    model = _find_model(path)
    for number, filters in by_document.items():
        line, row = next(iter(filters.values()))
        scores = {
            f"{name}/{key}" if several else name: to_number(each.get(name))
            for key, (_, each) in filters.items()
            for name in names
        }
        asked = {"id": str(number), "group": str(number), "system": model, "scores": scores}
        yield line, {**asked, **_read_answer(row, path, line)}


def _read_answer(
    row: Row,
    path: Path,
    line: int,
) -> Row:
    """The prompt, the answer and the references; of choices, the one with the highest log-likelihood."""
    found, target, first, calls = row["filtered_resps"], row["target"], row["resps"], list_values(row["arguments"])
    asked = [calls] if calls and isinstance(calls[0], str) else list(map(list_values, calls))  # older: one request
    for _ in range(2):  # of the first request the first answer
        first = first[0] if isinstance(first, list) and first else None
    if not asked or any(len(each) < 2 for each in asked):
        raise refuse(path, line, f'"arguments" must list prompts and what follows, found {describe(row["arguments"])}')
    references = target if isinstance(target, list) else [target]
    if isinstance(first, str):
        if not any(map(str.strip, map(str, references))) and isinstance(row["doc"], dict):
            references = list_values(row["doc"].get("correct_answers"))  # truthfulqa_gen
    else:
        likely = [to_number(each[0]) for each in list_values(found) if isinstance(each, list) and each]
        if not likely or None in likely or len(likely) != len(asked):
            raise refuse(path, line, f"each request needs a text or a log-likelihood, found {describe(found)}")
        choices = [str(each[1]).strip() for each in asked]
        if len(set(choices)) < len(choices):
            choices = [f"{each[0]}{each[1]}" for each in asked]  # what they begin with differs
        first = choices[max(range(len(likely)), key=lambda i: likely[i] or 0.0)]
        place = to_number(target) if len(choices) > 1 else None
        if place is not None and place in range(len(choices)):  # unless it is a choice itself
            references = [] if str(target) in choices else [choices[int(place)]]
    context = asked[0][0] if isinstance(asked[0][0], str) else json.dumps(asked[0][0], ensure_ascii=False)
    listed = [str(each).strip() for each in references if isinstance(each, str | int | float)]
    return {"text": first, "context": context, "references": [each for each in listed if each]}


def _split_name(path: Path) -> tuple[str, str]:
    """The task and the time in the name of a file, `samples_TASK_TIME.jsonl`."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    task, _, time = name.rpartition("_")
    return task.removeprefix("samples_"), time


def _read_results(path: Path) -> list[Row]:
    """The results that lm-eval wrote beside the samples."""
    _, time = _split_name(path)
    files = sorted(path.parent.glob(f"*_{escape(time)}.json"))
    return [results for file in files if file != path and isinstance(results := read_json(file), dict)]


def find_lower(names: Iterable[str], path: Path) -> list[str]:
    """The scores that are better if they are lower, by `higher_is_better` in the results beside the samples."""
    task, _ = _split_name(path)
    found: list[str] = []
    for results in _read_results(path):
        by_task = results.get("higher_is_better")
        by_task = by_task if isinstance(by_task, Mapping) else {}
        directions = by_task.get(task) or (next(iter(by_task.values())) if len(by_task) == 1 else {})
        lower = [metric for metric, is_higher in directions.items() if is_higher is False]
        found += [name for name in names if any(name == each or name.startswith(f"{each}/") for each in lower)]
    return found


def _find_model(path: Path) -> str | None:
    """The model that the results beside the samples name, or else their folder (ORGANISATION__MODEL)."""
    for results in _read_results(path):
        if isinstance(name := results.get("model_name"), str) and name.strip():
            return name
    organisation, separator, name = path.absolute().parent.name.partition("__")
    return f"{organisation}/{name}" if separator else None
