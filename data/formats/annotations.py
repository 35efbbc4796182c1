"""Annotations of people: Label Studio."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from data.columns import name_fields
from data.formats.tool_file import REMARK, Row, Rows, describe, refuse

BESIDE = ("context", "system", "group", "references")  # fields beside the text
Results = list[tuple[str, Row]]  # what annotators said, with their names


def read_label_studio(rows: Rows, path: Path) -> Rows:
    """Reads one text per task with each annotator's ratings and single choices.

    Predictions of models are scores. Cancelled annotations are left out; annotators without a name are numbered.
    """
    for line, task in rows:
        given = task["data"]
        results = list(_list_results(task))
        ratings: dict[str, dict[str, Any]] = defaultdict(dict)
        unread: dict[str, None] = {}
        for person, result in results:
            value = _find_value(result)
            if value is None:
                unread[str(result.get("type"))] = None
            else:
                aspect = str(result.get("from_name"))
                _set_once(ratings[aspect], person, value, f"{aspect} by {person}")
        text = _read_text(given, results)
        if text is None:
            rule = "the data of a task need a text whose key is the name of its tag, or text"
            raise refuse(path, line, f"{rule}, found {describe(given)}; an export as CSV has columns to name")
        named = {
            "id": str(given.get("id", task["id"])),
            "ratings": dict(ratings),
            "scores": _read_predictions(task),
            REMARK: f"results of the kind {' and '.join(unread)} left out" if unread else "",
        }
        yield line, {**text, **named}


def _list_results(task: Row) -> Iterator[tuple[str, Row]]:
    """What each annotator said, with the annotator's name."""
    for number, annotation in enumerate(task["annotations"], start=1):
        person = annotation.get("completed_by")
        person = person.get("id") if isinstance(person, Mapping) else person
        name = f"unnamed {number}" if person is None else str(person)
        if not annotation.get("was_cancelled"):
            yield from ((name, result) for result in annotation["result"])


def _set_once(values: Row, key: str, value: Any, name: str) -> None:
    if key in values:
        raise ValueError(f"{name} has two values")
    values[key] = value


def _find_value(result: Row) -> Any:
    """The number or the single choice of a result; None for anything else."""
    value = result.get("value") or {}
    if result.get("type") in ("rating", "number"):
        return value.get(result["type"])
    choices = value.get("choices") if result.get("type") == "choices" else None
    return choices[0] if choices and len(choices) == 1 else None


def _read_predictions(task: Row) -> Row:
    """What models predicted, by model, or `MODEL/ASPECT` of several aspects."""
    scores: Row = {}
    for prediction in task.get("predictions") or ():
        model = str(prediction.get("model_version") or "prediction")
        values = [(str(result.get("from_name")), _find_value(result)) for result in prediction["result"]]
        for aspect, value in values:
            name = model if len(dict(values)) == 1 else f"{model}/{aspect}"
            if value is not None:
                _set_once(scores, name, value, name)
    return scores


def _read_text(given: Row, results: Results) -> Row | None:
    """The text of a task: what was annotated, else the key with a usual name, else the only text; and fields beside."""
    fields = name_fields(tuple(given)).fields
    texts = [key for key, cell in given.items() if isinstance(cell, str)]
    candidates = [str(result.get("to_name") or result.get("toName")) for _, result in results]
    candidates += [key for key, name in fields if name == "text"]
    candidates += texts if len(texts) == 1 else []
    for key in candidates:
        if key in texts:
            beside = {name: given[column] for column, name in fields if name in BESIDE}
            return {**beside, "text": given[key]}
    return None
